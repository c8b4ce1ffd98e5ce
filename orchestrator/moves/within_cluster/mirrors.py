"""Mirrors out of a cluster that gives up records: stopped before, set behind what is left, resumed. Pure.

Rule (facts: MirrorMaker 2): a mirror whose position lies beyond the end of a log begins anew at the earliest
offset, or skips what is written up to there, without a word.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from orchestrator.moves.participants import MirrorEngine, Participants
from orchestrator.moves.results import LeadersChosen
from orchestrator.replication.mirror_ref import MirrorRef, ref_to
from orchestrator.runs.effect import Handle, Nothing
from orchestrator.runs.estate_record import Cuts
from orchestrator.runs.gate import absent, gate_result
from orchestrator.runs.plan import GateResult
from orchestrator.runs.runbook import After, Runbook, behind
from orchestrator.snapshot.snapshot import Snapshot
from orchestrator.topology.model import Replication, Topology
from orchestrator.values import TopicPartition
from orchestrator.wording import listed

_AT_REST = frozenset({"STOPPED", "STOPPING", "PAUSED"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortened:
    """One that may have copied what is given up. `runs`: nobody has stopped it; `earlier`: cuts before."""

    mirror: MirrorRef
    engine: MirrorEngine
    runs: bool
    earlier: Cuts


def mirrors_shortened(
    topology: Topology, seen: Snapshot, cluster: str, unclean: Collection[TopicPartition], them: Participants
) -> tuple[Shortened, ...]:
    """Those that copy any of these partitions out of the cluster, as far as their workers know them.

    Raises `DcctlError` for one whose engine takes no part in moves.
    """
    state, found = seen.coordination.value, []
    for described in _copying(topology, cluster, unclean):
        ref = ref_to(described)
        engine = them.engine(topology, ref)
        states = seen.mirror(ref).states.value or {}
        copier = engine.copier(described)
        if copier in states:
            cuts = state.truncated.get((ref.source, ref.target), ()) if state else ()
            runs = states[copier] not in _AT_REST
            found.append(Shortened(mirror=ref, engine=engine, runs=runs, earlier=cuts))
    return tuple(found)


def _copying(topology: Topology, cluster: str, unclean: Collection[TopicPartition]) -> list[Replication]:
    topics = {tp.topic for tp in unclean}
    return [one for one in topology.replication if one.source == cluster and topics & set(one.topics)]


def mirrors_stoppable(
    topology: Topology, seen: Snapshot, cluster: str, unclean: Collection[TopicPartition]
) -> tuple[GateResult, ...]:
    """Whether each mirror of these partitions can be stopped before; none where no mirror copies them."""
    copying = _copying(topology, cluster, unclean)
    if not copying:
        return ()
    limit = "each mirror of partitions that lose records can be stopped before, and set behind what is left"
    said = listed(f"{one.source} → {one.target}" for one in copying)
    if unmanaged := [one for one in copying if not one.managed]:
        who = listed(f"{one.source} → {one.target}" for one in unmanaged)
        reason = f"the mirror {who} is not managed by dcctl, and would copy everything again, or skip records"
        hint = "stop it, take it out of the file, and set its offsets behind the logs before it goes on"
        return (gate_result("mirror-behind", "refused", said, limit, reason, hint),)
    for one in copying:
        part = seen.mirror(ref_to(one)).states
        if part.value is None:
            return (absent("mirror-behind", part, limit),)
    return (gate_result("mirror-behind", "ok", said, limit, limit),)


def halt(
    book: Runbook, topology: Topology, mirrors: Sequence[Shortened], after: Sequence[After]
) -> list[Handle[Nothing]]:
    """Those that run are stopped."""
    return [one.engine.halt(book, topology, one.mirror, after) for one in mirrors if one.runs]


def go_on(
    book: Runbook,
    topology: Topology,
    mirrors: Sequence[Shortened],
    chosen: Handle[LeadersChosen],
    elected: Handle[Nothing],
) -> None:
    """Each is set behind what is left of its logs; those that ran run again."""
    order = [behind(elected, because="until then it is unknown where the logs end")]
    for one in mirrors:
        one.engine.go_on_shortened(book, topology, one.mirror, chosen, one.earlier, order, resumes=one.runs)
