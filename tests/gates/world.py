"""One small estate with real servers, what a command said of its gates, and what must not have changed."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from orchestrator.adapters.connect import ConnectCluster
from orchestrator.adapters.kafka.access import AccessRules
from orchestrator.errors import DcctlError
from orchestrator.estate.live.connections import connect_cluster
from orchestrator.runs.live.coordination import coordination_connection
from orchestrator.runs.live.estate_facts import read_primaries
from orchestrator.simulation.running import Simulation
from orchestrator.topology.model import Replication
from tests.drill.rehearsal import processes_of
from tests.faults.estate import Estate

FILE = Path(__file__).with_name("estate.yaml")
AUDITOR = "User:auditor"
LOCK_HELD = 5
_LOCK_FREE_WITHIN_S = 30.0
_VERBS: Mapping[str, tuple[str, ...]] = {
    "failover": ("--to", "east", "--attest-down", "west"),
    "switchover": ("--to", "east"),
    "failback": ("--acknowledge", "test: there and back at once"),
    "fence": ("--cluster", "west"),
    "unfence": ("--cluster", "west"),
    "leaders": ("--cluster", "west", "--balance"),
    "apply": (),
}


@dataclass(frozen=True, kw_only=True)
class Asked:
    """How a verb is to be asked while something is broken; by default as ever.

    `instead` takes the place of a verb's options. With `is_dry` nothing would be done in any case.
    """

    file: Path | None = None
    instead: Mapping[str, Sequence[str]] = field(default_factory=dict)
    options: Sequence[str] = ()
    is_dry: bool = False


@dataclass(frozen=True)
class Answer:
    """One command that has ended. `gates` by id, as its plan has them."""

    status: int
    seconds: float
    gates: Mapping[str, Mapping[str, str]]
    said: str

    @property
    def closed(self) -> dict[str, str]:
        """Every gate that is not ok, with its outcome."""
        return {name: gate["outcome"] for name, gate in self.gates.items() if gate["outcome"] != "ok"}


class World:
    """The estate, from outside as an operator has it and from inside as what breaks it needs it."""

    def __init__(self, estate: Estate, folder: Path) -> None:
        self.estate = estate
        self.folder = folder
        self.simulation: Simulation = estate.simulation()

    @property
    def mirror(self) -> Replication:
        """The only mirror."""
        return self.simulation.topology.replication[0]

    @property
    def connect(self) -> ConnectCluster:
        """The workers at the target."""
        return connect_cluster(self.simulation.topology, "east")

    def variant(self, name: str, change: Callable[[dict[str, Any]], None]) -> Path:
        """The estate's own file, changed."""
        data = yaml.safe_load(self.simulation.topology_path.read_text(encoding="utf-8"))
        change(data)
        file = self.folder / f"{name}.yaml"
        file.write_text(yaml.safe_dump(data, sort_keys=False), encoding="utf-8")
        return file

    def ask(self, verb: str, how: Asked) -> Answer:
        """Run a verb to its end. A lock that a killed process has left is waited for."""
        words = self._words(verb, how)
        deadline = time.monotonic() + _LOCK_FREE_WITHIN_S
        while True:
            began = time.monotonic()
            done = self.estate.command(*words)
            seconds = time.monotonic() - began
            if done.returncode != LOCK_HELD or time.monotonic() > deadline:
                break
            time.sleep(1)
        data = json.loads(done.stdout) if done.stdout else {}
        gates = {gate["id"]: gate for gate in data.get("plan", {}).get("gates", ())}
        return Answer(done.returncode, seconds, gates, done.stderr)

    def _words(self, verb: str, how: Asked) -> list[str]:
        file = str(how.file or self.simulation.topology_path)
        options = [*how.instead.get(verb, _VERBS[verb]), *how.options]
        if verb == "apply":
            return (
                ["plan", file, "--json", *options]
                if how.is_dry
                else ["apply", file, "--json", "--yes", *options]
            )
        return [verb, file, "--json", *options, "--dry-run" if how.is_dry else "--yes"]

    def standing(self, *, is_quiet: bool) -> dict[str, Any]:
        """Whatever a verb could have changed, as far as it can be read now.

        Unless the estate `is_quiet` the mirror copies: what it moves by itself is left out.
        """
        clusters = self.simulation.topology.clusters
        found: dict[str, Any] = {"primary": self._primaries()}
        for dc, site in self.simulation.sites.items():
            if site.state == "up":
                found[f"programs at {dc}"] = site.supervisor.program_ids()
        for name, cluster in clusters.items():
            if all(self.simulation.sites[dc].state == "up" for dc in cluster.datacenters):
                found |= self._of_cluster(name, is_quiet=is_quiet)
                if cluster.has_connect:
                    found[f"connectors at {name}"] = self._connectors(name, is_quiet=is_quiet)
        return found

    def await_quiet(self, stands_s: float = 5.0, within_s: float = 60.0) -> None:
        """Once the source is gone: wait until the mirror's offsets, which it writes late, stand still."""
        deadline, since = time.monotonic() + within_s, time.monotonic()
        found = self.connect.source_offsets(f"{self.mirror.source}-to-{self.mirror.target}-source")
        while time.monotonic() - since < stands_s:
            assert time.monotonic() < deadline, f"the mirror's offsets do not stand still: {found}"
            time.sleep(0.5)
            now = self.connect.source_offsets(f"{self.mirror.source}-to-{self.mirror.target}-source")
            found, since = (found, since) if now == found else (now, time.monotonic())

    def _of_cluster(self, name: str, *, is_quiet: bool) -> dict[str, Any]:
        topology, cluster = self.simulation.topology, self.simulation.cluster(name)
        groups = [consumer.name for consumer in topology.consumers]
        copies = {
            mirror.mirrored_topic(topic)
            for mirror in topology.replication
            if mirror.target == name
            for topic in mirror.topics
        }
        written = {producer.cluster for producer in topology.producers}

        def committed() -> Any:
            return {
                f"{group} {tp}": offset
                for group, offsets in cluster.committed(groups).items()
                for tp, offset in offsets.items()
                if is_quiet or tp.topic not in copies
            }

        def ends() -> Any:
            if not is_quiet and name in written:
                return "producers are at work"
            topics = cluster.topics(topic.name for topic in topology.topics).values()
            return cluster.end_offsets(tp for topic in topics for tp in topic.partitions)

        return {
            f"topics at {name}": _or_why(
                lambda: {t for t in cluster.topic_names() if not t.startswith("__")}
            ),
            f"rules at {name}": _or_why(lambda: AccessRules(name, cluster.properties).rules()),
            f"group offsets at {name}": _or_why(committed),
            f"ends of the topics at {name}": _or_why(ends),
        }

    def _connectors(self, cluster: str, *, is_quiet: bool) -> Any:
        connect = connect_cluster(self.simulation.topology, cluster)

        def read() -> Any:
            described = connect.described()
            found: dict[str, Any] = {
                name: [config, status.state] for name, (config, status) in described.items()
            }
            if is_quiet:
                offsets = {name: connect.source_offsets(name) for name in described if "source" in name}
                found["offsets"] = offsets
            return found

        return _or_why(read)

    def _primaries(self) -> Any:
        def read() -> Any:
            coordination = coordination_connection(self.simulation.topology)
            coordination.open(timeout_s=1.0)
            try:
                return read_primaries(coordination, self.simulation.topology.name)
            finally:
                coordination.close()

        return _or_why(read)


def _or_why(question: Callable[[], Any]) -> Any:
    try:
        return question()
    except DcctlError as error:
        return f"cannot be read: {error.subject}"


def world_at_work(folder: Path) -> AbstractContextManager[World]:
    """The estate of all cases, with its applications at west."""
    return world_of(folder, FILE, is_at_work=True)


@contextmanager
def world_of(folder: Path, file: Path, *, is_at_work: bool) -> Iterator[World]:
    """The estate of a file, with its applications where it `is_at_work`; nothing is left of it afterwards."""
    state = folder / "state"
    estate = Estate(state)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DCCTL_STATE_DIR", str(state))
        try:
            estate.must("sim", "up", str(file))
            if is_at_work:
                estate.must("sim", "workload", "--scenario", "tiny")
            yield World(estate, folder)
        finally:
            estate.command("sim", "down", "--all", "--yes")
            assert processes_of(state) == []
