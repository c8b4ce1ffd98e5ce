"""The same estate seen from the other side: applications work at the standby, the primary stands by.

So it is after a failover. Going back is then a planned move of this estate, along the reverse mirror.
"""

from __future__ import annotations

from dataclasses import replace

from orchestrator.planning.positions_back import reverse_mirror
from orchestrator.topology.model import Consumer, Replication, Topology


def flipped(topology: Topology, mirror: Replication) -> Topology:
    """`topology` as a failover along `mirror` has left it.

    The reverse mirror runs on the workers of the mirror itself.
    """
    home, standby = mirror.source, mirror.target
    workers = topology.clusters[standby].connect
    return replace(
        topology,
        clusters={**topology.clusters, home: replace(topology.clusters[home], connect=workers)},
        topics=tuple(
            replace(topic, cluster=standby, replicas_per_dc={})
            if topic.cluster == home and topic.name in mirror.topics
            else topic
            for topic in topology.topics
        ),
        producers=tuple(replace(p, cluster=standby) if p.cluster == home else p for p in topology.producers),
        consumers=tuple(_moved(c, standby) if c.cluster == home else c for c in topology.consumers),
        replication=(reverse_mirror(mirror),),
    )


def _moved(consumer: Consumer, standby: str) -> Consumer:
    """A Spark query works with the checkpoint that was made for it there; the old one's place waits."""
    return replace(
        consumer,
        cluster=standby,
        checkpoint=consumer.standby_checkpoint,
        standby_checkpoint=consumer.checkpoint,
    )
