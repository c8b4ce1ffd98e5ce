"""Measurements of what is promised in figures: `python -m tests.bench`."""
