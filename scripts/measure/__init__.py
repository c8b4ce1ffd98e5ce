"""Measures the product's code by its syntax trees: `make measure`, or `python -m scripts.measure --json`.

What a figure counts stands in the docstring of the function that counts it. Nothing here is a limit: the
figures are there to be compared between two versions of the code (`--beside`).
"""
