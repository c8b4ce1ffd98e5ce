"""A real watcher between two real brokers: killed, restarted, and the source lost under it."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
import structlog

from orchestrator.adapters.java.detection import find_java
from orchestrator.adapters.java.runtime import kafka_runtime
from orchestrator.adapters.kafka import KafkaCluster, produce_records
from orchestrator.errors import ClusterError
from orchestrator.ports.admin_values import NewTopic
from orchestrator.runs.estate_record import ClusterIds, Fact
from orchestrator.runs.fact_copy import encode_copy
from orchestrator.snapshot.live.reader import read_samples
from orchestrator.snapshot.live.tidying import create_samples_topic
from orchestrator.snapshot.samples import SampleHistory
from orchestrator.snapshot.watched import Watched
from orchestrator.topology.loading import load_topology
from orchestrator.values import LogEnd, TopicPartition
from orchestrator.watch.metrics import WatchCollector
from orchestrator.watch.watcher import Watcher
from tests.kafka_broker import kafka_broker

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

SAMPLES = "dcctl-samples.west.internal"
ORDERS = TopicPartition("orders", 0)


class Estate:
    """Two brokers, and a topology file over them. No Connect worker answers: the watcher works without."""

    def __init__(
        self, folder: Path, west: KafkaCluster, east: KafkaCluster, lose_west: Callable[[], None]
    ) -> None:
        self.folder, self.west, self.east, self.lose_west = folder, west, east, lose_west
        self.file = folder / "topology.yaml"
        nodes = {"dc": "west", "brokers": 1, "controllers": 1}
        self.file.write_text(
            json.dumps(
                {
                    "version": 1,
                    "name": "watching",
                    "layout": "active-passive",
                    "datacenters": ["west", "east"],
                    "clusters": {
                        "west": self._cluster(west, [nodes]),
                        "east": {
                            **self._cluster(east, [{**nodes, "dc": "east", "connect_workers": 1}]),
                            "connect": ["http://127.0.0.1:9"],
                        },
                    },
                    "topics": [
                        {
                            "name": "orders",
                            "cluster": "west",
                            "partitions": 2,
                            "replicas": 1,
                            "min_insync_replicas": 1,
                        }
                    ],
                    "replication": [{"source": "west", "target": "east", "topics": ["orders"]}],
                    "consumers": [
                        {"name": "billing", "cluster": "west", "kind": "group", "topics": ["orders"]}
                    ],
                }
            ),
            encoding="utf-8",
        )

    @staticmethod
    def _cluster(cluster: KafkaCluster, nodes: list[dict[str, object]]) -> dict[str, object]:
        bootstrap = cluster.properties["bootstrap.servers"].split(",")
        return {"kafka": "4.3.1", "metadata": "kraft", "nodes": nodes, "bootstrap": bootstrap}

    def watcher(self) -> subprocess.Popen[bytes]:
        """Start `dcctl watch`."""
        command = [sys.executable, "-m", "orchestrator.cli.main", "watch", str(self.file)]
        return subprocess.Popen([*command, "--log-file", str(self.folder / "watch.log")])

    def samples(self) -> SampleHistory:
        """What is recorded at the target now; nothing while there is no topic."""
        try:
            return read_samples(self.east, SAMPLES)
        except ClusterError:
            return SampleHistory()

    def make_anew(self, topic: str) -> None:
        """Delete it, and create it under the same name."""
        for future in self.west._admin.delete_topics([topic]).values():
            future.result(30)
        until(lambda: topic not in self.west.topic_names())
        self.west.create_topics({topic: NewTopic(partitions=2, replicas=1)})

    def commit(self, offset: int) -> None:
        """The group billing stands there. A new cluster takes a moment until it has coordinators."""

        def is_written() -> bool:
            try:
                self.west.write_group_offsets("billing", {ORDERS: offset})
            except ClusterError:
                return False
            return True

        until(is_written)


@pytest.fixture
def estate(tmp_path: Path) -> Iterator[Estate]:
    """Both brokers, up."""
    runtime = kafka_runtime("4.3.1", find_java())
    with ExitStack() as east_side, ExitStack() as west_side:
        for name in ("west", "east"):
            (tmp_path / name).mkdir()
        east = east_side.enter_context(kafka_broker(runtime, tmp_path / "east"))
        west = west_side.enter_context(kafka_broker(runtime, tmp_path / "west"))
        west.create_topics({"orders": NewTopic(partitions=2, replicas=1)})
        yield Estate(tmp_path, west, east, west_side.close)


def until(is_true: Callable[[], bool], timeout_s: float = 60.0) -> None:
    """Wait for it, or fail."""
    deadline = time.monotonic() + timeout_s
    while not is_true():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.1)


def test_a_watcher_is_killed_restarted_and_sees_the_source_die(estate: Estate) -> None:
    """What it records is right before, between and after; it ends cleanly when told to."""
    produce_records("west", estate.west.properties, "orders", [(b"k", b"v")] * 100, partition=0)
    estate.commit(40)
    first = estate.watcher()
    try:
        until(lambda: estate.samples().positions("billing").get(ORDERS, (0, 0))[0] == 40)
        assert estate.samples().newest_ends()[ORDERS].end_offset == 100
        topic_id = estate.west.topics(["orders"])["orders"].topic_id
        assert estate.samples().topics["orders"].topic_id == topic_id
    finally:
        first.kill()
        first.wait()

    # Nobody watches while the topic is deleted and made again and the group moves on in it; the next
    # watcher knows of the first only what it has recorded.
    before = estate.samples().topics["orders"]
    estate.make_anew("orders")
    produce_records("west", estate.west.properties, "orders", [(b"k", b"v")] * 90, partition=0)
    estate.commit(70)
    second = estate.watcher()
    try:
        until(lambda: estate.samples().positions("billing")[ORDERS].offset == 70)
        until(lambda: len(estate.samples().end_readings(ORDERS)) > 5)
        assert len(estate.samples().watchers) == 2
        assert estate.samples().recreated["orders"].before_s < before.sampled_at_s + 1
        assert estate.samples().newest_ends()[ORDERS].end_offset == 90

        lost_at_s = time.time()
        estate.lose_west()
        gone_at_s = time.time()
        until(lambda: estate.samples().loss_window() is not None)
        window = estate.samples().loss_window()
        assert window is not None
        assert window.cause == "refused"
        assert window.last_good_at_s <= gone_at_s
        assert lost_at_s <= window.first_failed_at_s <= gone_at_s + 5
        assert estate.samples().positions("billing")[ORDERS].offset == 70

        # It lives on, and says so.
        seen_s = estate.samples().last_sign_of_life_s or 0.0
        until(lambda: (estate.samples().last_sign_of_life_s or 0.0) > seen_s)
        again = estate.samples().loss_window()
        assert again == window
    finally:
        second.terminate()
        assert second.wait(timeout=20) == 0
    assert "event=stopped" in (estate.folder / "watch.log").read_text(encoding="utf-8")


def test_a_cluster_is_watched_from_a_place_to_which_no_mirror_leads(estate: Estate) -> None:
    """Log ends and positions are kept all the same, of every cluster in a topic of its own."""
    topology = load_topology(estate.file)
    billing = topology.consumers[0]
    watched = Watched(cluster="west", kept_at="east", topics=("orders",), applications=(billing,))
    produce_records("west", estate.west.properties, "orders", [(b"k", b"v")] * 2, partition=0)
    estate.commit(1)
    watcher = Watcher(topology, watched, structlog.get_logger())
    thread = threading.Thread(target=watcher.run)
    thread.start()
    try:
        until(lambda: bool(estate.samples().positions("billing")))
    finally:
        watcher.stop()
        thread.join(30)
    history = estate.samples()
    assert history.positions("billing")[ORDERS].offset == 1
    assert history.newest_ends()[ORDERS].end_offset == 2
    assert watcher.health is None
    told = {metric.name: metric.samples for metric in WatchCollector([watcher]).collect()}
    assert told["dcctl_source_up"][0].labels == {"source": "west", "target": "east"}
    assert math.isnan(told["dcctl_records_at_risk"][0].value)
    assert told["dcctl_connector_running"] == told["dcctl_mirror_look_age_seconds"] == []


def test_samples_of_another_cluster_do_not_take_the_place_of_the_right_ones(estate: Estate) -> None:
    """Its address leads elsewhere: nothing is recorded, and it is said; until the record knows that cluster."""
    west, east = estate.west.identity()[0], estate.east.identity()[0]
    said = f"west is another cluster than before: its id is {west}, and was the-right-one"
    produce_records("west", estate.west.properties, "orders", [(b"k", b"v")] * 100, partition=0)
    create_samples_topic(estate.east, SAMPLES)

    def remember(number: int, cluster_id: str) -> None:
        body = ClusterIds(ids={"west": cluster_id, "east": east})
        fact = Fact(number=number, run_id="r1", at_s=1.0, body=body)
        produce_records("east", estate.east.properties, SAMPLES, [encode_copy("1", fact)])

    def refusals() -> int:
        return (estate.folder / "watch.log").read_text(encoding="utf-8").count(said)

    remember(2, "the-right-one")
    with watching(estate):
        until(lambda: refusals() == 1)
        assert estate.samples().watchers == frozenset()
    remember(3, west)
    with watching(estate):
        until(lambda: estate.samples().newest_ends().get(ORDERS, LogEnd(0, 0)).end_offset == 100)
    last_s = estate.samples().last_sign_of_life_s
    remember(4, "the-right-one")
    produce_records("west", estate.west.properties, "orders", [(b"k", b"v")] * 50, partition=0)
    with watching(estate):
        until(lambda: refusals() == 2)
        assert estate.samples().last_sign_of_life_s == last_s
        assert estate.samples().newest_ends()[ORDERS].end_offset == 100
        # That it is away is recorded all the same: who is silent is no other cluster.
        estate.lose_west()
        until(lambda: estate.samples().loss_window() is not None)


@contextmanager
def watching(estate: Estate) -> Iterator[None]:
    """`dcctl watch` during the block; it ends cleanly."""
    (estate.folder / "watch.log").touch()
    process = estate.watcher()
    try:
        yield
    finally:
        process.terminate()
        assert process.wait(timeout=20) == 0
