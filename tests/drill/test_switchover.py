"""The planned move with real servers: nothing lost, nothing twice; and undone where the mirror stands still."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from tests.drill.rehearsal import EXAMPLE, ROOT, Rehearsal, processes_of, rehearse

pytestmark = [pytest.mark.drills, pytest.mark.timeout(900)]

_DCCTL = [sys.executable, "-m", "orchestrator.cli.main"]


@pytest.fixture(scope="module")
def drill(tmp_path_factory: pytest.TempPathFactory) -> Rehearsal:
    """One rehearsal of a planned move for the tests below."""
    return rehearse(tmp_path_factory.mktemp("drill"), "--verb", "switchover")


def test_nothing_is_lost_doubled_reordered_or_skipped(drill: Rehearsal) -> None:
    """Valid, and zero throughout: a planned move has no excuse."""
    assert drill.status == 0, drill.report.get("reasons") or drill.stderr
    assert drill.report["verdict"] == "valid"
    for topic in drill.topics.values():
        assert topic["acked"] > 0
        assert topic["lost"] == {"tail": 0, "hole": 0}
        assert (topic["duplicates"], topic["reordered"]) == (0, 0)
    for row in drill.report["consumers"]:
        assert row["skipped"] == 0
        assert sum(row["reread"].values()) == 0
        assert row["exact"]


def test_the_write_pause_is_measured(drill: Rehearsal) -> None:
    """For each producer, from its last acknowledgement at the source to its first one at the target."""
    pauses = drill.report["rto"]["per_producer"]
    assert set(pauses) == {"checkout", "settlement"}
    assert all(0 < seconds < 60 for seconds in pauses.values())


def test_under_two_thousand_records_a_second_nothing_is_lost_and_the_pause_is_measured(
    tmp_path: Path,
) -> None:
    """The scenario that users get: 200,000 records, then 2,000/s through the move, groups up to 50,000 behind."""
    drill = rehearse(tmp_path, "--verb", "switchover", "--scenario", "default")
    assert drill.status == 0, drill.report.get("reasons") or drill.stderr
    assert sum(topic["acked"] for topic in drill.topics.values()) > 200_000
    written = drill.report["clusters"]["east"]["topics"]
    for topic in (*drill.topics.values(), *written.values()):
        assert topic["acked"] > 0
        assert topic["present"] == topic["acked"]
        assert topic["lost"] == {"tail": 0, "hole": 0}
        assert (topic["duplicates"], topic["reordered"]) == (0, 0)
    for row in drill.report["consumers"]:
        assert (row["skipped"], sum(row["reread"].values()), row["exact"]) == (0, 0, True)
    pauses = drill.report["rto"]["per_producer"]
    assert set(pauses) == {"checkout", "settlement"}
    assert all(0 < seconds < 60 for seconds in pauses.values()), pauses


@pytest.fixture
def state(tmp_path: Path) -> Iterator[Path]:
    """A simulation at work, in a state folder of its own."""
    folder = tmp_path / "state"
    for words in (["sim", "up", str(EXAMPLE)], ["sim", "workload", "--scenario", "small"]):
        done = _dcctl(folder, *words)
        assert done.returncode == 0, done.stderr
    yield folder
    _dcctl(folder, "sim", "down", "--all", "--yes")
    assert processes_of(folder) == []


def test_a_mirror_that_stands_still_is_noticed_in_time_and_all_is_taken_back(state: Path) -> None:
    """Producers write at the source again, and the move works once the mirror does."""
    with _frozen_connect(state) as freeze:
        begun_s = time.monotonic()
        with _running(state, "switchover", "--to", "east", "--timeout-s", "5", "--yes") as move:
            stderr = move.stderr
            assert stderr is not None
            said = []
            for line in stderr:
                said.append(line)
                if "Record which of the access rules to be written exist at west" in line and "✓" in line:
                    freeze()
        assert move.returncode == 1, said
        assert time.monotonic() - begun_s < 90
        assert any("was rolled back: drain failed" in line for line in said), said
        before = _acked(state)
        time.sleep(3)
        assert _acked(state) > before, "no producer writes at the source again"
    assert "undone" in _dcctl(state, "history").stdout
    again = _dcctl(state, "switchover", "--to", "east", "--yes")
    assert again.returncode == 0, again.stderr
    assert "east has taken over from west" in again.stdout
    assert _dcctl(state, "switchover", "--to", "east", "--yes").returncode == 0, (
        "once more there is nothing to do"
    )


@contextmanager
def _frozen_connect(state: Path) -> Iterator[Callable[[], None]]:
    """A function that stops the Connect worker; it goes on behind the block."""
    workers = [
        process
        for process in psutil.process_iter()
        if "ConnectDistributed" in " ".join(_command(process)) and str(state) in " ".join(_command(process))
    ]
    assert workers

    def freeze() -> None:
        for worker in workers:
            worker.send_signal(signal.SIGSTOP)

    try:
        yield freeze
    finally:
        for worker in workers:
            worker.send_signal(signal.SIGCONT)


def _command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except (psutil.AccessDenied, psutil.NoSuchProcess, psutil.ZombieProcess):
        return []


def _acked(state: Path) -> int:
    """Acknowledgements in the ledgers of all producers."""
    files = state.glob("simulations/*/ledgers/producers/*/life-*.csv")
    return sum(file.read_bytes().count(b"\nack,") for file in files)


def _environment(state: Path) -> dict[str, str]:
    return {**os.environ, "DCCTL_STATE_DIR": str(state)}


def _dcctl(state: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*_DCCTL, *words],
        env=_environment(state),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )


@contextmanager
def _running(state: Path, *words: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [*_DCCTL, *words],
        env=_environment(state),
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        yield process
        process.wait(200)
