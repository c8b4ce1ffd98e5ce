"""What the gates of a failover judge, and how they answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from orchestrator.planning.observation import Observation, Part
from orchestrator.planning.plan import GateOutcome, GateResult
from orchestrator.planning.positions import Readings, TargetPosition
from orchestrator.planning.prediction import LossPrediction
from orchestrator.planning.request import FailoverRequest
from orchestrator.planning.samples import LossWindow, SampledPosition
from orchestrator.topology.model import Consumer, Replication, Topology
from orchestrator.values import TopicPartition

LISTED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """Everything the gates judge.

    `readings` names, per consumer, the partitions that it will read; `recorded` is where each group stood at
    the source, as far as that is known.
    """

    topology: Topology
    mirror: Replication
    request: FailoverRequest
    observation: Observation
    now_s: float
    window: LossWindow | None
    loss: LossPrediction | None
    positions: tuple[TargetPosition, ...]
    readings: Readings
    recorded: Mapping[str, Mapping[TopicPartition, SampledPosition]] = field(default_factory=dict)

    @property
    def cluster_ids(self) -> dict[str, str]:
        """The id of each side that answers."""
        return self.observation.cluster_ids(self.mirror)

    @property
    def groups(self) -> tuple[Consumer, ...]:
        """Consumer groups that move."""
        return tuple(c for c in self.topology.consumers_of(self.mirror.source) if c.kind == "group")

    @property
    def queries(self) -> tuple[Consumer, ...]:
        """Spark queries that move."""
        return tuple(c for c in self.topology.consumers_of(self.mirror.source) if c.kind == "spark")

    @property
    def age_limit_s(self) -> float:
        """The file's `failover.max_position_age_s`."""
        return self.topology.failover.max_position_age_s


def gate_result(  # noqa: PLR0917 - in the order in which it is read
    gate_id: str, outcome: GateOutcome, measured: str, limit: str, reason: str, hint: str = ""
) -> GateResult:
    """One gate's answer."""
    return GateResult(id=gate_id, outcome=outcome, measured=measured, limit=limit, reason=reason, hint=hint)


def absent(gate_id: str, part: Part[Any], limit: str) -> GateResult:
    """What could not be measured is unknown, and says why."""
    hint = part.hint or f"bring {part.source} back, or dcctl to it, and try again"
    return gate_result(gate_id, "unknown", "nothing", limit, f"{part.source}: {part.problem}", hint)


def listed(items: Iterable[str]) -> str:
    """The first few items, and how many more there are."""
    texts = list(items)
    more = f" and {len(texts) - LISTED} more" if len(texts) > LISTED else ""
    return ", ".join(texts[:LISTED]) + more
