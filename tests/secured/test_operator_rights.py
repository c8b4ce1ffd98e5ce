"""The rights that docs/operating.md gives suffice: by Kafka's own tool, on brokers with an authorizer. `make drills`."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from orchestrator.adapters.java.client_properties import java_client_properties
from orchestrator.adapters.java.detection import find_java
from orchestrator.adapters.java.runtime import kafka_runtime
from orchestrator.adapters.secrets import resolve_secrets
from orchestrator.simulation.running import Simulation
from tests.drill.rehearsal import ROOT
from tests.faults.estate import Estate, at_work
from tests.test_docs import shown

pytestmark = [pytest.mark.drills, pytest.mark.timeout(900)]

DCCTL, WATCHER = "dcctl", "dcctl-watch"
_PRINCIPALS = {f"User:{name}" for name in (DCCTL, WATCHER)}
_WATCHED_WITHIN_S = 60.0


def acl_lines() -> list[list[str]]:
    """Words of every line for kafka-acls.sh of the page, without the tool's own name."""
    lines = (shlex.split(command) for command, _ in shown(ROOT / "docs" / "operating.md"))
    return [words[1:] for words in lines if words[0] == "kafka-acls.sh"]


def meant_at(words: list[str]) -> list[str]:
    """The clusters at which a line is to be run: dcctl's own at each, the watcher's at the one that it names."""
    both = f"User:{DCCTL}" in words and "--resource-pattern-type" not in words
    return ["west", "east"] if both else ["west" if "kafka1.west:9092" in words else "east"]


def grant(simulation: Simulation, folder: Path) -> None:
    """Run the lines of the page, as the operator of the simulation, who is a super user."""
    runtime = kafka_runtime("4.3.1", find_java())
    for words in acl_lines():
        for cluster in meant_at(words):
            described = simulation.topology.clusters[cluster]
            login = folder / f"{cluster}.properties"
            properties = java_client_properties(resolve_secrets(described.client, cluster))
            login.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
            given = list(words)
            given[given.index("--bootstrap-server") + 1] = ",".join(described.bootstrap)
            given[given.index("--command-config") + 1] = str(login)
            tool = ["-cp", runtime.class_path, "org.apache.kafka.tools.AclCommand", *given]
            done = subprocess.run(
                [str(runtime.java.executable), *tool], capture_output=True, text=True, timeout=60, check=False
            )
            assert done.returncode == 0, (given, done.stdout, done.stderr)


def without_rights(simulation: Simulation) -> None:
    """Take away what the two got as the producers that they were, to have a password."""
    simulation.site("west").stop([f"producer-{name}" for name in (DCCTL, WATCHER)])
    for name in simulation.topology.clusters:
        cluster = simulation.cluster(name)
        cluster.delete_acls(rule for rule in cluster.acls() or () if rule.principal in _PRINCIPALS)


def file_as(simulation: Simulation, user: str, folder: Path, **changes: Any) -> Path:
    """The completed file, with the login of `user`, and without the two as producers."""
    data = yaml.safe_load(simulation.topology_path.read_text(encoding="utf-8"))
    data["producers"] = [one for one in data["producers"] if one["principal"] not in _PRINCIPALS]
    for cluster in data["clusters"].values():
        password = f"${{file:{simulation.folder / 'secrets' / user}}}"
        cluster["client"] |= {"sasl.username": user, "sasl.password": password}
    data |= changes
    file = folder / f"{user}-{len(list(folder.iterdir()))}.yaml"
    file.write_text(yaml.safe_dump(data), encoding="utf-8")
    return file


@contextmanager
def watching(file: Path, environment: Mapping[str, str], log: Path) -> Iterator[None]:
    """A watcher of that file; what it has said stands in the assertion where it has ended."""
    command = [sys.executable, "-m", "orchestrator.cli.main", "watch", str(file), "--log-file", str(log)]
    with subprocess.Popen(command, env=dict(environment)) as process:
        try:
            yield
            assert process.poll() is None, log.read_text()
        finally:
            process.terminate()


def await_watched(estate: Estate, file: Path, log: Path) -> None:
    """Until a failover could go by what the watcher has recorded."""
    deadline_s = time.monotonic() + _WATCHED_WITHIN_S
    words = ("switchover", str(file), "--to", "east", "--dry-run")
    while (done := estate.command(*words)).returncode != 0:
        assert time.monotonic() < deadline_s, (done.stderr, log.read_text())
        time.sleep(2)


def test_all_is_done_with_these_rights_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Looking, applying, fencing, moving there and back, failing over; and nothing without them."""
    files = tmp_path / "files"
    files.mkdir()
    with at_work(tmp_path / "state", monkeypatch, ROOT / "tests" / "secured" / "rights.yaml") as estate:
        simulation = estate.simulation()
        simulation.site("east").stop(["watch"])
        without_rights(simulation)
        file = str(file_as(simulation, DCCTL, files))
        assert estate.command("fence", file, "--cluster", "west", "--yes").returncode != 0
        grant(simulation, files)
        environment, log = {**os.environ, **estate.environment}, tmp_path / "watch.log"
        with watching(file_as(simulation, WATCHER, files), environment, log):
            await_watched(estate, Path(file), log)
            estate.must("status", file)
            estate.must("drift", file)
            more = file_as(simulation, DCCTL, files, topics=_more_topics(simulation))
            estate.must("apply", str(more), "--yes")
            estate.must("drift", str(more))
            estate.must("fence", str(more), "--cluster", "west", "--yes")
            estate.must("unfence", str(more), "--cluster", "west", "--yes")
            estate.must("switchover", str(more), "--to", "east", "--yes")
            estate.must("failback", str(more), "--yes")
            await_watched(estate, more, log)
            estate.must("sim", "kill", "west")
            estate.must("failover", str(more), "--to", "east", "--attest-down", "west", "--yes")


def _more_topics(simulation: Simulation) -> list[dict[str, Any]]:
    """A topic more, and one with more partitions and another setting."""
    data = yaml.safe_load(simulation.topology_path.read_text(encoding="utf-8"))
    topics: list[dict[str, Any]] = data["topics"]
    topics[1] |= {"partitions": 2, "config": {"max.message.bytes": "2000000"}}
    return [
        *topics,
        {"name": "refunds", "cluster": "west", "partitions": 1, "replicas": 1, "min_insync_replicas": 1},
    ]
