"""What a simulation says about itself on disk: its state, and the history of its faults."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from orchestrator.adapters.files import write_whole
from orchestrator.adapters.processes import ProcessId
from orchestrator.errors import SimulationError

_FORMAT_VERSION = 1

DEFAULT_BACKEND = "process"

Stage = Literal["starting", "running", "stopping"]


@dataclass(frozen=True, slots=True)
class SimulationState:
    """State of one simulation.

    `owner` is the process of dcctl without which it has no reason to live: the one that brings it up, then
    the drill it belongs to; None for one that was brought up to stay. `ports` are those of its servers as the
    operator sees them, by what they are for.
    """

    name: str
    stage: Stage
    created_at_s: float
    owner: ProcessId | None
    ports: Mapping[str, int]
    backend: str = DEFAULT_BACKEND

    @property
    def is_abandoned(self) -> bool:
        """Whether the process it belonged to is gone."""
        return self.owner is not None and not self.owner.is_alive


def write_state(file: Path, state: SimulationState) -> None:
    """Replace the state on disk in one step."""
    data = {"format_version": _FORMAT_VERSION, **dataclasses.asdict(state)}
    write_whole(file, json.dumps(data, indent=2) + "\n")


def read_state(file: Path) -> SimulationState:
    """The state on disk. Raises `SimulationError` where there is none that can be read."""
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
        return SimulationState(
            name=data["name"],
            stage=data["stage"],
            created_at_s=data["created_at_s"],
            owner=ProcessId(*data["owner"]) if data["owner"] else None,
            ports=data["ports"],
            # A simulation that an earlier version brought up had but one.
            backend=data.get("backend", DEFAULT_BACKEND),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SimulationError(
            str(file), f"is no simulation's state: {error}", "`dcctl sim down NAME` removes the rest"
        ) from None


def between(here: str, there: str) -> str:
    """The target of what is done to the way from one place to another."""
    return f"{here} -> {there}"


class History:
    """Every fault of a simulation, in order, with its times and whether it was seen to take effect."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def record(
        self, kind: str, target: str, *, started_at_s: float, verified: bool, detail: str = ""
    ) -> None:
        """Add what has just ended. `started_at_s` is Unix time, taken before the first signal was sent."""
        entry = {
            "kind": kind,
            "target": target,
            "started_at_s": started_at_s,
            "ended_at_s": time.time(),
            "verified": verified,
            "detail": detail,
        }
        with self._file.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(entry) + "\n")

    def entries(self) -> list[dict[str, Any]]:
        """All entries, oldest first."""
        try:
            lines = self._file.read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return []
        return [json.loads(line) for line in lines]
