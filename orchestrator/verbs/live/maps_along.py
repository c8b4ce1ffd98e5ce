"""The map of a mirror that a route leads along, read wherever it can be read."""

from __future__ import annotations

from functools import partial

from orchestrator.moves.way import Way
from orchestrator.replication.engine import Asked, Engine
from orchestrator.replication.mirror_ref import MirrorRef
from orchestrator.replication.offset_map import OffsetMap
from orchestrator.replication.recreated_topic import Recreation
from orchestrator.replication.source_gaps import SourceGaps
from orchestrator.runs.live.servers import Servers
from orchestrator.snapshot.known_gaps import sampled_gaps
from orchestrator.snapshot.live.gaps_now import gaps_now
from orchestrator.snapshot.live.reader import read_samples
from orchestrator.snapshot.samples import SampleHistory
from orchestrator.topology.model import Topology
from orchestrator.values import TopicPartition


def map_along(  # noqa: PLR0917 - of which mirror of which way, and who is asked for it
    servers: Servers, topology: Topology, way: Way, mirror: MirrorRef, engine: Engine, asked: Asked
) -> OffsetMap:
    """The map of a mirror as it is now.

    Where the mirror's target is the place left, and gone with its map, the copy that a watcher keeps at the
    place entered is read. One whose source is gone as well has come to its end. Raises `ClusterError`,
    and `DcctlError` where nobody knows which of its topics were made anew.
    """
    replication = mirror.of(topology)
    is_gone = way.reach == "gone" and mirror.target == way.left.cluster
    kept_at = way.entered.cluster if is_gone else ""
    recreated, gaps = _known(servers, topology, mirror, asked, kept_at)
    read = partial(engine.offset_map, asked, replication, recreated=recreated, gaps=gaps, kept_at=kept_at)
    if way.reach != "gone" or mirror not in way.pauses:
        return read()
    target = asked.cluster(mirror.target)
    copies = target.topics(map(replication.mirrored_topic, replication.topics))
    logs = target.log_ends(tp for topic in copies.values() for tp in topic.partitions)
    return read(stopped_at=engine.read_up_to(asked, topology, mirror), logs=logs)


def _known(
    servers: Servers, topology: Topology, mirror: MirrorRef, asked: Asked, kept_at: str
) -> tuple[dict[str, Recreation], dict[TopicPartition, SourceGaps]]:
    """Which topics of a mirror's source were made anew, and what is known of its gaps.

    By what a watcher at the mirror's target has seen of the source, or one where its map is kept.
    """
    if mirror.is_back or kept_at == mirror.source:
        return {}, gaps_now(servers, topology, mirror.of(topology))
    replication = mirror.of(topology)
    history: SampleHistory = read_samples(asked.cluster(kept_at or mirror.target), replication.samples_topic)
    return dict(history.recreated), sampled_gaps(topology, replication, history)
