"""The gate on parts of a site: who moves is there, who does not has what it reads where it works."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from orchestrator.moves.part import users_of
from orchestrator.moves.routes import moving_consumers
from orchestrator.moves.situation import Situation
from orchestrator.moves.staying import topics_left_behind
from orchestrator.runs.coordination_state import Away, CoordinationState, away
from orchestrator.runs.gate import absent, as_far_as_known, gate_result
from orchestrator.runs.plan import GateResult
from orchestrator.wording import listed, plural


def where_they_are(s: Situation) -> Away:
    """Which applications of the file's cluster work at the other one of the two."""
    part = s.seen.coordination
    return away(part.value.runs if part.value else (), s.way.home, s.away)


def is_in_parts(s: Situation) -> bool:
    """Whether this move, or what those before have left, is of a part; or might bring home who is there."""
    is_home_along_routes = s.way.main is None and s.entered == s.way.home
    return s.way.is_part or is_home_along_routes or s.once(where_they_are).is_in_parts


def taken_by(s: Situation) -> str:
    """The newest run by which all that moves works at the place entered; empty where some of it does not."""
    known, part = s.once(where_they_are), s.seen.coordination
    names = {item.name for item in s.way.items}
    by = [known.by(name) for name in names]
    between = (s.left, s.entered)
    runs = [
        run
        for run in (part.value.runs if part.value else ())
        if run.home == s.way.home and run.has_moved_between(between)
    ]
    if known.unnamed or not runs or runs[-1].outcome != "ok":
        return ""
    if s.entered != s.way.home:
        order = [run.run_id for run in runs]
        return max(by, key=order.index) if all(by) else ""
    home = (r for r in reversed(runs) if r.target == s.entered and (r.part is None or names <= {*r.part}))
    found = next(home, None)
    return "" if any(by) or found is None else found.run_id


def how_to_restore_journal(run_id: str) -> str:
    """What to do about a run of which nobody can tell whom it has moved."""
    return (
        f"dcctl show {run_id} FILE names the journal records that are missing: restore them in ZooKeeper, "
        "only they say which applications the run has moved"
    )


def selection(s: Situation) -> GateResult:
    """No consumer loses sight of records that it would have read, and nobody is at two places."""
    return as_far_as_known(s.seen.coordination, _selection_by_record(s))


def _selection_by_record(s: Situation) -> GateResult:
    part, known = s.seen.coordination, s.once(where_they_are)
    limit = f"who moves works at {s.left}, and who stays reads on where it works"
    if part.value is None:
        return absent("selection", part, limit)
    names = list(dict.fromkeys(item.name for item in s.way.items))
    measured = f"{plural(len(names), 'application')}, {sum(map(bool, map(known.by, names)))} at {s.away}"
    if known.unnamed:
        said = f"which applications run {known.unnamed} has moved cannot be read"
        return gate_result(
            "selection", "unknown", measured, limit, said, how_to_restore_journal(known.unnamed)
        )
    reasons, hint = _not_here(s, known, part.value, names)
    if not reasons:
        reasons, hint = _behind_failover(s, known, part.value, names)
    if not reasons:
        reasons, hint = _uncopied(s)
    if not reasons:
        reasons, hint = _torn(s, known, part.value)
    return gate_result(
        "selection",
        "refused" if reasons else "ok",
        measured,
        limit,
        listed(reasons) or f"{listed(names)} can move, and nobody who stays loses sight of anything",
        hint,
    )


def _not_here(
    s: Situation, known: Away, state: CoordinationState, names: Iterable[str]
) -> tuple[list[str], str]:
    """Who moves, and does not work where it should be moved from."""
    if s.left == s.way.home:
        gone = {name: run for name in names if (run := known.by(name))}
        told = [f"{name} works at {s.entered} already, since run {run}" for name, run in gone.items()]
        topics, others = _as_named(s, state, gone)
        left_out = ",".join((*topics, *others))
        return told, f"--except {left_out} leaves them there" if gone else ""
    staying = [name for name in names if not known.by(name)]
    there = [name for name in names if name not in staying]
    hint = (
        f"{_failback(s, state, there)} brings home who is away"
        if there
        else f"for a planned move: dcctl switchover FILE --from {s.entered} --to {s.left}"
    )
    return [f"{name} works at {s.entered}" for name in staying], hint if staying else ""


def _behind_failover(
    s: Situation, known: Away, state: CoordinationState, names: Collection[str]
) -> tuple[list[str], str]:
    """Who is away, and would stay while a part comes home behind a failover.

    A failover has stopped the mirror, and boot guards keep closed what holds a topic that is primary
    elsewhere: the place left can be compared, opened and copied again only as a whole.
    """
    home, other = s.way.home, s.away
    failovers = {run.run_id for run in state.runs if run.verb == "failover"}
    gone = [name for name in _at_home_by_file(s) if known.by(name)]
    run_id = next((run for name in gone if (run := known.by(name)) in failovers), "")
    staying = [name for name in gone if name not in names]
    if s.left == home or not run_id or not staying or s.topology.mirror(home, other) is None:
        return [], ""
    stood = f"the mirror {home} → {other} has stood since failover {run_id}, and starts again for all at once"
    said = f"{stood}: {listed(staying)} would stay at {other}"
    everybody = len(gone) == len(_at_home_by_file(s))
    return [said], f"{_failback(s, state, () if everybody else gone)} brings home all who are away"


def _uncopied(s: Situation) -> tuple[list[str], str]:
    """What would be written at a sick site while nothing copies it. At a lost one nobody writes."""
    staying = topics_left_behind(s) if s.way.reach == "partial" else ()
    stops = f"the mirror {s.left} → {s.entered} stops for all of its topics"
    said = f"{listed(staying)} would stay at {s.left}, and what is written there would not be copied: {stops}"
    hint = (
        f"leave {s.left} as a whole; or, while it answers, move what has to go: "
        f"dcctl switchover FILE --from {s.left} --to {s.entered} --topics {','.join(s.way.topics)}"
    )
    return ([said], hint) if staying else ([], "")


def _at_home_by_file(s: Situation) -> list[str]:
    names = [one.name for one in s.topology.producers_of(s.way.home)]
    names += [one.name for one in s.topology.consumers_of(s.way.home)]
    return list(dict.fromkeys(names))


def _failback(s: Situation, state: CoordinationState, who: Collection[str]) -> str:
    """The command for some of those who are away; none named: all."""
    topics, others = _as_named(s, state, who) if who else ((), ())
    options = (("--topics", topics), ("--applications", others))
    named = "".join(f" {option} {','.join(names)}" for option, names in options if names)
    return f"dcctl failback FILE --to {s.way.home}{named}"


def _torn(s: Situation, known: Away, state: CoordinationState) -> tuple[list[str], str]:
    """Who would not see records any more that it would have read, and what to bring along."""
    reasons = list(_left_behind(s, known))
    if reasons:
        return reasons, "they have to come along; or leave out the topics as well"
    for consumer in moving_consumers(s.way) if s.way.is_part else ():
        for name in s.topology.topics_read(consumer):
            found = state.primaries.get((s.way.home, name))
            if name in s.way.topics or found is None or found.cluster in {s.way.home, s.entered}:
                continue
            said = (
                f"{consumer.name} reads {name}, which is primary at {found.cluster} since run {found.run_id}"
            )
            return [said], f"move it together with that topic: --topics {name}"
    return [], ""


def _left_behind(s: Situation, known: Away) -> Iterator[str]:
    for name in s.way.left_out:
        if s.left == s.way.home and known.by(name):
            continue  # it is at the place entered already, and reads there what is written from now on
        read = [topic for topic in s.way.topics if topic in _read_by(s, name)]
        yield f"{name} reads {listed(read)}, and would not see what is written to it at {s.entered}"


def _read_by(s: Situation, name: str) -> set[str]:
    consumers = (c for c in s.topology.consumers_of(s.way.home) if c.name == name)
    return {topic for consumer in consumers for topic in s.topology.topics_read(consumer)}


def _as_named(
    s: Situation, state: CoordinationState, gone: Iterable[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Topics that are away, and who is away beside all that write and read these."""
    topics = {
        name
        for name in _own_topics(s)
        if (found := state.primaries.get((s.way.home, name))) and found.cluster == s.away
    }
    users = users_of(s.topology, s.way.home, topics)
    return (
        tuple(name for name in _own_topics(s) if name in topics),
        tuple(name for name in gone if name not in users),
    )


def _own_topics(s: Situation) -> tuple[str, ...]:
    mirror = s.topology.mirror(s.way.home, s.away)
    return s.way.topics if mirror is None else tuple(mirror.topics)
