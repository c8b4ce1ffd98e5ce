"""A few gates on real servers that cost little; all of them, and every verb, are in `make drills`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from confluent_kafka import KafkaError, Producer

from orchestrator.simulation.workload.install import stop_consumers
from orchestrator.values import TopicPartition
from tests.gates.breaking import await_
from tests.gates.cases_both_up import BOTH_UP
from tests.gates.judging import judge
from tests.gates.world import World, world_at_work

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

PAYMENTS = TopicPartition("payments", 0)
LIMIT_BYTES = 3_000_000
"""As the estate's file has it; more than a producer sends unless it is told."""
FRAME_BYTES = 74
"""What a batch of one record without key and headers has beside its value: 61 of the batch, 13 of the record."""
QUICK = {
    "nothing was moved",
    "a landing topic is deleted",
    "a copy takes smaller records than its source",
    "too few in sync at the target",
    "the inventory is not there",
}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Producers are at work at west; the groups have stopped, so that their offsets stand still."""
    with world_at_work(tmp_path_factory.mktemp("quick")) as found:
        stop_consumers(found.simulation, "west")
        yield found


def test_the_largest_record_that_a_topic_takes_crosses_the_mirror(world: World) -> None:
    """One byte more, and the topic itself refuses it. Its topic is mirrored by a pattern."""
    source, target = world.simulation.cluster("west"), world.simulation.cluster("east")
    assert world.mirror.patterns == ("pay.*",)
    at_target = world.mirror.mirrored(PAYMENTS)
    start = target.end_offsets([at_target])[at_target]
    large = LIMIT_BYTES - FRAME_BYTES
    assert _sent(source.properties, bytes(large + 1)) == KafkaError.MSG_SIZE_TOO_LARGE
    assert _sent(source.properties, bytes(large)) is None

    def has_arrived() -> bool:
        end = target.end_offsets([at_target])[at_target]
        records = target.read_records({at_target: (start, end)})
        return any(len(record.value or b"") == large for chunk in records for record in chunk)

    await_(has_arrived)
    assert world.connect.connectors()["west-to-east-source"].state == "RUNNING"


def _sent(properties: Mapping[str, Any], value: bytes) -> int | None:
    """The error with which a record of this value was refused; None where it was acknowledged."""
    found: list[int | None] = []
    producer = Producer({**properties, "message.max.bytes": 2 * LIMIT_BYTES, "acks": "all"})
    producer.produce(
        PAYMENTS.topic,
        value=value,
        partition=PAYMENTS.partition,
        on_delivery=lambda error, _message: found.append(None if error is None else error.code()),
    )
    assert producer.flush(30) == 0
    return found[0]


def test_refused_or_unknown_and_nothing_changed(world: World) -> None:
    """Three that refuse a switchover, one that it cannot measure, and a failback of which there is nothing."""
    chosen = [case for case in BOTH_UP if case.name in QUICK]
    assert len(chosen) == len(QUICK)
    for case in chosen:
        judge(world, case)
