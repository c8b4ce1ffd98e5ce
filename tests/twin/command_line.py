"""The command line on an estate in memory: the product's own commands, with other servers behind them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from orchestrator.runs.live import history
from orchestrator.topology.loading import dump_topology
from orchestrator.verbs.live import (
    failback_procedure,
    failover_procedure,
    fence_procedure,
    runs,
    switchover_procedure,
)
from tests.twin.estate import TwinEstate

Sets = Callable[[Any, str, object], None]
_COMMANDS = (
    (failover_procedure, ("run_failover", "preview_failover")),
    (failback_procedure, ("run_failback", "preview_failback")),
    (switchover_procedure, ("run_switchover", "preview_switchover")),
    (fence_procedure, ("run_fence", "preview_fence")),
    (runs, ("resume_run", "abort_run")),
)


def lead_to(estate: TwinEstate, folder: Path, sets: Sets = setattr) -> str:
    """From now on commands act on the estate; returns its topology file. `sets`: as a monkeypatch does."""
    for module, names in _COMMANDS:
        for name in names:
            sets(module, name, partial(getattr(module, name), servers=estate.servers))
    sets(history, "coordination_connection", lambda _: estate.ensemble)
    file = folder / "estate.yaml"
    file.write_text(yaml.safe_dump(dump_topology(estate.topology), sort_keys=False), encoding="utf-8")
    return str(file)
