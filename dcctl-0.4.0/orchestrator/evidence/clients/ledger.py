"""Writing ledgers: whole chunks of lines, each with one write call, so that a kill tears at most one."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from orchestrator.evidence.audit.ledgers import END_MARK


class LedgerWriter:
    """Appends lines to one ledger. Lines are collected by `add` and reach the file by `write`.

    With `keep_bytes` the file is cut back to its last so many bytes each time that it has twice as many:
    whoever writes for months is judged by the last hours.
    """

    def __init__(self, path: Path, columns: Sequence[str], keep_bytes: int | None = None) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path, self._columns, self._keep_bytes = path, columns, keep_bytes
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
            if self._keep_bytes is not None and os.fstat(self._file).st_size > 2 * self._keep_bytes:
                self._cut_back(self._keep_bytes)

    def close(self) -> None:
        """Write what is left and close the file."""
        self.write()
        os.close(self._file)

    def _cut_back(self, keep_bytes: int) -> None:
        """A file with the header and the newest whole lines takes the place of the old one."""
        size = os.fstat(self._file).st_size
        newest = os.pread(self._file, keep_bytes, size - keep_bytes).split(b"\n", 1)[-1]
        beside = self._path.with_name(f".{self._path.name}.new")
        beside.write_bytes(",".join(self._columns).encode() + b"\n" + newest)
        beside.replace(self._path)
        os.close(self._file)
        self._file = os.open(self._path, os.O_RDWR | os.O_APPEND)

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
