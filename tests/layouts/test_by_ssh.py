"""Hosts of a real stretched cluster, reached by SSH alone: each playbook twice, in check mode, and a site lost."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from orchestrator.cli.main import run
from orchestrator.simulation.bring_up import simulation_up
from orchestrator.simulation.folders import Folders
from orchestrator.simulation.running import Simulation
from orchestrator.simulation.workload.install import install_workload, start_workload
from orchestrator.simulation.workload.scenario import TINY
from orchestrator.topology.loading import load_topology
from tests.adapters.played import played
from tests.adapters.ssh_hosts import MISSING, SSHD, SshHost, ssh_hosts
from tests.layouts.test_evacuated import all_in_sync, awaited, placed

_WITHIN_S = 120.0

pytestmark = [
    pytest.mark.drills,
    pytest.mark.timeout(900),
    pytest.mark.usefixtures("own_state"),
    pytest.mark.skipif(SSHD is None, reason=MISSING),
]


@dataclass(frozen=True)
class Reached:
    """A simulation whose hosts are reached by SSH: `hosts` by site."""

    simulation: Simulation
    hosts: Mapping[str, SshHost]

    @property
    def inventory(self) -> Path:
        return Folders(self.simulation.folder).inventory

    @property
    def file(self) -> str:
        return str(self.simulation.topology_path)

    def servers(self, dc: str, kind: str) -> list[str]:
        """Those at a site that are brokers, or controllers."""
        found = yaml.safe_load(self.inventory.read_text())["all"]["hosts"]
        (host,) = (one for one in found.values() if one["dc"] == dc)
        return [name for name in host["dcctl_servers"] if kind in name]

    def runs(self, dc: str, program: str) -> bool:
        return self.simulation.site(dc).states().get(program) == "RUNNING"


@pytest.fixture
def reached(tmp_path: Path) -> Iterator[Reached]:
    """With its applications at work. No host is reached without SSH any more."""
    topology = load_topology(Path(__file__).with_name("two-halves.yaml"))
    simulation = simulation_up(topology, watch=False)
    try:
        install_workload(simulation, TINY)
        for dc in topology.datacenters:
            start_workload(simulation, dc)
        with ssh_hosts(tmp_path / "ssh", topology.datacenters) as hosts:
            path = Folders(simulation.folder).inventory
            known = yaml.safe_load(path.read_text())
            for its in known["all"]["hosts"].values():
                assert its.pop("ansible_connection") == "local"
                its.update(hosts[its["dc"]].connection)
            path.write_text(yaml.safe_dump(known))
            yield Reached(simulation, hosts)
    finally:
        simulation.down()


def twice(at: Reached, name: str, words: Mapping[str, Any]) -> None:
    """In check mode it says what would change, then it does, and the second time nothing is left to do."""
    assert played(name, at.inventory, words, check=True).has_changed, (name, words)
    assert played(name, at.inventory, words).has_changed, (name, words)
    assert not played(name, at.inventory, words).has_changed, (name, words)


def test_each_playbook_twice_and_in_check_mode(reached: Reached) -> None:
    """Nothing changes in check mode, nor the second time; by SSH, as on hosts of an estate."""
    at = reached
    dc1 = {"datacenters": ["dc1"]}
    awaited(lambda: at.runs("dc1", "producer-checkout"), _WITHIN_S)

    clients = {**dc1, "clients": ["producer-checkout"]}
    assert played("stop-clients.yml", at.inventory, clients, check=True).has_changed
    assert at.runs("dc1", "producer-checkout")
    twice(at, "stop-clients.yml", clients)
    assert not at.runs("dc1", "producer-checkout")
    twice(at, "start-clients.yml", clients)
    assert at.runs("dc1", "producer-checkout")

    broker = at.servers("dc1", "broker")[-1]
    assert played("services.yml", at.inventory, {**dc1, "stop": [broker]}, check=True).has_changed
    assert at.runs("dc1", broker)
    twice(at, "services.yml", {**dc1, "stop": [broker], "disable": []})
    assert not at.runs("dc1", broker)
    twice(at, "services.yml", {**dc1, "start": [broker], "enable": []})
    assert at.runs("dc1", broker)

    voter = at.servers("dc1", "controller")[-1]
    path = Path(
        yaml.safe_load(at.inventory.read_text())["all"]["hosts"]["dc1"]["dcctl_servers"][voter]["config"]
    )
    before = path.read_bytes()
    lines = before.decode().splitlines()
    number, line = next((n, one) for n, one in enumerate(lines, 1) if one.startswith("log"))
    change = {
        "path": str(path),
        "sha256": hashlib.sha256(before).hexdigest(),
        "changes": [{"number": number, "was": line, "now": line.replace("=", "= ", 1)}],
    }
    stop = {**dc1, "stop": [voter], "changes": {voter: change}, "kept_as": ".kept"}
    assert played("voters.yml", at.inventory, stop, check=True).has_changed
    assert (at.runs("dc1", voter), path.read_bytes()) == (True, before)
    twice(at, "voters.yml", stop)
    assert not at.runs("dc1", voter)
    assert path.read_bytes() != before
    assert (path.parent / f"{path.name}.kept").read_bytes() == before
    twice(at, "voters.yml", {**dc1, "start": [voter], "await_leader_s": 30})
    assert at.runs("dc1", voter)
    path.write_bytes(before)


def test_a_site_is_lost_with_its_hosts_and_all_is_as_before_once_they_are_back(
    reached: Reached, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By `dcctl failover` and `failback` as they are; a host that is gone costs seconds, and is named."""
    at, simulation = reached, reached.simulation
    before = placed(simulation)
    simulation.site("dc1").kill()
    at.hosts["dc1"].stop()
    words = ["failover", at.file, "--attest-down", "dc1", "--lower-min-insync", "all", "--yes"]
    assert run(words) == 0, capsys.readouterr().err
    said, seconds = outcomes(tmp_path / "state", "site-loss")["stop-services"]
    assert "dc1 does not answer: attested to be down" in said
    assert seconds < 15
    assert at.runs("dc2", "producer-checkout")

    simulation.site("dc1").restart()
    at.hosts["dc1"].start()
    awaited(lambda: run(["failback", at.file, "--yes"]) == 0, _WITHIN_S)
    assert all_in_sync(placed(simulation))
    after = placed(simulation)
    assert {n: t.replicas for n, t in after.topics.items()} == {
        n: t.replicas for n, t in before.topics.items()
    }
    assert at.runs("dc1", "producer-checkout")
    assert not at.runs("dc2", "producer-checkout")
    print(
        f"by SSH: a host that is gone cost {seconds:.1f} s, beside the rest of the run", file=sys.__stderr__
    )


def outcomes(state: Path, verb: str) -> dict[str, tuple[str, float]]:
    """By step of the newest run of a verb what it said as it ended, and its seconds."""
    newest = max(state.glob(f"runs/*-{verb}-*/journal.jsonl"), key=lambda path: path.stat().st_mtime)
    rows = map(json.loads, newest.read_text().splitlines())
    return {
        row["step"]: (row["message"], row["data"]["seconds"]) for row in rows if row["kind"] == "step-outcome"
    }
