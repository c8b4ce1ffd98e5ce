"""The examples: what a reader meets first must be right."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from orchestrator.topology.loading import check_file, dump_topology, load_topology, parse_topology

TOPOLOGIES = Path(__file__).parents[2] / "topologies"
EXAMPLES = sorted(path.name for path in TOPOLOGIES.glob("*.yaml"))


def test_every_layout_has_an_example() -> None:
    """The stretched ones with ZooKeeper and with KRaft."""
    layouts = {load_topology(TOPOLOGIES / name).layout for name in EXAMPLES}
    assert layouts == {
        "one-location",
        "stretched-2dc",
        "stretched-2.5dc",
        "stretched-3dc",
        "active-passive",
        "active-active",
        "aggregation",
    }
    for sites in ("2dc", "2.5dc", "3dc"):
        modes = {
            load_topology(TOPOLOGIES / f"stretched-{sites}{suffix}.yaml").clusters["main"].metadata
            for suffix in ("", "-kraft")
        }
        assert modes == {"zookeeper", "kraft"}


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_valid_and_warns_only_of_what_its_layout_is(name: str) -> None:
    """Two sites decide the quorum of stretched-2dc, and the example says so itself."""
    checked = check_file(TOPOLOGIES / name)
    assert not checked.errors
    expected = ["quorum-sites-even"] if name.startswith("stretched-2dc") else []
    assert [problem.rule for problem in checked.warnings] == expected


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_reads_back_as_it_is_written(name: str) -> None:
    """What `sim up` writes is what was loaded."""
    topology = load_topology(TOPOLOGIES / name)
    assert parse_topology(json.dumps(dump_topology(topology))) == topology


def test_the_two_site_example_is_the_one_of_the_proven_procedure() -> None:
    """ZooKeeper 3.9.1, hierarchical, two groups of three, R = 4 and m = 3."""
    topology = load_topology(TOPOLOGIES / "stretched-2dc.yaml")
    cluster = topology.clusters["main"]
    assert (cluster.kafka, cluster.metadata, cluster.quorum) == ("3.9.1", "zookeeper", "hierarchical")
    assert [(row.brokers, row.zookeepers) for row in cluster.nodes] == [(2, 3), (2, 3)]
    assert {(topic.replicas, topic.min_insync_replicas) for topic in topology.topics} == {(4, 3)}
