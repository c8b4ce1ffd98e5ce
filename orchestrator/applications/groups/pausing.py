"""Members of a group that stay where others come to pause, while positions are written beside theirs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TypeVar

from pydantic.dataclasses import dataclass

from orchestrator.applications.consumers import groups_named
from orchestrator.moves.clients import OfPlace, held_stopped, run_clients_at, start_again, stop_at
from orchestrator.moves.results import MembersSeen, Pause
from orchestrator.ports.clock import Clock
from orchestrator.runs.effect import (
    EFFECT_CONFIG,
    Done,
    Effect,
    Failed,
    Handle,
    Held,
    Look,
    Nothing,
    Outcome,
    Reversible,
    Running,
    Unknown,
)
from orchestrator.runs.ports import Clusters
from orchestrator.values import TopicPartition
from orchestrator.wording import listed

PAUSE_S = 8.0
"""How long members usually stand: two playbooks, some hundred milliseconds of writing, and joining again."""
_LEAVE_WITHIN_S = 50.0
"""Longer than the usual session time-out: who was killed instead of stopped leaves by that."""
_JOIN_WITHIN_S = 15.0


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class SeeMembers(
    Look[MembersSeen],
    name="see-members",
    phase="translate",
    title="Count the members of groups at {cluster} that positions are written for",
    expected_s=0.1,
):
    """How many members groups have, and when that was: their pause is counted from then on.

    `topics`: what consumers of the file read, by their names. One works where its group has given any of that
    to a member: members alone may be somebody else's. Where a group divides its topics for long, nobody can
    tell, and whoever has members there is taken to work.
    """

    cluster: str
    topics: dict[str, tuple[str, ...]]

    def perform(self, run: Running) -> Outcome[MembersSeen]:
        """See `Effect`."""
        called, cluster = groups_named(run, self.topics), run.port(Clusters).cluster(self.cluster)
        given: dict[str, frozenset[TopicPartition] | None] = {}

        def are_divided() -> bool:
            nonlocal given
            given = cluster.group_assignments(called)
            return None not in given.values()

        run.await_true(are_divided, _JOIN_WITHIN_S)
        at_s = run.port(Clock).now_s()
        members = cluster.group_members(called)
        at_work = tuple(
            name
            for name, topics in self.topics.items()
            for group in groups_named(run, [name])
            if members.get(group) and reads_any(given.get(group), topics)
        )
        said = listed(f"{called[group]} ({count})" for group, count in sorted(members.items()))
        return Done(
            MembersSeen(members=members, at_s=at_s, at_work=at_work),
            f"members at {self.cluster}: {said}; at work: {listed(at_work) or 'nobody'}",
        )


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class _OfMembers(OfPlace):
    """Applications that stay; `seen`: who was in their groups before."""

    seen: Handle[MembersSeen]


_Pausing = TypeVar("_Pausing", bound=_OfMembers)


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class PauseMembers(
    _OfMembers,
    Reversible,
    Effect[Nothing],
    name="pause-members",
    phase="translate",
    title="Stop applications at {cluster} for a moment, until their groups are empty",
    expected_s=3.5,
    timeout_s=120.0,
):
    """Stop applications that stay, and wait until their groups are empty; where they do not become so, start
    them again.

    `groups`: consumers of the file, by their names, as `clients` are in order. `seen`: who was there before;
    who was not is let be.
    """

    groups: tuple[str, ...]

    def holds(self) -> Iterable[Held]:
        """See `Effect`."""
        return held_stopped(self.clients)

    def perform(self, run: Running) -> Outcome[Nothing]:
        """See `Effect`."""
        return _emptied(run, _of_present(run, self, self.groups), self.groups)

    def undo(self, run: Running) -> Outcome[Nothing]:
        """Start what was stopped."""
        there = _of_present(run, self, self.groups)
        return start_again(run, there) if there.clients else Done(Nothing(), "nobody had to pause")


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class ResumeMembers(
    _OfMembers,
    Reversible,
    Effect[Pause],
    name="resume-members",
    phase="translate",
    title="Start applications at {cluster} again that were stopped for a moment",
    expected_s=4.0,
    timeout_s=120.0,
):
    """Start applications that had to pause, and see them read again.

    `topics`: what each of them reads, by the names of consumers, as `clients` are in order. A pause whose end
    was not seen is not measured.
    """

    topics: dict[str, tuple[str, ...]]

    def frees(self) -> Iterable[Held]:
        """See `Effect`."""
        return held_stopped(self.clients)

    def perform(self, run: Running) -> Outcome[Pause]:
        """See `Effect`."""
        names, clock = tuple(self.topics), run.port(Clock)
        there = _of_present(run, self, names)
        if not there.clients:
            return Done(Pause(consumers=(), cluster=self.cluster, seconds=0.0), "nobody had to pause")
        found = run_clients_at(run, "start", there, run.step_id)
        if not isinstance(found, Done):
            return found
        names = tuple(
            name for name, client in zip(names, self.clients, strict=True) if client in there.clients
        )
        is_seen = run.await_true(lambda: self._are_reading(run, names), _JOIN_WITHIN_S)
        seconds = clock.now_s() - run.of(self.seen).at_s if is_seen else None
        pause = Pause(consumers=names, cluster=self.cluster, seconds=seconds)
        if seconds is None:
            return Done(pause, f"{listed(names)} not seen to read again within {_JOIN_WITHIN_S:g} s")
        return Done(pause, f"{listed(names)} stood for {seconds:.1f} s")

    def undo(self, run: Running) -> Outcome[Nothing]:
        """Stop them once more: what was written beside their positions can be taken back only so. Where their
        groups do not become empty they go on, and nothing is taken back.
        """
        names = tuple(self.topics)
        return _emptied(run, _of_present(run, self, names), names)

    def _are_reading(self, run: Running, names: Iterable[str]) -> bool:
        """Whether each group has given its topics to members. Raises `ClusterError`."""
        cluster = run.port(Clusters).cluster(self.cluster)
        for name in names:
            topics = self.topics[name]
            for given in cluster.group_assignments(groups_named(run, [name])).values():
                if given is None or not {*topics} <= {tp.topic for tp in given}:
                    return False
        return True


def _of_present(run: Running, of: _Pausing, names: Iterable[str]) -> _Pausing:
    """The same of those alone who worked before: who does not work is not started either."""
    at_work = run.of(of.seen).at_work
    there = [client for name, client in zip(names, of.clients, strict=True) if name in at_work]
    return replace(of, clients=tuple(there))


def reads_any(given: frozenset[TopicPartition] | None, topics: Iterable[str]) -> bool:
    """Whether members of a group were given any of these topics; so also while nobody can tell (None)."""
    return given is None or not {tp.topic for tp in given}.isdisjoint(topics)


def _emptied(run: Running, of: OfPlace, names: Iterable[str]) -> Outcome[Nothing]:
    """Stop them, and wait until their groups have no members; where they do not become so, start them again.
    Raises `DcctlError`.
    """
    if of.clients and not isinstance(stopped := stop_at(run, of), Done):
        return stopped
    cluster, called = run.port(Clusters).cluster(of.cluster), groups_named(run, names)
    members: dict[str, int] = {}

    def are_empty() -> bool:
        nonlocal members
        members = {group: count for group, count in cluster.group_members(called).items() if count}
        return not members

    if run.await_true(are_empty, _LEAVE_WITHIN_S):
        return Done(Nothing(), f"{listed(called.values())} have no members at {of.cluster}")
    said = f"groups that still have members at {of.cluster} with the file's applications stopped: " + listed(
        f"{called[group]} ({count})" for group, count in sorted(members.items())
    )
    if run.is_cancelled():
        return Unknown(said)
    again = start_again(run, of) if of.clients else Done(Nothing())
    return Failed(said) if isinstance(again, Done) else Unknown(f"{said}; {again.message}")
