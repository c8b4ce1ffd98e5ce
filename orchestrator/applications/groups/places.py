"""Where groups stand in each partition at the place left, and where a route leads each of them. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from orchestrator.moves.positions import TargetPosition, placed_in_log
from orchestrator.moves.routes import Led, read_along
from orchestrator.moves.way import Route
from orchestrator.replication.along_maps import Hop, beyond_the_end, translate_along
from orchestrator.replication.mirror_ref import MirrorRef
from orchestrator.replication.offset_map import OffsetMap
from orchestrator.replication.truncations import Truncations
from orchestrator.topology.model import Consumer, Topology
from orchestrator.values import LogEnd, TopicPartition
from orchestrator.wording import plural


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A group's position in one partition at the place left.

    `committed`: None where it has none. `offset`: from where on it has not read, None where nobody knows.
    """

    consumer: Consumer
    route: Route
    led: Led
    number: int
    committed: int | None
    offset: int | None
    age_s: float | None

    @property
    def here(self) -> TopicPartition:
        """The partition at the place left."""
        return TopicPartition(self.led.left, self.number)

    @property
    def there(self) -> TopicPartition:
        """The partition at the place entered."""
        return TopicPartition(self.led.entered, self.number)

    @property
    def is_of_home(self) -> bool:
        """Whether it leads from where its topic is produced, along one mirror of the file."""
        (first, *others) = self.route
        return not others and not first.is_inverse and not first.mirror.is_back

    def source_of(self, leg: int) -> TopicPartition:
        """The partition at the source of one leg's mirror."""
        return TopicPartition(self.led.sources[leg], self.number)

    def hops(
        self, maps: Mapping[MirrorRef, OffsetMap], truncations: Mapping[MirrorRef, Truncations]
    ) -> list[Hop]:
        """The way through maps."""
        return [
            Hop(
                offset_map=maps[leg.mirror],
                source=self.source_of(number),
                is_inverse=leg.is_inverse,
                truncations=truncations.get(leg.mirror, {}).get(self.source_of(number), ()),
            )
            for number, leg in enumerate(self.route)
        ]

    def row(
        self,
        left: str,
        entered: str,
        maps: Mapping[MirrorRef, OffsetMap],
        truncations: Mapping[MirrorRef, Truncations],
        log: LogEnd | None,
    ) -> TargetPosition:
        """Where it goes on; `log`: of the partition there."""
        never_came = 0
        if self.offset is None:
            target, is_exact, reread = None, False, None
            reason = f"neither its position nor the log of {self.here} at {left} is known"
        else:
            hops = self.hops(maps, truncations)
            found, never_came = translate_along(hops, self.offset), beyond_the_end(hops, self.offset)
            placed = placed_in_log(self.consumer, log, found, None)
            target, is_exact, reread = placed.offset, placed.is_exact, placed.reread_at_most
            reason = placed.reason if self.committed is not None else f"never committed; {placed.reason}"
            if never_came:
                source = self.route[-1].mirror.source
                reason += (
                    f"; {plural(never_came, 'record')} read at {left} never came to {entered}: read again if "
                    f"{source} returns"
                )
        return TargetPosition(
            group=self.consumer.group_id,
            source=left,
            topic=self.led.left,
            partition=self.number,
            source_offset=self.committed,
            position_age_s=None if self.committed is None else self.age_s,
            target=entered,
            target_topic=self.led.entered,
            target_offset=target,
            exact=is_exact,
            reread_at_most=reread,
            reason=reason,
            never_came=never_came,
        )


def places_along(  # noqa: PLR0917 - who, by which routes, between which places, from which positions
    topology: Topology,
    consumer: Consumer,
    routes: tuple[Route, ...],
    left: str,
    entered: str,
    committed: Mapping[TopicPartition, int],
    starts: Mapping[TopicPartition, int],
    ages_s: Mapping[TopicPartition, float | None],
) -> Iterator[Place]:
    """A group's place in every partition that it reads at the place left and its routes lead.

    `starts`: where logs begin there; a group that never committed passes nothing over from there. Raises
    `DcctlError` for a topic that none of its routes leads.
    """
    for route, led in read_along(topology, consumer, routes, left, entered):
        for number in range(led.partitions):
            at = TopicPartition(led.left, number)
            yield Place(
                consumer=consumer,
                route=route,
                led=led,
                number=number,
                committed=committed.get(at),
                offset=committed[at] if at in committed else starts.get(at),
                age_s=ages_s.get(at),
            )


def partitions_along(
    topology: Topology, consumer: Consumer, routes: tuple[Route, ...], left: str, entered: str
) -> list[TopicPartition]:
    """Those, by their names at the place left."""
    found = read_along(topology, consumer, routes, left, entered)
    return [TopicPartition(led.left, number) for _, led in found for number in range(led.partitions)]
