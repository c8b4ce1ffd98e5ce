"""How far the workload is, read from its ledgers: cheap enough to be called each second."""

from __future__ import annotations

import csv
import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from orchestrator.evidence.audit.ledgers import END_MARK, lives, positions_path
from orchestrator.evidence.clients.config import life_now
from orchestrator.evidence.clients.places import LIFE_AT_SOURCE, partitions_read, place_in, places
from orchestrator.simulation.running import Simulation
from orchestrator.topology.model import Consumer
from orchestrator.values import TopicPartition


@dataclass(frozen=True, slots=True)
class WorkloadProgress:
    """Records acknowledged per producer and processed per consumer, all lives together.

    `aborted`: written in transactions that were aborted on purpose.
    """

    acked: Mapping[str, int]
    processed: Mapping[str, int]
    aborted: Mapping[str, int] = field(default_factory=dict)

    @property
    def written(self) -> int:
        """Records that brokers have taken, whatever became of their transactions."""
        return sum(self.acked.values()) + sum(self.aborted.values())


class _Counter:
    """Counts a pattern in files that only grow, reading only what was added since the last time."""

    def __init__(self) -> None:
        self._seen: dict[tuple[Path, int, bytes], tuple[int, int]] = {}

    def count(self, path: Path, pattern: bytes) -> int:
        """How often the pattern (without overlaps) is in the file now; 0 for a file that is gone."""
        try:
            with path.open("rb") as file:
                # A folder of the same name may hold another file by now.
                key = (path, os.fstat(file.fileno()).st_ino, pattern)
                start, found = self._seen.get(key, (0, 0))
                file.seek(start)
                added = file.read()
        except OSError:
            return 0
        found += added.count(pattern)
        # The pattern's first bytes may be the last ones that were there.
        self._seen[key] = start + max(0, len(added) - len(pattern) + 1), found
        return found


_COUNTER = _Counter()


def workload_progress(ledgers: Path) -> WorkloadProgress:
    """Count lines of the ledgers as they stand. A Spark query counts by what it committed."""
    acked, aborted = (_told(ledgers, pattern) for pattern in (b"\nack,", b"\naborted,"))
    processed = {}
    for folder in sorted((ledgers / "consumers").glob("*")):
        logs = [_COUNTER.count(path, b"\n") - 1 for path in folder.glob("life-*.processed.csv")]
        if logs:
            processed[folder.name] = sum(max(lines, 0) for lines in logs)
            continue
        processed[folder.name] = sum(
            sum(offset - first.get(tp, 0) for tp, offset in last.items())
            for life in lives(ledgers, "consumers", folder.name)
            for first, last in [_first_and_last(positions_path(ledgers, folder.name, life), life)]
        )
    return WorkloadProgress(acked, processed, aborted)


def acked_in(ledgers: Path, topic: str, producers: Collection[str] | None = None) -> int:
    """Records of one topic that producers were told are there, in all lives: `ack` lines alone name one.

    `producers`: only those, where others write a topic of the same name at another cluster.
    """
    told = _told(ledgers, f",,{topic},".encode())
    return sum(count for name, count in told.items() if producers is None or name in producers)


def _told(ledgers: Path, pattern: bytes) -> dict[str, int]:
    """How often a pattern stands in the ledgers of each producer."""
    return {
        folder.name: sum(_COUNTER.count(path, pattern) for path in folder.glob("life-*.csv"))
        for folder in sorted((ledgers / "producers").glob("*"))
    }


def lags_text(lags: Mapping[str, int]) -> str:
    """`billing 1,083, shipping 63`; empty for none."""
    return ", ".join(f"{name} {lag:,}" for name, lag in lags.items())


def lags(simulation: Simulation, cluster: str) -> dict[str, int]:
    """Records that each consumer has still to process at `cluster`, by its own log and the log ends there.

    At the target of a mirror the mirrored and the landing topics count. A consumer that has not been
    seen there yet has everything before it. Those of one group share what they read: each counts what all of
    them have left.
    """
    remaining = {}
    reading: dict[str, tuple[list[TopicPartition], dict[TopicPartition, int]]] = {}
    for consumer in simulation.topology.consumers:
        found = _reads(simulation, consumer, cluster)
        if found is not None:
            reading[consumer.name] = found
    by_group: dict[str, dict[TopicPartition, int]] = {}
    for consumer in simulation.topology.consumers:
        if consumer.groups and consumer.name in reading:
            newest = by_group.setdefault(consumer.group_id, {})
            for tp, at in reading[consumer.name][1].items():
                newest[tp] = max(at, newest.get(tp, 0))
            reading[consumer.name] = (reading[consumer.name][0], newest)
    wanted = {tp for partitions, _ in reading.values() for tp in partitions}
    ends = simulation.cluster(cluster).log_ends(wanted)
    for name, (partitions, positions) in reading.items():
        remaining[name] = sum(
            max(0, ends[tp].end_offset - positions.get(tp, ends[tp].start_offset)) for tp in partitions
        )
    return remaining


def lags_at_work(simulation: Simulation, clusters: Collection[str] | None = None) -> dict[str, int]:
    """The same for each consumer where it lives now, by its newest life; of those at these clusters."""
    topology = simulation.topology
    found: dict[str, int] = {}
    at = {consumer.name: _cluster_now(simulation, consumer) for consumer in topology.consumers}
    for cluster in dict.fromkeys(at.values()):
        if clusters is None or cluster in clusters:
            here = lags(simulation, cluster)
            found |= {name: lag for name, lag in here.items() if at[name] == cluster}
    return {consumer.name: found[consumer.name] for consumer in topology.consumers if consumer.name in found}


def _cluster_now(simulation: Simulation, consumer: Consumer) -> str:
    life = max(lives(simulation.ledgers, "consumers", consumer.name), default=LIFE_AT_SOURCE)
    return place_in(simulation.topology, consumer, life).cluster


def is_drained(simulation: Simulation, cluster: str) -> bool:
    """Whether every consumer has processed and committed all there is at `cluster`."""
    return not any(lags(simulation, cluster).values())


def _reads(
    simulation: Simulation, consumer: Consumer, cluster: str
) -> tuple[list[TopicPartition], dict[TopicPartition, int]] | None:
    """What a consumer reads at a cluster, and its newest positions there; None if it does not live there."""
    topology = simulation.topology
    lived = tuple(lives(simulation.ledgers, "consumers", consumer.name))
    here = [place for place in places(topology, consumer) if place.cluster == cluster]
    if not here:
        return None
    # Two places in one cluster are two of its sites: where it lived last counts.
    place = min(here, key=lambda one: life_now(one.life, lived))
    life = life_now(place.life, lived)
    counts = partitions_read(topology, consumer, place, life)
    partitions = [TopicPartition(topic, number) for topic, count in counts.items() for number in range(count)]
    return partitions, _first_and_last(positions_path(simulation.ledgers, consumer.name, life), life)[1]


def _first_and_last(path: Path, life: int) -> tuple[dict[TopicPartition, int], dict[TopicPartition, int]]:
    """The position that a consumer was assigned at, and the newest that it committed or was assigned at.

    A Spark query does not say where it begins. Its first life begins with the log; later ones are counted
    from their first commit.
    """
    first: dict[TopicPartition, int] = {}
    last: dict[TopicPartition, int] = {}
    for event, tp, offset in _positions(path):
        if event == "assigned" or life > LIFE_AT_SOURCE:
            first.setdefault(tp, offset)
        last[tp] = offset
    return first, last


def _positions(path: Path) -> Iterable[tuple[str, TopicPartition, int]]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError:
        return
    for fields in csv.reader(lines):
        if len(fields) == 7 and fields[-1] == END_MARK and fields[0] in {"assigned", "commit"} and fields[3]:
            yield fields[0], TopicPartition(fields[1], int(fields[2])), int(fields[3])
