"""Where a record stands, as clients are told it."""

from __future__ import annotations


class Placed:
    """At an offset of the one partition that there is."""

    def __init__(self, offset: int) -> None:
        self._offset = offset

    def topic(self) -> str:
        """Of all."""
        return "orders"

    def partition(self) -> int:
        """Of all."""
        return 0

    def offset(self) -> int:
        """Each one its own."""
        return self._offset
