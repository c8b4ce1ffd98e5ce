"""Runs of any verb: plans, effects, runbooks, the engine, gates on the ensemble, what a run holds. Pure."""
