"""Mirrors that a move holds, and what of each cluster they need although the file has it no more. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from orchestrator.estate.desired_acls import desired_acls
from orchestrator.estate.desired_topics import desired_topics
from orchestrator.ports.part import Part
from orchestrator.reconcile.applied import Applied
from orchestrator.replication.engine import engine_of
from orchestrator.runs.coordination_state import CoordinationState, EarlierRun, newest_move
from orchestrator.topology.model import Replication, Topology
from orchestrator.topology.verbs import MOVING_VERBS
from orchestrator.values import Acl

Held = Mapping[str, Mapping[str, str]]
"""target -> source -> reason"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What of one cluster must stay whatever the file says, each with the reason."""

    topics: Mapping[str, str] = field(default_factory=dict)
    acls: Mapping[Acl, str] = field(default_factory=dict)
    connectors: Mapping[str, str] = field(default_factory=dict)


def newest_moves(
    topology: Topology, coordination: Part[CoordinationState]
) -> Mapping[tuple[str, str], EarlierRun]:
    """The newest run that moved what the file has at one cluster to another or back, by these two.

    Also between clusters that no mirror of the file joins: it has led along other ones, or has left the file.
    """
    runs = coordination.value.runs if coordination.value else ()
    pairs = {(mirror.source, mirror.target): None for mirror in topology.replication}
    for run in runs:
        if run.verb in MOVING_VERBS:
            pairs.setdefault((run.home, run.away))
    return {pair: newest for pair in pairs if (newest := newest_move(runs, *pair)) is not None}


def held_mirrors(topology: Topology, coordination: Part[CoordinationState]) -> dict[str, dict[str, str]]:
    """Mirrors that a failover has ended on purpose: target -> source -> reason. A failback frees them.

    The record of primaries tells it, by the topics that the file has at home (no failback leads back to what
    is not there any more), and so does the newest move, of which not all may be recorded yet.
    """
    primaries = coordination.value.primaries if coordination.value else {}
    in_file = {(mirror.source, mirror.target) for mirror in topology.replication}
    moved = {
        (home, primary.cluster): primary.run_id
        for (home, name), primary in primaries.items()
        if primary.cluster != home and topology.topic(name, home) is not None
    }
    for (source, target), run in newest_moves(topology, coordination).items():
        is_there = (source, target) in in_file and (run.source, run.target) == (source, target)
        # Of a part the record of primaries tells it alone: where no topic has moved the mirror goes on.
        if is_there and run.verb != "failback" and run.part is None:
            moved[source, target] = run.run_id
    held: dict[str, dict[str, str]] = {}
    for (source, target), run_id in moved.items():
        held.setdefault(target, {})[source] = f"{target} has taken over from {source} by run {run_id}"
    return held


def kept_by_held(
    topology: Topology, coordination: Part[CoordinationState], applied: Applied | None, held: Held
) -> dict[str, Kept]:
    """By cluster, all that the file would imply if it had the held mirrors as they were applied last.

    Those are their connectors, topics at both sides, and the rules of the mirror and of applications.
    """
    primaries = coordination.value.primaries if coordination.value else {}
    found: dict[str, Kept] = {}
    for target, sources in held.items():
        for source, reason in sources.items():
            moved = [name for (home, name), at in primaries.items() if (home, at.cluster) == (source, target)]
            mirror = _as_it_was(topology, applied, source, target, moved)
            why = f"{reason}: a failback needs it"
            # The cluster that took over may itself have left the file.
            for cluster in {source, target} & topology.clusters.keys():
                found[cluster] = _with(found.get(cluster, Kept()), topology, mirror, cluster, why)
    return found


def _as_it_was(
    topology: Topology, applied: Applied | None, source: str, target: str, moved: Iterable[str]
) -> Replication:
    """The mirror with every topic that the file, its connector or the record of primaries names."""
    in_file = topology.mirror(source, target)
    at_target = applied.clusters.get(target) if applied is not None else None
    engine = engine_of(in_file or Replication(source=source, target=target, topics=()))
    known = engine.mirror_of(source, target, {} if at_target is None else at_target.connectors)
    topics = (*(in_file.topics if in_file is not None else ()), *known.topics, *moved)
    return replace(in_file or known, topics=tuple(dict.fromkeys(topics)))


def _with(kept: Kept, topology: Topology, mirror: Replication, cluster: str, why: str) -> Kept:
    others = (m for m in topology.replication if (m.source, m.target) != (mirror.source, mirror.target))
    before = replace(topology, replication=(*others, mirror))
    topics = {*desired_topics(before, cluster), *mirror.topics}
    if cluster == mirror.target:
        topics.update(map(mirror.mirrored_topic, mirror.topics))
    names = engine_of(mirror).programs(mirror) if cluster == mirror.target else ()
    return Kept(
        topics={**dict.fromkeys(topics, why), **kept.topics},
        acls={**dict.fromkeys(desired_acls(before, cluster), why), **kept.acls},
        connectors={**dict.fromkeys(names, why), **kept.connectors},
    )
