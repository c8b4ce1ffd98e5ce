"""Effects on what is recorded of applications that run elsewhere than the file has them."""

from __future__ import annotations

from pydantic.dataclasses import dataclass

from orchestrator.runs.effect import (
    EFFECT_CONFIG,
    Done,
    Effect,
    Failed,
    Nothing,
    Outcome,
    Reversible,
    Running,
    Verified,
)
from orchestrator.runs.facts_within_clusters import ApplicationsHome, ApplicationsPlaced
from orchestrator.runs.ports import EstateRecord
from orchestrator.wording import listed, plural


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class RecordPlaced(
    Reversible,
    Verified[Nothing],
    Effect[Nothing],
    name="record-applications",
    phase="redirect",
    expected_s=0.1,
):
    """Written before anybody is started, so that failback knows of each; again once they were `seen`."""

    cluster: str
    at: dict[str, str]
    seen: bool = False

    @property
    def title(self) -> str:
        """See `Effect`."""
        where = listed(dict.fromkeys(self.at.values()))
        how = "are at work" if self.seen else "are started"
        return f"Record that {plural(len(self.at), 'application')} of {self.cluster} {how} at {where}"

    def perform(self, run: Running) -> Outcome[Nothing]:
        """See `Effect`."""
        run.port(EstateRecord).write(self._fact())
        return Done(Nothing())

    def verify(self, run: Running) -> Outcome[Nothing]:
        """It is recorded."""
        found = run.port(EstateRecord).find(ApplicationsPlaced, like=self._fact())
        if found is None or found.seen < self.seen:
            return Failed("it is not recorded")
        return Done(
            Nothing(), f"recorded: {listed(f'{program} at {site}' for program, site in self.at.items())}"
        )

    def undo(self, run: Running) -> Outcome[Nothing]:
        """By the record they are at home; or, before they were seen, being started."""
        if self.seen:
            run.port(EstateRecord).write(ApplicationsPlaced(cluster=self.cluster, at=self.at))
            return Done(Nothing(), f"recorded as being started: {listed(self.at)}")
        run.port(EstateRecord).withdraw(ApplicationsPlaced, like=self._fact())
        return Done(Nothing(), f"not recorded any more: {listed(self.at)}")

    def _fact(self) -> ApplicationsPlaced:
        return ApplicationsPlaced(cluster=self.cluster, at=self.at, seen=self.seen)


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class RecordHome(
    Reversible,
    Verified[Nothing],
    Effect[Nothing],
    name="record-applications-home",
    phase="redirect",
    expected_s=0.1,
):
    """Written once they were seen there."""

    cluster: str
    programs: tuple[str, ...]

    @property
    def title(self) -> str:
        """See `Effect`."""
        return f"Record that {plural(len(self.programs), 'application')} of {self.cluster} run at home again"

    def perform(self, run: Running) -> Outcome[Nothing]:
        """See `Effect`."""
        run.port(EstateRecord).write(self._fact())
        return Done(Nothing())

    def verify(self, run: Running) -> Outcome[Nothing]:
        """It is recorded."""
        if run.port(EstateRecord).find(ApplicationsHome, like=self._fact()) is None:
            return Failed("it is not recorded")
        return Done(Nothing(), f"recorded as at home: {listed(self.programs)}")

    def undo(self, run: Running) -> Outcome[Nothing]:
        """They are elsewhere by the record."""
        run.port(EstateRecord).withdraw(ApplicationsHome, like=self._fact())
        return Done(Nothing(), f"not recorded as at home any more: {listed(self.programs)}")

    def _fact(self) -> ApplicationsHome:
        return ApplicationsHome(cluster=self.cluster, programs=self.programs)
