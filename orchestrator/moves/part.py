"""A part of what could move: which applications and topics were meant, and what has to come along. Pure.

A topic moves with all that write and read it, for its new records are written elsewhere from then on. A
consumer alone reads copies at the other place: its topics, and the mirror that brings them, stay as they are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from orchestrator.errors import GateRefusedError, UsageError
from orchestrator.moves.fence import Fenced, fenced, self_redirecting_rules
from orchestrator.moves.patterns_read import refuse_narrow
from orchestrator.moves.request import PartRequest
from orchestrator.moves.routed import routes_of
from orchestrator.moves.way import Item, Way
from orchestrator.topology.model import Consumer, Producer, Topology
from orchestrator.topology.standby import READ
from orchestrator.wording import listed


def part_of(way: Way, asked: PartRequest) -> Way:
    """A way, of which only a part is gone where somebody asked for that.

    Raises `UsageError` for a name that is nothing of this way, and `GateRefusedError` for what would tear a
    topic or an application: it names what has to come along.
    """
    if asked.is_of_all:
        return way
    _refuse_unknown(way, asked)
    topics, items = _chosen(way, asked)
    if not items:
        raise UsageError("--except", f"nothing is left that would go from {way.left} to {way.entered}")
    _refuse_torn(way, topics, items)
    names = {item.name for item in items}
    readers = [c for c in _consumers(way) if c.name not in names and _reads(way.topology, c, topics)]
    part = replace(way, items=items, topics=topics, is_part=True, left_out=tuple(c.name for c in readers))
    if not topics:
        return _alone(part)
    part = _denying(replace(part, written_early=tuple(t for t in way.written_early if t in topics)))
    if topics == way.topics or way.reach != "whole" or way.left.cluster != way.home:
        return refuse_narrow(part)
    _refuse_blind(part)
    # The mirror goes on with the others, so positions are led by its map as it is then.
    return refuse_narrow(replace(part, items=_led(part), drains=(), passes=way.drains))


def _refuse_unknown(way: Way, asked: PartRequest) -> None:
    applications = list(dict.fromkeys(item.name for item in way.items))
    for option, names, known in (
        ("--applications", asked.applications, applications),
        ("--topics", asked.topics, way.topics),
        ("--except", asked.left_out, (*applications, *way.topics)),
    ):
        for name in names:
            if name not in known:
                raise UsageError(
                    f"{option} {name}",
                    f"is nothing that goes from {way.left} to {way.entered}",
                    f"known: {', '.join(known) or 'none'}",
                )


def _chosen(way: Way, asked: PartRequest) -> tuple[tuple[str, ...], tuple[Item, ...]]:
    """Topics and applications, in file order."""
    topology, home = way.topology, way.home
    if asked.applications or asked.topics:
        topics: Collection[str] = asked.topics
        names = {*asked.applications, *users_of(topology, home, topics)}
    else:
        topics, names = way.topics, {item.name for item in way.items}
    staying = {name for name in way.topics if name in asked.left_out}
    names -= {*asked.left_out, *users_of(topology, home, staying)}
    kept = tuple(name for name in way.topics if name in topics and name not in staying)
    return kept, tuple(item for item in way.items if item.name in names)


def users_of(topology: Topology, home: str, topics: Collection[str]) -> set[str]:
    """Names of who writes or reads one of some topics at their home."""
    found = {one.name for one in topology.producers_of(home) if not set(topics).isdisjoint(one.topics)}
    return found | {one.name for one in topology.consumers_of(home) if _reads(topology, one, topics)}


def _producers(way: Way) -> Iterable[Producer]:
    return way.topology.producers_of(way.home)


def _consumers(way: Way) -> Iterable[Consumer]:
    return way.topology.consumers_of(way.home)


def _reads(topology: Topology, consumer: Consumer, topics: Collection[str]) -> bool:
    return not set(topics).isdisjoint(topology.topics_read(consumer))


def _refuse_torn(way: Way, topics: tuple[str, ...], items: tuple[Item, ...]) -> None:
    """Raise `GateRefusedError` where a producer would write at both places, or one topic would have two."""
    names = {item.name for item in items}
    for producer in _producers(way):
        written = [name for name in producer.topics if name in topics]
        others = [name for name in producer.topics if name not in topics]
        if producer.name in names and others:
            raise GateRefusedError(
                f"producer {producer.name}",
                f"writes {listed(others)}, which would stay primary at {way.left}",
                f"--topics {','.join((*topics, *others))} moves them with all that write and read them",
            )
        if producer.name not in names and written:
            raise GateRefusedError(
                f"topic {written[0]}",
                f"is written by {producer.name} as well, which would stay at {way.left}",
                f"{producer.name} has to come along, or --except {written[0]} leaves the topic where it is",
            )


def _alone(part: Way) -> Way:
    """Consumers without their topics: along routes, by mirrors that go on."""
    topology, left, entered = part.topology, part.left.cluster, part.entered.cluster
    if part.reach != "whole" and part.feeds:
        raise GateRefusedError(
            f"{listed(item.name for item in part.items)} alone",
            f"cannot leave {left}, which is lost or degraded: the mirror {part.feeds[0]} would have to go on",
            "their topics have to come along: --except may not name them",
        )
    moving = {c.name: c for c in _consumers(part) if c.name in {item.name for item in part.items}}
    for consumer in moving.values():
        if consumer.landing == READ:
            raise GateRefusedError(
                f"consumer {consumer.name}",
                f"has landing: {READ}, so alone at {entered if left == part.home else left} it would read "
                "what others write there, while nothing of its own is written there",
                "move it with its topics: --topics "
                + ",".join(
                    name for name in topology.topics_read(consumer) if topology.topic(name, part.home)
                ),
            )
    alone = replace(_denying(part), drains=(), pauses=(), rejoins=(), is_shared=False, written_early=())
    return refuse_narrow(replace(alone, items=_led(alone)))


def _led(part: Way) -> tuple[Item, ...]:
    """The applications of a part with their positions led along routes."""
    topology, left, entered = part.topology, part.left.cluster, part.entered.cluster
    readers = {c.name: c for c in _consumers(part)}
    return tuple(
        replace(item, routes=routes_of(topology, readers[item.name], left, entered)) if item.routes else item
        for item in part.items
    )


def _refuse_blind(part: Way) -> None:
    """Raise `GateRefusedError` for a consumer elsewhere that reads copies of what moves, and would not see
    what is written at the place entered.
    """
    topology, entered = part.topology, part.entered.cluster
    for consumer in topology.consumers:
        mirror = topology.mirror(part.home, consumer.cluster)
        if mirror is None:
            continue
        read, onward = topology.topics_read(consumer), topology.mirror(entered, consumer.cluster)
        for name in part.topics:
            there = name if consumer.cluster == entered else onward.mirrored_topic(name) if onward else ""
            if mirror.mirrored_topic(name) in read and there not in read:
                raise GateRefusedError(
                    f"consumer {consumer.name}",
                    f"reads {mirror.mirrored_topic(name)} at {consumer.cluster}, and would not see what is "
                    f"written to {name} at {entered} once that has moved",
                    f"let it read {there or name} there as well, or leave {name} where it is",
                )


def _denying(part: Way) -> Way:
    """A part, with whom the place left is denied: those that move, and nobody else."""
    if part.reach != "whole":
        return part  # a place that is gone denies nobody; who writes at a degraded one is for its plan
    who = _who(part)
    return replace(part, who=who, self_redirecting=self_redirecting_rules(part.topology, part.home, who))


def _who(part: Way) -> Fenced:
    """Raises `GateRefusedError` where a rule would keep off who stays."""
    topology, names = part.topology, {item.name for item in part.items}
    moving: dict[str, str] = {}
    staying: dict[str, str] = {}
    applications: tuple[Producer | Consumer, ...] = (*topology.producers, *topology.consumers)
    for one in applications:
        is_moving = one.cluster == part.home and one.name in names
        if one.principal is not None and one.cluster in {part.left.cluster, part.entered.cluster}:
            (moving if is_moving else staying).setdefault(one.principal, one.name)
    for principal in moving.keys() & staying.keys():
        raise GateRefusedError(
            f"{moving[principal]} and {staying[principal]}",
            f"have the same principal {principal}: access rules that keep the one off deny the other",
            f"give each its own principal, or move {staying[principal]} as well",
        )
    return fenced(
        topology, part.left.cluster, principals=sorted(moving), with_consumers=True, homes={part.home}
    )
