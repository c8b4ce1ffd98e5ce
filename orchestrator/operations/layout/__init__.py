"""Real clusters brought to what a topology file says, and read for what they are."""
