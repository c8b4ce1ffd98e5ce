"""The newest change of metadata is on one survivor alone when the other site is lost: it leads, for real."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from orchestrator.cli.main import run
from orchestrator.errors import ClusterError
from orchestrator.moves.within_cluster.quorum import effects
from orchestrator.moves.within_cluster.quorum.standing import Beginning, beginning
from orchestrator.ports.admin_values import NewTopic
from orchestrator.simulation.bring_up import simulation_up
from orchestrator.simulation.running import Simulation
from tests.layouts.test_evacuated import awaited
from tests.layouts.test_quorum_forced import said, topology_of

NEWEST = "newest"
_GIVES_UP_S = 8.0
WORDS = ("--attest-down", "dc1", "--lower-min-insync", "all", "--yes")

pytestmark = [pytest.mark.drills, pytest.mark.timeout(900), pytest.mark.usefixtures("own_state")]


@contextmanager
def newest_on_one(layout: str) -> Iterator[Simulation]:
    """dc1 is lost. While a topic was made, all voters of dc2 stood still but for the one with the highest id."""
    simulation = simulation_up(topology_of(layout), watch=False)
    try:
        estate, site = simulation.estate, simulation.site("dc2")
        voters = [*estate.zookeepers_of("main"), *estate.controllers_of("main")]
        names = [voter.program for voter in voters if voter.dc == "dc2"]
        site.pause(names[:-1])
        awaited(lambda: _is_made(simulation))
        simulation.site("dc1").kill()
        # A leader without a majority gives up after some seconds; until then whoever wakes up fetches from it.
        time.sleep(_GIVES_UP_S)
        site.resume(names[:-1])
        yield simulation
    finally:
        simulation.down()


def _is_made(simulation: Simulation) -> bool:
    """Four of six voters are enough."""
    try:
        with simulation.cluster("main") as kafka:
            kafka.create_topics({NEWEST: NewTopic(replicas=4, config={"min.insync.replicas": "2"})})
            return NEWEST in kafka.topic_names()
    except ClusterError:
        return False


@pytest.mark.parametrize("layout", ["stretched-2dc-kraft", "zookeeper-majority"])
def test_it_is_kept(layout: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever has it begins, and leads, though the two others are a majority without it."""
    with newest_on_one(layout) as simulation:
        assert run(["failover", str(simulation.topology_path), *WORDS]) == 0, said(capsys)
        with simulation.cluster("main") as kafka:
            assert NEWEST in kafka.topic_names()
            assert kafka.configs("topic", [NEWEST])[NEWEST] == {"min.insync.replicas": "2"}


@pytest.mark.parametrize("layout", ["stretched-2dc-kraft", "zookeeper-majority"])
def test_where_the_two_others_begin_that_is_seen(
    layout: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sabotage: those whose logs reach least begin, and the change is on no voter that decides. The run does not
    call that done. Brokers go on telling what they had applied.
    """

    def reversed_order(*given: object) -> Beginning:
        right = beginning(*given)  # type: ignore[arg-type]
        names = (*right.first, *right.rest)[::-1]
        return Beginning(names[: len(right.first)], names[len(right.first) :])

    monkeypatch.setattr(effects, "beginning", reversed_order)
    with newest_on_one(layout) as simulation:
        assert run(["failover", str(simulation.topology_path), *WORDS]) == 7, said(capsys)
        assert "; that of " in (told := capsys.readouterr().err), told
