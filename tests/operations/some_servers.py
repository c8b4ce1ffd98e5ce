"""Servers of which a test brings a part; the others are real, and are not reached."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchestrator.adapters.clock import SystemClock
from orchestrator.operations.servers import RealServers


class ClockAt(SystemClock):
    """Wall time as `told` says."""

    def __init__(self, told: Callable[[], float]) -> None:
        self._told = told

    def now_s(self) -> float:
        return self._told()


@dataclass(frozen=True)
class Hosts:
    """Every playbook comes to what `run` says."""

    run: Callable[..., frozenset[str]]

    def run_own(self, playbook: Path, **named: Any) -> frozenset[str]:
        return self.run(str(playbook), **named)

    def hosts(self, inventory: Path) -> dict[str, dict[str, Any]]:
        raise NotImplementedError


def hosts_that(run: Callable[..., frozenset[str]]) -> RealServers:
    return RealServers(playbooks=Hosts(run))
