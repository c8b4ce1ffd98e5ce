"""Storage of KRaft nodes, formatted without a JVM for each.

`StorageTool format` writes two files into each log directory: `meta.properties`, which says whose
directory it is, and `bootstrap.checkpoint`, the first metadata records (metadata.version and the other
features at the newest level of the version). The second does not depend on the node or the cluster
(org.apache.kafka.metadata.storage.Formatter), so it is made once and copied.

Controllers whose voters are dynamic have a third file, the snapshot of the metadata log in which these stand.
It is the same for all of them, and so made once as well.
"""

from __future__ import annotations

import base64
import shutil
import subprocess
import tempfile
import uuid
from functools import cache
from pathlib import Path
from typing import NamedTuple

from orchestrator.adapters.java.cache import disk_errors
from orchestrator.adapters.java.class_archive import error_file_option
from orchestrator.adapters.java.runtime import KafkaRuntime
from orchestrator.errors import JavaError

_CHECKPOINT = "bootstrap.checkpoint"
_VOTERS_SNAPSHOT = Path("__cluster_metadata-0", "00000000000000000000-0000000000.checkpoint")
_TOOL_WITHIN_S = 60.0


def random_kafka_id() -> str:
    """A cluster id or directory id: 16 random bytes in 22 characters (org.apache.kafka.common.Uuid)."""
    while True:
        made = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode("ascii").rstrip("=")
        if not made.startswith("-"):  # Kafka avoids it too: it would look like an option
            return made


class InitialVoter(NamedTuple):
    """One of the voters with which a dynamic quorum begins; `address` is `host:port` of its listener."""

    node_id: int
    address: str
    directory_id: str

    def __str__(self) -> str:
        return f"{self.node_id}@{self.address}:{self.directory_id}"


def format_storage(
    runtime: KafkaRuntime,
    log_dir: Path,
    *,
    cluster_id: str,
    node_id: int,
    voters: tuple[InitialVoter, ...] = (),
) -> None:
    """Do what `StorageTool format` would do for one node with one log directory.

    `voters`: what `--initial-controllers` would say of a quorum that this node belongs to; empty where its
    voters are static, and of a broker. Raises `JavaError` when the directory already belongs to a node.
    """
    if (log_dir / "meta.properties").exists():
        raise JavaError(str(log_dir), "is formatted already", "remove the node's folder first")
    log_dir.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(metadata_template(runtime), log_dir / _CHECKPOINT)
    own = next((voter.directory_id for voter in voters if voter.node_id == node_id), random_kafka_id())
    if voters:
        snapshot = log_dir / _VOTERS_SNAPSHOT
        snapshot.parent.mkdir(exist_ok=True)
        snapshot.write_bytes(_voters_snapshot(runtime, voters))
    (log_dir / "meta.properties").write_text(
        f"version=1\ncluster.id={cluster_id}\nnode.id={node_id}\ndirectory.id={own}\n",
        encoding="ascii",
    )


def metadata_template(runtime: KafkaRuntime) -> Path:
    """A `bootstrap.checkpoint` of this version; made at first use, which takes a second."""
    template = runtime.folder / _CHECKPOINT
    if not template.exists():
        with disk_errors(runtime.folder):
            runtime.folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(prefix="format-", dir=runtime.folder) as scratch:
                _run_storage_tool(runtime, Path(scratch), ())
                (Path(scratch) / "data" / _CHECKPOINT).replace(template)
    return template


@cache
def _voters_snapshot(runtime: KafkaRuntime, voters: tuple[InitialVoter, ...]) -> bytes:
    """The first snapshot of a metadata log with these voters, as each of them has it."""
    with tempfile.TemporaryDirectory(prefix="format-") as scratch:
        _run_storage_tool(runtime, Path(scratch), voters)
        return (Path(scratch) / "data" / _VOTERS_SNAPSHOT).read_bytes()


def _run_storage_tool(runtime: KafkaRuntime, scratch: Path, voters: tuple[InitialVoter, ...]) -> None:
    properties = scratch / "server.properties"
    quorum = "controller.quorum.bootstrap.servers=" if voters else "controller.quorum.voters=1@"
    properties.write_text(
        "process.roles=broker,controller\n"
        "node.id=1\n"
        f"{quorum}127.0.0.1:9093\n"
        "controller.listener.names=CONTROLLER\n"
        "listeners=PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093\n"
        f"log.dirs={scratch / 'data'}\n",
        encoding="utf-8",
    )
    command = [str(runtime.java.executable), "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    command.append(error_file_option(scratch))
    tool = ["kafka.tools.StorageTool", "format", "-t", random_kafka_id(), "-c", str(properties)]
    if voters:
        tool += ["--initial-controllers", ",".join(map(str, voters))]
    try:
        answer = subprocess.run(
            [*command, "-cp", runtime.class_path, *tool],
            capture_output=True,
            text=True,
            timeout=_TOOL_WITHIN_S,
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise JavaError("StorageTool", f"did not run: {error}") from None
    if answer.returncode != 0:
        said = (answer.stderr + answer.stdout).strip().splitlines()
        raise JavaError("StorageTool", f"failed: {said[-1] if said else answer.returncode}")
