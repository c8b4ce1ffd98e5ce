"""Storage of KRaft nodes with static voters, formatted without a JVM for each.

`StorageTool format` writes two files into each log directory: `meta.properties`, which says whose
directory it is, and `bootstrap.checkpoint`, the first metadata records (metadata.version and the other
features at the newest level of the version). The second does not depend on the node or the cluster
(org.apache.kafka.metadata.storage.Formatter), so it is made once and copied.
"""

from __future__ import annotations

import base64
import shutil
import subprocess
import tempfile
import uuid
from pathlib import Path

from orchestrator.adapters.java.cache import disk_errors
from orchestrator.adapters.java.class_archive import error_file_option
from orchestrator.adapters.java.runtime import KafkaRuntime
from orchestrator.errors import JavaError

_CHECKPOINT = "bootstrap.checkpoint"
_TOOL_WITHIN_S = 60.0


def random_kafka_id() -> str:
    """A cluster id or directory id: 16 random bytes in 22 characters (org.apache.kafka.common.Uuid)."""
    while True:
        made = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode("ascii").rstrip("=")
        if not made.startswith("-"):  # Kafka avoids it too: it would look like an option
            return made


def format_storage(runtime: KafkaRuntime, log_dir: Path, *, cluster_id: str, node_id: int) -> None:
    """Do what `StorageTool format` would do for one node with one log directory and static voters.

    Raises `JavaError` when the directory already belongs to a node.
    """
    if (log_dir / "meta.properties").exists():
        raise JavaError(str(log_dir), "is formatted already", "remove the node's folder first")
    log_dir.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(metadata_template(runtime), log_dir / _CHECKPOINT)
    (log_dir / "meta.properties").write_text(
        f"version=1\ncluster.id={cluster_id}\nnode.id={node_id}\ndirectory.id={random_kafka_id()}\n",
        encoding="ascii",
    )


def metadata_template(runtime: KafkaRuntime) -> Path:
    """A `bootstrap.checkpoint` of this version; made at first use, which takes a second."""
    template = runtime.folder / _CHECKPOINT
    if not template.exists():
        with disk_errors(runtime.folder):
            runtime.folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(prefix="format-", dir=runtime.folder) as scratch:
                _run_storage_tool(runtime, Path(scratch))
                (Path(scratch) / "data" / _CHECKPOINT).replace(template)
    return template


def _run_storage_tool(runtime: KafkaRuntime, scratch: Path) -> None:
    properties = scratch / "server.properties"
    properties.write_text(
        "process.roles=broker,controller\n"
        "node.id=1\n"
        "controller.quorum.voters=1@127.0.0.1:9093\n"
        "controller.listener.names=CONTROLLER\n"
        "listeners=PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093\n"
        f"log.dirs={scratch / 'data'}\n",
        encoding="utf-8",
    )
    command = [str(runtime.java.executable), "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    command.append(error_file_option(scratch))
    tool = ["kafka.tools.StorageTool", "format", "-t", random_kafka_id(), "-c", str(properties)]
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
