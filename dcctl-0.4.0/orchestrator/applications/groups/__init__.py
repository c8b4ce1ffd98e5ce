"""Consumer groups in a move."""
