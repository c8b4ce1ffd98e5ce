"""The voters of a quorum that lives: KRaft's through its brokers, ZooKeeper's through its own servers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from orchestrator.adapters.ensemble import EnsembleMembers, describe_members, reconfigure, server_mode
from orchestrator.adapters.secrets import resolve_secrets
from orchestrator.adapters.zookeeper_access import EnsembleAccess
from orchestrator.errors import ClusterError
from orchestrator.estate.live.observe import zookeeper_hosts
from orchestrator.ports.servers import Kafka
from orchestrator.ports.voter_sets import Member, VoterSet, VoterSets
from orchestrator.topology.model import Topology

# A follower fetches twice a second (`controller.quorum.fetch.timeout.ms` is four times that by default).
_HEARD_WITHIN_S = 3.0
_FEATURE = "kraft.version"


class KraftVoters:
    """See `ports.voter_sets.VoterSets`. Kafka changes one voter at a time."""

    def __init__(self, kafka: Callable[[], Kafka]) -> None:
        self._cluster = kafka

    @property
    def _kafka(self) -> Kafka:
        return self._cluster()

    def read(self) -> VoterSet:
        """See `VoterSets`."""
        if not self._kafka.features().finalized.get(_FEATURE):
            problem = f"its voters are a static list ({_FEATURE} is 0)"
            raise ClusterError(self._kafka.subject, problem, "voters: static in the topology file")
        quorum = self._kafka.describe_quorum()
        endpoints, voting = quorum.endpoints, {one.node_id: one.directory_id for one in quorum.voters}
        leader = next((voter for voter in quorum.voters if voter.node_id == quorum.leader_id), None)
        return VoterSet(
            voters=tuple(
                Member(
                    number=voter.node_id,
                    directory_id=voter.directory_id,
                    addresses=tuple(endpoints.get(voter.node_id, ())),
                )
                for voter in quorum.voters
            ),
            heard=frozenset(one.node_id for one in quorum.voters if quorum.is_heard(one, _HEARD_WITHIN_S)),
            leader=None if leader is None else leader.node_id,
            anew=tuple(
                Member(number=one.node_id, directory_id=one.directory_id)
                for one in quorum.observers
                if voting.get(one.node_id, one.directory_id) != one.directory_id
                and quorum.is_heard(one, _HEARD_WITHIN_S)
            ),
        )

    def following(self, members: Sequence[Member]) -> tuple[Member, ...]:
        """See `VoterSets`: observers that fetch, and have what was committed."""
        quorum = self._kafka.describe_quorum()
        observers = {
            observer.node_id: observer
            for observer in quorum.observers
            if quorum.is_heard(observer, _HEARD_WITHIN_S) and observer.log_end_offset >= quorum.high_watermark
        }
        return tuple(
            Member(
                number=member.number,
                directory_id=observers[member.number].directory_id,
                addresses=member.addresses,
            )
            for member in members
            if member.number in observers
        )

    def remove(self, seen: VoterSet, members: Sequence[Member]) -> None:
        """See `VoterSets`. A directory id names one log, so another voter with that id is never meant."""
        for member in members:
            if seen.has(member):
                self._kafka.remove_voter(member.number, member.directory_id)

    def add(self, seen: VoterSet, members: Sequence[Member], lines: Sequence[str]) -> None:  # noqa: ARG002
        """See `VoterSets`."""
        for member in members:
            if not seen.has(member):
                self._kafka.add_voter(member.number, member.directory_id, member.addresses)


class EnsembleVoters:
    """See `ports.voter_sets.VoterSets`. The ensemble is where the cluster's brokers look for it."""

    def __init__(self, kafka: Callable[[], Kafka], access: EnsembleAccess) -> None:
        self._cluster, self._access = kafka, access

    def _hosts(self) -> str:
        return zookeeper_hosts(self._cluster())

    def read(self) -> VoterSet:
        """See `VoterSets`. Whether it may be changed its servers' own files tell (`reconfigEnabled`).

        A server that answers is heard, whether or not it may say its mode (`4lw.commands.whitelist`).
        """
        found = describe_members(self._hosts(), self._access)
        modes = {number: server_mode(address) for number, address in found.client_addresses.items()}
        leaders = [number for number, mode in modes.items() if mode == "leader"]
        return VoterSet(
            voters=tuple(
                Member(number=number, addresses=(found.servers[number],)) for number in sorted(found.voters)
            ),
            heard=frozenset(number for number, mode in modes.items() if mode is not None),
            leader=leaders[0] if len(leaders) == 1 else None,
            version=found.version,
            lines=found.lines,
            unasked=frozenset(number for number in found.voters if not found.client_addresses[number]),
        )

    def following(self, members: Sequence[Member]) -> tuple[Member, ...]:
        """See `VoterSets`: who follows has what was committed as it began to."""
        found = EnsembleMembers.of(
            [f"server.{one.number}={address}" for one in members for address in one.addresses]
        )
        modes = {number: server_mode(address) for number, address in found.client_addresses.items()}
        return tuple(one for one in members if modes.get(one.number) in {"follower", "observer"})

    def remove(self, seen: VoterSet, members: Sequence[Member]) -> None:
        """See `VoterSets`.

        A hierarchical quorum is given as a whole, without groups: with one group less each of the others
        would still be needed (facts: ZooKeeper hierarchical quorum).
        """
        going = {member.number for member in members}
        found = EnsembleMembers.of(seen.lines)
        if found.is_hierarchical:
            whole = [f"server.{number}={its}" for number, its in found.servers.items() if number not in going]
            reconfigure(self._hosts(), self._access, seen.version, members=whole)
        else:
            reconfigure(self._hosts(), self._access, seen.version, leaving=sorted(going))

    def add(self, seen: VoterSet, members: Sequence[Member], lines: Sequence[str]) -> None:
        """See `VoterSets`."""
        before = EnsembleMembers.of(lines)
        if before.is_hierarchical:
            now = seen.numbers | {member.number for member in members}
            reconfigure(self._hosts(), self._access, seen.version, members=before.of_these(now))
        else:
            joining = [f"server.{one.number}={address}" for one in members for address in one.addresses]
            reconfigure(self._hosts(), self._access, seen.version, joining=joining)


def voter_set(topology: Topology, name: str, kafka: Callable[[], Kafka]) -> VoterSets:
    """The voters of one cluster. Raises `DcctlError` for a secret that is not there."""
    described = topology.clusters[name]
    if described.metadata == "kraft":
        return KraftVoters(kafka)
    who = described.zookeeper_client
    if who is None or who.username is None:
        return EnsembleVoters(kafka, EnsembleAccess())
    secret = resolve_secrets({"password": who.password or ""}, f"clusters.{name}.zookeeper_client")
    return EnsembleVoters(kafka, EnsembleAccess(who.username, secret["password"]))
