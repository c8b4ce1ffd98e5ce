"""Files of a command: the topology that it is about, or that of the simulation that runs, and its output."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from orchestrator.topology.model import Topology


def given_topology(file: Path | None, like: str = "dcctl status my.yaml") -> Topology:
    """Load `file`; without one take the topology of the only running simulation.

    Where there is none, the hint names `like`, a command with a file.
    """
    from orchestrator.cli.output import speak_of
    from orchestrator.topology.loading import load_topology

    if file is not None:
        speak_of(file)
        return load_topology(file)
    from orchestrator.errors import SimulationError
    from orchestrator.simulation.running import open_simulation

    try:
        topology = open_simulation().topology
    except SimulationError as error:
        hint = f"{error.hint}; or name your file: {like}"
        raise SimulationError(error.subject, error.problem, hint) from None
    speak_of(None)
    return topology


def file_of_topology(file: Path | None) -> Path:
    """`file`, or the completed topology file of the only running simulation."""
    if file is not None:
        return file
    from orchestrator.simulation.running import open_simulation

    return open_simulation().topology_path


def refuse_without_folder(path: Path) -> None:
    """Raise `DcctlError` for a file that cannot be written because its folder is missing."""
    if not path.absolute().parent.is_dir():
        from orchestrator.errors import DcctlError

        raise DcctlError(str(path), "cannot be written: there is no such folder")
