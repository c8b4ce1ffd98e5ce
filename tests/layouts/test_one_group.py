"""One group id at both of two active sites, and group ids that are no names, on real servers."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from orchestrator.estate.live.connections import connect_cluster
from orchestrator.evidence.origins import read_ledgers
from orchestrator.simulation.running import Simulation
from orchestrator.values import TopicPartition
from tests.faults.estate import Estate
from tests.layouts.test_at_work import FILES, at_work, compared

pytestmark = [pytest.mark.drills, pytest.mark.timeout(900), pytest.mark.usefixtures("own_state")]

ONE_GROUP = FILES / "one-group.yaml"
_STEADY_S = 5.0
_SYNCS_S = 8.0
"""Several rounds of a group sync, which comes every second."""
_AUDITS = """\
  - {name: audit, cluster: west, kind: group, topics: [orders], landing: packing-east, principal: "User:audit"}
  - {name: audit-east, cluster: east, kind: group, group: audit, topics: [west.orders], principal: "User:audit-east"}
failover:
"""


def test_a_group_of_both_sites_goes_and_comes_home_and_reads_each_record_once(tmp_path: Path) -> None:
    """Twice there and back under load; who stays pauses for no more than ten seconds, and is not moved."""
    estate = Estate(tmp_path / "state")
    with at_work(ONE_GROUP) as simulation:
        topology = simulation.topology
        for _ in range(2):
            for verb, leaves, to in (("switchover", "west", "east"), ("failback", "east", "west")):
                words = ("--from", leaves) if verb == "switchover" else ()
                estate.must(verb, *words, "--to", to, "--yes")
                told = read_ledgers(topology, simulation.ledgers)
                assert {told.at[name] for name in ("reporting", "packing-west")} == {to}
                time.sleep(_STEADY_S)
        for result in estate.results():
            pauses = result["pauses"]
            print(f"{result['plan']['verb']}: {pauses}")  # noqa: T201 - a figure that is stated elsewhere
            if result["plan"]["verb"] == "failback":
                assert pauses == []
            else:
                (pause,) = pauses
                assert pause["consumers"] == ["packing-east"]
                assert pause["seconds"] > 0
        found = compared(simulation, estate.results())
        assert found.problems() == []
        assert all(one.expected == one.read > 0 for one in found.readings)


def test_a_lost_site_is_left_beside_its_group_and_comes_home(tmp_path: Path) -> None:
    """Nothing is skipped, and who stays reads nothing twice."""
    estate = Estate(tmp_path / "state")
    with at_work(ONE_GROUP) as simulation:
        estate.must("sim", "kill", "west")
        time.sleep(_STEADY_S)
        estate.must("failover", "--to", "east", "--attest-down", "west", "--yes")
        (pause,) = estate.results()[-1]["pauses"]
        print(f"failover: {pause}")  # noqa: T201 - a figure that is stated elsewhere
        assert pause["seconds"] > 0
        time.sleep(_STEADY_S)
        estate.must("sim", "restart", "west")
        estate.must("failback", "--to", "west", "--yes")
        time.sleep(_STEADY_S)
        found = compared(simulation, estate.results())
        for one in found.readings:
            assert (one.skipped, one.lost, one.uncalled) == ((), (), ()), one
            assert one.consumer != "packing-east" or one.again == ()


def test_a_group_that_is_restarted_while_group_sync_runs_skips_nothing(tmp_path: Path) -> None:
    """The sync moves idle groups forward, but not one that the file has there; drift sees to that."""
    estate, file = Estate(tmp_path / "state"), tmp_path / "audits.yaml"
    file.write_text(ONE_GROUP.read_text(encoding="utf-8").replace("failover:\n", _AUDITS), encoding="utf-8")
    with at_work(file) as simulation:
        east = simulation.sites["east"]
        east.stop(["consumer-audit-east"])
        stood, synced = _at(simulation, "audit"), _at(simulation, "reporting.v2")
        time.sleep(_SYNCS_S)
        assert _at(simulation, "reporting.v2") > synced  # the sync is at work
        assert _at(simulation, "audit") == stood
        east.start(["consumer-audit-east"])

        connect, checkpoints = connect_cluster(simulation.topology, "east"), "west-to-east-checkpoint"
        config = connect.configuration(checkpoints)
        excluded = config["groups.exclude"].removesuffix(",audit,packing")
        assert excluded != config["groups.exclude"]
        connect.configure(checkpoints, {**config, "groups.exclude": excluded})
        drift = estate.command("drift", str(simulation.topology_path))
        assert drift.returncode == 3, (drift.stdout, drift.stderr)
        assert "groups.exclude" in drift.stdout
        estate.must("apply", str(simulation.topology_path), "--yes")
        assert connect.configuration(checkpoints)["groups.exclude"] == config["groups.exclude"]

        found = compared(simulation)
        assert found.problems() == []
        assert all(one.expected == one.read > 0 for one in found.readings)


def _at(simulation: Simulation, group: str) -> int:
    """The sum of a group's positions in the copies at east."""
    partitions = [TopicPartition("west.orders", number) for number in range(2)]
    committed = simulation.cluster("east").committed([group])[group]
    return sum(committed.get(tp, 0) for tp in partitions)
