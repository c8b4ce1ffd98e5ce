"""Folders of runs: which of them a machine need not keep, and that no other goes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.cli.main import run
from orchestrator.runs.live.run_folders import run_folders
from orchestrator.runs.pruning import DAY_S, Rule, RunFolder, kept_because

NOW_S = 1_800_000_000.0
ONE = Rule(older_than_days=90, keep=1)


def _folder(day: int, verb: str, **more: Any) -> RunFolder:
    """A run that began `day` days before now."""
    told = {"topology": "payments", "ending": "ok", "size_bytes": 1, **more}
    return RunFolder(run_id=f"{1000 - day:04d}-{verb}", verb=verb, began_at_s=NOW_S - day * DAY_S, **told)


def _gone(folders: list[RunFolder], rule: Rule = ONE) -> list[str]:
    kept = kept_because(folders, rule, NOW_S)
    return [f"{folder.verb}" for folder in folders if folder.run_id not in kept]


def test_what_is_old_and_not_among_the_newest_goes() -> None:
    """Both have to hold; each topology has newest ones of its own."""
    old, young = _folder(400, "apply"), _folder(30, "plan")
    assert _gone([old, young, _folder(1, "fence")]) == ["apply"]
    assert _gone([_folder(400, "apply")]) == []
    assert _gone([old, _folder(300, "unfence", topology="ledger")]) == []
    assert _gone([_folder(day, "apply") for day in (500, 400, 300)], Rule(keep=2)) == ["apply"]


@pytest.mark.parametrize("verb", ["failover", "switchover"])
def test_a_move_stays_until_a_failback_has_taken_it_home(verb: str) -> None:
    """Whatever has been moved since: `failback` rests on it."""
    moved, later = _folder(400, verb), _folder(1, "apply")
    assert _gone([moved, later]) == []
    assert _gone([moved, _folder(350, "failback", ending="undone"), later]) == ["failback"]
    assert _gone([moved, _folder(350, "failback", topology="ledger"), later]) == []
    assert _gone([moved, _folder(350, "failback"), later]) == [verb, "failback"]


def test_a_fence_stays_until_it_is_taken_off() -> None:
    """Its denials stand, and by its journal they are known for dcctl's own."""
    fenced, later = _folder(400, "fence"), _folder(1, "apply")
    assert _gone([fenced, later]) == []
    assert _gone([fenced, _folder(300, "unfence"), later]) == ["fence", "unfence"]


@pytest.mark.parametrize(
    "why", [{"ending": "unfinished"}, {"ending": "unreadable"}, {"has_journal_parts": True}]
)
def test_what_a_later_command_may_need_stays_for_ever(why: dict[str, Any]) -> None:
    """A run that is to be resumed, and journals of an earlier dcctl that lie in part here."""
    assert _gone([_folder(4_000, "apply", **why), _folder(1, "apply")], Rule(reports=True, keep=1)) == []


def test_reports_stay_unless_they_are_meant() -> None:
    """They are evidence for an auditor, who comes a year later."""
    folders = [_folder(400, "apply", has_report=True), _folder(1, "apply")]
    assert _gone(folders) == []
    assert _gone(folders, replace(ONE, reports=True)) == ["apply"]


_VERBS = ("failover", "failback", "switchover", "fence", "unfence", "apply")


@given(
    st.lists(
        st.builds(
            _folder,
            st.integers(0, 999),
            st.sampled_from(_VERBS),
            topology=st.sampled_from(("a", "b", "")),
            ending=st.sampled_from(("nothing begun", "ok", "undone", "unfinished", "unreadable")),
        ),
        unique_by=lambda folder: folder.run_id,
    ),
    st.integers(1, 3),
)
def test_never_the_newest_nor_an_unfinished_nor_a_young_one(folders: list[RunFolder], keep: int) -> None:
    """Of whatever runs there are."""
    kept = kept_because(folders, Rule(keep=keep), NOW_S)
    for name in {folder.topology for folder in folders}:
        runs = sorted(folder.run_id for folder in folders if folder.topology == name)
        assert set(runs[-keep:]) <= kept.keys()
    for folder in folders:
        if folder.run_id not in kept:
            assert folder.ending in ("ok", "undone", "nothing begun")
            assert NOW_S - folder.began_at_s >= 90 * DAY_S


def _write(root: Path, run_id: str, records: list[dict[str, Any]], **files: str) -> Path:
    folder = root / "runs" / run_id
    folder.mkdir(parents=True)
    lines = "".join(json.dumps(record) + "\n" for record in records)
    (folder / "journal.jsonl").write_text(lines, encoding="utf-8")
    (folder / "plan.json").write_text(json.dumps({"topology": "payments"}), encoding="utf-8")
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text, encoding="utf-8")
    return folder


def _ended(outcome: str) -> dict[str, Any]:
    return {"kind": "run-ended", "data": {"outcome": outcome}}


STEP = {"kind": "step-intent"}


def test_a_folder_tells_how_its_run_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its last word since its last step; a resumption that was refused takes no word back."""
    monkeypatch.setenv("DCCTL_STATE_DIR", str(tmp_path))
    stories: dict[str, list[dict[str, Any]]] = {
        "nothing begun": [{"kind": "run-started"}, _ended("refused")],
        "ok": [STEP, _ended("incomplete"), STEP, _ended("ok")],
        "undone": [STEP, _ended("undone"), _ended("refused")],
        "unfinished": [STEP, _ended("ok"), STEP],
    }
    for number, records in enumerate(stories.values()):
        _write(tmp_path, f"2020010{number + 1}T000000-failover-abcdef", records)
    unread = _write(tmp_path, "20200108T000000-failover-abcdef", [])
    (unread / "journal.jsonl").write_text('{"kind": "step', encoding="utf-8")
    parts = _write(tmp_path, "20200109T000000-failover-abcdef", [], **{"000003-step-outcome-x__json": "{}"})
    (parts / "report.html").touch()
    (tmp_path / "runs" / "a folder of somebody's").mkdir()
    folders = run_folders()
    assert [folder.ending for folder in folders] == [*stories, "unreadable", "nothing begun"]
    assert [folder.has_journal_parts for folder in folders] == [False] * 5 + [True]
    assert folders[-1].has_report
    assert {folder.topology for folder in folders} == {"payments"}


def test_prune_says_what_it_removes_and_removes_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same with `--dry-run`, which removes nothing; what is no run's folder is let alone."""
    monkeypatch.setenv("DCCTL_STATE_DIR", str(tmp_path))
    assert run(["history", "prune"]) == 0
    gone = _write(tmp_path, "20200101T000000-apply-abcdef", [STEP, _ended("ok")])
    stays = [
        _write(tmp_path, "20200102T000000-apply-abcdef", [STEP, _ended("incomplete")]),
        _write(tmp_path, "20200103T000000-apply-abcdef", [STEP, _ended("ok")]),
        tmp_path / "runs" / "notes",
    ]
    stays[-1].mkdir()
    (tmp_path / "runs" / "20190101T000000-apply-abcdef").symlink_to(stays[-1])
    capsys.readouterr()
    assert run(["history", "prune", "--keep", "1", "--dry-run"]) == 0
    said = capsys.readouterr().out
    assert f"would be removed  {gone.name}  payments" in said
    assert "kept 1: the run has not ended" in said
    assert gone.exists()
    assert run(["history", "prune", "--keep", "1", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [one["run_id"] for one in told["removed"]] == [gone.name]
    assert [one["run_id"] for one in told["kept"]] == [stay.name for stay in stays[:2]]
    assert not gone.exists()
    assert all(stay.exists() for stay in stays)


def test_a_folder_that_stays_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An error of the disk is no success."""
    monkeypatch.setenv("DCCTL_STATE_DIR", str(tmp_path))
    folder = _write(tmp_path, "20200101T000000-apply-abcdef", [STEP, _ended("ok")])
    _write(tmp_path, "20200103T000000-apply-abcdef", [STEP, _ended("ok")])

    def refuse(path: Path) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("shutil.rmtree", refuse)
    assert run(["history", "prune", "--keep", "1"]) == 1
    assert f"error {folder}: cannot be removed: Permission denied" in capsys.readouterr().err
