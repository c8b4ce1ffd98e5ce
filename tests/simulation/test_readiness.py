"""What a dead server's log says to a person."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.simulation.readiness import last_words


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
