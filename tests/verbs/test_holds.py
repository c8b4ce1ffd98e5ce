"""Holds from the command line: put, seen, in the way of everything that writes, released. And in mid-run."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from orchestrator.adapters.zookeeper import HeldLock
from orchestrator.cli.main import run
from orchestrator.errors import LockHeldError
from orchestrator.runs.engine import OnEvent
from orchestrator.runs.live import by_hand, history, holds
from orchestrator.runs.live.holds import HOLDS_PATH, put_hold, release_hold
from orchestrator.runs.plan import RunEvent
from orchestrator.topology.loading import dump_topology
from orchestrator.verbs.live.apply import plan_apply, run_apply
from orchestrator.verbs.live.group_offsets import Snapshot, write_snapshot
from orchestrator.verbs.live.moving import move_group
from orchestrator.verbs.live.runs import resume_run
from orchestrator.verbs.registration import EFFECTS
from tests.reconcile.layouts import active_active
from tests.reconcile.memory_run import Rehearsal, rehearse
from tests.runs.memory_ensemble import MemoryEnsemble
from tests.verbs.pictures import topology

Said = Callable[[], str]


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Rehearsal:
    return rehearse(monkeypatch, tmp_path, active_active())


@pytest.fixture
def file(world: Rehearsal, tmp_path: Path) -> str:
    file = tmp_path / "layout.yaml"
    file.write_text(json.dumps(dump_topology(world.topology)), encoding="utf-8")
    return str(file)


@pytest.fixture
def said(capfd: pytest.CaptureFixture[str]) -> Said:
    def read() -> str:
        out, err = capfd.readouterr()
        return " ".join((out + err).split())

    return read


def test_a_held_topology_is_not_applied_until_it_is_released(file: str, said: Said) -> None:
    """Status 4 with who and why; nothing was changed; after the release it goes."""
    assert run(["hold", file, "--reason", "bob looks at the disks"]) == 0
    said()
    assert run(["apply", file, "--yes"]) == 4
    words = said()
    assert "not-held" in words
    assert "bob looks at the disks" in words
    assert "Nothing was changed" in words
    assert run(["release", file, "--reason", "disks are fine"]) == 0
    assert run(["apply", file, "--yes"]) == 0
    said()
    assert run(["history", file]) == 0
    words = said()
    assert "bob looks at the disks" in words
    assert "disks are fine" in words


@pytest.mark.parametrize("scope", ["all", "dc:west", "topology:layout"])
def test_every_scope_holds(scope: str, file: str, world: Rehearsal, said: Said) -> None:
    """Over everything, over a site that is touched, over the topology."""
    scope = scope.replace("layout", world.topology.name)
    assert run(["hold", scope, file, "--reason", "why not", "--for", "2h"]) == 0
    assert run(["apply", file, "--yes"]) == 4
    assert f"{scope} is held by" in said()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["hold", "all"], "a reason"),
        (["hold", "west", "--reason", "x"], "written dc:west"),
        (["hold", "all", "--reason", "x", "--for", "soon"], "is no length of time"),
    ],
)
def test_a_hold_that_makes_no_sense_is_a_usage_error(
    arguments: list[str], words: str, file: str, said: Said
) -> None:
    """Status 2, and it is said why."""
    assert run([*arguments[:2], file, *arguments[2:]]) == 2
    assert words in said()


def test_each_releases_their_own(file: str, said: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another's hold stays, unless it is named; and who released it is kept."""
    assert run(["hold", "all", file, "--reason", "mine"]) == 0
    monkeypatch.setattr(holds, "account_name", lambda: "somebody-else")
    said()
    assert run(["release", "all", file]) == 1
    assert "to release a hold of somebody else: --of WHO@HOST, of all is held by" in said()
    assert run(["hold", "all", file, "--reason", "mine too"]) == 0
    assert run(["release", "all", file]) == 0
    assert run(["apply", file, "--yes"]) == 4
    monkeypatch.undo()


def test_an_account_that_is_shared_holds_once_for_each_machine(
    file: str, said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither replaces the other's hold, nor releases it unless it is named."""
    for host in ("ops-1", "ops-2"):
        monkeypatch.setattr(holds.socket, "gethostname", lambda host=host: host)
        monkeypatch.setattr(holds, "account_name", lambda: "kafka")
        assert run(["hold", "all", file, "--reason", f"work from {host}"]) == 0
    assert run(["release", "all", file]) == 0
    said()
    assert run(["apply", file, "--yes"]) == 4
    words = said()
    assert "all is held by kafka@ops-1" in words
    assert "work from ops-2" not in words
    assert run(["release", "all", file]) == 1
    assert run(["hold", "all", file, "--reason", "again"]) == 0
    said()
    assert run(["release", "all", file, "--of", "kafka"]) == 1
    assert "2 holds of kafka are on it" in said()
    assert run(["release", "all", file, "--of", "kafka@ops-1"]) == 0
    assert run(["release", "all", file, "--of", "kafka"]) == 0
    assert run(["apply", file, "--yes"]) == 0


def test_an_unreadable_hold_is_unknown_and_nothing_is_done(file: str, world: Rehearsal, said: Said) -> None:
    """Status 7: nobody refused, but nobody knows either."""
    world.ensemble.nodes[f"{HOLDS_PATH}/all@eve"] = b"not json"
    assert run(["apply", file, "--yes"]) == 7
    assert "not-held unknown" in said()
    assert world.clusters["west"].picture.topics == {}


def _holding_after(world: Rehearsal, steps: int) -> OnEvent:
    """Somebody puts a hold while a run is at work."""
    seen = []

    def on_event(event: RunEvent) -> None:
        seen.append(event.kind)
        if event.kind == "step-outcome" and seen.count("step-outcome") == steps:
            put_hold(world.topology, "all", reason="stop!")

    return on_event


def test_a_run_stops_before_its_next_step_and_goes_on_once_released(world: Rehearsal) -> None:
    """Incomplete, in order, with the reason; resumed while held it is refused; afterwards it ends well."""
    end = run_apply(world.topology, on_event=_holding_after(world, 1))
    assert end.outcome == "incomplete"
    assert "all is held by" in end.reason
    assert "stop!" in end.reason
    begun = [step for step in end.steps if step["started_at_s"] is not None]
    assert 0 < len(begun) < len(end.steps)
    assert all(step["outcome"] == "ok" for step in begun), "what was under way went to its end"
    with pytest.raises(Exception, match="not-held refused"):
        resume_run(world.topology, end.run_id)
    release_hold(world.topology, "all")
    assert resume_run(world.topology, end.run_id).outcome == "ok"
    assert plan_apply(world.topology).steps == ()


def test_held_before_its_first_step_a_run_stands_in_nobodys_way(world: Rehearsal) -> None:
    """Nothing was begun, so there is nothing to go on with."""

    def hold_at_once(event: RunEvent) -> None:
        if event.kind == "run-started":
            put_hold(world.topology, "all", reason="stop!")

    end = run_apply(world.topology, on_event=hold_at_once)
    assert (end.outcome, [s for s in end.steps if s["outcome"] != "not done"]) == ("incomplete", [])
    release_hold(world.topology, "all")
    assert run_apply(world.topology).outcome == "ok"


def test_what_writes_without_a_run_is_held_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, said: Said
) -> None:
    """Offsets restored, groups and queries moved by hand: 4 while held, 7 where nobody can tell."""
    file = topology()
    ensemble = MemoryEnsemble()
    monkeypatch.setattr(history, "coordination_connection", lambda _: ensemble)
    monkeypatch.setattr(by_hand, "coordination_connection", lambda _: ensemble)
    path = tmp_path / "payments.yaml"
    path.write_text(json.dumps(dump_topology(file)), encoding="utf-8")
    saved = tmp_path / "saved.json"
    write_snapshot(Snapshot("east", 1.0, {"billing": {}}), saved)
    commands = [
        ["offsets", "restore", str(path), str(saved)],
        ["relocate", "spark", str(path), "--query", "revenue", "--to", "east"],
    ]
    put_hold(file, "dc:east", reason="no hands")
    for command in commands:
        assert run(command) == 4
        assert "no hands" in said()
    ensemble.nodes[f"{HOLDS_PATH}/all@eve"] = b"?"
    for command in commands:
        assert run(command) == 7
        assert "not-held unknown" in said()


class BusyEnsemble(MemoryEnsemble):
    """A run is under way."""

    def acquire(self, path: str, about: Mapping[str, Any]) -> HeldLock:
        assert about["run"]
        raise LockHeldError(f"lock {path}", "held by ada at host-1, run failover-1", "wait for it")


def test_nothing_is_written_by_hand_beside_a_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, said: Said
) -> None:
    """Between its writing of offsets and its start of consumers: status 5, and who has the lock."""
    file = topology()
    ensemble = BusyEnsemble()
    monkeypatch.setattr(by_hand, "coordination_connection", lambda _: ensemble)
    path, saved = tmp_path / "payments.yaml", tmp_path / "saved.json"
    path.write_text(json.dumps(dump_topology(file)), encoding="utf-8")
    write_snapshot(Snapshot("east", 1.0, {"billing": {}}), saved)
    moved, place = ["--query", "revenue"], ["--destination", str(tmp_path / "revenue")]
    for command, doing in (
        (["offsets", "restore", str(path), str(saved)], "offsets restore at east"),
        (["relocate", "spark", str(path), *moved, "--to", "east"], "relocate spark revenue"),
        (["relocate", "spark", str(path), *moved, "--undo", *place], "relocate spark revenue --undo"),
    ):
        assert run(command) == 5
        words = said()
        assert f"{doing}: held by ada at host-1, run failover-1. Nothing was changed" in words
    # Its command looks at what the group has there first, so that this can be saved.
    with pytest.raises(LockHeldError, match="relocate group billing: held by ada"):
        move_group(file, "billing", "east", landing="start", write=True)
    assert ensemble.nodes == {}


def test_what_is_written_by_hand_is_kept_and_told_of(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, said: Said
) -> None:
    """Before it is written, and under the lock that a run would have."""
    file = topology()
    ensemble = MemoryEnsemble()
    for module in (by_hand, history):
        monkeypatch.setattr(module, "coordination_connection", lambda _: ensemble)
    with by_hand.by_hand(file, ["east"], "offsets restore at east") as hand:
        assert ensemble.about["run"] == hand.id
        hand.note({"cluster": "east", "groups": ["billing"]})
    (row,) = by_hand.by_hand_rows(file)
    assert row["what"] == {"cluster": "east", "groups": ["billing"]}
    path = tmp_path / "payments.yaml"
    path.write_text(json.dumps(dump_topology(file)), encoding="utf-8")
    assert run(["history", str(path)]) == 0
    assert "offsets restore at east, by hand, by " in said()
    assert history.run_rows(file, EFFECTS) == [], "it is no run, and stands in no move's way"


def test_without_a_file_the_scope_is_checked_first_and_then_a_file_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, said: Said
) -> None:
    """Where no simulation runs."""
    monkeypatch.setenv("DCCTL_STATE_DIR", str(tmp_path))
    assert run(["hold", "site:west"]) == 2
    words = said()
    assert "scope site:west" in words
    assert "a data centre is written dc:west" in words
    assert run(["hold", "dc:west", "--reason", "disks"]) == 1
    assert "name your topology file: dcctl hold dc:west my.yaml" in said()
    for verb in ("status", "history"):
        assert run([verb]) == 1
        assert "name your topology file: dcctl status my.yaml" in said()
    for name in ("ledger", "market"):
        (tmp_path / "simulations" / name).mkdir(parents=True)
        (tmp_path / "simulations" / name / "simulation.json").write_text("{}", encoding="utf-8")
    assert run(["history"]) == 1
    words = said()
    assert "2 are running: ledger, market" in words
    assert f"or that of a simulation: {tmp_path / 'simulations' / 'ledger' / 'topology.yaml'}" in words
