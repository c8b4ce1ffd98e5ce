"""Getting a rehearsal's applications to where the scenario wants them before the fault."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator

from orchestrator.errors import DcctlError, SimulationError
from orchestrator.moves.support import refuse_unsupported, unsupported
from orchestrator.simulation.running import Simulation
from orchestrator.simulation.workload.install import (
    applied_groups,
    install_workload,
    start_workload,
    word_to_go_on,
)
from orchestrator.simulation.workload.progress import acked_in, lags_at_work, workload_progress
from orchestrator.simulation.workload.scenario import Scenario
from orchestrator.snapshot.live.reader import read_samples
from orchestrator.snapshot.rates import largest_rate
from orchestrator.snapshot.samples import SampleHistory
from orchestrator.snapshot.watched import Watched, watched_clusters
from orchestrator.topology.consumer_kinds import kind_named
from orchestrator.topology.flows import transactional_topics
from orchestrator.topology.model import Replication, Topology
from orchestrator.values import TopicPartition

# Who keeps up is never further behind than this many seconds of the load.
_KEEPING_UP_S = 4.0
_READY_TIMEOUT_S = 240.0
# The load is steady once at least this share of it is acknowledged, and the watcher has seen it so long.
_STEADY_SHARE = 0.5
_WATCHED_S = 2.0
_POLL_S = 1.0

Tell = Callable[[str, str], None]


def clusters_at_work(topology: Topology) -> tuple[str, ...]:
    """Where applications work before anything is lost: at the mirror's source alone where the other side is
    passive, else at each cluster that has any.
    """
    if topology.is_laid_out({"active-passive"}):
        return (topology.replication[0].source,)
    busy = {producer.cluster for producer in topology.producers}
    busy |= {consumer.cluster for consumer in topology.consumers}
    return tuple(name for name in topology.clusters if name in busy)


def begin_work(simulation: Simulation, scenario: Scenario, tell: Tell) -> tuple[str, ...]:
    """Start the applications where they are at home, and wait until each is at work; returns the clusters.

    Raises `SimulationError` after four minutes with what is still missing.
    """
    topology = simulation.topology
    refuse_unsupported(topology, "sim workload")
    clusters = clusters_at_work(topology)
    tell("applications", "installing producers, consumers and Spark queries")
    install_workload(simulation, scenario)
    for dc in dict.fromkeys(dc for name in clusters for dc in topology.clusters[name].datacenters):
        start_workload(simulation, dc)
    deadline = time.monotonic() + _READY_TIMEOUT_S
    while True:
        try:
            missing = list(waiting_for(simulation, scenario, clusters))
        except DcctlError as error:
            missing = [error.problem]
        if not missing:
            word_to_go_on(simulation).touch()
            return clusters
        said = "; ".join(missing[:3])
        tell("applications", said)
        if time.monotonic() > deadline:
            problem = f"not at work within {_READY_TIMEOUT_S:g} s: {said}"
            raise SimulationError("applications", problem, f"their logs lie in {simulation.folder}/sites")
        time.sleep(_POLL_S)


def waiting_for(simulation: Simulation, scenario: Scenario, clusters: Collection[str]) -> Iterator[str]:
    """What is still missing at these clusters, in words; nothing once all are at work."""
    topology = simulation.topology
    slack = scenario.rate_records_per_s * _KEEPING_UP_S
    progress = workload_progress(simulation.ledgers)
    written = progress.written
    if written < scenario.records_before:
        yield f"{written:,} of {scenario.records_before:,} records acknowledged"
        return
    roles = scenario.roles_of(applied_groups(topology.consumers))
    for name, lag in lags_at_work(simulation, clusters).items():
        role = roles.get(name)
        if role is not None and role.stop_after_records is not None:
            if progress.processed.get(name, 0) < role.stop_after_records:
                yield f"{name} has not stopped yet"
        elif role is not None and role.max_rate_records_per_s is not None:
            if not progress.processed.get(name):
                yield f"{name} has not moved yet"
        elif lag > (role.hold_lag_records if role else 0) + slack:
            yield f"{name} is {lag:,} behind"
    for watched in () if topology.is_one_cluster else watched_clusters(topology):
        if watched.cluster in clusters:
            yield from _not_followed(simulation, watched, slack)


def _not_followed(simulation: Simulation, watched: Watched, slack: float) -> Iterator[str]:
    """What is still to be copied to where applications would go, and the watcher there to see."""
    behind = 0 if watched.mirror is None else _not_at_target(simulation, watched.mirror)
    if behind > slack:
        yield f"{behind:,} records of {watched.cluster} are not at {watched.kept_at} yet"
    # A simulation has no watcher of a file that the watcher refuses.
    if not unsupported(simulation.topology, "watch"):
        history = read_samples(simulation.cluster(watched.kept_at), watched.samples_topic)
        yield from unwatched(history, watched)


def unsteady(
    simulation: Simulation, scenario: Scenario, watched: Iterable[Watched], *, began_at_s: float, now_s: float
) -> Iterator[str]:
    """Why the load that began then is not steady yet, in words; nothing once it is.

    A fault is only worth rehearsing out of steady work that the watcher follows: a prediction rests on the
    rates that it saw, and a busy machine can hold up producers and watcher for many seconds.
    """
    wanted = scenario.records_before + _STEADY_SHARE * scenario.rate_records_per_s * scenario.steady_s
    written = workload_progress(simulation.ledgers).written
    if written < wanted:
        yield f"{written:,} of {wanted:,.0f} records acknowledged"
        return
    for one in watched:
        seen_at_s = read_samples(simulation.cluster(one.kept_at), one.samples_topic).last_good_at_s
        if seen_at_s is None or seen_at_s < began_at_s + min(_WATCHED_S, scenario.steady_s):
            yield f"the watcher at {one.kept_at} has not seen {one.cluster} at it yet"
        elif now_s - seen_at_s > simulation.topology.failover.max_position_age_s / 2:
            yield f"the watcher at {one.kept_at} is {now_s - seen_at_s:.1f} s behind"


def copies_missing(simulation: Simulation, clusters: Collection[str]) -> dict[str, int]:
    """By mirror between two of these clusters, how many records of its source it has not copied yet."""
    return {
        f"{mirror.source} → {mirror.target}": _not_at_target(simulation, mirror)
        for mirror in simulation.topology.replication
        if {mirror.source, mirror.target} <= set(clusters)
    }


def _not_at_target(simulation: Simulation, mirror: Replication) -> int:
    """Records at the source of which there is no copy, by the logs themselves: nobody else writes to these.

    Lag (`replication.lag`) is what Connect has stored, which comes later. Of a topic that is written in
    transactions the producers tell how many there are: its log has more offsets than records.
    """
    source, target = simulation.cluster(mirror.source), simulation.cluster(mirror.target)
    described = source.topics(mirror.topics)
    partitions: list[TopicPartition] = [tp for topic in described.values() for tp in topic.partitions]
    here = source.end_offsets(partitions)
    there = target.end_offsets(mirror.mirrored(tp) for tp in partitions)
    producers = simulation.topology.producers_of(mirror.source)
    told = transactional_topics(producers)
    behind = sum(max(0, end - there[mirror.mirrored(tp)]) for tp, end in here.items() if tp.topic not in told)
    for topic in told.intersection(described):
        copied = sum(there[mirror.mirrored(tp)] for tp in partitions if tp.topic == topic)
        behind += max(0, acked_in(simulation.ledgers, topic, {one.name for one in producers}) - copied)
    return behind


def unwatched(history: SampleHistory, watched: Watched) -> Iterator[str]:
    """What the watcher has still to see before a move can be judged, in words."""
    topics = set(watched.topics)
    unseen = sorted(topics - history.writers.keys())
    if unseen:
        yield f"the watcher has not seen yet who writes {', '.join(unseen)}"
    known = {topic for topic in topics if largest_rate(history.topic_end_readings(topic)) is not None}
    if unknown := sorted(topics - known):
        yield f"the watcher does not know yet how fast {', '.join(unknown)} grow"
    for consumer in watched.applications:
        if not history.groups.issuperset(consumer.groups):
            yield f"the watcher has not recorded {consumer.name} yet"
        if watched.mirror is not None and kind_named(consumer.kind).kept_by:
            word = history.of_applications.get(consumer.name)
            if word is None or not word.has_positions:
                yield f"the watcher has kept no positions of {consumer.name} yet"
