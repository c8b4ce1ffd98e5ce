"""Where the workload's ledgers lie, which columns they have, and how complete a file is.

A ledger is an append-only CSV file, one for each life of a client. Every line ends with the field
`.`, so that a line torn by a killed writer is told from a whole one even where its last number was
cut in the middle. `docs/evidence.md` describes each format for its readers.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

END_MARK = "."

SENDS_COLUMNS = (
    "event",
    "sequence",
    "until",
    "topic",
    "partition",
    "offset",
    "sent_ms",
    "at_ms",
    "resent",
    "error",
    "end",
)
PROCESSED_COLUMNS = ("topic", "partition", "offset", "producer", "sequence", "life", "at_ms", "end")
POSITIONS_COLUMNS = ("event", "topic", "partition", "offset", "at_ms", "detail", "end")
COUNTS_COLUMNS = ("key", "count", "batch", "life", "end")

_MARKED_LINE = f",{END_MARK}\n".encode()


class Completeness(NamedTuple):
    """What a look at a ledger's bytes tells, without reading its fields.

    `rows` are whole lines without the header; `torn` are lines that lack their end mark, and
    `starts` counts how often a writer opened the file (0 for a file without such events). Each
    writer that was killed may have torn one line; more means that the file is damaged.
    """

    rows: int
    torn: int
    starts: int

    @property
    def is_damaged(self) -> bool:
        """Whether more lines are torn than writers could have torn."""
        return self.torn > max(1, self.starts)


def completeness(path: Path) -> Completeness:
    """Count whole and torn lines of one ledger. Raises `OSError` where it cannot be read."""
    data = path.read_bytes()
    lines = data.count(b"\n") + (0 if data.endswith(b"\n") or not data else 1)
    marked = data.count(_MARKED_LINE)
    header = 1 if lines else 0
    return Completeness(rows=marked, torn=max(lines - header - marked, 0), starts=data.count(b"\nstart,"))


def sends_path(ledgers: Path, producer: str, life: int) -> Path:
    """What one producer sent, and what came of it, in one of its lives."""
    return ledgers / "producers" / producer / f"life-{life}.csv"


def processed_path(ledgers: Path, consumer: str, life: int) -> Path:
    """What one consumer processed in one of its lives, record by record."""
    return ledgers / "consumers" / consumer / f"life-{life}.processed.csv"


def positions_path(ledgers: Path, consumer: str, life: int) -> Path:
    """Starts, assignments, commits and errors of one consumer or Spark query in one of its lives."""
    return ledgers / "consumers" / consumer / f"life-{life}.positions.csv"


def batches_path(ledgers: Path, query: str, life: int) -> Path:
    """Folder of what a Spark query processed in one of its lives: one Parquet file a batch."""
    return ledgers / "consumers" / query / f"life-{life}.processed"


def batch_file(folder: Path, batch: int) -> Path:
    """The file of one batch, in the ledger of a Spark query or in its sink."""
    return folder / f"batch-{batch:09d}{'.csv' if folder.parent.name == 'sink' else '.parquet'}"


def sink_path(ledgers: Path, query: str, identity: str | None = None) -> Path:
    """The files sink of a Spark query: a folder for each identity, a file for each batch in it."""
    sink = ledgers / "consumers" / query / "sink"
    return sink if identity is None else sink / identity


def lives(ledgers: Path, kind: str, client: str) -> Iterator[int]:
    """The lives that a client (`kind` is "producers" or "consumers") has a ledger of, in order."""
    found = {
        int(path.name.removeprefix("life-").split(".", 1)[0])
        for path in (ledgers / kind / client).glob("life-*.*")
    }
    yield from sorted(found)
