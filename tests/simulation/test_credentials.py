"""Principals and their passwords."""

from __future__ import annotations

import stat
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.errors import SimulationError
from orchestrator.simulation.credentials import create_secrets, users
from orchestrator.topology.model import Topology


def test_every_client_has_a_user_of_its_own(topology: Topology) -> None:
    """Otherwise one could not be fenced without the others."""
    found = users(topology)
    assert {"operator", "broker", "mirror", "checkout", "billing", "revenue"} <= set(found)
    assert len(found) == len(set(found))


@pytest.mark.parametrize("principal", ["User:operator", "User:mirror", "User:a b", 'User:a"'])
def test_a_name_that_would_not_work_is_refused(topology: Topology, principal: str) -> None:
    """Reserved, or not one word for Kafka's JAAS parser."""
    producers = (replace(topology.producers[0], principal=principal),)
    with pytest.raises(SimulationError, match="principal User:"):
        users(replace(topology, producers=producers))


def test_secrets_are_for_their_owner_alone(tmp_path: Path) -> None:
    """One password a file, each a different one, mode 600."""
    passwords = create_secrets(tmp_path, ("operator", "billing"))
    assert passwords["operator"] != passwords["billing"]
    for user, password in passwords.items():
        assert (tmp_path / user).read_text() == password
        assert stat.S_IMODE((tmp_path / user).stat().st_mode) == 0o600
