"""Group ids that the file has at both places of a way: those who stay there are of one group with who comes.

Kafka keeps one position of a group for each partition, and takes positions from others only while the group
has no members. So those who stay pause while positions are written beside theirs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from orchestrator.applications.groups.pausing import (
    PAUSE_S,
    PauseMembers,
    ResumeMembers,
    SeeMembers,
    reads_any,
)
from orchestrator.applications.groups.writing import WriteBack, WriteOffsets
from orchestrator.moves.gates.entered import clients_startable
from orchestrator.moves.results import Pause, WrittenOffsets
from orchestrator.moves.routes import moving_consumers, read_along
from orchestrator.moves.situation import Situation
from orchestrator.moves.way import Way
from orchestrator.runs.effect import Handle
from orchestrator.runs.gate import gate_result
from orchestrator.runs.plan import GateResult
from orchestrator.runs.runbook import Runbook, behind
from orchestrator.topology.model import Consumer
from orchestrator.values import TopicPartition
from orchestrator.wording import listed, plural

_ONLY_EMPTY = "a group takes positions only while it has no members"

Kept = dict[str, tuple[str, ...]]
"""By the name of a consumer that moves: topics in which its group's positions are those of who stays."""


def staying(way: Way) -> dict[str, Consumer]:
    """By the name of each that moves: who has its group id by the file at the place that is not its home."""
    away = way.left if way.entered.cluster == way.home else way.entered
    there = {c.group_id: c for c in way.topology.consumers_of(away.cluster) if c.groups}
    moving = (c for c in moving_consumers(way) if c.groups and c.cluster != away.cluster)
    return {c.name: there[c.group_id] for c in moving if c.group_id in there}


def kept_at(way: Way, cluster: str) -> Kept:
    """What is kept of groups at one of the two places: nothing at home."""
    if cluster == way.home:
        return {}
    return {name: tuple(way.topology.topics_read(one)) for name, one in staying(way).items()}


def groups_apart(s: Situation) -> tuple[GateResult, ...]:
    """One position serves nobody twice, and who stays can be stopped for a moment; for such groups alone."""
    others = staying(s.way)
    if not others:
        return ()
    away = s.left if s.entered == s.way.home else s.entered
    limit = f"positions that a move writes at {away} are nobody else's, and their group can be empty for them"
    measured = f"{plural(len(others), 'group')} at both clusters"
    both = list(_read_by_both(s.way, others))
    if both:
        said = f"one position would serve two consumers at {away}: {listed(both)}"
        hint = "give each a `group` of its own, or let one of them read the topic"
        return (gate_result("groups-apart", "refused", measured, limit, said, hint),)
    if s.entered == s.way.home:
        said = f"{_names(others)} read on at {away}: who leaves gives up positions of its own alone"
        return (gate_result("groups-apart", "ok", measured, limit, said),)
    found = clients_startable(s, [one.program for one in others.values()])
    if found.outcome != "ok":
        said = f"{_names(others)} cannot be stopped for the move: {found.reason}"
        return (replace(found, id="groups-apart", limit=limit, measured=measured, reason=said),)
    said = f"{_names(others)} at {away} pause for about {PAUSE_S:g} s, while positions are written"
    return (gate_result("groups-apart", "ok", measured, limit, said),)


def come_by_themselves(
    way: Way, given: Mapping[str, frozenset[TopicPartition] | None]
) -> tuple[Consumer, ...]:
    """Who moves, shares its group with who stays, and reads its topics at the place entered already.

    `given`: what each group has given its members there; of one that tells none (None) nothing is said.
    """
    others, found = staying(way), []
    for consumer in moving_consumers(way):
        read = given.get(consumer.group_id)
        if consumer.name in others and read is not None:
            own = {*_read_away(way, consumer)} - {*way.topology.topics_read(others[consumer.name])}
            found += [consumer] if reads_any(read, own) else []
    return tuple(found)


def pauses_foretold(s: Situation) -> Mapping[str, object]:
    """For people who read the plan later; nothing where nobody pauses."""
    if s.entered == s.way.home or not (others := staying(s.way)):
        return {}
    rows = [
        {"consumer": one.name, "group": one.group_id, "cluster": s.entered, "expected_s": PAUSE_S}
        for one in others.values()
    ]
    return {"pauses": rows}


def write_beside(  # noqa: PLR0917 - what is written, behind what, and who pauses for it
    book: Runbook,
    way: Way,
    groups: Collection[str],
    mark: str,
    write: WriteOffsets | WriteBack,
    ready: Sequence[Handle[Any]],
    resumed: list[Handle[Pause]],
) -> Handle[WrittenOffsets]:
    """Add the step that writes; around it those stand who stay at the place entered, in these groups.

    `groups`: consumers that move, by their names; `ready`: what is done before anybody has to stand. The step
    with which they go on is added to `resumed`.
    """
    step, entered = way.id(f"write-offsets{mark}"), way.entered
    others = {} if entered.cluster == way.home else staying(way)
    pausing = {one.name: one for name, one in others.items() if name in groups}
    if not pausing:
        return book.add(write, id=step)
    names, programs = tuple(pausing), tuple(one.program for one in pausing.values())
    topics = {name: tuple(way.topology.topics_read(one)) for name, one in pausing.items()}
    called = _names(pausing)
    last = behind(*ready, because="members stand no longer than it takes to write positions")
    seen = book.add(
        SeeMembers(cluster=entered.cluster, topics=topics), id=way.id(f"see-members{mark}"), after=[last]
    )
    pause = PauseMembers(
        cluster=entered.cluster, clients=programs, sites=entered.sites, groups=names, seen=seen
    )
    title = f"Stop {called} at {entered} for a moment: {_ONLY_EMPTY}"
    stand = book.add(pause, id=way.id(f"pause-members{mark}"), title=title)
    written = book.add(write, id=step, after=[behind(stand, because=_ONLY_EMPTY)])
    resume = ResumeMembers(
        cluster=entered.cluster,
        clients=programs,
        sites=entered.sites,
        topics=topics,
        seen=seen,
    )
    title = f"Start {called} at {entered} again"
    done = behind(written, because="positions are written by then")
    resumed.append(book.add(resume, id=way.id(f"resume-members{mark}"), title=title, after=[done]))
    return written


def _read_by_both(way: Way, others: Mapping[str, Consumer]) -> Iterator[str]:
    for consumer in moving_consumers(way):
        other = others.get(consumer.name)
        if other is None:
            continue
        for topic in _read_away(way, consumer):
            if topic in way.topology.topics_read(other):
                yield f"{consumer.name} and {other.name} read {topic} as group {other.group_id}"


def _read_away(way: Way, consumer: Consumer) -> tuple[str, ...]:
    """Topics that a consumer reads of its own at the place that is not its home, as they are called there."""
    is_home, routes = way.entered.cluster == way.home, way.routes(consumer.name)
    led = read_along(way.topology, consumer, routes, way.left.cluster, way.entered.cluster)
    return tuple(dict.fromkeys(one.left if is_home else one.entered for _, one in led))


def _names(others: Mapping[str, Consumer]) -> str:
    return listed(one.called for one in others.values())
