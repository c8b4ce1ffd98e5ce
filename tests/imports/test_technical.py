"""Which topics belong to nobody: by what is beside them, never by a word in their names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.estate.observed import ObservedCluster, ObservedTopic
from orchestrator.imports.live.run import topology_text
from orchestrator.imports.seen import SeenCluster, SeenEstate
from orchestrator.imports.technical import technical_topics
from orchestrator.imports.topology import imported_topology
from orchestrator.topology.loading import check_text, load_topology
from tests.imports.estates import seen, with_addresses
from tests.reconcile.estates import as_described, planned, with_cluster

_APPLICATIONS = (
    "orders",
    "device.heartbeats",
    "orders.connection.status",
    "connected-car-status",
    "crm.connector.offsets",
    "game.connect4.configs",
    "_orders",
)
_COMPACT = {"cleanup.policy": "compact"}


def _topic(name: str, config: Mapping[str, str] | None = None) -> ObservedTopic:
    return ObservedTopic(
        name=name, topic_id="", replicas=((1,),), isr=((1,),), leaders=(1,), config=config or {}
    )


def _estate(**clusters: Mapping[str, Mapping[str, str]]) -> SeenEstate:
    return SeenEstate(
        name="e",
        clusters={
            name: SeenCluster(
                name=name,
                bootstrap=(),
                observed=ObservedCluster(
                    name=name, topics={topic: _topic(topic, config) for topic, config in topics.items()}
                ),
            )
            for name, topics in clusters.items()
        },
        known_versions=("4.3.1",),
    )


def technical(cluster: str, **clusters: Mapping[str, Mapping[str, str]]) -> set[str]:
    estate = _estate(**clusters)
    return set(technical_topics(estate.clusters[cluster], estate))


def test_words_of_other_tools_make_no_topic_technical() -> None:
    """Compacted or not: without the others that Connect and MirrorMaker leave, they are applications'."""
    for config in ({}, _COMPACT):
        assert technical("west", west=dict.fromkeys((*_APPLICATIONS, "heartbeats"), config)) == set()


def test_connects_are_three_of_one_beginning_and_compacted() -> None:
    """Two of them, or three that are deleted by time, are somebody's data."""
    three = ("connect-west-configs", "connect-west-offsets", "connect-west-status")
    assert technical("west", west=dict.fromkeys(three, _COMPACT)) == set(three)
    single = ("_my.connect.config", "_my.connect.offset", "_my.connect.status")
    assert technical("west", west=dict.fromkeys(single, _COMPACT)) == set(single)
    assert technical("west", west=dict.fromkeys(three[:2], _COMPACT)) == set()
    assert technical("west", west={name: {} for name in three}) == set()


@pytest.mark.parametrize("separator", [".", "-", "_"])
def test_heartbeats_of_a_cluster_of_the_estate_are_a_mirrors(separator: str) -> None:
    """At the target with the source's name, and there they tell that the source's own are a mirror's too."""
    clusters = {
        "west": {"heartbeats": {}, "device.heartbeats": {}},
        "east": {f"west{separator}heartbeats": {}, "device.heartbeats": {}},
    }
    assert technical("east", **clusters) == {f"west{separator}heartbeats"}
    assert technical("west", **clusters) == {"heartbeats"}


def test_traces_of_a_mirror_tell_what_it_calls_its_source() -> None:
    """Also where that cluster is not imported, and over several clusters."""
    topics = {
        "north.checkpoints.internal": {},
        "north.heartbeats": {},
        "north.east.heartbeats": {},
        "mm2-offset-syncs.north.internal": {},
        "heartbeats": {},
        "device.heartbeats": {},
    }
    assert technical("east", east=topics) == topics.keys() - {"device.heartbeats"}


def test_topics_of_applications_are_imported_and_the_others_are_named() -> None:
    """A mirror of all topics copies these as well; whoever reads the notes sees what no file will have."""
    file = Path(__file__).parents[2] / "topologies" / "active-passive.yaml"
    topology = with_addresses(load_topology(file))
    observed = as_described(topology)
    for cluster in ("west", "east"):
        topics = dict(observed.clusters[cluster].topics)
        for name in _APPLICATIONS[1:]:
            own = name if cluster == "west" else f"west.{name}"
            like = topics["orders" if cluster == "west" else "west.orders"]
            topics[own] = replace(like, name=own)
        observed = with_cluster(observed, cluster, topics=topics)
    connectors = dict(observed.clusters["east"].connectors or {})
    source = connectors["west-to-east-source"]
    connectors[source.name] = replace(source, config={**source.config, "topics": ".*"})
    observed = with_cluster(observed, "east", connectors=connectors)
    imported = imported_topology(seen(topology, observed))
    assert {t.name for t in imported.topology.topics_of("west")} == {"payments", *_APPLICATIONS}
    (mirror,) = imported.topology.replication
    assert set(mirror.topics) == {"payments", *_APPLICATIONS}
    (west,) = [note for note in imported.notes if note.startswith("topics of west")]
    assert "heartbeats" in west
    (east,) = [note for note in imported.notes if note.startswith("topics of east")]
    for name in ("west.checkpoints.internal", "connect-east-status", "west.heartbeats"):
        assert name in east
    assert "device" not in west + east
    assert check_text(topology_text(imported, "from a test")).errors == ()
    assert planned(imported.topology, observed).is_allowed
