"""A site of a stretched cluster is lost, and the quorum of its metadata goes on."""
