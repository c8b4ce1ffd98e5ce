"""A topology as a graph, and the graph as a picture (SVG), DOT, Mermaid or JSON."""
