"""Stretched clusters with many partitions: plans in memory, and what is asked of real brokers.

`python -m tests.bench.stretched_run plan PARTITIONS`, or `… cluster PARTITIONS`; prints one line of JSON.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from orchestrator.adapters.java.client_properties import java_client_properties
from orchestrator.adapters.java.detection import find_java
from orchestrator.adapters.java.runtime import kafka_runtime
from orchestrator.adapters.kafka import KafkaCluster
from orchestrator.adapters.secrets import resolve_secrets
from orchestrator.moves.within_cluster.evacuation import plan_evacuation
from orchestrator.moves.within_cluster.leaders import plan_leaders
from orchestrator.moves.within_cluster.putting_back import plan_put_back
from orchestrator.moves.within_cluster.requests import (
    ClusterRequest,
    EvacuateRequest,
    LeadersRequest,
    PutBackRequest,
    SiteLossRequest,
)
from orchestrator.moves.within_cluster.site_loss import plan_site_loss
from orchestrator.ports.admin_values import NewTopic
from orchestrator.ports.servers import Placement, TopicDescription
from orchestrator.runs.coordination_state import CoordinationState
from orchestrator.runs.facts_within_clusters import TopicOrder
from orchestrator.runs.plan import Plan, canonical_json, to_json
from orchestrator.runs.within_clusters import Evacuated
from orchestrator.simulation import installation
from orchestrator.simulation.bring_up import simulation_up
from orchestrator.simulation.running import Simulation
from orchestrator.simulation.servers import java_properties
from orchestrator.topology.loading import load_topology
from orchestrator.topology.model import Topology
from orchestrator.verbs.live.run_result import RunResult
from orchestrator.verbs.live.within_cluster import run_within_cluster
from orchestrator.verbs.registration import PARTICIPANTS
from tests.bench.groups_run import in_memory
from tests.bench.map_run import Stopwatch
from tests.moves.test_leaders import STRETCHED, seen

A_TOPIC = 10
T = TypeVar("T")
_BROKER_HEAP_MB = 1_536
_TOOL_TIMEOUT_S = 600
_TOPICS_BY_TOOL = 10
KEY = "min.insync.replicas"
_FILE = """\
version: 1
name: bench-stretched
layout: stretched-2.5dc
datacenters: [dc1, dc2, witness]
clusters:
  main:
    kafka: 4.3.1
    metadata: kraft
    nodes:
      - {dc: dc1, brokers: 1, controllers: 1}
      - {dc: dc2, brokers: 1, controllers: 1}
      - {dc: witness, controllers: 1}
    internal_topics:
      __consumer_offsets: {replicas: 2, min_insync_replicas: 2}
      __transaction_state: {replicas: 2, min_insync_replicas: 2}
topics:
  - {name: first, cluster: main, partitions: 1, replicas: 2, min_insync_replicas: 2}
"""


def main() -> None:
    """Measure one of the two."""
    kind, partitions = sys.argv[1], int(sys.argv[2])
    measured = planned(partitions) if kind == "plan" else moved(partitions)
    sys.stdout.write(json.dumps({"partitions": partitions, **measured}) + "\n")


def planned(partitions: int) -> dict[str, Any]:
    """Every verb's plan for a cluster with so many partitions, four replicas each, in memory."""
    topology = load_topology(STRETCHED)
    whole, without = _placement(partitions), _placement(partitions, without="dc1")
    orders = {
        name: TopicOrder(topic_id=topic.topic_id, replicas=dict(enumerate(topic.replicas)))
        for name, topic in whole.topics.items()
    }
    evacuated = CoordinationState("", evacuated={"main": Evacuated(("dc1",), orders)})
    lost = SiteLossRequest(cluster="main", attested=("dc1",), lower_min_insync=("all",))
    made: Mapping[str, Callable[[], Plan]] = {
        "leaders --balance": lambda: plan_leaders(
            topology, seen(whole, name="main"), LeadersRequest(cluster="main")
        ),
        "switchover --evacuate": lambda: plan_evacuation(
            topology, seen(whole, name="main"), EvacuateRequest(cluster="main", site="dc1"), PARTICIPANTS
        ),
        "failover": lambda: plan_site_loss(topology, _wanting(without, 3), lost, PARTICIPANTS),
        "failback": lambda: plan_put_back(
            topology, seen(whole, evacuated, "main"), PutBackRequest(cluster="main"), PARTICIPANTS
        ),
    }
    found: dict[str, Any] = {"plans": {}}
    for verb, make in made.items():
        watch = Stopwatch()
        with watch:
            plan = make()
        size_mb = len(canonical_json(to_json(plan))) / 1e6
        row = {"s": watch.wall_s, "cpu_s": watch.cpu_s, "steps": len(plan.steps), "mb": size_mb}
        found["plans"][verb] = row
    return found


def _wanting(placement: Placement, replicas: int) -> Any:
    picture = seen(placement, name="main")
    view = picture.cluster("main")
    min_insync = replace(view.min_insync, value=dict.fromkeys(placement.topics, replicas))
    return replace(picture, clusters={"main": replace(view, min_insync=min_insync)})


def _placement(partitions: int, without: str = "") -> Placement:
    racks = {1: "dc1", 2: "dc1", 3: "dc2", 4: "dc2"}
    living = frozenset(broker for broker, dc in racks.items() if dc != without)
    orders = [(1, 3, 2, 4), (3, 1, 4, 2), (2, 4, 1, 3), (4, 2, 3, 1)]
    topics = {}
    for number in range(partitions // A_TOPIC):
        replicas = tuple(orders[(number + at) % len(orders)] for at in range(A_TOPIC))
        isr = tuple(tuple(one for one in row if one in living) for row in replicas)
        leaders = tuple(row[0] for row in isr)
        name = f"domain-{number % 40}.entity-{number}"
        topics[name] = TopicDescription(name, f"id-{number}", leaders, replicas, isr)
    return Placement(topics, {broker: dc for broker, dc in racks.items() if broker in living}, living)


def moved(partitions: int) -> dict[str, Any]:
    """A site evacuated and lost and back, two replicas each, on real brokers; the same by Kafka's tools."""
    with tempfile.TemporaryDirectory(prefix="dcctl-bench-", dir=in_memory()) as folder:
        os.environ["DCCTL_STATE_DIR"] = folder
        installation._BROKER_HEAP_MB = _BROKER_HEAP_MB  # a simulation's own brokers are small
        file = Path(folder) / "stretched.yaml"
        file.write_text(_FILE, encoding="utf-8")
        simulation = simulation_up(load_topology(file), watch=False)
        try:
            return _measured(simulation, partitions, Path(folder))
        finally:
            simulation.down()


def _measured(simulation: Simulation, partitions: int, folder: Path) -> dict[str, Any]:
    topology, cluster = simulation.topology, simulation.cluster("main")
    topics = [f"topic-{number}" for number in range(partitions // A_TOPIC)]
    began = time.perf_counter()
    for first in range(0, len(topics), 100):
        some = topics[first : first + 100]
        new = NewTopic(partitions=A_TOPIC, replicas=2, config={KEY: "2"})
        cluster.create_topics(dict.fromkeys(some, new), timeout_s=120.0)
    _await(lambda: _is_spread(cluster, partitions))
    measured: dict[str, Any] = {"topics": len(topics), "fill_s": time.perf_counter() - began}

    evacuate = EvacuateRequest(cluster="main", site="dc1", by="bench", reason="bench")
    back = PutBackRequest(cluster="main", by="bench", reason="bench")
    measured["evacuated"] = _steps(_run(topology, evacuate))
    measured["led_again"] = _steps(_run(topology, back))
    measured |= _by_tools(simulation, cluster, topics, folder)

    simulation.site("dc1").kill()
    lost = SiteLossRequest(
        cluster="main", attested=("dc1",), lower_min_insync=("all",), by="bench", reason="bench"
    )
    _await(lambda: len(cluster.placement().living) == 1)
    measured["lost"] = _steps(_run(topology, lost))
    simulation.site("dc1").restart()
    simulation.await_site("dc1", lambda _stage, _detail: None)
    measured["returned"] = _steps(_run(topology, back))
    return measured


def _run(topology: Topology, request: ClusterRequest) -> RunResult:
    result = run_within_cluster(topology, request)
    if result.outcome != "ok":
        raise AssertionError(f"{request.command} ended {result.outcome}: {result.reason}")
    return result


def _steps(result: RunResult) -> dict[str, float]:
    return {row["id"]: row["seconds"] for row in result.steps}


def _is_spread(cluster: KafkaCluster, partitions: int) -> bool:
    """Whether all are in sync; about as many are led at each site then."""
    placement = cluster.placement()
    rows = [isr for topic in placement.topics.values() for isr in topic.isr]
    return len(rows) >= partitions and all(len(isr) == 2 for isr in rows)


def _await(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 300
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError("it does not come")
        time.sleep(1)


def _by_tools(
    simulation: Simulation, cluster: KafkaCluster, topics: list[str], folder: Path
) -> dict[str, Any]:
    """Kafka's own: reassignment from a file, election of all; and a setting, topic by topic."""
    described = simulation.topology.clusters["main"]
    properties = folder / "tool.properties"
    client = java_client_properties(resolve_secrets(described.client, "main"))
    properties.write_text(java_properties(client), encoding="utf-8")
    runtime = kafka_runtime(described.kafka, find_java())
    where = ["--bootstrap-server", ",".join(described.bootstrap)]

    def timed(tool: str, option: str, *words: str) -> float:
        began = time.perf_counter()
        subprocess.run(
            [
                str(runtime.java.executable),
                "-Xmx512m",
                *("-cp", runtime.class_path, tool),
                *where,
                *(option, str(properties)),
                *words,
            ],
            check=True,
            capture_output=True,
            timeout=_TOOL_TIMEOUT_S,
        )
        return time.perf_counter() - began

    last = {1: [2, 1], 2: [2, 1]}
    before = cluster.placement().topics
    rows = [
        {"topic": name, "partition": at, "replicas": last[replicas[0]]}
        for name in topics
        for at, replicas in enumerate(before[name].replicas)
    ]
    wanted = folder / "wanted.json"
    wanted.write_text(json.dumps({"version": 1, "partitions": rows}), encoding="utf-8")
    found: dict[str, Any] = {}
    found["tool_order_s"] = timed(
        "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
        "--command-config",
        *("--reassignment-json-file", str(wanted), "--execute"),
    )
    found["tool_election_s"] = timed(
        "org.apache.kafka.tools.LeaderElectionCommand",
        "--admin.config",
        *("--election-type", "PREFERRED", "--all-topic-partitions"),
    )
    placed = cluster.placement().topics
    if any(leader != 2 for name in topics for leader in placed[name].leaders):
        raise AssertionError("Kafka's tools did not move every leader")
    cluster.alter_reassignments(
        {tp: before[name].replicas[tp.partition] for name in topics for tp in before[name].partitions}
    )
    cluster.elect_preferred([tp for name in topics for tp in before[name].partitions])
    chosen = topics[:_TOPICS_BY_TOOL]
    one_s = [
        timed(
            "kafka.admin.ConfigCommand",
            "--command-config",
            *("--alter", "--entity-type", "topics"),
            *("--entity-name", name, "--add-config", f"{KEY}=2"),
        )
        for name in chosen
    ]
    found["tool_settings_s"] = sum(one_s) / len(one_s) * len(topics)
    return found


if __name__ == "__main__":
    main()
