"""A program that a host runs, whoever supervises it there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Program:
    """One supervised program.

    `stop_timeout_s` is how long it has after SIGTERM before SIGKILL. `autostart` also means: it is
    started again when its host comes back.
    """

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    autostart: bool = False
    autorestart: bool = False
    stop_timeout_s: int = 10
