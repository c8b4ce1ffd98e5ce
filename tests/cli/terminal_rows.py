"""What remains on a terminal of what was written to it: rows, wrapped at its width."""

from __future__ import annotations

import re

_PARTS = re.compile(r"\x1b\[\??(\d*)(?:;\d+)*([A-Za-z])|(\n)|(\r)|([^\x1b\n\r]+)")


class Screen:
    """A terminal that scrolls: it knows what Rich's moving displays send, and nothing more."""

    def __init__(self, width: int = 80) -> None:
        self.width = width
        self._rows: list[str] = [""]
        self._row = self._column = 0

    def feed(self, text: str) -> None:
        """Take what a program has written."""
        for found in _PARTS.finditer(text):
            count, command, is_new, is_return, plain = found.groups()
            if plain:
                self._put(plain)
            elif is_new:
                self._down()
                self._column = 0
            elif is_return:
                self._column = 0
            elif command == "A":
                self._row = max(0, self._row - int(count or 1))
            elif command == "K":
                self._rows[self._row] = "" if count == "2" else self._rows[self._row][: self._column]
            elif command not in ("m", "h", "l"):
                raise AssertionError(f"a terminal's command that nobody has foreseen: {found[0]!r}")

    @property
    def rows(self) -> list[str]:
        """From the first to the last one that has anything."""
        kept = [row.rstrip() for row in self._rows]
        while kept and not kept[-1]:
            kept.pop()
        return kept

    def _put(self, plain: str) -> None:
        for sign in plain:
            if self._column == self.width:
                self._down()
                self._column = 0
            row = self._rows[self._row].ljust(self._column)
            self._rows[self._row] = row[: self._column] + sign + row[self._column + 1 :]
            self._column += 1

    def _down(self) -> None:
        self._row += 1
        if self._row == len(self._rows):
            self._rows.append("")
