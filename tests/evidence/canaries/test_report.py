"""The report of a real run where nothing can be measured: it is written, says why, and claims nothing."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.errors import AuditError, UsageError
from orchestrator.evidence.canaries.evidence import Asked
from orchestrator.evidence.canaries.report import canary_report
from orchestrator.evidence.report import parse_report
from orchestrator.runs.plan import digest
from orchestrator.topology.loading import dump_topology, load_topology
from orchestrator.topology.model import Topology
from orchestrator.verbs.live.finished_run import finished_run
from orchestrator.verbs.live.run_result import RunResult
from tests.drill.rehearsal import ROOT
from tests.runs.memory_ensemble import MemoryEnsemble

CANARY = load_topology(ROOT / "tests" / "faults" / "canary.yaml")
PLANNED_AT_S = 1.8e9


def run(verb: str = "failover", *, source: str = "west", target: str = "east") -> RunResult:
    """A run of which only the frame matters."""
    return RunResult(
        run_id="r",
        outcome="ok",
        reason="",
        source=source,
        target=target,
        started_at_s=PLANNED_AT_S - 1,
        decided_at_s=PLANNED_AT_S + 1,
        ended_at_s=PLANNED_AT_S + 20,
        plan={
            "verb": verb,
            "created_at_s": PLANNED_AT_S,
            "request": {"by": "ann", "attested": ["west"]},
            "facts": {"source_failing_since_s": PLANNED_AT_S - 60},
            "steps": [],
        },
        gates=[],
        predicted={"loss": {"orders": {"expected": 3, "at_most": 9}}, "reread": {}, "seconds": 9.0},
    )


def reported(topology: Topology, done: RunResult, folder: Path) -> dict[str, object]:
    """The report, which follows its format."""
    asked = Asked(ledgers=folder / "nowhere", window_s=60, drain_s=0)
    data = canary_report(topology, done, asked, folder)
    parse_report(data)
    return data


def test_without_a_canary_nothing_was_measured(tmp_path: Path) -> None:
    """And every topic and consumer is listed as such."""
    plain = replace(CANARY, producers=CANARY.producers[:2], consumers=CANARY.consumers[:3])
    data = reported(plain, run(), tmp_path)
    assert data["verdict"] == "unknown"
    assert data["reasons"] == [
        "no producer of west is a canary whose topic is mirrored: nothing was measured"
    ]
    assert data["canaries"] == {
        "clients": [],
        "since": None,
        "unmeasured_topics": ["orders", "payments", "canary"],
        "unmeasured_consumers": ["billing", "shipping", "fraud"],
    }


def test_ledgers_that_are_not_there_are_named(tmp_path: Path) -> None:
    """A mount that is missing in the morning must not look like a good night."""
    data = reported(CANARY, run(), tmp_path)
    assert (data["verdict"], data["clusters"]) == ("unknown", {})
    assert "there is no such folder" in str(data["reasons"])


def test_a_way_back_is_seen_from_the_standby(tmp_path: Path) -> None:
    """Clients worked there, so it is their topics that could be lost; and nothing of them may be."""
    data = reported(CANARY, run("failback", source="east", target="west"), tmp_path)
    assert data["canaries"]["clients"] == ["canary-writer", "canary-reader"]  # type: ignore[index]
    assert data["predicted"]["source"] == "east"  # type: ignore[index]
    assert {loss["at_most"] for loss in data["predicted"]["loss"].values()} == {0}  # type: ignore[index]


@pytest.mark.parametrize(("verb", "source", "target"), [("fence", "west", ""), ("failover", "east", "west")])
def test_what_moved_nothing_along_a_mirror_is_refused(
    tmp_path: Path, verb: str, source: str, target: str
) -> None:
    """By its verb, with those that are reported."""
    with pytest.raises(UsageError, match="is a") as refused:
        reported(CANARY, run(verb, source=source, target=target), tmp_path)
    assert "failover, switchover, failback" in refused.value.hint


def finished(run_id: str) -> RunResult:
    """By `result.json`: the journal holds nothing of it."""
    return finished_run(CANARY, run_id, lambda _: MemoryEnsemble()).result


def test_a_resumed_run_is_told_from_its_begin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its clients may have started in the first attempt."""
    monkeypatch.setenv("DCCTL_STATE_DIR", str(tmp_path))
    folder = tmp_path / "runs" / "r"
    folder.mkdir(parents=True)
    resumed = replace(run(), started_at_s=PLANNED_AT_S + 900, decided_at_s=PLANNED_AT_S + 901)
    (folder / "result.json").write_text(json.dumps(resumed.as_json()), encoding="utf-8")
    found = finished("r")
    assert (found.started_at_s, found.decided_at_s) == (PLANNED_AT_S, PLANNED_AT_S)
    (folder / "result.json").write_text(json.dumps(run().as_json()), encoding="utf-8")
    assert finished("r").started_at_s == PLANNED_AT_S - 1
    with pytest.raises(AuditError, match="there is no"):
        finished("another")


def test_a_file_that_has_changed_since_the_run_is_named(tmp_path: Path) -> None:
    """Its digest in the report is not that of the day."""
    planned = replace(run(), plan={**run().plan, "topology_digest": digest(dump_topology(CANARY))})
    said = str(reported(CANARY, planned, tmp_path)["does_not_prove"])
    assert "has changed since the run was planned" not in said
    edited = replace(CANARY, failover=replace(CANARY.failover, max_position_age_s=9.0))
    said = str(reported(edited, planned, tmp_path)["does_not_prove"])
    assert "has changed since the run was planned" in said
