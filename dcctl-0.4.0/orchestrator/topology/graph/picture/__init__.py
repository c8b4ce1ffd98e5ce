"""The picture of a topology: sites side by side, clusters inside or across them, mirrors between them."""
