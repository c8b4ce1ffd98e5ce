"""Folders of checkpoints are real, and small; what is done to them is done by dcctl's own code, and recorded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from orchestrator.applications.spark.live.checkpoint_pass import copy_whole
from orchestrator.applications.spark.live.relocation import relocate_checkpoint, undo_relocation
from orchestrator.applications.spark.ports import AwaitTrue, RelocationReport
from orchestrator.errors import DcctlError, OutcomeUnknownError
from orchestrator.runs.engine import StepOutcome
from orchestrator.topology.spark import Sink
from orchestrator.values import TopicPartition
from tests.twin.crew import EPOCH_S, Crew
from tests.twin.record import Record


class TwinCheckpoints:
    """See `applications.spark.ports.CheckpointFolders`. `is_readable` says whether a folder's site is there."""

    def __init__(self, record: Record, crew: Crew, is_readable: Callable[[Path], bool]) -> None:
        self._record, self._crew, self._is_readable = record, crew, is_readable

    def copy(
        self, original: Path, copy: Path, await_true: Callable[[Callable[[], bool]], bool], *, stopped_by: str
    ) -> StepOutcome:
        if not self._is_readable(original):
            return StepOutcome("failed", f"cannot be copied: {original} is away")
        return self._record.do(
            "copy checkpoint",
            original.parent.parent.name,
            original.name,
            lambda: copy_whole(original, copy, await_true, stopped_by=stopped_by),
            failed=lambda why: OSError(5, why, str(copy)),
        )

    def copy_apart(
        self, original: Path, copy: Path, await_true: AwaitTrue, *, stopped_by: str, timeout_s: float
    ) -> StepOutcome:
        if not self._is_readable(original):
            await_true(lambda: False, timeout_s)
            said = f"nothing was heard of {original} within {timeout_s:g} s, or interrupted"
            return StepOutcome("failed", said)
        return self.copy(original, copy, lambda is_so: await_true(is_so, timeout_s), stopped_by=stopped_by)

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
        def made() -> RelocationReport:
            return relocate_checkpoint(
                copy,
                destination,
                translate,
                mirrored,
                local_starts,
                query=query,
                sink=sink,
                run_id=run_id,
                now_s=lambda: EPOCH_S + self._crew.now_s,
            )

        return self._record.do(
            "relocate checkpoint",
            destination.parent.parent.name,
            query,
            made,
            failed=lambda why: OutcomeUnknownError(f"query {query}", why),
        )

    def undo(self, destination: Path) -> Path | None:
        return self._record.do(
            "put checkpoint back",
            destination.parent.parent.name,
            destination.name,
            lambda: undo_relocation(destination),
            failed=lambda why: DcctlError(f"checkpoint {destination}", why),
        )
