"""Runs in the world: lock, journal, holds, the estate record, sessions, and the procedure of every verb."""
