"""What the plan for a lost site tells beside its steps, as its JSON has it. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from orchestrator.moves.within_cluster.margin import NextStop, margin_as_json
from orchestrator.moves.within_cluster.quorum.gates import UNSUPPORTED
from orchestrator.moves.within_cluster.stranded import Stranded, stranded_as_json
from orchestrator.ports.voter_sets import Member
from orchestrator.runs.within_clusters import LeftOut, left_out_as_json
from orchestrator.values import TopicPartition


@dataclass(frozen=True, slots=True, kw_only=True)
class LossFacts:
    """`way`: what is done, in a sentence; `when_done`: how it is then. Partitions and topics of the cluster:

    `copies`: topics that are lowered, and to how many replicas; `partitions`: how many there are; `waiting`:
    how many wait for a leader; `stopped`: topics that take no writes then; `away`: partitions no replica of
    which is up; `unclean`: those whose leader lacks records. Voters: `quorum`: those that become it;
    `left_out`: survivors that take no part; `dropped`: those that are taken out. `is_unsupported`: Apache
    Kafka has no such procedure. `applications`: where each goes; `staying`: those that cannot, and why.
    """

    way: str
    when_done: str
    sites: Sequence[str]
    margin: Iterable[NextStop]
    stranded: Sequence[Stranded]
    copies: Mapping[str, int] = field(default_factory=dict)
    partitions: int = 0
    waiting: int = 0
    stopped: Iterable[str] = ()
    away: Iterable[TopicPartition] = ()
    unclean: Iterable[TopicPartition] = ()
    quorum: Collection[str] = ()
    left_out: LeftOut = field(default_factory=dict)
    dropped: Iterable[Member] = ()
    is_unsupported: bool = False
    applications: Mapping[str, str] = field(default_factory=dict)
    staying: Mapping[str, str] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """As a plan has them in `facts`."""
        return {
            "way": self.way,
            "when_done": self.when_done,
            "copies": dict(self.copies),
            "sites": list(self.sites),
            "partitions": self.partitions,
            "waiting": self.waiting,
            "stopped": list(self.stopped),
            "away": [str(partition) for partition in self.away],
            "unclean": [str(partition) for partition in self.unclean],
            "margin": margin_as_json(self.margin),
            "stranded": stranded_as_json(self.stranded, self.sites),
            "applications": dict(self.applications),
            "applications_left": dict(self.staying),
            "quorum": sorted(self.quorum),
            "voters_left_out": left_out_as_json(self.left_out),
            "voters_dropped": [voter.number for voter in self.dropped],
            **({"unsupported": UNSUPPORTED} if self.is_unsupported else {}),
        }
