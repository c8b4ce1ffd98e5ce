"""A guard at work, with another program in the broker's place, and an ensemble in memory."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from orchestrator.adapters.child_process import descendants
from orchestrator.adapters.processes import ProcessId, end_all, process_id
from orchestrator.adapters.zookeeper import HeldLock
from orchestrator.errors import DcctlError
from orchestrator.guards.live import boot_guard, child, guarded_broker
from orchestrator.guards.live.boot_guard import Guarded
from orchestrator.guards.live.guard_reading import guards_said
from orchestrator.guards.live.guarded_broker import GuardedBroker
from orchestrator.runs.live.journal import runs_path
from tests.faults.estate import SMALL
from tests.runs.memory_ensemble import MemoryEnsemble

AWAY = {"verb": "failover", "source": "west", "target": "east"}
NOBODY = "listeners=CLIENT://127.0.0.1:1\n"
RUN = f"{runs_path('small')}/1-failover"


class Turning(MemoryEnsemble):
    """What is written is told to `when`, which may change what stands there."""

    def __init__(self, when: Callable[[Turning, dict[str, Any]], None]) -> None:
        super().__init__()
        self.when, self.silences = when, 0
        self.said: list[tuple[str, str]] = []

    def begin_failover(self) -> None:
        self.nodes[f"{RUN}/000001-run-started"] = json.dumps({"data": AWAY}).encode()
        self.nodes[f"{RUN}/000002-step-intent-let-land"] = b"{}"

    def acquire(self, path: str, about: Mapping[str, Any]) -> HeldLock:
        self.when(self, {"state": "turn", "reason": ""})
        return super().acquire(path, about)

    def open(self, timeout_s: float = 5.0) -> None:  # noqa: ARG002
        if self.silences:
            self.silences -= 1
            raise DcctlError("coordination", "no answer")

    def write(self, path: str, value: bytes) -> None:
        said = json.loads(value)
        self.nodes[path] = value
        self.said.append((said["state"], said["reason"]))
        self.when(self, said)


@pytest.fixture
def listener() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"listeners=CLIENT://127.0.0.1:{server.getsockname()[1]}\n"


def a_guarded(tmp_path: Path, listener: str, script: str) -> Guarded:
    file = tmp_path / "small.yaml"
    text = SMALL.read_text(encoding="utf-8")
    file.write_text(f"{text}coordination: {{zookeeper: '127.0.0.1:1'}}\n", encoding="utf-8")
    for name in ("opened", "closed"):
        (tmp_path / name).write_text(listener, encoding="utf-8")
    (tmp_path / "data" / "orders-0").mkdir(parents=True, exist_ok=True)
    return Guarded(
        file=file,
        cluster="west",
        server="kafka1",
        data=tmp_path / "data",
        opened=tmp_path / "opened",
        closed=tmp_path / "closed",
        wait_s=0.0,
        command=("sh", "-c", script, "{properties}"),
    )


def ran(
    monkeypatch: pytest.MonkeyPatch,
    ensemble: MemoryEnsemble,
    guarded: Guarded,
    connected: Callable[[], MemoryEnsemble] | None = None,
) -> int:
    """The guard, in this process, whose other children are not the guard's to kill."""
    others = {child.pid for child in psutil.Process().children(recursive=True)}

    def kill_own(timeout_s: float) -> list[ProcessId]:
        return end_all(lambda: [one for one in descendants() if one.pid not in others], timeout_s)

    monkeypatch.setattr(child, "kill_descendants", kill_own)
    monkeypatch.setattr(
        guarded_broker, "coordination_connection", lambda _: connected() if connected else ensemble
    )
    monkeypatch.setattr(guarded_broker, "adopt_orphans", lambda: None)
    monkeypatch.setattr("signal.signal", lambda *_: None)
    return GuardedBroker(guarded).run()


def is_alive(pid: int) -> bool:
    process = process_id(pid)
    return process is not None and process.is_alive


def started(log: Path) -> list[str]:
    return [Path(line).name for line in log.read_text(encoding="utf-8").split()]


@pytest.mark.parametrize(("happens", "starts"), [("nothing", 2), ("failover", 3), ("silence", 3)])
def test_it_asks_again_between_stopping_and_opening(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, listener: str, happens: str, starts: int
) -> None:
    """If it may not open any more, or nobody says so, the broker is closed again, and the guard asks on."""
    seen, log = {"turns": 0, "closed": 0}, tmp_path / "log"

    def when(ensemble: Turning, said: dict[str, Any]) -> None:
        if said["state"] == "turn":
            seen["turns"] += 1
            while not log.exists() or len(started(log)) < seen["turns"]:
                time.sleep(0.05)  # a signal to a program that does not run yet ends it unseen
            if seen["turns"] == 1 and happens == "failover":
                ensemble.begin_failover()
        elif said["state"] == "opening" and seen["turns"] == 1 and happens == "silence":
            if seen["closed"] < 100:
                seen["closed"] = 100
                raise DcctlError("coordination", "no answer")
        elif "has taken over" in said["reason"]:
            seen["closed"] += 1
            # At first it is away; then the run is taken back.
            if seen["closed"] == 1 or (seen["turns"] and seen["closed"] == 4):
                ensemble.nodes = {path: v for path, v in ensemble.nodes.items() if RUN not in path}

    ensemble = Turning(when)
    ensemble.begin_failover()
    script = f"echo {{properties}} >> {log}; case {{properties}} in *closed) exec sleep 60;; esac"
    assert ran(monkeypatch, ensemble, a_guarded(tmp_path, listener, script)) == 0
    assert started(log) == ["closed"] * (starts - 1) + ["opened"]


def test_a_broker_that_is_on_its_way_to_open_is_closed_when_a_failover_begins(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, listener: str
) -> None:
    """Told *open*, it takes its time before it listens; all that its command has started is ended with it."""
    log, children = tmp_path / "log", tmp_path / "children"

    def when(ensemble: Turning, said: dict[str, Any]) -> None:
        if said["state"] == "opening" and children.exists():
            ensemble.begin_failover()

    ensemble = Turning(when)
    # A wrapper that stays, with the server below it; nothing listens while it starts open.
    script = (
        f"echo {{properties}} >> {log}; case {{properties}} in *closed) exit 7;; esac; "
        f"sleep 300 & echo $! > {children}.new; mv {children}.new {children}; wait"
    )
    guarded = a_guarded(tmp_path, listener, script)
    guarded.opened.write_text(NOBODY, encoding="utf-8")
    assert ran(monkeypatch, ensemble, guarded) == 7
    assert started(log) == ["opened", "closed"]
    assert not is_alive(int(children.read_text(encoding="utf-8")))
    states = [state for state, _ in ensemble.said]
    assert states[0] == "opening"
    (word,) = guards_said(ensemble, "small", "west")
    assert word.state in {"opening", "closed"}, "never open"


class Failing(Turning):
    """Fails in a way that nobody foresaw at each `calls`, once."""

    def __init__(self, *calls: str) -> None:
        super().__init__(lambda *_: None)
        self.left = list(calls)

    def fail(self, call: str) -> None:
        if call in self.left:
            self.left.remove(call)
            raise RuntimeError(f"{call} has failed")

    def connected(self) -> MemoryEnsemble:
        if self.said:
            self.fail("connect")
        return self

    def acquire(self, path: str, about: Mapping[str, Any]) -> HeldLock:
        self.fail("acquire")
        return super().acquire(path, about)

    def close(self) -> None:
        self.fail("close")

    def write(self, path: str, value: bytes) -> None:
        super().write(path, value)
        if len(self.said) == 1:
            # The run is taken back.
            self.nodes = {path: v for path, v in self.nodes.items() if RUN not in path}
            self.fail("write")


@pytest.mark.parametrize(
    "calls", [("connect",), ("acquire", "close"), ("write", "close"), ("connect", "close")]
)
def test_whatever_fails_the_guard_asks_on(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    listener: str,
    capfd: pytest.CaptureFixture[str],
    calls: tuple[str, ...],
) -> None:
    """A broker that may be open is opened in the end, and does not stay closed for ever."""
    ensemble = Failing(*calls)
    ensemble.begin_failover()
    log = tmp_path / "log"
    script = f"echo {{properties}} >> {log}; case {{properties}} in *closed) exec sleep 60;; esac"
    guarded = a_guarded(tmp_path, listener, script)
    assert ran(monkeypatch, ensemble, guarded, ensemble.connected) == 0
    assert started(log)[-1] == "opened"
    assert ensemble.left == []
    assert f"RuntimeError: {calls[0]} has failed" in capfd.readouterr().err


# As whoever starts services sees it: a process of its own, whose ensemble does not answer.
def guard_process(guarded: Guarded) -> subprocess.Popen[str]:
    options = ["--file", str(guarded.file), "--cluster", "west", "--server", "kafka1"]
    options += ["--data", str(guarded.data), "--open", str(guarded.opened), "--closed", str(guarded.closed)]
    return subprocess.Popen(
        [sys.executable, "-m", boot_guard.__name__, *options, "--wait-s", "0", "--", *guarded.command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def awaited(file: Path) -> str:
    deadline = time.monotonic() + 60
    while not file.exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return file.read_text(encoding="utf-8").strip()


def test_it_passes_signals_on_and_ends_with_the_status_of_the_broker(tmp_path: Path) -> None:
    """As `kafka-server-start.sh` would."""
    up = tmp_path / "up"
    script = f"trap 'echo stopped; exit 43' TERM; echo $$ > {up}.new; mv {up}.new {up}; sleep 60 & wait"
    guard = guard_process(a_guarded(tmp_path, NOBODY, script))
    broker = int(awaited(up))
    assert os.getpgid(broker) == os.getpgid(guard.pid), "who kills the group kills the broker"
    guard.send_signal(signal.SIGTERM)
    output, _ = guard.communicate(timeout=30)
    assert (guard.returncode, output) == (43, "stopped\n")


def test_a_broker_that_a_signal_has_ended_ends_its_guard_by_the_same(tmp_path: Path) -> None:
    """systemd restarts on it, or not, as it was told."""
    guard = guard_process(a_guarded(tmp_path, NOBODY, "kill -KILL $$"))
    guard.communicate(timeout=30)
    assert guard.returncode == -signal.SIGKILL


def test_a_broker_does_not_outlive_its_guard(tmp_path: Path) -> None:
    """Nobody would close it any more."""
    up = tmp_path / "up"
    script = f"echo $$ > {up}.new; mv {up}.new {up}; exec sleep 300"
    guard = guard_process(a_guarded(tmp_path, NOBODY, script))
    broker = psutil.Process(int(awaited(up)))
    guard.kill()
    assert broker.wait(timeout=30) is None
    guard.communicate(timeout=30)


def test_a_command_that_cannot_be_started_is_told(tmp_path: Path) -> None:
    """In the service's log, with a status of its own."""
    guarded = a_guarded(tmp_path, NOBODY, "")
    guard = guard_process(replace(guarded, command=("no-such-program", "{properties}")))
    _, said = guard.communicate(timeout=30)
    assert guard.returncode == 1
    assert "no-such-program: cannot be started: No such file or directory" in said
