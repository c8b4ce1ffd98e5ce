"""A source written in transactions, some of them aborted, is lost: each position is held against the records."""

from __future__ import annotations

import json
import logging
import random
import time
from bisect import bisect_left
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from orchestrator.adapters.kafka import KafkaCluster, read_records
from orchestrator.applications.by_content import with_sampled_places
from orchestrator.simulation.running import Simulation
from orchestrator.snapshot.live.reader import read_samples
from orchestrator.values import TopicPartition
from orchestrator.verbs.live.translate import current_map
from tests.faults.estate import at_work

pytestmark = [pytest.mark.drills, pytest.mark.timeout(900)]

_GROUPS = [f"reader-{number}" for number in range(48)]
_TRANSACTIONS = 1_500
logger = logging.getLogger(__name__)
Records = Mapping[TopicPartition, list[tuple[int, bytes]]]


def test_each_position_under_transactions_is_exact_and_nothing_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """48 groups at 2 partitions: 96 positions, at records, at markers, in aborted records, and at the end."""
    with at_work(tmp_path / "state", monkeypatch) as estate:
        simulation = estate.simulation()
        west, mirror = simulation.cluster("west"), simulation.topology.replication[0]
        _write_in_transactions(west)
        partitions = west.topics(["orders"])["orders"].partitions
        source = _records(west, partitions, "read_committed")
        positions = _spread(source)
        for group, offsets in positions.items():
            west.write_group_offsets(group, offsets)
        wanted = {(tp, offset) for offsets in positions.values() for tp, offset in offsets.items()}

        def are_kept() -> bool:
            found = read_samples(simulation.cluster("east"), mirror.samples_topic).fingerprints
            kept = {(tp, one.position) for tp, known in found.items() for one in known}
            return wanted <= kept

        _await(are_kept)
        _await(lambda: _are_copied(simulation, source))
        estate.must("sim", "kill", "west")
        target = simulation.cluster("east")
        copies = _records(target, [mirror.mirrored(tp) for tp in partitions], "read_uncommitted")
        known = current_map(simulation.topology, mirror, target)
        by_map = known.offset_map
        begun_s = time.monotonic()
        with_sampled_places(target, mirror, by_map, known.history, known.logs)
        added_s = time.monotonic() - begun_s
        words = [word for group in positions for word in ("--group", group)]
        begun_s = time.monotonic()
        told = json.loads(
            estate.must(
                "offsets", "translate", str(simulation.topology_path), "--to", "east", *words, "--json"
            )
        )
        took_s = time.monotonic() - begun_s
        found: dict[str, list[int]] = {"content": [], "map": []}
        skipped = exact = 0
        for row in told["translations"]:
            tp = TopicPartition(row["topic"], row["partition"])
            if tp.topic != "orders":
                continue
            position, exact = row["source_offset"], exact + row["exact"]
            again, left_out = _compared(
                source[tp], copies[mirror.mirrored(tp)], position, row["target_offset"]
            )
            found["content"].append(again)
            skipped += left_out
            alone = by_map.translate(tp, position).offset
            assert alone is not None
            found["map"].append(_compared(source[tp], copies[mirror.mirrored(tp)], position, alone)[0])
            assert again <= (row["reread_at_most"] or 0), row
            assert not (row["exact"] and again), row
        print(  # noqa: T201 - the figures of a run
            f"{len(found['content'])} positions under transactions: exact {exact}, read again "
            f"{sum(found['content'])}, skipped {skipped}; by the map alone read again {sum(found['map'])} at "
            f"{sum(map(bool, found['map']))} positions; {took_s:.1f} s, {added_s:.2f} s of them for the search"
        )
        assert added_s < 2.0
        assert len(found["content"]) == 96
        assert skipped == 0
        assert (exact, sum(found["content"])) == (96, 0), [r for r in told["translations"] if not r["exact"]]


def _write_in_transactions(west: KafkaCluster) -> None:
    chosen = random.Random(7)  # noqa: S311 - the same each time
    producer = Producer({**west.properties, "transactional.id": "batches"}, logger=logger)
    producer.init_transactions(60)
    for number in range(_TRANSACTIONS):
        producer.begin_transaction()
        for record in range(chosen.randint(1, 12)):
            producer.produce("orders", f"batch {number} {record}".encode(), partition=chosen.randint(0, 1))
        if chosen.random() < 0.2:
            producer.flush(20)
            producer.abort_transaction(20)
        else:
            producer.commit_transaction(20)


def _records(cluster: KafkaCluster, partitions: Any, isolation: str) -> Records:
    logs = cluster.log_ends(partitions)
    found: dict[TopicPartition, list[tuple[int, bytes]]] = {tp: [] for tp in logs}
    ranges = {tp: (log.start_offset, log.end_offset) for tp, log in logs.items()}
    for chunk in read_records(cluster.name, cluster.properties, ranges, isolation_level=isolation):
        for record in chunk:
            tp = TopicPartition(record.topic, record.partition)
            found[tp].append((record.offset, record.value or b""))
    return {tp: sorted(records) for tp, records in found.items()}


def _spread(source: Records) -> dict[str, dict[TopicPartition, int]]:
    """Anywhere from the beginning to the end, records or not."""
    chosen = random.Random(11)  # noqa: S311 - the same each time
    return {
        group: {tp: chosen.randint(1, records[-1][0] + 1) for tp, records in source.items()}
        for group in _GROUPS
    }


def _compared(
    source: list[tuple[int, bytes]], copies: list[tuple[int, bytes]], position: int, place: int
) -> tuple[int, int]:
    """How many records below the position are read from that place on, and how many from it on are not."""
    of_source = {value: offset for offset, value in source}
    read = [of_source[value] for offset, value in copies if offset >= place and value in of_source]
    there = {value for _, value in copies}
    wanted = {offset for offset, value in source[bisect_left(source, (position,)) :] if value in there}
    return sum(offset < position for offset in read), len(wanted - set(read))


def _are_copied(simulation: Simulation, source: Records) -> bool:
    mirror, east = simulation.topology.replication[0], simulation.cluster("east")
    copies = _records(east, [mirror.mirrored(tp) for tp in source], "read_uncommitted")
    return all(
        records[-1][1] in {value for _, value in copies[mirror.mirrored(tp)]}
        for tp, records in source.items()
    )


def _await(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 150
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(1.0)
