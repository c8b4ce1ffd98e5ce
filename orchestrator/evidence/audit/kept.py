"""What an audit has read of the clusters, kept as Parquet, so that it can be made again when they are gone.

    kept/kept.json                     where each log began and ended, and how many records were read
    kept/records/<cluster>/*.parquet   a row a record, in the columns of `COLUMNS`

A row says which record it is and where it stands. Of what a record holds it has a digest and
nothing else, but for the numbers that the clients of the audit write into their own records.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from orchestrator.adapters.files import write_whole
from orchestrator.adapters.spark import small_table
from orchestrator.errors import AuditError
from orchestrator.values import TopicPartition

FOLDER, INDEX = "kept", "kept.json"
FORMAT_VERSION = 1

COLUMNS = (
    "topic STRING, partition INT, offset LONG, timestamp_ms LONG, key_hash LONG, producer STRING, "
    "sequence LONG, life INT, resent INT, value_digest BINARY"
)
"""`timestamp_ms`: the record's own, Unix epoch milliseconds. `key_hash`: xxHash64 of the key. `producer` and
what follows is null for a record that none of the audit's producers has written; `value_digest`: the first 16
bytes of the SHA-256 of the value.
"""

# Numbers that grow are written as differences: a third of the size.
_WRITING = {"compression": "zstd", "parquet.writer.version": "v2"}
_MOST_FILES = 32
_WHAT_CHANGED = "was a file removed or changed? the folder's manifest.json tells, if it is verified"


class LogSpan(NamedTuple):
    """Where a log began and ended when it was read.

    `records`: how many records of those that are looked at a second client has seen, of a log in which not
    every offset has one; None where each has.
    """

    start_offset: int
    end_offset: int
    records: int | None = None


@dataclass(frozen=True, slots=True)
class Kept:
    """What was kept in a folder. `logs`: cluster -> topic partition -> where the log began and ended."""

    folder: Path
    logs: Mapping[str, Mapping[TopicPartition, LogSpan]]
    records: int

    @classmethod
    def of(cls, evidence: Path) -> Kept | None:
        """What a folder of evidence keeps; None where it keeps nothing. Raises `AuditError`."""
        folder = (evidence / FOLDER).absolute()
        try:
            data = dict(json.loads((folder / INDEX).read_text(encoding="utf-8")))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError) as error:
            raise AuditError(str(folder / INDEX), f"cannot be read: {error}", "was it changed?") from None
        if data.get("format_version") != FORMAT_VERSION:
            version = data.get("format_version")
            problem = f"is of format {version}; this dcctl reads {FORMAT_VERSION}"
            raise AuditError(str(folder / INDEX), problem, "audit it with the dcctl that made it")
        logs: dict[str, dict[TopicPartition, LogSpan]] = {}
        try:
            for row in data["logs"]:
                place = TopicPartition(row["topic"], row["partition"])
                logs.setdefault(row["cluster"], {})[place] = LogSpan(
                    row["start_offset"], row["end_offset"], row.get("records")
                )
            return cls(folder, logs, data["records"])
        except (KeyError, TypeError) as error:
            raise AuditError(str(folder / INDEX), f"lacks {error}", "was it changed?") from None

    def refuse_incomplete(self) -> None:
        """Raise `AuditError` where not every record is there that was kept: what is gone is no loss."""
        try:
            files = self.folder.glob("records/*/*.parquet")
            count = sum(pq.read_metadata(file).num_rows for file in files)
        except (OSError, pa.ArrowInvalid) as error:
            problem = f"kept records cannot be read: {error}"
            raise AuditError(str(self.folder), problem, _WHAT_CHANGED) from None
        if count != self.records:
            problem = f"{count:,} records read of {self.records:,} that were kept"
            raise AuditError(str(self.folder), problem, _WHAT_CHANGED)

    def read(self, spark: SparkSession, cluster: str) -> DataFrame:
        """Everything that was read at one place, in `COLUMNS`."""
        files = sorted(map(str, (self.folder / "records" / cluster).glob("*.parquet")))
        if not files:
            return small_table(spark, [], COLUMNS)
        return spark.read.schema(COLUMNS).parquet(*files)


@dataclass(slots=True)
class Keeper:
    """Keeps what is read, place by place; all of it is there once `finish` was called, and nothing before.

    `evidence` is the folder in which it will lie.
    """

    evidence: Path
    _rows: list[dict[str, Any]] = field(default_factory=list)
    _records: int = 0

    def keep(self, cluster: str, records: DataFrame, logs: Mapping[TopicPartition, LogSpan]) -> None:
        """Write down what is read at one place. Raises what Spark raises, and `OSError`."""
        place = self._partial / "records" / cluster
        records.coalesce(_MOST_FILES).write.options(**_WRITING).mode("overwrite").parquet(str(place))
        files = sorted(place.glob("part-*.parquet"))
        for number, file in enumerate(files):
            self._records += pq.read_metadata(file).num_rows
            file.rename(place / f"{number:03d}.parquet")
        for left in (*place.glob(".*.crc"), place / "_SUCCESS"):
            left.unlink(missing_ok=True)
        self._rows += [
            {"cluster": cluster, "topic": tp.topic, "partition": tp.partition}
            | {name: value for name, value in log._asdict().items() if value is not None}
            for tp, log in sorted(logs.items())
        ]

    def finish(self) -> Kept:
        """Nothing more is to be kept. In place of what an earlier audit had kept there."""
        index = {"format_version": FORMAT_VERSION, "records": self._records, "logs": self._rows}
        write_whole(self._partial / INDEX, json.dumps(index, indent=1) + "\n")
        shutil.rmtree(self.evidence / FOLDER, ignore_errors=True)
        self._partial.rename(self.evidence / FOLDER)
        kept = Kept.of(self.evidence)
        assert kept is not None  # noqa: S101 - it was written just now
        return kept

    def drop(self) -> None:
        """Leave nothing of what was not finished."""
        shutil.rmtree(self._partial, ignore_errors=True)

    @property
    def _partial(self) -> Path:
        return (self.evidence / f".{FOLDER}").absolute()


def spans(logs: Iterable[tuple[TopicPartition, Any]]) -> dict[TopicPartition, LogSpan]:
    """Log ends as a cluster tells them, without what is not kept."""
    return {tp: LogSpan(log.start_offset, log.end_offset) for tp, log in logs}
