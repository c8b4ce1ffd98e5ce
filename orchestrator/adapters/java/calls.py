"""Calls from Python into a Java process, by py4j."""

from __future__ import annotations

import logging


def keep_py4j_quiet() -> None:
    """Let py4j log nothing: what it raises is translated, and its log would say it a second time.

    It is no matter of taste. Objects that Python lets go of after their process has died are logged from
    within garbage collection, with a stack; Python 3.11 parses source text to print a stack, and a parse that
    garbage collection interrupted then fails (`AST constructor recursion depth mismatch`).
    """
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
