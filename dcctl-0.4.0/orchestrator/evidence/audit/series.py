"""The series for the report's plots, from counts per second. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from orchestrator.evidence.audit.figures import PartitionKey, Row, rows_of
from orchestrator.evidence.audit.inputs import LANDING, MIRRORED, AuditInputs


def series_part(
    inputs: AuditInputs,
    acks: Sequence[Row],
    processed: Sequence[Row],
    mirrored_ends: Mapping[tuple[int, int], int],
) -> dict[str, Any]:
    """`series` of the report, a point a second, relative to the fault.

    `acks` and `processed` have one row for each client, life, topic, partition and `second`
    (relative to the fault), with `count`, the largest `offset`, `first_ms` and `last_ms`. `mirrored_ends`:
    (topic, partition) -> end of the mirrored log, which stands still after the move.
    """
    seconds = sorted({row["second"] for row in (*acks, *processed)})
    if not seconds:
        return {"producers": [], "consumers": []}
    axis = list(range(seconds[0], seconds[-1] + 1))
    producers = [
        {
            "name": producer.name,
            "t_s": [float(t) for t in axis],
            "acked_per_s": _per_second(rows_of(acks, "producer", index), axis),
        }
        for index, producer in enumerate(inputs.producers)
    ]
    written = _written(inputs, acks)
    consumers = []
    for index, consumer in enumerate(inputs.consumers):
        rows = rows_of(processed, "consumer", index)
        topics = {number for number, topic in enumerate(inputs.topics) if topic.name in consumer.topics}
        before = _lags(
            rows,
            life=inputs.life_before,
            axis=axis,
            written=_subset(written, topics, MIRRORED),
            fixed_ends={},
            starts={},
        )
        ends = {(MIRRORED, *place): end for place, end in mirrored_ends.items() if place[0] in topics}
        after = _lags(
            rows,
            life=inputs.life_after,
            axis=axis,
            written=_subset(written, topics, LANDING),
            fixed_ends=ends,
            starts=_starts(inputs, consumer.name),
        )
        first_after = min((r["second"] for r in rows if r["life"] == inputs.life_after), default=None)
        consumers.append(
            {
                "name": consumer.name,
                "t_s": [float(t) for t in axis],
                "processed_per_s": _per_second(rows, axis),
                "lag_records": [
                    before[position]
                    if t < 0
                    else after[position]
                    if first_after is not None and t >= first_after
                    else None
                    for position, t in enumerate(axis)
                ],
            }
        )
    return {"producers": producers, "consumers": consumers}


def _per_second(rows: Iterable[Row], axis: Sequence[int]) -> list[float]:
    counts: dict[int, float] = defaultdict(float)
    for row in rows:
        counts[row["second"]] += row["count"]
    return [counts[t] for t in axis]


def _written(inputs: AuditInputs, acks: Iterable[Row]) -> dict[PartitionKey, dict[int, int]]:
    """Partition -> second -> end of the log as far as acknowledgements tell it."""
    written: dict[PartitionKey, dict[int, int]] = defaultdict(dict)
    for row in acks:
        side = MIRRORED if row["life"] == inputs.life_before else LANDING
        ends = written[side, row["topic"], row["partition"]]
        ends[row["second"]] = max(ends.get(row["second"], 0), row["offset"] + 1)
    return written


def _subset(
    written: Mapping[PartitionKey, Mapping[int, int]], topics: set[int], side: int
) -> dict[PartitionKey, Mapping[int, int]]:
    return {place: ends for place, ends in written.items() if place[0] == side and place[1] in topics}


def _starts(inputs: AuditInputs, consumer: str) -> dict[PartitionKey, int]:
    """Where a consumer went on after the move."""
    indexes = {topic.name: index for index, topic in enumerate(inputs.topics)}
    starts = {
        (MIRRORED, indexes[position.topic], position.partition): position.target_offset or 0
        for position in inputs.positions
        if position.consumer == consumer and position.topic in indexes
    }
    for index, topic in enumerate(inputs.topics):
        starts |= {(LANDING, index, number): offset for number, offset in topic.fence_offsets.items()}
    return starts


def _lags(
    rows: Iterable[Row],
    *,
    life: int,
    axis: Sequence[int],
    written: Mapping[PartitionKey, Mapping[int, int]],
    fixed_ends: Mapping[PartitionKey, int],
    starts: Mapping[PartitionKey, int],
) -> list[float]:
    """Records between position and end of the log, all partitions of one consumer together, each second."""
    read: dict[PartitionKey, dict[int, int]] = defaultdict(dict)
    for row in rows:
        if row["life"] == life:
            offsets = read[row["origin"], row["topic"], row["partition"]]
            offsets[row["second"]] = max(offsets.get(row["second"], 0), row["offset"] + 1)
    positions: dict[PartitionKey, int] = dict(starts)
    ends: dict[PartitionKey, int] = dict(fixed_ends)
    lags = []
    for t in axis:
        for place, by_second in written.items():
            ends[place] = max(ends.get(place, 0), by_second.get(t, 0))
        for place, by_second in read.items():
            positions[place] = max(positions.get(place, 0), by_second.get(t, 0))
        lags.append(float(sum(max(0, end - positions.get(place, 0)) for place, end in ends.items())))
    return lags
