"""Clients that keep ledgers of what they did: the applications of a rehearsal, and canaries."""
