"""What guards say in the ensemble, and what a broker's guard reads there and in its data folder.

Whether the folder came new is kept in the folder itself: another disk knows nothing of it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from orchestrator.adapters.files import write_whole
from orchestrator.adapters.zookeeper import Coordination
from orchestrator.guards.boot_guard import GUARD_FACTS, BootGuardStatus, Disk, boot_guard_status, newest_begun
from orchestrator.guards.live.earlier_denials import EarlierDenials
from orchestrator.runs.estate_record import Fact
from orchestrator.runs.guards import GuardSaid
from orchestrator.runs.live.estate_facts import read_facts
from orchestrator.runs.live.estate_record import FactName
from orchestrator.runs.writers import writers_at
from orchestrator.topology.model import Topology

# Kafka reads folders and files that it knows here; any other file is left alone.
MARK = ".dcctl-came-new.json"


def is_new(data: Path) -> bool:
    """Whether no broker has ever run on this folder: it holds no partition, only what formatting leaves."""
    try:
        return not any(entry.is_dir() for entry in data.iterdir())
    except OSError:
        return False  # one that is missing or cannot be read tells nothing


def guarded_disk(data: Path) -> Disk:
    """The folder before the broker starts on it. Raises `OSError` where that cannot be kept there."""
    if is_new(data):
        return _kept(data, None)
    try:
        found = json.loads((data / MARK).read_text(encoding="utf-8"))
        after = found["after"]
    except (FileNotFoundError, NotADirectoryError):
        return Disk()
    except (OSError, ValueError, TypeError, KeyError):
        after = None
    return Disk(is_new=True, after=after if isinstance(after, str) else None)


def came_after(data: Path, run_id: str) -> Disk:
    """Keep the newest run of the journal (empty: none) beside a folder that came new."""
    return _kept(data, run_id)


def _kept(data: Path, after: str | None) -> Disk:
    write_whole(data / MARK, json.dumps({"after": after}) + "\n")
    return Disk(is_new=True, after=after)


class GuardFacts:
    """The facts by which guards of one cluster decide; each is read once, for they never change."""

    def __init__(self, topology: Topology, cluster: str) -> None:
        self._topology = topology.name
        self._known: dict[FactName, Fact] = {}
        self._earlier = EarlierDenials(topology, cluster)

    def read(self, coordination: Coordination) -> tuple[Fact, ...]:
        """Those that hold, the oldest first, with what earlier versions have left in journals alone.

        Raises `CoordinationError`.
        """
        facts = read_facts(coordination, self._topology, GUARD_FACTS, self._known)
        return (*facts, *self._earlier.among(coordination, facts))


@dataclass(slots=True)
class GuardReading:
    """What one guard has read so far: of the ensemble, and of its broker's data folder."""

    topology: Topology
    cluster: str
    data: Path
    disk: Disk = field(init=False)
    facts: GuardFacts = field(init=False)

    def __post_init__(self) -> None:
        self.disk = guarded_disk(self.data)
        self.facts = GuardFacts(self.topology, self.cluster)

    def word(self, coordination: Coordination) -> BootGuardStatus:
        """What the ensemble says now. Raises `DcctlError`, and `ValueError` for what cannot be understood."""
        facts = self.facts.read(coordination)
        if self.disk.is_new and self.disk.after is None:
            self.disk = came_after(self.data, newest_begun(facts))
        return boot_guard_status(self.cluster, writers_at(self.topology, self.cluster), facts, disk=self.disk)


_ADAPTER = TypeAdapter(GuardSaid)


def guards_path(topology: str, cluster: str) -> str:
    """Where each guarded server of a cluster says whether it is open."""
    return f"/dcctl/{topology}/guards/{cluster}"


def guards_said(coordination: Coordination, topology: str, cluster: str) -> tuple[GuardSaid, ...]:
    """The newest word of each guard, by server."""
    found = []
    for server, value in coordination.read_children(guards_path(topology, cluster)).items():
        try:
            found.append(_ADAPTER.validate_python({**json.loads(value or b"{}"), "server": server}))
        except (ValueError, TypeError, ValidationError):
            found.append(GuardSaid(server=server))
    return tuple(found)
