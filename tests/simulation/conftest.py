"""The example topology, and places that no other test knows."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.topology.loading import load_topology
from orchestrator.topology.model import Topology

EXAMPLE = Path(__file__).parents[2] / "topologies" / "active-passive.yaml"


@pytest.fixture
def topology() -> Topology:
    """Two data centres, mirrored from west to east."""
    return load_topology(EXAMPLE)


@pytest.fixture
def state_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A state folder and a register of ports of its own."""
    monkeypatch.setenv("DCCTL_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path / "state"
