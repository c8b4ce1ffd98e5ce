"""What a secured simulation writes: settings that encrypt, and secrets only where they belong."""

from __future__ import annotations

import stat
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.errors import SimulationError
from orchestrator.simulation import limits, servers, zookeepers
from orchestrator.simulation.addresses import OPERATOR, Address
from orchestrator.simulation.completion import topology_completed
from orchestrator.simulation.estate import Estate, planned_estate
from orchestrator.simulation.folders import Folders
from orchestrator.simulation.local_files import LocalFiles
from orchestrator.simulation.tls import Issuer, write_rest_users
from orchestrator.topology.loading import load_topology
from orchestrator.topology.model import Topology
from orchestrator.topology.rules import findings
from tests.simulation.conftest import EXAMPLE
from tests.simulation.loopback import Loopback

SECURED = EXAMPLE.with_name("active-passive-secured.yaml")
PASSWORDS = {"broker": "b-secret", "operator": "o-secret", "mirror": "m-secret"}


@pytest.fixture
def secured() -> Topology:
    """The example that demands SASL_SSL."""
    return load_topology(SECURED)


@pytest.fixture
def estate(secured: Topology) -> Estate:
    return planned_estate(secured)


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    """Of a simulation that begins."""
    found = Folders(tmp_path / "sim")
    found.create()
    return found


def test_what_is_filled_in_is_as_secure_as_the_file_demands(secured: Topology, estate: Estate) -> None:
    """The completed file breaks no rule, and every secret in it is a reference."""
    completed = topology_completed(
        secured, estate, Loopback(estate), Folders(Path("/sim")), seen_from=OPERATOR
    )
    assert list(findings(completed)) == []
    east = completed.clusters["east"]
    assert east.client["security.protocol"] == "SASL_SSL"
    assert east.mirror_client["security.protocol"] == "SASL_SSL"
    assert east.connect[0].startswith("https://")
    assert east.connect_client is not None
    assert east.connect_client.password == "${file:/sim/logins/connect}"
    assert completed.coordination is not None
    assert completed.coordination.password == "${file:/sim/logins/coordination}"
    assert completed.coordination.ca_location == east.connect_client.ca_location == "/sim/authority.pem"


def test_the_rule_sees_what_the_simulation_left_open(secured: Topology, estate: Estate) -> None:
    """Completed as if nothing was demanded, then judged by what is."""
    plain = topology_completed(
        replace(secured, security=None), estate, Loopback(estate), Folders(Path("/sim")), seen_from=OPERATOR
    )
    broken = {finding.path for rule, finding in findings(replace(plain, security=secured.security))}
    assert ("clusters", "west", "client", "security.protocol") in broken
    assert ("clusters", "east", "connect", 0) in broken
    assert ("coordination",) in broken


def test_every_listener_of_a_node_is_encrypted(secured: Topology, estate: Estate, folders: Folders) -> None:
    """The controllers' too; and the key is for its owner alone."""
    nodes = estate.nodes_of("west")
    folders.site("west").mkdir()
    files = LocalFiles(folders.site("west"))
    properties = servers.kraft_properties(
        nodes[0],
        nodes,
        secured.clusters["west"],
        Loopback(estate),
        data=Path("/d"),
        passwords=PASSWORDS,
        tls=Issuer(folders).kafka(files, nodes[0].program, ["127.0.0.1"]),
    )
    assert properties["listener.security.protocol.map"] == "CLIENT:SASL_SSL,CONTROLLER:SASL_SSL"
    assert properties["ssl.truststore.location"] == str(folders.authority)
    identity = Path(properties["ssl.keystore.location"])
    assert stat.S_IMODE(identity.stat().st_mode) == 0o600
    assert b"PRIVATE KEY" in identity.read_bytes()


def test_a_worker_refers_to_its_passwords(estate: Estate, folders: Folders) -> None:
    """Of its key store, and of who may use it: both lie in files of their own, mode 600."""
    folder = folders.site("east") / "connect-1"
    folder.mkdir(parents=True)
    files = LocalFiles(folders.site("east"))
    users, options = write_rest_users(files, "connect-1", {"connect": "r-secret"})
    rest = Issuer(folders).rest(files, "connect-1", ["127.0.0.1"])
    properties = servers.worker_properties(
        estate.workers[0],
        ["127.0.0.1:1"],
        Loopback(estate),
        replicas=3,
        offset_flush_interval_s=1,
        security={},
        rest={**users, **rest},
    )
    assert properties["listeners"].startswith("https://")
    assert properties["rest.extension.classes"].endswith("BasicAuthSecurityRestExtension")
    assert not any("secret" in value for value in properties.values())
    assert all(value.startswith("${file:") for key, value in rest.items() if key.endswith("password"))
    (option,) = options
    login = Path(option.rpartition("=")[2])
    assert str(folder / "rest-users.properties") in login.read_text()
    private = [file for file in folder.iterdir() if file != login]
    assert {stat.S_IMODE(file.stat().st_mode) for file in private} == {0o600}


def test_the_coordination_takes_encrypted_connections_alone(folders: Folders) -> None:
    """No second port without TLS beside it."""
    tls = Issuer(folders).zookeeper(LocalFiles(folders.coordination), "zookeeper", ["127.0.0.1"])
    properties = zookeepers.coordination_properties(Address("127.0.0.1", 20_000), Path("/d"), tls)
    assert properties["secureClientPort"] == "20000"
    assert "clientPort" not in properties
    plain = zookeepers.coordination_properties(Address("127.0.0.1", 20_000), Path("/d"), {})
    assert plain["clientPort"] == "20000"
    assert "secureClientPort" not in plain


def test_an_ensemble_that_would_stay_open_is_refused(secured: Topology) -> None:
    """A cluster in ZooKeeper mode keeps its passwords there; a simulation does not protect that way."""
    west = replace(secured.clusters["west"], kafka="3.9.1", metadata="zookeeper")
    with pytest.raises(SimulationError, match="ZooKeeper ensemble would be reached without TLS"):
        limits.refuse_unsupported(replace(secured, clusters={**secured.clusters, "west": west}))
