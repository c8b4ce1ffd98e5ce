"""The guard that keeps a broker closed until it may open: its rules, as data. Pure."""
