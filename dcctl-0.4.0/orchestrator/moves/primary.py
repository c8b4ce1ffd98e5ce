"""Recording which side is primary, and taking that back."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic.dataclasses import dataclass

from orchestrator.moves.brokers_starting import source_back
from orchestrator.moves.ports import BootGuards
from orchestrator.runs.effect import (
    EFFECT_CONFIG,
    Done,
    Effect,
    Failed,
    Look,
    Nothing,
    Outcome,
    Reversible,
    Running,
    Unknown,
    Verified,
    VerifiedUndo,
)
from orchestrator.runs.estate_record import Body, PrimaryMoved
from orchestrator.runs.ports import EstateRecord
from orchestrator.wording import plural

_COMES_UP_WITHIN_S = 8.0
"""A broker that comes back closed takes connections a moment before it answers; its guard says so each
second.
"""


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class _Recorded(
    Verified[PrimaryMoved],
    Reversible,
    VerifiedUndo,
    Effect[PrimaryMoved],
    phase="redirect",
    expected_s=0.05,
):
    """What both ways of recording it have in common: all but when it is written."""

    home: str
    primary: str
    topics: tuple[str, ...]

    def verify(self, run: Running) -> Outcome[PrimaryMoved]:
        """It is there, and says what the step says."""
        found = run.port(EstateRecord).find(PrimaryMoved, like=self._wanted)
        if found is None:
            return Failed(f"{self.primary} is not recorded as primary")
        said = f"{found.primary} is primary for {plural(len(found.topics), 'topic')}"
        return Done(found, said) if found == self._wanted else Unknown(f"recorded otherwise: {said}")

    def undo(self, run: Running) -> Outcome[Nothing]:
        """Withdraw the fact; what was recorded before counts again."""
        run.port(EstateRecord).withdraw(PrimaryMoved, like=self._wanted)
        return Done(Nothing())

    def verify_undone(self, run: Running) -> Outcome[Nothing]:
        """It does not hold any more."""
        is_there = run.port(EstateRecord).find(PrimaryMoved, like=self._wanted) is not None
        if is_there:
            return Failed(f"{self.primary} is still recorded as primary")
        return Done(Nothing(), "the primary is recorded as before the run")

    def primaries(self) -> Iterable[PrimaryMoved]:
        """See `Effect`."""
        return (self._wanted,)

    def facts(self, result: PrimaryMoved) -> Iterable[Body]:
        """See `Effect`."""
        return (result,)

    @property
    def _wanted(self) -> PrimaryMoved:
        return PrimaryMoved(home=self.home, primary=self.primary, topics=self.topics)

    def _write(self, run: Running) -> Done[PrimaryMoved]:
        run.port(EstateRecord).write(self._wanted)
        return Done(self._wanted)


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class RecordPrimary(_Recorded, name="record-primary", title="Record that {primary} is primary"):
    """Record where topics work from here on, before anything works there: whoever asks in between must not
    open the other side.
    """

    def perform(self, run: Running) -> Outcome[PrimaryMoved]:
        """See `Effect`."""
        return self._write(run)


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class SeeStillGone(
    Look[Nothing],
    name="see-still-gone",
    phase="redirect",
    title="Verify once more that {cluster} lets no application in",
):
    """Look at a lost cluster once more, where nothing is recorded that would keep its brokers closed.

    What works at two places reads records twice. `looks_s`: what looking at it usually takes.
    """

    cluster: str
    looks_s: float

    @property
    def expected_s(self) -> float:
        """See `Effect`."""
        return self.looks_s

    def perform(self, run: Running) -> Outcome[Nothing]:
        """See `Effect`."""
        reason = source_back(*run.port(BootGuards).look_at(self.cluster))
        if not reason:
            return Done(Nothing(), f"{self.cluster} lets no application in")
        return Failed(
            f"{self.cluster} is not lost: {reason}. No application is started. Roll the run back: dcctl abort "
            f"{run.run_id} FILE; or stop what answers at {self.cluster} and go on: dcctl resume {run.run_id} FILE"
        )


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class RecordPrimaryUnlessBack(
    _Recorded,
    name="record-primary-unless-back",
    title="Record that {primary} is primary, if {unless_back}, looked at once more, lets no application in",
):
    """Look at the source once more; only if nothing of it lets applications in, record it.

    `unless_back`: the source. `looks_s`: what looking at it usually takes.
    """

    unless_back: str
    looks_s: float

    @property
    def expected_s(self) -> float:
        """See `Effect`."""
        return self.EXPECTED_S + self.looks_s

    def perform(self, run: Running) -> Outcome[PrimaryMoved]:
        """See `Effect`."""
        guards, name = run.port(BootGuards), self.unless_back
        reason = ""

        def is_away() -> bool:
            nonlocal reason
            reason = source_back(*guards.look_at(name))
            return not reason

        if run.await_true(is_away, _COMES_UP_WITHIN_S, poll_s=0.5):
            return self._write(run)
        if run.is_cancelled():
            return Failed("not recorded: the run was interrupted")
        return Failed(
            f"{name} is not lost: {reason}. No primary is recorded, and no "
            "application is started. Roll the run "
            f"back: dcctl abort {run.run_id} FILE; or stop what answers at {name} and go on: "
            f"dcctl resume {run.run_id} FILE"
        )
