"""Looking at a sick cluster: each broker by itself, all at once, each with its own deadline."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from orchestrator.errors import ClusterError
from orchestrator.ports.admin_values import Quorum
from orchestrator.ports.part import Part
from orchestrator.runs.live.servers import Servers
from orchestrator.snapshot.live.asking import asked, read_access
from orchestrator.snapshot.observation import AccessState
from orchestrator.snapshot.partial_view import PartialPartition, PartialView, answering, places_of
from orchestrator.topology.model import Topology
from orchestrator.values import BrokerView, LogReach, TopicPartition

ANSWER_TIMEOUT_S = 3.0
_GROUP_TIMEOUT_S = 4.0
_RULES_TIMEOUT_S = 4.0
_QUORUM_TIMEOUT_S = 6.0
# A voter fetches several times a second; its leader counts it as gone after a few seconds.
_VOTER_SILENT_S = 3.0


class PartialReader:
    """One cluster of the topology, read as far as it answers. To be closed."""

    def __init__(
        self, servers: Servers, topology: Topology, name: str, timeout_s: float = ANSWER_TIMEOUT_S
    ) -> None:
        self._each = servers.each_broker(topology, name)
        self._log_ends = servers.log_ends(topology, name, timeout_s)
        self._timeout_s = timeout_s
        self._addresses = set(topology.clusters[name].bootstrap)
        self.brokers: dict[int, str] = {}
        self.silent: dict[str, str] = {}
        self.views: dict[str, BrokerView] = {}
        self._has_gaps = False

    def __enter__(self) -> PartialReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the connections."""
        self._each.close()
        self._log_ends.close()

    def ask_brokers(self) -> dict[int, str]:
        """Who answers now: broker id -> address. Brokers that others name are asked as well."""
        found = self._each.views(self._addresses, self._timeout_s)
        named = {at for view in _good(found).values() for at in view.brokers.values()} - self._addresses
        if named:
            found |= self._each.views(named, self._timeout_s)
            self._addresses |= named
        self.views = _good(found)
        self.silent = {at: said.problem for at, said in found.items() if isinstance(said, ClusterError)}
        self.brokers = answering(self.views)
        return self.brokers

    def partitions(
        self, wanted: Iterable[TopicPartition], *, anew: bool = False
    ) -> dict[TopicPartition, PartialPartition]:
        """Each with its log, or why it cannot be read.

        `anew`: who leads is asked again where something had no answer the last time.
        """
        if not self.views or (anew and (self.silent or self._has_gaps)):
            self.ask_brokers()
        self._has_gaps = False
        found = places_of(self.views.values(), wanted)
        led: dict[int, list[TopicPartition]] = {}
        for tp, place in found.items():
            if not place.problem:
                led.setdefault(place.leader, []).append(tp)
        answers = self._each.log_ends(self.brokers.values(), led, self._timeout_s) if led else {}
        for leader, said in answers.items():
            for tp in led[leader]:
                if isinstance(said, ClusterError):
                    found[tp] = replace(found[tp], problem=f"broker {leader}: {said.problem}")
                elif tp not in said:
                    found[tp] = replace(found[tp], problem=f"broker {leader} did not give its log end offset")
                else:
                    found[tp] = replace(found[tp], log=said[tp])
        # What has no answer may have another leader by the next look.
        self._has_gaps = any(place.log is None for place in found.values())
        return found

    def reaches(self, wanted: Iterable[TopicPartition]) -> dict[TopicPartition, LogReach | ClusterError]:
        """How far each log reaches at its leader, or why nobody can tell; brokers that answered are asked."""
        return self._log_ends.reaches(self.brokers.values(), wanted)

    def committed(self, groups: Iterable[str]) -> dict[str, Mapping[TopicPartition, int] | ClusterError]:
        """What each group has committed, or why its coordinator does not say it."""
        if not self.views:
            self.ask_brokers()
        if not self.brokers:
            silent = ClusterError("group coordinator", "no broker answers")
            return dict.fromkeys(groups, silent)
        return {**self._each.committed(self.brokers.values(), groups, _GROUP_TIMEOUT_S)}


def partial_view(
    servers: Servers,
    topology: Topology,
    name: str,
    partitions: Sequence[TopicPartition],
    groups: Sequence[str],
) -> PartialView:
    """All that a decision about a sick cluster needs, in one look. Never raises for what it does not say."""
    subject, clock = f"cluster {name}", servers.clock
    with PartialReader(servers, topology, name) as reader, servers.threads.pool(4) as pool:
        brokers = reader.ask_brokers()
        nobody: Part[AccessState] = Part(subject, clock.now_s(), None, "no broker answers")
        if not brokers:
            return PartialView(
                brokers={},
                silent=reader.silent,
                partitions=places_of((), partitions),
                controller=Part(subject, nobody.at_s, None, nobody.problem),
                access=nobody,
                committed={},
            )
        controller = pool.submit(asked, subject, lambda: _controller(servers, topology, name, reader), clock)
        access = pool.submit(asked, subject, lambda: _access(servers, topology, name, brokers), clock)
        positions = pool.submit(reader.committed, groups)
        found = reader.partitions(partitions)
        reaches = reader.reaches(tp for tp, place in found.items() if place.log is not None)
        for tp, reach in reaches.items():
            if isinstance(reach, LogReach):
                found[tp] = replace(found[tp], log_end=reach.log_end)
        return PartialView(
            brokers=brokers,
            silent=reader.silent,
            partitions=found,
            controller=controller.result(),
            access=access.result(),
            committed={
                group: said
                for group, said in positions.result().items()
                if not isinstance(said, ClusterError)
            },
            cluster_id=next((view.cluster_id for view in reader.views.values() if view.cluster_id), ""),
        )


def _good(found: Mapping[str, BrokerView | ClusterError]) -> dict[str, BrokerView]:
    return {address: said for address, said in found.items() if isinstance(said, BrokerView)}


def _access(servers: Servers, topology: Topology, name: str, brokers: Mapping[int, str]) -> AccessState:
    """Who is above the rules, by those brokers that answer."""
    access = servers.access(topology, name, addresses=brokers.values(), timeout_s=_RULES_TIMEOUT_S)
    return read_access(access, brokers)


def _controller(servers: Servers, topology: Topology, name: str, reader: PartialReader) -> str:
    """Who can write access rules now. Raises `ClusterError` where nobody can."""
    described = topology.clusters[name]
    if described.metadata == "zookeeper":
        known = {view.controller for view in reader.views.values()} & reader.brokers.keys()
        if not known:
            raise ClusterError(f"cluster {name}", "no broker that answers is its controller")
        return f"broker {min(known)}"
    cluster = servers.kafka(topology, name, addresses=reader.brokers.values())
    try:
        quorum = cluster.describe_quorum(_QUORUM_TIMEOUT_S)
    except ClusterError as error:
        if error.code != "Timeout":
            raise
        problem = f"no controller answers within {_QUORUM_TIMEOUT_S:g} s: is their majority gone?"
        raise ClusterError(f"cluster {name}", problem) from None
    finally:
        cluster.close()
    lost = voters_missing(quorum)
    if 2 * (len(quorum.voters) - len(lost)) <= len(quorum.voters):
        gone = ", ".join(map(str, lost))
        raise ClusterError(
            f"cluster {name}", f"no majority: of {len(quorum.voters)} controllers {gone} do not answer"
        )
    return f"controller {quorum.leader_id}"


def voters_missing(quorum: Quorum) -> list[int]:
    """Voters that their leader has not heard of for a while: it itself may not have noticed yet."""
    said = {voter.node_id: voter.last_fetched_at_s for voter in quorum.voters}
    now_s = max((at_s for at_s in said.values() if at_s is not None), default=0.0)
    return sorted(
        node
        for node, at_s in said.items()
        if node != quorum.leader_id and (at_s is None or now_s - at_s > _VOTER_SILENT_S)
    )
