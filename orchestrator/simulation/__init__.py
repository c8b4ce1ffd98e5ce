"""Data centres on one machine: back ends, faults, workload, drills."""
