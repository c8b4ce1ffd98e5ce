"""What is told of a simulation that did not come up, and what is kept of it: its logs."""

from __future__ import annotations

import errno
import shutil
from pathlib import Path

from orchestrator.errors import DcctlError, SimulationError
from orchestrator.simulation.folders import failures_folder


def failure(error: DcctlError | OSError, folder: Path, logs: Path | None) -> DcctlError:
    """The error to raise once the simulation in `folder` has been removed.

    `logs` is where its logs are now, if it had any.
    """
    if isinstance(error, OSError):
        return _disk_error(folder, error)
    hint = error.hint
    if logs is None:
        return error
    if str(folder) in hint:
        hint = hint.replace(str(folder), str(logs))
    else:
        hint = f"{hint}; logs: {logs}" if hint else f"logs: {logs}"
    return SimulationError(error.subject, error.problem, hint)


def rescued_logs(folder: Path) -> Path | None:
    """Copy all logs out of a simulation's folder, in place of those of an earlier failure of that name.

    None where there are none, or they cannot be copied.
    """
    kept = failures_folder() / folder.name
    shutil.rmtree(kept, ignore_errors=True)
    try:
        for log in (*folder.rglob("*.log"), *folder.rglob("*.out")):
            inside = log.relative_to(folder)
            if "data" not in inside.parts:
                (kept / inside).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(log, kept / inside)
    except OSError:
        return None
    return kept if kept.exists() else None


def _disk_error(folder: Path, error: OSError) -> SimulationError:
    if error.errno == errno.ENOSPC:
        return SimulationError(
            str(folder), "the disk is full", "free some, or set DCCTL_STATE_DIR to a folder on another disk"
        )
    return SimulationError(str(folder), f"cannot be written: {error}", "check its rights, or DCCTL_STATE_DIR")
