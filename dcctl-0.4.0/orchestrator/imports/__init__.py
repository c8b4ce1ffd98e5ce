"""From what an existing estate shows to the topology file that describes it."""
