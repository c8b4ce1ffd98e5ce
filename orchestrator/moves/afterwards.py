"""What becomes of each application of a way, said before it moves. Pure: from the picture and predictions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from orchestrator.moves.foretold import Foretold
from orchestrator.moves.participants import Participants
from orchestrator.moves.read_afterwards import Read, topics_read
from orchestrator.moves.situation import Situation
from orchestrator.moves.unread_afterwards import Foreseen, figures_of
from orchestrator.runs.afterwards import Afterwards, TopicWritten
from orchestrator.topology.model import Consumer


def afterwards(s: Situation, them: Participants, foreseen: Foreseen) -> tuple[Afterwards, ...]:
    """Every application that moves, in the order in which they are started."""
    return tuple(_all(s, them, foreseen))


def _all(s: Situation, them: Participants, foreseen: Foreseen) -> Iterator[Afterwards]:
    for kind in them.kinds:
        if kind.writes:
            yield from _producers(s, kind.name)
            continue
        # Kinds of which nobody moves are asked nothing.
        consumers = s.moving(kind.name)
        known = kind.foretold(s) if consumers else {}
        for consumer in consumers:
            told = known.get(consumer.name)
            if told is None:
                why = f"applications of kind {kind.name} do not say where they begin"
                yield Afterwards(name=consumer.name, kind=kind.name, cluster=s.entered, reason=why)
            else:
                yield _consumer(s, kind.name, consumer, told, foreseen)


def _producers(s: Situation, kind: str) -> Iterator[Afterwards]:
    names = set(s.way.named(kind))
    for producer in s.topology.producers_of(s.way.home):
        if producer.name in names:
            written = tuple(_written(s, name) for name in producer.topics)
            yield Afterwards(name=producer.name, kind=kind, cluster=s.entered, writes=written)


def _written(s: Situation, name: str) -> TopicWritten:
    there = s.topology.producers_of(s.entered) if s.entered != s.way.home else ()
    return TopicWritten(topic=name, others=tuple(p.name for p in there if name in p.topics))


def _consumer(s: Situation, kind: str, consumer: Consumer, known: Foretold, foreseen: Foreseen) -> Afterwards:
    reads = topics_read(s, consumer, known)
    newer = _newer(s, reads)
    unknown = ""
    if s.target.topics.value is None:
        unknown = f"which topics there are at {s.entered} is not known"
    return Afterwards(
        name=consumer.name,
        kind=kind,
        cluster=s.entered,
        reads=tuple(figures_of(s, one, known, foreseen, newer.get(one.topic, "")) for one in reads),
        never_in_order=_never_in_order(s, reads),
        reason=unknown,
    )


def _newer(s: Situation, reads: Iterable[Read]) -> dict[str, str]:
    """By topic: where newer records of the same producers stand, of what is read as well."""
    by_topic = {read.topic: read for read in reads}
    found: dict[str, str] = {}
    for read in by_topic.values():
        if read.origin != s.way.home or read.name not in s.way.topics or not read.left:
            continue
        if s.entered != s.way.home:
            found |= {read.topic: read.name} if read.name in by_topic and read.topic != read.name else {}
            continue
        # What they wrote at the place left has come home under another name; they go on in their own topic.
        brought = (one.topic for one in by_topic.values() if one.left == read.name)
        other = next(brought, "")
        if read.topic == read.name and other not in {"", read.topic}:
            found |= {read.topic: other, other: read.topic}
    return found


def _never_in_order(s: Situation, reads: Iterable[Read]) -> tuple[str, ...]:
    """Topics that are produced at several clusters under one name, of what is read."""
    by_name: dict[str, list[Read]] = {}
    for read in reads:
        by_name.setdefault(read.name, []).append(read)
    return tuple(
        read.topic
        for name, alike in by_name.items()
        if len({one.origin for one in alike if s.topology.topic(name, one.origin) is not None}) > 1
        for read in alike
    )
