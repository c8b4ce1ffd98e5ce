"""Brings a simulation up: everything side by side, told step by step, and undone if it fails."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from pathlib import Path

from orchestrator.adapters.processes import own_process_id, process_id
from orchestrator.errors import DcctlError, SimulationError
from orchestrator.simulation.addresses import OPERATOR, ports_seen
from orchestrator.simulation.backend import backend_named
from orchestrator.simulation.completion import topology_completed
from orchestrator.simulation.credentials import create_secrets, logins, users
from orchestrator.simulation.crew import OnProgress
from orchestrator.simulation.failures import failure, rescued_logs
from orchestrator.simulation.folders import Folders, simulations_folder
from orchestrator.simulation.installation import Installer
from orchestrator.simulation.limits import refuse_unsupported
from orchestrator.simulation.running import Simulation
from orchestrator.simulation.start import Start, start_watchers
from orchestrator.simulation.state import DEFAULT_BACKEND, SimulationState, write_state
from orchestrator.simulation.teardown import remove_abandoned, simulations_locked, take_down, undisturbed
from orchestrator.simulation.tls import Issuer
from orchestrator.topology.model import Topology

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def _silent(_stage: str, _detail: str) -> None:
    """Tell nobody."""


def simulation_up(
    topology: Topology,
    *,
    name: str | None = None,
    backend: str = DEFAULT_BACKEND,
    on_progress: OnProgress = _silent,
    owner_pid: int | None = None,
    watch: bool = True,
) -> Simulation:
    """Bring up every server of a topology, and the mirrors between its clusters.

    `name` must be free; without one, the topology's name is taken, with a number if need be. `backend`: the
    name of what runs the servers. `on_progress` is called with a stage and a detail, by this thread. A
    simulation lives until it is taken down; with `owner_pid` it also goes when that process is gone (at the
    next `sim up`). `watch` also starts watchers: at each mirror's target, or at the sites of the one cluster.

    The clusters are filled by the product's own apply. Returns when all connectors run. Whatever goes wrong,
    Ctrl-C included: nothing is left but the logs of what failed. Raises `SimulationError`, `JavaError`,
    `DownloadError`, `GateRefusedError`, and `UsageError` for an unknown `backend`.
    """
    backend_named(backend)
    refuse_unsupported(topology)
    _refuse_name(name)
    names = users(topology)
    remove_abandoned(on_progress)
    folder = _new_folder(name, topology.name, backend)
    try:
        simulation = _up(
            folder,
            topology,
            names=names,
            on_progress=on_progress,
            watch=watch,
        )
        owner = process_id(owner_pid) if owner_pid is not None else None
        write_state(Folders(folder).state, replace(simulation.state, stage="running", owner=owner))
    except BaseException as error:
        with undisturbed():
            logs = rescued_logs(folder) if isinstance(error, DcctlError) else None
            take_down(folder)
        if isinstance(error, DcctlError | OSError):
            raise failure(error, folder, logs) from None
        raise
    return simulation


def _up(
    folder: Path,
    topology: Topology,
    *,
    names: tuple[str, ...],
    on_progress: OnProgress,
    watch: bool,
) -> Simulation:
    on_progress("prepare", f"configuration in {folder}")
    folders = Folders(folder)
    folders.create()
    planned = Simulation(folder, topology)
    estate, machines = planned.estate, planned.machines
    machines.prepare(estate, on_progress)
    write_state(folders.state, replace(planned.state, ports=ports_seen(estate, machines)))
    simulation = Simulation(
        folder, topology_completed(topology, estate, machines, folders, seen_from=OPERATOR)
    )
    installer = Installer(
        simulation,
        create_secrets(folders.secrets, names),
        issuer=Issuer(folders) if topology.is_encrypted else None,
        logins=create_secrets(folders.logins, logins(topology)),
    )
    installer.write_all()
    on_progress(
        "servers",
        f"{len(estate.nodes)} Kafka nodes, {len(estate.workers)} Connect workers, "
        f"{len(estate.zookeepers) + 1} ZooKeepers",
    )
    started_at_s = time.time()
    # The ensemble comes first: the guards of brokers ask it before they let anybody in.
    simulation.machines.switch_on()
    Start(simulation, installer, on_progress).run()
    if watch:
        start_watchers(simulation, on_progress)
    simulation.history.record("up", simulation.name, started_at_s=started_at_s, verified=True)
    return simulation


def _refuse_name(name: str | None) -> None:
    if name is not None and not _NAME.fullmatch(name):
        raise SimulationError(
            f"simulation {name}", "a name has letters, digits, `.`, `_` and `-`", "choose another name"
        )


def _new_folder(name: str | None, topology_name: str, backend: str) -> Path:
    with simulations_locked():
        parent = simulations_folder()
        parent.mkdir(parents=True, exist_ok=True)
        folder = parent / (name or topology_name)
        number = 1
        while folder.exists():
            if name is not None:
                raise SimulationError(
                    f"simulation {name}", "is there already", f"`dcctl sim down {name}` removes it"
                )
            number += 1
            folder = parent / f"{topology_name}-{number}"
        folder.mkdir()
        state = SimulationState(
            folder.name,
            "starting",
            created_at_s=time.time(),
            owner=own_process_id(),
            ports={},
            backend=backend,
        )
        write_state(Folders(folder).state, state)
        return folder
