"""Group offsets on a real broker whose coordinator is still on its way: librdkafka crashes there, we do not."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.adapters.java.detection import find_java
from orchestrator.adapters.java.runtime import kafka_runtime
from orchestrator.errors import ClusterError
from orchestrator.ports.admin_values import NewTopic
from orchestrator.values import TopicPartition
from tests.kafka_broker import kafka_broker

pytestmark = pytest.mark.integration

GROUPS = [f"group-{number}" for number in range(40)]


def test_coordinators_that_come_up_are_waited_for(tmp_path: Path) -> None:
    """The very first questions to a cluster make its offsets topic; the answers are right all the same."""
    with kafka_broker(kafka_runtime("4.3.1", find_java()), tmp_path) as cluster:
        cluster.create_topics({"orders": NewTopic(partitions=3, replicas=1)})
        assert cluster.committed(GROUPS, timeout_s=60) == {group: {} for group in GROUPS}
        wanted = {TopicPartition("orders", number): 0 for number in range(3)}
        for group in GROUPS:
            cluster.write_group_offsets(group, wanted, timeout_s=60)
        assert cluster.committed(GROUPS) == dict.fromkeys(GROUPS, wanted)
        assert cluster.group_members(GROUPS) == dict.fromkeys(GROUPS, 0)
        with pytest.raises(ClusterError, match=r"nowhere-0: writing the offsets of group group-0"):
            cluster.write_group_offsets("group-0", {TopicPartition("nowhere", 0): 1})
