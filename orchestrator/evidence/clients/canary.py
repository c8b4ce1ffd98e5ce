"""What a canary is told: the configuration of one client of the topology at one of its places. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from orchestrator.errors import UsageError
from orchestrator.evidence.clients.config import ConsumerConfig, ProducerConfig
from orchestrator.evidence.clients.places import Place, places, topics_read, topics_read_back
from orchestrator.topology.model import Consumer, Producer, Topology

KEEP_S = 4 * 3600.0
"""For so long at least a canary's ledger goes back, once it is as old."""

_BYTES_PER_RECORD = 100

Client = TypeVar("Client", Producer, Consumer)


def canary_producer(
    topology: Topology,
    name: str,
    cluster: str,
    *,
    ledgers: str,
    properties: Mapping[str, str],
    rate_records_per_s: float,
) -> ProducerConfig:
    """The producer `name` at `cluster`. Raises `UsageError`."""
    producer = find_canary(topology.producers, "producer", name)
    place, mark = _place(topology, producer, cluster), producer.identified_by
    return ProducerConfig(
        name=name,
        life=place.life,
        ledgers=ledgers,
        properties=dict(properties),
        topics=list(producer.topics),
        acks=producer.acks,
        headers={} if mark is None else {mark.header: mark.value},
        rate_records_per_s=rate_records_per_s,
        keep_bytes=_keep_bytes(rate_records_per_s),
    )


def canary_consumer(
    topology: Topology,
    name: str,
    cluster: str,
    *,
    ledgers: str,
    properties: Mapping[str, str],
    rate_records_per_s: float,
    behind_records: int = 0,
) -> ConsumerConfig:
    """The group `name` at `cluster`, reading what is written at that rate. Raises `UsageError`.

    After a move it starts from nothing but given positions. `behind_records`: at its own cluster it stays so
    far behind the end, as applications do that lag; at the other one it reads to the end.
    """
    consumer = find_canary(topology.consumers, "consumer", name)
    place = _place(topology, consumer, cluster)
    is_first = place.is_home
    read = topics_read(topology, consumer, place)
    back = topics_read_back(topology, consumer) if is_first else read
    return ConsumerConfig(
        name=name,
        group=consumer.group_id,
        life=place.life,
        ledgers=ledgers,
        properties=dict(properties),
        topics=read,
        offset_reset="earliest" if is_first else "error",
        hold_lag_records=behind_records if is_first else 0,
        keep_bytes=_keep_bytes(rate_records_per_s),
        later={"topics": back, "offset_reset": "error"},
    )


def find_canary(clients: tuple[Client, ...], kind: str, name: str) -> Client:
    """The canary of that name. Raises `UsageError`."""
    found = [client for client in clients if client.canary]
    for client in found:
        if client.name == name:
            return client
    known = ", ".join(client.name for client in found)
    raise UsageError(
        f"{kind} {name}",
        "is no canary of this topology",
        f"the file has: {known}" if known else f"say `canary: true` at one of its {kind}s",
    )


def _keep_bytes(rate_records_per_s: float) -> int:
    return int(max(rate_records_per_s, 1.0) * KEEP_S * _BYTES_PER_RECORD)


def _place(topology: Topology, client: Producer | Consumer, cluster: str) -> Place:
    found = places(topology, client)
    for place in found:
        if place.cluster == cluster:
            return place
    known = " or ".join(place.cluster for place in found)
    raise UsageError(f"--at {cluster}", f"`{client.name}` never works there", f"it works at {known}")
