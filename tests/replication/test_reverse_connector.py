"""The connector of the way back, made from the mirror's own."""

from __future__ import annotations

from orchestrator.mirrors.mirrormaker2.connectors import connector_names, desired_connectors
from orchestrator.mirrors.mirrormaker2.reverse_connector import reverse_connector
from orchestrator.replication.positions_back import reverse_mirror
from tests.verbs.pictures import MIRROR, topology

SASL = {"security.protocol": "SASL_PLAINTEXT", "sasl.jaas.config": "${file:/secrets:west}"}


def _both() -> tuple[dict[str, str], dict[str, str]]:
    forward = desired_connectors(topology(), MIRROR, SASL, {}, "west:9092", "east:9092")[
        connector_names(MIRROR).source
    ]
    back = reverse_mirror(MIRROR)
    return forward, reverse_connector(connector_names(back).source, forward, 3, back.target_alias)


def test_it_reads_at_the_standby_and_writes_at_the_primary() -> None:
    """With the addresses and the references to secrets that the mirror itself has."""
    forward, reverse = _both()
    assert reverse["name"] == "east-to-west-source" != forward["name"]
    assert reverse["source.cluster.alias"] == "east"
    assert reverse["target.cluster.alias"] == "west-return"
    assert reverse["source.cluster.bootstrap.servers"] == "east:9092"
    assert reverse["target.cluster.bootstrap.servers"] == "west:9092"
    assert reverse["target.cluster.sasl.jaas.config"] == SASL["sasl.jaas.config"]
    assert "source.cluster.sasl.jaas.config" not in reverse


def test_the_workers_producer_writes_to_the_primary() -> None:
    """Left alone it would write to the worker's own cluster: a circle."""
    _, reverse = _both()
    assert reverse["producer.override.bootstrap.servers"] == "west:9092"
    assert reverse["producer.override.security.protocol"] == "SASL_PLAINTEXT"
    assert reverse["producer.override.enable.idempotence"] == "true"
    assert "producer.override.alias" not in reverse


def test_its_offset_syncs_stay_where_they_survive_the_primary() -> None:
    """And no heartbeats go round in a circle."""
    _, reverse = _both()
    assert reverse["offset-syncs.topic.location"] == "source"
    assert reverse["heartbeats.replication.enabled"] == "false"
    # Not `mm2-offset-syncs.west.internal`: that is the mirror's own, and pairs of both could not be told apart.
    assert reverse_mirror(MIRROR).offset_syncs_topic == "mm2-offset-syncs.west-return.internal"
    assert reverse_mirror(MIRROR).offset_syncs_topic != MIRROR.offset_syncs_topic
    assert reverse_mirror(MIRROR).mirrored_topic("orders") == "east.orders"
