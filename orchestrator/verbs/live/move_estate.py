"""The connections of one move."""

from __future__ import annotations

from dataclasses import dataclass, field

from orchestrator.adapters.zookeeper import Coordination
from orchestrator.errors import DcctlError
from orchestrator.moves.participants import Participants
from orchestrator.moves.read_afterwards import names_of_its_own
from orchestrator.moves.routes import led_of, moving_consumers
from orchestrator.moves.way import Way
from orchestrator.ports.servers import Connect, Kafka
from orchestrator.replication.by_content import SearchBudget
from orchestrator.replication.engine import Asked, Engine, engine_named
from orchestrator.replication.mirror_ref import MirrorRef
from orchestrator.runs.live.servers import Servers
from orchestrator.topology.model import Replication, Topology
from orchestrator.verbs.live.real_servers import REAL_SERVERS
from orchestrator.verbs.registration import PARTICIPANTS


@dataclass(frozen=True, slots=True)
class Estate:
    """The connections of one move, opened once, used by observing and acting.

    `way`: all that goes from one place to the other. `target`: the cluster that is entered; `connect`: the
    workers that run the mirrors between the two places, None where their engine has no need of any. `search`:
    what the move may still read for places by content, observing and acting together.
    """

    topology: Topology
    way: Way
    target: Kafka
    connect: Connect | None
    coordination: Coordination | None
    coordination_problem: str = ""
    servers: Servers = REAL_SERVERS
    search: SearchBudget = field(default_factory=SearchBudget)

    @property
    def feed(self) -> MirrorRef:
        """The mirror along which it goes, or against which; see `Way.main`."""
        return self.way.mirror_ref

    @property
    def mirror(self) -> Replication:
        """As the file has it, or as dcctl makes it."""
        return self.feed.of(self.topology)

    @property
    def groups(self) -> tuple[str, ...]:
        """Consumer groups that move."""
        return tuple(g for c in moving_consumers(self.way) for g in c.groups)

    @property
    def target_topics(self) -> tuple[str, ...]:
        """Mirrored and landing topics, and what else is read at the place entered."""
        copied = [mirror.of(self.topology) for mirror in self.way.feeds]
        fed = [
            name for mirror in copied for name in (*map(mirror.mirrored_topic, mirror.topics), *mirror.topics)
        ]
        read = [
            name
            for one in moving_consumers(self.way)
            if self.way.feed(one.name) is None
            for name in (*self.topology.topics_read(one), *names_of_its_own(self.way, one))
        ]
        return tuple(dict.fromkeys([*fed, *(led.entered for led in led_of(self.way)), *read]))

    def asked(self, within_s: float | None = None) -> Asked:
        """Whom the mirror's engine may ask: the cluster entered, and its workers, for so long at most."""
        return Asked(self._cluster, lambda _: self._connect(within_s))

    def _cluster(self, name: str) -> Kafka:
        return self.target if name == self.target.name else self.servers.kafka(self.topology, name)

    def _connect(self, within_s: float | None) -> Connect:
        if self.connect is None:
            raise DcctlError(f"mirror {self.feed}", "its engine needs no Connect")
        return self.connect if within_s is None else self.connect.within(within_s)

    def close(self) -> None:
        """End the session with the ensemble; Kafka's connections end with their clients."""
        if self.coordination is not None:
            self.coordination.close()


def open_estate(servers: Servers, topology: Topology, way: Way, them: Participants = PARTICIPANTS) -> Estate:
    """Connections to the cluster that is entered, to what the mirror's engine needs, and to the coordination
    ensemble. `them`: who takes part.

    Raises where the file lacks their addresses. An ensemble that does not answer is no error
    here: a gate says so, beside everything else that can be measured.
    """
    coordination, problem = open_coordination(servers, topology)
    try:
        target = servers.kafka(topology, way.entered.cluster)
        feed = way.main
        workers = "" if feed is None else engine_along(topology, feed, them).workers(feed)
        connect = servers.connect(topology, workers) if workers else None
    except DcctlError:
        if coordination is not None:
            coordination.close()
        raise
    search = SearchBudget(now_s=servers.clock.monotonic_s)
    return Estate(topology, way, target, connect, coordination, problem, servers, search)


def engine_along(topology: Topology, feed: MirrorRef, them: Participants) -> Engine:
    """The engine that the file gives a mirror, to be asked: also one that only copies."""
    name = feed.of(topology).engine
    return next((engine for engine in them.engines if engine.name == name), None) or engine_named(name)


def open_coordination(servers: Servers, topology: Topology) -> tuple[Coordination | None, str]:
    """The topology's ensemble, or None and why it cannot be had."""
    try:
        coordination = servers.coordination(topology)
        coordination.open()
    except DcctlError as error:
        return None, error.problem
    return coordination, ""
