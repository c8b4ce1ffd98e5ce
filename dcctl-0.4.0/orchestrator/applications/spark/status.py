"""Spark queries in `status` and in metrics: how far the copies of their checkpoints are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from orchestrator.applications.spark.checkpoints import SeenCheckpoint
from orchestrator.moves.in_status import Gauge, Known, Measured, StatusPart
from orchestrator.snapshot.samples import SampleHistory
from orchestrator.snapshot.watcher_records import age_s
from orchestrator.wording import short_age


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryTold:
    """See `moves.in_status.Told`. `batch` of the copy and `source_batch` of the original: the newest that is
    committed; `age_s`: since the two were compared, None where that is not known; `committed_at_s`: Unix
    epoch seconds.
    """

    query: str
    batch: int | None
    source_batch: int | None
    age_s: float | None
    committed_at_s: float | None
    problem: str
    reread: Mapping[str, int | None]

    @property
    def application(self) -> str:
        """See `Told`."""
        return self.query

    @property
    def position(self) -> str:
        """See `Told`."""
        if self.batch is None:
            return "no copy"
        age = "age unknown" if self.age_s is None else f"{short_age(self.age_s)} old"
        return f"batch {self.batch}, {age}"

    @property
    def note(self) -> str:
        """See `Told`."""
        behind = (self.source_batch or 0) - (self.batch or 0)
        late = f"the copy is {behind} {'batch' if behind == 1 else 'batches'} behind" if behind > 0 else ""
        return self.problem or late


def _told(known: Known) -> Sequence[QueryTold]:
    copies = known.history.copies
    checkpoints: Mapping[str, SeenCheckpoint] = known.seen.of_kind("spark").value or {}
    found = []
    for query in known.consumers:
        copy, seen = copies.get(query.name), checkpoints.get(query.name)
        problem = copy.problem if copy else "no watcher has reported on its checkpoint"
        has_copy = copy is not None and copy.batch is not None
        told = QueryTold(
            query=query.name,
            batch=copy.batch if copy else None,
            source_batch=copy.source_batch if copy else None,
            age_s=age_s(known.judged_at_s, copy.at_s) if copy and has_copy else None,
            committed_at_s=copy.committed_at_s if copy else None,
            problem=problem or (seen.why_unknown if seen else ""),
            reread=known.reread(query.name),
        )
        found.append(told)
    return found


def _measured(history: SampleHistory, judged_at_s: float) -> Iterator[Measured]:
    for query, copy in history.copies.items():
        yield "checkpoint_copy_age_seconds", (query,), age_s(judged_at_s, copy.at_s) if copy.at_s else None
        yield "checkpoint_copy_batch", (query,), copy.batch
        is_known = copy.batch is not None and copy.source_batch is not None
        behind = (copy.source_batch or 0) - (copy.batch or 0)
        yield "checkpoint_copy_batches_behind", (query,), behind if is_known else None


IN_STATUS = StatusPart(
    key="spark",
    row=QueryTold,
    rows=_told,
    gauges={
        "checkpoint_copy_age_seconds": Gauge(
            "Time since the copy was compared with the original", ("query",)
        ),
        "checkpoint_copy_batch": Gauge("Newest committed batch in the copy of a checkpoint", ("query",)),
        "checkpoint_copy_batches_behind": Gauge("Committed batches that the copy lacks", ("query",)),
    },
    measured=_measured,
)
