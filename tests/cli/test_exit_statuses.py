"""Every exit status of the design, through the command line: what a script relies on.

Clusters live in memory; where a lock or its loss is meant, the ensemble is a real ZooKeeper.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from orchestrator.adapters.zookeeper import Coordination
from orchestrator.cli.main import run
from orchestrator.errors import ClusterError
from orchestrator.runs.live import coordination
from orchestrator.runs.live.earlier_runs import earlier_runs
from orchestrator.runs.live.holds import HOLDS_PATH, put_hold
from orchestrator.runs.live.journal import lock_path
from orchestrator.topology.loading import dump_topology
from orchestrator.topology.model import Coordination as Ensemble
from orchestrator.verbs.live import apply_procedure as procedure
from orchestrator.verbs.registration import EFFECTS
from tests.reconcile.layouts import active_active
from tests.reconcile.memory_run import Rehearsal, rehearse
from tests.zookeeper_server import ZooKeeperServer, connected, zookeeper_server

EXAMPLE = str(Path(__file__).parents[2] / "topologies" / "active-passive.yaml")
Said = Callable[[], str]


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Rehearsal:
    return rehearse(monkeypatch, tmp_path, active_active())


@pytest.fixture
def file(world: Rehearsal, tmp_path: Path) -> str:
    return written(world, tmp_path)


def written(world: Rehearsal, folder: Path) -> str:
    file = folder / "both.yaml"
    file.write_text(yaml.safe_dump(dump_topology(world.topology), sort_keys=False), encoding="utf-8")
    return str(file)


@pytest.fixture
def said(capfd: pytest.CaptureFixture[str]) -> Said:
    def read() -> str:
        out, err = capfd.readouterr()
        assert "Traceback" not in err
        return " ".join((out + err).split())

    return read


def at_first_change(world: Rehearsal, effect: Callable[[], object]) -> None:
    """Let something happen while an apply is at its first change."""
    seen: list[int] = []

    def point() -> None:
        if not seen:
            seen.append(1)
            effect()

    for cluster in world.clusters.values():
        cluster.point = point


def newest_run(world: Rehearsal) -> str:
    names = world.ensemble.names(f"/dcctl/{world.topology.name}/runs")
    return names[-1]


def runs_that_ended_well(world: Rehearsal) -> list[str]:
    return [
        run.run_id
        for run in earlier_runs(world.ensemble, world.topology.name, effects=EFFECTS)
        if run.outcome == "ok"
    ]


def test_0_is_done_or_nothing_to_do(file: str, said: Said) -> None:
    """Also asked a second time, and for what only reads."""
    assert run(["validate", EXAMPLE]) == 0
    assert run(["plan", EXAMPLE, "--help"]) == 0
    assert run(["apply", file, "--yes"]) == 0
    assert "everything that could be done is done" in said()
    assert run(["apply", file, "--yes"]) == 0
    assert "nothing-to-do" in said()
    for command in (["plan", file], ["drift", file], ["history", file]):
        assert run(command) == 0


def test_1_is_an_error(file: str, world: Rehearsal, tmp_path: Path, said: Said) -> None:
    """A wrong file, a run that is not there, an application that nobody knows; each named."""
    broken = tmp_path / "broken.yaml"
    broken.write_text("version: 7\n", encoding="utf-8")
    assert run(["validate", str(broken)]) == 1
    assert "version is 7" in said()
    assert run(["show", "r1", file]) == 1
    assert "run r1: is not in the journal" in said()
    assert run(["release", "all", file]) == 1
    assert run(["unlock", "r1", file, "--yes"]) == 1
    assert run(["failover", EXAMPLE, "--attest-down", "west", "--dry-run"]) == 1
    assert "clusters.east.bootstrap" in said()


def test_1_is_also_a_run_that_was_taken_back(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, said: Said
) -> None:
    """What was asked for did not happen, and nothing of it stands."""
    hook = tmp_path / "no.yml"
    hook.write_text("- hosts: [", encoding="utf-8")
    base = active_active()
    world = rehearse(monkeypatch, tmp_path, replace(base, hooks=replace(base.hooks, pre_apply=str(hook))))
    assert run(["apply", written(world, tmp_path), "--yes"]) == 1
    assert "was rolled back" in said()
    assert world.clusters["west"].picture.topics == {}


@pytest.mark.parametrize(
    "command",
    [
        ["frobnicate"],
        ["apply"],
        ["apply", EXAMPLE, "--frob"],
        ["failover", EXAMPLE, "--attest-down", "wset"],
        ["failover", EXAMPLE, "--attest-degraded", "wset"],
        ["failover", EXAMPLE, "--attest-sick", "wset"],
        ["failover", EXAMPLE, "--attest-down", "west", "--acknowledge", "soon"],
        ["failover", EXAMPLE, "--attest-down", "west", "--without-coordination"],
        ["switchover", EXAMPLE, "--to", "nowhere"],
        ["failback", EXAMPLE, "--to", "nowhere"],
        ["fence", EXAMPLE, "--cluster", "nowhere"],
        ["hold", "dc:wset", EXAMPLE, "--reason", "x"],
        ["hold", "all", EXAMPLE, "--reason", "x", "--for", "ever"],
    ],
    ids=lambda command: " ".join(word.rpartition("/")[2] for word in command)[:40],
)
def test_2_is_a_command_line_that_makes_no_sense(command: list[str], said: Said) -> None:
    """Nothing was looked at, and it is said what would make sense."""
    assert run(command) == 2
    assert said()


def test_3_is_drift_or_changes(file: str, world: Rehearsal, said: Said) -> None:
    """Before an apply there is something to do; after somebody's hand there is drift."""
    assert run(["plan", file]) == 3
    assert run(["drift", file]) == 3
    assert run(["apply", file, "--yes"]) == 0
    world.set_by_hand("east", "west.orders", min_insync_replicas="1")
    assert run(["drift", file]) == 3
    assert "min.insync.replicas" in said()


def test_4_is_a_gate_that_refused(file: str, world: Rehearsal, tmp_path: Path, said: Said) -> None:
    """Nothing was changed; also where the plan is stale, and for a run that is past."""
    plan = tmp_path / "both.plan"
    assert run(["plan", file, "-o", str(plan)]) == 3
    assert run(["hold", "dc:west", file, "--reason", "disks"]) == 0
    said()
    for command in (["apply", file, "--yes"], ["plan", file], ["apply", str(plan)]):
        assert run(command) == 4
        assert "not-held" in said()
    assert world.clusters["west"].picture.topics == {}
    assert run(["release", "dc:west", file]) == 0
    assert run(["apply", file, "--yes"]) == 0
    assert run(["abort", runs_that_ended_well(world)[0], file, "--yes"]) == 4
    assert "has ended ok" in said()
    assert run(["apply", str(plan)]) == 4
    assert "have changed" in said()


def test_6_is_incomplete_and_can_be_gone_on_with_or_back(file: str, world: Rehearsal, said: Said) -> None:
    """Held in the middle; resumed while held it is refused, then it ends well."""
    at_first_change(world, lambda: put_hold(world.topology, "all", reason="stop"))
    assert run(["apply", file, "--yes"]) == 6
    words = said()
    assert "all is held by" in words
    run_id = newest_run(world)
    assert f"dcctl resume {run_id} {file}, or dcctl abort {run_id} {file} " in words
    assert run(["resume", run_id, file]) == 4
    assert run(["abort", run_id, file, "--yes"]) == 4
    assert run(["release", "all", file]) == 0
    assert run(["resume", run_id, file]) == 0
    assert run(["drift", file]) == 0


def test_going_on_with_an_abort_that_stopped_ends_as_the_abort_would(
    file: str, world: Rehearsal, said: Said
) -> None:
    """6 as long as it can be gone on with, by a command that is told as it is typed; in the end 0."""
    at_first_change(world, lambda: put_hold(world.topology, "all", reason="stop"))
    assert run(["apply", file, "--yes"]) == 6
    assert run(["release", "all", file]) == 0
    run_id = newest_run(world)

    def refuse() -> None:
        raise ClusterError("cluster west", "it is busy")

    at_first_change(world, refuse)
    assert run(["abort", run_id, file, "--yes"]) == 6
    assert f"dcctl resume {run_id} {file}, or dcctl abort {run_id} {file} " in said()
    assert run(["resume", run_id, file]) == 0
    assert f"run {run_id} is rolled back" in said()
    assert all(not cluster.picture.topics for cluster in world.clusters.values())


def test_7_is_unknown_a_gate(file: str, world: Rehearsal, said: Said) -> None:
    """Nobody refused, but nobody knows; nothing was changed."""
    world.ensemble.nodes[f"{HOLDS_PATH}/all@eve"] = b"?"
    for command in (["apply", file, "--yes"], ["plan", file]):
        assert run(command) == 7
    assert "not-held" in said()
    assert world.clusters["west"].picture.topics == {}


def test_7_is_unknown_an_outcome(
    file: str, world: Rehearsal, said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may or may not have happened: the cluster took the request and answers nothing since."""
    west = world.clusters["west"]

    def silent(*_: Any) -> Any:
        raise ClusterError("cluster west", "no answer within 10 s")

    at_first_change(world, lambda: monkeypatch.setattr(west, "describe_topics", silent))
    assert run(["apply", file, "--yes"]) == 7
    assert "no answer within 10 s" in said()
    monkeypatch.undo()


class OnZooKeeper:
    """An apply in memory whose lock and journal are in a real ensemble."""

    def __init__(self, world: Rehearsal, server: ZooKeeperServer, monkeypatch: pytest.MonkeyPatch) -> None:
        self.server = server
        self.topology = replace(world.topology, coordination=Ensemble(zookeeper=server.hosts))
        world.topology = self.topology
        monkeypatch.setattr(
            procedure.ReconcileProcedure, "open_estate", lambda made: self.estate(world, made)
        )
        monkeypatch.setattr(coordination, "Coordination", lambda *_, **__: self.connection())

    def connection(self) -> Coordination:
        return Coordination(self.server.hosts, session_timeout_s=2.0, deadline_s=3.0)

    def estate(self, world: Rehearsal, made: procedure.ReconcileProcedure) -> procedure.ReconcileEstate:
        coordination = self.connection()
        coordination.open(20)
        return procedure.ReconcileEstate(made.topology, dict(world.clusters), world.observe, coordination)


@contextmanager
def on_zookeeper(world: Rehearsal, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OnZooKeeper]:
    with zookeeper_server(folder) as server:
        yield OnZooKeeper(world, server, monkeypatch)


@pytest.mark.integration
def test_5_and_6_with_a_real_ensemble(
    world: Rehearsal, tmp_path: Path, said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Held by another: 5, with name and time. Dead in the middle: 6, never success; gone on with later: 0."""
    ensemble = tmp_path / "zookeeper"
    ensemble.mkdir()
    with on_zookeeper(world, ensemble, monkeypatch) as real:
        file = written(world, tmp_path)
        with connected(real.server) as other:
            held = other.acquire(
                lock_path(real.topology.name), {"who": "bob", "host": "ops-2", "command": "failover"}
            )
            assert run(["apply", file, "--yes"]) == 5
            assert "held by bob on ops-2 since" in said()
            held.release()
        at_first_change(world, real.server.stop)
        assert run(["apply", file, "--yes"]) == 6
        assert "dcctl resume" in said()
        real.server.start()
        with connected(real.server, timeout_s=60) as again:
            run_id = again.names(f"/dcctl/{real.topology.name}/runs")[-1]
            deadline = time.monotonic() + 30
            # The dead run's session outlives it by its time-out, and until then holds the lock.
            while again.holder(lock_path(real.topology.name)) is not None and time.monotonic() < deadline:
                time.sleep(0.1)
        assert run(["resume", run_id, file]) == 0
        assert run(["drift", file]) == 0
        said()
        assert run(["show", run_id, file]) == 0
        words = said()
        assert "resumed by" in words
        assert "Ended ok" in words
