"""What `status` says that the next loss would stop of real servers, and what it then stops, step by step down."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from orchestrator.simulation.bring_up import simulation_up
from orchestrator.simulation.running import Simulation
from orchestrator.topology.loading import load_topology
from orchestrator.watch.cluster_status import cluster_status
from tests.layouts.observed import metadata_changes, topic_partitions
from tests.layouts.test_evacuated import awaited
from tests.layouts.writes import Writer

ROOT = Path(__file__).parents[2]
_WITHIN_S = 120.0
_NO_WRITE_S = 8.0
_STAYS_AWAY_S = 15.0

pytestmark = [pytest.mark.drills, pytest.mark.timeout(600), pytest.mark.usefixtures("own_state")]


@pytest.mark.parametrize("layout", ["one-location", "stretched-3dc", "stretched-3dc-kraft"])
def test_what_it_names_stops_something_and_what_it_does_not_stops_nothing(layout: str) -> None:
    """A voter, a broker, and the next of each: before each it is said what that will do."""
    topology = load_topology(ROOT / "topologies" / f"{layout}.yaml")
    (cluster,) = topology.clusters
    simulation = simulation_up(topology, watch=False)
    try:
        partitions = topic_partitions(simulation, cluster)
        operator = simulation.client_properties(cluster, "operator")
        estate = simulation.estate
        voters = [*estate.zookeepers_of(cluster), *estate.controllers_of(cluster)]
        brokers = list(estate.brokers_of(cluster))
        with Writer(operator, partitions) as writer:
            assert not writer.await_acks(time.time(), _WITHIN_S)
            for number, broker in enumerate(brokers[:2]):
                said = _said(simulation)
                stops = {name: row["topics"] for row in said for name in row["next"]}.get(
                    f"broker {broker.node_id}", []
                )
                simulation.site(broker.dc).kill([broker.program])
                waiting = {tp.topic for tp in partitions if tp.topic in stops}
                going_on = {tp for tp in partitions if tp.topic not in stops}
                time.sleep(_NO_WRITE_S)  # until its session has ended, it counts
                assert not writer.await_acks(time.time(), _WITHIN_S, going_on), (number, stops)
                stalled = {tp.topic for tp in writer.await_acks(time.time(), _NO_WRITE_S)}
                assert stalled == waiting, (number, stops)
            for broker in brokers[:2]:
                simulation.site(broker.dc).start([broker.program])
            assert not writer.await_acks(time.time(), _WITHIN_S)

            # A node that is both is told of as a broker.
            both = {broker.program: f"broker {broker.node_id}" for broker in brokers}
            for number, voter in enumerate(voters[: len(voters) // 2 + 1]):
                named = {name for row in _said(simulation) if row["control_plane"] for name in row["next"]}
                simulation.site(voter.dc).kill([voter.program])
                is_last = both.get(voter.program, f"a voter at {voter.dc}") in named
                within_s = _STAYS_AWAY_S if is_last else _WITHIN_S
                changed = metadata_changes(simulation, cluster, time.time(), within_s)
                assert (changed is None) == is_last, (number, named)
    finally:
        simulation.down()


def _said(simulation: Simulation) -> list[dict[str, object]]:
    """The margin, once all is known."""
    found: list[dict[str, object]] = []

    def is_told() -> bool:
        status = cluster_status(simulation.topology, "main")
        found[:] = status["margin"] or []
        return status["margin"] is not None and not status["voters_problem"]

    awaited(is_told, _WITHIN_S)
    return found
