"""Leaders off a site of a real stretched cluster, under load, and back; and preferred leaders by themselves."""

from __future__ import annotations

import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.cli.main import run
from orchestrator.ports.servers import Placement
from orchestrator.simulation.bring_up import simulation_up
from orchestrator.simulation.running import Simulation
from orchestrator.topology.loading import load_topology
from tests.layouts.observed import assert_nothing_is_missing, topic_partitions
from tests.layouts.writes import Writer

ROOT = Path(__file__).parents[2]
_WITHIN_S = 60.0

pytestmark = [pytest.mark.drills, pytest.mark.timeout(400), pytest.mark.usefixtures("own_state")]


@pytest.mark.parametrize("layout", ["stretched-2.5dc", "stretched-2.5dc-kraft"])
def test_a_site_leads_nothing_and_back_everything_is_as_before(
    layout: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """No record is lost, and nobody waits longer than for a broker that is stopped as it leads."""
    simulation = simulation_up(load_topology(ROOT / "topologies" / f"{layout}.yaml"), watch=False)
    file, site = str(simulation.topology_path), simulation.site("dc1")
    gaps = dict[str, float]()
    try:
        partitions = topic_partitions(simulation, "main")
        # About 2,000 records a second, each once.
        operator = simulation.client_properties("main", "operator") | {"enable.idempotence": "true"}
        began_s = time.time()
        with Writer(operator, partitions, pause_s=len(partitions) / 2_000) as writer:

            def done(what: str, act: Callable[[], object]) -> None:
                """Do it, and note the longest time between two acknowledgements until all are written again."""
                writer.ledger.longest_gap_s = 0.0
                act()
                assert not writer.await_acks(time.time(), _WITHIN_S)
                gaps[what] = writer.ledger.longest_gap_s

            assert not writer.await_acks(time.time(), _WITHIN_S)
            before = placed(simulation)
            for broker in ("broker-1", "broker-2"):
                done(f"{broker} stopped, which leads", lambda broker=broker: site.stop([broker]))
                site.start([broker])
                awaited(lambda: all_in_sync(placed(simulation)))
                moved("leaders", file, "--balance")
                assert led_at(placed(simulation)) == led_at(before)

            done("evacuation", lambda: moved("switchover", file, "--evacuate", "dc1"))
            assert led_at(placed(simulation)).keys() == {"dc2"}
            assert "no partition of main is led at dc1" in moved("switchover", file, "--evacuate", "dc1")

            done("a broker of the site stopped", lambda: site.stop(["broker-1"]))
            assert run(["failback", file, "--yes"]) == 4
            assert "replicas of main are not in sync" in capsys.readouterr().err
            site.start(["broker-1"])
            awaited(lambda: all_in_sync(placed(simulation)))

            done("return", lambda: moved("failback", file))
            after = placed(simulation)
            assert {name: topic.replicas for name, topic in after.topics.items()} == {
                name: topic.replicas for name, topic in before.topics.items()
            }
            assert led_at(after) == led_at(before)
            ended_s = time.time()
        assert_nothing_is_missing(simulation, "main", writer)
        rate = writer.ledger.count / (ended_s - began_s)
        told = ", ".join(f"{what} {gap_s:.2f} s" for what, gap_s in gaps.items())
        print(
            f"{layout}: {writer.ledger.count:,} records acknowledged, {rate:,.0f} a second, none missing; longest time between two "
            f"acknowledgements of a partition: {told}",
            file=sys.__stderr__,
        )
    finally:
        simulation.down()


@pytest.mark.parametrize("layout", ["stretched-3dc", "stretched-3dc-kraft"])
def test_preferred_leaders_lead_again(layout: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A broker was away: what it led is led by others until somebody says so."""
    simulation = simulation_up(load_topology(ROOT / "topologies" / f"{layout}.yaml"), watch=False)
    file = str(simulation.topology_path)
    try:
        before = led_at(placed(simulation))
        simulation.site("dc1").stop(["broker-1"])
        awaited(lambda: led_at(placed(simulation)).keys() == {"dc2", "dc3"})
        assert run(["leaders", file, "--balance", "--yes"]) == 0
        assert "instead of 1, which is down" in capsys.readouterr().out
        simulation.site("dc1").start(["broker-1"])
        awaited(lambda: all_in_sync(placed(simulation)))
        assert run(["leaders", file, "--balance", "--yes"]) == 0
        assert led_at(placed(simulation)) == before
        assert run(["leaders", file]) == 0
        assert "no partition led by another replica than the preferred one" in capsys.readouterr().out
    finally:
        simulation.down()


def moved(*words: str) -> str:
    """A command that is done, by a process of its own: whoever writes meanwhile does not wait for it."""
    command = [sys.executable, "-m", "orchestrator.cli.main", *words, "--yes"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    return done.stdout


def placed(simulation: Simulation) -> Placement:
    """Who has and who leads each partition."""
    return simulation.cluster("main").placement()


def led_at(placement: Placement) -> Counter[str]:
    """Partitions by the site that leads them."""
    leaders = (leader for topic in placement.topics.values() for leader in topic.leaders)
    return Counter(placement.racks.get(leader, "none") for leader in leaders)


def all_in_sync(placement: Placement) -> bool:
    """Whether every replica of every partition is."""
    return all(
        set(replicas) == set(in_sync) & placement.living
        for topic in placement.topics.values()
        for replicas, in_sync in zip(topic.replicas, topic.isr, strict=True)
    )


def awaited(condition: Callable[[], bool], within_s: float = _WITHIN_S) -> None:
    """It comes, however busy the machine is."""
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.5)
