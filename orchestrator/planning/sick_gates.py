"""The conditions for leaving a sick site: something answers, not all is well, and who writes is kept off."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from orchestrator.planning.cost_gates import (
    checkpoints_copied,
    loss_within_budget,
    map_complete,
    positions_fresh,
    watcher_alive,
)
from orchestrator.planning.fence_gates import AccessState, fenceable
from orchestrator.planning.gates import MOVE_GATES, coordination_or_alone
from orchestrator.planning.left import LeftCluster
from orchestrator.planning.mirror_gates import mirror_trusted
from orchestrator.planning.observation import Observation, Part
from orchestrator.planning.plan import GateResult, digest
from orchestrator.planning.positions import source_partitions
from orchestrator.planning.situation import Situation, absent, gate_result, listed
from orchestrator.topology.rules.rule import plural


@dataclass(frozen=True, slots=True, kw_only=True)
class SickPicture:
    """`observation` is the target's side, as for any failover; `left` what answers at the source.

    `target_access`: who can be kept off the target.
    """

    observation: Observation
    left: Part[LeftCluster]
    target_access: Part[AccessState]

    @property
    def at_s(self) -> float:
        """When it was taken, Unix epoch seconds."""
        return self.observation.at_s

    def digests(self) -> dict[str, str]:
        """One for each part that must not change between plan and act: also who answers."""
        left = self.left.value
        stable = None if left is None else [sorted(left.brokers), bool(left.controller.problem)]
        return {**self.observation.digests(), "left": digest(stable)}

    def moved_since(self, digests: Mapping[str, str]) -> tuple[str, ...]:
        """Names of the parts that are not as they were when `digests` were taken."""
        now = self.digests()
        return tuple(name for name, was in digests.items() if now.get(name) != was)


@dataclass(frozen=True, slots=True, kw_only=True)
class SickSituation:
    """What the gates judge: the common part of every move, what is left of the source, and whom to deny."""

    common: Situation
    left: Part[LeftCluster]
    principals: tuple[str, ...]

    @property
    def source(self) -> str:
        """The sick cluster."""
        return self.common.mirror.source


def sick_gates(s: SickSituation) -> tuple[GateResult, ...]:
    """Every gate, in the order in which a person would ask."""
    of_move = {gate.id: gate for gate in (make(s.common) for make in MOVE_GATES)}
    of_move["coordination"] = coordination_or_alone(s.common)
    first = [of_move.pop(name) for name in _BEFORE]
    return (
        _attested(s),
        *first,
        _source_sick(s),
        fence_gate(s),
        *(of_move.pop(name) for name in _TARGET),
        *(make(s.common) for make in _COSTS),
        *of_move.values(),
    )


_BEFORE = ("coordination", "not-held", "same-clusters", "needed", "not-flapping", "source-primary")
_TARGET = ("target-healthy", "target-topics", "mirror-controlled")
_COSTS: tuple[Callable[[Situation], GateResult], ...] = (
    mirror_trusted,
    watcher_alive,
    positions_fresh,
    map_complete,
    loss_within_budget,
    checkpoints_copied,
)


def _attested(s: SickSituation) -> GateResult:
    needed = s.common.topology.clusters[s.source].datacenters
    missing = [dc for dc in needed if dc not in s.common.request.sick]
    return gate_result(
        "attested",
        "refused" if missing else "ok",
        measured=listed(s.common.request.sick) or "nothing",
        limit=listed(needed),
        reason=f"nobody attests that {listed(missing)} is sick"
        if missing
        else "a person attests the sickness",
        hint=f"--attest-sick {missing[0]}, once a person has looked" if missing else "",
    )


def _source_sick(s: SickSituation) -> GateResult:
    limit = "a part of the source answers, and not all of it is well"
    if s.left.value is None:
        return absent("source-sick", s.left, limit)
    left = s.left.value
    expected = s.common.topology.clusters[s.source].brokers
    measured = (
        f"{len(left.brokers)} of {expected} brokers answer, {len(left.logs)} of {len(left.partitions)} logs"
    )
    dc, target = s.common.topology.clusters[s.source].datacenters[0], s.common.mirror.target
    if not left.brokers:
        reason = (
            f"nothing answers: {listed(f'{at}: {why}' for at, why in left.silent.items()) or 'no address'}"
        )
        hint = f"--attest-down {dc} in place of --attest-sick; stop first what still takes connections"
        return gate_result("source-sick", "refused", measured, limit, reason, hint)
    reasons = symptoms(s)
    return gate_result(
        "source-sick",
        "ok" if reasons else "refused",
        measured,
        limit,
        reason=listed(reasons) or "every broker, every leader and the controller answer: nothing is sick",
        hint="" if reasons else f"a planned move loses nothing: dcctl switchover --to {target}",
    )


def symptoms(s: SickSituation) -> list[str]:
    """All that is not as it should be at the source, as far as it was seen."""
    left = s.left.value
    if left is None:
        return []
    topology = s.common.topology
    expected = topology.clusters[s.source].brokers
    found = [f"{at} does not answer" for at in sorted(left.silent)]
    if len(left.brokers) < expected and not found:
        found.append(f"{expected - len(left.brokers)} of {expected} brokers are not there")
    if left.controller.problem:
        found.append(f"no controller: {left.controller.problem}")
    for tp in source_partitions(topology, s.common.mirror):
        place, topic = left.partitions.get(tp), topology.topic(tp.topic, s.source)
        if place is None or place.problem:
            found.append(f"{tp}: {place.problem if place else 'not described'}")
        elif topic is not None and place.in_sync < topic.min_insync_replicas:
            found.append(f"{tp}: {place.in_sync} in sync of {topic.min_insync_replicas}")
    return found


def can_fence(s: SickSituation) -> bool:
    """Whether access rules can be written there, and reach all whom they name."""
    return _fence_possible(s).outcome == "ok"


def fence_gate(s: SickSituation) -> GateResult:
    """Whether writers can be denied; where they cannot, whether a person answers for that."""
    found = _fence_possible(s)
    if found.outcome == "ok" or s.left.value is None:
        return found
    if s.common.request.accept_unfenced:
        return gate_result(
            found.id,
            "ok",
            found.measured,
            found.limit,
            f"not fenced, which a person accepts: {found.reason}; it goes on only while nothing is written",
        )
    hint = (
        "stop its brokers and --attest-down; or --accept-unfenced with --reason, "
        "if a person has seen to it that nobody writes there"
    )
    return gate_result(found.id, found.outcome, found.measured, found.limit, found.reason, hint)


def _fence_possible(s: SickSituation) -> GateResult:
    limit = "access rules can be written, and reach everybody who writes"
    left: LeftCluster | None = s.left.value
    if left is None:
        return absent("fenceable", s.left, limit)
    if left.controller.value is None:
        part: Part[Any] = left.controller
        reason = f"access rules cannot be written: {part.problem}"
        return gate_result("fenceable", "refused", plural(len(left.brokers), "broker"), limit, reason)
    if not s.principals:
        reason = "the file names no principal that could be denied"
        return gate_result("fenceable", "refused", "0 principals", limit, reason)
    return fenceable(left.access, s.common.topology, s.source, s.principals)
