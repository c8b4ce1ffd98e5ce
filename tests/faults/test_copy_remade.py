"""A copy that is deleted and made anew under load while its first offset syncs are lost: judged by the records."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from orchestrator.adapters.kafka import KafkaCluster, read_records
from orchestrator.adapters.kafka.access import AccessRules
from orchestrator.errors import DcctlError
from orchestrator.estate.live.connections import connect_cluster
from orchestrator.replication.source_gaps import SourceGaps
from orchestrator.simulation.running import Simulation
from orchestrator.simulation.workload.install import stop_producers
from orchestrator.snapshot.known_gaps import sampled_gaps
from orchestrator.snapshot.live.reader import read_samples
from orchestrator.values import Acl, TopicPartition
from orchestrator.verbs.live.translate import current_map
from tests.faults.estate import at_work

pytestmark = [pytest.mark.drills, pytest.mark.timeout(600)]

_CONNECTOR = "west-to-east-source"
_COPY = "west.orders"
_UNSYNCED = 300
# Source offsets of a partition: half a minute's records, several times what the copy needs to come again.
_SYNCED = 3_000


def test_what_stood_in_the_copy_is_lost_and_no_position_skips_what_stands_in_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mirror may not write syncs while the copy goes and comes again: it logs that, and copies on."""
    with at_work(tmp_path / "state", monkeypatch) as estate:
        simulation = estate.simulation()
        east = simulation.cluster("east")
        connect = connect_cluster(simulation.topology, "east")
        mirror = simulation.topology.replication[0]
        partitions = simulation.cluster("west").topics(["orders"])["orders"].partitions
        # The new copy's first sync steps back only where the old one's reach further, and a map is exact
        # only where somebody has looked at the writers.
        _await(lambda: all(_synced(simulation, tp) >= _SYNCED for tp in partitions))
        _await(lambda: all(_gaps(simulation)[tp] == "no" for tp in partitions))
        rules = AccessRules("east", east.properties)
        principal = simulation.topology.clusters["east"].mirror_principal
        kept_out = Acl(principal, "WRITE", "DENY", "TOPIC", mirror.offset_syncs_topic)
        rules.add([kept_out])
        try:
            syncs = _records(east, mirror.offset_syncs_topic)
            # No sync tells of a copy that is made again: it may be deleted once more while it grows too fast.
            _await(lambda: max(_recreated(simulation).values()) < _SYNCED)
            unsynced = _records(east, mirror.offset_syncs_topic) - syncs
        finally:
            rules.remove([kept_out])
        _await(lambda: _records(east, mirror.offset_syncs_topic) > syncs + unsynced + 10)
        stop_producers(simulation, "west")
        ends = simulation.cluster("west").end_offsets(partitions)
        _await(
            lambda: all(connect.source_offsets(_CONNECTOR).get(tp, -1) + 1 == end for tp, end in ends.items())
        )
        offset_map = current_map(simulation.topology, mirror, east).offset_map
        lost = answered = exact = 0
        for tp in partitions:
            source = _contents(simulation.cluster("west"), tp)
            copy = _contents(east, mirror.mirrored(tp))
            lost += len(set(source.values()) - set(copy.values()))
            for upstream in range(0, ends[tp] + 1, 7):
                found = offset_map.translate(tp, upstream)
                if found.offset is None:
                    continue
                answered += 1
                wanted = {value for u, value in source.items() if u >= upstream} & set(copy.values())
                assert wanted <= {value for d, value in copy.items() if d >= found.offset}, (tp, upstream)
                again = {value for u, value in source.items() if u < upstream} & {
                    value for d, value in copy.items() if d >= found.offset
                }
                assert not (found.is_exact and again), (tp, upstream, found)
                exact += found.is_exact
        gap = json.loads(estate.must("status", "--json"))["mirrors"][0]["mirror"]["gaps"]["orders"]
        print(f"{lost=} {answered=} {exact=} {unsynced=} {gap=}")  # noqa: T201 - the evidence of a run
        assert lost > 0
        assert exact > 0
        assert int(gap.partition(" ")[0].replace(",", "")) >= lost


def _recreated(simulation: Simulation) -> Mapping[TopicPartition, int]:
    """Delete the copy, which MirrorMaker makes again; how far it has grown once it holds some records."""
    east = simulation.cluster("east")
    deleted = east.topics([_COPY])[_COPY]
    _delete(simulation)
    _await(
        lambda: (
            east.topics([_COPY])[_COPY].topic_id != deleted.topic_id and _records(east, _COPY) > _UNSYNCED
        ),
        lambda: _run_again(simulation),
    )
    return east.end_offsets(deleted.partitions)


def _synced(simulation: Simulation, tp: TopicPartition) -> int:
    """How far the offset syncs tell of a partition's copy, in source offsets."""
    mirror = simulation.topology.replication[0]
    found = current_map(simulation.topology, mirror, simulation.cluster("east")).offset_map
    return found.mirrored_end(tp) or 0


def _gaps(simulation: Simulation) -> Mapping[TopicPartition, SourceGaps]:
    mirror = simulation.topology.replication[0]
    history = read_samples(simulation.cluster("east"), mirror.samples_topic)
    return sampled_gaps(simulation.topology, mirror, history)


def _contents(cluster: KafkaCluster, tp: TopicPartition) -> dict[int, bytes]:
    """Offset to content, which is another one for each record of the workload."""
    log = cluster.log_ends([tp])[tp]
    chunks = read_records(cluster.name, cluster.properties, {tp: (log.start_offset, log.end_offset)})
    return {record.offset: (record.value or b"") for chunk in chunks for record in chunk}


def _run_again(simulation: Simulation) -> None:
    """A task that gave up while the copy was away is started again, as a person would."""
    connect = connect_cluster(simulation.topology, "east")
    if any(task.state == "FAILED" for task in connect.connectors()[_CONNECTOR].tasks):
        connect.restart(_CONNECTOR)


def _records(cluster: KafkaCluster, topic: str) -> int:
    found = cluster.topics([topic]).get(topic)
    return -1 if found is None else sum(cluster.end_offsets(found.partitions).values())


def _delete(simulation: Simulation) -> None:
    with simulation.cluster("east") as east:
        east.delete_topics([_COPY])


def _await(condition: Callable[[], bool], help_on: Callable[[], None] = lambda: None) -> None:
    deadline = time.monotonic() + 120
    while True:
        try:
            if condition():
                return
            help_on()
        except (DcctlError, KeyError):
            pass  # the topic, or the first look at it, is on its way
        assert time.monotonic() < deadline
        time.sleep(0.3)
