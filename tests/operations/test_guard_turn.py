"""A guard in its turn: what it heard before it stopped the closed broker may be true no more."""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from orchestrator.adapters.zookeeper import HeldLock
from orchestrator.errors import DcctlError
from orchestrator.operations import guarded_broker
from orchestrator.operations.boot_guard import Guarded
from orchestrator.operations.guarded_broker import GuardedBroker
from orchestrator.operations.journal import runs_path
from tests.faults.estate import SMALL
from tests.operations.memory_ensemble import MemoryEnsemble

AWAY = {"verb": "failover", "source": "west", "target": "east"}


class Turning(MemoryEnsemble):
    """While the first turn is taken, a failover begins (or the ensemble falls silent), and ends again later."""

    def __init__(self, happens: str) -> None:
        super().__init__()
        self.happens, self.turns, self.silences = happens, 0, 0
        self.said: list[str] = []

    def acquire(self, path: str, about: Mapping[str, Any]) -> HeldLock:
        self.turns += 1
        if self.turns == 1 and self.happens == "silence":
            self.silences = 3
        if self.turns == 1 and self.happens == "failover":
            run = f"{runs_path('small')}/1-failover"
            self.nodes[f"{run}/000001-run-started"] = json.dumps({"data": AWAY}).encode()
            self.nodes[f"{run}/000002-step-intent-let-land"] = b"{}"
        return super().acquire(path, about)

    def open(self, timeout_s: float = 5.0) -> None:  # noqa: ARG002
        if self.silences:
            self.silences -= 1
            raise DcctlError("coordination", "no answer")

    def write(self, path: str, value: bytes) -> None:  # noqa: ARG002
        self.said.append(json.loads(value)["reason"])
        if sum("has taken over" in reason for reason in self.said) == 3:
            self.nodes.clear()  # as if it had been taken back


@pytest.mark.parametrize(("happens", "started"), [("nothing", 2), ("failover", 3), ("silence", 3)])
def test_it_asks_again_between_stopping_and_opening(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, happens: str, started: int
) -> None:
    """If it may not open any more, or nobody says so, the broker is closed again, and the guard asks on."""
    ensemble, log = Turning(happens), tmp_path / "log"
    monkeypatch.setattr(guarded_broker, "coordination_connection", lambda _: ensemble)
    monkeypatch.setattr(guarded_broker, "_POLL_S", 0.02)
    monkeypatch.setattr("signal.signal", lambda *_: None)
    file = tmp_path / "small.yaml"
    text = SMALL.read_text(encoding="utf-8")
    file.write_text(f"{text}coordination: {{zookeeper: '127.0.0.1:1'}}\n", encoding="utf-8")
    with socket.create_server(("127.0.0.1", 0)) as server:
        for name in ("opened", "closed"):
            listener = f"listeners=CLIENT://127.0.0.1:{server.getsockname()[1]}\n"
            (tmp_path / name).write_text(listener, encoding="utf-8")
        script = f"echo {{properties}} >> {log}; case {{properties}} in *closed) exec sleep 60;; esac"
        guarded = Guarded(
            file=file,
            cluster="west",
            server="kafka1",
            data=tmp_path,
            opened=tmp_path / "opened",
            closed=tmp_path / "closed",
            wait_s=0.0,
            command=("sh", "-c", script),
        )
        assert GuardedBroker(guarded).run() == 0
    starts = [Path(line).name for line in log.read_text(encoding="utf-8").split()]
    assert starts == ["closed"] * (started - 1) + ["opened"]
