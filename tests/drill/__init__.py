"""Whole rehearsals with real servers."""
