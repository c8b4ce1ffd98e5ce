"""What the steps of a failover do: one function for each name in the plan.

A function that performs returns what later steps need. A function that verifies looks, and returns the
same, so that a run that goes on after a crash has it too.
"""

from orchestrator.operations.actions.table import MOVE_TABLE
from orchestrator.operations.actions.tables import ActionTable, TableActions

__all__ = ["MOVE_TABLE", "ActionTable", "TableActions"]
