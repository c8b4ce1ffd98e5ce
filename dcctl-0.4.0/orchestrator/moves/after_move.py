"""The file as somebody would write it for the estate that a move along one of its mirrors has left.

Applications work at the standby, the primary stands by, and the mirror back leads there.
"""

from __future__ import annotations

from dataclasses import replace

from orchestrator.replication.positions_back import reverse_mirror
from orchestrator.topology.model import Replication, Topology


def after_move(topology: Topology, mirror: Replication) -> Topology:
    """`topology` as a move along `mirror` has left it.

    The reverse mirror stands in place of that one, and runs on its workers.
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
        consumers=tuple(c.moved_to(standby) if c.cluster == home else c for c in topology.consumers),
        replication=tuple(reverse_mirror(m) if m == mirror else m for m in topology.replication),
    )
