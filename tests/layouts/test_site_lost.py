"""A site of a real stretched cluster is lost under load, the quorum goes on; `failover`, and `failback`."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from orchestrator.cli.main import run
from orchestrator.simulation.bring_up import simulation_up
from orchestrator.simulation.running import Simulation
from orchestrator.topology.loading import load_topology
from tests.layouts.observed import assert_nothing_is_missing, topic_partitions
from tests.layouts.test_evacuated import all_in_sync, awaited, led_at, placed
from tests.layouts.writes import Writer

ROOT = Path(__file__).parents[2]
_WITHIN_S = 120.0
_NO_WRITE_S = 8.0

pytestmark = [pytest.mark.drills, pytest.mark.timeout(500), pytest.mark.usefixtures("own_state")]


@pytest.mark.parametrize("layout", ["stretched-2.5dc", "stretched-2.5dc-kraft"])
def test_writes_go_on_by_a_persons_word_and_all_is_as_before_once_the_site_is_back(
    layout: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without the word topics that prefer consistency wait, as was said; nothing acknowledged is missing."""
    simulation = simulation_up(load_topology(ROOT / "topologies" / f"{layout}.yaml"), watch=False)
    file = str(simulation.topology_path)
    try:
        partitions = topic_partitions(simulation, "main")
        with Writer(simulation.client_properties("main", "operator"), partitions) as writer:
            assert not writer.await_acks(time.time(), _WITHIN_S)
            before, settings = placed(simulation), own_settings(simulation)
            assert run(["failover", file, "--attest-down", "dc1", "--yes"]) == 4
            assert "brokers of main at dc1 are up" in capsys.readouterr().err
            simulation.site("dc1").kill()

            # Until the cluster takes its brokers for dead they are up, or nobody can tell.
            awaited(lambda: run(["failover", file, "--attest-down", "dc1", "--yes"]) == 0, _WITHIN_S)
            assert "main goes on without dc1; writes to" in capsys.readouterr().out
            waiting = {partition.topic for partition in writer.await_acks(time.time(), _NO_WRITE_S)}
            assert waiting == {"orders"}
            assert own_settings(simulation) == settings

            decided_at_s = time.time()
            words = ["--attest-down", "dc1", "--lower-min-insync", "all", "--yes"]
            assert run(["failover", file, *words]) == 0, capsys.readouterr().err
            assert not writer.await_acks(decided_at_s, _WITHIN_S)
            written_after_s = time.time() - decided_at_s
            assert run(["failback", file, "--yes"]) == 4
            assert "no server of main at dc1 is back" in capsys.readouterr().err

            simulation.site("dc1").restart()
            # The guards of its servers start none of them until the ensemble says so.
            assert list(simulation.await_site("dc1", lambda _stage, _detail: None)) == ["main"]
            awaited(lambda: run(["failback", file, "--yes"]) == 0, _WITHIN_S)
            assert all_in_sync(placed(simulation))
            after = placed(simulation)
            assert own_settings(simulation) == settings
            assert {n: t.replicas for n, t in after.topics.items()} == {
                n: t.replicas for n, t in before.topics.items()
            }
            assert led_at(after) == led_at(before)
            assert not writer.await_acks(time.time(), _WITHIN_S)
        assert_nothing_is_missing(simulation, "main", writer)
        print(
            f"{layout}: {writer.ledger.count:,} records acknowledged, none missing; with the word given every "
            f"partition was written after {written_after_s:.1f} s",
            file=sys.__stderr__,
        )
    finally:
        simulation.down()


@pytest.mark.parametrize("layout", ["stretched-3dc", "stretched-3dc-kraft"])
def test_where_two_of_three_replicas_are_enough_nothing_is_changed(
    layout: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Leaders are awaited, and that every topic can be written; back, preferred leaders lead again."""
    simulation = simulation_up(load_topology(ROOT / "topologies" / f"{layout}.yaml"), watch=False)
    file = str(simulation.topology_path)
    try:
        before, settings = led_at(placed(simulation)), own_settings(simulation)
        simulation.site("dc1").kill()
        awaited(lambda: run(["failover", file, "--attest-down", "dc1", "--yes"]) == 0, _WITHIN_S)
        assert run(["failover", file, "--attest-down", "dc1", "--yes"]) == 0
        assert "every topic of main can be written with acks=all" in capsys.readouterr().out
        simulation.site("dc1").restart()
        awaited(lambda: run(["failback", file, "--yes"]) == 0, _WITHIN_S)
        assert (led_at(placed(simulation)), own_settings(simulation)) == (before, settings)
    finally:
        simulation.down()


def own_settings(simulation: Simulation) -> dict[str, dict[str, str]]:
    """What is set on each topic itself."""
    with simulation.cluster("main") as kafka:
        return kafka.configs("topic", kafka.topic_names())
