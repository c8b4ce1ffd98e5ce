"""Ledgers as Parquet files of numbers, for Spark to read.

Spark's CSV reader takes ten times as long as Arrow's for these files, and names are replaced by their
indexes on the way. The CSV files stay what they are; the packed ones are thrown away after the audit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from orchestrator.evidence.audit.inputs import ABORTED, ACKED, FAILED, FENCED, OPEN, UNSERVED, AuditInputs
from orchestrator.evidence.audit.kinds import ProcessedLedger, audited_kinds, whole_lines
from orchestrator.evidence.audit.ledgers import sends_path
from orchestrator.evidence.audit.result import Finding
from orchestrator.evidence.audit.sends import FENCING_MS
from orchestrator.evidence.audit.sides import Sides, named_at, sides_of
from orchestrator.evidence.audit.soundness import Soundness

_TEXT, _SMALL, _LARGE = pa.string(), pa.int32(), pa.int64()
_SENDS = {
    "event": _TEXT,
    "sequence": _LARGE,
    "until": _LARGE,
    "topic": _TEXT,
    "partition": _SMALL,
    "offset": _LARGE,
    "sent_ms": _LARGE,
    "at_ms": _LARGE,
    "resent": _SMALL,
    "error": _TEXT,
    "end": _TEXT,
}


def pack_ledgers(inputs: AuditInputs, folder: Path, found: Soundness) -> None:
    """Pack every ledger into `folder`, as `sends-…` and `processed-…`; `found.rows` says how many rows.

    One that does not hold what it should makes its client unsound, with a finding.
    """
    ledgers, sides = Path(inputs.ledgers), sides_of(inputs)
    for index, producer in enumerate(inputs.producers):
        for life in inputs.lives:
            path = sends_path(ledgers, producer.name, life)
            packed = folder / f"sends-{index}-{life}.parquet"
            pack = partial(pack_sends, inputs, path, packed, (index, life))
            if path.exists() and not _is_packed(found, inputs, path, ("producer", index, life), pack):
                found.producers.add(index)
    for index, consumer, kind in audited_kinds(inputs.consumers):
        ledger = kind.ledger
        for life in inputs.lives:
            path = ledger.path(ledgers, consumer.name, life)
            packed = folder / f"processed-{index}-{life}.parquet"
            pack = partial(pack_processed, inputs, sides, (ledger, path), packed, (index, life))
            key = ("consumer", index, life)
            if ledger.is_there(path) and not _is_packed(found, inputs, path, key, pack):
                found.consumers.add(index)


def _is_packed(
    found: Soundness,
    inputs: AuditInputs,
    ledger: Path,
    key: tuple[str, int, int],
    pack: Callable[[], tuple[int, int]],
) -> bool:
    try:
        whole, rows = pack()
    except (ValueError, KeyError, OSError) as error:
        text = f"{ledger.relative_to(inputs.ledgers)} cannot be understood: {str(error).splitlines()[0]}"
        found.findings.append(Finding("unknown", text))
        return False
    there = found.lines.get(key, whole)
    found.rows[key] = rows
    if whole != there:
        text = f"{ledger.relative_to(inputs.ledgers)}: {whole:,} lines were read, it has {there:,}"
        found.findings.append(Finding("unknown", text))
    return whole == there


def pack_sends(inputs: AuditInputs, ledger: Path, packed: Path, of: tuple[int, int]) -> tuple[int, int]:
    """Pack one producer's ledger; `of` is the producer's index and the life.

    A row for each acknowledged number, each that was refused for certain, each whose transaction was aborted,
    and each open one: announced, and neither of these nor taken back. Refused and open ones are marked as
    unserved, too, where that was said of them after the first acknowledgement. Returns the number of lines
    and of rows. Raises `ValueError` where a whole line does not hold what it should.
    """
    lines = whole_lines(ledger, _SENDS)
    told = ("ack", "failed", "timeout", "aborted")
    events = {name: lines.filter(pc.equal(lines["event"], name)) for name in told}
    acked = events["ack"]["sequence"].to_numpy()
    failed = np.setdiff1d(events["failed"]["sequence"].to_numpy(), acked)
    aborted = np.setdiff1d(events["aborted"]["sequence"].to_numpy(), np.concatenate([acked, failed]))
    settled = np.concatenate([acked, failed, aborted, _numbers(lines, "unsent")])
    still_open = np.setdiff1d(_numbers(lines, "intent"), settled)
    unplaced = np.concatenate([still_open, failed, aborted])
    marks = np.repeat([ACKED, OPEN, FAILED, ABORTED], list(map(len, (acked, still_open, failed, aborted))))
    producer, life = of
    unserved, fenced = _unserved(events)
    marks[len(acked) :] |= np.where(np.isin(unplaced, unserved), UNSERVED, 0)
    if life != max(inputs.lives):
        marks[len(acked) :] |= np.where(np.isin(unplaced, fenced), FENCED, 0)
    topics = _indexes(events["ack"]["topic"], [topic.name for topic in inputs.topics])
    nothing = pa.nulls(len(unplaced))
    table = pa.table(
        {
            "producer": pa.repeat(pa.scalar(producer, _SMALL), len(marks)),
            "life": pa.repeat(pa.scalar(life, _SMALL), len(marks)),
            "mark": pa.array(marks, _SMALL),
            "sequence": pa.array(np.concatenate([acked, unplaced]), _LARGE),
            "topic": _chained(topics, pa.array(_topics_of(inputs, producer, unplaced), _SMALL)),
            "partition": _chained(events["ack"]["partition"], nothing.cast(_SMALL)),
            "offset": _chained(events["ack"]["offset"], nothing.cast(_LARGE)),
            "at_ms": _chained(events["ack"]["at_ms"], nothing.cast(_LARGE)),
        }
    )
    pq.write_table(table, packed)
    return len(lines), len(table)


def _numbers(lines: Any, event: str) -> Any:
    """Every number in the ranges of an event's lines, ascending and once."""
    ranges = lines.filter(pc.equal(lines["event"], event))
    first, until = ranges["sequence"].to_numpy(), ranges["until"].to_numpy()
    found = [np.arange(start, end) for start, end in zip(first, until, strict=True)]
    return np.unique(np.concatenate(found)) if found else np.empty(0, np.int64)


def _unserved(events: Mapping[str, Any]) -> tuple[Any, Any]:
    """Numbers that were refused or timed out after the first acknowledgement of this life; and those of them
    of which that was said in its last seconds alone.
    """
    nothing = np.empty(0, np.int64)
    acked_ms = events["ack"]["at_ms"]
    first_ms = pc.min(acked_ms)
    if not first_ms.is_valid:
        return nothing, nothing
    answers = [events[name] for name in ("failed", "timeout")]
    later = [rows.filter(pc.greater_equal(rows["at_ms"], first_ms)) for rows in answers]
    last = pc.subtract(pc.max(acked_ms), FENCING_MS)
    in_time = [rows.filter(pc.less(rows["at_ms"], last))["sequence"].to_numpy() for rows in later]
    unserved = np.concatenate([rows["sequence"].to_numpy() for rows in later])
    return unserved, np.setdiff1d(unserved, np.concatenate(in_time))


def _topics_of(inputs: AuditInputs, producer: int, sequences: Any) -> Any:
    """The topics that a producer's numbers belong into: it counts through all of them."""
    indexes = {topic.name: index for index, topic in enumerate(inputs.topics)}
    known = np.array([indexes.get(topic, -1) for topic in inputs.producers[producer].topics])
    return known[sequences % len(known)]


def _chained(first: Any, then: Any) -> Any:
    return pa.chunked_array([*first.chunks, then] if isinstance(first, pa.ChunkedArray) else [first, then])


def pack_processed(
    inputs: AuditInputs, sides: Sides, of: tuple[ProcessedLedger, Path], packed: Path, who: tuple[int, int]
) -> tuple[int, int]:
    """Pack what one consumer (`who` is its index and the life) processed. Returns the number of lines and of
    rows. Raises `ValueError` where a whole line does not hold what it should.
    """
    (ledger, path), (consumer, life) = of, who
    rows = ledger.rows(path)
    names = named_at(inputs, sides, sides.lives[life])
    has_key = "key" in rows.column_names
    table = pa.table(
        {
            "consumer": _constant(consumer, rows),
            "life": _constant(life, rows),
            "origin": _origins(sides, names, rows),
            "topic": _named(rows["topic"], {name: found[0][1] for name, found in names.items()}),
            "partition": rows["partition"].cast(_SMALL),
            "offset": rows["offset"],
            "producer": _indexes(rows["producer"], [producer.name for producer in inputs.producers]),
            "sequence": rows["sequence"],
            "key": rows["key"] if has_key else pa.nulls(len(rows), _TEXT),
            "at_ms": rows["at_ms"],
            "batch": rows["batch"] if has_key else pa.nulls(len(rows), _LARGE),
        }
    )
    pq.write_table(table, packed)
    return len(rows), len(rows)


def _origins(sides: Sides, names: Mapping[str, Sequence[tuple[int, int]]], rows: Any) -> Any:
    """Where processed records were produced. Where several origins have one name, the life that wrote it
    decides.
    """
    known = _named(rows["topic"], {name: found[0][0] for name, found in names.items()})
    if all(len(found) == 1 for found in names.values()):
        return known
    (_, first), *later = sorted(sides.lives.items())
    lived = _constant(first, rows)
    for life, place in later:
        is_since = pc.greater_equal(rows["life"], life)
        lived = pc.if_else(is_since, pa.scalar(place, _SMALL), lived)
    shared = pa.array([name for name, found in names.items() if len(found) > 1], _TEXT)
    return pc.if_else(pc.is_in(rows["topic"], value_set=shared), lived, known)


def _named(names: Any, indexes: Mapping[str, int]) -> Any:
    """The index of each name, null for one that is not known; several names may share an index."""
    found = pc.index_in(names, value_set=pa.array(list(indexes), _TEXT))
    return pc.take(pa.array(list(indexes.values()), _SMALL), found)


def _indexes(names: Any, known: Sequence[str]) -> Any:
    return _named(names, {name: index for index, name in enumerate(known)})


def _constant(value: int, rows: Any) -> Any:
    return pa.repeat(pa.scalar(value, _SMALL), len(rows))
