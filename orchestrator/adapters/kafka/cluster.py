"""One Kafka cluster as the orchestrator's operator sees it, whoever asks it for us.

What librdkafka can ask is asked by librdkafka: by this process, or by one of its own where the library may
end it. What only Kafka's own Admin can, or reads faster in bulk, goes to a Java process, which is started by
the first such call.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Self

from orchestrator.adapters.kafka.isolated import IsolatedCluster
from orchestrator.adapters.kafka.librdkafka_cluster import LibrdkafkaCluster, told_topic
from orchestrator.ports.admin_values import ActiveProducer, ClusterIdentity, ConfigKind, Features, Quorum
from orchestrator.ports.servers import Placement, SiteOf, TopicDescription, rack_as_site
from orchestrator.values import Acl, QuotaOwner, TopicPartition

if TYPE_CHECKING:
    from orchestrator.adapters.kafka.java_admin import JavaAdmin


class KafkaCluster(LibrdkafkaCluster):
    """A connection to one cluster. Every method takes a deadline in seconds and raises `ClusterError`.

    What was sent to change something may have happened when a call fails with `Timeout`: look before doing it
    again. Where some of many are refused, the others are done, and the error names the first.
    """

    def __init__(
        self,
        name: str,
        bootstrap: Sequence[str],
        client: Mapping[str, str],
        *,
        site_of: SiteOf = rack_as_site,
    ) -> None:
        super().__init__(name, bootstrap, client, site_of=site_of)
        # Coordinators are asked by a process of its own (see `group_admin`).
        self._isolated = IsolatedCluster(name, bootstrap, client, asks_again=True)
        self._described = (name, tuple(bootstrap), dict(client))
        self._java: JavaAdmin | None = None
        self._guard = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _java_admin(self) -> JavaAdmin:
        # Loaded when it is needed: the helper of `isolated` imports this package, and starts often.
        from orchestrator.adapters.kafka.java_admin import JavaAdmin  # noqa: PLC0415

        with self._guard:
            self._java = self._java or JavaAdmin(*self._described)
            return self._java

    def warm_up(self) -> None:
        """Start the Java process of Kafka's own Admin, and open its connection."""
        self.describe_cluster()

    def close(self) -> None:
        """End what stays open: Kafka's Admin, the process for coordinators. A later call opens them anew."""
        with self._guard:
            if self._java is not None:
                self._java.close()
        self._isolated.reset()

    def reconnect(self) -> None:
        """Forget every connection: librdkafka may wait on that to a group coordinator that was restarted."""
        self._connect()
        self._isolated.reset()

    def committed(
        self, groups: Iterable[str], timeout_s: float = 10.0
    ) -> dict[str, dict[TopicPartition, int]]:
        """Committed offsets (the next to read) of each group; a group without any has an empty mapping."""
        return self._isolated.committed(groups, timeout_s)

    def write_group_offsets(
        self,
        group: str,
        offsets: Mapping[TopicPartition, int],
        timeout_s: float = 10.0,
        *,
        may_write: Callable[[], bool] = lambda: True,
    ) -> None:
        """Set the committed offsets of an empty group. Raises when the group has running members.

        `may_write` is asked before each try: a coordinator that moves is asked again for a while.
        """
        self._isolated.write_group_offsets(group, offsets, timeout_s, may_write)

    def group_members(self, groups: Iterable[str], timeout_s: float = 10.0) -> dict[str, int]:
        """Number of running members of each group (0 for one that is empty or not known)."""
        return self._isolated.group_members(groups, timeout_s)

    def group_assignments(
        self, groups: Iterable[str], timeout_s: float = 10.0
    ) -> dict[str, frozenset[TopicPartition] | None]:
        """What each group has given its members to read (nothing for one that is empty or not known).

        None while partitions are being divided among members, and who reads what cannot be told.
        """
        return self._isolated.group_assignments(groups, timeout_s)

    def describe_cluster(self, timeout_s: float = 15.0) -> ClusterIdentity:
        """The cluster's id and live brokers with their racks."""
        return self._java_admin().describe_cluster(timeout_s)

    def features(self, timeout_s: float = 15.0) -> Features:
        """Levels of features such as `metadata.version`; empty where the cluster has none."""
        return self._java_admin().features(timeout_s)

    def release(self, timeout_s: float = 15.0) -> str | None:
        """`major.minor` of the brokers' software, as far as they tell; None where they do not."""
        return self._java_admin().release(timeout_s)

    def placement_as_told(self, timeout_s: float = 15.0) -> Placement:
        """See `ports.servers.Kafka`. For descriptions of topics both clients ask the controller."""
        known = self.listed("asking who leads", timeout_s)
        brokers = self.describe_cluster(timeout_s).brokers
        racks = {broker.broker_id: broker.rack for broker in brokers if broker.rack}
        topics = {name: told_topic(topic) for name, topic in known.topics.items()}
        return Placement.told(topics, racks, frozenset(known.brokers), self.site_of)

    def describe_topics(self, names: Iterable[str], timeout_s: float = 30.0) -> dict[str, TopicDescription]:
        """Those of `names` that exist, any number of them: what `topics` says, and which are Kafka's own."""
        return self._java_admin().describe_topics(names, timeout_s)

    def configs(
        self, kind: ConfigKind, names: Iterable[str], timeout_s: float = 30.0
    ) -> dict[str, dict[str, str]]:
        """Of topics what was set on each itself; of brokers, by their ids, the values in force.

        What Kafka does not show (secrets) is left out. A topic that is not there is left out, too.
        """
        return self._java_admin().configs(kind, names, timeout_s)

    def acls(self, timeout_s: float = 15.0) -> frozenset[Acl] | None:
        """Every access rule; None where the cluster has no authorizer, and so knows no rules."""
        return self._java_admin().acls(timeout_s)

    def quotas(self, timeout_s: float = 15.0) -> dict[QuotaOwner, dict[str, float]]:
        """Every client quota of users and client ids, by whom it limits; those of addresses are left out."""
        return self._java_admin().quotas(timeout_s)

    def describe_quorum(self, timeout_s: float = 15.0) -> Quorum:
        """The KRaft quorum, as its leader sees it. Raises in ZooKeeper mode (`UnsupportedVersion`)."""
        return self._java_admin().describe_quorum(timeout_s)

    def remove_voter(self, number: int, directory_id: str, timeout_s: float = 30.0) -> None:
        """Take one controller out of a dynamic KRaft quorum, which has to live. Kafka takes one at a time."""
        self._java_admin().remove_voter(number, directory_id, timeout_s)

    def add_voter(
        self, number: int, directory_id: str, endpoints: Iterable[str], timeout_s: float = 30.0
    ) -> None:
        """Let one controller vote that follows already; `endpoints` are its `LISTENER://host:port`."""
        self._java_admin().add_voter(number, directory_id, endpoints, timeout_s)

    def list_reassignments(self, timeout_s: float = 15.0) -> frozenset[TopicPartition]:
        """Every partition whose replicas are being moved."""
        return self._java_admin().list_reassignments(timeout_s)

    def describe_producers(
        self, partitions: Iterable[TopicPartition], timeout_s: float = 15.0
    ) -> dict[TopicPartition, tuple[ActiveProducer, ...]]:
        """The producers that each partition's leader remembers, those that are idempotent."""
        return self._java_admin().describe_producers(partitions, timeout_s)

    def replica_sizes(self, brokers: Iterable[int], timeout_s: float = 30.0) -> dict[TopicPartition, int]:
        """Bytes of the largest replica of each partition in the log directories of some brokers."""
        return self._java_admin().replica_sizes(brokers, timeout_s)

    def delete_topics(self, names: Iterable[str], timeout_s: float = 60.0) -> None:
        """Delete topics; one that is not there is no error."""
        self._java_admin().delete_topics(names, timeout_s)

    def create_partitions(
        self,
        counts: Mapping[str, int],
        assignments: Mapping[str, Sequence[Sequence[int]]] | None = None,
        timeout_s: float = 60.0,
    ) -> None:
        """Raise topics to so many partitions; `assignments` are the broker ids of the new ones."""
        self._java_admin().create_partitions(counts, assignments, timeout_s)

    def alter_configs(
        self, kind: ConfigKind, changes: Mapping[str, Mapping[str, str | None]], timeout_s: float = 30.0
    ) -> None:
        """Set some entries of topics' or brokers' configuration; None takes one back to its default."""
        self._java_admin().alter_configs(kind, changes, timeout_s)

    def alter_quotas(
        self, changes: Mapping[QuotaOwner, Mapping[str, float | None]], timeout_s: float = 30.0
    ) -> None:
        """Set client quotas of users and client ids; None takes one away. Other keys of theirs stay."""
        self._java_admin().alter_quotas(changes, timeout_s)

    def alter_reassignments(
        self, moves: Mapping[TopicPartition, Sequence[int] | None], timeout_s: float = 60.0
    ) -> None:
        """Begin to move partitions to these brokers; None calls off a move that is under way.

        Kafka copies in the background: `list_reassignments` tells what is left. Calling off what is not
        under way is no error. Placement is not checked by Kafka.
        """
        self._java_admin().alter_reassignments(moves, timeout_s)

    def elect_preferred(self, partitions: Iterable[TopicPartition], timeout_s: float = 30.0) -> None:
        """Let the first replica of each partition lead, where it is in sync. One that leads already does.

        Which of them lead afterwards is to be looked at: one whose first replica is not in sync is left as it
        is, without an error.
        """
        self._java_admin().elect_preferred(partitions, timeout_s)

    def elect_unclean(self, partitions: Iterable[TopicPartition], timeout_s: float = 30.0) -> None:
        """Let the first replica of each partition that is up lead, whatever it lacks.

        One that has a leader is left as it is, without an error.
        """
        self._java_admin().elect_unclean(partitions, timeout_s)

    def create_acls(self, rules: Iterable[Acl], timeout_s: float = 30.0) -> None:
        """Create access rules; those that exist stay."""
        self._java_admin().create_acls(rules, timeout_s)

    def delete_acls(self, rules: Iterable[Acl], timeout_s: float = 30.0) -> None:
        """Delete exactly these access rules; one that is not there is no error."""
        self._java_admin().delete_acls(rules, timeout_s)
