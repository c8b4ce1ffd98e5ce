"""A file with many mirrors, planned and asked for its status in memory: one line of JSON.

`python -m tests.bench.mirrors_run MIRRORS`. Half of the mirrors lead into each of two centres. Nothing is
measured of servers: they answer from memory, and that is part of the time. `plan` is that of `dcctl plan FILE`,
against what would be observed of an estate of which a fifth is not as the file says; `status` is what the loss
of a centre would cost, as `dcctl status FILE` works it out.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from orchestrator.estate.desired import desired_estate
from orchestrator.reconcile.applied import applied_now
from orchestrator.reconcile.planning import plan_reconcile
from orchestrator.topology.loading import load_topology
from orchestrator.topology.model import Topology
from orchestrator.topology.standby import kept_for
from orchestrator.watch.place_status import place_status
from tests.bench.layout_run import observed_estate
from tests.bench.map_run import Stopwatch
from tests.reconcile.estates import as_described, coordinated
from tests.twin.estate import TwinEstate

_SMALL = Path(__file__).parents[1] / "layouts" / "two-centres.yaml"
_AT_WORK_S = 30.0
T = TypeVar("T")


def main() -> None:
    """Make it, let it work for half a minute, and time each."""
    count = int(sys.argv[1])
    measured: dict[str, Any] = {"mirrors": count}

    def timed(name: str, work: Callable[[], T]) -> T:
        watch = Stopwatch()
        with watch:
            found = work()
        measured[f"{name}_s"], measured[f"{name}_cpu_s"] = watch.wall_s, watch.cpu_s
        return found

    topology = _grown(load_topology(_SMALL), count // 2)
    applied = applied_now(desired_estate(topology), as_described(topology), "run-0")
    seen = observed_estate(topology)
    plan = timed("plan", lambda: plan_reconcile(topology, seen, coordination=coordinated(), applied=applied))
    measured["steps"] = len(plan.steps)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["DCCTL_STATE_DIR"] = folder
        estate = TwinEstate(topology, Path(folder))
        timed("work", lambda: estate.live(_AT_WORK_S))
        file = estate.topology
        pairs = [(left, place) for place in file.clusters for left in kept_for(file, place)]
        told = timed("status", lambda: [place_status(file, *pair, servers=estate.servers) for pair in pairs])
        measured["places"] = len(told)
        measured["positions"] = sum(group["partitions"] for one in told for group in one["groups"])
        if any(one["problem"] for one in told) or not measured["positions"]:
            raise AssertionError([one["problem"] for one in told])
    sys.stdout.write(json.dumps(measured) + "\n")


def _grown(small: Topology, sources: int) -> Topology:
    """The two centres of a file, with so many sources instead of its own."""
    model = small.topics[0]
    names = [f"dc{number}" for number in range(1, sources + 1)]
    site, row = small.clusters[model.cluster], small.clusters[model.cluster].nodes[0]
    centres = {name: of for name, of in small.clusters.items() if name in {"centre", "reserve"}}
    shop = next(producer for producer in small.producers if producer.cluster == model.cluster)
    return replace(
        small,
        datacenters=(*names, *centres),
        clusters={name: replace(site, nodes=(replace(row, dc=name),)) for name in names} | centres,
        topics=tuple(replace(model, cluster=name) for name in names),
        replication=tuple(
            replace(small.replication[0], source=name, target=centre) for centre in centres for name in names
        ),
        producers=tuple(
            replace(shop, name=f"shop-{name}", cluster=name, principal=f"User:shop-{name}") for name in names
        ),
    )


if __name__ == "__main__":
    main()
