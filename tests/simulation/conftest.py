"""The example topology, and places that no other test knows."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
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
def state_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A state folder and a register of ports of its own."""
    monkeypatch.setenv("DCCTL_STATE_DIR", str(tmp_path / "state"))
    # Below pytest's own folder the path of a socket would be too long, as soon as its number has two digits.
    with tempfile.TemporaryDirectory(prefix="dcctl-test-") as short:
        monkeypatch.setattr("tempfile.tempdir", short)
        yield tmp_path / "state"
