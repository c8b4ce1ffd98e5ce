"""From a topology file and what clusters say to the plan that brings them together."""
