"""The whole rehearsal: what the README promises, with real Kafka, MirrorMaker 2, Spark, ZooKeeper and Ansible."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.evidence.manifest.verification import verify_folder
from tests.drill.recomputed import recomputed
from tests.drill.rehearsal import ROOT, Rehearsal, processes_of, rehearse

pytestmark = [pytest.mark.drill, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def drill(tmp_path_factory: pytest.TempPathFactory) -> tuple[Rehearsal, Path]:
    """One drill for all tests of this module, and the folder in which it ran."""
    folder = tmp_path_factory.mktemp("drill")
    return rehearse(folder, "--seed", "4711", rto_s=600), folder


def test_the_drill_is_valid(drill: tuple[Rehearsal, Path]) -> None:
    """Verdict and exit status agree, and the evidence is there."""
    rehearsal, _ = drill
    assert rehearsal.report.get("verdict") == "valid", rehearsal.report.get("reasons") or rehearsal.stderr
    assert rehearsal.status == 0
    assert rehearsal.report["seed"] == 4711
    for name in ("report.html", "inputs.json", "ledgers", "logs", "run/plan.json", "run/journal.jsonl"):
        assert (rehearsal.folder / name).exists(), name


def test_no_hole_and_a_tail_as_predicted(drill: tuple[Rehearsal, Path]) -> None:
    """Loss is counted exactly, beyond the replicated position only, and inside the plan's bounds."""
    rehearsal, _ = drill
    predicted = rehearsal.report["predicted"]["loss"]
    for name, topic in rehearsal.topics.items():
        assert topic["acked"] > 0
        assert topic["lost"]["hole"] == 0
        assert topic["duplicates"] == 0
        assert topic["reordered"] == 0
        assert topic["lost"]["tail"] <= predicted[name]["at_most"]
        assert topic["lost"]["tail"] + topic["indeterminate"]["absent"] >= predicted[name]["at_least"]


def test_nothing_is_skipped_and_nothing_read_again_by_the_map(drill: tuple[Rehearsal, Path]) -> None:
    """The translation is exact, and costs less than MirrorMaker's own synced offsets."""
    rehearsal, _ = drill
    rows = rehearsal.report["consumers"]
    assert {row["name"] for row in rows} >= {
        "billing",
        "shipping",
        "fraud",
        "reporting",
        "search",
        "archive",
        "revenue",
    }
    assert all(row["skipped"] == 0 for row in rows)
    assert all(row["exact"] for row in rehearsal.groups)
    assert all(row["reread"]["map"] == 0 for row in rehearsal.groups)
    ours = sum(sum(row["reread"].values()) for row in rehearsal.groups)
    theirs = sum(row["mirrormaker_reread"] or 0 for row in rehearsal.groups)
    assert ours < theirs


def test_the_spark_query_goes_on_with_its_state(drill: tuple[Rehearsal, Path]) -> None:
    """Counts by key agree with the records, and batches went on at the target."""
    rehearsal, _ = drill
    (query,) = rehearsal.report["spark"]
    assert query["counts_match"] is True
    assert query["batches_before"] > 0
    assert query["batches_after"] > 0


def test_every_client_is_seen_again(drill: tuple[Rehearsal, Path]) -> None:
    """Time to recover is measured for each producer and consumer."""
    rto = drill[0].report["rto"]
    assert all(seconds is not None for seconds in {**rto["per_producer"], **rto["per_consumer"]}.values())
    assert {phase["name"] for phase in drill[0].report["phases"]} >= {
        "detect",
        "decide",
        "fence",
        "translate",
        "redirect",
    }


def test_every_figure_is_what_the_ledgers_say(drill: tuple[Rehearsal, Path]) -> None:
    """Counted once more from what clients and journals wrote down, by a script that shares no code with dcctl."""
    found = recomputed(drill[0].folder)
    assert found.compared > 100
    assert found.differences == []


def dcctl(*words: str) -> tuple[int, str]:
    """A command on evidence, in a state folder that knows nothing; its status and what it says."""
    command = [sys.executable, "-m", "orchestrator.cli.main", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600, cwd=ROOT)
    return done.returncode, done.stdout if "--json" in words else done.stdout + done.stderr


def test_a_copy_elsewhere_is_audited_with_the_same_figures(
    drill: tuple[Rehearsal, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The drill was taken down, the folder was copied and the first one is away: every figure is the report's."""
    first, copy = drill[0].folder, tmp_path / "archive" / "copy"
    shutil.copytree(first, copy)
    monkeypatch.setenv("DCCTL_STATE_DIR", str(tmp_path / "state"))
    first.rename(first.with_name("away"))
    try:
        status, said = dcctl("audit", str(copy), "--json")
    finally:
        first.with_name("away").rename(first)
    audited = json.loads(said)
    assert (status, audited["verdict"], audited["reasons"]) == (0, "valid", [])
    assert (audited["read_from"], audited["report_verdict"]) == ("kept", "valid")
    assert audited["differs_from_report"] == []
    assert audited["clusters"]["west"]["topics"]["orders"]["acked"] == drill[0].topics["orders"]["acked"] > 0
    assert dcctl("report", "verify", str(copy))[0] == 0, "an audit changes nothing"


def test_evidence_is_signed_and_any_change_is_named(drill: tuple[Rehearsal, Path], tmp_path: Path) -> None:
    """One byte of every file of a real folder."""
    folder = tmp_path / "copy"
    shutil.copytree(drill[0].folder, folder)
    found = verify_folder(folder)
    assert (found.outcome, found.differences) == ("ok", ())
    assert found.manifest is not None
    assert {"report.html", "inputs.json", "run/journal.jsonl", "kept/kept.json"} <= set(found.manifest.files)
    changed = set()
    for path, entry in found.manifest.files.items():
        if entry.size_bytes and path != "manifest.pub":
            data = (folder / path).read_bytes()
            (folder / path).write_bytes(bytes([data[0] ^ 1]) + data[1:])
            changed.add(("changed", path))
    assert len(changed) > 50
    assert {(one.how, one.path) for one in verify_folder(folder).differences} == changed


def test_nothing_in_the_folder_names_a_place_of_this_machine_that_an_audit_needs(
    drill: tuple[Rehearsal, Path],
) -> None:
    """Paths of what is in the folder are paths within it."""
    folder = drill[0].folder
    for name in ("inputs.json", "report.json", "manifest.json", "kept/kept.json", "run/result.json"):
        assert str(folder) not in (folder / name).read_text(encoding="utf-8"), name


def test_nothing_is_left_behind(drill: tuple[Rehearsal, Path]) -> None:
    """No process, and no simulation's folder."""
    _, folder = drill
    assert processes_of(folder) == []
    assert not list((folder / "state" / "simulations").glob("*"))
