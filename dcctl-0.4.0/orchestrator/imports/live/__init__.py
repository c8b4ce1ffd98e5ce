"""A topology file from an estate that is there already."""
