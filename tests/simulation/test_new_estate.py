"""A simulation is filled by the product's own apply, on a machine that has moved the real estate before."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.errors import GateRefusedError
from orchestrator.runs.live.uncoordinated import local_journal
from orchestrator.runs.plan import canonical_json, to_json
from orchestrator.simulation.clients import ServerClients
from orchestrator.topology.loading import load_topology
from orchestrator.verbs.live.apply import plan_apply, run_apply
from tests.reconcile.memory_run import rehearse
from tests.runs.memory_ensemble import a_record

SICK = Path(__file__).parents[1] / "faults" / "sick.yaml"


def test_a_journal_of_the_real_estate_keeps_no_new_simulation_of_its_name_from_being_filled(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It has nothing to tell to an ensemble that is new; the real estate waits for its import all the same."""
    world = rehearse(monkeypatch, tmp_path, load_topology(SICK))
    run_id = "20260101T000000-failover-abcdef"
    records = a_record(run_id, 1, "run-started"), a_record(run_id, 2, "step-intent", "stop-mirror")
    journal = local_journal(world.topology.name, run_id)
    journal.parent.mkdir(parents=True)
    journal.write_text("".join(canonical_json(to_json(record)) + "\n" for record in records))
    for of_the_real_one in (run_apply, plan_apply):
        with pytest.raises(GateRefusedError, match=f"{run_id} was made without the ensemble"):
            of_the_real_one(world.topology)
    said: list[tuple[str, str]] = []
    ServerClients().apply(world.topology, tmp_path / "apply", lambda *words: said.append(words))
    assert "orders" in world.clusters["west"].picture.topics
    assert len(said) > 1
    assert journal.exists()
