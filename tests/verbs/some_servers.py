"""Servers of which a test brings a part; the others are real, and are not reached."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from orchestrator.adapters.clock import SystemClock
from orchestrator.adapters.probe import Listening
from orchestrator.topology.model import Topology
from orchestrator.verbs.live.real_servers import RealServers, RealThreads


class ClockAt(SystemClock):
    """Wall time as `told` says."""

    def __init__(self, told: Callable[[], float]) -> None:
        self._told = told

    def now_s(self) -> float:
        return self._told()


class PassingClock:
    """Waiting takes no time and all of it passes. What is said for a moment, in `soon`, happens then."""

    def __init__(self, now_s: float = 1_000.0) -> None:
        self.at_s = now_s
        self._soon: list[tuple[float, Callable[[], object]]] = []

    def soon(self, after_s: float, do: Callable[[], object]) -> None:
        self._soon.append((self.at_s + after_s, do))

    def now_s(self) -> float:
        return self.at_s

    def monotonic_s(self) -> float:
        return self.at_s

    def wait(self, timeout_s: float, until: threading.Event | None = None) -> bool:
        if until is not None and until.is_set():
            return True
        self.at_s += timeout_s
        due = [do for at_s, do in self._soon if at_s <= self.at_s]
        self._soon = [(at_s, do) for at_s, do in self._soon if at_s > self.at_s]
        for do in due:
            do()
        return until is not None and until.is_set()


class OneByOne(RealThreads):
    """Whatever is asked at the same time is asked one after the other."""

    def pool(self, at_once: int) -> Executor:  # noqa: ARG002
        return ThreadPoolExecutor(max_workers=1)


@dataclass(frozen=True)
class Hosts:
    """Every playbook comes to what `run` says."""

    run: Callable[..., frozenset[str]]

    def run_own(self, playbook: Path, **named: Any) -> frozenset[str]:
        return self.run(str(playbook), **named)

    def hosts(self, inventory: Path) -> dict[str, dict[str, Any]]:
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class SomeServers(RealServers):
    """Clusters, workers and who reads where logs end, by name. `refused`: addresses that take no connection; the others do."""

    clusters: Mapping[str, Any] = field(default_factory=dict)
    workers: Mapping[str, Any] = field(default_factory=dict)
    log_end_readers: Mapping[str, Any] = field(default_factory=dict)
    refused: Callable[[str], bool] = lambda _: True

    def kafka(self, topology: Topology, name: str, *, addresses: Iterable[str] | None = None) -> Any:
        found = self.clusters.get(name)
        return super().kafka(topology, name, addresses=addresses) if found is None else found

    def connect(self, topology: Topology, name: str) -> Any:
        return self.workers[name] if name in self.workers else super().connect(topology, name)

    def log_ends(self, topology: Topology, name: str, timeout_s: float) -> Any:
        found = self.log_end_readers.get(name)
        return super().log_ends(topology, name, timeout_s) if found is None else found

    def listening(self, addresses: Iterable[str], timeout_s: float) -> dict[str, Listening]:  # noqa: ARG002
        return {address: "refused" if self.refused(address) else "yes" for address in addresses}


def hosts_that(run: Callable[..., frozenset[str]]) -> SomeServers:
    return SomeServers(playbooks=Hosts(run))
