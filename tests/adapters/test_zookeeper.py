"""Lock and records on a real ZooKeeper: one holder, nothing written after a loss, errors in our words."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from orchestrator.adapters.zookeeper import Coordination
from orchestrator.errors import CoordinationError, LockHeldError, LockLostError
from tests.zookeeper_server import ZooKeeperServer, connected, zookeeper_server

pytestmark = pytest.mark.integration

ABOUT = {"who": "ada", "host": "ops-1", "pid": 42, "command": "failover"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZooKeeperServer]:
    with zookeeper_server(tmp_path_factory.mktemp("zookeeper")) as running:
        yield running


def test_a_second_holder_is_told_who_holds_it_and_since_when(server: ZooKeeperServer) -> None:
    """Exit status 5, with a name, a place and a time."""
    with connected(server) as first, connected(server) as second:
        first.acquire("/one/lock", ABOUT)
        with pytest.raises(LockHeldError, match=r"ada on ops-1 \(process 42\) since 20.* UTC, for failover"):
            second.acquire("/one/lock", {"who": "bob"})


def test_a_released_lock_and_a_closed_session_are_free_at_once(server: ZooKeeperServer) -> None:
    """The next one need not wait for a time-out."""
    with connected(server) as first:
        first.acquire("/two/lock", ABOUT).release()
        first.acquire("/two/lock", ABOUT)
    with connected(server) as second:
        assert second.holder("/two/lock") is None
        second.acquire("/two/lock", ABOUT).release()


def test_a_record_written_twice_is_there_once(server: ZooKeeperServer) -> None:
    """A repetition after a lost answer is harmless; another content under the same name is not."""
    with connected(server) as coordination:
        lock = coordination.acquire("/three/lock", ABOUT)
        lock.create("/three/runs/r1/000001", b"intent")
        lock.create("/three/runs/r1/000001", b"intent")
        with pytest.raises(CoordinationError, match="another content"):
            lock.create("/three/runs/r1/000001", b"something else")
        lock.create("/three/runs/r1/000002", b"outcome")
        assert coordination.read_children("/three/runs/r1") == {"000001": b"intent", "000002": b"outcome"}
        assert coordination.read("/three/runs/r1/000003") is None


def test_nothing_is_written_once_the_lock_is_gone(server: ZooKeeperServer) -> None:
    """Checked by ZooKeeper in the same transaction, not believed by the holder."""
    told: list[str] = []
    with connected(server) as first, connected(server) as second:
        lock = first.acquire("/four/lock", ABOUT)
        lock.on_loss(told.append)
        assert lock.is_held()
        second._client.delete(lock.path)
        assert not lock.is_held(), "asked, not believed"
        with pytest.raises(LockLostError):
            lock.create("/four/runs/r1/000001", b"too late")
        assert second.read("/four/runs/r1/000001") is None
        assert "somebody removed the lock" in told[0]


def test_a_paused_holder_cannot_write_after_its_session_is_gone(server: ZooKeeperServer) -> None:
    """SIGSTOP until a second one has taken over, then SIGCONT: its record is refused."""
    script = (
        "import sys\n"
        "from orchestrator.adapters.zookeeper import Coordination\n"
        "from orchestrator.errors import LockLostError\n"
        f"c = Coordination({server.hosts!r}, session_timeout_s=2, deadline_s=4); c.open(20)\n"
        "lock = c.acquire('/five/lock', {'who': 'paused'})\n"
        "print('held', flush=True); sys.stdin.readline()\n"
        "try:\n    lock.create('/five/runs/r1/000001', b'zombie')\n"
        "except LockLostError: print('lost', flush=True)\n"
        "c.close()\n"
    )

    child = subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        assert child.stdout.readline() == "held\n"
        child.send_signal(signal.SIGSTOP)
        with connected(server) as second:
            deadline = time.monotonic() + 15
            while second.holder("/five/lock") is not None and time.monotonic() < deadline:
                time.sleep(0.1)
            second.acquire("/five/lock", {"who": "second"})
            child.send_signal(signal.SIGCONT)
            child.stdin.write("\n")
            child.stdin.flush()
            assert child.stdout.readline() == "lost\n"
            assert second.read("/five/runs/r1/000001") is None
    finally:
        child.send_signal(signal.SIGCONT)
        child.kill()
        child.wait()


def test_an_ensemble_that_is_gone_is_noticed_and_named(server: ZooKeeperServer) -> None:
    """No kazoo exception reaches a user; a session without a server counts as lost after its time."""
    lost = threading.Event()
    with connected(server) as coordination:
        lock = coordination.acquire("/six/lock", ABOUT)
        lock.on_loss(lambda _: lost.set())
        server.stop()
        try:
            with pytest.raises(CoordinationError):
                lock.create("/six/runs/r1/000001", b"unwritten")
            assert lost.wait(10)
            with pytest.raises(CoordinationError, match=r"no answer within 0\.5 s"):
                Coordination(server.hosts).open(0.5)
        finally:
            server.start()


def test_a_lock_taken_away_stops_its_holder_and_is_recorded(server: ZooKeeperServer) -> None:
    """In one transaction: the record of who took it, and the end of the hold."""
    with connected(server) as first, connected(server) as second:
        lock = first.acquire("/taken/lock", ABOUT)
        holder = second.holder("/taken/lock")
        assert holder is not None
        assert second.break_lock(holder, "/taken/unlocks/u1", b"{}")
        with pytest.raises(LockLostError):
            lock.create("/taken/runs/r1/000001", b"intent")
        second.acquire("/taken/lock", {"who": "bob"}).release()
        assert second.read("/taken/unlocks/u1") == b"{}"
        assert not second.break_lock(holder, "/taken/unlocks/u2", b"{}"), "it was gone already"
        assert second.read("/taken/unlocks/u2") is None


def test_a_write_without_a_lock_keeps_its_record_or_does_nothing(server: ZooKeeperServer) -> None:
    """Put, replaced, removed; each with its record, none twice, and nothing to remove is said."""
    with connected(server) as coordination:
        path = "/holds/standing/all@ada"
        assert coordination.write_recorded(path, b"1", "/holds/events/e1", b"put")
        assert coordination.write_recorded(path, b"2", "/holds/events/e2", b"put again")
        assert coordination.read(path) == b"2"
        assert coordination.write_recorded(path, b"3", "/holds/events/e2", b"put again")
        assert coordination.read(path) == b"2", "a repetition of the same call writes nothing twice"
        assert coordination.write_recorded(path, None, "/holds/events/e3", b"gone")
        assert coordination.read(path) is None
        assert coordination.write_recorded(path, None, "/holds/events/e3", b"gone")
        assert not coordination.write_recorded(path, None, "/holds/events/e4", b"gone")
        assert coordination.read_children("/holds/events") == {
            "e1": b"put",
            "e2": b"put again",
            "e3": b"gone",
        }
