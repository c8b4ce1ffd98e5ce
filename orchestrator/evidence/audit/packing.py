"""Ledgers as Parquet files of numbers, for Spark to read.

Spark's CSV reader takes ten times as long as Arrow's for these files, and names are replaced by their
indexes on the way. The CSV files stay what they are; the packed ones are thrown away after the audit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from orchestrator.evidence.audit.inputs import ACKED, FAILED, LANDING, MIRRORED, OPEN, UNSERVED, AuditInputs
from orchestrator.evidence.audit.ledgers import END_MARK, batches_path, processed_path, sends_path
from orchestrator.evidence.audit.result import Finding
from orchestrator.evidence.audit.soundness import Soundness

Paths = tuple[Path, Path]
Pack = Callable[[AuditInputs, Path, Path, tuple[int, int]], tuple[int, int]]

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
_PROCESSED = {
    "topic": _TEXT,
    "partition": _SMALL,
    "offset": _LARGE,
    "producer": _TEXT,
    "sequence": _LARGE,
    "life": _SMALL,
    "at_ms": _LARGE,
    "end": _TEXT,
}


def pack_ledgers(inputs: AuditInputs, folder: Path, found: Soundness) -> None:
    """Pack every ledger into `folder`, as `sends-…` and `processed-…`; `found.rows` says how many rows.

    One that does not hold what it should makes its client unsound, with a finding.
    """
    ledgers = Path(inputs.ledgers)
    lives = (inputs.life_before, inputs.life_after)
    for index, producer in enumerate(inputs.producers):
        for life in lives:
            path = sends_path(ledgers, producer.name, life)
            packed = folder / f"sends-{index}-{life}.parquet"
            key = ("producer", index, life)
            if path.exists() and not _is_packed(found, pack_sends, inputs, (path, packed), key):
                found.producers.add(index)
    for index, consumer in enumerate(inputs.consumers):
        for life in lives:
            is_query = consumer.kind == "spark"
            path = (batches_path if is_query else processed_path)(ledgers, consumer.name, life)
            pack = pack_batches if is_query else pack_processed
            packed = folder / f"processed-{index}-{life}.parquet"
            key = ("consumer", index, life)
            is_there = any(path.glob("*.parquet")) if is_query else path.exists()
            if is_there and not _is_packed(found, pack, inputs, (path, packed), key):
                found.consumers.add(index)


def _is_packed(
    found: Soundness, pack: Pack, inputs: AuditInputs, paths: Paths, key: tuple[str, int, int]
) -> bool:
    ledger, packed = paths
    try:
        whole, rows = pack(inputs, ledger, packed, key[1:])
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

    A row for each acknowledged number, each that was refused for certain, and each open one: announced,
    and neither acknowledged nor refused nor taken back. The last two are marked as unserved, too, where
    that was said of them after the first acknowledgement. Returns the number of lines and of rows. Raises
    `ValueError` where a whole line does not hold what it should.
    """
    lines = _whole_lines(ledger, _SENDS)
    events = {name: lines.filter(pc.equal(lines["event"], name)) for name in ("ack", "failed", "timeout")}
    acked = events["ack"]["sequence"].to_numpy()
    failed = np.setdiff1d(events["failed"]["sequence"].to_numpy(), acked)
    settled = np.concatenate([acked, failed, _numbers(lines, "unsent")])
    still_open = np.setdiff1d(_numbers(lines, "intent"), settled)
    unplaced = np.concatenate([still_open, failed])
    marks = np.repeat([ACKED, OPEN, FAILED], [len(acked), len(still_open), len(failed)])
    marks[len(acked) :] |= np.where(np.isin(unplaced, _unserved(events)), UNSERVED, 0)
    producer, life = of
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


def _unserved(events: Mapping[str, Any]) -> Any:
    """Numbers that were refused or timed out after the first acknowledgement of this life."""
    first_ms = pc.min(events["ack"]["at_ms"])
    if not first_ms.is_valid:
        return np.empty(0, np.int64)
    answers = [events[name] for name in ("failed", "timeout")]
    later = [rows.filter(pc.greater_equal(rows["at_ms"], first_ms)) for rows in answers]
    return np.concatenate([rows["sequence"].to_numpy() for rows in later])


def _topics_of(inputs: AuditInputs, producer: int, sequences: Any) -> Any:
    """The topics that a producer's numbers belong into: it counts through all of them."""
    indexes = {topic.name: index for index, topic in enumerate(inputs.topics)}
    known = np.array([indexes.get(topic, -1) for topic in inputs.producers[producer].topics])
    return known[sequences % len(known)]


def _chained(first: Any, then: Any) -> Any:
    return pa.chunked_array([*first.chunks, then] if isinstance(first, pa.ChunkedArray) else [first, then])


def pack_processed(inputs: AuditInputs, ledger: Path, packed: Path, of: tuple[int, int]) -> tuple[int, int]:
    """Pack what one group processed. Raises `ValueError` where a whole line does not hold what it should."""
    return _write_processed(inputs, _whole_lines(ledger, _PROCESSED), packed, of)


def pack_batches(inputs: AuditInputs, folder: Path, packed: Path, of: tuple[int, int]) -> tuple[int, int]:
    """Pack what one Spark query processed: its small files, one a batch, become one. Raises `ValueError`."""
    batches = [pq.read_table(path) for path in sorted(folder.glob("*.parquet"))]
    rows = pa.concat_tables(batches)
    rows = rows.rename_columns(["life" if name == "record_life" else name for name in rows.column_names])
    return _write_processed(inputs, rows, packed, of)


def _write_processed(inputs: AuditInputs, rows: Any, packed: Path, of: tuple[int, int]) -> tuple[int, int]:
    """Before the move a consumer reads source topics; they are set beside their mirrored records."""
    consumer, life = of
    names = {topic.name: index for index, topic in enumerate(inputs.topics)}
    if life != inputs.life_before:
        names |= {topic.mirrored: index for index, topic in enumerate(inputs.topics)}
    has_key = "key" in rows.column_names
    table = pa.table(
        {
            "consumer": _constant(consumer, rows),
            "life": _constant(life, rows),
            "side": _sides(inputs, rows, life),
            "topic": _named(rows["topic"], names),
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


def _sides(inputs: AuditInputs, rows: Any, life: int) -> Any:
    """Where a processed record stands. Where both topics have one name, the life that wrote it decides."""
    if life == inputs.life_before:
        return _constant(MIRRORED, rows)
    if any(topic.name == topic.mirrored for topic in inputs.topics):
        is_mirrored = pc.less(rows["life"], inputs.life_after)
    else:
        is_mirrored = pc.is_in(rows["topic"], value_set=pa.array([t.mirrored for t in inputs.topics]))
    return pc.if_else(is_mirrored, pa.scalar(MIRRORED, _SMALL), pa.scalar(LANDING, _SMALL))


def _whole_lines(ledger: Path, columns: Mapping[str, Any]) -> Any:
    """The lines of a ledger that are whole: a torn one lacks fields, or its end mark."""
    table = pyarrow.csv.read_csv(
        ledger,
        parse_options=pyarrow.csv.ParseOptions(invalid_row_handler=lambda _row: "skip"),
        convert_options=pyarrow.csv.ConvertOptions(column_types=dict(columns), strings_can_be_null=True),
    )
    return table.filter(pc.equal(table["end"], END_MARK))


def _named(names: Any, indexes: Mapping[str, int]) -> Any:
    """The index of each name, null for one that is not known; several names may share an index."""
    found = pc.index_in(names, value_set=pa.array(list(indexes), _TEXT))
    return pc.take(pa.array(list(indexes.values()), _SMALL), found)


def _indexes(names: Any, known: Sequence[str]) -> Any:
    return _named(names, {name: index for index, name in enumerate(known)})


def _constant(value: int, rows: Any) -> Any:
    return pa.repeat(pa.scalar(value, _SMALL), len(rows))
