"""One look at both sides of a mirror that is at work meanwhile: what is read in which order."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import pytest

from orchestrator.adapters.kafka.cluster import TopicDescription
from orchestrator.errors import ConnectError
from orchestrator.mirrors.mirrormaker2 import copying
from orchestrator.mirrors.mirrormaker2.offset_syncs import OffsetSyncs
from orchestrator.moves.ways import way_along
from orchestrator.replication.offset_map import OffsetMap
from orchestrator.snapshot.observation import SourceProbe
from orchestrator.snapshot.samples import SampleHistory
from orchestrator.values import LogEnd, TopicPartition
from orchestrator.verbs.live import look
from orchestrator.verbs.live import observe as observing
from orchestrator.verbs.live.move_estate import Estate
from orchestrator.verbs.live.observe import observe
from orchestrator.verbs.registration import PARTICIPANTS
from tests.verbs.pictures import AHEAD, of, topology


class East:
    """A target into which the mirror writes; it tells whether its logs were asked for their ends."""

    name, subject, cluster_id = "east", "cluster east", "id-east"

    def __init__(self) -> None:
        self.asked = threading.Event()

    def brokers(self, *_: Any) -> dict[int, str]:
        return {1: "east:1"}

    def topics(self, names: Iterable[str]) -> dict[str, TopicDescription]:
        return {
            name: TopicDescription(name=name, topic_id=name, leaders=(1,), replicas=((1,),), isr=((1,),))
            for name in names
        }

    def topic_config(self, names: Iterable[str]) -> dict[str, dict[str, str]]:
        return {name: {"min.insync.replicas": "1"} for name in names}

    def end_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return dict.fromkeys(partitions, 10)

    def log_ends(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, LogEnd]:
        self.asked.set()
        return dict.fromkeys(partitions, LogEnd(0, 20))

    def group_members(self, groups: Iterable[str]) -> dict[str, int]:
        return dict.fromkeys(groups, 0)

    def committed(self, groups: Iterable[str]) -> dict[str, dict[TopicPartition, int]]:
        return {group: {} for group in groups}


def away(*_: Any, **__: Any) -> Any:
    raise ConnectError("Connect at east", "no answer")


def test_no_end_of_a_log_is_older_than_the_map_of_what_was_copied_into_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Else a position that the map has lies beyond the end, and the gate refuses what is all right."""
    east, asked_early = East(), []

    def map_of_syncs(*_: Any, **__: Any) -> OffsetMap:
        asked_early.append(east.asked.wait(0.2))
        return OffsetSyncs().build()

    monkeypatch.setattr(copying, "map_of_syncs", map_of_syncs)
    monkeypatch.setattr(observing, "samples_for", lambda *_: SampleHistory())
    monkeypatch.setattr(look, "probe_source", lambda *_: SourceProbe({"west:1": "yes"}, "", "id-west"))
    connect = SimpleNamespace(name="east", within=lambda _: connect, states=away, source_offsets=away)
    connect.connectors = connect.configuration = away
    way = way_along(topology(), AHEAD, PARTICIPANTS, reach="gone")
    estate = Estate(topology(), way, east, connect, None, "no answer")  # type: ignore[arg-type]
    monkeypatch.setattr(look, "copy_folder", away)
    seen = observe(estate, way)
    assert (of(seen, "offset_map").problem, of(seen, "log_ends").problem) == ("", "")
    assert asked_early
    assert not any(asked_early)
