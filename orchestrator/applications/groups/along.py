"""Groups whose positions lead along maps of mirrors that go on running, and are not this move's to stop."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field, replace

from pydantic.dataclasses import dataclass

from orchestrator.applications.brought_back import landing_offsets
from orchestrator.applications.by_counting import with_counted_places
from orchestrator.applications.consumers import consumers_named
from orchestrator.applications.groups.places import Place, partitions_along, places_along
from orchestrator.applications.translating import outcome_of_rows
from orchestrator.moves.participants import Participants
from orchestrator.moves.ports import Maps, Seen
from orchestrator.moves.positions import TargetPosition
from orchestrator.moves.results import (
    GroupOffsets,
    MirrorEnd,
    RecordedPositions,
    StandingLogs,
    TopicEnds,
    TranslatedPositions,
)
from orchestrator.moves.way import Route
from orchestrator.ports.clock import Clock
from orchestrator.replication.along_maps import translate_along
from orchestrator.replication.mirror_ref import MirrorRef
from orchestrator.replication.offset_map import OffsetMap
from orchestrator.replication.offsets_json import Offsets
from orchestrator.replication.truncations import Truncations
from orchestrator.runs.effect import (
    EFFECT_CONFIG,
    Done,
    Failed,
    Handle,
    Limited,
    Look,
    Nothing,
    Outcome,
    Running,
)
from orchestrator.runs.ports import Clusters
from orchestrator.snapshot.samples import SampledPosition
from orchestrator.snapshot.watcher_records import age_s
from orchestrator.topology.landing import landings_read
from orchestrator.topology.model import Consumer, Topology
from orchestrator.topology.standby import READ
from orchestrator.values import TopicPartition
from orchestrator.wording import plural

_POLL_S = 1.0
_SPARE_S = 10.0
"""Of the step's time, for all but waiting for a mirror."""
_LISTED = 5


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class TranslateAlong(
    Limited[TranslatedPositions],
    Look[TranslatedPositions],
    name="translate-along",
    phase="translate",
    expected_s=1.0,
):
    """Each group's recorded positions along its routes, through maps as they are now.

    Where the last mirror of a route has not copied up to a position yet, that is waited for: a position that
    nothing was copied behind is known only roughly. Newest offset syncs have `settle_s` seconds to arrive;
    what is not exact then is so for good. `routes`: by group. `ends`: where mirrors ended that stand;
    `passed`: where those that go on with others have come to in logs that stand. `landing`: where topics end
    that producers will write at the place entered.
    `accept_reread`: more records than so many are not read again (None: as many as it takes). `is_left_gone`:
    of the place left there is only what watchers have kept. `kept`: by group, topics that others of it go on
    reading at the place left.
    """

    left: str
    entered: str
    routes: dict[str, tuple[Route, ...]]
    recorded: Handle[RecordedPositions]
    ends: tuple[tuple[MirrorRef, Handle[MirrorEnd]], ...] = ()
    passed: tuple[tuple[MirrorRef, Handle[MirrorEnd]], ...] = ()
    landing: Handle[TopicEnds] | None = None
    accept_reread: int | None = None
    is_left_gone: bool = False
    kept: dict[str, tuple[str, ...]] = field(default_factory=dict)
    settle_s: float = 3.0
    limit_s: float = 60.0

    @property
    def title(self) -> str:
        """See `Effect`."""
        legs = [leg for routes in self.routes.values() for route in routes for leg in route]
        mirrors = ", ".join(dict.fromkeys(str(leg.mirror) for leg in legs))
        return f"Translate each position from {self.left} to {self.entered} by the offset maps of {mirrors}"

    def perform(self, run: Running) -> Outcome[TranslatedPositions]:
        """See `Effect`."""
        places = list(self._places(run))
        unread = "" if self.is_left_gone else self._unread(run, places)
        if unread:
            return Failed(f"records unread at {self.left} are not copied to {self.entered}: {unread}")
        passed = self._await_passed(run, places)
        if not isinstance(passed, Done):
            return passed
        rows: list[TargetPosition] = []

        def are_exact() -> bool:
            nonlocal rows
            rows = self._rows(run, places)
            return all(row.exact for row in rows)

        run.await_true(are_exact, self.settle_s, poll_s=_POLL_S)
        found = outcome_of_rows(rows, self._landing(run, places), "no translation for", self.accept_reread)
        never_came = plural(sum(row.never_came for row in rows), "record")
        if isinstance(found, Done) and any(row.never_came for row in rows):
            said = f"{never_came} read at {self.left} never came to {self.entered}"
            return replace(found, message=f"{found.message}; {said}")
        return found

    def _places(self, run: Running) -> Iterator[Place]:
        """Every partition that a group reads, and where it stands there."""
        topology, recorded = run.port(Topology), run.of(self.recorded)
        now_s = run.port(Seen).left_at_s(self.left) if self.is_left_gone else run.port(Clock).now_s()
        for consumer in consumers_named(run, self.routes):
            routes = self.routes[consumer.name]
            committed = recorded.positions.get(consumer.group_id, {})
            own = partitions_along(topology, consumer, routes, self.left, self.entered)
            age = age_s(now_s, recorded.at_s.get(consumer.group_id, now_s))
            yield from places_along(
                topology,
                consumer,
                routes,
                self.left,
                self.entered,
                committed,
                self._starts(run, [tp for tp in own if tp not in committed]),
                dict.fromkeys(own, age),
            )

    def _starts(self, run: Running, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
        """Where logs at the place left begin: nothing is passed over from there, and nothing was read."""
        if self.is_left_gone:
            known = run.port(Seen).watched(self.left).newest_ends()
            return {tp: known[tp].start_offset for tp in partitions if tp in known}
        logs = run.port(Clusters).cluster(self.left).log_ends(partitions)
        return {tp: log.start_offset for tp, log in logs.items()}

    def _unread(self, run: Running, places: list[Place]) -> str:
        """Records at the place left that a group has still to read, and that no route leads further.

        A group that was moved there reads the landing topics as well, and one that had been brought home
        the copies of these. Raises `ClusterError`.
        """
        left, positions, said = run.port(Clusters).cluster(self.left), run.of(self.recorded).positions, []
        for consumer in consumers_named(run, self.routes):
            if consumer.landing is not None:
                continue  # what it has to finish it has finished; the rest is somebody else's
            covered = {place.led.left for place in places if place.consumer is consumer}
            covered.update(self.kept.get(consumer.name, ()))
            topology = run.port(Topology)
            brought = (
                place.route[0].mirror.other_way.of(topology).mirrored_topic(place.led.left)
                for place in places
                if place.consumer is consumer and place.is_of_home and self.landing is None
            )
            names = dict.fromkeys((*_names_read(run, consumer), *brought))
            others = [name for name in names if name not in covered]
            described = left.topics(others)
            logs = left.log_ends([tp for topic in described.values() for tp in topic.partitions])
            committed = positions.get(consumer.group_id, {})
            for tp, log in sorted(logs.items()):
                records = log.end_offset - max(committed.get(tp, 0), log.start_offset)
                if records > 0:
                    said.append(f"{consumer.called} {tp}: {records:,} records")
        return "; ".join(said[:_LISTED])

    def _maps(self, run: Running, places: list[Place]) -> dict[MirrorRef, OffsetMap]:
        """The maps of all legs: to their very ends where mirrors stand, otherwise as they are now."""
        maps, standing, passed = run.port(Maps), dict(self.ends), dict(self.passed)
        found = {}
        for mirror in dict.fromkeys(leg.mirror for place in places for leg in place.route):
            if mirror in standing:
                one = maps.final(mirror, run.of(standing[mirror]))
            elif mirror in passed:
                one = maps.passed(mirror, run.of(passed[mirror]))
            else:
                one = maps.current(mirror)
            found[mirror] = one.offset_map
        return found

    def _counted(
        self,
        run: Running,
        places: list[Place],
        maps: dict[MirrorRef, OffsetMap],
        truncations: dict[MirrorRef, Truncations],
    ) -> dict[MirrorRef, OffsetMap]:
        """The maps, with what the records of the mirrors' sources tell of the positions, leg by leg.

        Of a source that is gone nothing can be counted.
        """
        for number in range(max((len(place.route) for place in places), default=0)):
            wanted: dict[tuple[MirrorRef, bool], dict[TopicPartition, set[int]]] = {}
            for place in places:
                if number >= len(place.route) or place.offset is None:
                    continue
                leg = place.route[number]
                at = translate_along(place.hops(maps, truncations)[:number], place.offset).offset
                if at is not None and not (self.is_left_gone and leg.mirror.source == self.left):
                    positions = wanted.setdefault((leg.mirror, leg.is_inverse), {})
                    positions.setdefault(place.source_of(number), set()).add(at)
            for (mirror, is_inverse), positions in wanted.items():
                asked = {"behind" if is_inverse else "ahead": positions}
                maps = {**maps, mirror: with_counted_places(run, mirror, maps[mirror], **asked)}
        return maps

    def _await_passed(self, run: Running, places: list[Place]) -> Outcome[Nothing]:
        """Wait until the last mirror of each route has copied up to each position, unless it stands."""
        wanted: dict[MirrorRef, dict[TopicPartition, int]] = {}
        standing, maps, truncations = dict(self.ends), self._maps(run, places), _truncations(run, places)
        for place in places:
            last, source = place.route[-1], place.source_of(-1)
            if last.is_inverse or last.mirror in standing or place.offset is None:
                continue
            at = translate_along(place.hops(maps, truncations)[:-1], place.offset).offset
            if at is None:
                continue
            ends = wanted.setdefault(last.mirror, {})
            ends[source] = max(at, ends.get(source, 0))
        deadline_s = run.port(Clock).monotonic_s() + run.timeout_s - self.settle_s - _SPARE_S
        for mirror, ends in wanted.items():
            logs = run.port(Clusters).cluster(mirror.source).log_ends(ends)
            before = StandingLogs(
                ends={tp: min(end, logs[tp].end_offset) for tp, end in ends.items()},
                starts={tp: log.start_offset for tp, log in logs.items()},
            )
            left_s = max(0.0, deadline_s - run.port(Clock).monotonic_s())
            engine = run.port(Participants).engine(run.port(Topology), mirror)
            found = engine.await_copied(run, mirror, before, end=None, stalled_s=None, timeout_s=left_s)
            if isinstance(found, Failed):
                return Failed(
                    f"the mirror {mirror} has not copied up to the groups' positions: {found.message}",
                    found.detail,
                )
            if not isinstance(found, Done):
                return found
        return Done(Nothing())

    def _rows(self, run: Running, places: list[Place]) -> list[TargetPosition]:
        truncations = _truncations(run, places)
        maps = self._counted(run, places, self._maps(run, places), truncations)
        logs = run.port(Clusters).cluster(self.entered).log_ends([place.there for place in places])
        return [
            place.row(self.left, self.entered, maps, truncations, logs.get(place.there)) for place in places
        ]

    def _landing_said(self, run: Running, consumer: Consumer) -> Offsets:
        """From the fence on, where it reads what others write there; nothing where another one does."""
        if self.landing is None or consumer.landing != READ or consumer.cluster != self.left:
            return {}
        names = run.port(Topology).topics_read(consumer)
        return {tp: end for tp, end in run.of(self.landing).ends.items() if tp.topic in names}

    def _landing(self, run: Running, places: list[Place]) -> GroupOffsets:
        """Where groups go on in topics that producers may write there one day, and no route leads to.

        What a failback has brought from there to where the group was is not read twice. Without that a group
        begins where the log does: nobody knows that it has read any of it. Raises `ClusterError`.
        """
        recorded, entered = run.of(self.recorded), run.port(Clusters).cluster(self.entered)
        found: GroupOffsets = {}
        for consumer in consumers_named(run, self.routes):
            if consumer.landing is not None:
                found[consumer.group_id] = self._landing_said(run, consumer)
                continue
            own = [place for place in places if place.consumer is consumer]
            covered = {place.led.entered for place in own}
            wanted = [name for name in _names_read(run, consumer) if name not in covered]
            described = entered.topics(wanted)
            logs = entered.log_ends([tp for topic in described.values() for tp in topic.partitions])
            positions = {
                tp: SampledPosition(offset, 0.0)
                for tp, offset in recorded.positions.get(consumer.group_id, {}).items()
            }
            found[consumer.group_id] = {tp: log.start_offset for tp, log in logs.items()}
            if consumer.cluster == self.entered and landings_read(run.port(Topology), consumer):
                # A source's producers write there, and what it had read of that before it left it has read.
                before = entered.committed(consumer.groups).get(consumer.group_id, {})
                found[consumer.group_id] |= {tp: at for tp, at in before.items() if tp in logs}
            for mirror in {place.route[0].mirror for place in own if place.is_of_home}:
                brought = landing_offsets(run, mirror, [consumer], {consumer.group_id: positions})
                at_home = brought.get(consumer.group_id, {})
                found[consumer.group_id] |= {tp: at for tp, at in at_home.items() if tp in logs}
        return found


def _names_read(run: Running, consumer: Consumer) -> tuple[str, ...]:
    """Also those that producers of others come with."""
    topology = run.port(Topology)
    return tuple(dict.fromkeys((*topology.topics_read(consumer), *landings_read(topology, consumer))))


def _truncations(run: Running, places: list[Place]) -> dict[MirrorRef, Truncations]:
    """Where logs were cut whose copies positions lead back from. Raises `DcctlError`."""
    legs = {leg.mirror for place in places for leg in place.route if leg.is_inverse}
    return {mirror: run.port(Maps).truncations(mirror) for mirror in legs}
