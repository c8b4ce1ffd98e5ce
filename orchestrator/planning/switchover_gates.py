"""The conditions for a planned move: both sides well, the mirror near the end, everybody within reach."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from orchestrator.planning.cost_gates import relocations_foreseen, watcher_alive
from orchestrator.planning.fence_gates import fenceable
from orchestrator.planning.gates import MOVE_GATES, sick_partitions
from orchestrator.planning.mirror_gates import mirror_trusted
from orchestrator.planning.plan import GateResult
from orchestrator.planning.situation import Situation, absent, gate_result, listed
from orchestrator.planning.switchover_picture import SwitchoverPicture
from orchestrator.replication.connectors import connector_names, may_lack_tasks
from orchestrator.replication.lag import lag_records
from orchestrator.values import TopicPartition


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchoverSituation:
    """What the gates judge: the common part of every move, and what only a planned one has.

    `roaming`: principals of producers that move themselves.
    """

    common: Situation
    picture: SwitchoverPicture
    principals: tuple[str, ...]
    timeout_s: float
    roaming: tuple[str, ...] = ()

    @property
    def lag(self) -> Mapping[TopicPartition, int] | None:
        """Records that the mirror has still to read, by source partition; None where it cannot be told."""
        ends, offsets = self.picture.source.log_ends.value, self.common.observation.mirror_offsets.value
        if ends is None or offsets is None:
            return None
        return lag_records(ends, offsets)


def switchover_gates(s: SwitchoverSituation) -> tuple[GateResult, ...]:
    """Every gate, in the order in which a person would ask."""
    topology, mirror = s.common.topology, s.common.mirror
    return (
        *(gate(s.common) for gate in MOVE_GATES),
        _source_healthy(s),
        mirror_trusted(s.common),
        # Only its records tell of a topic that was made anew, of which old offset syncs must not count.
        watcher_alive(s.common),
        _mirror_running(s),
        _mirror_lag(s),
        _positions_known(s),
        fenceable(s.picture.source.access, topology, mirror.source, s.principals),
        *_fenceable_target(s),
    )


def _fenceable_target(s: SwitchoverSituation) -> tuple[GateResult, ...]:
    """Only producers that move themselves have to be kept off the target for a while."""
    topology, target = s.common.topology, s.common.mirror.target
    if not s.roaming:
        return ()
    gate = fenceable(s.picture.target_access, topology, target, s.roaming)
    return (replace(gate, id="fenceable-target"),)


def _source_healthy(s: SwitchoverSituation) -> GateResult:
    limit = "the source answers, and each partition has a leader and its replicas in sync"
    part = s.picture.source.topics
    if part.value is None:
        return absent("source-healthy", part, limit)
    sick = sick_partitions(part.value)
    missing = [name for name in s.common.mirror.topics if name not in part.value]
    reasons = [*sick, *(f"{name} does not exist" for name in missing)]
    return gate_result(
        "source-healthy",
        "refused" if reasons else "ok",
        measured=f"{len(part.value)} topics",
        limit=limit,
        reason=listed(reasons) or "it can be drained to its end",
        hint=f"mend {s.common.mirror.source} first; if it is lost: dcctl failover" if reasons else "",
    )


def _mirror_running(s: SwitchoverSituation) -> GateResult:
    limit = "every connector of the mirror runs, with its tasks"
    part = s.common.observation.connectors
    if part.value is None:
        return absent("mirror-running", part, limit)
    names = connector_names(s.common.mirror)
    wrong = [
        f"{name} {part.value.get(name, 'missing')}"
        for name in names
        if part.value.get(name) != "RUNNING" and name not in may_lack_tasks(s.common.mirror)
    ]
    return gate_result(
        "mirror-running",
        "refused" if wrong else "ok",
        measured=listed(f"{name} {part.value.get(name, 'missing')}" for name in names),
        limit=limit,
        reason=listed(wrong) or "it copies",
        hint="dcctl apply lets them run again; what is not copied cannot be drained" if wrong else "",
    )


def _mirror_lag(s: SwitchoverSituation) -> GateResult:
    """How far behind it is does not refuse: the drain has its own limit, and is undone beyond it."""
    limit = f"the mirror's lag is known; it has {s.timeout_s:g} s to catch up"
    lag = s.lag
    if lag is None:
        absent_part = s.picture.source.log_ends
        if absent_part.value is not None:
            return absent("mirror-lag", s.common.observation.mirror_offsets, limit)
        return absent("mirror-lag", absent_part, limit)
    behind = sum(lag.values())
    return gate_result(
        "mirror-lag",
        "ok",
        f"{behind:,} records in {len(lag)} partitions",
        limit,
        "it is drained before promotion",
    )


def _positions_known(s: SwitchoverSituation) -> GateResult:
    limit = "what each group and query has committed at the source, and a place for it in the target's logs"
    part = s.picture.source.committed
    if part.value is None:
        return absent("positions-known", part, limit)
    seen = s.common.observation
    for needed in (s.picture.source.log_ends, seen.samples, seen.offset_map, seen.log_ends):
        if needed.value is None:
            return absent("positions-known", needed, limit)
    without = [
        f"{p.group} {p.topic}-{p.partition}: {p.reason}"
        for p in s.common.positions
        if p.target_offset is None
    ]
    hints = ["set the consumer's on_untranslatable: earliest, to read all of it again"] if without else []
    # A copy that is not there yet is made once the query has stopped; one that is shows what will refuse it.
    refused, unjudged, more = relocations_foreseen(s.common, only_copied=True)
    queries = f" and of {len(s.common.queries)} queries" if s.common.queries else ""
    return gate_result(
        "positions-known",
        "refused" if without or refused else "unknown" if unjudged else "ok",
        measured=f"{len(s.common.positions)} positions of {len(part.value)} groups{queries}",
        limit=limit,
        reason=listed([*without, *refused] or unjudged) or "all of them have",
        hint="; ".join([*hints, *more]),
    )
