"""Binds plans to the world: observes through adapters, performs the actions that steps name."""
