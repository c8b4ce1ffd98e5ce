"""Stages that runbooks of moves share, each of one way. They give the handles that later ones need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator.moves.ends import RecordLandingEnds, RecordTopicEnds
from orchestrator.moves.fencing import AllowAtTarget, DenyRules
from orchestrator.moves.participants import Ground, Left, Participants
from orchestrator.moves.results import LANDING, RulesFound, TopicEnds
from orchestrator.moves.way import Move, Way
from orchestrator.runs.effect import Handle, Nothing
from orchestrator.runs.estate_record import PrimaryMoved
from orchestrator.runs.runbook import After, Runbook, behind
from orchestrator.runs.writers import opened_topics

Ready = Mapping[str, tuple[Handle[Any], ...]]
"""By kind what its applications go on from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """Steps that let applications work at the place entered: by kind, and of those that move themselves."""

    kinds: Mapping[str, Handle[Nothing]]
    allow_at_target: Handle[Nothing] | None

    @property
    def all(self) -> tuple[Handle[Nothing], ...]:
        """Every one of them."""
        return (*(() if self.allow_at_target is None else (self.allow_at_target,)), *self.kinds.values())


def record_landing(
    book: Runbook,
    way: Way,
    *,
    stopped: Handle[Nothing] | None = None,
    early: Sequence[str] = (),
    is_since_unknown: bool = False,
    after: Sequence[After] = (),
) -> Handle[TopicEnds] | None:
    """Where producers will begin to write, and where a way back will begin to read. None where no topic
    moves.

    Where the way is one back, its copies begin there, and where is known: nothing begins anew at home.
    """
    if not way.topics:
        return None
    step = way.id("record-landing-ends")
    feed = way.feeds[0] if way.feeds else None
    if feed is None or feed.is_back:
        ends = RecordTopicEnds(cluster=way.entered.cluster, topics=way.topics)
        recorded = book.add(ends, id=step, after=after)
    else:
        landing = RecordLandingEnds(
            mirror=feed,
            topics=way.topics,
            is_part=way.is_part,
            early=tuple(early),
            is_since_unknown=is_since_unknown,
            stopped=stopped,
        )
        recorded = book.add(landing, id=step, after=after)
    book.tell(LANDING, recorded)
    return recorded


def caught_up(
    book: Runbook, move: Move, them: Participants, after: Sequence[After], timeout_s: float
) -> list[After]:
    """See that applications which have to finish topics where they are will soon be done, before anything is
    frozen. Returns what the freeze waits for.
    """
    with book.section("let applications catch up", on_failure="stop", after=after):
        near = [kind.catch_up(book, way, timeout_s) for way in move.ways for kind in them.kinds]
    handles = [handle for handle in near if handle is not None]
    return [behind(*handles, because="producers stand still for as long as reading takes")] if handles else []


def deny_at_target(book: Runbook, way: Way, rules: Handle[RulesFound]) -> Handle[Nothing]:
    """Deny who moves itself the place entered, before the place left does: it is nowhere for a while."""
    deny = DenyRules(cluster=way.entered.cluster, rules=way.self_redirecting, recorded_by=rules)
    title = f"Deny writes at {way.entered} to producers that move themselves, until {way.entered} is primary"
    return book.add(deny, id=way.id("keep-off"), title=title)


def place(book: Runbook, way: Way, them: Participants, ground: Ground, left: Mapping[str, Left]) -> Ready:
    """Make all of a way's applications ready to go on, on the ground that is left."""
    return {kind.name: kind.place(book, way, ground, left.get(kind.name, Left())) for kind in them.kinds}


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A way on which everybody is ready to go on.

    `kept_off_by`: the rules found before those that move themselves were kept off (None: nobody was).
    `primary`: recorded by that step (None where no topic moves). `before`: what comes before anybody starts
    instead, where no primary is recorded.
    """

    way: Way
    ground: Ground
    ready: Ready
    kept_off_by: Handle[RulesFound] | None = None
    primary: Handle[PrimaryMoved] | None = None
    before: tuple[After, ...] = ()

    @property
    def may_begin(self) -> tuple[After, ...]:
        """What comes before anybody works at the place entered."""
        if self.primary is None:
            return self.before
        return (
            behind(
                self.primary, because="no application starts where a boot guard may still close the brokers"
            ),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """A way whose applications work at the place entered. `looks`: by kind, what sees them there."""

    prepared: Prepared
    started: Started
    looks: Mapping[str, Handle[Any]]


def begin_at_the_other_side(book: Runbook, them: Participants, prepared: Sequence[Prepared]) -> list[Begun]:
    """Start everybody, and see them at work: nobody on one way before all ways may be gone to their ends."""
    order = [after for one in prepared for after in one.may_begin]
    with book.section("start applications", on_failure="stop"):
        started = [(one, _start(book, them, one, order)) for one in prepared]
    with book.section("verify that applications work", on_failure="stop"):
        return [
            Begun(prepared=one, started=by, looks=_see_at_work(book, them, one, by, order))
            for one, by in started
        ]


def _start(book: Runbook, them: Participants, one: Prepared, order: list[After]) -> Started:
    """Start everybody of a way at the place entered, which is primary now."""
    way = one.way
    allow_at_target = None
    if one.kept_off_by is not None:
        topics = opened_topics(way.topology, way.entered.cluster, way.self_redirecting)
        lift = AllowAtTarget(
            cluster=way.entered.cluster,
            rules=way.self_redirecting,
            recorded_by=one.kept_off_by,
            topics=topics,
        )
        allow_at_target = book.add(lift, id=way.id("let-in"), phase="redirect", after=order)
    started = {kind.name: kind.start(book, way, one.ready[kind.name], order) for kind in them.kinds}
    return Started(
        kinds={name: handle for name, handle in started.items() if handle is not None},
        allow_at_target=allow_at_target,
    )


def _see_at_work(
    book: Runbook, them: Participants, one: Prepared, started: Started, order: list[After]
) -> dict[str, Handle[Any]]:
    """See everybody of a way at work at the place entered."""
    seen = {}
    for kind in them.kinds:
        by = started.kinds.get(kind.name)
        after = order if by is None else []
        if kind.writes and started.allow_at_target is not None:
            after = [
                *after,
                behind(started.allow_at_target, because="a producer that is denied writes nothing"),
            ]
        look = kind.see(book, one.way, one.ready[kind.name], by, one.ground, after)
        if look is not None:
            seen[kind.name] = look
    return seen
