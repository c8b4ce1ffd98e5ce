"""A broker without a metadata quorum: one that has run since before takes connections, one that is started does not."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

from orchestrator.adapters.java.detection import find_java
from orchestrator.adapters.java.runtime import kafka_runtime
from orchestrator.adapters.probe import listening
from tests.kafka_broker import kafka_broker, process_of

_LONG_ENOUGH_S = 15.0
"""A broker of this kind is up within 6 s where there is a quorum."""


def test_a_broker_that_is_restarted_without_a_quorum_takes_no_connections(tmp_path: Path) -> None:
    """By that it is told from one that goes on, which takes them for as long as it runs."""
    with kafka_broker(kafka_runtime("4.3.1", find_java()), tmp_path, brokers=2, heap_mb=200) as kafka:
        voter, other = process_of(kafka, 1), process_of(kafka, 2)
        address = kafka.brokers()[2]
        voter.kill()
        voter.wait()
        time.sleep(_LONG_ENOUGH_S)
        assert listening([address], 1.0) == {address: "yes"}
        command, environment = other.cmdline(), other.environ()
        other.kill()
        other.wait()
        again = subprocess.Popen(
            command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            until_s = time.monotonic() + _LONG_ENOUGH_S
            while time.monotonic() < until_s:
                assert listening([address], 1.0) == {address: "refused"}
                time.sleep(0.2)
            assert again.poll() is None
        finally:
            again.kill()
            again.wait()
