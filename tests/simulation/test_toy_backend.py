"""A back end that dcctl does not know: a toy brings up a cluster by the code path of the real one."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from orchestrator.adapters.processes import ProcessId
from orchestrator.cli.main import run
from orchestrator.errors import ClusterError, SimulationError, UsageError
from orchestrator.simulation.addresses import OPERATOR
from orchestrator.simulation.backend import backend_named
from orchestrator.simulation.bring_up import simulation_up
from orchestrator.simulation.estate import COORDINATION
from orchestrator.simulation.folders import Folders
from orchestrator.simulation.running import Simulation, open_simulation, simulation_names
from orchestrator.simulation.state import read_state, write_state
from orchestrator.simulation.teardown import (
    abandoned,
    downed_simulations,
    remove_abandoned,
    simulations_to_end,
)
from orchestrator.topology.loading import dump_topology, load_topology
from orchestrator.topology.model import Nodes, Topology
from tests.simulation.layouts import stretched
from tests.simulation.toy_backend import TOY, ToyBackend

_USAGE = 2


@pytest.fixture
def toy(tmp_path: Path, state_root: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ToyBackend]:
    """The toy, installed as a package of a user's own would be."""
    folder = tmp_path / "packages" / "toys-1.0.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: toys\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text("[dcctl.backends]\ntoy = tests.simulation.toy_backend:TOY\n")
    monkeypatch.syspath_prepend(str(folder.parent))
    monkeypatch.setitem(sys.modules, "tests.simulation.toy_backend", sys.modules[ToyBackend.__module__])
    for known in (TOY.running, TOY.made, TOY.applied, TOY.refusals):
        known.clear()
    yield TOY
    TOY.running.clear()


@pytest.fixture
def one_cluster() -> Topology:
    """Three data centres, each with two brokers and a controller."""
    rows = (Nodes(dc=dc, brokers=2, controllers=1) for dc in ("dc1", "dc2", "dc3"))
    return replace(stretched(*rows), layout="stretched-3dc")


@pytest.fixture
def simulation(toy: ToyBackend, one_cluster: Topology) -> Simulation:
    """The cluster, up."""
    return simulation_up(one_cluster, backend="toy")


def test_a_cluster_comes_up(simulation: Simulation, toy: ToyBackend) -> None:
    """Every server runs, the file is applied, and what was brought up can be opened by its name."""
    assert {name: host.state for name, host in simulation.machines.hosts.items()} == dict.fromkeys(
        (COORDINATION, "dc1", "dc2", "dc3"), "up"
    )
    assert simulation.sites["dc2"].states() == {
        "broker-3": "RUNNING",
        "broker-4": "RUNNING",
        "controller-102": "RUNNING",
        "watch": "RUNNING",
    }
    assert [topology.name for topology in toy.applied] == ["stretched"]
    assert toy.made == ["__consumer_offsets"]
    opened = open_simulation()
    assert opened.backend.name == "toy"
    assert opened.machines is simulation.machines
    assert (
        opened.state.ports["coordination/zookeeper"]
        == opened.address(opened.estate.coordination, "client").port
    )


def test_a_controller_that_has_not_heard_of_the_brokers_yet_is_asked_again(
    toy: ToyBackend, one_cluster: Topology
) -> None:
    """One in ZooKeeper mode knew 0 of 4 brokers where another broker knew them all."""
    problem = "creating topics: Replication factor: 4 larger than available brokers: 0."
    toy.refusals += [ClusterError("cluster main", problem, code="INVALID_REPLICATION_FACTOR")] * 2
    simulation_up(one_cluster, backend="toy")
    assert toy.refusals == []
    assert toy.made == ["__consumer_offsets"]


def test_what_a_new_cluster_refuses_otherwise_ends_its_start(toy: ToyBackend, one_cluster: Topology) -> None:
    """With the broker's own words."""
    toy.refusals.append(ClusterError("cluster main", "creating topics: no", code="POLICY_VIOLATION"))
    with pytest.raises(ClusterError, match="creating topics: no"):
        simulation_up(one_cluster, backend="toy")


def test_the_file_has_the_addresses_as_the_operator_sees_them(simulation: Simulation) -> None:
    """Brokers have a listener for each way to see them; a data centre's programs get a file of their own."""
    assert load_topology(simulation.topology_path) == simulation.topology
    (main,) = simulation.topology.clusters.values()
    assert {address.partition(":")[0] for address in main.bootstrap} == {"toy.outside"}
    host = simulation.sites["dc1"]
    properties = host.files.read("broker-1/server.properties").decode()
    assert "listeners=CLIENT://0.0.0.0:9000,OPERATOR://0.0.0.0:9001\n" in properties
    seen = simulation.address(simulation.estate.brokers_of("main")[0], "client")
    assert f"advertised.listeners=CLIENT://broker-1.dc1:9000,OPERATOR://{seen}\n" in properties
    assert "controller.quorum.voters=101@controller-101.dc1:9000," in properties
    inside = load_topology(simulation.topology_at("dc1"))
    assert inside.clusters["main"].bootstrap[0] == "broker-1.dc1:9000"
    login = simulation.client_properties("main", "operator", "dc1")
    assert login["bootstrap.servers"] == ",".join(inside.clusters["main"].bootstrap)


def test_a_pair_comes_up_with_its_worker_its_watcher_and_its_guards(
    toy: ToyBackend, topology: Topology
) -> None:
    """What runs in a data centre knows servers as they are seen there; dcctl reaches the same from outside."""
    simulation = simulation_up(topology, backend="toy")
    east, west = toy.running[simulation.folder].hosts["east"], toy.running[simulation.folder].hosts["west"]
    assert {east.servers[name].state for name in ("broker-1", "connect-1", "watch")} == {"RUNNING"}
    worker = east.files.read("connect-1/connect.properties").decode()
    assert "bootstrap.servers=broker-1.east:9000,broker-2.east:9000" in worker
    assert "rest.advertised.host.name=connect-1.east\n" in worker
    assert simulation.topology.clusters["east"].connect[0].startswith("http://toy.outside:")
    watcher, broker = east.servers["watch"].program, west.servers["broker-1"].program
    assert str(east.files.place("topology.yaml")) in watcher.command
    assert broker.guard[:2] == ("--file", str(west.files.place("topology.yaml")))


def test_servers_stop_and_a_lost_host_takes_its_files_along(simulation: Simulation, toy: ToyBackend) -> None:
    """What a client sees follows; each fault stands in the history; the host comes back with its disks."""
    asked = toy.cluster(simulation.topology, "main")
    host = simulation.site("dc1")
    host.stop(["broker-1"])
    assert asked.brokers() == {2, 3, 4, 5, 6}
    host.kill(["broker-2"])
    assert asked.brokers() == {3, 4, 5, 6}
    host.kill()
    assert host.state == "killed"
    assert not host.files.can_be_reached
    with pytest.raises(SimulationError, match="cannot be reached"):
        host.files.read("broker-1/server.properties")
    host.restart()
    assert simulation.await_site("dc1", lambda _stage, _detail: None) == {}
    assert host.files.list("broker-1") == ("broker-1/closed.properties", "broker-1/server.properties")
    told = [(entry["kind"], entry["target"]) for entry in simulation.history.entries()]
    assert told == [("up", "stretched"), ("kill", "dc1/broker-2"), ("kill", "dc1"), ("restart", "dc1")]


def test_a_rack_is_its_servers(toy: ToyBackend, capsys: pytest.CaptureFixture[str]) -> None:
    """Killed, paused and started together; each server's fault stands in the history."""
    topology = load_topology(Path(__file__).parents[1] / "topology" / "racks.yaml")
    simulation = simulation_up(topology, backend="toy")
    properties = simulation.site("north").files.read("broker-3/server.properties").decode()
    assert "broker.rack=rack-b\n" in properties
    asked = toy.cluster(simulation.topology, "main")
    assert run(["sim", "kill", "north/rack-b", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["rack"], told["servers"]) == ("rack-b", ["broker-3", "broker-4"])
    assert told["fault"]["target"] == "north/broker-4"
    assert asked.brokers() == {1, 2, 5, 6}
    assert run(["sim", "restart", "north/rack-b"]) == 0
    assert asked.brokers() == {1, 2, 3, 4, 5, 6}
    assert run(["sim", "kill", "north/rack-d"]) == 1
    assert "north has: broker-1, broker-2" in " ".join(capsys.readouterr().err.split())


def test_a_partition_is_healed_where_the_back_end_can_part(simulation: Simulation) -> None:
    """Between places that there are: data centres, the coordination, and where dcctl runs."""
    simulation.partition("dc1", OPERATOR, one_way=True)
    assert simulation.machines.parted == {("dc1", OPERATOR)}
    simulation.heal("dc1", OPERATOR)
    assert simulation.machines.parted == set()
    with pytest.raises(SimulationError, match="its places: coordination, dc1, dc2, dc3, operator"):
        simulation.partition("dc1", "dc9")


def test_commands_work_on_it(
    toy: ToyBackend, one_cluster: Topology, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Up, a fault that it cannot, one that it can, and down: nothing is left."""
    file = tmp_path / "one.yaml"
    file.write_text(yaml.safe_dump(dump_topology(one_cluster)))
    assert run(["sim", "up", str(file), "--backend", "toy", "--json"]) == 0
    up = json.loads(capsys.readouterr().out)
    assert up["backend"] == "toy"
    assert run(["sim", "pause", "dc1"]) == _USAGE
    assert "back end toy: cannot pause" in capsys.readouterr().err
    assert simulation_names() == ["stretched"]
    assert toy.running[Path(up["folder"])].hosts["dc1"].state == "up"
    assert run(["sim", "kill", "dc1/broker-9"]) == 1
    assert "dc1 has: broker-1, broker-2, controller-101" in capsys.readouterr().err
    servers = toy.running[Path(up["folder"])].hosts["dc1"].servers
    assert run(["sim", "kill", "dc1/broker-1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["fault"]["target"] == "dc1/broker-1"
    assert (servers["broker-1"].state, servers["broker-2"].state) == ("EXITED", "RUNNING")
    assert run(["sim", "restart", "dc1/broker-1"]) == 0
    assert servers["broker-1"].state == "RUNNING"
    capsys.readouterr()
    assert run(["sim", "kill", "dc1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["state"] == "killed"
    assert run(["sim", "partition", "dc2", "dc3", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["fault"]["kind"] == "partition"
    assert run(["sim", "heal", "dc2", "dc3", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["fault"]["kind"] == "heal"
    assert run(["sim", "resume", "dc3", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["fault"]["kind"] == "resume"
    assert run(["sim", "down"]) == 0
    assert simulation_names() == []
    assert not toy.running


def test_a_drill_refuses_what_its_back_end_cannot_before_anything_is_done(
    toy: ToyBackend, topology: Topology, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its fault stalls the mirror first, and the toy pauses nothing."""
    file = tmp_path / "pair.yaml"
    file.write_text(yaml.safe_dump(dump_topology(topology)))
    out = tmp_path / "drills"
    assert run(["drill", str(file), "--backend", "toy", "--out", str(out)]) == _USAGE
    assert "back end toy: cannot pause" in capsys.readouterr().err
    assert not out.exists()
    assert not toy.running


def test_an_unknown_back_end_is_told_with_those_that_there_are(
    toy: ToyBackend, one_cluster: Topology
) -> None:
    """Before anything is made."""
    with pytest.raises(UsageError, match="there are: process, toy"):
        simulation_up(one_cluster, backend="docker")
    assert simulation_names() == []


def test_what_an_uninstalled_back_end_left_is_named_and_stays(
    toy: ToyBackend, one_cluster: Topology, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It holds up no other simulation; only its own end needs the package again."""
    simulation_up(one_cluster, backend="toy")
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if not entry.endswith("packages")])
    assert remove_abandoned(lambda _stage, _detail: None) == []
    with pytest.raises(SimulationError, match="cannot be ended here: its back end toy is not installed"):
        simulations_to_end("stretched")
    endings = simulations_to_end(None, every=True)
    assert (endings.folders, [folder.name for folder in endings.unusable]) == ((), ["stretched"])
    assert simulation_names() == ["stretched"]
    downed_simulations(simulations_to_end("stretched", force=True), force=True)
    assert simulation_names() == []


def test_what_a_killed_drill_left_of_an_uninstalled_back_end_holds_up_nobody(
    toy: ToyBackend, one_cluster: Topology, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its owner is gone: whoever cleans up next passes it over."""
    ended = subprocess.Popen(["true"])
    ended.wait()
    simulation = simulation_up(one_cluster, backend="toy")
    state = read_state(Folders(simulation.folder).state)
    write_state(Folders(simulation.folder).state, replace(state, owner=ProcessId(ended.pid, 1.0)))
    assert abandoned() == [simulation.folder]
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if not entry.endswith("packages")])
    assert abandoned() == []
    assert remove_abandoned(lambda _stage, _detail: None) == []
    assert simulation_names() == ["stretched"]


def test_a_back_end_whose_package_is_broken_holds_up_no_other(
    toy: ToyBackend, one_cluster: Topology, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it has left stays; it is told of where it is asked for."""
    simulation_up(one_cluster, backend="toy")
    monkeypatch.setattr("tests.simulation.toy_backend.TOY", None)
    assert remove_abandoned(lambda _stage, _detail: None) == []
    with pytest.raises(SimulationError, match=r"package .* is wrong: .*TOY is no Backend"):
        simulations_to_end("stretched")
    assert simulation_names() == ["stretched"]


def test_processes_cannot_be_parted() -> None:
    """They share one loopback."""
    assert backend_named("process").faults == {"kill", "pause"}
