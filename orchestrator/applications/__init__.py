"""The kinds of applications that can be moved: see `moves.participants.Kind`."""

from orchestrator.applications.groups.kind import ConsumerGroups
from orchestrator.applications.producers.kind import Producers
from orchestrator.applications.spark.kind import SparkQueries

__all__ = ["ConsumerGroups", "Producers", "SparkQueries"]
