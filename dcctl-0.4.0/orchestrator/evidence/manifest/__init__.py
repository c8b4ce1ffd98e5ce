"""What a folder of evidence held when it was closed: a hash of every file, signed."""
