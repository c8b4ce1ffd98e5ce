"""How lists are put into words, wherever a message has more to tell than anybody reads."""

from __future__ import annotations

from collections.abc import Iterable


def listed(items: Iterable[str], at_most: int = 5, more: str = "more", separator: str = ", ") -> str:
    """`a, b and 3 more`: the first items, and how many are left out; `more`: "partitions more", say."""
    texts = list(items)
    left_out = f" and {len(texts) - at_most} {more}" if len(texts) > at_most else ""
    return separator.join(texts[:at_most]) + left_out
