"""A source written in transactions, some of them aborted, is lost: each position is held against the records.

One of its topics is compacted at both sides as well. There a position is exact only if the record right
before it still stood when it was looked for; any other has to be safe, and to say so.
"""

from __future__ import annotations

import json
import logging
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import structlog
import yaml
from confluent_kafka import Producer

from orchestrator.adapters.kafka import KafkaCluster
from orchestrator.adapters.kafka.isolated import IsolatedCluster
from orchestrator.adapters.kafka.writer import RecordWriter
from orchestrator.applications.by_content import with_sampled_places
from orchestrator.simulation.running import Simulation
from orchestrator.snapshot.live.reader import read_samples
from orchestrator.snapshot.live.tidying import create_samples_topic
from orchestrator.snapshot.samples import encode_sample
from orchestrator.values import TopicPartition
from orchestrator.verbs.live.translate import current_map
from orchestrator.watch.fingerprints import FingerprintKeeper
from orchestrator.watch.recorder import Recorder
from orchestrator.watch.sampler import SourceSampler
from orchestrator.watch.source import KafkaSource
from tests.faults.estate import SMALL, at_work
from tests.faults.logs import Records, read_from, records_of

pytestmark = [pytest.mark.drills, pytest.mark.timeout(900)]

_GROUPS = [f"reader-{number}" for number in range(48)]
_TRANSACTIONS = 1_500
_ROUNDS = 31
logger = logging.getLogger(__name__)


def test_each_position_under_transactions_is_exact_and_nothing_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """48 groups at 2 partitions: 96 positions, at records, at markers, in aborted records, and at the end."""
    with at_work(tmp_path / "state", monkeypatch, _with_a_compacted_topic(tmp_path)) as estate:
        simulation = estate.simulation()
        west, mirror = simulation.cluster("west"), simulation.topology.replication[0]
        balances = west.topics(["balances"])["balances"].partitions
        written = _write_until_compacted(west, balances)
        _write_in_transactions(west)
        partitions = west.topics(["orders"])["orders"].partitions
        source = records_of(west, partitions, "read_committed") | written
        positions = _spread(source)
        for group, offsets in positions.items():
            west.write_group_offsets(group, offsets)
        stand = {
            tp: {offset for offset, _ in records}
            for tp, records in records_of(west, balances, "read_committed").items()
        }
        wanted = {
            (tp, offset)
            for offsets in positions.values()
            for tp, offset in offsets.items()
            if tp.topic == "orders" or offset - 1 in stand[tp]
        }

        def are_kept() -> bool:
            found = read_samples(simulation.cluster("east"), mirror.samples_topic).fingerprints
            kept = {(tp, one.position) for tp, known in found.items() for one in known}
            return wanted <= kept

        _await(are_kept)
        _await(lambda: _are_copied(simulation, source))
        without_s = _rounds_s(simulation, 0)
        with_s = _rounds_s(simulation, simulation.topology.failover.fingerprints)
        print(  # noqa: T201 - the figures of a run
            f"a round of the watcher: {without_s * 1000:.0f} ms, with fingerprints {with_s * 1000:.0f} ms "
            f"({with_s / without_s - 1:+.0%})"
        )
        estate.must("sim", "kill", "west")
        target = simulation.cluster("east")
        copies = records_of(target, [mirror.mirrored(tp) for tp in source], "read_uncommitted")
        by_mirrormaker = target.committed(list(positions))
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
        orders, compacted = _Figures(), _Figures()
        for row in told["translations"]:
            tp = TopicPartition(row["topic"], row["partition"])
            if tp not in source:
                continue
            figures = orders if tp.topic == "orders" else compacted
            position, there = row["source_offset"], copies[mirror.mirrored(tp)]
            again, left_out = read_from(source[tp], there, position, row["target_offset"])
            alone = by_map.translate(tp, position).offset
            assert alone is not None
            # MirrorMaker writes nothing for a position that it cannot translate: all is read again then.
            synced = by_mirrormaker[row["group"]].get(mirror.mirrored(tp), 0)
            figures.add(
                row["exact"],
                again,
                left_out,
                *(read_from(source[tp], there, position, place)[0] for place in (alone, synced)),
            )
            assert again <= (row["reread_at_most"] or 0), row
            assert not (row["exact"] and again), row
        print(  # noqa: T201 - the figures of a run
            f"under transactions: {orders}\ncompacted as well: {compacted}\n"
            f"{took_s:.1f} s, {added_s:.2f} s of them for the search"
        )
        assert (orders.count, orders.exact, orders.again, orders.skipped) == (96, 96, 0, 0), [
            r for r in told["translations"] if not r["exact"] and r["topic"] == "orders"
        ]
        # Where the copy is compacted as well a later record that is alike could stand in for one that is gone.
        assert (compacted.count, compacted.skipped) == (96, 0)
        assert compacted.exact < 96


def _rounds_s(simulation: Simulation, fingerprints: int) -> float:
    """The median of a watcher's rounds that record everything, at their beat. Nothing is known before the first."""
    west, east = simulation.cluster("west"), simulation.cluster("east")
    mirror = simulation.topology.replication[0]
    addresses = str(west.properties["bootstrap.servers"]).split(",")
    topic = f"rounds-{fingerprints}"
    create_samples_topic(east, topic)
    writers = read_samples(east, mirror.samples_topic).writers
    sampler = SourceSampler(
        KafkaSource(IsolatedCluster("west", addresses, west.properties)), addresses, mirror.topics, _GROUPS
    )
    keeper = FingerprintKeeper(
        west.contents, mirror.topics, "rounds", structlog.get_logger(), bytes_per_round=fingerprints
    )
    writer = RecordWriter("east", east.properties, topic)
    sampler.warm_up(30)
    keeper.start()
    took_s, kept = list[float](), 0
    try:
        for _ in range(_ROUNDS):
            begun_s = time.perf_counter()
            reading = sampler.sample()
            keeper.offer(reading, writers)
            samples, round_ = Recorder("rounds").records(reading)
            due = keeper.due()
            writer.write([encode_sample(sample) for sample in (*samples, *due, round_)], 30)
            took_s.append(time.perf_counter() - begun_s)
            kept += sum(len(sample.fingerprints) for sample in due)
            time.sleep(max(0.0, 1.0 - took_s[-1]))
    finally:
        keeper.stop()
        sampler.close()
        writer.close()
    assert bool(kept) == bool(fingerprints)
    return sorted(took_s)[_ROUNDS // 2]


@dataclass
class _Figures:
    """Of some positions: how many are exact, and what is read again and skipped from their places on."""

    count: int = 0
    exact: int = 0
    again: int = 0
    skipped: int = 0
    again_by_map: int = 0
    again_by_mirrormaker: int = 0

    def add(self, is_exact: bool, again: int, skipped: int, by_map: int, by_mirrormaker: int) -> None:
        """One more. The last two: what would be read again by the map alone, and by MirrorMaker's offsets."""
        self.count, self.exact = self.count + 1, self.exact + is_exact
        self.again, self.skipped = self.again + again, self.skipped + skipped
        self.again_by_map += by_map
        self.again_by_mirrormaker += by_mirrormaker

    def __str__(self) -> str:
        return (
            f"{self.count} positions, exact {self.exact}, read again {self.again} (by the map alone "
            f"{self.again_by_map}, by MirrorMaker's own offsets {self.again_by_mirrormaker}), skipped {self.skipped}"
        )


def _with_a_compacted_topic(folder: Path) -> Path:
    """The small estate, and `balances`, of which Kafka keeps only the newest record of each key."""
    told = yaml.safe_load(SMALL.read_text(encoding="utf-8"))
    config = {
        "cleanup.policy": "compact",
        "segment.ms": "1500",
        "min.cleanable.dirty.ratio": "0.01",
        "max.compaction.lag.ms": "2000",
    }
    row = {"name": "balances", "cluster": "west", "partitions": 2, "replicas": 1, "min_insync_replicas": 1}
    told["topics"].append({**row, "config": config})
    told["replication"][0]["topics"].append("balances")
    file = folder / "small-compacted.yaml"
    file.write_text(yaml.safe_dump(told), encoding="utf-8")
    return file


def _write_until_compacted(
    west: KafkaCluster, partitions: Any
) -> dict[TopicPartition, list[tuple[int, bytes]]]:
    """Few keys, again and again, in transactions; and all that was committed, what is gone included."""
    written: dict[TopicPartition, dict[int, bytes]] = {tp: {} for tp in partitions}
    for burst in range(5):
        _write_in_transactions(west, "balances", 120, keys=40, first=burst * 120)
        time.sleep(2.0)
        for tp, records in records_of(west, partitions, "read_committed").items():
            written[tp].update(records)

    def are_compacted() -> bool:
        now = records_of(west, partitions, "read_committed")
        return all(len(now[tp]) < len(written[tp]) * 0.9 for tp in written)

    _await(are_compacted)
    _write_in_transactions(west, "balances", 120, keys=40, first=600)
    for tp, records in records_of(west, partitions, "read_committed").items():
        written[tp].update(records)
    return {tp: sorted(records.items()) for tp, records in written.items()}


def _write_in_transactions(
    west: KafkaCluster,
    topic: str = "orders",
    transactions: int = _TRANSACTIONS,
    *,
    keys: int = 0,
    first: int = 0,
) -> None:
    """A fifth of them are aborted. `keys`: so many, or none; `first`: the number of the first one."""
    chosen = random.Random(7 + first)  # noqa: S311 - the same each time
    producer = Producer({**west.properties, "transactional.id": "batches"}, logger=logger)
    producer.init_transactions(60)
    for number in range(first, first + transactions):
        producer.begin_transaction()
        for record in range(chosen.randint(1, 12)):
            key = b"%d" % chosen.randrange(keys) if keys else None
            value = f"batch {number} {record}".encode()
            producer.produce(topic, value, key, partition=chosen.randint(0, 1))
        if chosen.random() < 0.2:
            producer.flush(20)
            producer.abort_transaction(20)
        else:
            producer.commit_transaction(20)


def _spread(source: Records) -> dict[str, dict[TopicPartition, int]]:
    """Anywhere from the beginning to the end, records or not."""
    chosen = random.Random(11)  # noqa: S311 - the same each time
    return {
        group: {tp: chosen.randint(1, records[-1][0] + 1) for tp, records in source.items()}
        for group in _GROUPS
    }


def _are_copied(simulation: Simulation, source: Records) -> bool:
    mirror, east = simulation.topology.replication[0], simulation.cluster("east")
    copies = records_of(east, [mirror.mirrored(tp) for tp in source], "read_uncommitted")
    return all(
        records[-1][1] in {value for _, value in copies[mirror.mirrored(tp)]}
        for tp, records in source.items()
    )


def _await(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 150
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(1.0)
