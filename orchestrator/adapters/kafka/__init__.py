"""Kafka through confluent-kafka: what a cluster says, and the few things we make it do."""

from orchestrator.adapters.kafka.cluster import KafkaCluster, TopicDescription
from orchestrator.adapters.kafka.records import Record, produce_records, read_records

__all__ = ["KafkaCluster", "Record", "TopicDescription", "produce_records", "read_records"]
