"""Ports that stay ours."""

from __future__ import annotations

import socket
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from orchestrator.adapters.ports import PortRegister, is_free, is_listening
from orchestrator.errors import SimulationError


@pytest.fixture
def register(tmp_path: Path) -> Iterator[PortRegister]:
    """A register of six ports that this machine's own register keeps for this test: nobody else binds them."""
    with tempfile.TemporaryDirectory(prefix="dcctl-ports-") as holder:
        yield PortRegister(tmp_path / "register", among=PortRegister().claim(Path(holder), 6))
        PortRegister().release(Path(holder))


def _claimant(tmp_path: Path, name: str) -> Path:
    folder = tmp_path / name
    folder.mkdir()
    return folder


def test_claims_made_at_the_same_moment_never_meet(tmp_path: Path) -> None:
    """Eight simulations start at once; nothing has bound a port yet."""
    claimants = [_claimant(tmp_path, f"s{number}") for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        claims = list(pool.map(lambda c: PortRegister(tmp_path / "register").claim(c, 14), claimants))
    ports = [port for claim in claims for port in claim]
    assert len(set(ports)) == 8 * 14
    assert all(20_000 <= port < 32_000 for port in ports)


def test_a_claim_lasts_until_it_is_given_back(register: PortRegister, tmp_path: Path) -> None:
    """A killed site's ports are free, and still its own."""
    first, second = _claimant(tmp_path, "first"), _claimant(tmp_path, "second")
    mine = register.claim(first, 3)
    assert not set(register.claim(second, 3)) & set(mine)
    register.release(first)
    assert str(first) not in register._claims()
    assert register.claim(second, 3) == mine


def test_too_few_free_ports_are_an_error(register: PortRegister, tmp_path: Path) -> None:
    """Nothing is claimed then."""
    register.claim(_claimant(tmp_path, "first"), 5)
    second = _claimant(tmp_path, "second")
    with pytest.raises(SimulationError, match="2 are needed, 1 of "):
        register.claim(second, 2)
    assert str(second) not in register._claims()


def test_a_claim_ends_with_its_folder(register: PortRegister, tmp_path: Path) -> None:
    """Nobody is left to give it back."""
    gone, other = _claimant(tmp_path, "gone"), _claimant(tmp_path, "other")
    ports = register.claim(gone, 3)
    gone.rmdir()
    assert register.claim(other, 3) == ports


def test_a_bound_port_is_passed_over(register: PortRegister, tmp_path: Path) -> None:
    """Whoever it belongs to."""
    (port,) = register.claim(_claimant(tmp_path, "first"), 1)
    register.release(tmp_path / "first")
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", port))
        holder.listen()
        assert not is_free(port)
        assert is_listening(port)
        assert register.claim(_claimant(tmp_path, "second"), 1) != [port]
    assert not is_listening(port)
