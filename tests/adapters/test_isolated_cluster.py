"""The helper process that asks a dying cluster: its death is an error, not ours."""

from __future__ import annotations

import gc
import os
import signal
import time
import weakref

import pytest

from orchestrator.adapters.kafka.isolated import IsolatedCluster
from orchestrator.adapters.ports import is_free
from orchestrator.adapters.probe import listening
from orchestrator.errors import ClusterError
from orchestrator.values import TopicPartition

NOBODY = "127.0.0.1:9"


def test_a_helper_that_dies_is_an_error_and_the_next_call_has_another() -> None:
    """Killed as librdkafka's assertion kills it, in the middle of a question; then asked again."""
    cluster = IsolatedCluster("west", [NOBODY], {"socket.timeout.ms": "1000"})
    try:
        with pytest.raises(ClusterError, match="cluster west: "):
            cluster.groups(0.2)
        first = cluster._helper
        assert first is not None
        waiting = first.ask("brokers", (30.0,))
        os.kill(first._process.pid, signal.SIGABRT)
        with pytest.raises(ClusterError, match="the connection broke"):
            waiting.result(20)
        with pytest.raises(ClusterError):
            cluster.committed(["g"], 0.2)
        second = cluster._helper
        assert second is not None
        assert second._process.pid != first._process.pid
    finally:
        cluster.reset()
    assert second._process.poll() is not None


def test_offsets_are_not_tried_again_once_nothing_may_be_written() -> None:
    """Before each try it is asked: the first one is made, times out, and no second one is begun."""
    answers = [True, False, True, True]
    cluster = IsolatedCluster("west", [NOBODY], {"socket.timeout.ms": "1000"}, asks_again=True)
    try:
        with pytest.raises(ClusterError, match=r"group g: not tried \(again\), the run may write no more"):
            cluster.write_group_offsets("g", {TopicPartition("t", 0): 1}, 0.2, lambda: answers.pop(0))
    finally:
        cluster.reset()
    assert answers == [True, True]


def test_helpers_that_have_ended_are_not_kept() -> None:
    """A watcher replaces them for weeks."""
    cluster = IsolatedCluster("west", [NOBODY], {})
    ended = []
    for _ in range(3):
        with pytest.raises(ClusterError):
            cluster.groups(0.1)
        ended.append(weakref.ref(cluster._helper))
        cluster.reset()
    gc.collect()
    deadline = time.monotonic() + 20
    while sum(helper() is not None for helper in ended) > 1:
        assert time.monotonic() < deadline
        time.sleep(0.05)
        gc.collect()


def test_a_helper_ends_with_its_parents_end_of_the_pipe() -> None:
    """A watcher that is killed leaves no process behind."""
    cluster = IsolatedCluster("west", [NOBODY], {})
    with pytest.raises(ClusterError):
        cluster.groups(0.1)
    helper = cluster._helper
    assert helper is not None
    helper._stdin.close()
    assert helper._process.wait(20) in (0, -signal.SIGKILL)
    with pytest.raises(ClusterError):
        cluster.groups(0.1)
    cluster.reset()


def test_an_address_refuses_or_is_silent() -> None:
    """What a probe tells about a port that nothing has, and about a name that is none."""
    free = next(port for port in range(31_000, 32_000) if is_free(port))
    found = listening([f"127.0.0.1:{free}", "no-such-host.invalid:9092", "nonsense"], 0.5)
    assert list(found.values()) == ["refused", "silent", "silent"]
