"""Applies to real clusters: what is in force there counts, and which cluster it is."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from orchestrator.adapters.java.detection import find_java
from orchestrator.adapters.java.runtime import kafka_runtime
from orchestrator.adapters.kafka import KafkaCluster
from orchestrator.adapters.kafka.java_admin_jvm import end_shared_jvm
from orchestrator.cli.main import run
from orchestrator.ports.admin_values import NewTopic
from tests.kafka_broker import kafka_broker
from tests.zookeeper_server import zookeeper_server

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

Told = Callable[..., tuple[int, dict[str, Any], str]]


@dataclass(frozen=True)
class Estate:
    """West and another cluster that the file does not mean, and what the file is."""

    west: KafkaCluster
    east: KafkaCluster
    other: KafkaCluster
    zookeeper: str
    folder: Path

    def file(self, stem: str, *, west: KafkaCluster | None = None, **changes: Any) -> Path:
        """The file, with another `west` where one is given, and other keys."""
        data = {
            "version": 1,
            "name": "payments",
            "layout": "active-passive",
            "datacenters": ["west", "east"],
            "clusters": {"west": _cluster("west", west or self.west), "east": _cluster("east", self.east)},
            "topics": [_topic(min_insync_replicas=1)],
            "replication": [{"source": "west", "target": "east", "topics": ["orders"], "managed": False}],
            "coordination": {"zookeeper": self.zookeeper},
            **changes,
        }
        file = self.folder / f"{stem}.yaml"
        file.write_text(yaml.safe_dump(data, sort_keys=False), encoding="utf-8")
        return file


def _cluster(dc: str, cluster: KafkaCluster) -> dict[str, Any]:
    own = {"replicas": 1, "min_insync_replicas": 1}
    return {
        "kafka": "4.3.1",
        "metadata": "kraft",
        "nodes": [{"dc": dc, "brokers": 1, "controllers": 1}],
        "internal_topics": {"__consumer_offsets": own, "__transaction_state": own},
        "bootstrap": [str(cluster.properties["bootstrap.servers"])],
    }


def _topic(**more: Any) -> dict[str, Any]:
    return {"name": "orders", "cluster": "west", "partitions": 1, "replicas": 1, **more}


@pytest.fixture(scope="module")
def estate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Estate]:
    """The brokers of west have min.insync.replicas 2 by default; `orders` has no setting of its own."""
    folder = tmp_path_factory.mktemp("apply")
    runtime = kafka_runtime("4.3.1", find_java())
    for name in ("west", "east", "other", "zookeeper"):
        (folder / name).mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DCCTL_STATE_DIR", str(folder / "state"))
        with (
            kafka_broker(runtime, folder / "west", settings={"min.insync.replicas": "2"}) as west,
            kafka_broker(runtime, folder / "east") as east,
            kafka_broker(runtime, folder / "other") as other,
            zookeeper_server(folder / "zookeeper") as ensemble,
        ):
            west.create_topics({"orders": NewTopic(replicas=1)})
            yield Estate(west, east, other, ensemble.hosts, folder)
    end_shared_jvm()


@pytest.fixture
def told(capsys: pytest.CaptureFixture[str]) -> Told:
    """Run one command with --json: exit status, its data, what it said."""

    def call(*arguments: object) -> tuple[int, dict[str, Any], str]:
        status = run([*map(str, arguments), "--json"])
        found = capsys.readouterr()
        return status, json.loads(found.out) if found.out.strip() else {}, found.err

    return call


def _in_force(cluster: KafkaCluster, topic: str) -> dict[str, str]:
    return cluster.topic_config([topic])[topic]


def test_a_default_of_the_brokers_is_not_lowered_unless_allowed(estate: Estate, told: Told) -> None:
    """The brokers' min.insync.replicas of 2 is in force for a topic without one; the file says 1."""
    refused = estate.file("refused")
    status, found, _ = told("plan", refused)
    rows = [row for row in found["plan"]["facts"]["differences"] if row["subject"] == "topic orders"]
    (row,) = [row for row in rows if row["aspect"] == "config min.insync.replicas"]
    assert (status, row["mend"], row["needs"]) == (0, "not-allowed", "reduce-durability")
    assert "the brokers' default is 2" in row["reason"]
    assert told("apply", refused)[0] == 0
    assert _in_force(estate.west, "orders")["min.insync.replicas"] == "2"
    allowed = estate.file("allowed", allow=["reduce-durability"])
    assert told("apply", allowed)[0] == 2, "it lowers what protects records: nobody was asked"
    assert told("apply", allowed, "--yes")[0] == 0
    assert _in_force(estate.west, "orders")["min.insync.replicas"] == "1"


def test_kafka_describes_what_it_has_parsed(estate: Estate, told: Told) -> None:
    """Made with a topic and set on one that is there; the second time nothing is left to do."""
    odd = {
        "cleanup.policy": "compact, delete",
        "min.cleanable.dirty.ratio": "1",
        "preallocate": "TRUE",
        "retention.ms": "0604800000",
    }
    topics = [
        _topic(min_insync_replicas=1, config=odd),
        _topic(min_insync_replicas=1, config=odd) | {"name": "new"},
    ]
    allow = ["reduce-durability", "delete-records"]
    file = estate.file("odd", topics=topics, allow=allow)
    status, _, said = told("apply", file, "--yes")
    assert status == 0, said
    for topic in ("orders", "new"):
        config = _in_force(estate.west, topic)
        assert {key: config[key] for key in odd} == {
            "cleanup.policy": "compact,delete",
            "min.cleanable.dirty.ratio": "1.0",
            "preallocate": "true",
            "retention.ms": "604800000",
        }
    status, found, _ = told("drift", file)
    assert (status, found["drift"], found["change"]) == (0, [], [])


def test_another_cluster_is_refused_and_so_is_one_under_two_names(
    estate: Estate, told: Told, tmp_path: Path
) -> None:
    """Nothing is made there; until a person says that it is the right one."""
    # What is remembered is remembered by the file's name: each try has its own.
    name = f"{tmp_path.parent.name}-{tmp_path.name}"
    right = estate.file("right", name=name)
    elsewhere = estate.file("elsewhere", name=name, west=estate.other, topics=[_topic(min_insync_replicas=1)])
    twice = estate.file("twice", name=name, west=estate.east)
    assert told("apply", right)[0] == 0
    before = estate.other.topic_names()
    for command in ("plan", "apply"):
        status, found, _ = told(command, elsewhere)
        closed = {gate["id"]: gate for gate in found["plan"]["gates"] if gate["outcome"] != "ok"}
        assert (status, closed.keys()) == (4, {"same-clusters"})
        assert "west is another cluster than before" in closed["same-clusters"]["reason"]
    assert told("drift", elsewhere)[0] == 7
    assert estate.other.topic_names() == before
    word = closed["same-clusters"]["hint"].rpartition("--accept-cluster ")[2]
    for command in ("plan", "apply"):
        status, found, _ = told(command, twice, "--accept-cluster", word)
        (gate,) = [gate for gate in found["plan"]["gates"] if gate["id"] == "same-clusters"]
        assert (status, gate["outcome"]) == (4, "refused")
        assert "west, east are one and the same cluster" in gate["reason"]
    status, _, said = told("apply", elsewhere, "--accept-cluster", word, "--reason", "a new machine")
    assert status == 0, said
    assert "orders" in estate.other.topic_names()
    assert told("apply", right)[0] == 4, "now the other one is remembered"
