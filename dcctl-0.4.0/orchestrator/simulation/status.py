"""What of the simulations runs, as plain data for people and programs."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from orchestrator.errors import ClusterError, DcctlError, SimulationError
from orchestrator.simulation.folders import Folders, simulations_folder
from orchestrator.simulation.running import Simulation, simulation_names
from orchestrator.simulation.state import read_state
from orchestrator.topology.loading import load_topology

_ASK_TIMEOUT_S = 2.0


def simulation_statuses(name: str | None = None) -> list[dict[str, Any]]:
    """State of every simulation, or of the one called `name` (`SimulationError` if there is none)."""
    names = simulation_names()
    if name is not None and name not in names:
        raise SimulationError(
            f"simulation {name}", "there is none of this name", f"running are: {', '.join(names) or 'none'}"
        )
    return [_status(one) for one in ([name] if name is not None else names)]


def _status(name: str) -> dict[str, Any]:
    folder = simulations_folder() / name
    found: dict[str, Any] = {
        "simulation": name,
        "backend": "",
        "stage": "broken",
        "folder": str(folder),
        "topology": str(Folders(folder).topology),
        "ports": {},
        "coordination": {"state": "down", "programs": {}},
        "sites": {},
        "clusters": {},
        "history": [],
    }
    try:
        state = read_state(Folders(folder).state)
        found |= {
            "backend": state.backend,
            "stage": "abandoned" if state.is_abandoned else state.stage,
            "ports": dict(state.ports),
        }
        simulation = Simulation(folder, load_topology(Folders(folder).topology))
    except DcctlError:
        return found
    return found | {
        "coordination": _coordination(simulation),
        "sites": {
            dc: {"state": site.state, "programs": dict(site.states())}
            for dc, site in simulation.sites.items()
        },
        "clusters": _clusters(simulation),
        "history": simulation.history.entries(),
    }


def _coordination(simulation: Simulation) -> dict[str, Any]:
    try:
        states = dict(simulation.coordination.states())
    except SimulationError:
        states = {}
    return {"state": "up" if states else "down", "programs": states}


def _clusters(simulation: Simulation) -> dict[str, Any]:
    names = list(simulation.topology.clusters)
    with ThreadPoolExecutor(max_workers=max(1, len(names))) as pool:
        return dict(zip(names, pool.map(lambda name: _cluster(simulation, name), names), strict=True))


def _cluster(simulation: Simulation, name: str) -> dict[str, Any]:
    cluster = simulation.topology.clusters[name]
    brokers = 0
    clients, nodes = simulation.backend.clients, simulation.estate.brokers_of(name)
    if any(clients.is_listening(simulation.address(node, "client")) for node in nodes):
        try:
            brokers = len(simulation.cluster(name).brokers(timeout_s=_ASK_TIMEOUT_S))
        except ClusterError:
            brokers = 0
    return {
        "reachable": brokers > 0,
        "brokers": brokers,
        "expected": sum(row.brokers for row in cluster.nodes),
        "bootstrap": list(cluster.bootstrap),
    }
