"""A rehearsal that is ended in the middle leaves nothing behind, whatever it was doing. `make drills`."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from orchestrator.simulation.state import read_state
from tests.drill.rehearsal import EXAMPLE, ROOT, processes_of

pytestmark = [pytest.mark.drills, pytest.mark.timeout(600)]

STAGES = ("bring up", "steady load", "fault", "failover", "at the target", "drain", "audit", "take down")
_SHORT = ("fault", "take down")
_REACHED_WITHIN_S = 400.0
_ENDED_WITHIN_S = 90.0
_GONE_SAID_WITHIN_S = 5.0
_UNKNOWN = 7


class Interruptible:
    """A drill in a process of its own, with its terminal's text in a file."""

    def __init__(self, folder: Path) -> None:
        self.state, self._text = folder / "state", folder / "stderr"
        self._environment = {**os.environ, "DCCTL_STATE_DIR": str(self.state)}
        arguments = ["drill", str(EXAMPLE), "--scenario", "small", "--out", str(folder / "drills")]
        with self._text.open("wb") as stderr:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "orchestrator.cli.main", *arguments],
                env=self._environment,
                cwd=ROOT,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                start_new_session=True,
            )

    @property
    def text(self) -> str:
        """What it has told so far."""
        return self._text.read_text(encoding="utf-8")

    def await_stage(self, stage: str) -> None:
        """Wait until it says that it is in that stage."""
        deadline_s = time.monotonic() + _REACHED_WITHIN_S
        while f"… {stage} " not in self.text:
            assert self.process.poll() is None, self.text
            assert time.monotonic() < deadline_s, self.text
            time.sleep(0.2)

    def ports(self) -> list[int]:
        """The ports that its simulation took, as far as it has any by now."""
        files = list(self.state.glob("simulations/*/simulation.json"))
        return [port for file in files for port in read_state(file).ports.values()]

    def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Another dcctl beside it, with the same state."""
        return subprocess.run(
            [sys.executable, "-m", "orchestrator.cli.main", *arguments],
            env=self._environment,
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=_ENDED_WITHIN_S,
            check=False,
        )


def _assert_nothing_is_left(drill: Interruptible, ports: list[int]) -> None:
    assert processes_of(drill.state) == []
    assert list((drill.state / "simulations").glob("*")) == []
    for port in ports:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda n: n.name)
def test_nothing_is_left(tmp_path: Path, stage: str, number: signal.Signals) -> None:
    """Ctrl-C and SIGTERM clean up by themselves; after a SIGKILL `dcctl sim down` does."""
    drill = Interruptible(tmp_path)
    try:
        drill.await_stage(stage)
        time.sleep(0.0 if stage in _SHORT else 1.5)
        ports = drill.ports()
        drill.process.send_signal(number)
        status = drill.process.wait(_ENDED_WITHIN_S)
        if number == signal.SIGKILL:
            done = drill.command("sim", "down", "--all", "--yes")
            assert done.returncode == 0, done.stderr
        else:
            assert status != 0 or stage == "take down"
            assert "Traceback" not in drill.text
        _assert_nothing_is_left(drill, ports)
    finally:
        drill.process.kill()
        drill.process.wait()
        drill.command("sim", "down", "--all", "--yes")


@pytest.mark.parametrize("stage", ["steady load", "failover", "at the target"])
def test_a_drill_whose_servers_are_ended_says_so(tmp_path: Path, stage: str) -> None:
    """Within seconds, wherever it waits; only its name and `--force` let anybody do that to it."""
    drill = Interruptible(tmp_path)
    try:
        drill.await_stage(stage)
        time.sleep(1.5)
        ports = drill.ports()
        (simulation,) = (drill.state / "simulations").iterdir()
        assert drill.command("sim", "down").returncode == 1
        assert drill.command("sim", "down", "--all", "--yes").returncode == 0
        assert drill.process.poll() is None
        assert drill.command("sim", "down", simulation.name, "--force").returncode == 0
        deadline_s = time.monotonic() + _GONE_SAID_WITHIN_S
        while "servers that the drill had not ended are gone" not in drill.text:
            assert time.monotonic() < deadline_s, drill.text
            time.sleep(0.1)
        assert drill.process.wait(_ENDED_WITHIN_S) == _UNKNOWN
        assert "did not catch up" not in drill.text
        assert "Traceback" not in drill.text
        _assert_nothing_is_left(drill, ports)
    finally:
        drill.process.kill()
        drill.process.wait()
        drill.command("sim", "down", "--all", "--yes")


def test_two_at_the_same_time(tmp_path: Path) -> None:
    """Two rehearsals side by side share nothing: both are valid."""
    drills = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        drills.append(Interruptible(tmp_path / name))
    try:
        statuses = [drill.process.wait(570) for drill in drills]
    finally:
        for drill in drills:
            drill.process.kill()
            drill.process.wait()
            drill.command("sim", "down", "--all", "--yes")
    assert statuses == [0, 0], "\n".join(drill.text for drill in drills)
