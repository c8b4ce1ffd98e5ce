"""What an apply writes down of itself."""
