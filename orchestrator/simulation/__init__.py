"""Data centres on one machine: processes, faults, workload, drills."""
