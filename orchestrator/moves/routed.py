"""Consumers that go from one place to another along routes: between the two no mirror leads. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from orchestrator.errors import DcctlError, UsageError
from orchestrator.moves.fence import NOBODY, fenced
from orchestrator.moves.participants import Kind, Participants
from orchestrator.moves.patterns_read import refuse_narrow
from orchestrator.moves.way import Item, Leg, Place, Reach, Route, Way
from orchestrator.replication.mirror_ref import MirrorRef, ref_to
from orchestrator.topology.counterparts import Origin, counterpart_of, origin_of
from orchestrator.topology.landing import landings_read
from orchestrator.topology.model import Consumer, Topology
from orchestrator.topology.standby import standby_of
from orchestrator.wording import listed


def routed(
    topology: Topology,
    left: str,
    entered: str,
    home: str,
    them: Participants,
    *,
    reach: Reach = "whole",
    lost: Collection[str] = (),
) -> Way:
    """The consumers of `home` that go from one place to another between which no mirror leads.

    One of the two places is `home`, by the file; the other one is their standby. `lost`: clusters that are
    gone with the place left; mirrors from these into the place entered have come to their ends. Raises
    `UsageError` where none goes there, or one that goes writes, and `DcctlError` where one reads what no two
    mirrors lead there.
    """
    away = entered if left == home else left
    items = tuple(_items(topology, left, entered, home, away, them))
    if not items:
        raise UsageError(
            f"cluster {home}",
            f"the file has no application of {home} that goes to {away}",
            f"`standby: {away}` at the cluster or at an application says who goes there",
        )
    names = {(item.name, item.kind) for item in items}
    moving = [c for c in topology.consumers_of(home) if (c.name, c.kind) in names]
    principals = {c.principal for c in moving if c.principal is not None}
    others = [c for c in topology.consumers_of(home) if c not in moving and c.principal in principals]
    if others and reach != "gone":
        raise UsageError(
            f"consumer {others[0].name}",
            f"stays at {home} with the principal {others[0].principal} of a consumer that goes to {away}",
            "give each its own principal: access rules that keep the one off would keep off the other",
        )
    who = NOBODY
    if reach != "gone":
        who = fenced(topology, left, principals=sorted(principals), with_consumers=True, homes={home})
    way = Way(
        topology=topology,
        left=Place(left),
        entered=Place(entered),
        reach=reach,
        items=items,
        home=home,
        pauses=tuple(dict.fromkeys(mirror for mirror in _forward(items) if mirror.source in lost)),
        who=who,
    )
    return refuse_narrow(way)


def _forward(items: Iterable[Item]) -> Iterator[MirrorRef]:
    """The mirrors that bring what is read at the place entered."""
    for item in items:
        for route in item.routes:
            yield from (leg.mirror for leg in route if not leg.is_inverse)


def _items(  # noqa: PLR0917 - where they are, where they go, and where the file has them
    topology: Topology, left: str, entered: str, home: str, away: str, them: Participants
) -> Iterator[Item]:
    for kind in them.kinds:
        if kind.writes:
            _refuse_writers(topology, kind, home, away)
            continue
        names = set(kind.at(topology, home))
        for consumer in topology.consumers_of(home):
            if consumer.name in names and standby_of(topology, consumer) == away:
                routes = routes_of(topology, consumer, left, entered)
                yield Item(name=consumer.name, kind=kind.name, routes=routes)


def _refuse_writers(topology: Topology, kind: Kind, home: str, away: str) -> None:
    names = set(kind.at(topology, home))
    writers = [p for p in topology.producers_of(home) if p.name in names and standby_of(topology, p) == away]
    if writers:
        raise UsageError(
            f"{kind.name} {writers[0].name}",
            f"writes {listed(writers[0].topics)} at {home}, from which no mirror leads to {away}",
            "producers go where a mirror copies what they wrote: give them a standby of their own",
        )


def routes_of(topology: Topology, consumer: Consumer, left: str, entered: str) -> tuple[Route, ...]:
    """How a consumer's positions go from one place to the other, one route for each origin that it reads.

    Raises `DcctlError` naming a topic that no two mirrors lead there.
    """
    found: dict[Route, None] = {}
    for name in _copied(topology, consumer):
        origin = origin_of(topology, name, consumer.cluster)
        there = None if origin is None else _at(topology, origin, left)
        counterpart = None if there is None else counterpart_of(topology, there, left, entered)
        if counterpart is None:
            raise DcctlError(
                f"consumer {consumer.name}",
                f"reads {name} at {consumer.cluster}, which no mirror copies so that it could be read at "
                f"{left if there is None else entered}",
                "add a mirror of it, or `standby` at another cluster",
            )
        legs = []
        if counterpart.back is not None:
            legs.append(Leg(mirror=ref_to(counterpart.back), is_inverse=True))
        if counterpart.forward is not None:
            legs.append(Leg(mirror=ref_to(counterpart.forward)))
        found[tuple(legs)] = None
    return tuple(found)


def _copied(topology: Topology, consumer: Consumer) -> Iterator[str]:
    """What a consumer reads, but for what producers of others write where it works: no mirror copies that."""
    landing = landings_read(topology, consumer)
    yield from (name for name in topology.topics_read(consumer) if name not in landing)


def _at(topology: Topology, origin: Origin, cluster: str) -> str | None:
    """What the topic of an origin is called at a cluster; None where it is not there."""
    here = counterpart_of(topology, origin.topic, origin.cluster, cluster)
    return None if here is None else here.entered
