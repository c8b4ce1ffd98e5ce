"""The situations, by what is done in them."""
