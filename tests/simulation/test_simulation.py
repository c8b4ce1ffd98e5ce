"""Real servers: a simulation comes up, mirrors, loses a site, gets it back, and leaves nothing."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer

from orchestrator.adapters.connect import ConnectCluster
from orchestrator.adapters.kafka import produce_records
from orchestrator.adapters.ports import PortRegister, is_listening
from orchestrator.adapters.processes import processes_with
from orchestrator.errors import ClusterError, SimulationError
from orchestrator.ports.program import Program
from orchestrator.simulation import start
from orchestrator.simulation.bring_up import simulation_up
from orchestrator.simulation.clients import ClusterClient
from orchestrator.simulation.crew import Crew
from orchestrator.simulation.processes.hosts import SIMULATION_VARIABLE
from orchestrator.simulation.running import Simulation, open_simulation, simulation_names
from orchestrator.topology.model import Topology

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]


@pytest.fixture
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A state folder of its own; ports come from the register that all simulations of this user share."""
    monkeypatch.setenv("DCCTL_STATE_DIR", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture
def simulation(topology: Topology, own_state: Path) -> Iterator[Simulation]:
    """The example topology, up."""
    up = simulation_up(topology, watch=False)
    yield up
    up.down()


def test_a_site_is_lost_and_comes_back(simulation: Simulation) -> None:
    """The whole life of a simulation; one start for all of it, because starts take their time."""
    assert open_simulation().name == simulation.name
    statuses = ConnectCluster("east", simulation.topology.clusters["east"].connect).connectors()
    assert {status.state for status in statuses.values()} == {"RUNNING"}

    checkout = simulation.client_properties("west", "User:checkout")
    produce_records("west", checkout, "orders", [(b"k%d" % n, b"v") for n in range(100)], timeout_s=30)
    assert _eventually(lambda: _records(simulation, "east", "west.orders") == 100)
    _assert_only_granted_rights(simulation)

    _lose_west(simulation)

    simulation.sites["west"].restart()
    simulation.await_site("west", lambda _stage, _detail: None)
    assert _records(simulation, "west", "orders") == 100
    faults = [(entry["kind"], entry["verified"]) for entry in simulation.history.entries()]
    assert faults == [("up", True), ("pause", True), ("resume", True), ("kill", True), ("restart", True)]

    simulation.down()
    assert processes_with({SIMULATION_VARIABLE: str(simulation.folder)}) == []
    assert not simulation.folder.exists()
    assert str(simulation.folder) not in PortRegister()._claims()
    assert simulation_names() == []


def _eventually(is_true: Callable[[], bool], timeout_s: float = 60.0) -> bool:
    deadline = time.monotonic() + timeout_s
    while not is_true():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


def _records(simulation: Simulation, cluster: str, topic: str) -> int:
    kafka = simulation.cluster(cluster)
    return sum(kafka.end_offsets(kafka.topics([topic])[topic].partitions).values())


def _assert_only_granted_rights(simulation: Simulation) -> None:
    """Each principal may do its own work and nothing else."""
    billing = simulation.client_properties("east", "billing")
    consumer = Consumer({**billing, "group.id": "billing", "auto.offset.reset": "earliest"})
    consumer.subscribe(["west.orders"])
    messages = consumer.consume(100, timeout=30)
    consumer.close()
    assert [message.error() for message in messages] == [None] * 100
    checkout = simulation.client_properties("east", "checkout")
    with pytest.raises(ClusterError, match="TOPIC_AUTHORIZATION_FAILED"):
        produce_records("east", checkout, "west.orders", [(b"k", b"v")])


def _lose_west(simulation: Simulation) -> None:
    """A pause, then the loss; east goes on and takes writes."""
    west, east = simulation.sites["west"], simulation.sites["east"]
    west.pause()
    assert west.state == "paused"
    west.resume()
    assert west.state == "up"
    west.add_programs([Program("client", ("/bin/sleep", "600"))])
    west.start(["client"])
    processes = west.processes()
    # The supervisor, three brokers, each behind its guard, and the client.
    assert len(processes) == 8

    west.kill()
    assert west.state == "killed"
    assert not any(process.is_alive for process in processes)
    assert not west.folder.exists()
    assert not any(is_listening(port) for name, port in simulation.state.ports.items() if "west/" in name)
    with pytest.raises(SimulationError, match="site west: is killed"):
        west.start(["client"])
    assert set(east.states().values()) == {"RUNNING"}
    checkout = simulation.client_properties("east", "checkout")
    produce_records("east", checkout, "orders", [(b"k", b"v")], timeout_s=30)


def test_two_side_by_side_of_which_one_fails(
    topology: Topology, own_state: Path, simulation: Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second has a name and ports of its own; when it fails nothing of it is left, and the first goes on."""
    seen: list[tuple[Path, list[int], int]] = []

    def fail(_crew: Crew, _name: str, _cluster: ClusterClient, *_further: object) -> None:
        (folder,) = [path for path in (own_state / "simulations").iterdir() if path != simulation.folder]
        ports = json.loads((folder / "simulation.json").read_text())["ports"]
        running = processes_with({SIMULATION_VARIABLE: str(folder)})
        seen.append((folder, list(ports.values()), len(running)))
        raise SimulationError("west", "went wrong")

    monkeypatch.setattr(start, "await_brokers", fail)
    with pytest.raises(SimulationError, match="west: went wrong"):
        simulation_up(topology, watch=False)
    folder, ports, processes = seen[0]
    assert folder.name == "payments-2"
    assert processes >= 3
    assert not set(ports) & set(simulation.state.ports.values())
    assert simulation_names() == ["payments"]
    assert processes_with({SIMULATION_VARIABLE: str(folder)}) == []
    assert len(simulation.cluster("east").brokers()) == 3
