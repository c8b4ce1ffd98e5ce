"""Certificates of a simulation, held against OpenSSL's own verification: two ends that shake hands in memory."""

from __future__ import annotations

import ssl
import stat
from pathlib import Path

import pytest

from orchestrator.adapters.certificates import Authority, write_private


def _shake_hands(folder: Path, *, trusted: Authority, served_by: Authority, asked_for: str) -> None:
    """A TLS handshake without a network. Raises what OpenSSL raises."""
    identity = folder / "identity.pem"
    write_private(identity, served_by.server("broker-1", ["127.0.0.1", "localhost"]).pem)
    server_context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_context.load_cert_chain(identity)
    client_context = ssl.create_default_context(cadata=trusted.pem.decode("ascii"))
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = client_context.wrap_bio(to_client, to_server, server_hostname=asked_for)
    server = server_context.wrap_bio(to_server, to_client, server_side=True)
    done = {client: False, server: False}
    while not all(done.values()):
        for end in (client, server):
            try:
                end.do_handshake()
                done[end] = True
            except ssl.SSLWantReadError:
                continue


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
def test_a_server_is_known_by_its_authority(tmp_path: Path, name: str) -> None:
    """By name and by address."""
    authority = Authority("test")
    _shake_hands(tmp_path, trusted=authority, served_by=authority, asked_for=name)


def test_another_authority_of_the_same_name_is_not_trusted(tmp_path: Path) -> None:
    """A name is not a key."""
    with pytest.raises(ssl.SSLCertVerificationError, match=r"self-signed|self signed|unable to get"):
        _shake_hands(tmp_path, trusted=Authority("test"), served_by=Authority("test"), asked_for="localhost")


def test_a_server_is_not_taken_for_another(tmp_path: Path) -> None:
    """Its certificate names whom it speaks for."""
    authority = Authority("test")
    with pytest.raises(ssl.SSLCertVerificationError, match=r"kafka\.west"):
        _shake_hands(tmp_path, trusted=authority, served_by=authority, asked_for="kafka.west")


def test_a_private_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    """From its first byte on, and when it is written again."""
    file = tmp_path / "key"
    write_private(file, b"one, and longer")
    write_private(file, b"two")
    assert file.read_bytes() == b"two"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_the_authority_keeps_its_key_to_itself() -> None:
    """What clients get is a certificate and nothing else."""
    pem = Authority("test").pem
    assert pem.count(b"BEGIN") == 1
    assert b"PRIVATE" not in pem
