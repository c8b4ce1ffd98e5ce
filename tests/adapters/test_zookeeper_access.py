"""Login and TLS on a real ZooKeeper: what one login writes is closed to all others, and errors say so."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.adapters.certificates import Authority
from orchestrator.adapters.zookeeper import Coordination
from orchestrator.adapters.zookeeper_access import EnsembleAccess
from orchestrator.errors import CoordinationError
from tests.zookeeper_server import ZooKeeperServer, connected, zookeeper_server

pytestmark = pytest.mark.integration

ABOUT = {"who": "ada"}
ADA = {"username": "ada", "password": "right"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZooKeeperServer]:
    """It takes connections by TLS alone."""
    with zookeeper_server(tmp_path_factory.mktemp("zookeeper"), Authority("test")) as running:
        yield running


@pytest.mark.parametrize(
    ("login", "words"),
    [
        ({"username": "ada", "password": "wrong"}, "not for user ada"),
        ({"username": "eve", "password": "right"}, "not for user eve"),
        ({}, "not without a login"),
    ],
    ids=["wrong password", "another user", "nobody"],
)
def test_what_a_login_writes_is_closed_to_others(
    server: ZooKeeperServer, login: dict[str, str], words: str
) -> None:
    """Lock and journal can neither be read nor written, and whoever tries is told why."""
    with connected(server, **ADA) as ada:
        ada.acquire("/closed/t/lock", ABOUT).create("/closed/t/runs/r1/000001", b"intent")
        with connected(server, **login) as other:
            for attempt in (
                lambda: other.holder("/closed/t/lock"),
                lambda: other.read("/closed/t/runs/r1/000001"),
                lambda: other.acquire("/closed/t/lock", ABOUT),
            ):
                with pytest.raises(CoordinationError, match=f"does not allow it, {words}") as caught:
                    attempt()
                assert "coordination.password" in caught.value.hint
        assert ada.read("/closed/t/runs/r1/000001") == b"intent"
        for path in ("/closed", "/closed/t", "/closed/t/lock", "/closed/t/runs/r1/000001"):
            acls, _ = ada._client.get_acls(path)
            assert [(acl.id.scheme, acl.id.id.partition(":")[0]) for acl in acls] == [("digest", "ada")]


def test_the_lock_can_be_taken_again_and_records_removed(server: ZooKeeperServer) -> None:
    """A login is no hindrance to its owner."""
    with connected(server, **ADA) as ada:
        lock = ada.acquire("/own/t/lock", ABOUT)
        lock.create("/own/t/runs/r1/000001", b"intent")
        lock.remove("/own/t/runs/r1/000001")
        lock.release()
        ada.acquire("/own/t/lock", ABOUT).release()
        assert ada.read_children("/own/t/runs/r1") == {}


def test_what_was_open_before_there_was_a_login_is_not_trusted(server: ZooKeeperServer) -> None:
    """Anybody could have written there, and still could beside the lock."""
    with connected(server) as nobody:
        nobody.acquire("/open/t/lock", ABOUT).release()
    with (
        connected(server, **ADA) as ada,
        pytest.raises(CoordinationError, match="/open/t: is open to everybody, though the file has a login"),
    ):
        ada.acquire("/open/t/lock", ABOUT)


def test_a_large_record_passes_tls_whole(server: ZooKeeperServer) -> None:
    """It is longer than many of TLS's own records."""
    value = bytes(range(256)) * 3_000
    with connected(server, **ADA) as ada:
        ada.acquire("/large/t/lock", ABOUT).create("/large/t/runs/r1/000001", value)
        assert ada.read("/large/t/runs/r1/000001") == value


def test_an_ensemble_of_another_authority_is_not_spoken_to(server: ZooKeeperServer, tmp_path: Path) -> None:
    """The password does not reach it."""
    stranger = tmp_path / "stranger.pem"
    stranger.write_bytes(Authority("test").pem)
    access = EnsembleAccess(**ADA, ca_location=str(stranger))
    with pytest.raises(CoordinationError, match="is not who it should be") as caught:
        Coordination(server.hosts, access=access).open(1.0)
    assert "right" not in str(caught.value) + repr(access)


def test_an_ensemble_that_takes_tls_alone_is_asked_without(server: ZooKeeperServer) -> None:
    """It does not answer; the hint says what may be missing."""
    with pytest.raises(CoordinationError, match="no answer within 1 s") as caught:
        Coordination(server.hosts).open(1.0)
    assert "coordination.ca_location" in caught.value.hint


def test_an_authority_that_is_not_there_is_named(tmp_path: Path) -> None:
    """Before anything is connected."""
    missing = tmp_path / "missing.pem"
    with pytest.raises(CoordinationError, match=r"missing\.pem: No such file"):
        Coordination("127.0.0.1:1", access=EnsembleAccess(ca_location=str(missing)))
