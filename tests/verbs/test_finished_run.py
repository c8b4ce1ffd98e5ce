"""What a run came to is in its journal, so its report can be made wherever the journal can be read."""

from __future__ import annotations

import json
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from orchestrator.errors import AuditError
from orchestrator.runs.live.journal import RESULT, kept_result, unpacked
from orchestrator.runs.live.state_folder import run_folder
from orchestrator.verbs.live.finished_run import FinishedRun, finished_run
from orchestrator.verbs.live.history_import import import_journal
from orchestrator.verbs.live.run_result import RunResult
from tests.runs.memory_ensemble import MemoryEnsemble, a_record, write_run
from tests.twin.conftest import Estates
from tests.twin.crew import ProcessDied
from tests.twin.operator import Operator

SMALL = "tests/faults/small.yaml"


@pytest.fixture
def lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Operator:
    """West is gone, and the watcher has seen it."""
    monkeypatch.setenv("DCCTL_STATE_DIR", str(tmp_path / "state"))
    operator = Estates(tmp_path).at_work(SMALL)
    operator.estate.lose("west")
    operator.estate.live(5)
    return operator


def elsewhere(operator: Operator, run_id: str, monkeypatch: pytest.MonkeyPatch, folder: Path) -> FinishedRun:
    """What another machine finds, that has a state folder of its own and the ensemble."""
    monkeypatch.setenv("DCCTL_STATE_DIR", str(folder))
    return finished_run(operator.estate.topology, run_id, operator.estate.servers.coordination)


def alike(one: RunResult) -> dict[str, object]:
    """A result as JSON has it, without what belongs to the machine."""
    return json.loads(json.dumps({**one.as_json(), "folder": "", "ended_at_s": 0.0}))


def test_another_machine_finds_the_same_result(
    lost: Operator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every key of it, and all that a report's folder needs."""
    here = lost.failover()
    found = elsewhere(lost, here.run_id, monkeypatch, tmp_path / "colleague")
    assert alike(found.result) == alike(here)
    assert found.result.ended_at_s == pytest.approx(here.ended_at_s, abs=1)
    assert found.source == "the journal"
    found.keep(folder := tmp_path)
    assert json.loads((folder / "result.json").read_text("utf-8"))["run_id"] == here.run_id
    assert json.loads((folder / "plan.json").read_text("utf-8"))["verb"] == "failover"
    assert (folder / "journal.jsonl").read_text("utf-8").count("\n") == len(found.records)


def test_the_last_record_stays_short(lost: Operator) -> None:
    """Who looks at many runs reads each one's last record; what it came to lies in parts beside it."""
    here = lost.failover()
    path = f"/dcctl/{lost.estate.topology.name}/runs/{here.run_id}"
    nodes = lost.estate.ensemble.nodes
    (last,) = [value for name, value in nodes.items() if name.startswith(path) and name.endswith("run-ended")]
    assert set(unpacked(last)["data"][RESULT]) == {"parts", "digest"}
    assert len(last) < 600
    parts = [name for name in nodes if f"run-parts/{here.run_id}/" in name and RESULT in name]
    assert len(parts) == 1


def test_a_result_that_was_changed_is_not_taken(
    lost: Operator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor one of which a part is gone; here nothing else is known of it."""
    here = lost.failover()
    (part,) = [name for name in lost.estate.ensemble.nodes if RESULT in name]
    del lost.estate.ensemble.nodes[part]
    with pytest.raises(AuditError, match="part 0 of 1 is not there"):
        elsewhere(lost, here.run_id, monkeypatch, tmp_path / "colleague")


def test_what_a_resumed_run_came_to_is_told_by_its_last_end(
    lost: Operator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever begins it dies, whoever goes on fails, and the third brings it to its end."""
    lost.estate.record.harm_where(lambda entry: entry.verb == "stop connector", "dies after")
    with pytest.raises(ProcessDied):
        lost.failover()
    lost.estate.record.heal()
    lost.estate.restart_dcctl()
    topology, connect = lost.estate.topology, lost.estate.servers.coordination
    with pytest.raises(AuditError, match=f"has not ended: dcctl resume {lost.run_id} FILE"):
        finished_run(topology, lost.run_id, connect)
    lost.estate.record.harm_where(lambda entry: entry.verb == "start client", "fails")
    failed = lost.resume()
    assert failed.outcome != "ok"
    assert alike(finished_run(topology, lost.run_id, connect).result)["outcome"] == failed.outcome
    lost.estate.record.heal()
    done = lost.resume()
    found = elsewhere(lost, lost.run_id, monkeypatch, tmp_path / "colleague")
    assert (found.result.outcome, found.result.asked_at_s) == ("ok", done.asked_at_s)
    assert alike(found.result)["steps"] == alike(done)["steps"]


def test_without_the_ensemble_this_machine_keeps_it_until_the_journal_is_imported(
    lost: Operator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In its own journal first; then others find it, too."""
    lost.estate.ensemble.is_gone = True
    here = lost.failover(without_coordination=True)
    topology, connect = lost.estate.topology, lost.estate.servers.coordination
    (run_folder(here.run_id) / "result.json").unlink()
    assert alike(finished_run(topology, here.run_id, connect).result) == alike(here)
    lost.estate.ensemble.is_gone = False
    monkeypatch.setattr("orchestrator.runs.live.history.coordination_connection", connect)
    import_journal(topology, next((tmp_path / "state").rglob(f"{here.run_id}.jsonl")))
    assert alike(elsewhere(lost, here.run_id, monkeypatch, tmp_path / "colleague").result) == alike(here)


def test_an_ensemble_that_does_not_answer_leaves_what_is_here(lost: Operator) -> None:
    """The file of the machine on which the run ended, and who is asked says so."""
    here = lost.failover()
    lost.estate.ensemble.is_gone = True
    found = finished_run(lost.estate.topology, here.run_id, lost.estate.servers.coordination)
    assert alike(found.result) == alike(here)
    assert found.source == str(run_folder(here.run_id) / "result.json")
    (run_folder(here.run_id) / "result.json").unlink()
    with pytest.raises(AuditError, match=r"not in the journal \(.*no answer.*there is no .*result\.json"):
        finished_run(lost.estate.topology, here.run_id, lost.estate.servers.coordination)


@pytest.mark.parametrize(
    ("records", "why"),
    [
        ([a_record("r", 1, "run-started", plan={}), a_record("r", 2, "step-intent", "a")], "has not ended"),
        (
            [a_record("r", 1, "run-started", plan={}), a_record("r", 2, "run-ended", outcome="refused")],
            "refused",
        ),
        (
            [a_record("r", 1, "run-started", plan={}), a_record("r", 2, "run-ended", outcome="declined")],
            "declined",
        ),
        (
            [
                a_record("r", 1, "run-started", plan={}),
                a_record("r", 2, "run-ended", outcome="ok", run_result_unknown="KeyError('x')"),
            ],
            "could not be put together",
        ),
        (
            [a_record("r", 1, "run-started", plan={}), a_record("r", 2, "run-ended", outcome="ok")],
            "did not keep",
        ),
    ],
)
def test_a_run_without_a_result_says_why(
    lost: Operator, tmp_path: Path, records: list[object], why: str
) -> None:
    """And where else it may be."""
    ensemble = MemoryEnsemble()
    write_run(ensemble, lost.estate.topology.name, "r", tmp_path / "r", *records)  # type: ignore[arg-type]
    with pytest.raises(AuditError, match=why):
        finished_run(lost.estate.topology, "r", lambda _: ensemble)
    with pytest.raises(AuditError, match="no run is called so"):
        finished_run(lost.estate.topology, "../r", lambda _: ensemble)


def test_a_large_result_comes_back(tmp_path: Path) -> None:
    """In several parts; written twice it is there once."""
    ensemble = MemoryEnsemble()
    rows = [
        {"group": f"group-{number}", "digest": sha256(str(number).encode()).hexdigest()}
        for number in range(30_000)
    ]
    end = a_record("r", 2, "run-ended", outcome="ok")
    whole = replace(end, data={**end.data, RESULT: {"translations": rows}})
    for _ in range(2):
        write_run(ensemble, "t", "r", tmp_path / "r", whole)
    (last,) = [unpacked(value) for name, value in ensemble.nodes.items() if name.endswith("run-ended")]
    assert last["data"][RESULT]["parts"] > 1
    told = replace(end, data=last["data"])
    assert kept_result(ensemble, "t", told) == {"translations": rows}
