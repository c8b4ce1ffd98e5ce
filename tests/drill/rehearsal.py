"""Runs a drill as a user does, and reads what it leaves."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import yaml

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "topologies" / "active-passive.yaml"
_TIMEOUT_S = 900


@dataclass(frozen=True)
class Rehearsal:
    """One drill that has ended."""

    status: int
    stderr: str
    folder: Path
    report: dict[str, Any]

    @property
    def topics(self) -> dict[str, Any]:
        """Evidence of every topic that was produced at the lost side."""
        return dict(self.report["clusters"]["west"]["topics"])

    @property
    def groups(self) -> list[dict[str, Any]]:
        """Rows of consumer groups on mirrored partitions."""
        rows = [row for row in self.report["consumers"] if row["kind"] == "group"]
        return [row for row in rows if row["source_offset"] is not None]


def rehearse(
    tmp_path: Path,
    *options: str,
    max_loss_records: int | None = None,
    rto_s: float | None = None,
    file: Path = EXAMPLE,
    timeout_s: float = _TIMEOUT_S,
    load: str | None = "small",
) -> Rehearsal:
    """Run `dcctl drill` in a state folder of its own, with the load `small` unless told otherwise.

    `rto_s`: how long clients may be out of service, where that is not what a test is about.
    """
    topology = file
    if max_loss_records is not None or rto_s is not None:
        data = yaml.safe_load(file.read_text(encoding="utf-8"))
        if max_loss_records is not None:
            data["failover"]["max_loss"] = {"records": max_loss_records}
        if rto_s is not None:
            data["failover"]["objectives"] = {"rto_s": rto_s}
        topology = tmp_path / "topology.yaml"
        topology.write_text(yaml.safe_dump(data), encoding="utf-8")
    out, state = tmp_path / "drills", tmp_path / "state"
    command = [sys.executable, "-m", "orchestrator.cli.main", "drill", str(topology)]
    done = subprocess.run(
        [*command, *(["--scenario", load] if load else []), "--out", str(out), "--json", *options],
        env={**os.environ, "DCCTL_STATE_DIR": str(state)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )
    folders = sorted(out.glob("*"))
    assert folders, done.stderr
    file = folders[-1] / "report.json"
    report = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    return Rehearsal(done.returncode, done.stderr, folders[-1], report)


def processes_of(state: Path) -> list[str]:
    """Command lines of all processes that belong to a simulation below a state folder."""
    found = []
    for process in psutil.process_iter():
        try:
            folder = process.environ().get("DCCTL_SIMULATION", "")
            if folder.startswith(str(state)):
                found.append(" ".join(process.cmdline()))
        except (psutil.AccessDenied, psutil.NoSuchProcess, psutil.ZombieProcess):
            continue
    return found
