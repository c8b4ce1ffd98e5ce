"""What the audit has to know of a kind of consumer: its ledger, and its rule beside those that hold for all.

A kind refers to it where it is declared (`ConsumerKind.audited`), and is found there by the name that the
file gives it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from orchestrator.errors import AuditError, DcctlError
from orchestrator.evidence.audit.inputs import AuditedConsumer
from orchestrator.evidence.audit.ledgers import END_MARK, batches_path, processed_path
from orchestrator.topology.consumer_kinds import KINDS, kind_named
from orchestrator.topology.model import Consumer


class ProcessedLedger(Protocol):
    """Where and how a consumer notes what it has processed in one of its lives."""

    is_of_lines: bool
    """Whether it is a file of lines whose bytes tell how whole it is (`ledgers.completeness`)."""

    def path(self, ledgers: Path, consumer: str, life: int) -> Path:
        """Its file or folder."""

    def is_there(self, path: Path) -> bool:
        """Whether there is anything in it."""

    def problems(self, path: Path) -> Iterator[str]:
        """Why it does not hold all that was processed, beside torn lines."""

    def rows(self, path: Path) -> pa.Table:
        """One row a record: topic, partition, offset, producer, sequence, life (the record's) and at_ms; of a
        kind with batches key and batch as well. Raises `ValueError`, `KeyError` or `OSError`.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedKind:
    """One kind: what each of its consumers keeps in each of its lives.

    `counts_by_key`: a count of its records by key in a sink of files as well. It goes on from the batch that
    it was relocated to, and the audit holds these counts against the records.
    """

    ledger: ProcessedLedger
    counts_by_key: bool = False


@dataclass(frozen=True, slots=True)
class Lines:
    """A CSV file, a line a record."""

    is_of_lines = True

    def path(self, ledgers: Path, consumer: str, life: int) -> Path:
        """See `ProcessedLedger`."""
        return processed_path(ledgers, consumer, life)

    def is_there(self, path: Path) -> bool:
        """See `ProcessedLedger`."""
        return path.exists()

    def problems(self, path: Path) -> Iterator[str]:  # noqa: ARG002 - as the others have it
        """None that its lines do not tell."""
        yield from ()

    def rows(self, path: Path) -> pa.Table:
        """See `ProcessedLedger`."""
        return whole_lines(path, _PROCESSED)


@dataclass(frozen=True, slots=True)
class Batches:
    """A folder with a Parquet file a batch, numbered without a gap."""

    is_of_lines = False

    def path(self, ledgers: Path, consumer: str, life: int) -> Path:
        """See `ProcessedLedger`."""
        return batches_path(ledgers, consumer, life)

    def is_there(self, path: Path) -> bool:
        """See `ProcessedLedger`."""
        return any(path.glob("*.parquet"))

    def problems(self, path: Path) -> Iterator[str]:
        """See `ProcessedLedger`."""
        numbers = sorted(int(file.stem.removeprefix("batch-")) for file in path.glob("batch-*.parquet"))
        if not numbers:
            yield f"no batch in {path.name}"
            return
        missing = sorted(set(range(numbers[0], numbers[-1] + 1)) - set(numbers))
        if missing:
            yield f"{path.name} lacks {len(missing)} batches, the first is {missing[0]}"

    def rows(self, path: Path) -> pa.Table:
        """See `ProcessedLedger`. The small files become one table."""
        rows = pa.concat_tables([pq.read_table(file) for file in sorted(path.glob("*.parquet"))])
        return rows.rename_columns(["life" if name == "record_life" else name for name in rows.column_names])


BY_LINES = AuditedKind(ledger=Lines())
BY_BATCHES = AuditedKind(ledger=Batches(), counts_by_key=True)


def audited_kind(name: str) -> AuditedKind:
    """The kind of that name. Raises `AuditError` where what ledger it keeps is unknown."""
    try:
        kind = kind_named(name)
        if kind.audited:
            return KINDS.part(name, kind.audited, AuditedKind)
    except DcctlError as error:
        problem = f"what ledger it keeps is unknown: {error.problem}"
        raise AuditError(f"kind {name}", problem, error.hint) from None
    raise AuditError(
        f"kind {name}", "what ledger it keeps is unknown", "its declaration lacks a reference `audited`"
    )


def audited_kinds(consumers: Iterable[AuditedConsumer]) -> list[tuple[int, AuditedConsumer, AuditedKind]]:
    """Each with its index and its kind. Raises as `audited_kind`."""
    numbered = list(enumerate(consumers))
    kinds = {name: audited_kind(name) for name in dict.fromkeys(one.kind for _, one in numbered)}
    return [(index, one, kinds[one.kind]) for index, one in numbered]


def title_of(name: str) -> str:
    """What one of a kind is, in a report; its name where nothing here brings the kind (any more)."""
    entry = _entry(name)
    return name if entry is None else entry.noun


def mark_of(name: str) -> str:
    """What stands behind the name of one of a kind in a narrow table."""
    entry = _entry(name)
    mark = name if entry is None else entry.mark
    return f" ({mark})" if mark else ""


def _entry(name: str) -> type[Consumer] | None:
    """The class of its entries in a file. A report is shown whatever is wrong with a package."""
    try:
        kind = KINDS.get(name)
    except DcctlError:
        return None
    return None if kind is None else kind.entry


def whole_lines(ledger: Path, columns: Mapping[str, Any]) -> pa.Table:
    """The lines of a ledger that are whole: a torn one lacks fields, or its end mark."""
    table = pyarrow.csv.read_csv(
        ledger,
        parse_options=pyarrow.csv.ParseOptions(invalid_row_handler=lambda _row: "skip"),
        convert_options=pyarrow.csv.ConvertOptions(column_types=dict(columns), strings_can_be_null=True),
    )
    return table.filter(pc.equal(table["end"], END_MARK))


_PROCESSED = {
    "topic": pa.string(),
    "partition": pa.int32(),
    "offset": pa.int64(),
    "producer": pa.string(),
    "sequence": pa.int64(),
    "life": pa.int32(),
    "at_ms": pa.int64(),
    "end": pa.string(),
}
