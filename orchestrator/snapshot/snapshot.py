"""One immutable picture of an estate, made once for each decision.

Each verb asks for the parts that it judges. A part that nobody asked for says so, as one that could not be
had says why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from orchestrator.ports.hosts import Listening
from orchestrator.ports.part import Part
from orchestrator.ports.servers import Placement
from orchestrator.ports.services import ServicesSeen
from orchestrator.ports.voter_sets import VoterSet
from orchestrator.ports.voters import VotersSeen
from orchestrator.replication.engine import MirrorSettings
from orchestrator.replication.mirror_ref import MirrorRef
from orchestrator.replication.offset_map import OffsetMap
from orchestrator.runs.coordination_state import CoordinationState
from orchestrator.runs.plan import digest
from orchestrator.snapshot.clients import ClientHost
from orchestrator.snapshot.observation import (
    AccessState,
    GroupOffsets,
    SourceProbe,
    TopicState,
)
from orchestrator.snapshot.partial_view import PartialView
from orchestrator.snapshot.rejoining import Past
from orchestrator.snapshot.samples import SampleHistory
from orchestrator.values import EpochEnd, LogEnd, ReplicaEnd, TopicPartition

_NOT_ASKED: Part[Any] = Part("this look", 0.0, None, "it was not asked for")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterView:
    """One cluster, as far as it was asked.

    `probe`: what it does when it is called. `brokers`: id -> address of those that answer. `left`: a cluster
    asked broker by broker. `members`: running members of each group that moves; `given`: what each group has
    given these to read, None while it divides that among them; `committed`: what these have
    committed. `access`: who can be kept off. `earlier_ends`: where the copies in it ended
    `observation.STANDSTILL_S` or longer before `log_ends` were read; absent while their source takes
    connections, because then they have no end. `sizes`: bytes of its logs, asked for where the mirror that
    copies them has a limit. `epoch_ends`: where the leader epochs in which its logs were left end in them
    now. `samples`: what a watcher at the place entered has recorded of a cluster from which no mirror leads
    there. `placement`: who has and who leads each partition of every topic. `reassigning`: partitions whose
    replicas are being moved. `min_insync`: `min.insync.replicas` in force, by topic. `voters`: of its
    metadata quorum, as their hosts tell; `voter_set`: as the quorum itself has them; `at_lost_sites`: which
    addresses of its servers at lost sites take connections; `broker_ports`: whether brokers elsewhere do,
    while there is no quorum. `services`: of its servers at lost sites, as their hosts tell. `replica_ends`:
    of partitions that nobody leads, by broker, where its replica's log ends, or why nobody can tell;
    `stranded_ends`: the same of those that a lost site may go on leading for who does not wait for others.
    `cluster_id`: None where no broker answers, empty where it tells none.
    """

    probe: Part[SourceProbe] = _NOT_ASKED
    brokers: Part[Mapping[int, str]] = _NOT_ASKED
    left: Part[PartialView] = _NOT_ASKED
    topics: Part[Mapping[str, TopicState]] = _NOT_ASKED
    earlier_ends: Part[Mapping[TopicPartition, int]] = _NOT_ASKED
    log_ends: Part[Mapping[TopicPartition, LogEnd]] = _NOT_ASKED
    sizes: Part[Mapping[TopicPartition, int]] = _NOT_ASKED
    epoch_ends: Part[Mapping[TopicPartition, EpochEnd]] = _NOT_ASKED
    members: Part[Mapping[str, int]] = _NOT_ASKED
    given: Part[Mapping[str, frozenset[TopicPartition] | None]] = _NOT_ASKED
    committed: Part[GroupOffsets] = _NOT_ASKED
    access: Part[AccessState] = _NOT_ASKED
    samples: Part[SampleHistory] = _NOT_ASKED
    placement: Part[Placement] = _NOT_ASKED
    reassigning: Part[frozenset[TopicPartition]] = _NOT_ASKED
    min_insync: Part[Mapping[str, int]] = _NOT_ASKED
    voters: Part[VotersSeen] = _NOT_ASKED
    voter_set: Part[VoterSet] = _NOT_ASKED
    broker_ports: Part[Mapping[int, Listening]] = _NOT_ASKED
    at_lost_sites: Part[Mapping[str, Listening]] = _NOT_ASKED
    services: Part[ServicesSeen] = _NOT_ASKED
    replica_ends: Part[Mapping[TopicPartition, Mapping[int, ReplicaEnd | str]]] = _NOT_ASKED
    stranded_ends: Part[Mapping[TopicPartition, Mapping[int, ReplicaEnd | str]]] = _NOT_ASKED
    cluster_id: str | None = None

    def stands_still(self, partitions: Iterable[TopicPartition]) -> bool:
        """Whether nothing has landed in `partitions` for a while, as far as was seen."""
        before, now = self.earlier_ends.value, self.log_ends.value
        if before is None or now is None:
            return False
        return all(tp in before and tp in now and before[tp] == now[tp].end_offset for tp in partitions)


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorView:
    """One mirror, as far as its engine and the watcher were asked.

    `states`: connector -> what Connect says of it. `read`: the last source offset that it has surely read, by
    source partition. `samples`: what the watcher has recorded of its source. `by_time`: for each group with
    `on_untranslatable: timestamp` the target offsets by source partition, see `by_time.py`.
    """

    states: Part[Mapping[str, str]] = _NOT_ASKED
    read: Part[Mapping[TopicPartition, int]] = _NOT_ASKED
    settings: Part[MirrorSettings] = _NOT_ASKED
    samples: Part[SampleHistory] = _NOT_ASKED
    offset_map: Part[OffsetMap] = _NOT_ASKED
    by_time: Part[GroupOffsets] = _NOT_ASKED


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """Clusters by their names in the file, mirrors by source and target, and what is of no place.

    `at_s`: when all but what is told of the cluster left was complete, Unix epoch seconds. `past`: what
    earlier runs have recorded. `own`: what kinds of applications have looked at, by their names.
    """

    at_s: float
    coordination: Part[CoordinationState]
    clusters: Mapping[str, ClusterView] = field(default_factory=dict)
    mirrors: Mapping[MirrorRef, MirrorView] = field(default_factory=dict)
    inventory: Part[tuple[ClientHost, ...]] = _NOT_ASKED
    past: Part[Past] = _NOT_ASKED
    own: Mapping[str, Part[Any]] = field(default_factory=dict)

    def cluster(self, name: str) -> ClusterView:
        """One of which nobody has asked anything is such a one."""
        return self.clusters.get(name, _NO_CLUSTER)

    def mirror(self, mirror: MirrorRef) -> MirrorView:
        """One of which nobody has asked anything is such a one."""
        return self.mirrors.get(mirror, _NO_MIRROR)

    def of_kind(self, name: str) -> Part[Any]:
        """What a kind of applications has looked at."""
        return self.own.get(name, _NOT_ASKED)

    def cluster_ids(self) -> dict[str, str]:
        """The id of each cluster that answers, empty where it tells none."""
        return {name: view.cluster_id for name, view in self.clusters.items() if view.cluster_id is not None}

    def digests(self) -> dict[str, str]:
        """One digest for each part that a plan relies on and that does not move by itself.

        Log ends and positions grow all the time and are judged anew; what must not change between plan
        and act is who is there, what exists, and what runs.
        """
        found: list[tuple[str, str, Part[Any]]] = [("inventory", "", self.inventory)]
        for name, cluster in self.clusters.items():
            found += [(key, f" of {name}", getattr(cluster, key)) for key in _OF_CLUSTER]
        found += [("states", f" of {mirror}", view.states) for mirror, view in self.mirrors.items()]
        return {f"{key}{of}": digest(_stable(key, part)) for key, of, part in found if part != _NOT_ASKED}

    def moved_since(self, digests: Mapping[str, str]) -> tuple[str, ...]:
        """Names of the parts that are not as they were when `digests` were taken."""
        now = self.digests()
        return tuple(name for name, was in digests.items() if now.get(name) != was)


def _stable(key: str, part: Part[Any]) -> Any:
    return {"problem": bool(part.problem), "value": None if part.value is None else _STABLE[key](part.value)}


_NO_CLUSTER, _NO_MIRROR = ClusterView(), MirrorView()
_OF_CLUSTER = ("probe", "brokers", "left", "topics", "members", "access")
_STABLE: dict[str, Callable[[Any], Any]] = {
    "probe": lambda probe: [probe.answers, len(probe.listening)],
    "brokers": lambda brokers: sorted(brokers.items()),
    "left": lambda left: [sorted(left.brokers), bool(left.controller.problem)],
    "topics": lambda topics: {
        name: [state.topic_id, len(state.leaders), state.min_insync_replicas]
        for name, state in topics.items()
    },
    "members": lambda members: {group: count > 0 for group, count in members.items()},
    "access": lambda access: [access.authorizer, sorted(access.super_users or ())],
    "states": dict,
    "inventory": lambda hosts: sorted([host.name, host.dc, sorted(host.clients or ())] for host in hosts),
}
