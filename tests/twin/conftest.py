"""Estates in memory, each with folders of its own."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from orchestrator.topology.loading import load_topology
from orchestrator.topology.model import Topology
from tests.twin.estate import TwinEstate
from tests.twin.operator import Operator

ROOT = Path(__file__).parents[2]
_AT_WORK_S = 30.0


class Estates:
    """Makes them."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._numbers = folder, count()

    def at_work(
        self, topology: Topology | Path | str, *, change: Callable[[Topology], Topology] = lambda file: file
    ) -> Operator:
        """An estate after half a minute of normal work; a text names a file of the repository."""
        file = topology if isinstance(topology, Topology) else load_topology(ROOT / topology)
        estate = TwinEstate(change(file), self._folder / str(next(self._numbers)))
        estate.live(_AT_WORK_S)
        return Operator(estate)


@pytest.fixture
def estates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Estates:
    """Runs keep their evidence below the test's own folder."""
    monkeypatch.setenv("DCCTL_STATE_DIR", str(tmp_path / "state"))
    return Estates(tmp_path)
