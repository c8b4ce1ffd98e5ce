"""Each gate where it refuses and where it cannot be measured, on real servers. `make drills`."""
