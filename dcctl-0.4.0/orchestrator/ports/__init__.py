"""What the outside looks like from inside: one protocol a kind of server, and the values that it speaks."""
