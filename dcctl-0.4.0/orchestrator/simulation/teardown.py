"""The end of a simulation, however it came about: no process, no port, no file stays."""

from __future__ import annotations

import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from orchestrator.adapters.processes import ProcessId
from orchestrator.errors import DcctlError, SimulationError, UsageError
from orchestrator.runs.live.state_folder import state_folder
from orchestrator.simulation.backend import BACKENDS, Backend, backend_named
from orchestrator.simulation.folders import Folders, simulations_folder
from orchestrator.simulation.state import SimulationState, read_state

_LOCK_TIMEOUT_S = 60.0


def take_down(folder: Path, *, keep_files: bool = False) -> Path | None:
    """End all that runs of the simulation in `folder`, give back its addresses and remove its files.

    Works on what an aborted one left as well. With `keep_files` the folder is moved out of the way
    instead, and its new path returned. Raises `SimulationError` if something would not end or a file
    would not go.
    """
    with undisturbed():
        for backend in _backends_of(folder):
            backend.end(folder)
        kept = _kept(folder) if keep_files else None
        if kept is None:
            _remove(folder)
        return kept


def abandoned() -> list[Path]:
    """Simulations without a reason to live: their owner is gone, or nothing of them runs any more."""
    found = []
    for folder in _folders():
        state = _state(folder)
        if _unusable(folder):
            continue  # its servers cannot be ended here, and nobody else shall wait for that
        if state is None or state.is_abandoned or (state.owner is None and _is_dead(folder)):
            found.append(folder)
    # Somebody may have removed a folder while its servers ran.
    strays = (path for backend in BACKENDS.all().values() for path in backend.strays())
    return [*found, *(path for path in strays if path.parent == simulations_folder() and not path.exists())]


def remove_abandoned(on_progress: Callable[[str, str], None]) -> list[Path]:
    """Take down what aborted simulations left. Returns what was removed."""
    with simulations_locked():
        found = abandoned()
        for folder in found:
            on_progress("clean", f"removing what {folder.name} left")
            take_down(folder)
        return found


@dataclass(frozen=True, slots=True)
class Endings:
    """What a `sim down` ends, and what it leaves: a simulation's folder -> the living dcctl that owns it.

    `unusable`: folder -> why its back end cannot be used here, so that its servers cannot be ended.
    """

    folders: tuple[Path, ...]
    left: Mapping[Path, ProcessId]
    unusable: Mapping[Path, str]


def simulations_to_end(name: str | None, *, every: bool = False, force: bool = False) -> Endings:
    """The simulation of this name, the only one there is, or all and whatever aborted ones left.

    What a living drill owns is never among them, nor what a living `sim up` is bringing up, unless it is
    named and `force` is given. Raises `SimulationError` for an unknown name, where there are several and none
    was named, and for one that is owned; `UsageError` for `force` without a name.
    """
    if force and name is None:
        raise UsageError("--force", "ends what a living drill owns, so it wants its name", "NAME --force")
    folders = _folders()
    if every:
        owned = {folder: owner for folder in folders if (owner := _owner(folder)) is not None}
        unusable = {folder: why for folder in folders if (why := _unusable(folder))}
        ended = dict.fromkeys([*folders, *abandoned()])
        left = {*owned, *unusable}
        return Endings(tuple(folder for folder in ended if folder not in left), owned, unusable)
    names = ", ".join(folder.name for folder in folders) or "none"
    if name is not None:
        folders = [folder for folder in folders if folder.name == name]
        if not folders:
            raise SimulationError(f"simulation {name}", "there is none of this name", f"there are: {names}")
    elif len(folders) > 1:
        raise SimulationError("simulation", f"there are {len(folders)}: {names}", "name one, or use --all")
    for folder in folders:
        if not force:
            _refuse_owned(folder)
            _refuse_unusable(folder)
    return Endings(tuple(folders), {}, {})


def downed_simulations(
    endings: Endings, *, keep_files: bool = False, force: bool = False
) -> dict[Path, Path | None]:
    """Take simulations down: folder -> where its files are kept.

    Who owns each is looked at once more, for a drill may have begun under the same name since. Raises
    `SimulationError`.
    """
    results: dict[Path, Path | None] = {}
    for folder in endings.folders:
        if not force:
            _refuse_owned(folder)
        results[folder] = take_down(folder, keep_files=keep_files)
    return results


def _owner(folder: Path) -> ProcessId | None:
    """The living process of dcctl without which a simulation has no reason to live, if it has one."""
    state = _state(folder)
    owner = None if state is None else state.owner
    return owner if owner is not None and owner.is_alive else None


def _refuse_owned(folder: Path) -> None:
    owner = _owner(folder)
    if owner is not None:
        raise SimulationError(
            f"simulation {folder.name}",
            f"belongs to a drill, or a `sim up`, that is at work: process {owner.pid}",
            "wait for its end, or interrupt it;"
            f" dcctl sim down {folder.name} --force ends the servers under it",
        )


def _refuse_unusable(folder: Path) -> None:
    if why := _unusable(folder):
        raise SimulationError(
            f"simulation {folder.name}",
            f"its servers cannot be ended here: {why}",
            f"install its package again; or dcctl sim down {folder.name} --force removes its files alone",
        )


@contextmanager
def simulations_locked() -> Iterator[None]:
    """Hold the lock on the set of simulations of this user."""
    state_folder().mkdir(parents=True, exist_ok=True)
    lock = FileLock(state_folder() / "simulations.lock", timeout=_LOCK_TIMEOUT_S)
    try:
        lock.acquire()
    except Timeout:
        raise SimulationError(
            str(state_folder()),
            f"another dcctl has held the lock on the simulations for {_LOCK_TIMEOUT_S:g} s",
            "wait for it, or end it",
        ) from None
    try:
        yield
    finally:
        lock.release()


@contextmanager
def undisturbed() -> Iterator[None]:
    """Put off Ctrl-C and SIGTERM until the block is done: half a clean-up is what nobody wants."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    arrived: list[int] = []
    handlers = {
        number: signal.signal(number, lambda received, _frame: arrived.append(received))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    if arrived:
        raise KeyboardInterrupt


def _folders() -> list[Path]:
    folder = simulations_folder()
    return sorted(entry for entry in folder.iterdir() if entry.is_dir()) if folder.exists() else []


def _unusable(folder: Path) -> str:
    """Why the back end of a simulation cannot be used: it is not installed, or broken; empty if it can."""
    state = _state(folder)
    if state is None:
        return ""
    try:
        backend_named(state.backend)
    except UsageError:
        return f"its back end {state.backend} is not installed"
    except DcctlError as error:
        return f"its back end {state.backend} cannot be used ({error.problem})"
    return ""


def _is_dead(folder: Path) -> bool:
    """Whether nothing runs of it."""
    return not any(backend.is_running(folder) for backend in _backends_of(folder))


def _backends_of(folder: Path) -> list[Backend]:
    """The one that has brought it up, if it can be used; any of them where the state cannot be read."""
    state = _state(folder)
    if state is None:
        return list(BACKENDS.all().values())
    return [] if _unusable(folder) else [backend_named(state.backend)]


def _state(folder: Path) -> SimulationState | None:
    try:
        return read_state(Folders(folder).state)
    except SimulationError:
        return None


def _kept(folder: Path) -> Path | None:
    if not folder.exists():
        return None
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    kept = state_folder() / "kept" / f"{folder.name}-{stamp}"
    kept.parent.mkdir(parents=True, exist_ok=True)
    folder.rename(kept)
    return kept


def _remove(folder: Path) -> None:
    for _ in range(3):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
        time.sleep(0.1)
    raise SimulationError(str(folder), "cannot be removed", "check its rights and remove it by hand")
