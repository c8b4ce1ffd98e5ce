"""How long work tells its caller how far it is: a callback, so that the library itself prints nothing."""

from __future__ import annotations

from collections.abc import Callable

OnProgress = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done and the total, both in bytes (0, 0: not known)."""


def silent(_what: str, _done_bytes: int, _total_bytes: int) -> None:
    """Tell nobody."""
