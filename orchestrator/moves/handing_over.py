"""Stages of a planned move, there or back: who works at one place is frozen, drained, and begins at the
other.

Applications are stopped cleanly first, so that what they have sent is answered and what they have processed
is committed; the fence then keeps off whoever was not stopped, and the standing logs prove it. Everything up
to the promotion can be taken back, and is, if a step of it does not end well; the promotion waits for all.

Producers that move themselves may turn up at the place entered as soon as the place left denies them: they
are denied there too until it is primary.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from orchestrator.moves.ends import RecordDeparture
from orchestrator.moves.fencing import DenyRules, LiftRules, RecordRules
from orchestrator.moves.participants import Left, Participants, Stand
from orchestrator.moves.primary import RecordPrimary
from orchestrator.moves.results import MirrorEnd, RulesFound, StandingLogs
from orchestrator.moves.stages import Prepared, deny_at_target
from orchestrator.moves.standstill import AwaitNoWrites
from orchestrator.moves.way import Way
from orchestrator.replication.mirror_ref import MirrorRef
from orchestrator.runs.effect import Handle, Nothing
from orchestrator.runs.estate_record import PrimaryMoved
from orchestrator.runs.runbook import After, Runbook, behind
from orchestrator.runs.writers import denied_topics, opened_topics

_LET_IN = "applications may work where they are started"


@dataclass(frozen=True, slots=True, kw_only=True)
class BothRules:
    """The access rules that were there before: at the place left, and at the place entered."""

    left: Handle[RulesFound]
    entered: Handle[RulesFound]


@dataclass(frozen=True, slots=True, kw_only=True)
class Frozen:
    """Nobody works at the place left any more. `left`: by kind; `standing`: None where no topic moves."""

    standing: Handle[StandingLogs] | None
    left: Mapping[str, Left]


@dataclass(frozen=True, slots=True, kw_only=True)
class AtRest:
    """Mirrors have copied all of the logs that stand, and stand themselves; those of `passed` go on."""

    drained: tuple[Handle[Nothing], ...] = ()
    stands: tuple[Stand, ...] = ()
    passed: tuple[tuple[MirrorRef, Handle[MirrorEnd]], ...] = ()
    arrived: tuple[Handle[Nothing], ...] = ()

    @property
    def after_drain(self) -> list[After]:
        """Behind it nothing more is copied."""
        because = "with the identity policy the mirror writes to the same topics until then"
        return [behind(*self.drained, because=because)] if self.drained else []

    @property
    def after_arrival(self) -> tuple[After, ...]:
        """Behind it nothing is missing at the place entered."""
        because = "positions are translated once no record is missing"
        return (behind(*self.arrived, because=because),) if self.arrived else ()


def record_both_rules(book: Runbook, way: Way) -> BothRules:
    """Look before any rule is touched: where that cannot be done, nothing is."""
    left = RecordRules(cluster=way.left.cluster, rules=way.who.rules)
    entered = RecordRules(cluster=way.entered.cluster, rules=way.who.rules)
    return BothRules(
        left=book.add(left, id=way.id("record-rules")),
        entered=book.add(entered, id=way.id("record-target-rules")),
    )


def freeze(book: Runbook, way: Way, them: Participants, rules: BothRules) -> Frozen:
    """Stop everybody at the place left, keep them off, see its logs stand, and record the last positions."""
    looked = "no application is stopped where access rules cannot be read: the cluster could not be fenced"
    after = [behind(rules.left, because=looked)]
    left: dict[str, Left] = {}
    quiet: list[After] = []
    for kind in them.kinds:
        stopped = kind.stop(book, way, after) if kind.writes else None
        if stopped is not None:
            left[kind.name] = Left(stopped=stopped)
            quiet.append(behind(stopped, because="a producer gets its last answers before it is denied"))
    if way.self_redirecting:
        kept_off = deny_at_target(book, way, rules.entered)
        quiet.append(
            behind(
                kept_off,
                because="a producer that moves itself writes at the other place as soon as it is denied here",
            )
        )
    standing, fenced = _deny_writing(book, way, rules, quiet) if way.topics else (None, None)
    if fenced is not None and way.is_shared:
        after = [*after, behind(fenced, because="nothing more is written by those that move")]
    # Beside the producers: what they leave unread here they read there, from exactly that place on.
    gone = []
    for kind in them.kinds:
        stopped = None if kind.writes else kind.stop(book, way, after)
        if stopped is not None:
            left[kind.name] = Left(stopped=stopped)
            gone.append(stopped)
    for kind in them.kinds:
        one = left.get(kind.name, Left())
        recorded = kind.record(book, way, one, after)
        left[kind.name] = Left(stopped=one.stopped, recorded=recorded)
    if way.reading_rules:
        cleanly = (
            [behind(*gone, because="a consumer that stops cleanly commits, and needs the right to do so")]
            if gone
            else []
        )
        deny = DenyRules(cluster=way.left.cluster, rules=way.reading_rules, recorded_by=rules.left)
        book.add(deny, id=way.id("deny-reading"), after=cleanly)
    return Frozen(standing=standing, left=left)


def _deny_writing(
    book: Runbook, way: Way, rules: BothRules, quiet: Sequence[After]
) -> tuple[Handle[StandingLogs] | None, Handle[Nothing]]:
    """And see the logs stand, where nobody else writes them."""
    topics = denied_topics(way.topology, way.left.cluster, way.writing_rules)
    deny = DenyRules(cluster=way.left.cluster, rules=way.writing_rules, recorded_by=rules.left, topics=topics)
    denied = book.add(deny, id=way.id("deny-writing"), after=quiet)
    if way.is_shared:
        return None, denied
    still = AwaitNoWrites(cluster=way.left.cluster, topics=way.topics)
    proven = behind(denied, because="only once writes are denied do logs that stand still prove anything")
    return book.add(still, id=way.id("stands-still"), after=[proven]), denied


def drain(book: Runbook, way: Way, them: Participants, frozen: Frozen, timeout_s: float) -> AtRest:
    """Wait until mirrors have copied everything. Stop those that nothing else needs, and look once more."""
    drained, stands, arrived, standing = [], [], [], frozen.standing
    if standing is None:
        return AtRest()
    passed: list[tuple[MirrorRef, Handle[MirrorEnd]]] = []
    for mirror in way.passes:
        engine = them.engine(way.topology, mirror)
        done = engine.drain(book, way, mirror, standing, timeout_s)
        end = engine.record_passed(book, way, mirror, standing, done)
        passed += [] if end is None else [(mirror, end)]
        drained.append(done)
        arrived.append(done)
    for mirror in way.drains:
        engine = them.engine(way.topology, mirror)
        done = engine.drain(book, way, mirror, standing, timeout_s)
        stand = engine.stop(book, way, mirror, [behind(done, because="the mirror is drained")])
        seen = engine.see_arrived(book, way, stand, standing)
        engine.stop_beside(book, way, stand)
        drained.append(done)
        stands.append(stand)
        arrived += [] if seen is None else [seen]
    return AtRest(drained=tuple(drained), stands=tuple(stands), passed=tuple(passed), arrived=tuple(arrived))


def record_departure(book: Runbook, way: Way, frozen: Frozen) -> None:
    """How the logs left stood: a failback is held against that."""
    for mirror in way.feeds:
        logs = RecordDeparture(
            mirror=mirror,
            cluster=way.left.cluster,
            topics=way.topics,
            standing=frozen.standing,
            is_part=way.is_part,
        )
        book.add(logs, id=way.id("record-left", mirror))


def promote(
    book: Runbook, way: Way, rules: BothRules, after: Sequence[After]
) -> tuple[Handle[Nothing], Handle[PrimaryMoved] | None]:
    """Lift what a fence denies at the place entered, and record that it is primary: all of it can be undone.

    Returns both steps, the second one None where no topic moves. Whoever moves itself stays kept off until it
    may write for good.
    """
    lifted = tuple(rule for rule in way.who.rules if rule not in way.self_redirecting)
    topics = opened_topics(way.topology, way.entered.cluster, lifted)
    lift = LiftRules(cluster=way.entered.cluster, rules=lifted, recorded_by=rules.entered, topics=topics)
    writable_again = book.add(lift, id=way.id("thaw"), after=after)
    if not way.topics:
        return writable_again, None
    record = RecordPrimary(home=way.home, primary=way.entered.cluster, topics=way.topics)
    needed = behind(writable_again, because=_LET_IN)
    return writable_again, book.add(record, id=way.id("record-primary"), after=[needed])


def promoted(book: Runbook, one: Prepared, rules: BothRules, after: Sequence[After]) -> Prepared:
    """A way whose place entered is primary, and lets its applications in."""
    writable_again, primary = promote(book, one.way, rules, after)
    return replace(one, primary=primary, before=(behind(writable_again, because=_LET_IN),))


def kept_off_by(way: Way, rules: BothRules) -> Handle[RulesFound] | None:
    """The rules found before those that move themselves were kept off; None where there are none."""
    return rules.entered if way.self_redirecting else None


def prepared_before(book: Runbook) -> After:
    """All that was added so far."""
    return behind(*book.last(), because="the point of no return comes after every step that may fail")
