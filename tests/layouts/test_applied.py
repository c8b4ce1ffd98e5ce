"""Each layout on real servers: applied once, nothing left to do, changed by hand, noticed, mended."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from orchestrator.adapters.java.detection import find_java
from orchestrator.adapters.java.runtime import kafka_runtime
from tests.drill.rehearsal import ROOT, processes_of

EXAMPLES = sorted(path.stem for path in (ROOT / "topologies").glob("*.yaml"))
QUICK = ("active-active", "stretched-3dc-kraft")
_TIMEOUT_S = 240


class Estate:
    """A simulation of one example, and dcctl beside it, as a user has them."""

    def __init__(self, folder: Path, example: str) -> None:
        self.state = folder / "state"
        self.dcctl("sim", "up", str(ROOT / "topologies" / f"{example}.yaml"))
        (self.file,) = self.state.glob("simulations/*/topology.yaml")
        self.topology: dict[str, Any] = yaml.safe_load(self.file.read_text(encoding="utf-8"))

    def dcctl(self, *words: str, status: int = 0) -> dict[str, Any]:
        """Run one command, hold its exit status against `status`, and return what `--json` says."""
        done = subprocess.run(
            [sys.executable, "-m", "orchestrator.cli.main", *words, "--json"],
            env={**os.environ, "DCCTL_STATE_DIR": str(self.state)},
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
        assert done.returncode == status, (words, done.stdout[-2000:], done.stderr)
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer

    def change_by_hand(self, cluster: str, topic: str, setting: str) -> None:
        """Set a topic's configuration with Kafka's own tool."""
        described = self.topology["clusters"][cluster]
        client = described["client"]
        password = Path(client["sasl.password"].removeprefix("${file:").removesuffix("}")).read_text().strip()
        properties = self.state / "tool.properties"
        module = "org.apache.kafka.common.security.plain.PlainLoginModule"
        properties.write_text(
            f"security.protocol={client['security.protocol']}\n"
            f"sasl.mechanism=PLAIN\n"
            f'sasl.jaas.config={module} required username="{client["sasl.username"]}" password="{password}";\n',
            encoding="utf-8",
        )
        java = find_java()
        runtime = kafka_runtime(described["kafka"], java)
        tool = [str(java.executable), "-cp", runtime.class_path, "kafka.admin.ConfigCommand"]
        where = ["--bootstrap-server", ",".join(described["bootstrap"]), "--command-config", str(properties)]
        what = ["--alter", "--entity-type", "topics", "--entity-name", topic, "--add-config", setting]
        subprocess.run([*tool, *where, *what], check=True, capture_output=True, timeout=60)


@pytest.fixture
def estate(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Estate]:
    """One example, up; nothing of it is left afterwards."""
    found = Estate(tmp_path, request.param)
    yield found
    found.dcctl("sim", "down", "--all")
    assert processes_of(found.state) == []


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "estate",
    [
        pytest.param(name, marks=pytest.mark.integration if name in QUICK else pytest.mark.drills)
        for name in EXAMPLES
    ],
    indirect=True,
)
def test_a_layout_is_applied_once_and_drift_is_mended(estate: Estate) -> None:
    """`apply` twice: the second has nothing to do. A change by hand is named, and mended by `apply`."""
    file = str(estate.file)
    estate.dcctl("apply", file, "--yes")
    estate.dcctl("plan", file)
    estate.dcctl("apply", file, "--yes")
    estate.dcctl("drift", file)
    topic = estate.topology["topics"][0]
    estate.change_by_hand(topic["cluster"], topic["name"], "min.insync.replicas=1")
    (drift,) = estate.dcctl("drift", file, status=3)["drift"]
    assert topic["name"] in json.dumps(drift)
    assert "min.insync.replicas" in json.dumps(drift)
    estate.dcctl("apply", file, "--yes")
    estate.dcctl("drift", file)
