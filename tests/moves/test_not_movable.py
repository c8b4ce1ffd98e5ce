"""A kind of application and a mirror engine that take no part in moves: all but moves work on their files."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from orchestrator.cli.main import run
from orchestrator.cli.status_view import render_status
from orchestrator.errors import DcctlError
from orchestrator.replication.engine import Asked, Engine, MirrorHealth
from orchestrator.replication.mirror_ref import ref_to
from orchestrator.runs.live.holds import put_hold, release_hold
from orchestrator.runs.plan import RunEvent
from orchestrator.topology.loading import dump_topology, parse_topology
from orchestrator.topology.model import Replication
from orchestrator.verbs.live.apply import run_apply
from orchestrator.verbs.live.runs import abort_run, resume_run
from orchestrator.verbs.live.switchover_procedure import SwitchoverProcedure
from orchestrator.watch.status import mirror_status
from tests.moves import toy_declared, toy_engine
from tests.moves.test_toy_declared import FILE, estate_with_toys
from tests.moves.toy_declared import install
from tests.moves.toy_world import AWAY, HOME, REQUESTS, ToyEstate
from tests.reconcile.memory_run import Rehearsal, rehearse


class OnlyCopies(Engine):
    """An engine that nobody is moved along."""

    name, title = "toy", "A copier"

    def health(self, asked: Asked, mirror: Replication, at_s: float) -> MirrorHealth:  # noqa: ARG002
        return MirrorHealth(at_s=at_s, states={"copier-west": "RUNNING"})


ONLY_COPIES = OnlyCopies()


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The package of the toys is installed, and its kind only reads: it cannot be used in a move."""
    install(tmp_path / "site-packages")
    monkeypatch.syspath_prepend(str(tmp_path / "site-packages"))
    monkeypatch.setattr(toy_declared, "TOY", replace(toy_declared.TOY, takes_part=""))


def shown(told: dict[str, Any], estate: ToyEstate) -> str:
    """As a person reads it."""
    out = io.StringIO()
    render_status({"mirrors": [told]}, Console(file=out, width=200), estate.topology.consumers)
    return " ".join(out.getvalue().split())


def _stopped_apply(world: Rehearsal) -> str:
    """It was held on its way, and then released; returns the run's id."""

    def hold(event: RunEvent) -> None:
        if event.kind == "step-outcome":
            put_hold(world.topology, "all", reason="stop!")

    end = run_apply(world.topology, on_event=hold)
    assert end.outcome == "incomplete", end.reason
    release_hold(world.topology, "all")
    return end.run_id


@pytest.mark.usefixtures("reader")
def test_an_apply_is_resumed_shown_and_listed_where_a_kind_cannot_be_moved(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its run names no step of that kind, and taking the kind out of the file would end the run for good."""
    world = rehearse(monkeypatch, tmp_path, parse_topology(FILE))
    run_id, file = _stopped_apply(world), tmp_path / "f.yaml"
    file.write_text(json.dumps(dump_topology(world.topology)), encoding="utf-8")
    assert run(["history", str(file), "--json"]) == 0
    assert [row["run_id"] for row in json.loads(capsys.readouterr().out)["runs"]] == [run_id]
    assert run(["show", run_id, str(file), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["story"]["outcome"] == "incomplete"
    assert resume_run(world.topology, run_id).outcome == "ok"


@pytest.mark.usefixtures("reader")
def test_an_apply_is_aborted_where_a_kind_cannot_be_moved(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What can be taken back of it is."""
    world = rehearse(monkeypatch, tmp_path, parse_topology(FILE))
    run_id = _stopped_apply(world)
    assert abort_run(world.topology, run_id, reason="ada: no").outcome == "undone"


@pytest.mark.usefixtures("reader")
def test_status_tells_that_a_failover_would_refuse_a_kind_that_cannot_be_moved(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """And all else as of any file; every verb that moves refuses it, and says the same."""
    estate = estate_with_toys(monkeypatch, tmp_path)
    (mirror,) = estate.topology.replication
    told = mirror_status(estate.topology, mirror, servers=estate.servers)
    (gate,) = [row for row in told["would_refuse"] if row["id"] == "movable"]
    assert (gate["outcome"], gate["reason"]) == ("refused", "kind toy cannot be moved")
    assert told["source_answers"]
    assert told["loss"]["topics"].keys() == {"orders"}
    assert "movable: kind toy cannot be moved" in shown(told, estate)
    with pytest.raises(DcctlError, match="kind toy: cannot be moved"):
        SwitchoverProcedure(estate.topology, REQUESTS["switchover"], servers=estate.servers)  # type: ignore[arg-type]


def test_status_of_a_mirror_whose_engine_only_copies(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Its states and its health; what a loss would cost is not known, for nobody would be moved along it."""
    copies = replace(toy_engine.DECLARED, engine=f"{__name__}:ONLY_COPIES")
    monkeypatch.setattr(toy_engine, "DECLARED", copies)
    estate = ToyEstate(tmp_path)
    (mirror,) = estate.topology.replication
    told = mirror_status(estate.topology, mirror, servers=estate.servers)
    assert (told["source"], told["target"], told["source_answers"]) == (HOME, AWAY, True)
    assert told["mirror"]["states"] == {"copier-west": "RUNNING"}
    assert [row["primary"] for row in told["primary"]] == [HOME]
    assert told["loss"]["at_most"] is None
    said = f"mirror {ref_to(mirror)} its engine toy cannot be used in a move"
    assert [(row["id"], row["reason"]) for row in told["would_refuse"]] == [("movable", said)]
    assert said in shown(told, estate)
    procedure = SwitchoverProcedure(estate.topology, REQUESTS["switchover"], servers=estate.servers)  # type: ignore[arg-type]
    with pytest.raises(DcctlError, match="its engine toy cannot be used in a move"):
        procedure.run()
