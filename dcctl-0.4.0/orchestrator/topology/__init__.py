"""The topology file: model, loading with line numbers, layouts. Pure."""
