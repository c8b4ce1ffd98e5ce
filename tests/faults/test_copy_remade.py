"""A copy that is deleted and made anew under load while its first offset syncs are lost: judged by the records."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.adapters.kafka import KafkaCluster, read_records
from orchestrator.adapters.kafka.access import AccessRules
from orchestrator.adapters.kafka.java_admin import JavaAdmin
from orchestrator.errors import DcctlError
from orchestrator.operations.translate import current_map
from orchestrator.simulation.simulation import Simulation
from orchestrator.simulation.workload.install import stop_producers
from orchestrator.values import Acl, TopicPartition
from orchestrator.watch.estate import connect_cluster
from tests.faults.estate import at_work

pytestmark = [pytest.mark.drills, pytest.mark.timeout(600)]

_WORK_S = 5.0
_CONNECTOR = "west-to-east-source"
_COPY = "west.orders"
_UNSYNCED = 300


def test_what_stood_in_the_copy_is_lost_and_no_position_skips_what_stands_in_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mirror may not write syncs while the copy goes and comes again: it logs that, and copies on."""
    with at_work(tmp_path / "state", monkeypatch) as estate:
        simulation = estate.simulation()
        east = simulation.cluster("east")
        connect = connect_cluster(simulation.topology, "east")
        time.sleep(_WORK_S)
        mirror = simulation.topology.replication[0]
        rules = AccessRules("east", east.properties)
        principal = simulation.topology.clusters["east"].mirror_principal
        kept_out = Acl(principal, "WRITE", "DENY", "TOPIC", mirror.offset_syncs_topic)
        rules.add([kept_out])
        try:
            syncs = _records(east, mirror.offset_syncs_topic)
            _delete(simulation)
            estate.must("apply", str(simulation.topology_path), "--yes")
            _await(lambda: _records(east, _COPY) > _UNSYNCED, lambda: _run_again(simulation))
            unsynced = _records(east, mirror.offset_syncs_topic) - syncs
        finally:
            rules.remove([kept_out])
        _await(lambda: _records(east, mirror.offset_syncs_topic) > syncs + unsynced + 10)
        stop_producers(simulation, "west")
        partitions = simulation.cluster("west").topics(["orders"])["orders"].partitions
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


def _contents(cluster: KafkaCluster, tp: TopicPartition) -> dict[int, bytes]:
    """Offset to content, which is another one for each record of the workload."""
    log = cluster.log_ends([tp])[tp]
    chunks = read_records(cluster.name, cluster.properties, {tp: (log.start_offset, log.end_offset)})
    return {record.offset: (record.value or b"") for chunk in chunks for record in chunk}


def _run_again(simulation: Simulation) -> None:
    """A task that gave up while the copy was away is started again, as a person would."""
    connect = connect_cluster(simulation.topology, "east")
    if any(task["state"] == "FAILED" for task in connect.connectors()[_CONNECTOR]["tasks"]):
        connect.restart(_CONNECTOR)


def _records(cluster: KafkaCluster, topic: str) -> int:
    found = cluster.topics([topic]).get(topic)
    return -1 if found is None else sum(cluster.end_offsets(found.partitions).values())


def _delete(simulation: Simulation) -> None:
    cluster = simulation.topology.clusters["east"]
    with JavaAdmin("east", cluster.bootstrap, cluster.client) as admin:
        admin.delete_topics([_COPY])


def _await(condition: Callable[[], bool], help_on: Callable[[], None] = lambda: None) -> None:
    deadline = time.monotonic() + 120
    while True:
        try:
            if condition():
                return
            help_on()
        except DcctlError:
            pass  # the topic is on its way
        assert time.monotonic() < deadline
        time.sleep(0.3)
