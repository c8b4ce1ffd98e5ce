"""A small estate at work, and commands that are killed on their way."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from orchestrator.evidence.audit.result import AuditResult
from orchestrator.evidence.audit.run import run_audit
from orchestrator.evidence.run_audit import moves_inputs
from orchestrator.runs.live.history import coordination_of
from orchestrator.runs.live.journal import lock_path
from orchestrator.simulation.drill import only_datacenter
from orchestrator.simulation.drill_audit import start_spark
from orchestrator.simulation.running import Simulation, open_simulation
from orchestrator.simulation.workload.install import stop_consumers, stop_producers
from orchestrator.simulation.workload.progress import lags
from tests.drill.rehearsal import ROOT, processes_of

DCCTL = [sys.executable, "-m", "orchestrator.cli.main"]
SMALL = ROOT / "tests" / "faults" / "small.yaml"
SMALL_SPARK = ROOT / "tests" / "faults" / "small-spark.yaml"
_COMMAND_TIMEOUT_S = 300.0
_LOCK_FREE_WITHIN_S = 30.0
_LOCK_HELD = 5


class Estate:
    """One simulation in a state folder of its own, driven as a person drives it."""

    def __init__(self, state: Path) -> None:
        self.state, self.cwd = state, ROOT
        self.environment = {**os.environ, "DCCTL_STATE_DIR": str(state)}

    def command(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run one command to its end."""
        return subprocess.run(
            [*DCCTL, *words],
            env=self.environment,
            cwd=self.cwd,
            capture_output=True,
            text=True,
            timeout=_COMMAND_TIMEOUT_S,
            check=False,
        )

    def must(self, *words: str) -> str:
        """Run one command that has to end with 0; returns what it said."""
        done = self.command(*words)
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        return done.stdout

    def runs(self) -> list[Path]:
        """Folders of all runs, the oldest first."""
        return sorted((self.state / "runs").glob("*"))

    def simulation(self) -> Simulation:
        """The simulation, from inside."""
        return open_simulation()

    def killed_at(self, step: str, *words: str) -> str:
        """Run a command, end it by SIGKILL while `step` is under way, and return the run's id."""
        with self.under_way(step, *words) as (process, run):
            process.send_signal(signal.SIGKILL)
        return run

    @contextmanager
    def under_way(self, step: str, *words: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
        """A command while one of its steps is under way, and the id of its run.

        A lock that a killed process has left is waited for, as a person would.
        """
        deadline = time.monotonic() + _LOCK_FREE_WITHIN_S
        while True:
            known = len(self.runs())
            before = 0 if words[0] != "resume" else len(_records(self.state / "runs" / words[1]))
            with subprocess.Popen(
                [*DCCTL, *words],
                env=self.environment,
                cwd=self.cwd,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            ) as process:
                run = self._reached(process, step, words, known, before)
                if run:
                    yield process, run
                    return
                said = process.stderr.read() if process.stderr else ""
            assert process.returncode == _LOCK_HELD, (step, words, process.returncode, said)
            assert time.monotonic() < deadline, said
            time.sleep(1)

    def _reached(
        self, process: subprocess.Popen[str], step: str, words: Sequence[str], known: int, before: int
    ) -> str:
        while process.poll() is None:
            folder = self.state / "runs" / words[1] if words[0] == "resume" else None
            if folder is None and len(self.runs()) > known:
                folder = self.runs()[-1]
            if folder is not None:
                begun = {
                    record["step"] for record in _records(folder)[before:] if record["kind"] == "step-intent"
                }
                if step in begun:
                    return folder.name
            time.sleep(0.02)
        return ""

    def resumed(self, run: str) -> None:
        """Go on with a run to its end."""
        self.ended("resume", run)

    def ended(self, *words: str) -> None:
        """Run one command to its good end, once the lock that a killed process has left is free."""
        deadline = time.monotonic() + _LOCK_FREE_WITHIN_S
        while True:
            done = self.command(*words)
            if done.returncode != _LOCK_HELD or time.monotonic() > deadline:
                assert done.returncode == 0, (words, done.stdout, done.stderr)
                return
            time.sleep(1)

    def await_lock_free(self) -> None:
        """Wait until the session of a process that was killed has expired."""
        simulation = self.simulation()
        deadline = time.monotonic() + _LOCK_FREE_WITHIN_S
        with coordination_of(simulation.topology) as coordination:
            while coordination.holder(lock_path(simulation.topology.name)) is not None:
                assert time.monotonic() < deadline
                time.sleep(0.5)

    def results(self) -> list[dict[str, Any]]:
        """What each run came to that ended and was not taken back."""
        files = [folder / "result.json" for folder in self.runs()]
        found = [json.loads(file.read_text(encoding="utf-8")) for file in files if file.exists()]
        return [result for result in found if result["outcome"] != "undone"]

    def audited(self) -> AuditResult:
        """Let everything be read to its end at the primary, and compare.

        Each client has to come back, however late: dcctl was ended on its way, or held up, and how long that
        takes is up to these tests and the machine. The limit of a pause is held by drills that run through.
        """
        simulation = self.simulation()
        mirror = simulation.topology.replication[0]
        dc = only_datacenter(simulation.topology, mirror.source)
        stop_producers(simulation, dc)
        deadline = time.monotonic() + 120
        while any(lags(simulation, mirror.source).values()) or not _is_copied(simulation):
            assert time.monotonic() < deadline, lags(simulation, mirror.source)
            time.sleep(1)
        stop_consumers(simulation, dc)
        inputs = moves_inputs(
            simulation.topology,
            mirror,
            self.results(),
            ledgers=simulation.ledgers,
            seen_within_s=math.inf,
        )
        spark = start_spark(simulation, "local[1]")
        try:
            return run_audit(spark, inputs)
        finally:
            spark.stop()


def _records(folder: Path) -> list[dict[str, Any]]:
    """The copy of a run's journal, as far as it is written."""
    try:
        lines = (folder / "journal.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    except OSError:
        return []
    return [json.loads(line) for line in lines if line.endswith("\n")]


def _is_copied(simulation: Simulation) -> bool:
    mirror = simulation.topology.replication[0]
    source, target = simulation.cluster(mirror.source), simulation.cluster(mirror.target)
    partitions = [tp for topic in source.topics(mirror.topics).values() for tp in topic.partitions]
    copies = target.end_offsets(mirror.mirrored(tp) for tp in partitions)
    return all(copies[mirror.mirrored(tp)] >= end for tp, end in source.end_offsets(partitions).items())


@contextmanager
def at_work(state: Path, monkeypatch: pytest.MonkeyPatch, file: Path = SMALL) -> Iterator[Estate]:
    """A small estate with its applications at west; nothing is left of it afterwards."""
    monkeypatch.setenv("DCCTL_STATE_DIR", str(state))
    estate = Estate(state)
    try:
        estate.must("sim", "up", str(file))
        estate.must("sim", "workload", "--scenario", "tiny")
        yield estate
    finally:
        estate.command("sim", "down", "--all", "--yes")
        assert processes_of(state) == []
