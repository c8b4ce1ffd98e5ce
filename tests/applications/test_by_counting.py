"""Positions on the way back under transactions: records are counted at either end, if they may be read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import pytest

from orchestrator.applications.translating import TranslateBack
from orchestrator.errors import ClusterError
from orchestrator.moves.ports import FinalMap, Maps
from orchestrator.moves.results import (
    MirrorEnd,
    MirrorStarts,
    RecordedPositions,
    StandingLogs,
    TopicEnds,
)
from orchestrator.replication.by_content import SearchBudget
from orchestrator.replication.mirror_ref import MirrorRef
from orchestrator.runs.effect import Done, Handle
from orchestrator.runs.ports import Clusters
from orchestrator.topology.model import Topology
from orchestrator.values import LogEnd, TopicPartition
from tests.replication.mirror_model import build
from tests.replication.test_by_counting import PAIRS, SOURCE, STANDS, Source
from tests.verbs.pictures import topology

FORWARD = MirrorRef(source="west", target="east")
OWN, COPY, BACK = (TopicPartition(name, 0) for name in ("orders", "west.orders", "east.orders"))
ALL = LogEnd(0, 200)


@dataclass
class World:
    """Both mirrors stand, have copied the same offsets, and each has a map with a sync for each seventh record."""

    contents: Callable[[], Any] = lambda: Source(SOURCE)

    def port(self, kind: Any) -> Any:
        example = topology()
        orders = replace(example.topics[0], name="orders", partitions=1)
        mirror = replace(example.replication[0], topics=("orders",))
        billing = next(consumer for consumer in example.consumers if consumer.kind == "group")
        file = replace(
            example,
            topics=(orders,),
            replication=(mirror,),
            consumers=(replace(billing, name="billing", topics=("orders",)),),
        )
        return {Topology: file, Maps: self, Clusters: self}[kind]

    def of(self, handle: Handle[Any]) -> Any:
        return RESULTS[handle.step]

    def final(self, mirror: MirrorRef, _end: MirrorEnd) -> FinalMap:
        copy = COPY if mirror == FORWARD else BACK
        return FinalMap(build(PAIRS, STANDS, OWN, gaps="may"), {copy: LogEnd(0, len(SOURCE))})

    def cluster(self, _name: str) -> Any:
        return SimpleNamespace(
            log_ends=lambda tps: dict.fromkeys(tps, ALL),
            topic_config=lambda topics, _timeout_s: {t: {"cleanup.policy": "delete"} for t in topics},
            contents=lambda _isolation: self.contents(),
        )

    def copies_all(self, _mirror: MirrorRef) -> bool:
        return True

    def isolation_level(self, _mirror: MirrorRef) -> str:
        return "read_committed"

    @property
    def search(self) -> SearchBudget:
        return SearchBudget()


RESULTS: dict[str, Any] = {
    "recorded": RecordedPositions(positions={"billing": {COPY: 38, OWN: SOURCE[60]}}, at_s={}),
    "standing": StandingLogs(ends={OWN: 200}, starts={OWN: 0}),
    "end": MirrorEnd(ends={}, mirror_offsets={}),
    "home": TopicEnds(ends={OWN: 200}, seen_from={}, now={}, at_s=0.0),
    "rejoining": SimpleNamespace(truncations=[]),
    "starts": MirrorStarts(starts={}),
}


def back(world: World) -> list[dict[str, Any]]:
    """Where the group goes on, in its own topic and in what the way back has brought."""

    def handle(name: str) -> Any:
        return Handle(name, name)

    effect = TranslateBack(
        mirror=FORWARD,
        groups=("billing",),
        recorded=handle("recorded"),
        standing=handle("standing"),
        end=handle("end"),
        forward_end=handle("end"),
        home_ends=handle("home"),
        rejoining=handle("rejoining"),
        starts=handle("starts"),
        accept_reread=1_000,
    )
    found = effect.perform(world)  # type: ignore[arg-type]
    assert isinstance(found, Done), found
    return found.result.translations


def test_both_positions_of_a_group_go_home_exactly_under_transactions() -> None:
    """The copy's against the mirror, by west's own records; the landing topic's along the way back, by east's."""
    own, landing = back(World())
    assert (own["target_topic"], own["target_offset"], own["exact"]) == ("orders", SOURCE[37] + 1, True)
    assert (landing["target_topic"], landing["target_offset"], landing["exact"]) == ("east.orders", 60, True)


def refused() -> Any:
    """A cluster that lets nobody read."""
    raise ClusterError("cluster west", "does not answer")


@pytest.mark.parametrize("contents", [refused, lambda: Source([])], ids=["silent", "nothing to read"])
def test_what_cannot_be_read_is_not_counted(contents: Callable[[], Any]) -> None:
    """The map's word stands, and is not called exact."""
    own, landing = back(World(contents))
    assert own["target_offset"] <= SOURCE[37] + 1
    assert landing["target_offset"] <= 60
    assert not own["exact"]
    assert not landing["exact"]
