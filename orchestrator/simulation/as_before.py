"""How a stretched cluster stands: what has to be the same again once a site is back."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from orchestrator.errors import DcctlError
from orchestrator.simulation.estate import Server
from orchestrator.simulation.running import Simulation
from orchestrator.simulation.workload.install import installed_programs
from orchestrator.verbs.live.within_cluster import placements
from orchestrator.wording import listed


@dataclass(frozen=True, slots=True)
class Standing:
    """By topic its assignments, who leads them, and what it has set itself; by server its file's digest; by
    site the applications that run there; and what the ensemble has recorded as changed.
    """

    replicas: Mapping[str, tuple[tuple[int, ...], ...]]
    leaders: Mapping[str, tuple[int, ...]]
    settings: Mapping[str, Mapping[str, str]]
    files: Mapping[str, str]
    applications: Mapping[str, tuple[str, ...]]
    recorded: Mapping[str, str]

    def differences(self, now: Standing) -> Iterator[str]:
        """What is another now, in words. Topics that have come since do not count."""
        for what, before, after in (
            ("assignments", self.replicas, now.replicas),
            ("leaders", self.leaders, now.leaders),
            ("settings", self.settings, now.settings),
            ("configuration", self.files, now.files),
            ("applications", self.applications, now.applications),
            ("what is recorded", self.recorded, now.recorded),
        ):
            for name, value in before.items():
                if after.get(name) != value:
                    yield f"{what} of {name}: {_told(value)} before, {_told(after.get(name))} now"


def as_it_stands(simulation: Simulation, cluster: str) -> Standing:
    """As it is now, files of voters and brokers at every site included. Raises `DcctlError`."""
    with simulation.cluster(cluster) as kafka:
        topics = kafka.placement().topics
        settings = kafka.configs("topic", list(topics))
    estate = simulation.estate
    named: list[tuple[Server, str]] = [(one, "zoo.cfg") for one in estate.zookeepers_of(cluster)]
    nodes = {node.program: node for node in (*estate.controllers_of(cluster), *estate.brokers_of(cluster))}
    named += [(node, "server.properties") for node in nodes.values()]
    return Standing(
        {name: tuple(topic.replicas) for name, topic in topics.items()},
        {name: tuple(topic.leaders) for name, topic in topics.items()},
        settings,
        {
            server.program: hashlib.sha256(
                simulation.site(server.dc).files.read(f"{server.program}/{file}")
            ).hexdigest()
            for server, file in named
        },
        {dc: _running(simulation, dc) for dc in simulation.sites},
        _recorded(simulation, cluster),
    )


def _running(simulation: Simulation, dc: str) -> tuple[str, ...]:
    """The applications that run at a site."""
    states = simulation.sites[dc].states()
    return tuple(n for n in installed_programs(simulation.topology, dc) if states.get(n) == "RUNNING")


def _recorded(simulation: Simulation, cluster: str) -> dict[str, str]:
    """What stands changed of a cluster, by the ensemble. Raises `DcctlError` where it does not answer."""
    _, part = placements(simulation.topology, [])
    if part.value is None:
        raise DcctlError(part.source, part.problem, part.hint)
    state = part.value
    quorum = state.quorums.get(cluster)
    without = () if quorum is None else quorum.without
    return {
        "sites off": listed(state.sites_off.get(cluster, ())),
        "services stopped": listed(sorted(state.services_stopped.get(cluster, ()))),
        "sites evacuated": str(state.evacuated.get(cluster, "")),
        "settings lowered": str(state.lowered.get(cluster, "")),
        "applications elsewhere": listed(state.applications_at.get(cluster, ())),
        "quorum without": listed(without),
    }


def _told(value: object) -> str:
    if isinstance(value, Mapping):
        return listed(f"{key}={one}" for key, one in sorted(value.items())) or "nothing"
    return "nothing" if value is None else str(value)
