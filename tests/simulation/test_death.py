"""Servers that die at their start are noticed, and their logs say why."""

from __future__ import annotations

import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.adapters.processes import end_all, processes_with
from orchestrator.adapters.supervisor import Supervisor
from orchestrator.errors import SimulationError
from orchestrator.ports.program import Program
from orchestrator.simulation.processes.death import DeathWatch, last_words


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        (
            "2026 ERROR Exiting Kafka due to fatal exception (kafka.Kafka$)\n"
            "org.apache.kafka.common.KafkaException: Socket server failed to bind to 127.0.0.1:20000\n"
            "\tat kafka.network.Acceptor.open(SocketServer.scala:1)\n"
            "Caused by: java.net.BindException: Address already in use\n"
            "\tat sun.nio.ch.Net.bind0(Native Method)\n"
            "2026 INFO App info kafka.server for 1 unregistered\n",
            "failed to bind to 127.0.0.1:20000: Address already in use (BindException)",
        ),
        ("2026 INFO starting\n2026 ERROR no space left (x)\n2026 INFO bye\n", "2026 ERROR no space left (x)"),
        ("Error: Could not find or load main class kafka.Kafka\n", "Could not find or load main class"),
        ("something\nlast line\n\n", "last line"),
        ("", "it said nothing"),
    ],
)
def test_last_words_name_the_cause(tmp_path: Path, log: str, expected: str) -> None:
    """The innermost cause, else the last error, else the last line."""
    file = tmp_path / "kafka.log"
    file.write_text(log)
    assert expected in last_words([file, tmp_path / "not-there.log"])


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Supervisor]:
    """A supervisor with a server that ends at once, again and again, as one in ZooKeeper mode may."""
    marker = {"DCCTL_TEST": str(tmp_path)}
    supervisor = Supervisor("site a", tmp_path / "a", marker)
    supervisor.prepare()
    ends = (sys.executable, "-c", "import time; time.sleep(0.2); raise SystemExit('no session')")
    supervisor.write_programs([Program("broker-1", ends, autostart=True, autorestart=True)])
    supervisor.launch()
    supervisor.await_answer()
    yield supervisor
    end_all(lambda: processes_with(marker))
    supervisor.reap()


def test_a_server_that_is_started_again_has_died(site: Supervisor) -> None:
    """Its supervisor would go on for ever; only who may end is let alone."""
    watches = [
        DeathWatch(site, ["broker-1"], may_start_again=["broker-1"]),
        DeathWatch(site, ["broker-1"]),
    ]
    with pytest.raises(SimulationError, match="site a, broker-1: died at its start"):
        _check_for(30, watches)


def test_a_taken_port_is_named(site: Supervisor, tmp_path: Path) -> None:
    """Java says only that some address is in use; what listens there is another program."""
    log = tmp_path / "a" / "broker-1" / "logs" / "kafka.log"
    log.parent.mkdir(parents=True)
    log.write_text("java.net.BindException: Address already in use\n")
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        ports = {"a/broker-1/client": port, "a/broker-10/client": port}
        with pytest.raises(
            SimulationError, match=rf"listens on port {port} \(a/broker-1/client\)\n"
        ) as raised:
            _check_for(30, [DeathWatch(site, ["broker-1"], ports=ports)])
    assert "broker-10" not in str(raised.value)


def _check_for(seconds: float, watches: list[DeathWatch]) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        for one in watches:
            one.check()
        time.sleep(0.05)
