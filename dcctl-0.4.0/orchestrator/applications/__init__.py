"""The kinds of applications that can be moved: see `moves.participants.Kind`."""
