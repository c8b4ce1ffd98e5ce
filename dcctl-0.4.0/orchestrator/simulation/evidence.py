"""The folder that a drill leaves: report, plan, journal, ledgers and logs."""

from __future__ import annotations

import contextlib
import os
import shutil
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from orchestrator.errors import SimulationError


@dataclass(frozen=True, slots=True)
class Evidence:
    """One drill's folder."""

    folder: Path

    @classmethod
    def begin(cls, parent: Path, topology: str, now_s: float) -> Evidence:
        """A new folder `<topology>-<UTC time>` under `parent`; two drills in one second get two folders."""
        stamp = datetime.fromtimestamp(now_s, UTC).strftime("%Y%m%d-%H%M%S")
        for attempt in range(100):
            folder = parent / (f"{topology}-{stamp}" + (f"-{attempt}" if attempt else ""))
            try:
                folder.mkdir(parents=True)
            except FileExistsError:
                continue
            except OSError as error:
                problem = f"cannot be made: {error.strerror}"
                raise SimulationError(str(folder), problem, "name another place with --out DIR") from None
            return cls(folder.resolve())
        raise SimulationError(str(parent), "a hundred drills began in this second", "wait a second")

    def take_ledgers(self, ledgers: Path) -> Path:
        """Move the ledgers here: a rename where possible, since they may be large. Returns the new place."""
        destination = self.folder / "ledgers"
        shutil.move(str(ledgers), destination)
        return destination

    def copy_logs(self, simulation_folder: Path) -> None:
        """Copy every `*.log` of a simulation, a killed site's included, under `logs/` by its own path."""
        for folder, _, names in os.walk(simulation_folder):
            for name in names:
                if name.endswith(".log"):
                    source = Path(folder) / name
                    target = self.folder / "logs" / source.relative_to(simulation_folder)
                    target.parent.mkdir(parents=True, exist_ok=True)
                    with contextlib.suppress(FileNotFoundError):  # a server rotates its logs while we copy
                        shutil.copyfile(source, target)
