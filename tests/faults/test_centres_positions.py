"""A centre is lost: each position of its consumers is held against the records that the other centre has."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest
import yaml
from confluent_kafka import Producer

from orchestrator.adapters.kafka import KafkaCluster
from orchestrator.simulation.bring_up import simulation_up
from orchestrator.simulation.running import Simulation
from orchestrator.snapshot.live.reader import read_samples
from orchestrator.snapshot.watched import watched_clusters
from orchestrator.topology.loading import load_topology
from orchestrator.values import TopicPartition
from tests.faults.estate import Estate
from tests.faults.logs import Records, read_from, records_of
from tests.layouts.test_at_work import FILES, eventually

pytestmark = [pytest.mark.drills, pytest.mark.timeout(900), pytest.mark.usefixtures("own_state")]

_GROUPS = [f"reader-{number}" for number in range(40)]
_COPIES = {"dc1.orders": 3, "dc2.orders": 2}
_STEADY_S = 5.0
_BURST, _LAST = 100, 6_000
logger = logging.getLogger(__name__)


def test_each_position_at_a_lost_centre_has_its_place_at_the_other_one(tmp_path: Path) -> None:
    """40 groups at 5 partitions: 200 positions. The copies differ, since a worker of each centre was killed."""
    estate = Estate(tmp_path / "state")
    simulation = simulation_up(load_topology(_with_readers(tmp_path)))
    try:
        copies = [
            TopicPartition(topic, number) for topic, count in _COPIES.items() for number in range(count)
        ]
        written = 0
        for killed in ("centre", "reserve"):
            stop = Event()
            with ThreadPoolExecutor(1) as pool:
                writing = pool.submit(_write_until, stop, simulation, written)
                time.sleep(_STEADY_S)
                _kill_and_restart(estate, simulation, killed)
                stop.set()
                written = writing.result()
            eventually(lambda upto=written: _are_copied(simulation, copies, upto))
            # What is copied from here on stands once at either centre.
            time.sleep(_STEADY_S)
        begins = simulation.cluster("centre").end_offsets(copies)
        _write(simulation, range(written, written + _LAST))
        eventually(lambda: _are_copied(simulation, copies, written + _LAST))
        at_centre = records_of(simulation.cluster("centre"), copies, "read_uncommitted")
        positions = _spread(at_centre, begins)
        for group, offsets in positions.items():
            simulation.cluster("centre").write_group_offsets(group, offsets)
        eventually(lambda: _are_sampled(simulation, positions))
        times = _times(simulation.cluster("centre"), copies)
        estate.must("sim", "kill", "centre")
        begun_s = time.monotonic()
        done = estate.command("failover", "--to", "reserve", "--attest-down", "centre", "--yes")
        took_s = time.monotonic() - begun_s
        # Nobody reads here: the positions are written, and then there is nobody to start.
        assert done.returncode != 0
        assert "Start the consumers at reserve" in done.stdout, (done.stdout, done.stderr)
        reserve = simulation.cluster("reserve")
        at_reserve = records_of(reserve, copies, "read_uncommitted")
        placed = reserve.committed(_GROUPS)
        exact = again = skipped = by_time = skipped_by_time = 0
        for group, offsets in positions.items():
            ends = reserve.end_offsets(offsets)
            asked = {tp: times[tp][at] for tp, at in offsets.items() if at in times[tp]}
            reset = ends | reserve.offsets_for_times(asked)
            for tp, position in offsets.items():
                found = read_from(at_centre[tp], at_reserve[tp], position, placed[group][tp])
                again, skipped, exact = again + found[0], skipped + found[1], exact + (found == (0, 0))
                found = read_from(at_centre[tp], at_reserve[tp], position, reset[tp])
                by_time, skipped_by_time = by_time + found[0], skipped_by_time + found[1]
        repeated = {
            name: [len(found) - len({value for _, value in found}) for found in logs.values()]
            for name, logs in (("centre", at_centre), ("reserve", at_reserve))
        }
        print(  # noqa: T201 - the figures of a run
            f"200 positions at centre, at reserve: exact {exact}, read again {again}, skipped {skipped}; reset by "
            f"the time of the record: read again {by_time}, skipped {skipped_by_time}; copied twice before, by "
            f"partition: {repeated}; {took_s:.1f} s"
        )
        assert repeated["centre"] != repeated["reserve"], "alike: any position would be its own place"
        assert (exact, again, skipped) == (200, 0, 0)
    finally:
        simulation.down()


def _with_readers(folder: Path) -> Path:
    """The estate of two centres, with so many groups that read at one of them."""
    told = yaml.safe_load((FILES / "two-centres.yaml").read_text(encoding="utf-8"))
    row = {"cluster": "centre", "kind": "group", "topics": list(_COPIES)}
    told["consumers"] = [{"name": group, **row, "principal": f"User:{group}"} for group in _GROUPS]
    file = folder / "two-centres-many-readers.yaml"
    file.write_text(yaml.safe_dump(told, sort_keys=False), encoding="utf-8")
    return file


def _write_until(stop: Event, simulation: Simulation, first: int) -> int:
    """Bursts, the first of which begins with this number. Returns that behind the last."""
    while not stop.is_set():
        _write(simulation, range(first, first + _BURST))
        first += _BURST
        time.sleep(0.1)
    return first


def _write(simulation: Simulation, numbers: Sequence[int]) -> None:
    """To each partition of each source, as fast as it goes: many records of one millisecond."""
    for name in ("dc1", "dc2"):
        producer = Producer({**simulation.cluster(name).properties, "acks": "all"}, logger=logger)
        for number in numbers:
            for partition in range(_COPIES[f"{name}.orders"]):
                producer.produce("orders", b"%d %d" % (partition, number), partition=partition)
        assert producer.flush(60) == 0


def _kill_and_restart(estate: Estate, simulation: Simulation, name: str) -> None:
    (worker,) = simulation.estate.workers_of(name)
    estate.must("sim", "kill", f"{name}/{worker.program}")
    estate.must("sim", "restart", f"{name}/{worker.program}")


def _are_copied(simulation: Simulation, copies: list[TopicPartition], upto: int) -> bool:
    """Whether the newest copy in each log is of the last record written."""
    return all(
        records and records[-1][1] == b"%d %d" % (tp.partition, upto - 1)
        for name in ("centre", "reserve")
        for tp, records in records_of(simulation.cluster(name), copies, "read_uncommitted").items()
    )


def _spread(records: Records, begins: dict[TopicPartition, int]) -> dict[str, dict[TopicPartition, int]]:
    """Anywhere in what was written last, its end included."""
    chosen = random.Random(5)  # noqa: S311 - the same each time
    return {
        group: {tp: chosen.randint(begins[tp], found[-1][0] + 1) for tp, found in records.items()}
        for group in _GROUPS
    }


def _are_sampled(simulation: Simulation, positions: dict[str, dict[TopicPartition, int]]) -> bool:
    (watched,) = (one for one in watched_clusters(simulation.topology) if one.cluster == "centre")
    history = read_samples(simulation.cluster("reserve"), watched.samples_topic)
    return all(
        {tp: one.offset for tp, one in history.positions(group).items()}.items() >= offsets.items()
        for group, offsets in positions.items()
    )


def _times(centre: KafkaCluster, copies: list[TopicPartition]) -> dict[TopicPartition, dict[int, float]]:
    """When each record was written (Unix seconds): what a reset by time could know at best."""
    found: dict[TopicPartition, dict[int, float]] = {tp: {} for tp in copies}
    ranges = {tp: (log.start_offset, log.end_offset) for tp, log in centre.log_ends(copies).items()}
    for chunk in centre.read_records(ranges):
        for record in chunk:
            tp = TopicPartition(record.topic, record.partition)
            found[tp][record.offset] = record.timestamp_ms / 1000
    return found
