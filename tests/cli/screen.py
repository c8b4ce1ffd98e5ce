"""A terminal in memory: what would stand on it, scrolled lines included, after all that was written."""

from __future__ import annotations

import io
import re

_TOKEN = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])|\r|\n|[^\x1b\r\n]")


class Screen(io.StringIO):
    """Understands what rich writes: line feeds, returns, cursor up, and wiping of lines; it breaks long lines."""

    def __init__(self, columns: int) -> None:
        super().__init__()
        self._columns = columns

    def isatty(self) -> bool:
        return True

    def text(self) -> str:
        """All lines, the blank ends cut off."""
        lines, row, column = [""], 0, 0
        for found in _TOKEN.finditer(self.getvalue()):
            token, argument, command = found[0], found[1], found[2]
            if token == "\n":
                row, column = row + 1, 0
            elif token == "\r":
                column = 0
            elif command == "A":
                row = max(0, row - int(argument or 1))
            elif command == "K":
                lines[row] = "" if argument == "2" else lines[row][:column]
            elif command is None:
                if column == self._columns:
                    row, column = row + 1, 0
                lines += [""] * (row + 1 - len(lines))
                line = lines[row].ljust(column)
                lines[row] = line[:column] + token + line[column + 1 :]
                column += 1
            lines += [""] * (row + 1 - len(lines))
        return "\n".join(line.rstrip() for line in lines)
