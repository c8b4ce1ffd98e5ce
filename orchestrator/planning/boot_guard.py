"""Whether the servers of a cluster may let applications in when they start, by what the ensemble holds. Pure.

A site that was lost knows nothing of the failover that followed, and would take writes again the moment that
it is back. So its servers ask before they open (facts: Kafka, "Fencing producers").
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from orchestrator.planning.primaries import Primaries, Primary

HOLD_STEP = "hold-returned"
"""The step of a failback that denies everything to applications at the returned primary."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PastRun:
    """One run of the journal. `outcome` is empty for one without an end; `is_held`: its `HOLD_STEP` is ok."""

    run_id: str
    verb: str
    source: str
    target: str
    has_begun: bool
    outcome: str
    is_held: bool = False


@dataclass(frozen=True, slots=True)
class Disk:
    """The data folder of one broker: which access rules can have been written since it has its metadata.

    `is_new`: it came empty when its guard saw it first. `after`: the newest run of the journal then; empty
    where there was none, None where nobody could be asked yet.
    """

    is_new: bool = False
    after: str | None = None


@dataclass(frozen=True, slots=True)
class GuardWord:
    """May applications be let in, and why."""

    is_open: bool
    reason: str


def guard_word(
    cluster: str, newest_first: Iterable[PastRun], *, primaries: Primaries, disk: Disk
) -> GuardWord:
    """The newest run that says something about `cluster` decides, and the records of which side is primary.

    From the first effect of a failover on, the cluster that it leads away from stays closed, also while that
    is still under way. It opens again once a failback holds it by access rules, which from then on keep
    everybody off until it is primary. Where it would open, and its topics are recorded as primary elsewhere,
    there have to be access rules that keep applications off: those of the planned move that led away, or of
    a failback. They do not count for a data folder that is newer than they are: it may have come with the
    metadata of a cluster that never had them.
    """
    own = {primary for (home, _), primary in primaries.items() if home == cluster}
    away = {primary for primary in own if primary.cluster != cluster}
    history = _History(newest_first, disk)
    run = next((found for found in history if _says_something(cluster, found)), None)
    if run is not None and run.verb == "failover" and run.source == cluster:
        return GuardWord(False, f"{run.target} has taken over from it (run {run.run_id})")
    if run is not None and run.is_held and run.outcome != "ok":
        if not away and any(primary.run_id == run.run_id for primary in own):
            return GuardWord(True, f"run {run.run_id} has made it primary")
        return history.held_by(run)
    is_led_here = run is not None and run.verb == "failover" and {p.cluster for p in away} == {run.source}
    if away and not is_led_here:
        return _moved_away(cluster, chain([run] if run else [], history), away, history)
    if run is None:
        return GuardWord(True, "no failover has led away from it")
    return GuardWord(True, f"run {run.run_id} ({run.verb}) left it open, or held by access rules")


def _moved_away(
    cluster: str, runs: Iterable[PastRun], away: Collection[Primary], history: _History
) -> GuardWord:
    """Its topics are primary elsewhere: only a planned move has left access rules behind."""
    by = {primary.run_id for primary in away}
    for run in runs:
        if run.run_id in by and (run.verb, run.source) != ("switchover", cluster):
            break
        by.discard(run.run_id)
        if not by:  # the oldest one: where its rules are, those of the others are
            return history.held_by(run)
    said = " and ".join(sorted({f"{primary.cluster} by run {primary.run_id}" for primary in away}))
    return GuardWord(False, f"its topics are recorded as primary at {said}")


def _says_something(cluster: str, run: PastRun) -> bool:
    # A failback that was taken back, or is on its way, lets its hold stand; who was away before stays away.
    is_held = run.is_held and run.target == cluster
    if not run.has_begun or run.outcome in {"undone", "refused"}:
        return is_held
    if run.verb == "failback" and run.target == cluster and run.outcome != "ok":
        return is_held
    return run.verb in {"failover", "failback", "switchover"} and cluster in {run.source, run.target}


class _History:
    """The runs, newest first, read once; and which of them are newer than a data folder."""

    def __init__(self, newest_first: Iterable[PastRun], disk: Disk) -> None:
        self._runs, self._disk = iter(newest_first), disk
        self._newer: set[str] = set()
        self._is_before_folder = disk.is_new and disk.after is None

    def __iter__(self) -> Iterator[PastRun]:
        return self

    def __next__(self) -> PastRun:
        run = next(self._runs)
        self._is_before_folder = self._is_before_folder or (
            self._disk.is_new and run.run_id == self._disk.after
        )
        if not self._is_before_folder:
            self._newer.add(run.run_id)
        return run

    def held_by(self, run: PastRun) -> GuardWord:
        """Whether the access rules that a run has written keep applications off this broker.

        The run that the folder came after has to be there, further back: otherwise nothing tells the order.
        """
        has_rules = not self._disk.is_new or self._disk.after == ""
        if not has_rules and run.run_id in self._newer:
            has_rules = self._is_before_folder or any(found.run_id == self._disk.after for found in self)
        if has_rules:
            return GuardWord(True, f"run {run.run_id} holds it by access rules")
        return GuardWord(
            False,
            f"its data folder came new after run {run.run_id}, whose access rules were to keep applications "
            "off: a failback has to hold it first",
        )
