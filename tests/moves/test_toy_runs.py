"""Runs in which applications of an installed kind took part, by commands that are told nothing of the kind."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from orchestrator.cli.main import run
from orchestrator.errors import GateRefusedError
from orchestrator.moves.request import FailoverRequest
from orchestrator.runs.estate_record import DenialLifted
from orchestrator.runs.live import coordination
from orchestrator.runs.live.estate_facts import read_facts
from orchestrator.runs.live.procedure import run_procedure
from orchestrator.runs.live.refusals import refuse_unimported
from orchestrator.runs.live.uncoordinated import local_journal
from orchestrator.topology.loading import dump_topology, parse_topology
from orchestrator.verbs.live import runs
from orchestrator.verbs.live.failover_procedure import run_failover
from orchestrator.verbs.live.switchover_procedure import SwitchoverProcedure
from orchestrator.verbs.registration import EFFECTS, effects_of
from tests.moves.test_toy_declared import DEGRADED, estate_with_toys
from tests.moves.toy_declared import DeclaredTallies, install
from tests.moves.toy_world import AWAY, HOME, REQUESTS, TALLIES
from tests.twin.crew import ProcessDied


@pytest.fixture(autouse=True)
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder into which the package of the toys is installed; what runs leave behind lies beside it."""
    folder = tmp_path / "site-packages"
    install(folder)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setenv("DCCTL_STATE_DIR", str(tmp_path / "state"))
    return folder


@pytest.mark.parametrize("has_left", [False, True], ids=["in the file", "has left the file"])
def test_what_it_recorded_without_the_ensemble_is_imported(
    has_left: bool,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """By the package that is installed; else every later command would wait for an import that cannot be."""
    estate = estate_with_toys(monkeypatch, tmp_path)
    estate.live(30)
    estate.lose(HOME)
    estate.ensemble.is_gone = True
    estate.live(5)
    request = FailoverRequest(
        to=AWAY, attested=(HOME,), by="ada", reason="it burns", without_coordination=True
    )
    result = run_failover(estate.topology, request, servers=estate.servers)
    assert result.outcome == "ok", result.reason
    estate.ensemble.is_gone = False
    monkeypatch.setattr(coordination, "Coordination", lambda *_, **__: estate.ensemble)
    file, journal = tmp_path / "toys.yaml", local_journal(estate.topology.name, result.run_id)
    now = replace(estate.topology, consumers=()) if has_left else estate.topology
    file.write_text(json.dumps(dump_topology(now)), encoding="utf-8")
    with pytest.raises(GateRefusedError, match="was made without the ensemble"):
        refuse_unimported(now)
    assert run(["history", str(file), "--import", str(journal), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["imported"]["primary"] == AWAY
    refuse_unimported(now)
    lifted = [fact.body for fact in read_facts(estate.ensemble, now.name, (DenialLifted,))]
    assert lifted == [DenialLifted(cluster=AWAY, topics=((AWAY, name),)) for name in TALLIES]


def test_abort_asks_with_all_that_is_held(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also what the steps of an installed kind hold."""
    estate, ids = estate_with_toys(monkeypatch, tmp_path), set()
    procedure = SwitchoverProcedure(estate.topology, REQUESTS["switchover"], servers=estate.servers)  # type: ignore[arg-type]
    estate.record.harm_where(lambda entry: entry.verb == "place tally", "dies before")
    with pytest.raises(ProcessDied):
        run_procedure(procedure, on_event=lambda event: ids.add(event.run_id))
    estate.record.heal()
    estate.restart_dcctl()
    monkeypatch.setattr(coordination, "Coordination", lambda *_, **__: estate.ensemble)
    monkeypatch.setattr(runs, "abort_run", partial(runs.abort_run, servers=estate.servers))
    file = tmp_path / "toys.yaml"
    file.write_text(json.dumps(dump_topology(estate.topology)), encoding="utf-8")
    assert run(["abort", *ids, str(file), "--yes"]) == 0
    said = " ".join(capsys.readouterr().err.split())
    assert "held: producer-checkout, tally ada, tally grace stopped" in said
    assert "held once that is rolled back: nothing" in said


def test_a_package_that_is_wrong_hides_no_others_steps_from_readers(package: Path) -> None:
    """Nor does it keep anybody from reading a run."""
    lines = "[dcctl.kinds]\naaa = no_such_module:it\ntoy = tests.moves.toy_declared:TOY\n"
    (package / "toys-1.0.dist-info" / "entry_points.txt").write_text(lines)
    known = {effect.NAME for effect in effects_of(parse_topology(DEGRADED))}
    assert known > {effect.NAME for effect in (*EFFECTS, *DeclaredTallies.effects)}
