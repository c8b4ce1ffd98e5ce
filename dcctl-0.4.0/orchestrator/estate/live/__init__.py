"""Connections to the clusters of a file, and reading what they hold."""
