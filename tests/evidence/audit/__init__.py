"""Audits on Spark: one session for all of them."""
