"""What `status` says of copies that a killed worker would make again, and of those that stand twice."""

from __future__ import annotations

from orchestrator.mirrors.mirrormaker2.formats import OffsetSync, encode_offset_sync
from orchestrator.values import TopicPartition
from orchestrator.watch.status import mirror_status
from tests.twin.clusters import TwinRecord
from tests.twin.conftest import Estates


def test_status_foretells_what_killed_workers_would_copy_again(estates: Estates) -> None:
    """No less than comes in a flush interval; without samples nobody knows."""
    estate = estates.at_work("topologies/active-passive.yaml").estate
    (mirror,) = estate.topology.replication
    told = mirror_status(estate.topology, mirror, servers=estate.servers)["mirror"]
    at_most, behind = told["copied_again_if_killed_at_most"], sum(told["lag_records"].values())
    assert at_most > behind
    assert told["copied_again_records"] == 0
    estate.lose("east")
    told = mirror_status(estate.topology, mirror, servers=estate.servers)["mirror"]
    assert (told["copied_again_if_killed_at_most"], told["copied_again_records"]) == (None, None)


def test_heartbeats_that_stand_twice_are_not_counted(estates: Estates) -> None:
    """MirrorMaker copies them and writes syncs of them, as of any topic; no application reads them."""
    estate = estates.at_work("topologies/active-passive.yaml").estate
    (mirror,) = estate.topology.replication
    east = estate.clusters[mirror.target]
    (syncs,) = (name for name in east.topics if name.startswith("mm2-offset-syncs"))
    for upstream, downstream in ((0, 0), (9, 9), (20, 22)):
        key, value = encode_offset_sync(OffsetSync(TopicPartition("heartbeats", 0), upstream, downstream))
        assert east.append(TopicPartition(syncs, 0), TwinRecord(0.0, key, value))
    told = mirror_status(estate.topology, mirror, servers=estate.servers)["mirror"]
    assert told["copied_again_records"] == 0
