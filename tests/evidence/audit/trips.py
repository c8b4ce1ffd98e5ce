"""A small history of a failover and the way back, to be broken in every way, and its audit on Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pyspark.sql import SparkSession

from orchestrator.adapters.spark import small_table
from orchestrator.evidence.audit.inputs import (
    ACKED,
    OPEN,
    UNSERVED,
    AuditedConsumer,
    AuditedMove,
    AuditedPlace,
    AuditedProducer,
    AuditedTopic,
    AuditInputs,
    Position,
)
from orchestrator.evidence.audit.numbers import key_number
from orchestrator.evidence.audit.positions import PositionEvent, Positions
from orchestrator.evidence.audit.result import AuditResult
from orchestrator.evidence.audit.run import Tables, audit_tables
from orchestrator.evidence.audit.sides import LogKey
from orchestrator.evidence.audit.soundness import Soundness
from orchestrator.evidence.audit.tables import COUNTS_SCHEMA, PROCESSED_SCHEMA, SENDS_SCHEMA
from orchestrator.evidence.audit.verdict import judge_moves

RECORDS_SCHEMA = (
    "side INT, topic INT, partition INT, offset LONG, key STRING, producer INT, sequence LONG, resent INT"
)
COPY, LANDING, OWN, BACK = range(4)
"""Sides in the order of the inputs: west's records at east, east's own, west's own, east's at west."""

WEST, EAST = 0, 1
HOMES = {1: WEST, 2: EAST, 3: WEST}


def position(origin: str, at: int | None, to: int | None, *, exact: bool = True) -> Position:
    """Where billing went on in the records of one origin."""
    return Position(
        consumer="billing",
        topic="orders",
        partition=0,
        origin=origin,
        source_offset=at,
        target_offset=to,
        exact=exact,
    )


FAILOVER = AuditedMove(
    verb="failover",
    run_id="1",
    source="west",
    target="east",
    outcome="ok",
    seconds=10.0,
    is_source_lost=True,
    positions=(position("west", 7, 7),),
    mirrored_ends={"west.orders": {0: 8}},
    reread_at_most={"billing": 3},
)
FAILBACK = AuditedMove(
    verb="failback",
    run_id="2",
    source="east",
    target="west",
    outcome="ok",
    seconds=20.0,
    is_source_lost=False,
    positions=(position("west", 10, 10), position("east", 5, 5)),
    mirrored_ends={"east.orders": {0: 5}},
    reread_at_most={"billing": 0},
)
INPUTS = AuditInputs(
    ledgers="",
    source="west",
    target="east",
    bootstrap=("127.0.0.1:1",),
    client={},
    topics=(
        AuditedTopic(
            name="orders", mirrored="west.orders", partitions=1, copies={"west": {"east": "east.orders"}}
        ),
    ),
    producers=(AuditedProducer(name="checkout", topics=("orders",)),),
    consumers=(AuditedConsumer(name="billing", kind="group", topics=("orders",)),),
    others=(AuditedPlace(cluster="west", bootstrap=("127.0.0.1:2",), client={}),),
    moves=(FAILOVER, FAILBACK),
)


@dataclass(frozen=True, kw_only=True)
class Trip:
    """Numbers in logs by side, acknowledged and processed by life; times in milliseconds, first and last by life.

    Records 0 to 9 at west; 8 and 9 are not copied when it is lost; 10 to 14 at east; 15 to 17 back at west. The
    group had committed up to 7 and processed up to 8 at west. So it reads 7 again, and 8 and 9 late.
    """

    inputs: AuditInputs = INPUTS
    logs: Mapping[int, Sequence[int]] = field(
        default_factory=lambda: {
            COPY: [*range(10), 15, 16, 17],
            LANDING: range(10, 15),
            OWN: [*range(10), 15, 16, 17],
            BACK: range(10, 15),
        }
    )
    acked: Mapping[int, Sequence[int]] = field(
        default_factory=lambda: {1: range(10), 2: range(10, 15), 3: range(15, 18)}
    )
    processed: Mapping[int, Sequence[int]] = field(
        default_factory=lambda: {1: range(9), 2: [7, 10, 11, 8, 9, 12, 13, 14], 3: range(15, 18)}
    )
    acked_ms: Mapping[int, tuple[int, int]] = field(
        default_factory=lambda: {1: (1_000, 5_000), 2: (17_000, 30_000), 3: (42_500, 50_000)}
    )
    processed_ms: Mapping[int, tuple[int, int]] = field(
        default_factory=lambda: {1: (1_100, 5_000), 2: (19_000, 31_000), 3: (44_000, 50_000)}
    )
    stopped_ms: Mapping[int, int] = field(default_factory=dict)
    resent: Sequence[int] = ()
    unserved: Mapping[int, Sequence[int]] = field(default_factory=dict)

    def with_log(self, side: int, numbers: Sequence[int], resent: Sequence[int] = ()) -> Trip:
        """With other records on one side; `resent` are marked there as sent again."""
        return replace(self, logs={**self.logs, side: numbers}, resent=resent)

    def with_processed(self, lives: Mapping[int, Sequence[int]]) -> Trip:
        """With other records processed in some lives."""
        return replace(self, processed={**self.processed, **lives})

    def with_move(self, number: int, **changes: Any) -> Trip:
        """With one of its moves made another way."""
        moves = list(self.inputs.moves)
        moves[number] = replace(moves[number], **changes)
        return replace(self, inputs=replace(self.inputs, moves=tuple(moves)))

    def audited(self, spark: SparkSession) -> AuditResult:
        """What the audit says of it."""
        found = Soundness()
        for life in HOMES:
            at_ms = self.stopped_ms.get(life)
            stop = [] if at_ms is None else [PositionEvent("stop", None, None, at_ms, "")]
            found.notes[0, life] = Positions(stop)
        return audit_tables(spark, self.inputs, self._tables(spark), found)

    def judged(self, spark: SparkSession) -> tuple[str, list[str]]:
        """Verdict and reasons."""
        return judge_moves(self.audited(spark), is_fault_verified=True, is_drained=True)

    def _tables(self, spark: SparkSession) -> Tables:
        records = [
            (side, 0, 0, offset, "k", 0, number, int(number in self.resent and side in {LANDING, BACK}))
            for side, numbers in self.logs.items()
            for offset, number in enumerate(numbers)
        ]
        return Tables(
            records=small_table(spark, records, RECORDS_SCHEMA).withColumn("key", key_number("key")),
            sends=small_table(spark, self._sends(), SENDS_SCHEMA),
            processed=small_table(spark, self._processed(), PROCESSED_SCHEMA),
            counts=small_table(spark, [], COUNTS_SCHEMA),
            ranges={LogKey(side, 0, 0): (0, len(numbers)) for side, numbers in self.logs.items()},
        )

    def _sends(self) -> list[tuple[Any, ...]]:
        rows: list[tuple[Any, ...]] = []
        offsets = {WEST: 0, EAST: 0}
        for life, numbers in self.acked.items():
            times = _between(self.acked_ms.get(life), len(numbers))
            for number, at_ms in zip(numbers, times, strict=False):
                rows.append((0, life, ACKED, number, 0, 0, offsets[HOMES[life]], at_ms))
                offsets[HOMES[life]] += 1
            unserved = self.unserved.get(life, ())
            rows.extend((0, life, OPEN | UNSERVED, number, 0, None, None, None) for number in unserved)
        return rows

    def _processed(self) -> list[tuple[Any, ...]]:
        return [
            (0, life, EAST if 10 <= number < 15 else WEST, 0, 0, number, 0, number, None, at_ms, None)
            for life, numbers in self.processed.items()
            for number, at_ms in zip(
                numbers, _between(self.processed_ms.get(life), len(numbers)), strict=False
            )
        ]


def _between(span: tuple[int, int] | None, count: int) -> list[int]:
    """So many moments, the first and the last of which are those of a span; none without one."""
    if span is None:
        return []
    first, last = span
    return [*[first] * (count - 1), last] if count > 1 else [last]
