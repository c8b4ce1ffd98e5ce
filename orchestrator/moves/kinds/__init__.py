"""The kinds of applications that can be moved: see `moves.participants.Kind`."""

from orchestrator.moves.kinds.consumer_groups import ConsumerGroups
from orchestrator.moves.kinds.producers import Producers
from orchestrator.moves.kinds.spark_queries import SparkQueries

__all__ = ["ConsumerGroups", "Producers", "SparkQueries"]
