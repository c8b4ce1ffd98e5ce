"""What a test's own server, reader or writer needs to be opened and closed like a real one."""

from __future__ import annotations

from types import TracebackType
from typing import Self


class Opened:
    """Works in a `with` block, and holds nothing that would have to be closed."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def close(self) -> None: ...
