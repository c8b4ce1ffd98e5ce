"""What is killed in the middle, on real servers. `make faults`."""
