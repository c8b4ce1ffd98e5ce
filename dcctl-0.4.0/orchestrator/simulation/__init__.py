"""Simulated data centres: what runs their servers (`backend`), faults, workload, drills."""
