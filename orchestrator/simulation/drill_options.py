"""How to rehearse, who is told of it, and what is left of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from orchestrator.errors import DcctlError
from orchestrator.simulation.cases import DrillVerb
from orchestrator.simulation.sabotage import NONE, Sabotage
from orchestrator.simulation.state import DEFAULT_BACKEND
from orchestrator.simulation.workload.scenario import DEFAULT, Scenario


class Teller(Protocol):
    """Who is told how far the drill is."""

    def stage(self, name: str, detail: str = "") -> None:
        """A stage begins, or the running one got further."""

    def note(self, text: str) -> None:
        """A line that stays."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DrillOptions:
    """How to rehearse. `out` is the folder under which each drill leaves one of its own.

    `verb`: the loss of the source and a failover; a planned move while everything is well; or a failover and
    the way back, `cycles` times (`return_drill`); or a loss and a return without any move (`active_drill`).
    `leaves`: the cluster that is left or lost, where the file has several. `backend`: what runs the servers.
    `case`: the name of what is rehearsed (`cases`). Of one cluster over several sites `leaves` is a site,
    which is lost or left, and returns (`stretched_drill`); with `waits` nobody gives a word for topics to go
    on, with `powers_off` the servers of a site that is left are stopped.
    """

    out: Path
    case: str = ""
    verb: DrillVerb = "failover"
    leaves: str = ""
    waits: bool = False
    powers_off: bool = False
    backend: str = DEFAULT_BACKEND
    cycles: int = 1
    scenario: Scenario = DEFAULT
    sabotage: Sabotage = NONE
    accept_loss: int | None = None
    keep: bool = False
    master: str = "local[*]"
    owner_pid: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DrillOutcome:
    """What is left of a drill: its folder, the report, and what stopped it on the way, if anything did."""

    folder: Path
    report: dict[str, Any]
    error: DcctlError | None = None
