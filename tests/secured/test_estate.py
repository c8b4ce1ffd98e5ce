"""The secured example on real servers: what is let in, what is kept out, and that no secret lies about."""

from __future__ import annotations

import json
import socket
import ssl
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.adapters.certificates import Authority
from orchestrator.adapters.connect import ConnectCluster
from orchestrator.adapters.kafka import produce_records
from orchestrator.adapters.kafka.log_ends import LogEndReader
from orchestrator.adapters.secrets import resolve_secrets
from orchestrator.adapters.zookeeper import Coordination
from orchestrator.errors import ClusterError, ConnectError, DcctlError
from orchestrator.estate.live.connections import connect_cluster, kafka_cluster
from orchestrator.runs.live.history import coordination_of, run_rows
from orchestrator.simulation.running import Simulation
from orchestrator.topology.loading import load_topology
from orchestrator.values import LogReach
from orchestrator.verbs.registration import EFFECTS
from tests.drill.rehearsal import ROOT, processes_of
from tests.layouts.estate import Estate
from tests.secured import leaks

pytestmark = [pytest.mark.integration, pytest.mark.timeout(400)]

EXAMPLE = ROOT / "topologies" / "active-passive-secured.yaml"
_SOON_S = 3.0


@pytest.fixture(scope="module")
def estate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Estate]:
    """One simulation for all tests of this module; nothing of it is left afterwards."""
    found = Estate(tmp_path_factory.mktemp("secured"), EXAMPLE)
    yield found
    found.dcctl("sim", "down", "--all", "--yes")
    assert processes_of(found.state) == []


@pytest.fixture(scope="module")
def simulation(estate: Estate) -> Simulation:
    return Simulation(estate.file.parent, load_topology(estate.file))


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> str:
    """An authority of the same name that signed nothing here."""
    file = tmp_path_factory.mktemp("stranger") / "authority.pem"
    file.write_bytes(Authority("dcctl simulation").pem)
    return str(file)


def test_whatever_listens_speaks_tls_as_one_that_the_authority_knows(
    simulation: Simulation, stranger: str
) -> None:
    """Brokers, controllers, Connect and the coordination; and there is no other port."""
    ports = simulation.state.ports
    assert leaks.listening_ports(simulation.folder) == set(ports.values())
    trusted = ssl.create_default_context(cafile=simulation.folder / "authority.pem")
    astray = ssl.create_default_context(cafile=stranger)
    for name, port in ports.items():
        assert _shaken(trusted, port), name
        with pytest.raises(ssl.SSLCertVerificationError):
            _shaken(astray, port)


def test_where_logs_end_is_asked_over_tls(simulation: Simulation) -> None:
    """With the operator's login, and by nobody whom the authority does not know."""
    west = simulation.topology.clusters["west"]
    topic = next(topic.name for topic in simulation.topology.topics if topic.cluster == "west")
    partitions = kafka_cluster(simulation.topology, "west").topics([topic])[topic].partitions
    with LogEndReader("west", west.client, 10.0) as reader:
        found = reader.reaches(west.bootstrap, partitions)
    assert all(isinstance(reach, LogReach) and reach.is_in_sync for reach in found.values()), found
    plain = {**west.client, "security.protocol": "SASL_PLAINTEXT"}
    with LogEndReader("west", plain, 3.0) as reader:
        assert not any(
            isinstance(said, LogReach) for said in reader.reaches(west.bootstrap, partitions).values()
        )


def _shaken(context: ssl.SSLContext, port: int) -> str | None:
    with (
        socket.create_connection(("127.0.0.1", port), timeout=10) as plain,
        context.wrap_socket(plain, server_hostname="127.0.0.1") as encrypted,
    ):
        return encrypted.version()


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"security.protocol": "SASL_PLAINTEXT"}, r"security\.protocol"),
        ({"security.protocol": "PLAINTEXT"}, r"security\.protocol"),
        ({"sasl.password": "wrong"}, "Invalid username or password|Authentication failed"),
        ({"ssl.ca.location": "STRANGER"}, "certificate verify failed"),
    ],
    ids=["no TLS", "neither TLS nor login", "wrong password", "unknown authority"],
)
def test_brokers_refuse_and_it_is_told_why(
    simulation: Simulation, stranger: str, changed: dict[str, str], words: str
) -> None:
    """Not as a cluster that is down: the words lead to what has to be mended."""
    overrides = {key: stranger if value == "STRANGER" else value for key, value in changed.items()}
    with pytest.raises(ClusterError, match=words):
        kafka_cluster(simulation.topology, "west", **overrides).brokers(_SOON_S)


def test_connect_refuses_whoever_has_no_login(simulation: Simulation) -> None:
    """Nobody, a wrong password, and one that does not know the authority, who then tells no password."""
    east = simulation.topology.clusters["east"]
    assert east.connect_client is not None
    authority = east.connect_client.ca_location
    for auth in (None, ("connect", "wrong"), ("operator", "wrong")):
        with pytest.raises(ConnectError, match="answered 401"):
            ConnectCluster("east", east.connect, auth=auth, ca_location=authority).names()
    with pytest.raises(ConnectError, match="certificate verify failed"):
        ConnectCluster("east", east.connect).names()
    assert len(connect_cluster(simulation.topology, "east").names()) == 3


def test_the_mirror_copies(simulation: Simulation) -> None:
    """Its clients at both sides are encrypted, and verify whom they reach."""
    checkout = simulation.client_properties("west", "User:checkout")
    assert checkout["security.protocol"] == "SASL_SSL"
    produce_records("west", checkout, "orders", [(b"k%d" % n, b"v") for n in range(100)], timeout_s=30)
    east = simulation.cluster("east")
    partitions = east.topics(["west.orders"])["west.orders"].partitions
    deadline = time.monotonic() + 60
    while sum(east.end_offsets(partitions).values()) < 100:
        assert time.monotonic() < deadline
        time.sleep(0.2)


def test_what_is_imported_over_tls_plans_to_no_change(
    estate: Estate, simulation: Simulation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By references alone: no secret is on the command line, and none comes into the file."""
    clusters = simulation.topology.clusters
    words = ["import", "--name", simulation.topology.name, "-o", str(tmp_path / "imported.yaml")]
    for name, cluster in clusters.items():
        client = tmp_path / f"{name}.properties"
        client.write_text("".join(f"{key}={value}\n" for key, value in cluster.client.items()))
        words += ["--bootstrap", f"{name}={','.join(cluster.bootstrap)}", "--client", f"{name}={client}"]
    east = clusters["east"]
    assert east.connect_client is not None
    assert east.connect_client.ca_location is not None
    monkeypatch.setenv("CONNECT", (simulation.folder / "logins" / "connect").read_text())
    address = east.connect[0].replace("https://", "https://connect:${env:CONNECT}@")
    words += ["--connect", f"east={address}", "--connect-ca", f"east={east.connect_client.ca_location}"]
    assert estate.dcctl(*words)["variables"] == []
    imported = load_topology(tmp_path / "imported.yaml")
    assert imported.clusters["east"].mirror_client == east.mirror_client
    assert imported.clusters["east"].connect_client is not None
    assert imported.clusters["east"].connect_client.password == "${env:CONNECT}"
    # It names no ensemble, so nobody knows what was applied last: that is unknown, and not nothing.
    found = estate.dcctl("drift", str(tmp_path / "imported.yaml"), status=7)
    assert found["drift"] == found["change"] == []
    assert {gate["outcome"] for gate in found["unknown"]} == {"unknown"}


def test_everything_works_and_no_secret_lies_about(
    estate: Estate, simulation: Simulation, tmp_path: Path
) -> None:
    """`plan`, `apply` twice, `drift`, `status`, `import`; then every place that somebody could look at."""
    file, plan = str(estate.file), tmp_path / "secured.plan"
    said = [
        estate.run("plan", file, "-o", str(plan)),
        estate.run("apply", str(plan)),
        estate.run("status", file),
    ]
    assert [ended for ended, _, _ in said[:2]] == [0, 0], said
    assert estate.dcctl("apply", file, "--yes")["outcome"] == "nothing-to-do"
    estate.dcctl("drift", file)

    secrets = leaks.secrets_of(simulation.folder)
    assert len(secrets) >= 20
    assert leaks.open_files_with(secrets, estate.state, tmp_path) == []
    (tmp_path / "planted").write_bytes(b"x" + secrets["secrets/mirror"])
    assert leaks.open_files_with(secrets, tmp_path) == [f"secrets/mirror in {tmp_path / 'planted'}"]
    assert leaks.held(secrets, leaks.command_lines(simulation.folder)) == []
    assert leaks.held(secrets, json.dumps(said).encode()) == []
    connectors = connect_cluster(simulation.topology, "east").described()
    assert leaks.held(secrets, repr(connectors).encode()) == []
    assert "${file:" in connectors["west-to-east-source"][0]["source.cluster.sasl.jaas.config"]
    _assert_journal_is_closed(simulation, secrets, tmp_path)


def _assert_journal_is_closed(simulation: Simulation, secrets: dict[str, bytes], folder: Path) -> None:
    """Each znode belongs to the login alone, and whoever has another cannot even list the runs."""
    topology = simulation.topology
    assert topology.coordination is not None
    with coordination_of(topology) as coordination:
        znodes = dict(_walk(coordination, "/dcctl"))
        owners = {path: coordination._client.get_acls(path)[0] for path in znodes}
    assert any("/runs/" in path for path in znodes)
    assert leaks.held(secrets, b"\n".join(znodes.values())) == []
    assert {(acl.id.scheme, acl.id.id.partition(":")[0]) for acls in owners.values() for acl in acls} == {
        ("digest", "coordination")
    }
    (folder / "wrong").write_text("wrong", encoding="ascii")
    described = simulation.topology_path.read_text(encoding="utf-8")
    (folder / "wrong.yaml").write_text(
        described.replace(str(topology.coordination.password), f"${{file:{folder / 'wrong'}}}"),
        encoding="utf-8",
    )
    wrong = load_topology(folder / "wrong.yaml")
    assert resolve_secrets({"p": str(wrong.coordination and wrong.coordination.password)}, "")["p"] == "wrong"
    with pytest.raises(DcctlError, match="does not allow it, not for user coordination"):
        run_rows(wrong, EFFECTS)


def _walk(coordination: Coordination, path: str) -> Iterator[tuple[str, bytes]]:
    yield path, coordination.read(path) or b""
    for name in coordination.names(path):
        yield from _walk(coordination, f"{path}/{name}")
