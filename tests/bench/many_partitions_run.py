"""What a round of the watcher of one cluster takes for very many partitions: `python -m tests.bench.many_partitions_run`.

Without the network: how long the answer takes to read, and then to compare with the one before and to keep.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

from orchestrator.adapters.kafka.told_metadata import partitions_told
from orchestrator.watch.within_cluster.reading import Reading, ServerSeen
from orchestrator.watch.within_cluster.readings_file import ReadingsFile
from orchestrator.watch.within_cluster.said import said_of
from orchestrator.watch.within_cluster.story import Story, after_reading

_BROKERS = (1, 2, 3)
_A_TOPIC = 10
_ROUNDS = 3


def answer_of(partitions: int) -> str:
    """A `MetadataResponse` as JSON, topics of ten partitions each."""
    row = {"leaderId": 1, "leaderEpoch": 3, "replicaNodes": _BROKERS, "isrNodes": _BROKERS, "errorCode": 0}
    rows = [{"partitionIndex": number, **row} for number in range(_A_TOPIC)]
    names = [f"topic-{number}" for number in range(partitions // _A_TOPIC)]
    return json.dumps({"topics": [{"name": name, "partitions": rows} for name in names]})


def measured(partitions: int) -> tuple[float, list[float]]:
    """Seconds to read the answer, and of each round beyond that."""
    answer, begun = answer_of(partitions), time.perf_counter()
    told = partitions_told(json.loads(answer))
    read_s, compared_s = time.perf_counter() - begun, []
    with tempfile.TemporaryDirectory() as folder:
        story, file = Story(), ReadingsFile(Path(folder))
        for number in range(_ROUNDS):
            begun = time.perf_counter()
            reading = Reading(
                begun_at_s=number,
                ended_at_s=number + 0.5,
                told_by=1,
                registered=frozenset(_BROKERS),
                brokers=dict.fromkeys(_BROKERS, ServerSeen(True)),
                sites=dict(zip(_BROKERS, ("a", "b", "b"), strict=True)),
                partitions=told,
                controller="controller 1",
            )
            story = after_reading(story, reading)
            said_of(story, reading, site="a", host="h", watcher="w")
            file.keep(reading)
            compared_s.append(time.perf_counter() - begun)
    return read_s, compared_s


if __name__ == "__main__":
    for count in (1_000, 10_000, 100_000):
        read_s, compared_s = measured(count)
        rounds = ", ".join(f"{one:.2f}" for one in compared_s)
        sys.stdout.write(f"{count} partitions: read in {read_s:.2f} s, compared and kept in {rounds} s\n")
