"""Simulated data centres on this machine: bring them up, find those that run."""

from orchestrator.simulation.bring_up import simulation_up
from orchestrator.simulation.running import Simulation, open_simulation, simulation_names

__all__ = ["Simulation", "open_simulation", "simulation_names", "simulation_up"]
