"""The guard of a broker at work, and reading what guards have said."""
