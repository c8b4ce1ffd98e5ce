"""A whole apply in memory: clusters, ensemble and folders, through the real procedure."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.estate.observed import ObservedEstate
from orchestrator.runs.live import coordination
from orchestrator.topology.model import Coordination, Topology
from orchestrator.verbs.live import apply_procedure as procedure
from tests.reconcile.estates import empty
from tests.reconcile.memory_estate import memory_clusters, picture_of
from tests.runs.memory_ensemble import MemoryEnsemble


class Rehearsal:
    """An estate that stands as long as the test does. Every command on its topology works on it."""

    def __init__(self, topology: Topology, start: ObservedEstate | None = None) -> None:
        self.topology = replace(topology, coordination=Coordination(zookeeper="127.0.0.1:1"))
        self.clusters = memory_clusters(start or empty(topology), lambda: None)
        self.ensemble = MemoryEnsemble()
        self.looks = 0

    def observe(self) -> ObservedEstate:
        """What a look at the clusters shows."""
        from orchestrator.adapters.clock import SystemClock  # noqa: PLC0415

        self.looks += 1
        return picture_of(self.clusters, SystemClock().now_s())

    def open_estate(self, made: procedure.ReconcileProcedure) -> procedure.ReconcileEstate:
        """In place of the real one."""
        return procedure.ReconcileEstate(made.topology, dict(self.clusters), self.observe, self.ensemble)

    def set_by_hand(self, cluster: str, topic: str, **config: str | None) -> None:
        """Somebody with Kafka's own tools; `_` in a name is a point."""
        changes: dict[str, Any] = {key.replace("_", "."): value for key, value in config.items()}
        self.clusters[cluster].alter_configs("topic", {topic: changes})


def rehearse(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, topology: Topology, start: ObservedEstate | None = None
) -> Rehearsal:
    """Every apply of this test works in memory."""
    rehearsal = Rehearsal(topology, start)
    monkeypatch.setenv("DCCTL_STATE_DIR", str(tmp_path / "state"))

    def open_estate(made: procedure.ReconcileProcedure) -> procedure.ReconcileEstate:
        return rehearsal.open_estate(made)

    monkeypatch.setattr(procedure.ReconcileProcedure, "open_estate", open_estate)
    monkeypatch.setattr(coordination, "Coordination", lambda *_, **__: rehearsal.ensemble)
    return rehearsal
