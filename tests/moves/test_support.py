"""What a verb cannot handle yet it refuses in words, before it does anything."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.errors import DcctlError
from orchestrator.moves.support import SUPPORT, refuse_unsupported
from orchestrator.topology.loading import load_topology
from orchestrator.topology.model import Topology

EXAMPLE = Path(__file__).parents[2] / "topologies" / "active-passive.yaml"


@pytest.fixture(scope="module")
def topology() -> Topology:
    """The example that every verb handles."""
    return load_topology(EXAMPLE)


@pytest.mark.parametrize("verb", SUPPORT)
def test_the_example_is_handled_by_every_verb(topology: Topology, verb: str) -> None:
    """Nothing is refused that works."""
    refuse_unsupported(topology, verb)  # type: ignore[arg-type]


REHEARSED = ("sim workload", "drill")


@pytest.mark.parametrize("verb", sorted(set(SUPPORT) - set(REHEARSED)))
def test_a_stretched_cluster_is_refused_by_every_verb_that_moves_applications(
    topology: Topology, verb: str
) -> None:
    """There is no other cluster to move to."""
    with pytest.raises(
        DcctlError, match=f"`dcctl {verb}` does not support this topology yet: layout stretched-3dc"
    ):
        refuse_unsupported(replace(topology, layout="stretched-3dc"), verb)  # type: ignore[arg-type]


def test_a_failover_names_all_that_it_cannot_handle(topology: Topology) -> None:
    """One error with every reason."""
    mirror = replace(topology.replication[0], policy="identity", managed=False)
    consumer = replace(topology.consumers[0], topics=(), pattern="ord.*")
    changed = replace(topology, layout="one-location", replication=(mirror,), consumers=(consumer,))
    with pytest.raises(DcctlError) as caught:
        refuse_unsupported(changed, "failover")
    assert caught.value.problem == (
        "`dcctl failover` does not support this topology yet: "
        "layout one-location (only active-active, active-passive, aggregation); "
        "mirror west → east has policy identity (only default); "
        "mirror west → east is not managed by dcctl. Nothing was done"
    )


@pytest.mark.parametrize("verb", REHEARSED)
def test_a_stretched_cluster_is_rehearsed_where_each_application_runs_at_one_site(
    topology: Topology, verb: str
) -> None:
    """One process of each is what a simulation has."""
    stretched = replace(topology, layout="stretched-3dc")
    refuse_unsupported(stretched, verb)  # type: ignore[arg-type]
    both = replace(topology.producers[0], instances={"west": 1, "east": 2})
    with pytest.raises(DcctlError, match="checkout has instances at several sites"):
        refuse_unsupported(replace(stretched, producers=(both,)), verb)  # type: ignore[arg-type]
