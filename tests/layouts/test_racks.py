"""A rack of one location is lost on real servers: what `explain` and `status` said of it, and what it stops."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.cli.main import run
from orchestrator.simulation.bring_up import simulation_up
from orchestrator.simulation.running import Simulation
from orchestrator.topology.durability.analysis import explain_topology
from orchestrator.topology.durability.losses import loss_of
from orchestrator.topology.loading import load_topology
from orchestrator.topology.model import Topology
from orchestrator.watch.cluster_status import cluster_status
from tests.layouts.observed import assert_nothing_is_missing, topic_partitions
from tests.layouts.test_evacuated import awaited
from tests.layouts.writes import Writer

FILE = Path(__file__).parents[1] / "topology" / "racks.yaml"
_WITHIN_S = 120.0
_NO_WRITE_S = 8.0

pytestmark = [pytest.mark.drills, pytest.mark.timeout(600), pytest.mark.usefixtures("own_state")]


def smaller() -> Topology:
    """Two brokers in the first rack, one in each of the others: enough to tell a rack from a broker."""
    topology = load_topology(FILE)
    main = topology.clusters["main"]
    first, *others = main.nodes
    rows = (first, *(replace(row, brokers=1) for row in others))
    return replace(topology, clusters={"main": replace(main, nodes=rows)})


def test_a_lost_rack_stops_what_was_said_and_nothing_else() -> None:
    """`audit` has two of four replicas there and wants three; everything else goes on."""
    simulation = simulation_up(smaller(), watch=False)
    try:
        partitions = topic_partitions(simulation, "main")
        assert _racks_of_replicas(simulation, "orders") == {("rack-a", "rack-b", "rack-c")}
        assert _next_losses(simulation) == {"rack rack-a"}
        lost = loss_of(simulation.topology, ["north/rack-a"])
        (explained,) = explain_topology(simulation.topology, [lost]).losses
        fates = explained.clusters["main"].topics
        assert {name: fates[name].writes for name in ("orders", "audit")} == {
            "orders": "continue",
            "audit": "need-procedure",
        }
        going_on = {tp for tp in partitions if fates[tp.topic].writes == "continue"}
        with Writer(simulation.client_properties("main", "operator"), partitions) as writer:
            assert not writer.await_acks(time.time(), _WITHIN_S)
            assert run(["sim", "kill", "north/rack-a"]) == 0
            time.sleep(_NO_WRITE_S)  # until their sessions have ended, they count
            assert not writer.await_acks(time.time(), _WITHIN_S, going_on)
            assert writer.await_acks(time.time(), _NO_WRITE_S) == partitions - going_on
            status = _status(simulation)
            (north,) = status["sites"]
            assert (north["brokers_up"], [row["brokers_up"] for row in north["racks"]]) == (2, [0, 1, 1])
            assert _next_losses(simulation) == {"broker 3", "broker 4"}
            assert run(["sim", "restart", "north/rack-a"]) == 0
            assert not writer.await_acks(time.time(), _WITHIN_S)
        awaited(lambda: _next_losses(simulation) == {"rack rack-a"}, _WITHIN_S)
        assert_nothing_is_missing(simulation, "main", writer)
    finally:
        simulation.down()


def _racks_of_replicas(simulation: Simulation, topic: str) -> set[tuple[str, ...]]:
    placement = simulation.cluster("main").placement()
    return {
        tuple(sorted(placement.racks[broker] for broker in replicas))
        for replicas in placement.topics[topic].replicas
    }


def _next_losses(simulation: Simulation) -> set[str]:
    return {name for row in _status(simulation)["margin"] for name in row["next"]}


def _status(simulation: Simulation) -> dict[str, Any]:
    """Once all is known."""
    found: dict[str, Any] = {}

    def is_told() -> bool:
        found.update(cluster_status(simulation.topology, "main"))
        return found["margin"] is not None and not found["voters_problem"]

    awaited(is_told, _WITHIN_S)
    return found
