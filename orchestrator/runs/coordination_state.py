"""What the coordination ensemble says before a run: lock, earlier runs, holds, primaries, guards."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from orchestrator.ports.services import ServiceState
from orchestrator.runs.estate_record import Cuts
from orchestrator.runs.facts_within_clusters import MinInsyncLowered, MirrorHalted
from orchestrator.runs.guards import GuardSaid, SiteGuardSaid
from orchestrator.runs.holds import Hold
from orchestrator.runs.plan import NEVER_BEGAN
from orchestrator.runs.primaries import Primaries
from orchestrator.runs.way_back import ForGood
from orchestrator.runs.within_clusters import Evacuated, PlacedAt, Quorum
from orchestrator.runs.word import WordWanted
from orchestrator.values import Acl


@dataclass(frozen=True, slots=True)
class EarlierRun:
    """A run that the journal knows: how it ended, or that it did not.

    `outcome`: ok, incomplete or unknown; "refused", "declined" and "not begun" where no step was ever begun,
    "undone" where all that was done has been taken back. `ended_at_s` is when its newest record was written.
    `let_stand`: of an incomplete one that was taken back, the steps that a person said may stand.
    `looks`: of a move that is done but for its last looks, those that are open; `not_seen`: the clients that
    they missed, `waits_for`: the words of a person that would end them. `no_way_back`: of a run that is not
    done, what keeps it from being taken back; empty where it can be. `passed`: the run with open looks
    that a person let this one pass. `part`: the applications that it moved, where others stayed (None: all;
    empty: its record does not name them any more).
    """

    run_id: str
    verb: str
    source: str
    target: str
    started_at_s: float
    outcome: str
    ended_at_s: float = 0.0
    who: str = ""
    reason: str = ""
    let_stand: tuple[str, ...] = ()
    looks: tuple[str, ...] = ()
    not_seen: tuple[str, ...] = ()
    waits_for: tuple[WordWanted, ...] = ()
    passed: str = ""
    no_way_back: tuple[ForGood, ...] = ()
    part: tuple[str, ...] | None = None

    @property
    def way(self) -> str:
        """What it was, for a sentence: `failover west → east`, `fence west`."""
        return f"{self.verb} {self.source}" + (f" → {self.target}" if self.target else "")

    @property
    def home(self) -> str:
        """The cluster where the file has what it moved: a failback brings it there, others take it away."""
        return home_and_away(self.verb, self.source, self.target)[0]

    @property
    def away(self) -> str:
        """The other one of its two clusters."""
        return home_and_away(self.verb, self.source, self.target)[1]

    @property
    def is_done(self) -> bool:
        """Whether all that it moved is where it leads, be it that somebody was not seen there yet."""
        return self.outcome == "ok" or bool(self.looks)

    @property
    def has_effect(self) -> bool:
        """Whether it may have changed anything that still stands."""
        return self.outcome not in (*NEVER_BEGAN, "not begun", "undone")

    def has_moved_between(self, clusters: Collection[str]) -> bool:
        """Whether it changed anything between just these clusters, whichever way."""
        return self.has_effect and {self.source, self.target} == set(clusters)


def home_and_away(verb: str, source: str, target: str) -> tuple[str, str]:
    """Of a move the cluster where the file has what it moves, and the other one."""
    return (target, source) if verb == "failback" else (source, target)


def newest_move(runs: Iterable[EarlierRun], home: str, other: str) -> EarlierRun | None:
    """The newest run with an effect, of those that moved what the file has at `home` to `other` or back.

    Of two active sites each has applications of its own, and the runs of the one say nothing of the other.
    `runs` are in the order in which they began, as the ensemble knows it: no clock tells which is newest.
    """
    moves = [run for run in runs if run.home == home and run.has_moved_between((home, other))]
    return moves[-1] if moves else None


@dataclass(frozen=True, slots=True)
class Away:
    """Which applications work at the other one of two clusters, by the moves between them.

    `all_by`: the run that took away all that `named` does not name; empty where they are at home. `named`: by
    application the run that took it away, empty for one that was brought home. `unnamed`: a run that moved a
    part which nobody can name any more; empty where there is none.
    """

    all_by: str = ""
    named: Mapping[str, str] = field(default_factory=dict)
    unnamed: str = ""

    def by(self, name: str) -> str:
        """The run that took an application away; empty where it is at home."""
        return self.named.get(name, self.all_by)

    @property
    def newest(self) -> str:
        """The run of those that were taken away last; empty where nobody is away."""
        return next(filter(None, reversed([self.all_by, *self.named.values()])), "")

    @property
    def is_anybody(self) -> bool:
        """Whether one of them is away, or may be."""
        return bool(self.newest or self.unnamed)

    @property
    def is_in_parts(self) -> bool:
        """Whether they may be at different places."""
        return bool(self.unnamed or self.named)


def away(runs: Iterable[EarlierRun], home: str, other: str) -> Away:
    """Which applications that the file has at `home` work at `other`, by runs in the order of `newest_move`.

    A move that has not ended well says nothing: until it has, no other one may begin.
    """
    found = Away()
    for run in runs:
        if run.home != home or not run.is_done or not run.has_moved_between((home, other)):
            continue
        by = "" if run.target == home else run.run_id
        if run.part is None:
            found = Away(all_by=by)
        elif not run.part:
            found = replace(found, unnamed=run.run_id)
        else:
            found = replace(found, named={**found.named, **dict.fromkeys(run.part, by)})
    return found


@dataclass(frozen=True, slots=True)
class CoordinationState:
    """The ensemble answers. `holder` is who else holds the lock, empty for nobody or for this process.

    `holds` is all that people have put there to keep the tool's hands off something; `primaries`, by the
    cluster that the file gives a topic and its name, where the moves have left it. `alone` is why there is
    no ensemble, where a person goes on without one: the rest is then what this machine alone knows.
    `guards`: what the guards of the source's brokers have said; `kept_closed`: why they keep applications out
    of all of these, empty where they do not.
    `runs` are in the order in which they began. Without an ensemble, `newest_fact` is the number of the
    newest fact in the copy of the estate record whose life is `record_life`, and `copy_problem` why that
    could not be read.
    `cluster_ids`: the id that each cluster of the file had when somebody last took them for right.
    `denials`: by cluster, the access rules with which runs keep applications off it, each with the run's id.
    `evacuated`: by cluster, sites whose brokers were put last, and how assignments stood before;
    `lowered`: by cluster, topics with a lowered `min.insync.replicas`, and what they had before;
    `quorums`: by cluster, what was changed of its metadata quorum; `sites_off`: by cluster, sites at which
    no server of it is to run; `services_stopped`: by cluster and server, how services were that a run has
    stopped, `services_started`: at which sites one has started them since, if these are off still; and
    where sites are off, in `site_guards` by server what guards of that cluster say;
    `applications_at`: by cluster, the programs that run elsewhere than the file has them. `truncated`: by a
    mirror's source and target, all cuts of the source's logs that are recorded.
    """

    holder: str
    runs: tuple[EarlierRun, ...] = ()
    holds: tuple[Hold, ...] = ()
    primaries: Primaries = field(default_factory=dict)
    alone: str = ""
    kept_closed: str = ""
    newest_fact: int | None = None
    record_life: str = ""
    copy_problem: str = ""
    guards: tuple[GuardSaid, ...] = ()
    cluster_ids: Mapping[str, str] = field(default_factory=dict)
    denials: Mapping[str, Mapping[Acl, str]] = field(default_factory=dict)
    evacuated: Mapping[str, Evacuated] = field(default_factory=dict)
    lowered: Mapping[str, MinInsyncLowered] = field(default_factory=dict)
    mirrors_halted: Mapping[str, tuple[MirrorHalted, ...]] = field(default_factory=dict)
    quorums: Mapping[str, Quorum] = field(default_factory=dict)
    sites_off: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    services_stopped: Mapping[str, Mapping[str, ServiceState]] = field(default_factory=dict)
    services_started: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    site_guards: Mapping[str, Mapping[str, SiteGuardSaid]] = field(default_factory=dict)
    applications_at: Mapping[str, Mapping[str, PlacedAt]] = field(default_factory=dict)
    truncated: Mapping[tuple[str, str], Cuts] = field(default_factory=dict)
