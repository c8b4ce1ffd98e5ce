"""Makes the picture that a decision is taken from: everything is asked at once, nothing is assumed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from orchestrator.adapters.zookeeper import Coordination
from orchestrator.errors import ClusterError, DcctlError
from orchestrator.moves.by_time import offsets_by_time
from orchestrator.moves.topic_states import topic_states
from orchestrator.operations.by_time import samples_for
from orchestrator.operations.coordination_state import coordination_subject, read_coordination
from orchestrator.operations.relocation import copy_folder, seen_checkpoint
from orchestrator.operations.servers import REAL_SERVERS, Servers
from orchestrator.operations.source_look import probe_source, words_of_guards
from orchestrator.planning.checkpoints import SeenCheckpoint
from orchestrator.planning.clients import ClientHost
from orchestrator.planning.known_gaps import sampled_gaps
from orchestrator.planning.observation import (
    STANDSTILL_S,
    CoordinationState,
    MirrorSettings,
    Observation,
    Part,
    SourceProbe,
)
from orchestrator.planning.positions import source_partitions
from orchestrator.planning.samples import SampleHistory
from orchestrator.ports.clock import Clock
from orchestrator.ports.servers import Connect, Kafka
from orchestrator.replication.connectors import connector_names
from orchestrator.replication.offset_map import OffsetMap
from orchestrator.replication.offset_syncs import read_offset_map
from orchestrator.replication.source_gaps import SourceGaps
from orchestrator.topology.model import Consumer, Replication, Topology
from orchestrator.values import LogEnd, TopicPartition

T = TypeVar("T")

CONNECT_OFFSETS_TIMEOUT_S = 1.0
# A cluster that does not name its brokers in this time is asked nothing else: a refusal has to come soon.
REACHED_WITHIN_S = 7.0
_WATCHER_POLL_S = 0.3


@dataclass(frozen=True, slots=True)
class Estate:
    """The connections of one failover: opened once, used by observing and acting."""

    topology: Topology
    mirror: Replication
    target: Kafka
    connect: Connect
    coordination: Coordination | None
    coordination_problem: str = ""
    servers: Servers = REAL_SERVERS

    @property
    def groups(self) -> tuple[str, ...]:
        """Consumer groups that move."""
        return tuple(c.name for c in self.topology.consumers_of(self.mirror.source) if c.kind == "group")

    @property
    def target_topics(self) -> tuple[str, ...]:
        """Mirrored and landing topics."""
        names = [self.mirror.mirrored_topic(name) for name in self.mirror.topics]
        return tuple(dict.fromkeys([*names, *self.mirror.topics]))

    def close(self) -> None:
        """End the session with the ensemble; Kafka's connections end with their clients."""
        if self.coordination is not None:
            self.coordination.close()


def open_estate(servers: Servers, topology: Topology, mirror: Replication) -> Estate:
    """Connections to the target's cluster and workers, and to the coordination ensemble.

    Raises where the file lacks addresses of the target. An ensemble that does not answer is no error
    here: a gate says so, beside everything else that can be measured.
    """
    coordination, problem = open_coordination(servers, topology)
    try:
        target = servers.kafka(topology, mirror.target)
        connect = servers.connect(topology, mirror.target)
    except DcctlError:
        if coordination is not None:
            coordination.close()
        raise
    return Estate(topology, mirror, target, connect, coordination, problem, servers)


def open_coordination(servers: Servers, topology: Topology) -> tuple[Coordination | None, str]:
    """The topology's ensemble, or None and why it cannot be had."""
    try:
        coordination = servers.coordination(topology)
        coordination.open()
    except DcctlError as error:
        return None, error.problem
    return coordination, ""


def observe(
    estate: Estate,
    *,
    own_lock: bool = False,
    own_run: str = "",
    mirror_offsets_timeout_s: float = CONNECT_OFFSETS_TIMEOUT_S,
) -> Observation:
    """One observation of the mirror's both sides. What cannot be had is a part with a problem.

    `own_lock`: this process holds the lock, so a holder that is found is no other. `own_run`: id of this
    process's run, which is no earlier one.
    """
    target, connect, servers = estate.target, estate.connect, estate.servers
    with servers.threads.pool(16) as pool:

        def ask(source: str, question: Callable[[], T]) -> Future[Part[T]]:
            return pool.submit(asked, source, question, servers.clock)

        subject = target.subject
        brokers = ask(subject, lambda: target.brokers(REACHED_WITHIN_S))

        def ask_target(question: Callable[[], T]) -> Future[Part[T]]:
            return ask(subject, lambda: once_reached(brokers, question))

        source = ask(
            f"cluster {estate.mirror.source}",
            lambda: probe_source(servers, estate.topology, estate.mirror.source),
        )
        samples = ask_target(lambda: _samples(estate, source))
        offset_map = ask_target(lambda: _offset_map(estate, samples))
        by_time = ask_target(lambda: _by_time(estate, samples, offset_map))
        topics = ask_target(lambda: topic_states(target, estate.target_topics))
        first_ends = ask_target(lambda: _mirrored_ends(estate))
        log_ends = ask_target(lambda: _log_ends(estate, source, first_ends, offset_map))
        members = ask_target(lambda: target.group_members(estate.groups))
        committed = ask_target(lambda: target.committed(estate.groups))
        connectors = ask(f"Connect at {connect.name}", lambda: _connectors(estate))
        mirror_offsets = ask(
            f"Connect at {connect.name}", lambda: _mirror_offsets(estate, mirror_offsets_timeout_s)
        )
        mirror_settings = ask(f"Connect at {connect.name}", lambda: _mirror_settings(estate))
        checkpoints = ask("checkpoint copies", lambda: _checkpoints(estate))
        coordination = ask(
            coordination_subject(estate.topology), lambda: _coordination(estate, own_lock, own_run)
        )
        inventory = ask("inventory", lambda: _inventory(estate))
        return Observation(
            source=source.result(),
            brokers=brokers.result(),
            topics=topics.result(),
            earlier_ends=_earlier_ends(source.result(), first_ends.result()),
            log_ends=log_ends.result(),
            members=members.result(),
            committed=committed.result(),
            connectors=connectors.result(),
            mirror_offsets=mirror_offsets.result(),
            mirror_settings=mirror_settings.result(),
            samples=samples.result(),
            offset_map=offset_map.result(),
            by_time=by_time.result(),
            checkpoints=checkpoints.result(),
            coordination=coordination.result(),
            inventory=inventory.result(),
            target_id=None if brokers.result().value is None else target.cluster_id,
            at_s=servers.clock.now_s(),
        )


def asked(source: str, question: Callable[[], T], clock: Clock) -> Part[T]:
    """The answer as a part of a picture; where there is none, why.

    `at_s` is when the answer came: what it says held then, or a moment before.
    """
    try:
        value = question()
    except DcctlError as error:
        return Part(error.subject, clock.now_s(), None, error.problem, error.hint)
    return Part(source, clock.now_s(), value)


def once_reached(brokers: Future[Part[dict[int, str]]], question: Callable[[], T]) -> T:
    """The answer of a cluster that answers at all. Raises `ClusterError` where it does not."""
    reached = brokers.result()
    if reached.value is None:
        raise ClusterError(reached.source, reached.problem, reached.hint)
    return question()


def _samples(estate: Estate, source: Future[Part[SourceProbe]]) -> SampleHistory:
    """The samples. If the source is away from here, the watcher gets a moment to see it as well."""
    # First: how old the newest sample is counts from when it was read, and a frozen source takes its time.
    probe = source.result().value
    clock = estate.servers.clock
    deadline = clock.monotonic_s() + estate.topology.failover.max_position_age_s
    while True:
        history = samples_for(estate.topology, estate.mirror, estate.target)
        if probe is None or probe.listening or history.is_source_failing or clock.monotonic_s() > deadline:
            return history
        clock.wait(_WATCHER_POLL_S)


def _offset_map(estate: Estate, samples: Future[Part[SampleHistory]]) -> OffsetMap:
    """Read at once, which is nearly always right; once more where the samples, which take time, differ."""
    hoped: dict[TopicPartition, SourceGaps] = dict.fromkeys(
        source_partitions(estate.topology, estate.mirror), "no"
    )
    found = read_offset_map(estate.target, estate.mirror, made_anew={}, gaps=hoped)
    history = samples.result().value
    made_anew = {} if history is None else history.made_anew
    gaps = sampled_gaps(estate.topology, estate.mirror, history)
    if not made_anew and all(gaps.get(tp) == "no" for tp in found.partitions):
        return found
    return read_offset_map(estate.target, estate.mirror, made_anew=made_anew, gaps=gaps)


def _by_time(
    estate: Estate, samples: Future[Part[SampleHistory]], offset_map: Future[Part[OffsetMap]]
) -> dict[str, dict[TopicPartition, int]]:
    history, found = samples.result().value, offset_map.result().value
    if history is None or found is None:
        return {}
    return {
        group.name: offsets_by_time(
            estate.target,
            estate.mirror,
            group,
            history.positions(group.name),
            history=history,
            offset_map=found,
        )
        for group in estate.topology.consumers_of(estate.mirror.source)
        if group.kind == "group"
    }


def _mirrored_ends(estate: Estate) -> dict[TopicPartition, int]:
    names = [estate.mirror.mirrored_topic(name) for name in estate.mirror.topics]
    described = estate.target.topics(names)
    return estate.target.end_offsets(tp for topic in described.values() for tp in topic.partitions)


def _log_ends(
    estate: Estate,
    source: Future[Part[SourceProbe]],
    first: Future[Part[dict[TopicPartition, int]]],
    offset_map: Future[Part[OffsetMap]],
) -> dict[TopicPartition, LogEnd]:
    """The logs, read late enough to tell whether anything still lands.

    And behind the offset map: a mirror at work writes on meanwhile, and a position that the map has would
    seem to lie beyond the end of its log.
    """
    offset_map.result()
    if first.result().value is not None and _is_away(source.result()):
        estate.servers.clock.wait(STANDSTILL_S)
    described = estate.target.topics(estate.target_topics)
    return estate.target.log_ends(tp for topic in described.values() for tp in topic.partitions)


def _is_away(source: Part[SourceProbe]) -> bool:
    return source.value is not None and not source.value.listening


def _earlier_ends(
    source: Part[SourceProbe], ends: Part[dict[TopicPartition, int]]
) -> Part[dict[TopicPartition, int]]:
    if _is_away(source):
        return ends
    return Part(source.source, source.at_s, None, source.problem or "it takes connections")


def _connectors(estate: Estate) -> dict[str, str]:
    connect = estate.connect.within(REACHED_WITHIN_S)
    return {name: _state(status) for name, status in connect.connectors().items()}


def _state(status: Mapping[str, Any]) -> str:
    """As Connect says it, for which a connector is RUNNING while its tasks have failed."""
    state = str(status["connector"]["state"])
    failed = [str(task["id"]) for task in status["tasks"] if task["state"] == "FAILED"]
    return f"{state}, but task {', '.join(failed)} FAILED" if failed else state


def _mirror_offsets(estate: Estate, timeout_s: float) -> dict[TopicPartition, int]:
    """Connect's word makes a failover's prediction tighter; that is not waited for while Connect is busy."""
    connect = estate.connect.within(timeout_s)
    return connect.source_offsets(connector_names(estate.mirror).source)


def _mirror_settings(estate: Estate) -> MirrorSettings:
    connect, name = estate.connect.within(REACHED_WITHIN_S), connector_names(estate.mirror).source
    return MirrorSettings(connect.configuration(name), connect.writes_in_transactions(name))


def _coordination(estate: Estate, own_lock: bool, own_run: str) -> CoordinationState:
    found = read_coordination(
        estate.coordination,
        estate.coordination_problem,
        estate.topology,
        own_lock=own_lock,
        own_run=own_run,
        between=[(estate.mirror.source, estate.mirror.target)],
    )
    if estate.coordination is None:
        return found
    said, closed = words_of_guards(estate.servers, estate.coordination, estate.topology, estate.mirror.source)
    return replace(found, guards=said, kept_closed=closed)


def _inventory(estate: Estate) -> tuple[ClientHost, ...]:
    """The hosts, as Ansible reads them."""
    if estate.topology.inventory is None:
        raise DcctlError("inventory", "the topology file names none")
    return tuple(
        ClientHost(
            name=name,
            dc=str(said.get("dc", "")),
            service_manager=str(said.get("service_manager", "")),
            clients=frozenset(map(str, said["clients_on_host"])) if "clients_on_host" in said else None,
        )
        for name, said in estate.servers.playbooks.hosts(Path(estate.topology.inventory)).items()
    )


def _checkpoints(estate: Estate) -> dict[str, SeenCheckpoint]:
    queries = [c for c in estate.topology.consumers_of(estate.mirror.source) if c.kind == "spark"]
    return {query.name: _seen_copy(query) for query in queries}


def _seen_copy(query: Consumer) -> SeenCheckpoint:
    try:
        return seen_checkpoint(copy_folder(query))
    except DcctlError as error:
        return SeenCheckpoint(problem=error.problem, hint=error.hint)
