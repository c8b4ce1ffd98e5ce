"""The gate of an apply that needs two brokers: what is being moved already is waited for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from orchestrator.adapters.kafka import produce_records
from orchestrator.values import TopicPartition
from tests.gates.breaking import await_
from tests.gates.world import Asked, World, world_of

pytestmark = [pytest.mark.drills, pytest.mark.timeout(600)]

FILE = Path(__file__).with_name("two-brokers.yaml")
_ORDERS = TopicPartition("orders", 0)
# More than a follower fetches before the throttle takes hold.
_RECORDS, _RECORD_BYTES = 6_000, 1_000
_THROTTLED = {"leader.replication.throttled.rate": "1", "follower.replication.throttled.rate": "1"}


@contextmanager
def being_moved(world: World) -> Iterator[None]:
    """Somebody moves the topic by hand, and has throttled that."""
    kafka = world.simulation.cluster("home")
    records = [(None, b"x" * _RECORD_BYTES)] * _RECORDS
    produce_records("home", kafka.properties, "orders", records, timeout_s=60)
    (has,) = kafka.topics(["orders"])["orders"].replicas[0]
    all_replicas = dict.fromkeys(
        ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas"), "*"
    )
    with kafka:
        kafka.alter_configs("broker", dict.fromkeys(("1", "2"), _THROTTLED))
        kafka.alter_configs("topic", {"orders": all_replicas})
        kafka.alter_reassignments({_ORDERS: [3 - has]})
        try:
            yield
        finally:
            kafka.alter_reassignments({_ORDERS: None})
            kafka.alter_configs("topic", {"orders": dict.fromkeys(all_replicas)})
            kafka.alter_configs("broker", {number: dict.fromkeys(_THROTTLED) for number in ("1", "2")})
            await_(lambda: not kafka.list_reassignments(10.0))


def more_partitions(data: dict[str, Any]) -> None:
    """Of the topic that is being moved."""
    data["topics"][0]["partitions"] = 2


def test_what_is_being_moved_is_not_touched(tmp_path: Path) -> None:
    """Refused with status 4 and the partition's name; nothing changed."""
    with world_of(tmp_path, FILE, is_at_work=False) as world, being_moved(world):
        before = world.standing(is_quiet=True)
        answer = world.ask("apply", Asked(file=world.variant("more", more_partitions)))
        assert (answer.status, answer.closed) == (4, {"no-reassignment": "refused"}), answer
        gate = answer.gates["no-reassignment"]
        assert "orders-0 at home" in gate["reason"]
        assert "wait until the reassignment has ended" in gate["hint"]
        assert "orders-0 at home. Nothing was changed" in " ".join(answer.said.split())
        assert world.standing(is_quiet=True) == before
