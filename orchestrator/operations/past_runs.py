"""What the guard of a broker reads in the ensemble, and its word from that: runs, records of the primary."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from orchestrator.adapters.zookeeper import Coordination
from orchestrator.operations.estate_facts import begun_runs
from orchestrator.operations.guard_disk import came_after, guarded_disk
from orchestrator.operations.journal import runs_path
from orchestrator.operations.parts import unpacked
from orchestrator.operations.primaries import read_primaries
from orchestrator.operations.run_outline import read_outline
from orchestrator.planning.boot_guard import HOLD_STEP, Disk, GuardWord, PastRun, guard_word
from orchestrator.planning.primaries import primaries_of


def past_runs(
    coordination: Coordination, topology: str, known: dict[str, PastRun] | None = None
) -> Iterator[PastRun]:
    """Runs of the journal that have begun, the one that began last first, read as they are asked for.

    `known`: those that were read before and can change no more; further ones are put there.
    """
    for run_id in reversed(begun_runs(coordination, topology)):
        run = None if known is None else known.get(run_id)
        run = run or _past_run(coordination, topology, run_id)
        if run is None:
            continue
        if known is not None and run.outcome in {"ok", "undone"}:
            known[run_id] = run
        yield run


def _past_run(coordination: Coordination, topology: str, run_id: str) -> PastRun | None:
    run = read_outline(coordination, topology, run_id)
    if run is None:
        return None
    holds = [name for name in run.names if name.endswith(f"-step-outcome-{HOLD_STEP}")]
    path = f"{runs_path(topology)}/{run_id}"
    return PastRun(
        run_id=run_id,
        verb=run.text("verb"),
        source=run.text("source"),
        target=run.text("target"),
        has_begun=run.has_begun,
        outcome=run.outcome,
        is_held=bool(holds)
        and unpacked(coordination.read(f"{path}/{holds[-1]}") or b"{}", path).get("outcome") == "ok",
    )


@dataclass(slots=True)
class GuardReading:
    """What one guard has read so far: of the ensemble, and of its broker's data folder."""

    topology: str
    cluster: str
    data: Path
    known: dict[str, PastRun] = field(default_factory=dict)
    disk: Disk = field(init=False)

    def __post_init__(self) -> None:
        self.disk = guarded_disk(self.data)

    def word(self, coordination: Coordination) -> GuardWord:
        """What the ensemble says now. Raises `DcctlError`, and `ValueError` for what cannot be understood."""
        runs = past_runs(coordination, self.topology, self.known)
        if self.disk.is_new and self.disk.after is None:
            listed = list(runs)
            runs = iter(listed)
            self.disk = came_after(self.data, listed[0].run_id if listed else "")
        primaries = primaries_of(read_primaries(coordination, self.topology))
        return guard_word(self.cluster, runs, primaries=primaries, disk=self.disk)
