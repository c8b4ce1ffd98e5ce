"""What Spark queries need of the world beside what every move has of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from orchestrator.applications.spark.checkpoints import SeenCheckpoint
from orchestrator.moves.results import RelocatedQuery
from orchestrator.replication.offset_map import Translated
from orchestrator.runs.engine import StepOutcome
from orchestrator.topology.spark import Sink, SparkQuery
from orchestrator.values import TopicPartition

AwaitTrue = Callable[[Callable[[], bool], float], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class RelocationReport:
    """What was done with one checkpoint. `data` is what lies in `<destination>.relocation.json`.

    `is_new_identity`: the sink gets the query's output under another name, because the old one may have
    seen batch ids that come again. `aside`: where the destination's former content lies, if any.
    """

    query: str
    destination: Path
    from_batch: int
    sink_identity: str
    is_new_identity: bool
    aside: Path | None
    data: Mapping[str, Any]

    @property
    def positions(self) -> tuple[Mapping[str, Any], ...]:
        """One row a partition, as in the report of a drill."""
        return tuple(self.data["positions"])


class CheckpointLooks(Protocol):
    """Checkpoints as they lie there, before anything is decided."""

    def checkpoint(self, query: SparkQuery, *, at_standby: bool) -> SeenCheckpoint:
        """That of a query where it works `at_standby`, or the watcher's copy there."""


@dataclass(frozen=True, slots=True)
class CopiedCheckpoint:
    """Whether a copy has its original's last batch, and what is to be said of it."""

    is_whole: bool
    message: str


class QueryCheckpoints(Protocol):
    """Checkpoints of Spark queries. `to`: the cluster of the file at which the query shall work next."""

    def bring_over(
        self, query: str, to: str, *, is_apart: bool, is_stopped: bool, timeout_s: float
    ) -> CopiedCheckpoint:
        """Bring the copy at `to` up to the query's last batch.

        `is_apart`: where reading the original may hang, in a process of its own. `is_stopped`: the run has
        stopped the query, which is noted beside the original.
        """

    def copied_positions(self, query: str, to: str) -> dict[TopicPartition, int]:
        """The offsets in the copy."""

    def relocate(
        self,
        query: str,
        to: str,
        translate: Callable[[TopicPartition, int], Translated],
        named: Callable[[str], str],
        starts: Mapping[TopicPartition, int],
    ) -> RelocatedQuery:
        """Make of the copy the checkpoint that the query opens at `to`. Twice is once."""

    def undo_relocation(self, query: str, to: str) -> str:
        """Put back what stood there, if this run has replaced it; says what was done. Raises `DcctlError`."""

    def newest_batch(self, query: str, to: str) -> int | None:
        """The last batch that was committed in the checkpoint at `to`."""


class CheckpointFolders(Protocol):
    """The folders of checkpoints; see `applications.spark.live`."""

    def copy(
        self, original: Path, copy: Path, await_true: Callable[[Callable[[], bool]], bool], *, stopped_by: str
    ) -> StepOutcome:
        """Copy until the copy has the original's last batch."""

    def copy_apart(
        self, original: Path, copy: Path, await_true: AwaitTrue, *, stopped_by: str, timeout_s: float
    ) -> StepOutcome:
        """The same where reading the original may hang."""

    def relocate(
        self,
        copy: Path,
        destination: Path,
        translate: Callable[[TopicPartition, int], Any],
        mirrored: Callable[[str], str],
        local_starts: Mapping[TopicPartition, int],
        *,
        query: str,
        sink: Sink | None,
        run_id: str,
    ) -> RelocationReport:
        """Make of a checkpoint's copy the checkpoint with which the query goes on."""

    def undo(self, destination: Path) -> Path | None:
        """Take a relocated checkpoint away again and put back what stood there."""
