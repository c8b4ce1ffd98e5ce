"""One of three real brokers falls silent with its session alive: the watcher loses its groups alone."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from orchestrator.adapters.java.detection import find_java
from orchestrator.adapters.java.runtime import kafka_runtime
from orchestrator.adapters.kafka import KafkaCluster
from orchestrator.adapters.kafka.isolated import IsolatedCluster
from orchestrator.errors import ClusterError
from orchestrator.ports.admin_values import NewTopic
from orchestrator.snapshot.live.reader import read_samples
from orchestrator.snapshot.samples import SampleHistory
from orchestrator.snapshot.watcher_records import age_s
from orchestrator.values import TopicPartition
from tests.kafka_broker import kafka_broker
from tests.watch.test_watching import SAMPLES, Estate, until

pytestmark = [
    pytest.mark.integration,
    pytest.mark.timeout(300),
    pytest.mark.skipif(sys.platform != "linux", reason="needs /proc"),
]
GROUPS = [f"group-{number}" for number in range(30)]
# Nobody else may notice that a broker is silent: its leaders and coordinators stay where they are.
SETTINGS = {"broker.session.timeout.ms": "600000", "num.network.threads": "2"}


@pytest.fixture
def estate(tmp_path: Path) -> Iterator[Estate]:
    """Three brokers at the source, one at the target."""
    runtime = kafka_runtime("4.3.1", find_java())
    with ExitStack() as east_side, ExitStack() as west_side:
        for name in ("west", "east"):
            (tmp_path / name).mkdir()
        east = east_side.enter_context(kafka_broker(runtime, tmp_path / "east"))
        west = west_side.enter_context(kafka_broker(runtime, tmp_path / "west", brokers=3, settings=SETTINGS))
        west.create_topics({"orders": NewTopic(partitions=2, replicas=1)})
        yield Estate(tmp_path, west, east, west_side.close)


def process_of(properties: Path) -> int:
    """The process that was started with that file."""
    for command in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if str(properties).encode() in command.read_bytes().split(b"\0"):
                return int(command.parent.name)
        except OSError:
            continue
    raise AssertionError(f"nothing runs with {properties}")


def commit_all(west: KafkaCluster, offset: int) -> None:
    """Every group stands there."""
    for group in GROUPS:
        try:
            west.write_group_offsets(group, {TopicPartition("orders", 0): offset})
        except ClusterError:  # a new cluster takes a moment until it has coordinators
            time.sleep(0.5)
            west.write_group_offsets(group, {TopicPartition("orders", 0): offset}, timeout_s=30)


def answering(west: KafkaCluster) -> set[str]:
    """Groups whose coordinators answer. Asked from a helper: librdkafka may end the process that asks a
    coordinator which falls silent.
    """
    found: set[str] = set()
    addresses = str(west.properties["bootstrap.servers"]).split(",")
    asked = IsolatedCluster("west", addresses, {})
    try:
        asked.committed_each(GROUPS, ["orders"], 5.0, lambda offsets, _problems: found.update(offsets))
    finally:
        asked.reset()
    return found


def ages(history: SampleHistory) -> dict[str, float]:
    """How old each group's recorded position is now."""
    told = {group: history.positions(group).get(TopicPartition("orders", 0)) for group in GROUPS}
    now_s = time.time()
    return {group: age_s(now_s, told_.sampled_at_s) or 0.0 for group, told_ in told.items() if told_}


def test_groups_of_the_other_coordinators_stay_fresh(estate: Estate) -> None:
    """While it is silent, for half a minute; and its own are fresh again soon after it goes on."""
    commit_all(estate.west, 40)
    watcher = estate.watcher()
    silent = process_of(tmp := estate.folder / "west" / "node-2" / "server.properties")
    assert tmp.exists()
    try:
        until(lambda: len(ages(estate.samples())) == len(GROUPS))
        os.kill(silent, signal.SIGSTOP)
        others = answering(estate.west)
        assert 0 < len(others) < len(GROUPS)
        oldest: dict[str, float] = {}
        began = time.monotonic()
        while time.monotonic() - began < 30:
            time.sleep(1)
            for group, age in ages(read_samples(estate.east, SAMPLES)).items():
                oldest[group] = max(oldest.get(group, 0.0), age)
        fresh = {group: oldest[group] for group in others}
        stale = {group: oldest[group] for group in GROUPS if group not in others}
        sys.stderr.write(
            f"\n{len(fresh)} groups of the others: at most {max(fresh.values()):.1f} s old; "
            f"{len(stale)} of the silent one: {min(stale.values()):.1f} to {max(stale.values()):.1f} s\n"
        )
        assert len(oldest) == len(GROUPS)
        assert max(fresh.values()) < min(stale.values()) / 3
    finally:
        os.kill(silent, signal.SIGCONT)
    try:
        went_on = time.monotonic()
        until(lambda: max(ages(estate.samples()).values()) < 5)
        sys.stderr.write(f"all fresh again after {time.monotonic() - went_on:.1f} s\n")
    finally:
        watcher.terminate()
        watcher.wait(timeout=20)
