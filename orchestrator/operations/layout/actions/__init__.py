"""What the steps of an apply do, by idea: topics, replicas, access rules, connectors, the record."""

from orchestrator.operations.layout.actions.table import LAYOUT_TABLE

__all__ = ["LAYOUT_TABLE"]
