"""Files of a command: the topology that it is about, or that of the simulation that runs, and its output."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from orchestrator.topology.model import Topology

_LOOKED_AT = 10_000_000
_KEYS = ("version", "clusters")


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
    from orchestrator.simulation.folders import Folders, simulations_folder
    from orchestrator.simulation.running import open_simulation, simulation_names

    try:
        topology = open_simulation().topology
    except SimulationError as error:
        files = [str(Folders(simulations_folder() / name).topology) for name in simulation_names()]
        own = f"that of a simulation: {' or '.join(files)}" if len(files) > 1 else error.hint
        hint = f"name your topology file: {like}; or {own}"
        raise SimulationError(error.subject, error.problem, hint) from None
    speak_of(None)
    return topology


def file_of_topology(file: Path | None) -> Path:
    """`file`, or the completed topology file of the only running simulation."""
    if file is not None:
        return file
    from orchestrator.simulation.running import open_simulation

    return open_simulation().topology_path


def refuse_to_replace_topology(path: Path, *given: Path) -> None:
    """Raise `UsageError` for an output that is one of the `given` files, or any topology file."""
    from orchestrator.errors import UsageError

    hint = "give the output another name"
    try:
        if any(path.samefile(one) for one in given if path.exists() and one.exists()):
            raise UsageError(f"-o {path}", "is the topology file itself, which would be lost", hint)
        if path.is_file() and _is_topology(path):
            raise UsageError(
                f"-o {path}", "is there already, and holds a topology, which would be lost", hint
            )
    except OSError:
        # What cannot be looked at cannot be written either, and says so then.
        return


def _is_topology(path: Path) -> bool:
    """Whether a file has at its top the keys that every topology file has, in YAML or in JSON."""
    with path.open(encoding="utf-8", errors="replace") as file:
        text = file.read(_LOOKED_AT)
    try:
        found = json.loads(text)
    except ValueError:
        return all(re.search(rf"^{key}\s*:", text, re.MULTILINE) for key in _KEYS)
    return isinstance(found, dict) and found.keys() >= set(_KEYS)


def refuse_without_folder(path: Path) -> None:
    """Raise `DcctlError` for a file that cannot be written because its folder is missing."""
    if not path.absolute().parent.is_dir():
        from orchestrator.errors import DcctlError

        raise DcctlError(str(path), "cannot be written: there is no such folder")
