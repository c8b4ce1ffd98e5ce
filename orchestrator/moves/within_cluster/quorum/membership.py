"""Effects on the members of a quorum that lives: dead voters taken out, and all of them voting again.

Each change is committed by the quorum itself, so nothing is stopped, and no file is written by dcctl.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from pydantic.dataclasses import dataclass

from orchestrator.errors import ClusterError, CoordinationError
from orchestrator.moves.within_cluster.quorum.dead_voters import who_lives_is_unknown
from orchestrator.ports.voter_sets import Member, VoterSet, VoterSets
from orchestrator.runs.effect import (
    EFFECT_CONFIG,
    Done,
    Effect,
    Failed,
    Nothing,
    Outcome,
    Partial,
    Reversible,
    Running,
    Unknown,
    Verified,
)
from orchestrator.runs.facts_within_clusters import VotersAdded, VotersDropped
from orchestrator.runs.ports import EstateRecord
from orchestrator.wording import listed

_SEEN_WITHIN_S = 10.0
_POLL_S = 0.5


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class DropVoters(
    Reversible,
    Verified[Nothing],
    Effect[Nothing],
    name="drop-voters",
    phase="redirect",
    expected_s=2.0,
    timeout_s=120.0,
    stays="the voters that are left decide, and can spare more than with the dead ones: "
    "failback lets these vote again",
):
    """Who is to go is recorded before, and that sites have no voters once none of theirs votes: until then
    dead ones count, which promises less than there may be. A dead voter cannot be added again, so an abort
    leaves it out.

    `living`: ids of those of which hosts elsewhere tell that they run, or do not know it.
    """

    cluster: str
    sites: tuple[str, ...]
    voters: tuple[Member, ...]
    living: tuple[int, ...] = ()

    @property
    def title(self) -> str:
        """See `Effect`."""
        where = listed(self.sites)
        return f"Take dead voters of {where} out of the quorum of {self.cluster}: {_ids(self.voters)}"

    def perform(self, run: Running) -> Outcome[Nothing]:
        """One after the other where the quorum takes no more at a time; what has gone already stays gone."""
        sets, record = run.port(VoterSets), run.port(EstateRecord)
        seen = sets.read()
        going = tuple(voter for voter in self.voters if seen.has(voter))
        if doubt := who_lives_is_unknown(self.cluster, seen, self.living):
            return Failed(doubt)
        if alive := [voter for voter in going if voter.number in seen.heard or voter.number == seen.leader]:
            return Failed(f"voters of {self.cluster} that take part still are not taken out: {_ids(alive)}")
        known = record.find(VotersDropped, like=self._fact())
        record.write(
            self._fact(seen.lines)
            if known is None
            else replace(known, voters=self.voters, sites=(), partly=())
        )
        if going:
            sets.remove(seen, going)
        run.await_true(lambda: not self._left(sets.read()), _SEEN_WITHIN_S, poll_s=_POLL_S)
        return self.verify(run)

    def verify(self, run: Running) -> Outcome[Nothing]:
        """None of them votes."""
        now = run.port(VoterSets).read()
        if left := self._left(now):
            return Failed(f"still voters of {self.cluster}: {_ids(left)}")
        record = run.port(EstateRecord)
        known = record.find(VotersDropped, like=self._fact())
        if known is None:
            return Failed(f"it is not recorded who was taken out of the quorum of {self.cluster}")
        record.write(replace(known, sites=self.sites, partly=()))
        return Done(Nothing(), f"{self.cluster} is decided by {listed(map(str, sorted(now.numbers)))} alone")

    def undo(self, run: Running) -> Outcome[Nothing]:
        """Who is out stays out; the record is left with those alone, or taken back where there are none."""
        record = run.port(EstateRecord)
        known = record.find(VotersDropped, like=self._fact())
        if known is None:
            return Done(Nothing(), f"no voter of {self.cluster} was taken out of its quorum")
        numbers = run.port(VoterSets).read().numbers
        out = tuple(voter for voter in self.voters if voter.number not in numbers)
        if not out:
            record.withdraw(VotersDropped, like=known)
            return Done(Nothing(), f"no voter of {self.cluster} was taken out of its quorum")
        is_all = len(out) == len(self.voters)
        sites, partly = (self.sites, ()) if is_all else ((), self.sites)
        record.write(replace(known, voters=out, sites=sites, partly=partly))
        return Done(Nothing(), f"no voters of {self.cluster} until a failback: {_ids(out)}")

    def _left(self, now: VoterSet) -> list[Member]:
        return [voter for voter in self.voters if now.has(voter)]

    def _fact(self, lines: tuple[str, ...] = ()) -> VotersDropped:
        return VotersDropped(cluster=self.cluster, sites=(), voters=self.voters, lines=lines)


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class AddVoters(
    Verified[Nothing],
    Effect[Nothing],
    name="add-voters",
    phase="redirect",
    expected_s=10.0,
    timeout_s=180.0,
    stays="they are voters of a cluster that goes on",
):
    """Each of them follows without a vote and catches up, and votes from then on. Where it has an empty disk
    (KRaft), and its old log is a voter still, that one is taken out first.

    `lines`: all of the configuration as it was with them (ZooKeeper).
    """

    cluster: str
    voters: tuple[Member, ...]
    lines: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """See `Effect`."""
        return f"Let voters of {self.cluster} vote again once they have caught up: {_ids(self.voters)}"

    def perform(self, run: Running) -> Outcome[Nothing]:
        """Where one does not come back the others vote all the same."""
        sets = run.port(VoterSets)
        away, problem = list(self.voters), ""

        def all_vote() -> bool:
            nonlocal problem
            try:
                now = sets.read()
                away[:] = self._away(now)
                ready = sets.following(away) if away else ()
                if ready and run.may_write():
                    if old := _logs_lost(now, ready):
                        run.port(EstateRecord).write(
                            VotersDropped(cluster=self.cluster, sites=(), voters=old, lines=self.lines)
                        )
                        sets.remove(now, old)
                        now = sets.read()
                    sets.add(now, ready, self.lines)
                    away[:] = self._away(sets.read())
            except (ClusterError, CoordinationError) as error:
                problem = f"{error.subject}: {error.problem}"
                return False
            problem = ""
            return not away

        if run.await_true(all_vote, run.timeout_s, poll_s=_POLL_S):
            return self.verify(run)
        if problem:
            return Unknown(f"whether {_ids(away)} vote again is not known: {problem}")
        return Partial(f"not back, or not caught up, so without a vote: {_ids(away)}; start them, then go on")

    def verify(self, run: Running) -> Outcome[Nothing]:
        """All of them vote."""
        now = run.port(VoterSets).read()
        if away := self._away(now):
            return Failed(f"no voters of {self.cluster} yet: {_ids(away)}")
        run.port(EstateRecord).write(VotersAdded(cluster=self.cluster))
        return Done(Nothing(), f"{self.cluster} is decided by {listed(map(str, sorted(now.numbers)))}")

    def _away(self, now: VoterSet) -> list[Member]:
        """Those that are not in the set, and of KRaft's those in it of which it has not heard: their logs may
        be lost.
        """
        silent = {one.number for one in now.voters if one.directory_id and one.number not in now.heard}
        return [voter for voter in self.voters if voter.number not in now.numbers - silent]


def _logs_lost(now: VoterSet, ready: Iterable[Member]) -> tuple[Member, ...]:
    """Voters of the set that follow with another log."""
    numbers = {one.number for one in ready}
    return tuple(old for old in now.voters if old.number in numbers)


def _ids(voters: Iterable[Member]) -> str:
    return listed(str(number) for number in sorted(voter.number for voter in voters))
