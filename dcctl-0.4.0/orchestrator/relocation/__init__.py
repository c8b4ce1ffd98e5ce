"""A Spark checkpoint read, and written anew for another cluster. Pure."""
