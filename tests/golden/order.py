"""What must come before what, whatever the steps are called: pairs of doings and looks, each with its reason.

A doing is (verb, object, value) as the estate records it. In the patterns `{left}` is the cluster that applications
leave and `{entered}` the one they come to, `{itself}` the principals of producers that move themselves, `{early}`
their topics, and `{moved}` the principals of the others. A pattern is a regular expression for the whole of each part.

A pair holds for a run if, in the graph of its plan, each step of the first comes before each step of the second.
`a look`: before each step of the second there is one of the first; it may look again later. `one behind`:
behind each step of the first there is one of the second. On the `way back` compensations go against the graph.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal

import networkx as nx

from tests.golden.play import PlayedRun

Pattern = tuple[str, str, str]
Names = tuple[tuple[str, str], ...]
How = Literal["each", "a look", "one behind"]
_REST: Pattern = ("(?!run playbook).*", ".*", ".*")
_PLANNED = ("switchover", "failback")
_FENCED = ("leaving", "switchover", "failback")
_MOVES = ("failover", "leaving", "switchover", "failback")

# What is done.
STOP_PRODUCER: Pattern = ("stop client", "{left}", "producer .*")
STOP_GROUP: Pattern = ("stop client", "{left}", "consumer .*")
STOP_QUERY: Pattern = ("stop client", "{left}", "spark .*")
DENY_WRITING: Pattern = ("deny", "{left}", ".* WRITE .*")
DENY_READING: Pattern = ("deny", "{left}", ".* READ .*")
KEEP_OFF: Pattern = ("deny", "{entered}", "{itself} WRITE .*")
STOP_MIRROR: Pattern = ("stop connector", ".*", "{left}-to-{entered}-source")
STOP_SYNC: Pattern = ("stop connector", ".*", "{left}-to-{entered}-(checkpoint|heartbeat)")
PAUSE_MIRROR: Pattern = ("stop connector", ".*", "{entered}-to-{left}-source")
COMMIT: Pattern = ("commit offset", "{entered}", ".*")
COPY: Pattern = ("copy checkpoint", ".*", ".*")
RELOCATE: Pattern = ("relocate checkpoint", ".*", ".*")
DENIED: Pattern = ("record fact", ".*", 'denial:.*"cluster":"{left}".*')
LEFT: Pattern = ("record fact", ".*", "logs_left.*")
STARTS: Pattern = ("record fact", ".*", "reverse_starts.*")
STARTS_SET: Pattern = ("record fact", ".*", 'reverse_starts.*"is_set":true.*')
CUT: Pattern = ("record fact", ".*", "logs_cut.*")
PRIMARY: Pattern = ("record fact", ".*", "primary.*")
LIFT_READING: Pattern = ("lift denial", "{entered}", ".* READ .*")
LIFT_WRITING: Pattern = ("lift denial", "{entered}", "{moved} WRITE .*")
LET_IN: Pattern = ("lift denial", "{entered}", "{itself} WRITE .*")
START_PRODUCER: Pattern = ("start client", "{entered}", "producer .*")
START_GROUP: Pattern = ("start client", "{entered}", "consumer .*")
START_QUERY: Pattern = ("start client", "{entered}", "spark .*")
OPEN_STANDBY: Pattern = ("lift denial", "{left}", ".*")
# Of a failback, where the side that is entered had been lost.
HOLD: Pattern = ("deny", "{entered}", ".*")
STOP_RETURNED: Pattern = ("stop client", "{entered}", ".*")
SET_MIRROR: Pattern = ("set source offset", ".*", "{entered}-to-{left}-source .*")
START_MIRROR: Pattern = ("start connector", ".*", "{entered}-to-{left}-source")
START_SYNC: Pattern = ("start connector", ".*", "{entered}-to-{left}-checkpoint")
MAKE_TOPIC: Pattern = ("create topic", ".*", ".*")
ALLOW: Pattern = ("allow", ".*", ".*")
MAKE_REVERSE: Pattern = ("create connector", ".*", "{left}-to-{entered}-source")
SET_REVERSE: Pattern = ("set source offset", ".*", "{left}-to-{entered}-source .*")
START_REVERSE: Pattern = ("start connector", ".*", "{left}-to-{entered}-source")
CLOSE_MAP: Pattern = ("write records", ".*", ".* to mm2-offset-syncs.*")
PRE: Pattern = ("run playbook", ".*", "pre.*")
POST: Pattern = ("run playbook", ".*", "post.*")

# What is looked at.
STANDS_STILL: Pattern = ("see", "{left}", "how far the logs of .* reach")
RETURNED_STANDS: Pattern = ("see", "{entered}", "how far the logs of .* reach")
MIRROR_READ: Pattern = ("see", ".*", "how far {left}-to-{entered}-source has read")
OTHER_READ: Pattern = ("see", ".*", "how far {entered}-to-{left}-source has read")
GROUP_EMPTY: Pattern = ("see", "{left}", ".* empty")
LEFT_POSITIONS: Pattern = ("see", "{left}", "positions of .*")
OLD_POSITIONS: Pattern = ("see", "{entered}", "positions of .*")
COPIES: Pattern = ("see", "{entered}", r"ends of (.*, )?{left}[._].*")
OWN_COPIES: Pattern = ("see", "{left}", r"ends of (.*, )?{entered}[._].*")
SYNCS: Pattern = ("see", ".*", "ends of mm2-offset-syncs.*")
LANDING: Pattern = ("see", "{entered}", "ends of (orders|payments).*")
EARLY: Pattern = ("see", "{entered}", "ends of {early}")
RULES_LEFT: Pattern = ("see", "{left}", "access rules")
RULES_ENTERED: Pattern = ("see", "{entered}", "access rules")
GUARDS: Pattern = ("see", "ensemble", "words of guards")
WRITERS: Pattern = ("see", "{entered}", "writers of .*")
AT_WORK: Pattern = ("see", "{entered}", ".* at work")


@dataclass(frozen=True, slots=True)
class Pair:
    """The first comes before the second, because. `moves`: in which (empty: wherever both are).

    `given`: only in runs that do this as well; `unless`: only in those that do not. `is_alike`: only of what has the same value.
    """

    first: Pattern
    second: Pattern
    because: str
    moves: tuple[str, ...] = ()
    how: How = "each"
    way: Literal["there", "back"] = "there"
    given: Pattern | None = None
    unless: Pattern | None = None
    is_alike: bool = False

    def __str__(self) -> str:
        behind = "" if self.way == "there" else ", on the way back"
        in_moves = f" in {', '.join(self.moves)}" if self.moves else ""
        how = "" if self.how == "each" else f" ({self.how})"
        return f"{' '.join(self.first)} before {' '.join(self.second)}{how}{in_moves}{behind}"


def _looks(first: Pattern, second: Pattern, because: str, *moves: str) -> Pair:
    return Pair(first, second, because, moves, "a look")


def _behind(first: Pattern, second: Pattern, because: str, *moves: str, given: Pattern | None = None) -> Pair:
    return Pair(first, second, because, moves, "one behind", given=given)


def _pair(first: Pattern, second: Pattern, because: str, *moves: str) -> Pair:
    return Pair(first, second, because, moves)


def _back(first: Pattern, second: Pattern, because: str, *moves: str) -> Pair:
    return Pair(first, second, because, moves, "each", "back")


PAIRS: tuple[Pair, ...] = (
    # Applications leave.
    _looks(RULES_LEFT, DENY_WRITING, "what was denied before is not the run's, and stays when its own goes"),
    _looks(RULES_LEFT, DENY_READING, "what was denied before is not the run's, and stays when its own goes"),
    _looks(RULES_ENTERED, KEEP_OFF, "what was denied before is not the run's, and stays when its own goes", *_FENCED),
    _looks(RULES_ENTERED, LIFT_READING, "taken back, the rules come back that were there", *_FENCED),
    _looks(RULES_ENTERED, LIFT_WRITING, "taken back, the rules come back that were there", *_FENCED),
    _looks(RULES_LEFT, STOP_PRODUCER, "nothing is stopped at a cluster whose rules cannot be read: it could not be fenced", *_PLANNED),
    _looks(RULES_LEFT, STOP_GROUP, "nothing is stopped at a cluster whose rules cannot be read: it could not be fenced", *_PLANNED),
    _looks(RULES_LEFT, STOP_QUERY, "nothing is stopped at a cluster whose rules cannot be read: it could not be fenced", *_PLANNED),
    _pair(STOP_PRODUCER, DENY_WRITING, "what a producer has sent is answered before it is refused"),
    _pair(STOP_GROUP, DENY_READING, "a group that stops cleanly commits what it has processed, and needs its right for it"),
    _pair(STOP_QUERY, DENY_READING, "a query ends its batch cleanly"),
    _pair(KEEP_OFF, DENY_WRITING, "producers that move themselves turn up at the other side as soon as this one refuses them", *_FENCED),
    _pair(DENY_WRITING, STANDS_STILL, "that logs stand still proves something only once nobody may write them"),
    _pair(STOP_PRODUCER, STANDS_STILL, "logs of producers that run do not stand still", *_FENCED),
    Pair(EARLY, DENY_WRITING, "what producers that move themselves write early is counted from before they are refused", ("leaving",), "a look", given=EARLY, unless=KEEP_OFF),
    _pair(STOP_GROUP, LEFT_POSITIONS, "a position counts once its group has committed for the last time"),
    _pair(STOP_GROUP, GROUP_EMPTY, "that a group is empty is seen of one that was stopped"),
    _pair(DENY_READING, LEFT_POSITIONS, "where a group cannot be seen to be empty, only the denial makes its position the last one", "leaving"),
    # The mirror drains and stops.
    _pair(DENY_WRITING, STOP_MIRROR, "what is still acknowledged at the old side would not be copied any more"),
    _looks(STANDS_STILL, STOP_MIRROR, "what is still acknowledged at the old side would not be copied any more", *_FENCED),
    _looks(STANDS_STILL, MIRROR_READ, "whether the mirror has everything is known once the logs stand still", "leaving", "switchover"),
    _looks(MIRROR_READ, STOP_MIRROR, "the mirror has copied everything, or all that can be read", *_FENCED),
    _looks(MIRROR_READ, LEFT, "how the logs stood is known when no more of them is copied", "leaving"),
    _looks(STANDS_STILL, LEFT, "only standing logs have an end that can be recorded", *_FENCED),
    _looks(STANDS_STILL, PAUSE_MIRROR, "the mirror home to standby is needed until nobody works at the standby", "failback"),
    _looks(COPIES, STOP_MIRROR, "records in flight land before the mirror stops: what is cut off is copied twice", "failover", "leaving"),
    _looks(MIRROR_READ, COPIES, "nothing more comes that has to land", "leaving"),
    _looks(MIRROR_READ, STARTS, "what is written at the target early is counted behind the drain", "leaving", "switchover"),
    _behind(STOP_MIRROR, MIRROR_READ, "the end of the mirror is what it had read when it stopped"),
    _behind(STOP_MIRROR, COPIES, "the end of the copies is where the mirror has stopped"),
    _behind(STOP_MIRROR, SYNCS, "offset syncs are read to their end once no more of them come", given=COMMIT),
    _behind(STOP_MIRROR, STANDS_STILL, "what is lost is counted from where the mirror has stopped", "leaving"),
    _pair(STOP_MIRROR, STOP_SYNC, "Connect answers nothing while it waits for a task of the group sync, which asks a lost source in vain"),
    _looks(COPIES, STOP_SYNC, "Connect answers nothing while it waits for a task of the group sync, which asks a lost source in vain"),
    # Positions.
    _looks(SYNCS, COMMIT, "positions are translated by the whole map"),
    _looks(COPIES, COMMIT, "a position beyond the map is where the copies end"),
    _looks(LANDING, COMMIT, "a group gets explicit positions in the landing topics as well: where they ended"),
    _looks(OLD_POSITIONS, COMMIT, "what stood there is what comes back when the run is taken back"),
    _looks(LEFT_POSITIONS, COMMIT, "the position that counts is the one that the group left", *_FENCED),
    _pair(STOP_MIRROR, COMMIT, "positions are translated by a map that has come to its end"),
    _pair(STOP_MIRROR, OLD_POSITIONS, "what stood there is looked at when copies come no more"),
    _pair(STARTS, COMMIT, "a group gets explicit positions in the landing topics as well: where they ended", "failover", "leaving", "switchover"),
    _pair(PAUSE_MIRROR, COMMIT, "a position goes back through both maps, and both have come to their end", "failback"),
    _looks(OWN_COPIES, COMMIT, "a position goes back through both maps, and both have come to their end", "failback"),
    _pair(PAUSE_MIRROR, RELOCATE, "a checkpoint goes back through both maps, and both have come to their end", "failback"),
    _pair(STOP_QUERY, COPY, "a checkpoint is copied once no more batches come"),
    Pair(COPY, RELOCATE, "the last batch is in the copy", is_alike=True),
    _pair(STOP_MIRROR, RELOCATE, "a checkpoint is translated by a map that has come to its end"),
    _looks(COPIES, RELOCATE, "a checkpoint is translated by a map that has come to its end"),
    _looks(LANDING, RELOCATE, "a checkpoint names the landing topics as well: from where they ended"),
    # Another side is primary.
    _looks(GUARDS, PRIMARY, "no broker of the lost side may be on its way to open", "failover", "leaving"),
    _pair(STARTS, PRIMARY, "the way back begins where the landing topics ended: known before anybody may write there"),
    _pair(LEFT, PRIMARY, "a failback is held against how the logs stood"),
    _pair(STANDS_STILL, PRIMARY, "what is lost is known before anything of it is for good", *_FENCED),
    _pair(DENY_WRITING, PRIMARY, "two sides must not take writes", *_FENCED),
    _pair(DENY_READING, PRIMARY, "a group must not commit at two sides", *_FENCED),
    _pair(DENIED, PRIMARY, "guards open the side that was left only behind rules that are recorded", *_PLANNED),
    _pair(COMMIT, PRIMARY, "behind the point of no return nothing may fail for want of preparation", *_FENCED),
    _pair(RELOCATE, PRIMARY, "behind the point of no return nothing may fail for want of preparation", *_FENCED),
    _pair(STOP_SYNC, PRIMARY, "the group sync must not move a group that has come over", "switchover"),
    _pair(COMMIT, LIFT_READING, "nobody reads before every group has its position", *_PLANNED),
    _pair(COMMIT, LIFT_WRITING, "nobody writes before every group has its position", *_PLANNED),
    _pair(RELOCATE, LIFT_READING, "nobody reads before every query has its checkpoint", *_PLANNED),
    _pair(LEFT, LIFT_WRITING, "a side takes writes only once it is recorded how the other one was left", *_PLANNED),
    _pair(STOP_SYNC, LIFT_READING, "the group sync must not move a group that has come over", "switchover"),
    _pair(DENY_READING, LIFT_READING, "a group must not commit at two sides", *_PLANNED),
    _pair(DENY_WRITING, LIFT_WRITING, "two sides must not take writes", *_PLANNED),
    _pair(LIFT_READING, PRIMARY, "what was denied there is lifted while all of it can still be taken back", *_PLANNED),
    _pair(LIFT_WRITING, PRIMARY, "what was denied there is lifted while all of it can still be taken back", *_PLANNED),
    _pair(PRIMARY, LET_IN, "producers that move themselves write at once, and nothing takes that back", *_FENCED),
    _pair(PRIMARY, START_PRODUCER, "whoever asks who is primary must not be told the old side while the new one takes writes", *_MOVES),
    _pair(PRIMARY, START_GROUP, "whoever asks who is primary must not be told the old side while groups work at the new one", *_MOVES),
    _pair(PRIMARY, START_QUERY, "whoever asks who is primary must not be told the old side while queries work at the new one", *_MOVES),
    # Applications come.
    _pair(COMMIT, START_GROUP, "a group without a position begins where its auto.offset.reset says, and skips"),
    _pair(RELOCATE, START_QUERY, "a query without its checkpoint begins anew"),
    _pair(STARTS, START_PRODUCER, "the way back begins where the landing topics ended before the first write"),
    _pair(LEFT, START_PRODUCER, "a failback is held against how the logs stood"),
    _pair(DENY_WRITING, START_PRODUCER, "two sides must not take writes", *_FENCED),
    _pair(DENY_READING, START_GROUP, "a group must not commit at two sides", *_FENCED),
    _pair(LIFT_WRITING, START_PRODUCER, "a producer that is refused may give up", *_PLANNED),
    _pair(LIFT_READING, START_GROUP, "a group that is refused may give up", *_PLANNED),
    _pair(LET_IN, WRITERS, "who may not write yet is not seen writing", *_FENCED),
    _pair(START_PRODUCER, WRITERS, "who was not started yet is not seen writing"),
    _pair(START_GROUP, AT_WORK, "who was not started yet is not seen at work"),
    _pair(PRIMARY, WRITERS, "of who moves itself the next record counts, once its cluster is primary", *_MOVES),
    # The side that was lost comes back.
    _looks(RULES_ENTERED, HOLD, "what was denied before is not the run's", "failback"),
    _pair(HOLD, STOP_RETURNED, "who is stopped must not come up again and write", "failback"),
    _pair(HOLD, RETURNED_STANDS, "that logs stand still proves something only once nobody may write them", "failback"),
    _pair(STOP_RETURNED, RETURNED_STANDS, "what came up by itself has written its last", "failback"),
    _pair(RETURNED_STANDS, SET_MIRROR, "the mirror is set to a log that stands still", "failback"),
    _pair(RETURNED_STANDS, CUT, "whether a log was cut is seen when nobody writes it", "failback"),
    _pair(CUT, SET_MIRROR, "a mirror that is set past a cut needs the cut in its map", "failback"),
    _pair(RETURNED_STANDS, START_MIRROR, "a mirror that goes on at a cut log copies everything again, or skips", "failback"),
    _pair(SET_MIRROR, START_MIRROR, "Connect takes offsets of stopped connectors only", "failback"),
    _pair(RETURNED_STANDS, MAKE_TOPIC, "nothing is made at a side that is not known to stand still", "failback"),
    _pair(MAKE_TOPIC, MAKE_REVERSE, "a mirror makes topics that it does not find, with settings of its own", "failback"),
    _pair(ALLOW, MAKE_REVERSE, "a mirror without its rights fails, and its task is gone", "failback"),
    _pair(MAKE_REVERSE, SET_REVERSE, "offsets are set at a connector that is there, and stopped", "failback"),
    _pair(MAKE_REVERSE, STARTS_SET, "what is recorded as set is set at a connector that is there", "failback"),
    _pair(SET_REVERSE, START_REVERSE, "records must not come back twice", "failback"),
    _pair(STARTS_SET, START_REVERSE, "where it begins is recorded before it runs: afterwards nobody could tell", "failback"),
    _pair(START_REVERSE, STOP_PRODUCER, "applications work on while the returned side catches up", "failback"),
    _looks(START_MIRROR, STOP_PRODUCER, "applications work on until the late tail has arrived", "failback"),
    _looks(MIRROR_READ, STOP_PRODUCER, "applications work on while the returned side catches up", "failback"),
    _looks(OTHER_READ, STOP_PRODUCER, "applications work on until the late tail has arrived", "failback"),
    _looks(MIRROR_READ, STOP_GROUP, "applications work on while the returned side catches up", "failback"),
    _looks(OTHER_READ, STOP_GROUP, "applications work on until the late tail has arrived", "failback"),
    _pair(START_REVERSE, STOP_GROUP, "applications work on while the returned side catches up", "failback"),
    _behind(PAUSE_MIRROR, OTHER_READ, "the end of a mirror is what it had read when it stopped", "failback"),
    _behind(PAUSE_MIRROR, OWN_COPIES, "the end of the copies is where the mirror has stopped", "failback"),
    _pair(STOP_MIRROR, CLOSE_MAP, "the map of the way back is closed where its mirror has ended", "failback"),
    _pair(CLOSE_MAP, LIFT_WRITING, "the next way back needs the pair where this one ended, and before anybody writes behind it", "failback"),
    _pair(CLOSE_MAP, PRIMARY, "the next way back needs the pair where this one ended", "failback"),
    _pair(PAUSE_MIRROR, LIFT_WRITING, "what is written at home from now on belongs behind the end of the map", "failback"),
    _pair(COMMIT, START_SYNC, "the group sync must not move a group that has no position yet", "failback"),
    _pair(LIFT_WRITING, START_SYNC, "the mirror goes on once home takes writes again", "failback"),
    _pair(LIFT_READING, START_SYNC, "the mirror goes on once home takes commits again", "failback"),
    _pair(PRIMARY, OPEN_STANDBY, "the standby lets in only once it is not primary any more", "failback"),
    _pair(START_PRODUCER, OPEN_STANDBY, "the standby lets in once its producers work elsewhere", "failback"),
    _pair(START_GROUP, OPEN_STANDBY, "the standby lets in once its groups work elsewhere", "failback"),
    _pair(START_QUERY, OPEN_STANDBY, "the standby lets in once its queries work elsewhere", "failback"),
    Pair(WRITERS, OPEN_STANDBY, "who moves itself may come back to the standby until it is seen to write at home", ("failback",), given=LET_IN),
    _pair(LET_IN, OPEN_STANDBY, "who moves itself would come back to the standby at once", "failback"),
    # Everything.
    _pair(PRE, _REST, "the file's own playbook comes before everything"),
    _pair(_REST, POST, "the file's own playbook follows on everything"),
    _looks(RULES_LEFT, OPEN_STANDBY, "taken back, the rules come back that were there", "unfence"),
    # Taken back: the last first.
    _back(("record fact", ".*", "withdrawn: primary"), COMMIT, "while a side is recorded as primary its groups keep their positions", *_FENCED),
    _back(("record fact", ".*", "withdrawn: primary"), OPEN_STANDBY, "the old side takes writes only once it is primary again", *_FENCED),
    _back(("record fact", ".*", "withdrawn: primary"), HOLD, "what was denied comes back once it is not primary any more", "failback"),
    _back(("record fact", ".*", "withdrawn: primary"), ("start client", "{left}", ".*"), "nobody works where another side is recorded as primary", *_FENCED),
    _back(HOLD, COMMIT, "positions are put back where nobody may read any more", "failback"),
    _back(COMMIT, ("start connector", ".*", "{left}-to-{entered}-source"), "the mirror goes on once the positions are as before"),
    _back(COMMIT, ("lift denial", "{left}", ".* WRITE .*"), "the old side takes writes once nothing of the new side's is left", *_FENCED),
    _back(("put checkpoint back", ".*", ".*"), ("start connector", ".*", "{left}-to-{entered}-source"), "the mirror goes on once the checkpoint is as before"),
    _back(("put checkpoint back", ".*", ".*"), ("start client", "{left}", "spark .*"), "a query goes on once nothing of its second self is left"),
    _back(("start connector", ".*", "{left}-to-{entered}-source"), ("lift denial", "{left}", ".* WRITE .*"), "what is written again is copied again", *_FENCED),
    _back(("start connector", ".*", "{left}-to-{entered}-source"), ("start client", "{left}", "producer .*"), "what is written again is copied again", *_FENCED),
    _back(("start connector", ".*", "{left}-to-{entered}-checkpoint"), ("start client", "{left}", "producer .*"), "positions are kept again as soon as groups work again", *_FENCED),
    _back(("lift denial", "{left}", ".* WRITE .*"), ("start client", "{left}", "producer .*"), "a producer that is refused may give up", *_FENCED),
    _back(("lift denial", "{left}", ".* READ .*"), ("start client", "{left}", "consumer .*"), "a group that is refused may give up", *_FENCED),
    _back(("lift denial", "{left}", ".* WRITE .*"), LET_IN, "who moves itself must not be let in at both sides: the old one first", "leaving", "switchover"),
)  # fmt: skip
"""The table."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A pair in one run: whether it was there at all, and which steps are the wrong way round."""

    pair: Pair
    is_there: bool
    wrong: tuple[tuple[str, str], ...] = ()


def judge(run: PlayedRun, graph: nx.DiGraph | None = None) -> Iterator[Judged]:
    """Each pair, held against the order of a run's plan, or another order of its steps."""
    order = run.plan.graph() if graph is None else graph
    before = {step: nx.ancestors(order, step) for step in order}
    names, move = _names(run), move_of(run)
    ways = {"there": _Doings(run.there, names), "back": _Doings(run.back, names)}
    for pair in PAIRS:
        if pair.moves and move not in pair.moves:
            continue
        if pair.how == "one behind" and not run.has_ended_well:
            continue
        doings = ways[pair.way]
        if pair.given is not None and not doings.of(pair.given):
            continue
        if pair.unless is not None and doings.of(pair.unless):
            continue
        first, second = doings.of(pair.first), doings.of(pair.second)
        values = sorted({*first.values(), *second.values()}) if pair.is_alike else [None]
        rows = [(_with(first, value), _with(second, value)) for value in values]
        if pair.way == "back":
            rows = [(b, a) for a, b in rows]
        wrong = tuple(found for a, b in rows for found in _wrong(pair.how, a, b, before))
        yield Judged(pair, any(a and b and a != b for a, b in rows), wrong)


def move_of(run: PlayedRun) -> str:
    """The verb, of a failover whether the source was lost or is left."""
    return "leaving" if run.plan.request.get("sick") else run.plan.verb


def _wrong(
    how: How, first: frozenset[str], second: frozenset[str], before: dict[str, set[str]]
) -> Iterator[tuple[str, str]]:
    if not first or not second:
        return
    if how == "each":
        yield from (
            (a, b) for a in sorted(first - second) for b in sorted(second - first) if a not in before[b]
        )
    elif how == "a look":
        yield from ((", ".join(sorted(first)), b) for b in sorted(second) if not first & before[b])
    else:
        yield from (
            (a, ", ".join(sorted(second)))
            for a in sorted(first)
            if not any(a in before[b] for b in second if b != a)
        )


class _Doings:
    """What the steps of a run do and see, by verb, so that a pattern is held against few of them."""

    def __init__(self, steps: Mapping[str, set[tuple[str, str, str]]], names: Names) -> None:
        self._names = names
        self._by_verb: dict[str, list[tuple[str, str, str]]] = {}
        for step, said in steps.items():
            for verb, where, value in sorted(said):
                self._by_verb.setdefault(verb, []).append((step, where, value))
        self._found: dict[Pattern, dict[str, str]] = {}

    def of(self, pattern: Pattern) -> dict[str, str]:
        """Steps that do or see such a thing, each with a value of it."""
        if pattern not in self._found:
            verb, place, value = _forms(pattern, self._names)
            self._found[pattern] = {
                step: said
                for known, rows in self._by_verb.items()
                if verb.fullmatch(known)
                for step, where, said in rows
                if place.fullmatch(where) and value.fullmatch(said)
            }
        return self._found[pattern]


def _with(found: dict[str, str], value: str | None) -> frozenset[str]:
    return frozenset(step for step, known in found.items() if value in (None, known))


@cache
def _forms(pattern: Pattern, names: Names) -> tuple[re.Pattern[str], ...]:
    made = []
    for part in pattern:
        text = part
        for name, known in names:
            text = text.replace(f"{{{name}}}", known)
        made.append(re.compile(text, re.DOTALL))
    return tuple(made)


def _names(run: PlayedRun) -> Names:
    self_redirecting = [p for p in run.topology.producers if p.moved_by == "itself"]
    by_itself, early = (
        {p.principal for p in self_redirecting},
        {topic for p in self_redirecting for topic in p.topics},
    )
    others = {p.principal for p in run.topology.producers} - by_itself
    return (
        ("left", run.plan.source),
        ("entered", run.plan.target or "nowhere"),
        ("early", ", ".join(sorted(early)) or "nothing"),
        ("itself", f"({'|'.join(sorted(map(str, by_itself))) or 'nobody'})"),
        ("moved", f"({'|'.join(sorted(map(str, others))) or 'nobody'})"),
    )
