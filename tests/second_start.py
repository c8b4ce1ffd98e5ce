"""A second try for the start of servers, and for nothing else: no assertion is ever repeated (decision 0017)."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class NotStartedError(Exception):
    """Servers did not come up: nothing was asserted yet."""


def started(start: Callable[[], T], stop: Callable[[], None]) -> T:
    """What `start` returns; once more behind `stop` where servers did not come up, which pytest then tells."""
    try:
        return start()
    except NotStartedError as error:
        warnings.warn(f"servers are started a second time: {error}", stacklevel=2)
        stop()
        return start()
