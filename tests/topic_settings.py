"""A topic's settings changed behind dcctl's back, as somebody with Kafka's own tools does it."""

from __future__ import annotations

from collections.abc import Mapping

from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)

from orchestrator.adapters.kafka import KafkaCluster


def set_topic_config(
    cluster: KafkaCluster, name: str, config: Mapping[str, str], timeout_s: float = 10.0
) -> None:
    """Set some entries of a topic's configuration and leave the others as they are."""
    entries = [
        ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET) for key, value in config.items()
    ]
    resource = ConfigResource(ResourceType.TOPIC, name, incremental_configs=entries)
    admin = AdminClient(dict(cluster.properties))  # held to the end: its requests die with it
    for future in admin.incremental_alter_configs([resource], request_timeout=timeout_s).values():
        future.result(timeout_s)
