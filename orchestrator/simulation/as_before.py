"""How a stretched cluster stands: what has to be the same again once a site is back."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from orchestrator.simulation.estate import Server
from orchestrator.simulation.running import Simulation
from orchestrator.wording import listed


@dataclass(frozen=True, slots=True)
class Standing:
    """By topic its assignments, who leads them, and what it has set itself; by server its file's digest."""

    replicas: Mapping[str, tuple[tuple[int, ...], ...]]
    leaders: Mapping[str, tuple[int, ...]]
    settings: Mapping[str, Mapping[str, str]]
    files: Mapping[str, str]

    def differences(self, now: Standing) -> Iterator[str]:
        """What is another now, in words. Topics that have come since do not count."""
        for what, before, after in (
            ("assignments", self.replicas, now.replicas),
            ("leaders", self.leaders, now.leaders),
            ("settings", self.settings, now.settings),
            ("configuration", self.files, now.files),
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
    )


def _told(value: object) -> str:
    if isinstance(value, Mapping):
        return listed(f"{key}={one}" for key, one in sorted(value.items())) or "nothing"
    return "nothing" if value is None else str(value)
