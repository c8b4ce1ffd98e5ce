"""Positions along maps of mirrors that run: what is waited for, what is written, what is refused."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import pytest

from orchestrator.applications.groups.along import TranslateAlong
from orchestrator.mirrors.connect import Workers
from orchestrator.mirrors.mirrormaker2.connectors import connector_names
from orchestrator.moves.participants import Participants
from orchestrator.moves.ports import FinalMap, Maps
from orchestrator.moves.results import RecordedPositions
from orchestrator.moves.way import Leg, Route
from orchestrator.ports.clock import Clock
from orchestrator.replication.by_content import SearchBudget
from orchestrator.replication.mirror_ref import MirrorRef
from orchestrator.replication.truncations import Truncation, Truncations
from orchestrator.runs.effect import Done, Failed, Handle
from orchestrator.runs.ports import Clusters
from orchestrator.topology.model import Topology
from orchestrator.values import LogEnd, TopicPartition
from orchestrator.verbs.registration import PARTICIPANTS
from tests.moves.test_ways import AGAINST_THEN_SOUTH, WEST_EAST, WEST_SOUTH, three
from tests.replication.mirror_model import build
from tests.replication.test_by_counting import Source

ORDERS, COPY = [TopicPartition(name, 0) for name in ("orders", "west.orders")]
BILLING = {"billing": ((Leg(mirror=WEST_EAST),),)}
FRAUD = {"fraud": (AGAINST_THEN_SOUTH,)}


@dataclass
class World:
    """Three clusters and two mirrors: pairs of offset syncs, logs, stored positions. Waiting takes no time."""

    topology: Topology
    logs: dict[str, dict[TopicPartition, LogEnd]]
    syncs: dict[MirrorRef, list[tuple[int, int]]]
    stored: dict[MirrorRef, int]
    positions: dict[str, dict[TopicPartition, int]]
    cut: dict[TopicPartition, tuple[Truncation, ...]] = field(default_factory=dict)
    waits: list[float] = field(default_factory=list)
    timeout_s: float = 60.0
    now: float = 1_000.0

    def port(self, kind: Any) -> Any:
        known = {Topology: self.topology, Participants: PARTICIPANTS}
        return known.get(kind) or {Clusters: self, Maps: self, Workers: self, Clock: self}[kind]

    def of(self, _: Any) -> RecordedPositions:
        return RecordedPositions(positions=self.positions, at_s={})

    def now_s(self) -> float:
        return self.now

    monotonic_s = now_s

    def is_cancelled(self) -> bool:
        return False

    def await_true(self, condition: Any, timeout_s: float, poll_s: float = 0.2) -> bool:
        end = self.now + timeout_s
        while not condition():
            if self.now >= end:
                return False
            self.now += poll_s
            self.on_wait()
        return True

    def on_wait(self) -> None:
        """What happens while somebody waits."""

    def current(self, mirror: MirrorRef) -> FinalMap:
        return FinalMap(build(self.syncs[mirror], partition=ORDERS), {})

    def kept(self, mirror: MirrorRef) -> None:
        """Nothing was ever brought back."""

    def truncations(self, mirror: MirrorRef) -> Truncations:  # noqa: ARG002
        return self.cut

    def cluster(self, name: str) -> Any:
        logs = self.logs[name]

        def topics(names: Any) -> Any:
            found = {t: [tp for tp in logs if tp.topic == t] for t in names}
            return {t: SimpleNamespace(partitions=tps) for t, tps in found.items() if tps}

        def read_records(ranges: Any, **_: Any) -> Any:
            yield [SimpleNamespace(topic=tp.topic, partition=tp.partition) for tp in ranges]

        return SimpleNamespace(
            topics=topics, log_ends=lambda tps: {tp: logs[tp] for tp in tps}, read_records=read_records
        )

    def connect(self, cluster: str) -> Any:
        (mirror,) = [m for m in self.stored if m.target == cluster]
        name = connector_names(mirror.of(self.topology)).source
        return SimpleNamespace(
            source_offsets=lambda asked: {ORDERS: self.stored[mirror]} if asked == name else {},
            configuration=lambda _: {},
        )


def world() -> World:
    """A hundred orders at west; both copies have them, east's from the 40th on."""
    topology = three()
    one = tuple(replace(topic, partitions=1) for topic in topology.topics)
    return World(
        topology=replace(topology, topics=one),
        logs={
            "west": {ORDERS: LogEnd(0, 100)},
            "east": {COPY: LogEnd(0, 60)},
            "south": {COPY: LogEnd(0, 100)},
        },
        syncs={WEST_EAST: [(40, 0), (99, 59)], WEST_SOUTH: [(0, 0), (99, 99)]},
        stored={WEST_EAST: 99, WEST_SOUTH: 99},
        positions={"billing": {ORDERS: 70}, "fraud": {COPY: 10}},
    )


def translate(world: Any, routes: dict[str, tuple[Route, ...]], **more: Any) -> Any:
    (left, entered) = ("west", "east") if "billing" in routes else ("east", "south")
    recorded: Handle[RecordedPositions] = Handle("record-positions", "record-positions")
    return TranslateAlong(left=left, entered=entered, routes=routes, recorded=recorded, **more).perform(world)


@pytest.mark.parametrize(
    ("routes", "group", "topic", "at", "there"),
    [(BILLING, "billing", "orders", 70, 30), (FRAUD, "fraud", "west.orders", 10, 50)],
)
def test_a_position_is_led_along_one_or_two_maps(
    routes: Any, group: str, topic: str, at: int, there: int
) -> None:
    """The same record at either end, exactly; named as it is called at the place left."""
    found = translate(world(), routes)
    assert isinstance(found, Done)
    (row,) = found.result.translations
    assert (row["group"], row["topic"], row["source_offset"]) == (group, topic, at)
    assert (row["target_topic"], row["target_offset"], row["exact"]) == ("west.orders", there, True)
    assert found.result.landing == {group: {}}


def test_a_mirror_that_has_not_come_so_far_is_waited_for() -> None:
    """Its copies and syncs arrive meanwhile; then the position is exact."""

    class Catching(World):
        def on_wait(self) -> None:
            self.stored[WEST_SOUTH] = min(99, self.stored[WEST_SOUTH] + 10)
            at = self.stored[WEST_SOUTH]
            self.syncs[WEST_SOUTH] = [(0, 0), (at, at)]

    base = world()
    behind = Catching(**{**vars(base), "stored": {**base.stored, WEST_SOUTH: 19}})
    behind.syncs[WEST_SOUTH] = [(0, 0), (19, 19)]
    found = translate(behind, FRAUD)
    assert isinstance(found, Done)
    assert [(row["target_offset"], row["exact"]) for row in found.result.translations] == [(50, True)]
    assert behind.stored[WEST_SOUTH] < 99


def test_a_mirror_that_stays_behind_fails_the_step_and_says_how_far() -> None:
    """Within the step's time; nothing was changed."""
    lagging = world()
    lagging.stored[WEST_SOUTH] = 19
    found = translate(lagging, FRAUD)
    assert isinstance(found, Failed)
    assert (
        "the mirror west → south has not copied up to the groups' positions: 30 records not copied"
        in found.message
    )
    assert "orders-0 30" in found.message
    assert lagging.now - 1_000.0 < lagging.timeout_s


def test_what_stays_inexact_is_held_against_what_is_accepted() -> None:
    """The newest syncs have a moment to arrive; then the bound decides."""
    rough = world()
    rough.syncs[WEST_EAST] = [(40, 0), (45, 5)]
    assert isinstance(translate(rough, FRAUD), Done)
    found = translate(rough, FRAUD, accept_reread=3)
    assert isinstance(found, Failed)
    assert "4 records would be read again, 3 are accepted" in found.message


def test_a_group_that_never_committed_begins_where_its_log_does() -> None:
    """Its row says so, and that nothing is passed over."""
    fresh = world()
    fresh.positions["billing"] = {}
    fresh.logs["west"][ORDERS] = LogEnd(45, 100)
    (row,) = translate(fresh, BILLING).result.translations
    assert (row["source_offset"], row["target_offset"], row["exact"]) == (None, 5, True)
    assert row["reason"].startswith("never committed; ")


def test_records_that_only_the_place_left_has_are_not_left_behind_unsaid() -> None:
    """A group that was moved there has unread records in the landing topic: no route leads to these."""
    moved = world()
    billing = {"billing": (AGAINST_THEN_SOUTH,)}
    moved.positions["billing"] = {COPY: 10, ORDERS: 4}
    moved.logs["east"][ORDERS] = LogEnd(0, 9)
    along = {"left": "east", "entered": "south", "routes": billing}
    effect = TranslateAlong(**along, recorded=Handle("record-positions", "record-positions"))
    found = effect.perform(moved)  # type: ignore[arg-type] # it has what is asked for
    assert isinstance(found, Failed)
    assert "unread at east are not copied to south: billing orders-0: 5 records" in found.message
    moved.positions["billing"][ORDERS] = 9
    moved.logs["south"][ORDERS] = LogEnd(3, 8)
    done = effect.perform(moved)  # type: ignore[arg-type]
    assert isinstance(done, Done)
    assert done.result.landing == {"billing": {ORDERS: 3}}


def test_a_position_among_records_that_the_source_has_lost_has_no_place() -> None:
    """What a run has recorded of a cut is looked up for each way against a mirror."""
    cut = world()
    cut.cut = {ORDERS: (Truncation(45, 20),)}
    found = translate(cut, FRAUD)
    assert isinstance(found, Failed)
    assert "target-only" in found.message


class WithMarkers(World):
    """Every fourth offset at west is a marker, and a sync is written for each seventh record."""

    ORDERS_THERE = tuple(offset for offset in range(400) if offset % 4 < 3)
    leaves_out: tuple[MirrorRef, ...] = ()
    search = SearchBudget()

    def current(self, mirror: MirrorRef) -> FinalMap:  # noqa: ARG002
        pairs = [(self.ORDERS_THERE[at], at) for at in range(0, len(self.ORDERS_THERE), 7)]
        return FinalMap(build(pairs, partition=ORDERS, gaps="may"), {})

    def copies_all(self, mirror: MirrorRef) -> bool:
        return mirror not in self.leaves_out

    def isolation_level(self, mirror: MirrorRef) -> str:  # noqa: ARG002
        return "read_committed"

    def cluster(self, name: str) -> Any:
        found = super().cluster(name)
        found.topic_config = lambda topics, _timeout_s: {t: {"cleanup.policy": "delete"} for t in topics}
        found.contents = lambda _isolation: Source(self.ORDERS_THERE)
        return found


def with_markers(**more: Any) -> WithMarkers:
    """The same hundred orders, and two hundred more."""
    plain, end = world(), len(WithMarkers.ORDERS_THERE)
    return WithMarkers(
        topology=plain.topology,
        logs={
            "west": {ORDERS: LogEnd(0, 400)},
            "east": {COPY: LogEnd(0, end)},
            "south": {COPY: LogEnd(0, end)},
        },
        syncs={},
        stored={WEST_EAST: 398, WEST_SOUTH: 398},
        positions={"billing": {ORDERS: 130}, "fraud": {COPY: 101}},
        **more,
    )


def test_under_transactions_positions_are_exact_along_both_maps() -> None:
    """The records of west, where they are produced, are counted for each of the two mirrors."""
    found = translate(with_markers(), FRAUD)
    assert isinstance(found, Done)
    (row,) = found.result.translations
    assert (row["target_offset"], row["exact"], row["reread_at_most"]) == (101, True, 0)


def test_of_a_mirror_that_may_leave_records_out_nothing_is_counted() -> None:
    """Its filter, and a record copied again, could cancel out: the map's word stands."""
    for mirror in (WEST_EAST, WEST_SOUTH):
        filtered = with_markers()
        filtered.leaves_out = (mirror,)
        found = translate(filtered, FRAUD)
        assert isinstance(found, Done)
        (row,) = found.result.translations
        assert row["target_offset"] < 101
        assert not row["exact"]
