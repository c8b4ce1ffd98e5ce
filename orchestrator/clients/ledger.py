"""Writing ledgers: whole chunks of lines, each with one write call, so that a kill tears at most one."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from orchestrator.audit.ledgers import END_MARK


class LedgerWriter:
    """Appends lines to one ledger. Lines are collected by `add` and reach the file by `write`."""

    def __init__(self, path: Path, columns: Sequence[str]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._lines: list[str] = []
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        size = os.fstat(self._file).st_size
        if size == 0:
            self._append(",".join(columns) + "\n")
        elif os.pread(self._file, 1, size - 1) != b"\n":
            # An earlier writer was killed in the middle of a line: ours must not run on from it.
            self._append("\n")

    def add(self, *fields: object) -> None:
        """One line; None is an empty field. It is in the file only after the next `write`."""
        self._lines.append(",".join("" if field is None else str(field) for field in fields))

    def add_lines(self, lines: Sequence[str]) -> None:
        """Lines that are already joined, without their end mark."""
        self._lines.extend(lines)

    def write(self) -> None:
        """Append what was collected, with one write call."""
        if self._lines:
            mark = f",{END_MARK}\n"
            self._append(mark.join(self._lines) + mark)
            self._lines.clear()

    def close(self) -> None:
        """Write what is left and close the file."""
        self.write()
        os.close(self._file)

    def _append(self, text: str) -> None:
        data = text.encode()
        written = os.write(self._file, data)
        while written < len(data):
            written += os.write(self._file, data[written:])

    def __enter__(self) -> LedgerWriter:
        return self

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
