"""The verbs: who takes part in a move, and the plan of each. Pure."""
