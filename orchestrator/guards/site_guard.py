"""Whether a server of a stretched cluster may run, by the estate record, and what its guard does. Pure.

A site that comes back knows nothing of what was decided without it. A broker would take the writes of clients
with `acks=1` as the leader that it is no more; a voter that knows no leader votes for every candidate whose
log is not behind its own, so a half that returns could lead with old metadata (facts: Kafka, "More on quorums
and elections"). So each server of a stretched cluster starts behind a guard, which asks the ensemble:

- It starts once the ensemble says that it may. It may not while its site is recorded as off, nor may a voter
  while others are the whole quorum, or while its file names other voters than are the quorum.
- While it runs, one word that it must not stops it at once. A silent ensemble changes nothing.
- Where nobody has answered yet, it waits, or starts after a while, as the file says, or a person at the
  host. Once it was told that it may not start, silence changes nothing of that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from orchestrator.guards.guard_events import Begun, Ended, Exit, Kill, Log, PassOn, Ticked, Told
from orchestrator.runs.estate_record import Fact
from orchestrator.runs.within_clusters import Quorum, quorums, sites_off
from orchestrator.topology.model import Topology
from orchestrator.topology.rules.quorum import stops_with, voters_per_dc
from orchestrator.topology.verbs import put_back_command
from orchestrator.wording import listed

ASKS_EVERY_S = 1.0

WithoutAnswer = Literal["wait", "start"]
State = Literal["held", "runs"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteServer:
    """One server under guard. `voter`: its id in the quorum, None where it is no voter.

    `voters`: the ids that its file names.
    """

    cluster: str
    site: str
    voter: int | None = None
    voters: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class SiteWord:
    """May it start; must it stop, where it runs; and why."""

    may_start: bool
    must_stop: bool
    reason: str


def site_word(about: SiteServer, facts: Iterable[Fact]) -> SiteWord:
    """What the ensemble says of it. `facts`: `SITE_FACTS` and `QUORUM_FACTS` of the topology."""
    facts = tuple(facts)
    quorum = quorums(facts).get(about.cluster, Quorum())
    if about.voter is not None and quorum.forced is not None:
        return _of_voter(about, quorum, quorum.forced.kept)
    if about.site in sites_off(facts, of_voters=about.voter is not None).get(about.cluster, ()):
        back = put_back_command(about.cluster)
        reason = f"{about.site} is recorded as off for {about.cluster}: {back} lets it run again"
        return SiteWord(may_start=False, must_stop=True, reason=reason)
    return SiteWord(may_start=True, must_stop=False, reason=f"{about.site} is not recorded as off")


def _of_voter(about: SiteServer, quorum: Quorum, kept: Mapping[str, int]) -> SiteWord:
    """As the change of the quorum says; while that is made, or taken back, files are about to change.

    While all are made one again those may run that begin: they are just enough for a majority, so none of
    them decides anything without all that the survivors have.
    """
    numbers = set(kept.values())
    whole = f"{listed(sorted(kept))} are the whole quorum of {about.cluster}"
    change = f"change {quorum.generation} of the quorum"
    if quorum.restoring is not None and about.voter in quorum.restoring.beginning:
        back = f"change {quorum.restoring.generation} of the quorum"
        return SiteWord(may_start=True, must_stop=False, reason=f"{back}: all are being made one again")
    if about.voter not in numbers:
        reason = f"{whole} ({change}): {put_back_command(about.cluster)} makes all of them one again"
        return SiteWord(may_start=False, must_stop=True, reason=reason)
    if quorum.stands_alone and about.voters != numbers:
        named = listed(map(str, sorted(about.voters))) or "none"
        reason = f"its file names the voters {named}, and {whole} ({change}): restore the file"
        return SiteWord(may_start=False, must_stop=False, reason=reason)
    return SiteWord(may_start=True, must_stop=False, reason=f"{whole} ({change})")


def without_answer(topology: Topology, cluster: str) -> WithoutAnswer:
    """What a server does where nobody answers: as the file says. See `model.BootGuard`."""
    if topology.boot_guard.without_answer is not None:
        return topology.boot_guard.without_answer
    described = topology.clusters[cluster]
    deciding = [dc for dc in voters_per_dc(described) if stops_with(described, dc)]
    return "wait" if deciding or "quorum" in described.unknown else "start"


@dataclass(frozen=True, slots=True)
class SiteSaying:
    """What the guard says in the ensemble. `by_hand`: on whose word it was started without an answer."""

    state: State
    reason: str
    by_hand: str = ""


@dataclass(frozen=True, slots=True)
class SiteHeard:
    """What came of asking: None where nobody answered, and `problem` why."""

    now_s: float
    word: SiteWord | None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class StartAnyway:
    """A person at the host has said that the server is to start though nobody answers."""

    now_s: float
    who: str


@dataclass(frozen=True, slots=True)
class AskSite:
    """Say `says`, then read whether the server may run."""

    says: SiteSaying


@dataclass(frozen=True, slots=True)
class StartServer:
    """Start the server."""


SiteEvent = Begun | SiteHeard | StartAnyway | Ticked | Ended | Told
SiteInstruction = AskSite | StartServer | Kill | PassOn | Log | Exit


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteGuard:
    """Where one guard stands. All times are of one clock that never goes back.

    `phase`: *held* while nothing runs; *runs*; *stopping* while it is killed, to be held. `without_answer`
    counts from `wait_until_s` on, and only while nobody has ever said that it may not start (`is_refused`):
    who was told so waits for another word.
    """

    without_answer: WithoutAnswer
    phase: Literal["held", "runs", "stopping"] = "held"
    wait_until_s: float = 0.0
    is_asked: bool = False
    asked_at_s: float = 0.0
    is_refused: bool = False
    reason: str = "the ensemble was not asked yet"
    by_hand: str = ""
    logged: str = ""
    ends_by: int = 0

    @property
    def waits_for_an_answer(self) -> bool:
        """Whether nothing runs, and nobody has said yet whether it may."""
        return self.phase == "held" and not self.is_refused

    @property
    def says(self) -> SiteSaying:
        """What is to be said now."""
        return SiteSaying("runs" if self.phase == "runs" else "held", self.reason, self.by_hand)


SiteDecision = tuple[SiteGuard, tuple[SiteInstruction, ...]]


def decide(guard: SiteGuard, event: SiteEvent) -> SiteDecision:
    """The guard after `event`, and what is to be done, in this order."""
    match event:
        case Begun(now_s, wait_s):
            return _asks(replace(guard, wait_until_s=now_s + wait_s), now_s)
        case Ticked(now_s):
            is_due = not guard.is_asked and now_s - guard.asked_at_s >= ASKS_EVERY_S
            return _asks(guard, now_s) if is_due else (guard, ())
        case SiteHeard():
            return _heard(replace(guard, is_asked=False), event)
        case StartAnyway(_, who):
            return (replace(guard, by_hand=who), ()) if guard.waits_for_an_answer else (guard, ())
        case Ended(_, status):
            return _ended(guard, status)
        case Told(_, number, ends):
            return _told(guard, number, ends=ends)


def _asks(guard: SiteGuard, now_s: float) -> SiteDecision:
    return replace(guard, is_asked=True, asked_at_s=now_s), (AskSite(guard.says),)


def _heard(guard: SiteGuard, heard: SiteHeard) -> SiteDecision:
    match guard.phase:
        case "runs":
            return _while_it_runs(guard, heard.word)
        case "stopping":
            return guard, ()
        case "held":
            return _while_held(guard, heard)


def _while_it_runs(guard: SiteGuard, word: SiteWord | None) -> SiteDecision:
    if word is None or not word.must_stop:
        return guard, ()
    guard = replace(
        guard, phase="stopping", is_refused=True, reason=word.reason, logged=word.reason, by_hand=""
    )
    return guard, (Log(f"stopped: {word.reason}"), Kill())


def _while_held(guard: SiteGuard, heard: SiteHeard) -> SiteDecision:
    word = heard.word
    if word is not None:
        guard = replace(guard, by_hand="", is_refused=not word.may_start)
        return _starts(guard, word.reason) if word.may_start else _held(guard, word.reason)
    if guard.is_refused:
        return guard, ()
    if guard.by_hand:
        return _starts(guard, f"{guard.by_hand} has said so, though {heard.problem}")
    if guard.without_answer == "start" and heard.now_s >= guard.wait_until_s:
        return _starts(guard, f"starts without an answer, as the file says: {heard.problem}")
    return _held(guard, heard.problem)


def _starts(guard: SiteGuard, reason: str) -> SiteDecision:
    guard = replace(guard, phase="runs", reason=reason, logged="")
    return guard, (Log(f"starts: {reason}"), StartServer())


def _held(guard: SiteGuard, reason: str) -> SiteDecision:
    """Why it is not started, once for each reason: it is asked again each second, for days perhaps."""
    if reason == guard.logged:
        return guard, ()
    return replace(guard, reason=reason, logged=reason), (Log(f"not started: {reason}"),)


def _ended(guard: SiteGuard, status: int) -> SiteDecision:
    if guard.ends_by or guard.phase != "stopping":
        return guard, (Exit(status),)
    return replace(guard, phase="held"), ()


def _told(guard: SiteGuard, number: int, *, ends: bool) -> SiteDecision:
    if guard.phase == "runs":
        return replace(guard, ends_by=number if ends else guard.ends_by), (PassOn(number),)
    if not ends:
        return guard, ()
    if guard.phase == "stopping":
        return replace(guard, ends_by=number), ()
    return guard, (Exit(-number),)
