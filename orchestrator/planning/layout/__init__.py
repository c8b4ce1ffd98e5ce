"""What an estate shall hold by its topology file, and what it holds, as values that can be compared."""
