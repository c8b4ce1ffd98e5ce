"""The helper process for group offsets: its death is an error, not ours."""

from __future__ import annotations

import os
import signal
import time

import pytest

from orchestrator.adapters.kafka.group_reader import GroupReader
from orchestrator.adapters.ports import is_free
from orchestrator.adapters.probe import listening
from orchestrator.errors import ClusterError

NOBODY = "127.0.0.1:9"


def test_a_helper_that_dies_is_an_error_and_the_next_call_has_another() -> None:
    """Killed as librdkafka's assertion kills it; then asked again."""
    reader = GroupReader("west", [NOBODY], {"socket.timeout.ms": "1000"})
    try:
        with pytest.raises(ClusterError, match="listing groups"):
            reader.groups(0.2)
        first = reader._helper
        assert first is not None
        os.kill(first.pid, signal.SIGABRT)
        first.wait()
        with pytest.raises(ClusterError):
            reader.committed(["g"], 0.2)
        second = reader._helper
        assert second is not None
        assert second.pid != first.pid
    finally:
        reader.close()
    assert second.poll() is not None


def test_a_helper_ends_with_its_parents_end_of_the_pipe() -> None:
    """A watcher that is killed leaves no process behind."""
    reader = GroupReader("west", [NOBODY], {})
    with pytest.raises(ClusterError):
        reader.groups(0.1)
    helper = reader._helper
    assert helper is not None
    assert helper.stdin is not None
    helper.stdin.close()
    deadline = time.monotonic() + 20
    while helper.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    assert helper.poll() == 0


def test_an_address_refuses_or_is_silent() -> None:
    """What a probe tells about a port that nothing has, and about a name that is none."""
    free = next(port for port in range(31_000, 32_000) if is_free(port))
    found = listening([f"127.0.0.1:{free}", "no-such-host.invalid:9092", "nonsense"], 0.5)
    assert list(found.values()) == ["refused", "silent", "silent"]
