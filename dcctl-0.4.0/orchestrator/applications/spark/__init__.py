"""Spark queries in a move, with their checkpoints."""
