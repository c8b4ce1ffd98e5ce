"""The watcher's log: one line an event, `key=value`, with UTC times."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import structlog

from orchestrator.errors import DcctlError


@contextmanager
def watch_log(file: Path | None) -> Iterator[Any]:
    """A logger to `file`, or to stderr. Raises `DcctlError` if the file cannot be written."""
    try:
        stream = file.open("a", encoding="utf-8", buffering=1) if file else sys.stderr
    except OSError as error:
        raise DcctlError(f"log file {file}", f"cannot be written: {error.strerror}") from None
    try:
        yield structlog.wrap_logger(
            structlog.PrintLogger(stream),
            processors=[
                structlog.processors.add_log_level,
                structlog.processors.TimeStamper(fmt="iso", utc=True),
                structlog.processors.format_exc_info,
                structlog.processors.LogfmtRenderer(key_order=["timestamp", "level", "event"]),
            ],
        )
    finally:
        if file:
            stream.close()
