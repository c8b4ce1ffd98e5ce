"""Who moves, along which mirror, and which rules keep them off: what runbooks of moves are written from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from orchestrator.moves.mirror_ref import MirrorRef
from orchestrator.planning.clients import clients_of, group_client, producer_clients, query_client
from orchestrator.planning.fence import Fenced
from orchestrator.replication.connectors import ConnectorNames
from orchestrator.topology.model import Producer, Replication, Topology
from orchestrator.values import Acl


@dataclass(frozen=True, kw_only=True)
class Move:
    """The applications of one cluster of the file, from the source of a mirror to its target.

    `mirror` feeds the side that is entered; on the way back it is the one that dcctl makes. `who` are the
    applications that are denied the side that they leave, with the rules for it.
    """

    topology: Topology
    mirror: MirrorRef
    who: Fenced

    @property
    def left(self) -> str:
        """The cluster that applications leave."""
        return self.mirror.source

    @property
    def entered(self) -> str:
        """The cluster that they come to."""
        return self.mirror.target

    @cached_property
    def replication(self) -> Replication:
        """The mirror with all that it has."""
        return self.mirror.of(self.topology)

    @property
    def topics(self) -> tuple[str, ...]:
        """Topics whose primary changes, by their names where producers write them."""
        return tuple(self.replication.topics)

    @property
    def connectors(self) -> ConnectorNames:
        """Those of the mirror."""
        return self.mirror.connectors(self.topology)

    @property
    def groups(self) -> tuple[str, ...]:
        """Consumer groups that move."""
        return tuple(c.name for c in self.topology.consumers_of(self.mirror.home) if c.kind == "group")

    @property
    def queries(self) -> tuple[str, ...]:
        """Spark queries that move."""
        return tuple(c.name for c in self.topology.consumers_of(self.mirror.home) if c.kind == "spark")

    @property
    def producers(self) -> tuple[Producer, ...]:
        """Producers that move, those that move themselves among them."""
        return self.topology.producers_of(self.mirror.home)

    @property
    def producer_clients(self) -> tuple[str, ...]:
        """Those of them that dcctl stops and starts, by the names under which hosts run them."""
        return producer_clients(self.topology, self.mirror.home)

    @property
    def group_clients(self) -> tuple[str, ...]:
        """The groups' programs."""
        return tuple(map(group_client, self.groups))

    @property
    def query_clients(self) -> tuple[str, ...]:
        """The queries' programs."""
        return tuple(map(query_client, self.queries))

    @property
    def clients(self) -> tuple[str, ...]:
        """All programs that dcctl stops and starts."""
        return clients_of(self.topology, self.mirror.home)

    @property
    def roaming(self) -> tuple[Acl, ...]:
        """Of the rules of `who` those against the writing of producers that move themselves."""
        themselves = {producer.name for producer in self.producers if producer.moved_by == "itself"}
        denied = {
            principal for principal, names in self.who.writers.items() if themselves.intersection(names)
        }
        return tuple(
            rule for rule in self.who.rules if rule.operation == "WRITE" and rule.principal in denied
        )

    @property
    def written_early(self) -> tuple[str, ...]:
        """Topics that producers which move themselves may write at the side entered before anybody decides.

        Each once, sorted.
        """
        themselves = [producer for producer in self.producers if producer.moved_by == "itself"]
        return tuple(sorted({topic for p in themselves for topic in p.topics}.intersection(self.topics)))
