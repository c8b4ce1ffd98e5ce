"""One of two sites is lost with the quorum, and the host of one surviving ZooKeeper server does not answer."""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from orchestrator.cli.main import run
from orchestrator.ports.admin_values import NewTopic
from orchestrator.simulation.bring_up import simulation_up
from orchestrator.simulation.running import Simulation
from orchestrator.topology.loading import load_topology
from tests.layouts.observed import assert_nothing_is_missing, topic_partitions
from tests.layouts.test_evacuated import all_in_sync, awaited, led_at, placed
from tests.layouts.test_quorum_forced import KEY, ROOT, said, voters_files
from tests.layouts.test_site_lost import own_settings
from tests.layouts.writes import Writer

_WITHIN_S = 120.0
OUT = "zookeeper-6"
WORDS = ("--attest-down", "dc1", "--lower-min-insync", "all", "--yes")

pytestmark = [pytest.mark.drills, pytest.mark.timeout(900), pytest.mark.usefixtures("own_state")]


class Hosts:
    """A topology file whose inventory has a host of its own for one voter; whether that answers is changed."""

    def __init__(self, simulation: Simulation, folder: Path) -> None:
        data = yaml.safe_load(simulation.topology_path.read_text(encoding="utf-8"))
        self._hosts = yaml.safe_load(Path(data["inventory"]).read_text(encoding="utf-8"))
        self._inventory, self.file = folder / "hosts.yaml", folder / simulation.topology_path.name
        self.file.write_text(yaml.safe_dump({**data, "inventory": str(self._inventory)}), encoding="utf-8")
        site = self._hosts["all"]["hosts"]["dc2"]
        self._own = {**site, "dcctl_servers": {OUT: site["dcctl_servers"].pop(OUT)}}
        self.answers(True)

    def answers(self, does: bool) -> None:
        """Nobody takes connections at that port otherwise."""
        away = {"ansible_connection": "ssh", "ansible_host": "127.0.0.1", "ansible_port": 1}
        every: dict[str, Any] = {**self._hosts["all"]["hosts"], "k6.dc2": self._own | ({} if does else away)}
        self._inventory.write_text(yaml.safe_dump({"all": {"hosts": every}}), encoding="utf-8")


@pytest.fixture
def simulation() -> Iterator[Simulation]:
    """Groups of three servers at each of two sites."""
    found = simulation_up(load_topology(ROOT / "topologies" / "stretched-2dc.yaml"), watch=False)
    try:
        yield found
    finally:
        found.down()


def test_two_of_three_survivors_go_on_and_all_are_one_quorum_again(
    simulation: Simulation, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What was changed in the last second is there, writes go on, and files are byte for byte what they were."""
    hosts, files = Hosts(simulation, tmp_path), voters_files(simulation)
    file, partitions = str(hosts.file), topic_partitions(simulation, "main")
    with Writer(simulation.client_properties("main", "operator"), partitions) as writer:
        assert not writer.await_acks(time.time(), _WITHIN_S)
        with simulation.cluster("main") as kafka:
            kafka.create_topics({"newest": NewTopic(partitions=2, replicas=4, config={KEY: "2"})})
        before, settings = placed(simulation), own_settings(simulation)
        simulation.site("dc1").kill()
        hosts.answers(False)
        began_s = time.time()
        assert run(["failover", file, *WORDS]) == 0, said(capsys)
        shown = " ".join("".join(capsys.readouterr()).split())
        assert "become its whole metadata quorum, without voter 6 of dc2" in shown
        print(shown, f"failover took {time.time() - began_s:.1f} s", file=sys.__stderr__)
        assert not writer.await_acks(time.time(), _WITHIN_S)
        with simulation.cluster("main") as kafka:
            assert kafka.configs("topic", ["newest"])["newest"] == {KEY: "2"}
        zoo_cfg = simulation.site("dc2").files.read(f"{OUT}/zoo.cfg")
        assert hashlib.sha256(zoo_cfg).hexdigest() == files[OUT]
        found = status(file, capsys)
        assert found["voters_left_out"] == {"dc2": [6]}
        assert "a voter at dc2" in str(found["margin"])
        assert {row["server"]: row["state"] for row in found["guards"]}[OUT] == "held"

        hosts.answers(True)
        simulation.site("dc1").restart()
        assert run(["failback", file, "--yes"]) == 0, said(capsys)
        assert voters_files(simulation) == files
        after = placed(simulation)
        assert (own_settings(simulation), led_at(after)) == (settings, led_at(before))
        assert not writer.await_acks(time.time(), _WITHIN_S)
        assert status(file, capsys)["voters_left_out"] == {}
    assert_nothing_is_missing(simulation, "main", writer)


def test_a_host_that_stays_away_does_not_keep_the_site_from_coming_back(
    simulation: Simulation, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its guard starts its server once all are one quorum again: its file was never changed."""
    hosts, files = Hosts(simulation, tmp_path), voters_files(simulation)
    file = str(hosts.file)
    simulation.site("dc1").kill()
    hosts.answers(False)
    assert run(["failover", file, *WORDS]) == 0, said(capsys)
    simulation.site("dc1").restart()
    assert run(["failback", file, "--yes"]) == 0, said(capsys)
    assert "but for voter 6 of dc2" in " ".join("".join(capsys.readouterr()).split())
    hosts.answers(True)
    awaited(lambda: status(file, capsys)["sites"][1]["voters_up"] == 3, _WITHIN_S)
    assert voters_files(simulation) == files
    awaited(lambda: all_in_sync(placed(simulation)), _WITHIN_S)
    assert run(["failback", file, "--yes"]) == 0


def status(file: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """Of the one cluster."""
    capsys.readouterr()
    run(["status", file, "--json"])
    found: dict[str, Any] = json.loads(capsys.readouterr().out)["clusters"][0]
    return found
