"""One measurement of the offset map, in a process of its own so that its peak of memory is its own.

`python -m tests.bench.map_run COUNT CASE` prints one line of JSON.
"""

from __future__ import annotations

import json
import resource
import sys
import time

import numpy as np

from orchestrator.mirrors.mirrormaker2.offset_syncs import OffsetSyncs
from orchestrator.values import TopicPartition
from tests.bench.syncs import CASES, sync_chunks

TRANSLATIONS = 1_000_000
PARTITION = TopicPartition("orders", 0)


def main() -> None:
    """Build a map of one partition (the hardest: nothing is spread), then translate."""
    count, case = int(sys.argv[1]), sys.argv[2]
    interpreter_mb = _peak_mb()
    builder = OffsetSyncs(gaps={PARTITION: "no"})
    build = Stopwatch()
    for keys, values in sync_chunks(count, CASES[case], [PARTITION]):
        with build:
            builder.add_syncs(keys, values)
    with build:
        offset_map = builder.build()
    peak_mb = _peak_mb()

    positions = np.random.default_rng(2).integers(0, count * 100, TRANSLATIONS)
    many, single = Stopwatch(), Stopwatch()
    with many:
        offsets, exact = offset_map.translate_many(PARTITION, positions)
    singly = positions.tolist()
    with single:
        for position in singly:
            offset_map.translate(PARTITION, position)
    measured = {
        "syncs": count,
        "case": case,
        "runs": offset_map.segments(PARTITION),
        "peak_mb": peak_mb,
        "interpreter_mb": interpreter_mb,
        "build_s": build.wall_s,
        "build_cpu_s": build.cpu_s,
        "many_s": many.wall_s,
        "many_cpu_s": many.cpu_s,
        "single_s": single.wall_s,
        "single_cpu_s": single.cpu_s,
        "translated": int((offsets >= 0).sum()),
        "exact": int(exact.sum()),
    }
    sys.stdout.write(json.dumps(measured) + "\n")


class Stopwatch:
    """Adds up seconds of the clock and of this process's CPU time: on a busy machine they differ."""

    def __init__(self) -> None:
        self.wall_s = self.cpu_s = 0.0

    def __enter__(self) -> None:
        self._started = (time.perf_counter(), time.process_time())

    def __exit__(self, *_: object) -> None:
        self.wall_s += time.perf_counter() - self._started[0]
        self.cpu_s += time.process_time() - self._started[1]


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
