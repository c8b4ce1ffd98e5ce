"""Rounds of a watcher over a model: one line of JSON. `python -m tests.bench.many_groups_run GROUPS PARTITIONS GONE`."""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path
from typing import Any

from orchestrator.watch.metrics import history_values
from tests.watch.model import Host, ModelWatcher, Topic, World

_ROUNDS = 130  # more than a minute of them, for which the watcher remembers log ends
_AT_ONCE = 100


class Forgetful(Topic):
    """A topic that costs nothing: how much a target keeps is not what is measured."""

    def write(self, records: Any, _timeout_s: float) -> None:
        """Take all."""
        for _ in records:
            pass


def main() -> None:
    """Measure before and after groups came and went."""
    groups, partitions, gone = (int(argument) for argument in sys.argv[1:4])
    world = World(partitions=partitions)
    for number in range(groups):
        world.add_group(f"group-{number}")
    watcher = ModelWatcher(world, Forgetful(world), Host(world), [f"group-{n}" for n in range(groups)])
    before = _rounds(watcher)
    for begin in range(0, gone, _AT_ONCE):
        names = [f"pod-{number}" for number in range(begin, begin + _AT_ONCE)]
        for name in names:
            world.add_group(name)
        world.true_s += 15  # until groups are listed again
        for _ in range(3):
            watcher.round()
        for name in names:
            del world.groups[name]
        world.true_s += 15
        for _ in range(3):
            watcher.round()
    known = len(watcher.keeper.history.groups)
    if known != groups:
        raise AssertionError(f"{known} groups are known, {groups} are there")
    measured = {"groups": groups, "partitions": partitions, "gone": gone, "rounds": _ROUNDS}
    sys.stdout.write(json.dumps({**measured, "before": before, "after": _rounds(watcher)}) + "\n")


def _rounds(watcher: ModelWatcher) -> dict[str, float]:
    begun_s = time.process_time()
    for _ in range(_ROUNDS):
        if watcher.round().outcome != "good":
            raise AssertionError("a round was not good")
    rounds_s = time.process_time() - begun_s
    begun_s = time.process_time()
    list(history_values(watcher.keeper.history, None, watcher.host.now_s()))
    return {
        "round_cpu_s": rounds_s / _ROUNDS,
        "scrape_cpu_s": time.process_time() - begun_s,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "held_mb": _held_mb(),
    }


def _held_mb() -> float:
    """Resident now, where Linux tells; else nothing."""
    status = Path("/proc/self/status")
    lines = status.read_text(encoding="utf-8").splitlines() if status.exists() else []
    return sum(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS:"))


if __name__ == "__main__":
    main()
