"""Dead voters of a real stretched cluster are taken out of its quorum, and vote again with their site."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.cli.main import run
from orchestrator.ports.admin_values import NewTopic
from orchestrator.ports.voter_sets import VoterSet
from orchestrator.simulation.bring_up import simulation_up
from orchestrator.simulation.running import Simulation
from orchestrator.topology.loading import load_topology
from orchestrator.topology.model import Nodes, Topology
from orchestrator.verbs.live.voter_sets import voter_set
from tests.layouts.observed import assert_nothing_is_missing, topic_partitions
from tests.layouts.test_evacuated import awaited, led_at, placed
from tests.layouts.test_quorum_forced import said
from tests.layouts.test_site_lost import own_settings
from tests.layouts.writes import Writer

ROOT = Path(__file__).parents[2]
_WITHIN_S = 120.0
_CASES = {
    "kraft": ("stretched-3dc-kraft", "majority"),
    "zookeeper": ("stretched-3dc", "majority"),
    "zookeeper-groups": ("stretched-3dc", "hierarchical"),
}

pytestmark = [pytest.mark.drills, pytest.mark.timeout(500), pytest.mark.usefixtures("own_state")]


def topology_of(case: str) -> Topology:
    """A broker at each of three sites, and two voters, or two, two and one: none to spare without one site."""
    layout, quorum = _CASES[case]
    file = load_topology(ROOT / "topologies" / f"{layout}.yaml")
    main = file.clusters["main"]
    key = "controllers" if main.metadata == "kraft" else "zookeepers"
    counts = (2, 2, 2) if quorum == "hierarchical" else (2, 2, 1)
    rows = tuple(
        Nodes(dc=dc, brokers=1, **{key: count}) for dc, count in zip(file.datacenters, counts, strict=True)
    )
    main = replace(main, nodes=rows, voters="dynamic", quorum=quorum)
    return replace(file, clusters={"main": main})


@contextmanager
def voters_of(simulation: Simulation) -> Iterator[VoterSet]:
    """As the quorum has them."""
    with simulation.cluster("main") as kafka:
        yield voter_set(simulation.topology, "main", lambda: kafka).read()


def voting(simulation: Simulation) -> frozenset[int]:
    """Their ids."""
    with voters_of(simulation) as voters:
        return voters.numbers


@pytest.mark.parametrize("case", _CASES)
def test_one_more_voter_may_fail_and_all_vote_once_the_site_is_back(
    case: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A topic is made with two voters dead and a third one down: without the word nobody could."""
    simulation = simulation_up(topology_of(case), watch=False)
    file = str(simulation.topology_path)
    voters = simulation.estate.controllers_of("main") or simulation.estate.zookeepers_of("main")
    try:
        partitions = topic_partitions(simulation, "main")
        with Writer(simulation.client_properties("main", "operator"), partitions) as writer:
            assert not writer.await_acks(time.time(), _WITHIN_S)
            before, settings, members = placed(simulation), own_settings(simulation), voting(simulation)
            words = ["--attest-down", "dc1", "--drop-dead-voters", "--yes"]
            assert run(["failover", file, *words]) == 4
            assert "voters of main at dc1 take part" in capsys.readouterr().err
            assert voting(simulation) == members
            simulation.site("dc1").kill()
            began_s = time.monotonic()
            awaited(lambda: run(["failover", file, *words]) == 0, _WITHIN_S)
            took_s = time.monotonic() - began_s
            assert len(voting(simulation)) == len(members) - 2, said(capsys)
            assert run(["failover", file, *words]) == 0
            assert "every topic of main can be written with acks=all" in capsys.readouterr().out
            assert run(["status", file]) == 0
            told = " ".join(capsys.readouterr().out.split())
            assert "the metadata quorum is without dc1" in told
            assert "a voter at dc2" not in told

            one = next(voter for voter in voters if voter.dc == "dc2")
            simulation.site("dc2").kill([one.program])
            _make_topic(simulation, "newest")
            assert not writer.await_acks(time.time(), _WITHIN_S)
            simulation.site("dc2").start([one.program])

            simulation.site("dc1").restart()
            back_s = time.monotonic()
            awaited(lambda: run(["failback", file, "--yes"]) == 0, _WITHIN_S)
            back_s = time.monotonic() - back_s
            assert voting(simulation) == members, said(capsys)
            after = placed(simulation)
            assert {**settings, "newest": {}}.items() <= own_settings(simulation).items()
            kept = {name: topic for name, topic in after.topics.items() if name != "newest"}
            assert led_at(replace(after, topics=kept)) == led_at(before)
            assert not writer.await_acks(time.time(), _WITHIN_S)
        assert_nothing_is_missing(simulation, "main", writer)
        print(
            f"{case}: {writer.ledger.count:,} records acknowledged, none missing; failover with dead voters "
            f"taken out {took_s:.1f} s, brokers' sessions included; failback {back_s:.1f} s",
            file=sys.__stderr__,
        )
    finally:
        simulation.down()


def _make_topic(simulation: Simulation, name: str) -> None:
    """Whoever leads the quorum may have been the one that was stopped."""

    def made() -> bool:
        with simulation.cluster("main") as kafka:
            kafka.create_topics({name: NewTopic(partitions=2, replicas=2)})
            return name in kafka.topic_names()

    awaited(made, _WITHIN_S)
