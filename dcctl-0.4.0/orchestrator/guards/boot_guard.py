"""Whether the servers of a cluster may let applications in when they start, by the estate record. Pure.

A site that was lost knows nothing of the failover that followed, and would take writes again the moment that
it is back. So its servers ask before they open (facts: Kafka, "Fencing producers").

A broker is open or closed as a whole, and is judged topic by topic: it opens if for every topic that
applications write at its cluster by the file the primary is here, or a denial of that topic's writers is
recorded as in force in the cluster's own metadata. The order of runs is that in which they began.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from orchestrator.runs.estate_record import (
    Body,
    DenialInForce,
    DenialLifted,
    Fact,
    PrimaryMoved,
    RunBegun,
    RunEnded,
    standing,
    undone_runs,
)
from orchestrator.runs.writers import Topic, Writers
from orchestrator.wording import listed

GUARD_FACTS: tuple[type[Body], ...] = (RunBegun, RunEnded, PrimaryMoved, DenialInForce, DenialLifted)
"""All that a guard decides by."""

_MOVES = frozenset({"failover", "failback", "switchover"})
_NEVER_MOVED = "no failover has led away from this cluster"
_UNKNOWN = -1


@dataclass(frozen=True, slots=True)
class Disk:
    """The data folder of one broker: which access rules can have been written since it has its metadata.

    `is_new`: it came empty when its guard saw it first. `after`: the newest run of the record then; empty
    where there was none, None where nobody could be asked yet.
    """

    is_new: bool = False
    after: str | None = None


@dataclass(frozen=True, slots=True)
class BootGuardStatus:
    """May applications be let in, and why."""

    is_open: bool
    reason: str


def boot_guard_status(
    cluster: str, writers: Writers, facts: Iterable[Fact], *, disk: Disk
) -> BootGuardStatus:
    """What the guards of `cluster` are told. `writers`: of the topics there (`writers.writers_at`).

    From the first effect of a failover on, what it leads away is closed, also while that is still under way:
    all that is there until it has recorded which topics. A denial does not count for a data folder that is
    newer than its run: that may have come with the metadata of a cluster that never had it. Nor does it
    count for a topic that has writers by the file whom it does not name, nor once it was lifted, or the topic
    was made primary here. What lives elsewhere and has never worked here, or was moved away from here as
    planned, stands by: no application is started here.
    """
    record = _Record(cluster, standing(facts), disk)
    words: dict[BootGuardStatus, list[Topic]] = {}
    for topic, who in writers.items():
        words.setdefault(record.word(topic, who), []).append(topic)
    closed = {word: topics for word, topics in words.items() if not word.is_open}
    told = closed or words
    # With a closed topic it is said which ones: others may well be primary here.
    said = [word.reason + _named(cluster, topics, told, closed) for word, topics in told.items()]
    return BootGuardStatus(not closed, "; ".join(said) or _NEVER_MOVED)


def newest_begun(facts: Iterable[Fact]) -> str:
    """The run that began last; empty where none has."""
    begun = [fact.run_id for fact in standing(facts) if isinstance(fact.body, RunBegun)]
    return begun[-1] if begun else ""


def _named(
    cluster: str,
    topics: Iterable[Topic],
    told: Mapping[BootGuardStatus, object],
    closed: Mapping[BootGuardStatus, object],
) -> str:
    if not closed and len(told) == 1:
        return ""
    return ": " + listed(name if home == cluster else f"{name} of {home}" for home, name in topics)


@dataclass(frozen=True, slots=True)
class _Run:
    """One run, and its turn among all in the order in which they began."""

    turn: int
    run_id: str
    begun: RunBegun


class _Record:
    """The facts that hold, the oldest first, as they concern one broker of one cluster."""

    def __init__(self, cluster: str, facts: tuple[Fact, ...], disk: Disk) -> None:
        self._cluster, self._disk = cluster, disk
        begun = [(fact.run_id, fact.body) for fact in facts if isinstance(fact.body, RunBegun)]
        runs = [_Run(turn, run_id, body) for turn, (run_id, body) in enumerate(begun)]
        self._turns = {run.run_id: run.turn for run in runs}
        self._read_moves(facts)
        self._read_runs(facts, runs)
        self._read_denials(facts)

    def _read_moves(self, facts: Iterable[Fact]) -> None:
        self._primaries: dict[Topic, tuple[str, str]] = {}
        self._moved_by: defaultdict[str, set[Topic]] = defaultdict(set)
        self._came_here: defaultdict[Topic, list[str]] = defaultdict(list)
        for fact in facts:
            if isinstance(body := fact.body, PrimaryMoved):
                topics = [(body.home, name) for name in body.topics]
                self._primaries |= dict.fromkeys(topics, (body.primary, fact.run_id))
                self._moved_by[fact.run_id].update(topics)
                for topic in topics if body.primary == self._cluster else ():
                    self._came_here[topic].append(fact.run_id)

    def _read_runs(self, facts: Iterable[Fact], runs: Iterable[_Run]) -> None:
        undone = undone_runs(facts)
        ended = {fact.run_id: fact.body.outcome for fact in facts if isinstance(fact.body, RunEnded)}
        moves = [run for run in runs if run.begun.verb in _MOVES and run.run_id not in undone]
        failovers = [run for run in moves if run.begun.verb == "failover"]
        self._away = [run for run in failovers if run.begun.source == self._cluster]
        self._here = [run for run in failovers if run.begun.target == self._cluster]
        # Before there were records of the primary, the runs alone told it.
        silent = [r for r in moves if r.begun.target == self._cluster and r.run_id not in self._moved_by]
        self._may_be_here = max((run.turn for run in silent), default=_UNKNOWN)
        is_here = [run.turn for run in silent if ended.get(run.run_id) == "ok"]
        self._brought_here = max(is_here, default=_UNKNOWN)

    def _read_denials(self, facts: Iterable[Fact]) -> None:
        """By topic, each run that denies it, and whom. Who is made primary is denied no more from then on."""
        self._denials: defaultdict[Topic, dict[str, frozenset[str]]] = defaultdict(dict)
        for fact in facts:
            if isinstance(body := fact.body, DenialInForce) and body.cluster == self._cluster:
                for topic in body.topics:
                    self._denials[topic][fact.run_id] = frozenset(body.principals)
            elif isinstance(body, DenialLifted) and body.cluster == self._cluster:
                for topic in body.topics:
                    self._denials.pop(topic, None)
        for topic, runs in self._came_here.items():
            for came in runs:
                lifted = self._turns.get(came, len(self._turns))
                for run_id in [r for r in self._denials[topic] if self._turn(r) <= lifted]:
                    del self._denials[topic][run_id]

    def word(self, topic: Topic, who: frozenset[str]) -> BootGuardStatus:
        """Whether the broker may open as far as one topic is concerned."""
        at, by = self._primaries.get(topic, (topic[0], ""))
        since, away = self._turn(by), self._led_away(topic)
        if at == self._cluster:
            if away is None or max(since, self._brought_here) > away.turn:
                return BootGuardStatus(
                    True, f"run {by} has made this cluster primary" if by else _NEVER_MOVED
                )
            return self._behind_rules(topic, who, _taken_over(away))
        is_known = not by or since != _UNKNOWN
        led = _newest(run for run in self._here if run.begun.source == at)
        if is_known and led is not None and led.turn > max(since, away.turn if away else _UNKNOWN):
            return BootGuardStatus(True, f"run {led.run_id} leads here what was at {at}")
        if topic[0] != self._cluster and self._stands_by(topic, away, is_known=is_known):
            return BootGuardStatus(True, "no application is started here")
        if away is not None and by in {"", away.run_id}:
            return self._behind_rules(topic, who, _taken_over(away))
        return self._behind_rules(topic, who, f"recorded as primary at {at} by run {by}")

    def _behind_rules(self, topic: Topic, who: frozenset[str], otherwise: str) -> BootGuardStatus:
        """Open if access rules of this cluster, which this broker has, keep the topic's writers off."""
        denials = [run_id for run_id, denied in self._denials[topic].items() if who <= denied]
        for run_id in denials:
            if self._has_rules_of(run_id):
                return BootGuardStatus(True, f"run {run_id} denies applications by access rules")
        if denials:
            return BootGuardStatus(
                False,
                f"the data folder is new, and lacks the access rules by which run {denials[-1]} denies "
                "applications: a failback has to write them first",
            )
        return BootGuardStatus(False, otherwise)

    def _has_rules_of(self, run_id: str) -> bool:
        """The run that the folder came after has to be there: otherwise nothing tells the order."""
        if not self._disk.is_new or self._disk.after == "":
            return True
        after = self._turn(self._disk.after or "")
        return after != _UNKNOWN and self._turn(run_id) > after

    def _led_away(self, topic: Topic) -> _Run | None:
        """The newest failover that leads a topic away from here. Which it leads it records in the end."""
        moved = self._moved_by
        return _newest(run for run in self._away if run.run_id not in moved or topic in moved[run.run_id])

    def _stands_by(self, topic: Topic, away: _Run | None, *, is_known: bool) -> bool:
        """Whether nothing is left here of a topic that lives elsewhere: it left as planned, or never came."""
        turns = [self._turn(run_id) for run_id in self._came_here[topic]]
        if not turns and self._may_be_here == _UNKNOWN:
            return True
        return is_known and (away is None or max([*turns, self._may_be_here]) > away.turn)

    def _turn(self, run_id: str) -> int:
        return self._turns.get(run_id, _UNKNOWN)


def _newest(runs: Iterable[_Run]) -> _Run | None:
    return max(runs, key=lambda run: run.turn, default=None)


def _taken_over(run: _Run) -> str:
    return f"{run.begun.target} has taken over (run {run.run_id})"
