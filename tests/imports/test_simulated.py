"""Real clusters, imported from their addresses alone: the file that comes out plans to no change."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.adapters.kafka.java_admin_jvm import end_shared_jvm
from orchestrator.estate.live.observe import observe_estate
from orchestrator.imports.live.request import LookAt
from orchestrator.imports.live.run import import_estate, topology_text
from orchestrator.ports.part import Part
from orchestrator.reconcile.planning import plan_reconcile
from orchestrator.runs.coordination_state import CoordinationState
from orchestrator.simulation.bring_up import simulation_up
from orchestrator.simulation.running import Simulation
from orchestrator.topology.loading import load_topology, parse_topology
from orchestrator.topology.model import Topology
from tests.imports.estates import decided

_EXAMPLES = Path(__file__).parents[2] / "topologies"
_QUICK = ("active-passive", "stretched-2.5dc")
_OTHERS = sorted(file.stem for file in _EXAMPLES.glob("*.yaml") if file.stem not in _QUICK)


@pytest.fixture
def simulation(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Simulation]:
    """The example of this name, on this machine."""
    monkeypatch.setenv("DCCTL_STATE_DIR", str(tmp_path / "state"))
    simulation = simulation_up(load_topology(_EXAMPLES / f"{request.param}.yaml"), watch=False)
    try:
        yield simulation
    finally:
        simulation.down()
        end_shared_jvm()


@pytest.mark.integration
@pytest.mark.timeout(240)
@pytest.mark.parametrize("simulation", _QUICK, indirect=True)
def test_what_was_imported_plans_to_no_change(simulation: Simulation) -> None:
    """A mirrored estate with its connectors, and a stretched one in ZooKeeper mode."""
    _import(simulation.topology)


@pytest.mark.drills
@pytest.mark.timeout(240)
@pytest.mark.parametrize("simulation", _OTHERS, indirect=True)
def test_every_other_example_plans_to_no_change(simulation: Simulation) -> None:
    """One after the other, with real servers."""
    _import(simulation.topology)


def _import(described: Topology) -> None:
    places = [
        LookAt(
            name=name,
            bootstrap=cluster.bootstrap,
            connect=cluster.connect,
            client=cluster.client,
            written_client=cluster.client,
            connect_client=cluster.connect_client,
            written_connect_client=cluster.connect_client,
        )
        for name, cluster in described.clusters.items()
    ]
    imported = import_estate("imported", places)
    found = decided(imported.imported, described).topology
    parse_topology(topology_text(replace(imported.imported, topology=found), "from a test"))
    assert {(m.source, m.target, m.topics, m.managed) for m in found.replication} == {
        (m.source, m.target, m.topics, True) for m in described.replication
    }
    assert {(t.name, t.cluster, t.partitions, t.replicas, t.min_insync_replicas) for t in found.topics} == {
        (t.name, t.cluster, t.partitions, t.replicas, t.min_insync_replicas) for t in described.topics
    }
    for name, cluster in described.clusters.items():
        assert found.clusters[name].metadata == cluster.metadata
        assert found.clusters[name].kafka == cluster.kafka
        assert found.clusters[name].brokers_per_dc == cluster.brokers_per_dc
        # On one machine nobody can tell where a server stands that is no broker.
        assert found.clusters[name].unknown == (() if cluster.is_combined else ("quorum",))
    coordination = Part("coordination", 0.0, CoordinationState("", ()))
    plan = plan_reconcile(found, observe_estate(found), coordination=coordination)
    assert plan.facts["differences"] == []
