"""Effects on what is recorded of mirrors that stand while their source gives up records.

Whoever comes after a run that ended on its way knows by it that a mirror is still to be set back, and to go
on.
"""

from __future__ import annotations

from dataclasses import replace

from pydantic.dataclasses import dataclass

from orchestrator.moves.ends import nearest_ends
from orchestrator.moves.results import LeadersChosen
from orchestrator.runs.effect import (
    EFFECT_CONFIG,
    Done,
    Effect,
    Handle,
    Nothing,
    Outcome,
    Reversible,
    Running,
)
from orchestrator.runs.estate_record import rows
from orchestrator.runs.facts_within_clusters import MirrorHalted, MirrorReleased
from orchestrator.runs.ports import EstateRecord
from orchestrator.wording import listed


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class RecordMirrorsHalted(
    Reversible,
    Effect[Nothing],
    name="record-mirrors-halted",
    phase="leaders",
    expected_s=0.1,
):
    """Before they are stopped, and once they are set: what is to be done with each before it goes on."""

    halted: tuple[MirrorHalted, ...]

    @property
    def title(self) -> str:
        """See `Effect`."""
        which = listed(f"{one.cluster} → {one.target}" for one in self.halted)
        left = "are to be set behind their logs" if any(one.ends for one in self.halted) else "are to go on"
        return f"Record which mirrors stand for an election, and {left}: {which}"

    def perform(self, run: Running) -> Outcome[Nothing]:
        """See `Effect`."""
        for one in self.halted:
            run.port(EstateRecord).write(one)
        return Done(Nothing())

    def undo(self, run: Running) -> Outcome[Nothing]:
        """What was recorded before counts again."""
        for one in self.halted:
            run.port(EstateRecord).withdraw(MirrorHalted, like=one)
        return Done(Nothing())


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class RecordLeftEnds(
    Reversible,
    Effect[Nothing],
    name="record-left-ends",
    phase="leaders",
    title="Record where the logs end behind which mirrors are to be set",
    expected_s=0.1,
):
    """Before anybody is elected: afterwards the logs grow, and nobody could tell."""

    halted: tuple[MirrorHalted, ...]
    chosen: Handle[LeadersChosen]

    def perform(self, run: Running) -> Outcome[Nothing]:
        """See `Effect`."""
        for one in self.halted:
            found = nearest_ends(one.ends, run.of(self.chosen))
            run.port(EstateRecord).write(replace(one, ends=rows(found)))
        return Done(Nothing())

    def undo(self, run: Running) -> Outcome[Nothing]:
        """As it was recorded before the leaders were chosen."""
        for one in self.halted:
            run.port(EstateRecord).write(one)
        return Done(Nothing())


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class ReleaseMirror(
    Effect[Nothing],
    name="release-mirror",
    phase="leaders",
    title="Record that nothing is left to be done with the mirror {cluster} → {target}",
    expected_s=0.1,
    stays="the mirror lies behind what is left of its source",
):
    """It is set, and goes on if it had run."""

    cluster: str
    target: str

    def perform(self, run: Running) -> Outcome[Nothing]:
        """See `Effect`."""
        run.port(EstateRecord).write(MirrorReleased(cluster=self.cluster, target=self.target))
        return Done(Nothing())
