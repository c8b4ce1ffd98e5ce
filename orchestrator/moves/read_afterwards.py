"""Which topics a consumer reads at the place entered, and where it begins in each. Pure, from the way.

What is said here before a move is what the kinds' steps write in it: translated positions, and a place of its
own for every landing topic.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from orchestrator.moves.foretold import Foretold
from orchestrator.moves.routes import read_along
from orchestrator.moves.situation import Situation
from orchestrator.moves.way import Leg, Route, Way
from orchestrator.replication.mirror_ref import MirrorRef
from orchestrator.runs.afterwards import Begins
from orchestrator.topology.landing import landings_read
from orchestrator.topology.model import Consumer
from orchestrator.topology.standby import READ


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """One topic at the place entered. `left`: what of the place left it goes on in there; empty for none.

    `name`: as it is called where it is produced, at the cluster `origin`.
    """

    topic: str
    begins: Begins
    name: str
    origin: str
    partitions: int
    left: str = ""
    route: Route = ()


def names_of_its_own(way: Way, consumer: Consumer) -> dict[str, str]:
    """What a consumer reads at home, entered again, beside what is led there: each with its producers' name.

    Landing topics of those who come there, and what failbacks have brought. It goes on where it was.
    """
    topology, home, away = way.topology, consumer.cluster, way.left.cluster
    if home != way.entered.cluster:
        return {}
    found = {name: name for name in landings_read(topology, consumer)}
    if topology.mirror(home, away) is not None and topology.mirror(away, home) is None:
        back = MirrorRef(source=away, target=home, is_back=True).of(topology)
        read = topology.topics_read(consumer)
        found |= {back.mirrored_topic(name): name for name in back.topics if name in read}
    return found


def in_short(route: Route) -> str:
    """`inverse of west→A, then west→B`; `same log`."""
    legs = (
        f"{'inverse of ' if leg.is_inverse else ''}{leg.mirror.source}→{leg.mirror.target}" for leg in route
    )
    return ", then ".join(legs) or "same log"


def topics_read(s: Situation, consumer: Consumer, known: Foretold) -> tuple[Read, ...]:
    """What a consumer reads at the place entered, each topic once."""
    if s.way.stays(consumer.name):
        found = _in_place(s, consumer)
    elif s.way.feed(consumer.name) is None:
        found = _along(s, consumer, known)
    elif s.case == "back":
        found = _home(s, consumer)
    else:
        found = _fed(s, consumer, known)
    once = {read.topic: read for read in reversed(tuple(found))}
    return tuple(reversed(once.values()))


def _in_place(s: Situation, consumer: Consumer) -> Iterator[Read]:
    for name in s.topology.topics_read(consumer):
        yield _read(s, name, "same-log", name, s.left, left=name)


def _fed(s: Situation, consumer: Consumer, known: Foretold) -> Iterator[Read]:
    """Along the mirror that feeds the place entered: its copies, and what producers write there anew."""
    feed = s.feed
    for name in _named(s, consumer, s.mirror.topics):
        copy = s.mirror.mirrored_topic(name)
        yield _read(s, copy, "translated", name, feed.home, left=name, route=(Leg(mirror=feed),))
    if s.mirror.keeps_names or consumer.landing not in {None, READ}:
        return
    for name in _named(s, consumer, s.mirror.topics):
        yield _landing(s, name, known, feed, "fenced-end")


def _home(s: Situation, consumer: Consumer) -> Iterator[Read]:
    """Back by the mirror that was made for it, and against the file's own."""
    back, ahead = s.feed, s.feed.other_way
    mirror, forward = s.mirror, ahead.of(s.topology)
    for name in _named(s, consumer, forward.topics):
        copy, legs = forward.mirrored_topic(name), (Leg(mirror=ahead, is_inverse=True),)
        yield _read(s, name, "translated", name, ahead.home, left=copy, route=legs)
    for name in _named(s, consumer, forward.topics):
        copy, legs = mirror.mirrored_topic(name), (Leg(mirror=back),)
        yield _read(s, copy, "translated", name, ahead.home, left=name, route=legs)


def _along(s: Situation, consumer: Consumer, known: Foretold) -> Iterator[Read]:
    """Along routes, and in topics that others write at the place entered, or may write there one day."""
    routes = s.way.routes(consumer.name)
    covered = set()
    feeds = []
    for route, led in read_along(s.topology, consumer, routes, s.left, s.entered):
        covered.add(led.entered)
        if len(route) == 1 and not route[0].is_inverse and not route[0].mirror.is_back:
            feeds.append(route[0].mirror)
        yield _read(s, led.entered, "translated", led.home, led.origin, left=led.left, route=route)
    names = s.topology.topics_read(consumer)
    if consumer.landing is not None:
        if consumer.landing == READ and consumer.cluster == s.left:
            for name in (name for name in names if name in s.way.topics):
                yield _read(s, name, "fenced-end", name, _written_at(s, name))
        return
    there, own = s.target.topics.value or {}, names_of_its_own(s.way, consumer)
    for name in dict.fromkeys((*names, *own)):
        if name in covered or name not in there:
            continue
        if name in own:
            yield _read(s, name, "own-position", own[name], _written_at(s, own[name]))
        elif feeds:
            yield _landing(s, name, known, feeds[0], "log-start")
        else:
            yield _read(s, name, "log-start", name, _written_at(s, name))


def _landing(s: Situation, name: str, known: Foretold, feed: MirrorRef, begins: Begins) -> Read:
    """A landing topic. What a failback has brought from it to where the consumer was is not read twice."""
    if s.topology.mirror(feed.target, feed.source) is None:
        back = feed.other_way
        copy = back.of(s.topology).mirrored_topic(name)
        if any(tp.topic == copy for tp in known.committed or ()):
            legs = (Leg(mirror=back, is_inverse=True),)
            return _read(s, name, "translated", name, _written_at(s, name), left=copy, route=legs)
        begins = "log-start" if _has_come_back(s, name) else begins
    return _read(s, name, begins, name, _written_at(s, name))


def _has_come_back(s: Situation, name: str) -> bool:
    """Whether a topic was ever primary at the place entered, and brought home, as far as that is known."""
    state = s.seen.coordination.value
    return (
        state is not None
        and (s.way.home, name) in state.primaries
        and any(
            run.verb == "failback" and run.has_effect and (run.source, run.target) == (s.entered, s.left)
            for run in state.runs
        )
    )


def _read(
    s: Situation, topic: str, begins: Begins, name: str, origin: str, *, left: str = "", route: Route = ()
) -> Read:
    known = s.topology.topic(name, origin) or s.topology.topic(name, s.way.home)
    partitions = 0 if known is None else known.partitions
    return Read(
        topic=topic,
        begins=begins,
        name=name,
        origin=origin,
        partitions=partitions,
        left=left,
        route=route,
    )


def _written_at(s: Situation, name: str) -> str:
    """The cluster whose own topic a landing topic is; the home of who comes with it, where it is nobody's."""
    return s.entered if s.topology.topic(name, s.entered) is not None else s.way.home


def _named(s: Situation, consumer: Consumer, topics: Collection[str]) -> Iterator[str]:
    read = set(s.topology.topics_read(consumer))
    return (name for name in topics if name in read)
