"""A simulation is filled by the product's own apply, on a machine that has moved the real estate before."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.errors import GateRefusedError
from orchestrator.moves.request import FailbackRequest, SwitchoverRequest
from orchestrator.runs.live.uncoordinated import local_journal
from orchestrator.runs.plan import canonical_json, to_json
from orchestrator.simulation.clients import ServerClients
from orchestrator.topology.loading import load_topology
from orchestrator.verbs.live.apply import plan_apply, run_apply
from orchestrator.verbs.live.failback_procedure import run_failback
from orchestrator.verbs.live.switchover_procedure import run_switchover
from tests.moves.toy_world import REQUESTS, ToyEstate
from tests.reconcile.memory_run import rehearse
from tests.runs.memory_ensemble import a_record

SICK = Path(__file__).parents[1] / "faults" / "sick.yaml"


def _moved_alone(name: str) -> tuple[str, Path]:
    """A failover of the real estate of that name was made from here, without its ensemble."""
    run_id = "20260101T000000-failover-abcdef"
    records = a_record(run_id, 1, "run-started"), a_record(run_id, 2, "step-intent", "stop-mirror")
    journal = local_journal(name, run_id)
    journal.parent.mkdir(parents=True)
    journal.write_text("".join(canonical_json(to_json(record)) + "\n" for record in records))
    return run_id, journal


def test_a_journal_of_the_real_estate_keeps_no_new_simulation_of_its_name_from_being_filled(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It has nothing to tell to an ensemble that is new; the real estate waits for its import all the same."""
    world = rehearse(monkeypatch, tmp_path, load_topology(SICK))
    run_id, journal = _moved_alone(world.topology.name)
    for of_the_real_one in (run_apply, plan_apply):
        with pytest.raises(GateRefusedError, match=f"{run_id} was made without the ensemble"):
            of_the_real_one(world.topology)
    said: list[tuple[str, str]] = []
    ServerClients().apply(world.topology, tmp_path / "apply", lambda *words: said.append(words))
    assert "orders" in world.clusters["west"].picture.topics
    assert len(said) > 1
    assert journal.exists()


def test_nor_do_such_journals_stop_the_moves_of_a_drill(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """There and back: each of them is of the drill's own simulation."""
    monkeypatch.setenv("DCCTL_STATE_DIR", str(tmp_path / "state"))
    estate = ToyEstate(tmp_path, is_usual=True)
    _moved_alone(estate.topology.name)
    there, back = REQUESTS["switchover"], REQUESTS["failback"]
    assert isinstance(there, SwitchoverRequest)
    assert isinstance(back, FailbackRequest)
    with pytest.raises(GateRefusedError, match="was made without the ensemble"):
        run_switchover(estate.topology, there, servers=estate.servers, them=estate.them)
    new = {"servers": estate.servers, "them": estate.them, "is_new_estate": True}
    assert run_switchover(estate.topology, there, **new).outcome == "ok"  # type: ignore[arg-type]
    estate.live(1)
    assert run_failback(estate.topology, back, **new).outcome == "ok"  # type: ignore[arg-type]
