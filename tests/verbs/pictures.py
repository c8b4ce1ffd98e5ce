"""A healthy target and a lost source, as an observation: tests change one thing each."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from orchestrator.applications.spark.checkpoints import SeenCheckpoint
from orchestrator.mirrors.mirrormaker2.connectors import connector_names
from orchestrator.mirrors.mirrormaker2.formats import OffsetSync, encode_offset_sync
from orchestrator.mirrors.mirrormaker2.offset_syncs import OffsetSyncs
from orchestrator.moves.request import FailoverRequest
from orchestrator.ports.part import Part
from orchestrator.relocation.spark_checkpoint import CheckpointContents
from orchestrator.replication.engine import MirrorSettings
from orchestrator.replication.mirror_ref import MirrorRef, ref_to, source_partitions
from orchestrator.replication.offset_map import OffsetMap
from orchestrator.replication.recreated_topic import Recreation
from orchestrator.runs.coordination_state import CoordinationState
from orchestrator.snapshot.clients import ClientHost
from orchestrator.snapshot.observation import AccessState, SourceProbe, TopicState
from orchestrator.snapshot.samples import (
    CheckpointCopy,
    GroupPositions,
    Round,
    Sample,
    SampleHistory,
    TopicEnds,
)
from orchestrator.snapshot.snapshot import ClusterView, MirrorView, Snapshot
from orchestrator.topology.loading import load_topology
from orchestrator.topology.model import Coordination, Topology
from orchestrator.values import LogEnd, TopicPartition

T = TypeVar("T")

LOST_AT_S = 1_000.0
NOW_S = 1_003.0
RATE = 100  # records per second and partition
MIRRORED = 99_000  # records of each partition that arrived at the target
REQUEST = FailoverRequest(attested=("west",), to="east", by="ada", reason="fire")


@cache
def topology() -> Topology:
    """The example file, with what a simulation would fill in."""
    example = load_topology(Path(__file__).parents[2] / "topologies" / "active-passive.yaml")
    return replace(example, coordination=Coordination(zookeeper="zk:2181"), inventory="/inventory.yaml")


MIRROR = topology().replication[0]
AHEAD = ref_to(MIRROR)
GROUPS = tuple(c.name for c in topology().consumers if c.kind == "group")


def written(at_s: float) -> int:
    """End of each source partition at a time before the loss."""
    return int(at_s * RATE)


def history(
    *further: Sample,
    position: int = 98_000,
    silent_since_s: float = NOW_S,
    recreated: Recreation | None = None,
) -> SampleHistory:
    """A watcher that sampled twice a second until the loss, and saw every broker refuse since."""
    samples = SampleHistory()
    times = [LOST_AT_S - 30 + step / 2 for step in range(60)]
    for at_s in times:
        for name in MIRROR.topics:
            numbers = [tp.partition for tp in source_partitions(topology(), MIRROR) if tp.topic == name]
            ends = {number: LogEnd(0, written(at_s), 1) for number in numbers}
            block = TopicEnds(watcher="w", topic=name, block=0, at_s=at_s, topic_id=name, ends=ends)
            samples.add(replace(block, recreated=recreated))
        samples.add(
            Round(
                watcher="w",
                begun_at_s=at_s,
                ended_at_s=at_s + 0.01,
                outcome="good",
                ends_at_s=(at_s, at_s + 0.01),
            )
        )
    for consumer in topology().consumers:
        for name in consumer.topics if consumer.kind == "group" else ():
            numbers = [tp.partition for tp in source_partitions(topology(), MIRROR) if tp.topic == name]
            offsets = dict.fromkeys(numbers, position)
            samples.add(
                GroupPositions(
                    watcher="w", group=consumer.name, topic=name, block=0, at_s=times[0], offsets=offsets
                )
            )
        if consumer.kind == "spark":
            samples.add(
                CheckpointCopy(watcher="w", query=consumer.name, at_s=times[-1], batch=7, source_batch=8)
            )
    at_s = LOST_AT_S
    while at_s < silent_since_s:
        samples.add(
            Round(
                watcher="w",
                begun_at_s=at_s,
                ended_at_s=at_s + 0.01,
                outcome="failed",
                cause="refused",
                last_good_at_s=times[-1],
                failing_since_s=LOST_AT_S,
            )
        )
        at_s += 0.5
    for sample in further:
        samples.add(sample)
    return samples


def offset_map(*, without: TopicPartition | None = None, oldest: int = 0, gap_at: int = 0) -> OffsetMap:
    """A gapless mirror from its beginning, or one of which the syncs before `oldest` are lost.

    `gap_at`: the source offset before it is no record (a transaction marker).
    """
    shift = 1 if oldest else 0  # equal offsets would tell that nothing is missing before
    partitions = source_partitions(topology(), MIRROR)
    builder = OffsetSyncs(gaps=dict.fromkeys(partitions, "may" if gap_at else "no"))
    for tp in source_partitions(topology(), MIRROR):
        if tp != without:
            for offset in range(oldest, MIRRORED, 500):
                key, value = encode_offset_sync(
                    OffsetSync(tp, offset, offset - shift - int(0 < gap_at <= offset))
                )
                builder.add_syncs([key], [value])
    return builder.build()


def observation() -> Snapshot:
    """Everything as it should be for a failover."""
    mirrored = [MIRROR.mirrored(tp) for tp in source_partitions(topology(), MIRROR)]
    landing = source_partitions(topology(), MIRROR)
    counts: dict[str, int] = {}
    for tp in [*mirrored, *landing]:
        counts[tp.topic] = counts.get(tp.topic, 0) + 1
    topics = {
        name: TopicState(name, leaders=(1,) * count, isr=(3,) * count, min_insync_replicas=2)
        for name, count in counts.items()
    }
    logs = {tp: LogEnd(0, MIRRORED) for tp in mirrored} | {tp: LogEnd(0, 0) for tp in landing}
    addresses = {"west:1": "refused", "west:2": "refused"}
    probe = SourceProbe(addresses, "no address takes a connection")  # type: ignore[arg-type]
    target = ClusterView(
        brokers=part({1: "east:1", 2: "east:2", 3: "east:3"}),
        topics=part(topics),
        earlier_ends=part(dict.fromkeys(mirrored, MIRRORED)),
        log_ends=part(logs),
        members=part(dict.fromkeys(GROUPS, 0)),
        cluster_id="id-east",
    )
    copying = MirrorView(
        states=part(dict.fromkeys(connector_names(MIRROR), "RUNNING")),
        read=part(dict.fromkeys(landing, MIRRORED - 1)),
        settings=part(MirrorSettings({"errors.tolerance": "none"}, in_transactions=False)),
        samples=part(history()),
        offset_map=part(offset_map()),
        by_time=part({}),
    )
    revenue = checkpoint_at({tp: 97_000 for tp in landing if tp.topic == "orders"})
    return Snapshot(
        at_s=NOW_S,
        clusters={"west": ClusterView(probe=part(probe)), "east": target},
        mirrors={AHEAD: copying},
        coordination=part(CoordinationState(holder="")),
        inventory=part((host("west-1", "west"), host("east-1", "east"))),
        own={"spark": part({"revenue": revenue})},
    )


def of(seen: Snapshot, name: str) -> Part[Any]:
    """A part by its name: of the cluster entered, of the mirror, of the snapshot; `source` is the probe of west."""
    where, field = _PLACES.get(name, ("snapshot", name))
    if where == "snapshot":
        return seen.own["spark"] if name == "checkpoints" else getattr(seen, name)  # type: ignore[no-any-return]
    view = seen.mirror(AHEAD) if where == "mirror" else seen.cluster(where)
    return getattr(view, field)  # type: ignore[no-any-return]


def with_parts(seen: Snapshot, **parts: Part[Any]) -> Snapshot:
    """The same but for some parts, named as in `of`."""
    for name, value in parts.items():
        where, field = _PLACES.get(name, ("snapshot", name))
        if name == "checkpoints":
            seen = replace(seen, own={"spark": value})
        elif where == "snapshot":
            seen = replace(seen, **{name: value})
        elif where == "mirror":
            seen = with_mirror(seen, AHEAD, **{field: value})
        else:
            seen = with_cluster(seen, where, **{field: value})
    return seen


def of_a_fence(cluster: str, coordination: Part[CoordinationState]) -> Snapshot:
    """One cluster as a fence sees it, well."""
    access = part(AccessState("StandardAuthorizer", None, "User:operator"))
    view = ClusterView(brokers=part({1: f"{cluster}:1"}), access=access, cluster_id=f"id-{cluster}")
    return Snapshot(at_s=NOW_S, coordination=coordination, clusters={cluster: view})


def with_cluster(seen: Snapshot, name: str, **parts: Any) -> Snapshot:
    """The same but for some parts of one cluster. A probe that answers tells the id."""
    view = replace(seen.cluster(name), **parts)
    probe = parts["probe"].value if "probe" in parts else None
    if "probe" in parts:
        view = replace(view, cluster_id=probe.cluster_id if probe is not None and probe.answers else None)
    if "brokers" in parts and parts["brokers"].value is None:
        view = replace(view, cluster_id=None)
    return replace(seen, clusters={**seen.clusters, name: view})


def with_mirror(seen: Snapshot, mirror: MirrorRef, **parts: Any) -> Snapshot:
    """The same but for some parts of one mirror."""
    return replace(seen, mirrors={**seen.mirrors, mirror: replace(seen.mirror(mirror), **parts)})


_PLACES = {
    "source": ("west", "probe"),
    "brokers": ("east", "brokers"),
    "topics": ("east", "topics"),
    "earlier_ends": ("east", "earlier_ends"),
    "log_ends": ("east", "log_ends"),
    "members": ("east", "members"),
    "connectors": ("mirror", "states"),
    "mirror_offsets": ("mirror", "read"),
    "mirror_settings": ("mirror", "settings"),
    "samples": ("mirror", "samples"),
    "offset_map": ("mirror", "offset_map"),
    "by_time": ("mirror", "by_time"),
}
PARTS = {*_PLACES, "checkpoints", "coordination", "inventory"}
"""All names of parts that `of` knows."""


def checkpoint_at(positions: Mapping[TopicPartition, int]) -> SeenCheckpoint:
    """One of two batches, read and whole."""
    topics: dict[str, dict[str, int]] = {}
    for tp, offset in positions.items():
        topics.setdefault(tp.topic, {})[str(tp.partition)] = offset
    log = f"v1\n{{}}\n{json.dumps(topics)}".encode()
    contents = CheckpointContents(
        name="checkpoint /east/revenue.copy",
        has_metadata=True,
        offsets={6: log, 7: log},
        commits=frozenset({6, 7}),
    )
    return SeenCheckpoint(contents=contents, positions=dict(positions))


def host(name: str, dc: str, manager: str = "systemd", clients: list[str] | None = None) -> ClientHost:
    """A host of the inventory."""
    own = None if clients is None else frozenset(clients)
    return ClientHost(name=name, dc=dc, service_manager=manager, clients=own)


def part(value: T) -> Part[T]:
    """A part that was had."""
    return Part("test", NOW_S, value)


ABSENT: Part[Any] = Part("cluster east", NOW_S, None, "no answer within 10 s")
