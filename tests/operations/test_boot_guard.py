"""The guard in front of a broker's start, with another command in the broker's place; no server."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.operations.boot_guard import is_new
from orchestrator.operations.guarded_broker import guards_path, kept_closed, listens, past_runs
from tests.faults.estate import SMALL
from tests.operations.memory_ensemble import MemoryEnsemble
from tests.planning.pictures import topology

NOW_S = 1_800_000_000.0


def ensemble(nodes: dict[str, object]) -> MemoryEnsemble:
    """The ensemble with these nodes."""
    found = MemoryEnsemble()
    found.nodes.update({path: json.dumps(value).encode() for path, value in nodes.items()})
    return found


def guarded(tmp_path: Path, data: Path) -> subprocess.CompletedProcess[str]:
    """Start `echo` behind the guard, with an ensemble that nobody answers for."""
    file = tmp_path / "small.yaml"
    text = SMALL.read_text(encoding="utf-8")
    file.write_text(f"{text}coordination: {{zookeeper: '127.0.0.1:1'}}\n", encoding="utf-8")
    options = ["--file", str(file), "--cluster", "west", "--server", "kafka1", "--data", str(data)]
    options += ["--open", "OPEN", "--closed", "CLOSED", "--wait-s", "0", "--", "echo", "with {properties}"]
    return subprocess.run(
        [sys.executable, "-m", "orchestrator.operations.boot_guard", *options],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_new_broker_starts_open_without_a_question(tmp_path: Path) -> None:
    """Formatted, and never run: it cannot be a returning primary."""
    data = tmp_path / "data"
    data.mkdir()
    (data / "meta.properties").touch()
    done = guarded(tmp_path, data)
    assert (done.returncode, done.stdout) == (0, "with OPEN\n"), done.stderr


def test_without_an_answer_a_broker_that_has_run_before_starts_closed(tmp_path: Path) -> None:
    """And its log says why."""
    (tmp_path / "data" / "orders-0").mkdir(parents=True)
    assert not is_new(tmp_path / "data")
    done = guarded(tmp_path, tmp_path / "data")
    assert (done.returncode, done.stdout) == (0, "with CLOSED\n"), done.stderr
    assert "the coordination ensemble does not answer" in done.stderr


def test_runs_are_read_newest_first_with_what_the_guard_has_to_know() -> None:
    """Begun or not, ended how, and whether a failback holds the cluster."""
    about = {"verb": "failback", "source": "east", "target": "west"}
    runs = "/dcctl/payments/runs"
    store = ensemble(
        {
            f"{runs}/1-failover/000001-run-started": {"data": {**about, "verb": "failover"}},
            f"{runs}/2-failback/000001-run-started": {"data": about},
            f"{runs}/2-failback/000002-step-intent-hold-returned": {},
            f"{runs}/2-failback/000003-step-outcome-hold-returned": {"outcome": "ok"},
            f"{runs}/2-failback/000004-run-ended": {"kind": "run-ended", "data": {"outcome": "refused"}},
        }
    )
    newest, oldest = past_runs(store, "payments")
    assert (newest.verb, newest.has_begun, newest.is_held) == ("failback", True, True)
    assert newest.outcome == "incomplete", "a resumption that was refused takes nothing back"
    assert (oldest.verb, oldest.has_begun, oldest.outcome) == ("failover", False, "")


@pytest.mark.parametrize(
    ("states", "age_s", "is_kept"),
    [
        ([], 0, False),
        (["closed", "closed", "closed"], 1, True),
        (["closed", "closed"], 1, False),  # the third has no guard, or was opened as a new one
        (["closed", "closed", "open"], 1, False),
        (["closed", "closed", "closed"], 60, False),  # whoever said it is not at work any more
    ],
)
def test_a_source_is_kept_closed_only_if_every_guard_says_so_just_now(
    states: list[str], age_s: float, is_kept: bool
) -> None:
    """One open broker lets applications in."""
    said = {
        f"{guards_path('payments', 'west')}/broker-{n}": {
            "state": state,
            "reason": "why",
            "at_s": NOW_S - age_s,
        }
        for n, state in enumerate(states)
    }
    assert kept_closed(ensemble(said), topology(), "west", NOW_S) == ("why" if is_kept else "")


def test_an_address_that_nobody_listens_on(tmp_path: Path) -> None:
    """The turn of a broker ends only when it does."""
    properties = tmp_path / "server.properties"
    properties.write_text(
        "process.roles=broker\nlisteners=CLIENT://127.0.0.1:1,OTHER://:2\n", encoding="utf-8"
    )
    assert not listens(properties)
