"""Ports that stay ours."""

from __future__ import annotations

import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from orchestrator.adapters.ports import PortRegister, is_free, is_listening


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


def test_a_claim_lasts_until_it_is_given_back(tmp_path: Path) -> None:
    """A killed site's ports are free, and still its own."""
    register = PortRegister(tmp_path / "register")
    first, second = _claimant(tmp_path, "first"), _claimant(tmp_path, "second")
    mine = register.claim(first, 3)
    assert not set(register.claim(second, 3)) & set(mine)
    register.release(first)
    assert str(first) not in register._claims()
    assert set(register.claim(second, 3)) == set(mine)


def test_a_claim_ends_with_its_folder(tmp_path: Path) -> None:
    """Nobody is left to give it back."""
    register = PortRegister(tmp_path / "register")
    gone, other = _claimant(tmp_path, "gone"), _claimant(tmp_path, "other")
    ports = register.claim(gone, 3)
    gone.rmdir()
    assert register.claim(other, 3) == ports


def test_a_bound_port_is_passed_over(tmp_path: Path) -> None:
    """Whoever it belongs to."""
    register = PortRegister(tmp_path / "register")
    (port,) = register.claim(_claimant(tmp_path, "first"), 1)
    register.release(tmp_path / "first")
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", port))
        holder.listen()
        assert not is_free(port)
        assert is_listening(port)
        assert register.claim(_claimant(tmp_path, "second"), 1) != [port]
    assert not is_listening(port)
