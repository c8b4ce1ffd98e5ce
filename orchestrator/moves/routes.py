"""What a route leads where: the names that one topic's logs have at both ends, and between them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from orchestrator.errors import DcctlError
from orchestrator.moves.way import Leg, Route, Way
from orchestrator.topology.landing import landings_read
from orchestrator.topology.model import Consumer, Topology
from orchestrator.topology.standby import READ


@dataclass(frozen=True, slots=True, kw_only=True)
class Led:
    """One topic along a route.

    `left` and `entered`: its name at either end. `sources`: for each leg its name at the source of the leg's
    mirror. `home`: its name where it is produced, at the cluster `origin`.
    """

    left: str
    entered: str
    sources: tuple[str, ...]
    home: str
    origin: str
    partitions: int

    def called_at(self, topology: Topology, cluster: str) -> str:
        """Its name at any cluster: that of its copy there, else that where it is produced."""
        mirror = topology.mirror(self.origin, cluster)
        return self.home if mirror is None else mirror.mirrored_topic(self.home)


def in_words(route: Route) -> str:
    """For messages."""
    legs = [f"{'against ' if leg.is_inverse else ''}the mirror {leg.mirror}" for leg in route]
    return ", then ".join(legs) or "the same log"


def is_of_landing(route: Route) -> bool:
    """Whether it leads from what a failback has brought home to the landing topic that it is a copy of."""
    return len(route) == 1 and route[0].is_inverse and route[0].mirror.is_back


def led_along(topology: Topology, route: Route, left: str, entered: str) -> tuple[Led, ...]:
    """Every topic that a route with legs leads from one cluster to the other.

    Raises `DcctlError` where its legs do not lead there.
    """
    at = left
    for leg in route:
        begins, ends = (leg.mirror.source, leg.mirror.target)[:: -1 if leg.is_inverse else 1]
        if begins != at:
            raise DcctlError(
                f"route {in_words(route)}",
                f"has come to {at}, and its next mirror begins at {begins}: no position goes on from there",
            )
        at = ends
    if at != entered or not route:
        raise DcctlError(f"route {in_words(route)}", f"leads from {left} to {at}, not to {entered}")
    return tuple(_led(topology, route))


def _led(topology: Topology, route: Route) -> Iterator[Led]:
    home = route[0].mirror.home
    crossings = [_across(topology, leg) for leg in route]
    for left, (name, _) in crossings[0].items():
        here, sources = left, []
        for crossing in crossings:
            if here not in crossing:
                break
            source, here = crossing[here]
            sources.append(source)
        else:
            topic = topology.topic(name, home)
            if topic is not None:
                yield Led(
                    left=left,
                    entered=here,
                    sources=tuple(sources),
                    home=name,
                    origin=home,
                    partitions=topic.partitions,
                )


def _across(topology: Topology, leg: Leg) -> dict[str, tuple[str, str]]:
    """By a topic's name where a leg begins: its name at the source of its mirror, and where the leg ends."""
    mirror = leg.mirror.of(topology)
    copies = ((name, mirror.mirrored_topic(name)) for name in mirror.topics)
    if leg.is_inverse:
        return {copy: (name, name) for name, copy in copies}
    return {name: (name, copy) for name, copy in copies}


def moving_consumers(way: Way) -> tuple[Consumer, ...]:
    """The consumers of a way, of whatever kind, as the file has them."""
    names = {(item.name, item.kind) for item in way.items}
    return tuple(c for c in way.topology.consumers if (c.name, c.kind) in names)


def landed_at_left(way: Way, consumer: Consumer) -> tuple[str, ...]:
    """Topics that a moved consumer reads at the place left because others write them there.

    At home it does not read their copies, so no route leads from them.
    """
    if consumer.cluster == way.left.cluster or consumer.landing not in {None, READ}:
        return ()
    covered = {
        led.left
        for route in way.routes(consumer.name)
        for led in led_along(way.topology, route, way.left.cluster, way.entered.cluster)
    }
    names = way.topology.topics_read(consumer)
    return tuple(name for name in names if name in way.topics and name not in covered)


def led_of(way: Way) -> tuple[Led, ...]:
    """Every topic that one of a way's consumers reads, along its routes; each once."""
    # A thousand consumers have few routes between them.
    routes = dict.fromkeys(route for c in moving_consumers(way) for route in way.routes(c.name))
    found = {
        led: None
        for route in routes
        if route and not is_of_landing(route)
        for led in led_along(way.topology, route, way.left.cluster, way.entered.cluster)
    }
    return tuple(found)


def topics_left(way: Way) -> tuple[str, ...]:
    """What they read at the place left, each topic once."""
    return tuple(dict.fromkeys(led.left for led in led_of(way)))


def read_along(
    topology: Topology, consumer: Consumer, routes: Iterable[Route], left: str, entered: str
) -> tuple[tuple[Route, Led], ...]:
    """What a consumer reads at `left` of what its routes lead, with the route; landing topics left out.

    The file names topics as they are called at the consumer's own cluster, wherever it works now.
    Raises `DcctlError` for a topic that none of its routes leads.
    """
    names = topology.topics_read(consumer)
    home = consumer.cluster
    found = tuple(
        (route, led)
        for route in routes
        if not is_of_landing(route)
        for led in led_along(topology, route, left, entered)
        if (led.left if home == left else led.called_at(topology, home)) in names
    )
    covered = {led.left if home == left else led.called_at(topology, home) for _, led in found}
    landing = landings_read(topology, consumer)
    missing = [name for name in names if name not in covered and name not in landing]
    if missing:
        raise DcctlError(
            f"consumer {consumer.name}",
            f"reads {', '.join(missing)}, which no mirror copies from {left} to {entered}",
            "a mirror has to copy it there, or both from the same cluster",
        )
    return found
