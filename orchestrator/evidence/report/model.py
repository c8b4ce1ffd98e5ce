"""The report as values: what a drill leaves as evidence (`report.json`).

The format is relied on from outside: keys may be added, never renamed or given another meaning.
What could not be measured is `None` here and `null` in the file; it is never left at 0.
Times are UTC: `…_at` as ISO 8601 text in the file, `…_at_s` as Unix epoch seconds. `…_s` are
seconds from a monotonic clock, `t_s` seconds relative to the fault (negative before it).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from itertools import pairwise
from typing import Annotated, Literal

from pydantic import Field, model_validator
from pydantic.dataclasses import dataclass

from orchestrator.evidence.audit.engines import ENGINE
from orchestrator.evidence.report.model_context import (
    EarlierReport,
    Objective,
    ObjectiveName,
    PlanSummary,
    Recovery,
    Responsible,
    TopologyFile,
)
from orchestrator.evidence.report.model_origins import (
    ApplicationEvidence,
    CopyEvidence,
    ReadingEvidence,
    StatementEvidence,
)
from orchestrator.evidence.report.model_parts import (
    MODEL_CONFIG,
    CanaryEvidence,
    Count,
    Moment,
    MoveEvidence,
    Rto,
    Seconds,
)

Verdict = Literal["valid", "invalid", "unknown"]
GateOutcome = Literal["ok", "refused", "unknown"]
StepOutcome = Literal["ok", "failed", "partial", "unknown", "skipped"]
EventKind = Literal["phase", "fault", "event"]

# A small number here would be seconds since the fault: another clock, silently wrong in every plot.
EpochSeconds = Annotated[float, Field(ge=1e9)]
Offset = Annotated[int, Field(ge=0)]
Scalar = str | int | float | bool | None


@dataclass(frozen=True, slots=True, kw_only=True, config=MODEL_CONFIG)
class Fault:
    """What was done to the estate. `verified`: it was seen to have taken effect (None: not looked)."""

    kind: str
    targets: tuple[str, ...]
    started_at: Moment
    verified: bool | None


@dataclass(frozen=True, slots=True, kw_only=True, config=MODEL_CONFIG)
class Phase:
    """One phase of the recovery. Without `started_at_s` it began where the one before it ended."""

    name: str
    seconds: Seconds
    started_at_s: EpochSeconds | None = None


@dataclass(frozen=True, slots=True, kw_only=True, config=MODEL_CONFIG)
class Lost:
    """Acknowledged records that are not there: `tail` beyond the replicated position, `hole` below it."""

    tail: Count | None
    hole: Count | None


@dataclass(frozen=True, slots=True, kw_only=True, config=MODEL_CONFIG)
class Indeterminate:
    """Sends that timed out: nobody was told what became of them, so neither is a loss."""

    present: Count | None
    absent: Count | None


@dataclass(frozen=True, slots=True, kw_only=True, config=MODEL_CONFIG)
class PartitionAnomaly:
    """One partition where something is not as it should be, named so that it can be looked at.

    `topic` is the topic in which it was found, where that is another one than the row's own.
    `detail` tells the first places, for example `first at offset 5120, producer checkout 9134`.
    """

    partition: Count
    topic: str | None = None
    tail: Count = 0
    hole: Count = 0
    duplicates: Count = 0
    reordered: Count = 0
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, config=MODEL_CONFIG)
class TopicEvidence:
    """One topic, as its producers' ledgers and the surviving cluster tell it. Records.

    `refused`: sends refused for certain, and not acknowledged in the same life. `unserved`: refused or timed
    out after their producer had been acknowledged at this side; at the side that takes over, any is invalid.
    `resent_copies` were sent again on purpose after the switch, and are no duplicates. `oldest_lost_at_s`:
    when the first of the lost records was acknowledged, by its producer's clock; None where none is lost.
    """

    acked: Count | None
    present: Count | None
    lost: Lost
    quarantined: Count | None
    duplicates: Count | None
    reordered: Count | None
    indeterminate: Indeterminate
    refused: Count | None = None
    unserved: Count | None = None
    resent_copies: Count | None = None
    oldest_lost_at_s: EpochSeconds | None = None
    partitions: tuple[PartitionAnomaly, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, config=MODEL_CONFIG)
class ClusterEvidence:
    """The topics that were produced at one cluster."""

    topics: Mapping[str, TopicEvidence] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True, config=MODEL_CONFIG)
class PredictedLoss:
    """What the plan said one topic would lose, in records. The rest says why that much.

    `to_be_copied_records`: what the mirror was to copy in the move, of a side that answered in part.
    """

    expected: Count
    at_most: Count
    at_least: Count | None = None
    rate_records_per_s: Seconds | None = None
    sample_age_s: Seconds | None = None
    flush_interval_s: Seconds | None = None
    to_be_copied_records: Count = 0


@dataclass(frozen=True, slots=True, kw_only=True, config=MODEL_CONFIG)
class PredictedReread:
    """What the plan said one consumer would read again, by cause, in records. None: it did not say.

    `at_most`: all causes together.
    """

    map: Count | None = None
    position_age: Count | None = None
    uncommitted: Count | None = None
    at_most: Count | None = None

    @property
    def total(self) -> int | None:
        """The causes that the plan put a figure to, together; None when it did for none."""
        known = [part for part in (self.map, self.position_age, self.uncommitted) if part is not None]
        return sum(known) if known else None


@dataclass(frozen=True, slots=True, kw_only=True, config=MODEL_CONFIG)
class Predicted:
    """What the plan said before anything was done. `seconds`: how long it would take.

    `source`: the cluster that was given up, whose topics `loss` speaks of. What is written at the other
    side cannot be lost with it: there the prediction is 0.
    """

    source: str | None = None
    loss: Mapping[str, PredictedLoss] = field(default_factory=dict)
    reread: Mapping[str, PredictedReread] = field(default_factory=dict)
    seconds: Seconds | None = None


@dataclass(frozen=True, slots=True, kw_only=True, config=MODEL_CONFIG)
class Reread:
    """Records processed twice, by cause: see `docs/report.md`."""

    map: Count | None
    position_age: Count | None
    uncommitted: Count | None

    @property
    def total(self) -> int | None:
        """All causes together; None when one of them is not known."""
        if self.map is None or self.position_age is None or self.uncommitted is None:
            return None
        return self.map + self.position_age + self.uncommitted


@dataclass(frozen=True, slots=True, kw_only=True, config=MODEL_CONFIG)
class ConsumerPartition:
    """One partition of one consumer: where it stood, where it went on, and what that cost.

    `source_offset` is the position that was known at the surviving side, `position_age_s` how old it
    was at the loss, `behind` how many records were still to be read then. `engine_reread` is
    what the mirror engine's own synced offset would have read again.
    """

    name: str
    kind: str
    source: str
    topic: str
    partition: Count
    source_offset: Offset | None
    position_age_s: Seconds | None
    target_offset: Offset | None
    exact: bool
    reread: Reread
    skipped: Count | None
    processed_but_lost: Count | None
    engine_reread: Annotated[Count | None, Field(alias=ENGINE.reread_key)] = None
    behind: Count | None = None
    target_topic: str | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, config=MODEL_CONFIG)
class SparkRestart:
    """Restart of a query: until its session was up, and from then to its first committed batch."""

    session: Seconds | None
    first_batch: Seconds | None


@dataclass(frozen=True, slots=True, kw_only=True, config=MODEL_CONFIG)
class SparkQuery:
    """One Structured Streaming query that was moved. `counts_match`: its state agrees with the records."""

    query: str
    batches_before: Count | None
    batches_after: Count | None
    state_rows: Count | None
    restart_s: SparkRestart
    counts_match: bool | None


@dataclass(frozen=True, slots=True, kw_only=True, config=MODEL_CONFIG)
class Gate:
    """A condition for acting, as it was judged."""

    id: str
    outcome: GateOutcome
    measured: Scalar = None
    limit: Scalar = None
    reason: str = ""
    hint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, config=MODEL_CONFIG)
class Step:
    """A step of the plan, as it was run.

    `failed`: nothing was changed; `partial`: not all of it was done, as `detail` says; `skipped`: it was not
    reached, or there was nothing to do.
    """

    id: str
    phase: str
    action: str
    description: str
    outcome: StepOutcome
    started_at_s: EpochSeconds | None = None
    seconds: Seconds | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, config=MODEL_CONFIG)
class TimelineEvent:
    """One moment worth a mark."""

    at_s: EpochSeconds
    name: str
    kind: EventKind


def _check_axis(t_s: tuple[float, ...], **values: tuple[float | None, ...]) -> None:
    for name, points in values.items():
        if len(points) != len(t_s):
            raise ValueError(f"{name} has {len(points)} points, t_s has {len(t_s)}")
    if any(later <= earlier for earlier, later in pairwise(t_s)):
        raise ValueError("t_s must increase")


@dataclass(frozen=True, slots=True, kw_only=True, config=MODEL_CONFIG)
class ProducerSeries:
    """Records acknowledged per second, at `t_s` seconds after the fault. None: nothing was measured."""

    name: str
    t_s: tuple[float, ...]
    acked_per_s: tuple[Seconds | None, ...]

    @model_validator(mode="after")
    def _aligned(self) -> ProducerSeries:
        _check_axis(self.t_s, acked_per_s=self.acked_per_s)
        return self


@dataclass(frozen=True, slots=True, kw_only=True, config=MODEL_CONFIG)
class ConsumerSeries:
    """Records processed per second, and records not yet processed, at `t_s` seconds after the fault."""

    name: str
    t_s: tuple[float, ...]
    processed_per_s: tuple[Seconds | None, ...]
    lag_records: tuple[Seconds | None, ...]

    @model_validator(mode="after")
    def _aligned(self) -> ConsumerSeries:
        _check_axis(self.t_s, processed_per_s=self.processed_per_s, lag_records=self.lag_records)
        return self


@dataclass(frozen=True, slots=True, kw_only=True, config=MODEL_CONFIG)
class Series:
    """What the plots are drawn from."""

    producers: tuple[ProducerSeries, ...] = ()
    consumers: tuple[ConsumerSeries, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, config=MODEL_CONFIG)
class Report:
    """One report. `case` names what was rehearsed, as `drill --list` does; `sabotage` what a drill broke on
    purpose, to show that the audit finds it.

    `canaries`: of a real run, which is measured by them alone. `simulation`: whether it is one; None in a
    report of an earlier version, like everything that it does not have. `fault` is the last of `faults`.
    `does_not_prove`: sentences. `earlier`: older reports beside this one. `copies`, `readings` and
    `applications`: where several clusters are at work, and records are judged by where they were produced.
    `statements`: of a cluster over several sites.
    """

    format_version: Literal[1] = 1
    topology: str
    scenario: str
    case: str | None = None
    backend: str
    versions: Mapping[str, str]
    environment: Mapping[str, Scalar] = field(default_factory=dict)
    started_at: Moment
    finished_at: Moment | None = None
    seed: int | None
    run_id: str | None = None
    sabotage: str | None = None
    verdict: Verdict
    reasons: tuple[str, ...]
    fault: Fault | None
    faults: tuple[Fault, ...] = ()
    simulation: bool | None = None
    responsible: Responsible | None = None
    topology_file: TopologyFile | None = None
    does_not_prove: tuple[str, ...] = ()
    recovery: Recovery = field(default_factory=Recovery)
    objectives: Mapping[ObjectiveName, Objective] = field(default_factory=dict)
    earlier: tuple[EarlierReport, ...] = ()
    phases: tuple[Phase, ...] = ()
    rto: Rto
    clusters: Mapping[str, ClusterEvidence] = field(default_factory=dict)
    predicted: Predicted = field(default_factory=Predicted)
    consumers: tuple[ConsumerPartition, ...] = ()
    spark: tuple[SparkQuery, ...] = ()
    moves: tuple[MoveEvidence, ...] = ()
    copies: tuple[CopyEvidence, ...] = ()
    readings: tuple[ReadingEvidence, ...] = ()
    applications: tuple[ApplicationEvidence, ...] = ()
    statements: tuple[StatementEvidence, ...] = ()
    canaries: CanaryEvidence | None = None
    gates: tuple[Gate, ...] = ()
    steps: tuple[Step, ...] = ()
    plan: PlanSummary = field(default_factory=PlanSummary)
    timeline: tuple[TimelineEvent, ...] = ()
    series: Series = field(default_factory=Series)

    @model_validator(mode="after")
    def _verdict_is_possible(self) -> Report:
        if self.verdict == "valid":
            topics = [topic for cluster in self.clusters.values() for topic in cluster.topics.values()]
            if any(topic.lost.hole for topic in topics):
                raise ValueError("verdict is valid beside a hole: any hole is invalid")
            if not any(topic.acked for topic in topics):
                raise ValueError("verdict is valid though nothing was acknowledged: an empty drill never is")
            if self.fault is not None and not self.fault.verified:
                raise ValueError("verdict is valid though the fault was not verified: such a drill never is")
        return self
