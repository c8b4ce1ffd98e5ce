"""Spark jobs that compare what was acknowledged with what is there and what was read."""
