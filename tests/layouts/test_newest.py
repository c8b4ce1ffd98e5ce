"""The newest change of metadata is on one survivor alone when the other site is lost: it leads, for real."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from orchestrator.cli.main import run
from orchestrator.moves.within_cluster.requests import SiteLossRequest
from orchestrator.simulation.bring_up import simulation_up
from orchestrator.simulation.running import Simulation
from orchestrator.simulation.wrong_order import NEWEST, newest_on_one, with_others_first
from orchestrator.verbs.live.within_cluster import run_within_cluster
from tests.layouts.test_quorum_forced import said, topology_of

WORDS = ("--attest-down", "dc1", "--lower-min-insync", "all", "--yes")

pytestmark = [pytest.mark.drills, pytest.mark.timeout(900), pytest.mark.usefixtures("own_state")]


@contextmanager
def newest_at_dc2(layout: str) -> Iterator[Simulation]:
    """dc1 is lost, and one voter of dc2 alone has what was changed last."""
    simulation = simulation_up(topology_of(layout), watch=False)
    try:
        with newest_on_one(simulation, "main", "dc2"):
            simulation.site("dc1").kill()
        yield simulation
    finally:
        simulation.down()


@pytest.mark.parametrize("layout", ["stretched-2dc-kraft", "zookeeper-majority"])
def test_it_is_kept(layout: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever has it begins, and leads, though the two others are a majority without it."""
    with newest_at_dc2(layout) as simulation:
        assert run(["failover", str(simulation.topology_path), *WORDS]) == 0, said(capsys)
        with simulation.cluster("main") as kafka:
            assert NEWEST in kafka.topic_names()
            assert kafka.configs("topic", [NEWEST])[NEWEST] == {"min.insync.replicas": "2"}


def test_where_the_two_others_begin_that_is_seen() -> None:
    """With ZooKeeper; with KRaft it is a case of `dcctl drill`. The run does not call that done."""
    done: list[str] = []
    with newest_at_dc2("zookeeper-majority") as simulation:
        request = SiteLossRequest(cluster="main", attested=("dc1",), lower_min_insync=("all",))
        result = run_within_cluster(simulation.topology, request, servers=with_others_first(done))
        assert (result.outcome, "; that of " in result.reason) == ("unknown", True), result.reason
        assert done
