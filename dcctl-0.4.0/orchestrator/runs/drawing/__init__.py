"""A plan as a picture: what is drawn (`outline`), and the same in DOT and in Mermaid."""
