"""A simulation of one topology file, and dcctl beside it, as a user has them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

from orchestrator.adapters.java.client_properties import java_client_properties
from orchestrator.adapters.java.detection import find_java
from orchestrator.adapters.java.runtime import kafka_runtime
from orchestrator.adapters.secrets import resolve_secrets
from orchestrator.simulation.servers import java_properties
from tests.drill.rehearsal import ROOT

_TIMEOUT_S = 240


class Estate:
    """Real servers from `sim up`; `file` is the completed topology file, `topology` what it says."""

    def __init__(self, folder: Path, example: Path) -> None:
        self.state = folder / "state"
        self.dcctl("sim", "up", str(example))
        (self.file,) = self.state.glob("simulations/*/topology.yaml")
        self.topology: dict[str, Any] = yaml.safe_load(self.file.read_text(encoding="utf-8"))

    def start(self, *words: str) -> subprocess.Popen[str]:
        """Begin one command, with `--json`."""
        return subprocess.Popen(
            [sys.executable, "-m", "orchestrator.cli.main", *words, "--json"],
            env={**os.environ, "DCCTL_STATE_DIR": str(self.state)},
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *words: str) -> tuple[int, str, str]:
        """One command to its end: exit status, stdout, stderr."""
        with self.start(*words) as process:
            try:
                out, said = process.communicate(timeout=_TIMEOUT_S)
            except BaseException:
                process.kill()
                raise
        return process.returncode, out, said

    def dcctl(self, *words: str, status: int = 0) -> dict[str, Any]:
        """Run one command, hold its exit status against `status`, and return what `--json` says."""
        ended, out, said = self.run(*words)
        assert ended == status, (words, out[-2000:], said)
        answer: dict[str, Any] = json.loads(out)
        return answer

    def change_by_hand(self, cluster: str, topic: str, setting: str) -> None:
        """Set a topic's configuration with Kafka's own tool."""
        described = self.topology["clusters"][cluster]
        properties = self.state / "tool.properties"
        client = java_client_properties(resolve_secrets(described["client"], cluster))
        properties.write_text(java_properties(client), encoding="utf-8")
        java = find_java()
        runtime = kafka_runtime(described["kafka"], java)
        tool = [str(java.executable), "-cp", runtime.class_path, "kafka.admin.ConfigCommand"]
        where = ["--bootstrap-server", ",".join(described["bootstrap"]), "--command-config", str(properties)]
        what = ["--alter", "--entity-type", "topics", "--entity-name", topic, "--add-config", setting]
        subprocess.run([*tool, *where, *what], check=True, capture_output=True, timeout=60)
