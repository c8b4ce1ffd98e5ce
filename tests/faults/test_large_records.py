"""The largest record that a topic takes crosses each mirror; a copy that would refuse it refuses the move."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
import yaml
from confluent_kafka import KafkaException, Producer

from orchestrator.adapters.kafka import KafkaCluster, read_records
from orchestrator.adapters.kafka.client import logger
from orchestrator.values import TopicPartition
from tests.faults.estate import Estate
from tests.layouts.test_at_work import FILES, at_work
from tests.topic_settings import set_topic_config

pytestmark = [pytest.mark.drills, pytest.mark.timeout(600), pytest.mark.usefixtures("own_state")]

_LARGEST = 3_000_000
# A batch's header, and of its one record without key and headers what stands around the value.
_AROUND_VALUE = 61 + 13
_COPIED_WITHIN_S = 60.0


def test_a_record_of_max_message_bytes_crosses_each_mirror(tmp_path: Path) -> None:
    """A byte more and the topic itself would not take it. A copy that takes less is told of beforehand."""
    told = yaml.safe_load((FILES / "two-sites.yaml").read_text(encoding="utf-8"))
    for topic in told["topics"]:
        topic["config"] = {"max.message.bytes": str(_LARGEST)}
    file = tmp_path / "large.yaml"
    file.write_text(yaml.safe_dump(told), encoding="utf-8")
    estate = Estate(tmp_path / "state")
    with at_work(file) as simulation:
        for mirror in simulation.topology.replication:
            source, target = simulation.cluster(mirror.source), simulation.cluster(mirror.target)
            value = mirror.source.encode().ljust(_LARGEST - _AROUND_VALUE, b".")
            with pytest.raises(KafkaException, match="MSG_SIZE_TOO_LARGE"):
                _write(source, value + b".")
            _write(source, value)
            copy, deadline = mirror.mirrored_topic("orders"), time.monotonic() + _COPIED_WITHIN_S
            while not _stands(target, copy, value):
                assert time.monotonic() < deadline, f"it has not come to {mirror.target}"
                time.sleep(1.0)
        east = simulation.cluster("east")
        assert "sides-agree" not in _refusing(estate)
        set_topic_config(east, "west.orders", {"max.message.bytes": str(_LARGEST - 1)})
        assert "sides-agree" in _refusing(estate)


def _refusing(estate: Estate) -> set[str]:
    """The gates that would not let west's applications go to east."""
    said = estate.command("switchover", "--from", "west", "--to", "east", "--dry-run", "--json").stdout
    return {gate["id"] for gate in json.loads(said)["plan"]["gates"] if gate["outcome"] != "ok"}


def _write(cluster: KafkaCluster, value: bytes) -> None:
    """One record in a batch of its own. Raises `KafkaException`."""
    errors: list[KafkaException] = []
    producer = Producer({**cluster.properties, "message.max.bytes": 2 * _LARGEST}, logger=logger)
    producer.produce(
        "orders",
        value,
        partition=0,
        on_delivery=lambda error, _: errors.append(KafkaException(error)) if error else None,
    )
    assert producer.flush(20) == 0
    for error in errors:
        raise error


def _stands(cluster: KafkaCluster, topic: str, value: bytes) -> bool:
    tp = TopicPartition(topic, 0)
    (log,) = cluster.log_ends([tp]).values()
    ranges = {tp: (log.start_offset, log.end_offset)}
    return any(
        record.value == value
        for chunk in read_records(cluster.name, cluster.properties, ranges)
        for record in chunk
    )
