"""Reading the parts of a snapshot from the servers, and samples from their topic."""
