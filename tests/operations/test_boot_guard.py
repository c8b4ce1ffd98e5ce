"""The guard in front of a broker's start, with another command in the broker's place; no server."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.operations.guard_disk import is_new
from orchestrator.operations.guard_words import guards_path, guards_said
from orchestrator.operations.guarded_broker import broker_id, listens
from orchestrator.operations.past_runs import past_runs
from orchestrator.planning.guards import GuardSaid, concerning, kept_closed
from tests.faults.estate import SMALL
from tests.operations.memory_ensemble import MemoryEnsemble

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


def test_a_disk_that_was_replaced_does_not_open_a_broker(tmp_path: Path) -> None:
    """Formatted, and never run: it may belong to a site that was lost, so it asks like any other."""
    data = tmp_path / "data"
    data.mkdir()
    (data / "meta.properties").touch()
    assert is_new(data)
    done = guarded(tmp_path, data)
    assert (done.returncode, done.stdout) == (0, "with CLOSED\n"), done.stderr


def test_without_an_answer_a_broker_that_has_run_before_starts_closed(tmp_path: Path) -> None:
    """And its log says why."""
    (tmp_path / "data" / "orders-0").mkdir(parents=True)
    assert not is_new(tmp_path / "data")
    done = guarded(tmp_path, tmp_path / "data")
    assert (done.returncode, done.stdout) == (0, "with CLOSED\n"), done.stderr
    assert "the coordination ensemble does not answer (coordination at 127.0.0.1:1: no answer" in done.stderr


def test_runs_are_read_newest_first_with_what_the_guard_has_to_know() -> None:
    """Those that have begun: ended how, and whether a failback holds the cluster."""
    about = {"verb": "failback", "source": "east", "target": "west"}
    runs = "/dcctl/payments/runs"
    store = ensemble(
        {
            f"{runs}/1-failover/000001-run-started": {"data": {**about, "verb": "failover"}},
            f"{runs}/1-failover/000002-step-intent-stop-mirror": {},
            f"{runs}/3-failover/000001-run-started": {"data": {**about, "verb": "failover"}},
            f"{runs}/2-failback/000001-run-started": {"data": about},
            f"{runs}/2-failback/000002-step-intent-hold-returned": {},
            f"{runs}/2-failback/000003-step-outcome-hold-returned": {"outcome": "ok"},
            f"{runs}/2-failback/000004-run-ended": {"kind": "run-ended", "data": {"outcome": "refused"}},
        }
    )
    newest, oldest = past_runs(store, "payments")
    assert (newest.verb, newest.has_begun, newest.is_held) == ("failback", True, True)
    assert newest.outcome == "incomplete", "a resumption that was refused takes nothing back"
    assert (oldest.verb, oldest.has_begun, oldest.outcome) == ("failover", True, "")


def said(*states: str, age_s: float = 1.0) -> list[GuardSaid]:
    """One word for each of broker 1, 2, …"""
    return [
        GuardSaid(
            server=f"kafka{number}",
            state=state,  # type: ignore[arg-type]
            reason="why",
            at_s=NOW_S - age_s,
            broker_id=number,
        )
        for number, state in enumerate(states, start=1)
    ]


@pytest.mark.parametrize(
    ("words", "living", "is_kept"),
    [
        ([], {1, 2, 3}, False),
        (said("closed", "closed", "closed"), None, True),
        (said("closed", "closed"), {1, 2, 3}, False),  # the third has no guard
        (said("closed", "closed"), {1, 2}, True),  # the third has not come back
        (said("closed", "closed", "open"), {1, 2, 3}, False),
        (said("closed", "closed", "open"), {1, 2}, True),  # its word is from before the loss
        (said("closed", "closed", "open"), None, False),
        (said("closed", "closed", ""), {1, 2, 3}, False),  # its word is just being written
        (said("closed", "closed", "closed", age_s=60), {1, 2, 3}, False),  # nobody is at work any more
    ],
)
def test_a_source_is_kept_closed_only_if_each_broker_that_answers_is(
    words: list[GuardSaid], living: set[int] | None, is_kept: bool
) -> None:
    """One open broker lets applications in; one that is gone does not, whatever it had said last."""
    assert kept_closed(words, 3, NOW_S, lambda: living) == ("why" if is_kept else "")


def test_words_are_read_whatever_stands_there() -> None:
    """A node is empty for a moment when it is made; one of a newer version says nothing either."""
    path = guards_path("payments", "west")
    store = ensemble({f"{path}/b": {"state": "melted"}, f"{path}/c": ["odd"]})
    store.nodes[f"{path}/a"] = b""
    (whole,) = said("closed")
    store.nodes[f"{path}/d"] = json.dumps({**whole.as_json(), "server": "d"}).encode()
    found = guards_said(store, "payments", "west")
    assert [(word.server, word.state) for word in found] == [("a", ""), ("b", ""), ("c", ""), ("d", "closed")]


def test_a_machine_that_is_gone_is_not_waited_for() -> None:
    """But one that is stopped at this moment, in order to open, is."""
    old = said("closed", "closed", age_s=3600)
    assert [word.server for word in concerning(old, {1}, NOW_S)] == ["kafka1"]
    assert len(concerning(said("closed", "closed", age_s=30), {1}, NOW_S)) == 2


@pytest.mark.parametrize(
    ("text", "found"),
    [("node.id=7\n", 7), ("# broker.id=1\nbroker.id = 3\n", 3), ("broker.id=-1\n", None), ("", None)],
)
def test_the_id_of_a_broker_is_in_its_properties(tmp_path: Path, text: str, found: int | None) -> None:
    """Where ZooKeeper gives it, the guard does not know it."""
    file = tmp_path / "server.properties"
    file.write_text(text, encoding="utf-8")
    assert broker_id(file) == found
    assert broker_id(tmp_path / "missing") is None


def test_an_address_that_nobody_listens_on(tmp_path: Path) -> None:
    """The turn of a broker ends only when it does."""
    properties = tmp_path / "server.properties"
    properties.write_text(
        "process.roles=broker\nlisteners=CLIENT://127.0.0.1:1,OTHER://:2\n", encoding="utf-8"
    )
    assert not listens(properties)
