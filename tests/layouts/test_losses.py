"""Stretched layouts on real servers: what `explain` says of a site's loss is what happens."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from orchestrator.simulation.bring_up import simulation_up
from orchestrator.simulation.running import Simulation
from orchestrator.topology.loading import load_topology
from orchestrator.topology.model import Topology
from tests.layouts.losing import rehearse
from tests.layouts.variants import VARIANTS

FILES = Path(os.environ.get("LAYOUT_FILES", Path(__file__).parents[2] / "topologies"))
LAYOUTS = sorted(
    path.stem for pattern in ("stretched-*", "one-location*") for path in FILES.glob(f"{pattern}.yaml")
)

pytestmark = [pytest.mark.timeout(900), pytest.mark.usefixtures("own_state")]


@contextmanager
def _up(topology: Topology) -> Iterator[Simulation]:
    simulation = simulation_up(topology, watch=False)
    try:
        yield simulation
    finally:
        simulation.down()


@pytest.mark.drills
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_site_lost_in_turn(layout: str) -> None:
    """Control plane, writes and acknowledged records after each loss; then the site returns."""
    with _up(load_topology(FILES / f"{layout}.yaml")) as simulation:
        rehearse(simulation)


@pytest.mark.drills
@pytest.mark.parametrize("variant", VARIANTS)
def test_variants_of_two_sites(variant: str) -> None:
    """What the examples do not have: uneven quorums, combined nodes, a plain majority."""
    with _up(VARIANTS[variant]) as simulation:
        rehearse(simulation)
