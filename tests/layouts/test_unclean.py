"""The replicas in sync of a real partition are all lost with a site: whoever has most leads by a person's word."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import pytest

from orchestrator.cli.main import run
from orchestrator.errors import ClusterError
from orchestrator.ports.admin_values import NewTopic
from orchestrator.simulation.bring_up import simulation_up
from orchestrator.simulation.running import Simulation
from orchestrator.topology.loading import load_topology
from orchestrator.values import TopicPartition
from tests.layouts.observed import records_read
from tests.layouts.test_evacuated import awaited, placed
from tests.layouts.writes import Writer

ROOT = Path(__file__).parents[2]
NARROW = TopicPartition("narrow", 0)
ASSIGNED = (1, 3, 2, 4)
_WITHIN_S = 120.0

pytestmark = [pytest.mark.drills, pytest.mark.timeout(600), pytest.mark.usefixtures("own_state")]


@pytest.mark.parametrize("layout", ["stretched-2.5dc", "stretched-2.5dc-kraft"])
def test_the_longest_log_leads_though_it_is_not_first_and_what_is_lost_was_said(
    layout: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Broker 3 fell behind first, then broker 4; both stand behind the lost brokers, and 3 before 4."""
    simulation = simulation_up(load_topology(ROOT / "topologies" / f"{layout}.yaml"), watch=False)
    file = str(simulation.topology_path)
    lost = ["failover", file, "--attest-down", "dc1", "--lower-min-insync", "all", "--yes"]
    try:
        with simulation.cluster("main") as kafka:
            settings = {"min.insync.replicas": "2"}
            kafka.create_topics({"narrow": NewTopic(assignment=(ASSIGNED,), config=settings)})
        with Writer(simulation.client_properties("main", "operator"), [NARROW]) as writer:
            for behind, left in (("broker-3", {1, 2, 4}), ("broker-4", {1, 2})):
                assert not writer.await_acks(time.time() + 3, _WITHIN_S)
                simulation.site("dc2").pause([behind])
                awaited(lambda left=left: in_sync(simulation) == left, _WITHIN_S)
            # Both have acknowledged more by now than either of them has.
            assert not writer.await_acks(time.time() + 3, _WITHIN_S)
            simulation.site("dc1").kill()
            simulation.site("dc2").resume(["broker-3", "broker-4"])
            awaited(lambda: refused(lost, capsys), _WITHIN_S)
            assert run([*lost, "--accept-unclean", "0"]) == 4
            assert "would be lost, and 0 are accepted" in capsys.readouterr().err
            assert run([*lost, "--accept-unclean", "all", "--dry-run", "--json"]) == 0
            plan = json.loads(capsys.readouterr().out)
            said = next(g for g in plan["plan"]["gates"] if g["id"] == "clean-leaders")["measured"]
            assert run([*lost, "--accept-unclean", "all"]) == 0, "".join(capsys.readouterr())
            topic = placed(simulation).topics["narrow"]
            assert (topic.leaders[0], topic.replicas[0]) == (4, (4, 1, 3, 2))
            assert not writer.await_acks(time.time(), _WITHIN_S)
            simulation.site("dc1").restart()
            awaited(lambda: run(["failback", file, "--yes"]) == 0, _WITHIN_S)
            after = placed(simulation).topics["narrow"]
            assert (after.leaders[0], after.replicas[0]) == (1, ASSIGNED)
            assert not writer.await_acks(time.time(), _WITHIN_S)
        acked = writer.ledger.numbers()
        missing = acked[NARROW] - records_read(simulation, "main", acked)[NARROW]
        about = int(said.rpartition("about ")[2].partition(" ")[0].replace(",", ""))
        print(
            f"{layout}: {len(acked[NARROW]):,} acknowledged, {len(missing)} lost, about {about} were said to be",
            file=sys.__stderr__,
        )
        assert 0 < len(missing) <= about
        assert missing == set(range(min(missing), max(missing) + 1)), "what is lost is one tail"
    finally:
        simulation.down()


def in_sync(simulation: Simulation) -> set[int]:
    """Of the partition; nobody while a broker that stands still is the controller."""
    try:
        return set(simulation.cluster("main").placement_as_told().topics["narrow"].isr[0])
    except ClusterError:
        return set()


def refused(command: list[str], capsys: pytest.CaptureFixture[str]) -> bool:
    """By the gate about leaders: until sessions have ended it is another one, or nobody can tell."""
    capsys.readouterr()
    status, said = run(command), capsys.readouterr().err
    return status == 4 and "clean-leaders refused: no replica in sync is up" in said and "narrow-0" in said
