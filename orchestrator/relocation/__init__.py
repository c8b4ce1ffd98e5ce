"""Moving consumers: groups and Spark checkpoints. Pure."""
