"""Where a client lives, in which lives, and what it reads there. Pure.

A client has two places at most: its own cluster, and the one where it goes when that is left
(`topology.standby`). In a cluster over several sites these are the site where it runs, and another one
(`topology.instances`).
"""

from __future__ import annotations

from typing import NamedTuple

from orchestrator.errors import DcctlError
from orchestrator.evidence.clients.config import PLACES
from orchestrator.replication.positions_back import reverse_mirror
from orchestrator.topology.counterparts import counterparts_read, origin_of
from orchestrator.topology.instances import other_site, sites_of
from orchestrator.topology.landing import landings_read
from orchestrator.topology.model import Consumer, Producer, Replication, Topology
from orchestrator.topology.standby import READ, standby_of

LIFE_AT_SOURCE = 1
LIFE_AT_TARGET = 2


class Place(NamedTuple):
    """Where a client lives: its first life there, the cluster and the site."""

    life: int
    cluster: str
    dc: str

    @property
    def is_home(self) -> bool:
        """Whether it lives there before anything is moved."""
        return self.life == LIFE_AT_SOURCE


def places(topology: Topology, client: Consumer | Producer) -> list[Place]:
    """Where a client lives: at its own cluster, and at its standby or another site of it, if it has one."""
    found = [(client.cluster, _home(topology, client))]
    if (standby := standby_of(topology, client)) is not None:
        found.append((standby, _datacenter(topology, standby)))
    elif (other := other_site(topology, client)) is not None:
        found.append((client.cluster, other))
    return [Place(life, cluster, dc) for life, (cluster, dc) in enumerate(found, LIFE_AT_SOURCE)]


def place_in(topology: Topology, client: Consumer | Producer, life: int) -> Place:
    """Where a client lives one of its lives: the odd ones at home. Raises `DcctlError` without a standby."""
    known = places(topology, client)
    index = (life - LIFE_AT_SOURCE) % PLACES
    if index >= len(known):
        raise DcctlError(
            f"life {life} of {client.name}", f"is of no place: it lives at {client.cluster} alone"
        )
    return known[index]


def topics_read(topology: Topology, consumer: Consumer, place: Place) -> list[str]:
    """Topics that a consumer reads at one of its places: at home, before it ever moved, what the file says.

    With what a source's producers bring there, where it reads that too. After a move the counterparts of
    these there, and behind them its landing topics.
    """
    if place.cluster == consumer.cluster:
        return _read_at_home(topology, consumer)
    led = [found.entered for _, found in counterparts_read(topology, consumer, place.cluster) if found]
    return list(dict.fromkeys([*led, *landing_topics(topology, consumer)]))


def _read_at_home(topology: Topology, consumer: Consumer) -> list[str]:
    return list(dict.fromkeys([*topology.topics_read(consumer), *landings_read(topology, consumer)]))


def topics_read_back(topology: Topology, consumer: Consumer) -> list[str]:
    """Topics that a consumer reads once it is home again.

    Where no mirror of the file leads back, a move makes one: what was written at the standby meanwhile stands
    at home as that names it. Everywhere else it is what it read before.
    """
    own, made = _read_at_home(topology, consumer), _made_mirror(topology, consumer)
    brought = [made.mirrored_topic(name) for name in landing_topics(topology, consumer)] if made else []
    return list(dict.fromkeys([*brought, *own]))


def landing_topics(topology: Topology, consumer: Consumer) -> list[str]:
    """Topics at its standby where the producers of its home write after a move, and which it reads then.

    They are called as they are at home. It reads none where the file names somebody else who does.
    """
    standby = standby_of(topology, consumer)
    if standby is None or consumer.landing not in {None, READ}:
        return []
    return [
        name
        for name in topology.topics_read(consumer)
        if topology.topic(name, consumer.cluster) is not None
        and (topology.mirror(consumer.cluster, standby) or topology.topic(name, standby))
    ]


def partitions_read(topology: Topology, consumer: Consumer, place: Place, life: int) -> dict[str, int]:
    """Partitions of each topic that a consumer reads in a life at one of its places."""
    is_back = place.is_home and life > LIFE_AT_SOURCE
    names = topics_read_back(topology, consumer) if is_back else topics_read(topology, consumer, place)
    return {name: _partitions(topology, consumer, name, place.cluster) for name in names}


def _partitions(topology: Topology, consumer: Consumer, name: str, cluster: str) -> int:
    origin = origin_of(topology, name, cluster)
    if origin is not None:
        topic = topology.topic(origin.topic, origin.cluster)
        return topic.partitions if topic else 0
    # Landing topics have room for those of every source, and are copied back as they are.
    made = _made_mirror(topology, consumer)
    names = {
        name,
        *(one for one in topology.topics_read(consumer) if made and made.mirrored_topic(one) == name),
    }
    sources = {consumer.cluster, *(m.source for m in topology.replication if m.target == cluster)}
    found = (topology.topic(one, source) for one in names for source in sources)
    return max((topic.partitions for topic in found if topic), default=0)


def _made_mirror(topology: Topology, consumer: Consumer) -> Replication | None:
    """The mirror that a move home makes: where one leads to the standby, and none back."""
    standby = standby_of(topology, consumer)
    mirror = topology.mirror(consumer.cluster, standby) if standby else None
    has_way_back = standby is not None and topology.mirror(standby, consumer.cluster) is not None
    return None if mirror is None or has_way_back else reverse_mirror(mirror)


def _home(topology: Topology, client: Consumer | Producer) -> str:
    _datacenter(topology, client.cluster)
    return sites_of(topology, client)[0]


def _datacenter(topology: Topology, cluster: str) -> str:
    datacenters = topology.clusters[cluster].datacenters
    if not datacenters:
        raise DcctlError(f"cluster {cluster}", "has no nodes, so its clients have no site")
    return datacenters[0]
