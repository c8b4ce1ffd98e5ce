"""Watching one cluster that no mirror leaves: who is up, leads and is in sync, and how long it was not so."""
