"""One measurement of a large topology file, in a process of its own so that its peak of memory is its own.

`python -m tests.bench.layout_run TOPICS` prints one line of JSON. Ten partitions a topic; every topic is
mirrored, so that the second cluster has two more for each. Observed is an estate of which every tenth topic is
missing, and every tenth has a setting that somebody changed.
"""

from __future__ import annotations

import contextlib
import io
import json
import resource
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import yaml

from orchestrator.cli.main import run
from orchestrator.estate.desired import desired_estate
from orchestrator.estate.observed import ObservedEstate
from orchestrator.reconcile.applied import applied_now
from orchestrator.reconcile.planning import plan_reconcile
from orchestrator.runs.plan import canonical_json, to_json
from orchestrator.topology.durability.analysis import explain_topology
from orchestrator.topology.durability.losses import single_losses
from orchestrator.topology.loading import load_topology
from orchestrator.topology.model import Topology
from tests.bench.map_run import Stopwatch
from tests.reconcile.estates import as_described, coordinated, with_cluster

PARTITIONS = 10
T = TypeVar("T")


def main() -> None:
    """Load, validate, explain and plan; each is timed by itself."""
    count = int(sys.argv[1])
    measured: dict[str, Any] = {"topics": count, "partitions": count * PARTITIONS}

    def timed(name: str, work: Callable[[], T]) -> T:
        watch = Stopwatch()
        with watch:
            found = work()
        measured[f"{name}_s"], measured[f"{name}_cpu_s"] = watch.wall_s, watch.cpu_s
        return found

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "large.yaml"
        file.write_text(yaml.dump(_described(count), Dumper=yaml.CSafeDumper, sort_keys=False))
        measured["file_mb"] = file.stat().st_size / 1e6
        topology = timed("load", lambda: load_topology(file))
        timed("validate", lambda: _validated(file))
    explained = timed("explain", lambda: explain_topology(topology, single_losses(topology)).as_json())
    assert explained["losses"]
    applied = applied_now(desired_estate(topology), as_described(topology), "run-0")
    observed = observed_estate(topology)
    measured["observed"] = {
        "topics": sum(len(cluster.topics) for cluster in observed.clusters.values()),
        "partitions": sum(t.partitions for c in observed.clusters.values() for t in c.topics.values()),
    }
    plan = timed(
        "plan", lambda: plan_reconcile(topology, observed, coordination=coordinated(), applied=applied)
    )
    text = timed("write", lambda: canonical_json(to_json(plan)))
    measured |= {
        "differences": len(plan.facts["differences"]),
        "steps": len(plan.steps),
        "plan_mb": len(text) / 1e6,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    sys.stdout.write(json.dumps(measured) + "\n")


def _described(count: int) -> dict[str, Any]:
    names = [f"domain-{number % 40}.entity-{number}" for number in range(count)]
    return {
        "version": 1,
        "name": "large",
        "layout": "active-passive",
        "datacenters": ["west", "east"],
        "clusters": {
            dc: {
                "kafka": "4.3.1",
                "metadata": "kraft",
                "nodes": [{"dc": dc, "brokers": 12, "controllers": 3, "connect_workers": 2}],
                "combined": False,
                "bootstrap": [f"{dc}.example:9092"],
            }
            for dc in ("west", "east")
        },
        "topics": [
            {
                "name": name,
                "cluster": "west",
                "partitions": PARTITIONS,
                "replicas": 3,
                "min_insync_replicas": 2,
                "config": {"retention.ms": "604800000"},
            }
            for name in names
        ],
        "replication": [{"source": "west", "target": "east", "topics": names}],
        "producers": [
            {
                "name": f"service-{number}",
                "cluster": "west",
                "topics": names[number::100],
                "acks": "all",
                "principal": f"User:service-{number}",
            }
            for number in range(min(100, count))
        ],
    }


def _validated(file: Path) -> None:
    """As the command does it: loading, every rule, and the output."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        status = run(["validate", str(file), "--json"])
    assert status == 0, status


def observed_estate(topology: Topology) -> ObservedEstate:
    """What is there of it: a tenth of the topics is missing, and a tenth has a setting that was changed."""
    estate = as_described(topology)
    for name, cluster in estate.clusters.items():
        topics = {}
        for number, topic in enumerate(cluster.topics.values()):
            if number % 10 == 0:
                continue
            changed = {**topic.config, "retention.ms": "1"} if number % 10 == 1 else topic.config
            topics[topic.name] = replace(topic, config=changed)
        estate = with_cluster(estate, name, topics=topics)
    return estate


if __name__ == "__main__":
    main()
