"""One of two sites of a real stretched cluster is lost under load, with the quorum: `failover`, and `failback`."""

from __future__ import annotations

import hashlib
import sys
import time
from pathlib import Path

import pytest

from orchestrator.cli.main import run
from orchestrator.ports.admin_values import NewTopic
from orchestrator.simulation.bring_up import simulation_up
from orchestrator.simulation.estate import Server
from orchestrator.simulation.running import Simulation
from orchestrator.topology.loading import load_topology
from orchestrator.topology.model import Topology
from orchestrator.values import Acl
from tests.layouts.observed import assert_nothing_is_missing, topic_partitions
from tests.layouts.test_evacuated import awaited, led_at, placed
from tests.layouts.test_site_lost import own_settings
from tests.layouts.variants import VARIANTS
from tests.layouts.writes import Writer

ROOT = Path(__file__).parents[2]
_WITHIN_S = 120.0
_NO_WRITE_S = 8.0
_TIMES = 10
KEY = "min.insync.replicas"

pytestmark = [pytest.mark.drills, pytest.mark.timeout(900), pytest.mark.usefixtures("own_state")]


@pytest.mark.parametrize("layout", ["stretched-2dc", "stretched-2dc-kraft"])
def test_the_survivors_become_the_quorum_and_all_is_as_before_once_the_site_is_back(
    layout: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing acknowledged is missing; files of voters are byte for byte what they were."""
    simulation = simulation_up(load_topology(ROOT / "topologies" / f"{layout}.yaml"), watch=False)
    file = str(simulation.topology_path)
    try:
        partitions = topic_partitions(simulation, "main")
        with Writer(simulation.client_properties("main", "operator"), partitions) as writer:
            assert not writer.await_acks(time.time(), _WITHIN_S)
            before, settings, files = placed(simulation), own_settings(simulation), voters_files(simulation)
            assert run(["failover", file, "--attest-down", "dc1", "--yes"]) == 4
            assert "take connections" in capsys.readouterr().err
            simulation.site("dc1").kill()
            assert len(writer.await_acks(time.time() + 1, _NO_WRITE_S)) == len(partitions)

            decided_at_s, last_s = time.time(), min(writer.ledger.acked_at_s.values())
            words = ["--attest-down", "dc1", "--lower-min-insync", "all", "--yes"]
            assert run(["failover", file, *words]) == 0, said(capsys)
            ended_after_s = time.time() - decided_at_s
            assert not writer.await_acks(decided_at_s, _WITHIN_S)
            written_after_s = writer.ledger.longest_gap_s - (decided_at_s - last_s)
            assert run(["failover", file, *words]) == 0
            assert "every topic of main can be written with acks=all" in capsys.readouterr().out

            simulation.site("dc1").restart()
            back_at_s = time.time()
            assert run(["failback", file, "--yes"]) == 0, said(capsys)
            back_after_s = time.time() - back_at_s
            after = placed(simulation)
            assert own_settings(simulation) == settings
            assert {n: t.replicas for n, t in after.topics.items()} == {
                n: t.replicas for n, t in before.topics.items()
            }
            assert led_at(after) == led_at(before)
            assert voters_files(simulation) == files
            assert not writer.await_acks(time.time(), _WITHIN_S)
            awaited(lambda: run(["failback", file, "--yes"]) == 0, _WITHIN_S)
        assert_nothing_is_missing(simulation, "main", writer)
        print(
            f"{layout}: {writer.ledger.count:,} records acknowledged, none missing; decided, every partition was "
            f"written after {written_after_s:.1f} s, the command ended after {ended_after_s:.1f} s; "
            f"failback took {back_after_s:.1f} s",
            file=sys.__stderr__,
        )
    finally:
        simulation.down()


@pytest.mark.timeout(2400)
@pytest.mark.parametrize("layout", ["stretched-2dc", "stretched-2dc-kraft", "zookeeper-majority"])
def test_ten_times_in_a_row_what_was_changed_last_is_there(
    layout: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A topic, a setting and a rule of the last second before each loss; the sites take turns."""
    simulation = simulation_up(topology_of(layout), watch=False)
    file, files = str(simulation.topology_path), voters_files(simulation)
    took_s = []
    try:
        for cycle in range(_TIMES):
            lost, topic = ("dc1", "dc2")[cycle % 2], f"newest-{cycle}"
            rule = Acl(f"User:newest-{cycle}", "WRITE", "ALLOW", "TOPIC", topic, "LITERAL", "*")
            with simulation.cluster("main") as kafka:
                kafka.create_topics({topic: NewTopic(partitions=2, replicas=4, config={KEY: "2"})})
                kafka.alter_configs("topic", {"orders": {"retention.ms": str(600_000 + cycle)}})
                kafka.create_acls(frozenset({rule}))
            simulation.site(lost).kill()
            began_s = time.monotonic()
            assert (
                run(["failover", file, "--attest-down", lost, "--lower-min-insync", "all", "--yes"]) == 0
            ), said(capsys)
            took_s.append(time.monotonic() - began_s)
            with simulation.cluster("main") as kafka:
                set_now = kafka.configs("topic", [topic, "orders"])
                assert set_now[topic] == {KEY: "2"}
                assert set_now["orders"]["retention.ms"] == str(600_000 + cycle)
                assert rule in (kafka.acls() or ())
            simulation.site(lost).restart()
            assert run(["failback", file, "--yes"]) == 0, said(capsys)
            assert voters_files(simulation) == files
        print(
            f"{layout}: {_TIMES} times there and back; failover {min(took_s):.1f} to {max(took_s):.1f} s",
            file=sys.__stderr__,
        )
    finally:
        simulation.down()


def topology_of(layout: str) -> Topology:
    """An example, or a variant of two sites."""
    return VARIANTS.get(layout) or load_topology(ROOT / "topologies" / f"{layout}.yaml")


def said(capsys: pytest.CaptureFixture[str]) -> str:
    """Whole, where an assertion would cut it."""
    found = "".join(capsys.readouterr())
    sys.stderr.write(found)
    return found[-2000:]


def voters_files(simulation: Simulation) -> dict[str, str]:
    """The digest of each voter's configuration."""
    named: list[tuple[Server, str]] = [(one, "zoo.cfg") for one in simulation.estate.zookeepers_of("main")]
    named += [(one, "server.properties") for one in simulation.estate.controllers_of("main")]
    return {
        voter.program: hashlib.sha256(
            simulation.site(voter.dc).files.read(f"{voter.program}/{name}")
        ).hexdigest()
        for voter, name in named
    }
