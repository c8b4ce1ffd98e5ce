"""Producers in a move."""
