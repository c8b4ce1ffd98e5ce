"""Kafka through confluent-kafka: what a cluster says, and the few things we make it do."""

from orchestrator.adapters.kafka.cluster import KafkaCluster
from orchestrator.adapters.kafka.records import produce_records, read_records

__all__ = ["KafkaCluster", "produce_records", "read_records"]
