"""How long a client may be away: what the file's own objective allows, and no less than two minutes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.evidence.audit.inputs import audit_inputs
from orchestrator.topology.model import Objectives
from tests.verbs.pictures import topology


@pytest.mark.parametrize(
    ("objectives", "limit_s"),
    [
        (None, 120.0),
        (Objectives(rpo_records=5), 120.0),
        (Objectives(rto_s=30), 120.0),
        (Objectives(rto_s=600), 600.0),
    ],
)
def test_a_client_may_be_away_for_as_long_as_the_file_allows(
    objectives: Objectives | None, limit_s: float
) -> None:
    """A shorter objective is judged beside it, as missed: the prediction holds all the same."""
    file = topology()
    file = replace(file, failover=replace(file.failover, objectives=objectives))
    assert audit_inputs(file, file.replication[0], ledgers=Path("ledgers")).seen_within_s == limit_s
