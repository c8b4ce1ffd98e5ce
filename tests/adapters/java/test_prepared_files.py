"""The prepared files with real servers: an archive is made and used, a spoilt one does no harm, storage is right."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import psutil
import pytest

from orchestrator.adapters.java.archives import ensure_cds_archives
from orchestrator.adapters.java.commands import server_command
from orchestrator.adapters.java.detection import find_java
from orchestrator.adapters.java.formatting import metadata_template, random_kafka_id
from orchestrator.adapters.java.runtime import KafkaRuntime, kafka_runtime, zookeeper_runtime
from orchestrator.adapters.java.training import TrainedServer
from orchestrator.adapters.ports import is_free, is_listening
from orchestrator.errors import JavaError

pytestmark = pytest.mark.integration


def _prepared_elsewhere(runtime: KafkaRuntime, folder: Path) -> KafkaRuntime:
    """The same jars; what is made from them lies in the test's own folder."""
    return KafkaRuntime(runtime.name, runtime.version, runtime.java, runtime.jars, folder)


def _await(is_so: Callable[[], bool], within_s: float = 30.0) -> None:
    deadline = time.monotonic() + within_s
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _start_zookeeper(runtime: KafkaRuntime, folder: Path, port: int, *options: str) -> TrainedServer:
    folder.mkdir()
    properties = folder / "zoo.cfg"
    properties.write_text(
        f"dataDir={folder / 'data'}\nclientPort={port}\nclientPortAddress=127.0.0.1\nadmin.enableServer=false\n"
    )
    command, environment = server_command(
        runtime, "zookeeper", properties=properties, logs=folder / "logs", heap_mb=64
    )
    command[1:1] = options
    return TrainedServer(command, environment, output=folder / "out", stop_within_s=20)


def _free_port() -> int:
    return next(port for port in range(32_100, 32_700) if is_free(port))


def test_an_archive_is_made_once_used_and_passed_over_when_spoilt(tmp_path: Path) -> None:
    """A ZooKeeper loads its own classes from the archive, and starts without it when its bytes have changed."""
    runtime = _prepared_elsewhere(zookeeper_runtime(find_java()), tmp_path / "made")
    (archive,) = ensure_cds_archives(runtime)
    made_at = archive.stat().st_mtime_ns
    assert ensure_cds_archives(runtime) == (archive,)
    assert archive.stat().st_mtime_ns == made_at
    assert {file.name for file in runtime.folder.iterdir()} == {archive.name, "archives.lock"}

    port = _free_port()
    with _start_zookeeper(runtime, tmp_path / "good", port, "-Xlog:class+load") as server:
        server.await_ready(lambda: is_listening(port), 30)
    loaded = (tmp_path / "good" / "out").read_text()
    assert "QuorumPeerMain source: shared objects file (top)" in loaded

    archive.chmod(0o600)
    with archive.open("r+b") as file:
        file.seek(archive.stat().st_size // 2)
        file.write(os.urandom(500_000))
    with _start_zookeeper(runtime, tmp_path / "spoilt", port) as server:
        server.await_ready(lambda: is_listening(port), 30)


_STARTER = """
import sys, time
from pathlib import Path
from orchestrator.adapters.java.training import TrainedServer
with TrainedServer(["/bin/sleep", "300"], {}, output=Path(sys.argv[1]), stop_within_s=5):
    print("up", flush=True)
    time.sleep(300)
"""


def test_a_server_under_training_ends_with_its_starter(tmp_path: Path) -> None:
    """Even a starter that was killed leaves nothing running."""
    starter = subprocess.Popen(
        [sys.executable, "-c", _STARTER, str(tmp_path / "out")], stdout=subprocess.PIPE, text=True
    )
    assert starter.stdout is not None
    assert starter.stdout.readline() == "up\n"
    children = partial(psutil.Process(starter.pid).children, recursive=True)
    _await(lambda: any(child.name() == "sleep" for child in children()))
    servers = children()
    starter.send_signal(signal.SIGKILL)
    starter.wait()
    starter.stdout.close()
    _, alive = psutil.wait_procs(servers, timeout=10)
    assert alive == []


@pytest.mark.parametrize("version", ["4.3.1"])
def test_the_template_is_what_storage_tool_writes_for_any_node(tmp_path: Path, version: str) -> None:
    """Only the times and checksums of the records differ: metadata.version and all features are there."""
    runtime = _prepared_elsewhere(kafka_runtime(version, find_java()), tmp_path / "made")
    template = metadata_template(runtime).read_bytes()
    properties = tmp_path / "server.properties"
    properties.write_text(
        "process.roles=broker,controller\nnode.id=7\n"
        "controller.quorum.voters=7@127.0.0.1:9097,8@127.0.0.1:9098,9@127.0.0.1:9099\n"
        "controller.listener.names=C\nlisteners=P://127.0.0.1:9092,C://127.0.0.1:9097\n"
        f"listener.security.protocol.map=C:PLAINTEXT,P:PLAINTEXT\ninter.broker.listener.name=P\nlog.dirs={tmp_path / 'own'}\n"
    )
    tool = ["kafka.tools.StorageTool", "format", "-t", random_kafka_id(), "-c", str(properties)]
    subprocess.run(
        [str(runtime.java.executable), "-cp", runtime.class_path, *tool], check=True, capture_output=True
    )
    fresh = (tmp_path / "own" / "bootstrap.checkpoint").read_bytes()
    features = [b"metadata.version", b"eligible.leader.replicas.version", b"transaction.version"]
    assert len(template) == len(fresh)
    assert [template.find(name) for name in features] == [fresh.find(name) for name in features]
    assert all(template.find(name) > 0 for name in features)
    first = template.find(features[0])
    assert template[first : first + 20] == fresh[first : first + 20]
    keys = {line.split("=")[0] for line in (tmp_path / "own" / "meta.properties").read_text().split("\n")}
    assert {"version", "cluster.id", "node.id", "directory.id"} < keys


def test_a_training_that_is_given_up_leaves_neither_servers_nor_files(tmp_path: Path) -> None:
    """Ctrl-C in the middle of it; what an earlier, killed one left is removed as well."""
    runtime = _prepared_elsewhere(zookeeper_runtime(find_java()), tmp_path / "made")
    (runtime.folder / "training-of-a-killed-one").mkdir(parents=True)
    given_up = threading.Event()
    given_up.set()
    with pytest.raises(JavaError, match=r"zookeeper \(run for its archive\): was given up"):
        ensure_cds_archives(runtime, given_up=given_up)
    assert [file.name for file in runtime.folder.iterdir()] == ["archives.lock"]
    _await(lambda: not any(str(runtime.folder) in " ".join(_words(p)) for p in _own_children()))


def _words(process: psutil.Process) -> list[str]:
    """Its command; nothing of one that has just ended."""
    try:
        return list(process.cmdline())
    except psutil.NoSuchProcess:  # a zombie is one as well
        return []


def _own_children() -> list[psutil.Process]:
    return psutil.Process().children(recursive=True)
