"""Sabotage of a quorum of the survivors: its newest change is on one voter alone, and others begin.

`form-quorum` lets the voter whose log reaches furthest begin, with just enough others. Here all but that one
begin: a majority that lacks the change.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from orchestrator.errors import ClusterError, SimulationError
from orchestrator.ports.admin_values import NewTopic
from orchestrator.ports.hosts import HostsTold
from orchestrator.runs.live.servers import Playbooks, Servers
from orchestrator.simulation.estate import Server
from orchestrator.simulation.running import Simulation
from orchestrator.verbs.live.real_servers import REAL_SERVERS, RealServers

NEWEST = "dcctl-newest"
_MADE_WITHIN_S = 60.0
# A leader without a majority gives up after some seconds; until then whoever starts fetches from it.
_GIVES_UP_S = 8.0
_POLL_S = 0.5


@contextmanager
def newest_on_one(simulation: Simulation, cluster: str, site: str) -> Iterator[str]:
    """Within it a topic is made, then all voters at `site` run; all but the last are stopped meanwhile.

    One that only stood still would find the change in its socket's buffer as it goes on. To be left once the
    other sites are lost. Gives the name of the voter that has it. Raises `SimulationError` where the topic
    cannot be made: the others' voters and this one have to be a quorum.
    """
    estate, host = simulation.estate, simulation.site(site)
    voters: list[Server] = [*estate.zookeepers_of(cluster), *estate.controllers_of(cluster)]
    names = [voter.program for voter in voters if voter.dc == site]
    host.stop(names[:-1])
    try:
        _make(simulation, cluster)
        yield names[-1]
        time.sleep(_GIVES_UP_S)
    finally:
        host.start(names[:-1])


def _make(simulation: Simulation, cluster: str) -> None:
    deadline = time.monotonic() + _MADE_WITHIN_S
    while True:
        try:
            with simulation.cluster(cluster) as kafka:
                kafka.create_topics({NEWEST: NewTopic(replicas=4, config={"min.insync.replicas": "2"})})
                if NEWEST in kafka.topic_names():
                    return
        except ClusterError as error:
            if time.monotonic() > deadline:
                raise SimulationError(f"topic {NEWEST}", f"was not made: {error.problem}") from None
        time.sleep(_POLL_S)


@dataclass(frozen=True, slots=True)
class OthersBegin:
    """Playbooks of which the one that forms a quorum starts others than it was told to.

    `done`: what it did, in words.
    """

    playbooks: Playbooks
    done: list[str]

    def ask(self, name: str, *, variables: Mapping[str, Any], **others: Any) -> HostsTold:
        """See `Playbooks`. Whoever puts files back knows what they become: that play is left as it is."""
        wanted, changes = list(variables.get("start", ())), variables.get("changes", {})
        if wanted and changes and not any(change["becomes"] for change in changes.values()):
            rest = [server for server in variables["changes"] if server != wanted[0]]
            turned = rest[: len(wanted)]
            self.done.append(f"{', '.join(turned)} began instead of {', '.join(wanted)}")
            variables = {**variables, "start": turned, "read": [*turned, *variables.get("read", ())]}
        return self.playbooks.ask(name, variables=variables, **others)

    def __getattr__(self, name: str) -> Any:
        """All else is as it is."""
        return getattr(self.playbooks, name)


def with_others_first(done: list[str]) -> Servers:
    """Real servers whose voters begin in the wrong order."""
    return RealServers(playbooks=OthersBegin(REAL_SERVERS.playbooks, done))
