"""KAFKA_HOME, command lines, and formatted storage; no server runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.adapters.java.class_archive import archive_name
from orchestrator.adapters.java.commands import class_archive, server_command
from orchestrator.adapters.java.detection import Java, find_java
from orchestrator.adapters.java.formatting import InitialVoter, format_storage, random_kafka_id
from orchestrator.adapters.java.runtime import KafkaRuntime, client_runtime, kafka_runtime
from orchestrator.errors import JavaError

_JAVA = Java(Path("/opt/java/bin/java"), 17, Path("/opt/java"), "17.0.15")


def _installation(tmp_path: Path, *jars: str) -> Path:
    home = tmp_path / "kafka"
    (home / "libs").mkdir(parents=True)
    for jar in jars:
        (home / "libs" / jar).write_bytes(b"")
    return home


def _runtime(tmp_path: Path, *jars: str) -> KafkaRuntime:
    paths = tuple(tmp_path / jar for jar in jars)
    return KafkaRuntime("Kafka", "4.3.1", _JAVA, paths, tmp_path / "folder")


def test_an_own_installation_is_taken_as_it_is(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its jars, nothing fetched, nothing of it changed."""
    home = _installation(tmp_path, "kafka-clients-4.3.1.jar", "kafka_2.13-4.3.1.jar", "notes.txt")
    monkeypatch.setenv("KAFKA_HOME", str(home))
    runtime = kafka_runtime("4.3.1", _JAVA)
    assert runtime.class_path == ":".join(
        str(home / "libs" / jar) for jar in ("kafka-clients-4.3.1.jar", "kafka_2.13-4.3.1.jar")
    )
    assert runtime.folder.is_relative_to(cache)


@pytest.mark.parametrize(
    ("jars", "problem"),
    [
        (["kafka-clients-3.9.1.jar"], r"is Kafka 3\.9\.1, but the topology wants 4\.3\.1"),
        ([], r"has no libs/kafka-clients-\*\.jar"),
    ],
)
def test_an_unfitting_installation_is_refused(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jars: list[str], problem: str
) -> None:
    """Another version, or no Kafka at all."""
    monkeypatch.setenv("KAFKA_HOME", str(_installation(tmp_path, *jars)))
    with pytest.raises(JavaError, match=problem):
        kafka_runtime("4.3.1", _JAVA)


def test_a_client_may_be_of_any_version(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An own installation serves to talk to clusters of every version."""
    monkeypatch.setenv("KAFKA_HOME", str(_installation(tmp_path, "kafka-clients-3.9.1.jar")))
    assert client_runtime(_JAVA).version == "3.9.1"


def test_a_version_that_cannot_be_fetched_is_refused_with_the_known_ones(cache: Path) -> None:
    """Before any network is touched."""
    with pytest.raises(JavaError, match=r"Kafka 2\.8\.0: .*3\.9\.1, 4\.3\.1\n.*KAFKA_HOME"):
        kafka_runtime("2.8.0", _JAVA)


def test_another_java_or_changed_jars_get_another_folder(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was prepared for one never serves the other."""
    home = _installation(tmp_path, "kafka-clients-4.3.1.jar")
    monkeypatch.setenv("KAFKA_HOME", str(home))
    other_java = Java(_JAVA.executable, 17, _JAVA.home, "17.0.16")
    folders = {kafka_runtime("4.3.1", java).folder for java in (_JAVA, other_java)}
    (home / "libs" / "kafka-clients-4.3.1.jar").write_bytes(b"patched")
    folders.add(kafka_runtime("4.3.1", _JAVA).folder)
    assert len(folders) == 3


def test_an_archive_is_used_once_it_is_there_and_only_while_it_is_whole(tmp_path: Path) -> None:
    """A JVM crashes on an archive that was cut short."""
    runtime = _runtime(tmp_path, "kafka_2.13-4.3.1.jar")

    def command() -> list[str]:
        return server_command(runtime, "kafka", properties=tmp_path / "p", logs=tmp_path, heap_mb=256)[0]

    assert not any("SharedArchiveFile" in option for option in command())
    archive = runtime.folder / archive_name("kafka", 1000)
    runtime.folder.mkdir()
    archive.write_bytes(bytes(1000))
    assert f"-XX:SharedArchiveFile={archive}" in command()
    assert class_archive(runtime, "connect") is None
    archive.write_bytes(bytes(999))
    assert not any("SharedArchiveFile" in option for option in command())


def test_a_server_writes_nothing_outside_of_its_folder(tmp_path: Path) -> None:
    """Logs and unpacked native libraries; no performance data in the system's temporary folder."""
    runtime = _runtime(tmp_path, "kafka_2.13-4.3.1.jar")
    logs = tmp_path / "logs"
    command, environment = server_command(runtime, "kafka", properties=tmp_path / "p", logs=logs, heap_mb=256)
    assert {
        f"-Ddcctl.log={logs / 'kafka.log'}",
        f"-Djava.io.tmpdir={logs / 'tmp'}",
        "-XX:-UsePerfData",
    } < set(command)
    assert (logs / "tmp").is_dir()
    assert command[-2:] == ["kafka.Kafka", str(tmp_path / "p")]
    assert environment == {"CLASSPATH": runtime.class_path}


def test_a_runtime_without_the_server_is_refused(tmp_path: Path) -> None:
    """Kafka 4 has no ZooKeeper."""
    runtime = _runtime(tmp_path, "kafka_2.13-4.3.1.jar")
    with pytest.raises(JavaError, match=r"Kafka 4\.3\.1: cannot run as zookeeper.*\n.*metadata: kraft"):
        server_command(runtime, "zookeeper", properties=tmp_path, logs=tmp_path, heap_mb=64)


def test_storage_is_formatted_without_a_jvm_once_the_template_is_there(tmp_path: Path) -> None:
    """The template is copied, the rest is written; each directory has an id of its own."""
    runtime = _runtime(tmp_path, "kafka_2.13-4.3.1.jar")
    runtime.folder.mkdir()
    (runtime.folder / "bootstrap.checkpoint").write_bytes(b"records")
    cluster_id = random_kafka_id()
    written = []
    for node_id in (1, 2):
        format_storage(runtime, tmp_path / str(node_id), cluster_id=cluster_id, node_id=node_id)
        lines = (tmp_path / str(node_id) / "meta.properties").read_text().split()
        written.append(dict(line.split("=") for line in lines))
        assert (tmp_path / str(node_id) / "bootstrap.checkpoint").read_bytes() == b"records"
    assert [(w["version"], w["cluster.id"], w["node.id"]) for w in written] == [
        ("1", cluster_id, "1"),
        ("1", cluster_id, "2"),
    ]
    assert written[0]["directory.id"] != written[1]["directory.id"]
    with pytest.raises(JavaError, match="is formatted already"):
        format_storage(runtime, tmp_path / "1", cluster_id=cluster_id, node_id=1)


@pytest.mark.integration
def test_controllers_with_dynamic_voters_begin_with_one_snapshot(tmp_path: Path) -> None:
    """Each has the directory id by which the others know it; a broker of theirs has no snapshot."""
    runtime = kafka_runtime("4.3.1", find_java(), lambda *_: None)
    voters = tuple(InitialVoter(number, f"127.0.0.1:{number}", random_kafka_id()) for number in (101, 102))
    snapshot = "__cluster_metadata-0/00000000000000000000-0000000000.checkpoint"
    for number in (101, 102):
        folder = tmp_path / str(number)
        format_storage(runtime, folder, cluster_id=random_kafka_id(), node_id=number, voters=voters)
        own = next(voter.directory_id for voter in voters if voter.node_id == number)
        assert f"directory.id={own}\n" in (folder / "meta.properties").read_text()
    first, second = ((tmp_path / str(number) / snapshot).read_bytes() for number in (101, 102))
    assert first == second
    assert b"CONTROLLER" in first
    format_storage(runtime, tmp_path / "1", cluster_id=random_kafka_id(), node_id=1)
    assert not (tmp_path / "1" / snapshot).exists()
