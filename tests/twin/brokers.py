"""What dcctl asks of a cluster beside its topics and groups: access rules, Kafka's own Admin, single brokers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from orchestrator.errors import ClusterError
from orchestrator.ports.servers import Authorization
from orchestrator.values import (
    Acl,
    BrokerView,
    EpochEnd,
    LogEnd,
    LogReach,
    PartitionPlace,
    ReplicaEnd,
    TopicPartition,
)
from tests.opened import Opened
from tests.twin.asking import CODES, Asked
from tests.twin.clusters import OPERATOR, TwinCluster
from tests.twin.crew import Crew
from tests.twin.record import Record


class TwinAccess(Asked):
    """See `ports.servers.Access`."""

    def __init__(self, cluster: TwinCluster, record: Record, crew: Crew, timeout_s: float) -> None:
        super().__init__(cluster, record, crew)
        self._timeout_s = timeout_s

    @property
    def operator(self) -> str:
        return OPERATOR

    def rules(self, principals: Iterable[str] | None = None) -> frozenset[Acl]:
        self.reached("reading access rules", self._timeout_s)
        wanted = None if principals is None else set(principals)
        return frozenset(rule for rule in self.cluster.acls if wanted is None or rule.principal in wanted)

    def add(self, rules: Iterable[Acl]) -> None:
        for rule in sorted(rules):
            if rule not in self.cluster.acls:
                verb = "deny" if rule.permission == "DENY" else "allow"
                self._change("creating access rules", verb, rule, self.cluster.acls.add)

    def remove(self, rules: Iterable[Acl]) -> None:
        for rule in sorted(rules):
            if rule in self.cluster.acls:
                verb = "lift denial" if rule.permission == "DENY" else "withdraw right"
                self._change("deleting access rules", verb, rule, self.cluster.acls.discard)

    def _change(self, doing: str, verb: str, rule: Acl, change: Callable[[Acl], None]) -> None:
        self.reached(doing, self._timeout_s)
        if not self.cluster.has_quorum:
            self.crew.pass_time(self._timeout_s)
            raise self.error(doing, "_TIMED_OUT")

        def made() -> None:
            change(rule)
            self.cluster.log_end += 1

        name = f"{rule.resource_name}*" if rule.pattern == "PREFIXED" else rule.resource_name
        self.record.do(
            verb,
            self.name,
            f"{rule.principal} {rule.operation} {rule.resource_type.lower()} {name}",
            made,
            failed=lambda why: self.error(f"{doing}: {why}", "_TIMED_OUT"),
        )

    def authorization(self, brokers: Sequence[int]) -> Authorization:
        self.reached("asking for its authorizer", self._timeout_s)
        if any(self.cluster.brokers[number].state != "up" for number in brokers):
            self.crew.pass_time(self._timeout_s)
            raise self.error("asking for its authorizer", "_TIMED_OUT")
        told = self.cluster.super_users if self.cluster.tells_super_users else None
        return Authorization(self.cluster.authorizer, told)


class Held(Opened, Asked):
    """Something that is closed after use."""


class TwinLogEnds(Held):
    """See `ports.servers.LogEnds`."""

    def __init__(self, cluster: TwinCluster, record: Record, crew: Crew, timeout_s: float) -> None:
        super().__init__(cluster, record, crew)
        self._timeout_s = timeout_s

    def reaches(
        self,
        addresses: Iterable[str],  # noqa: ARG002 - any broker tells who leads
        partitions: Iterable[TopicPartition],
    ) -> dict[TopicPartition, LogReach | ClusterError]:
        found: dict[TopicPartition, LogReach | ClusterError] = {}
        is_late = False
        for tp in sorted(set(partitions)):
            log = self.cluster.log(tp)
            if log is None or not self.cluster.is_led(log):
                found[tp] = ClusterError(self.subject, "its leader does not answer", code="_TIMED_OUT")
                is_late = True
            else:
                found[tp] = LogReach(log.readable_end, log.end)
        if is_late:
            self.crew.wait_for(lambda: False, self._timeout_s)
        topics = dict.fromkeys(tp.topic for tp in found)
        self.record.see("see", self.name, f"how far the logs of {', '.join(topics)} reach")
        return found

    def epoch_ends(
        self,
        addresses: Iterable[str],  # noqa: ARG002 - any broker tells who leads
        epochs: Mapping[TopicPartition, int],
    ) -> dict[TopicPartition, EpochEnd | ClusterError]:
        found: dict[TopicPartition, EpochEnd | ClusterError] = {}
        for tp, epoch in sorted(epochs.items()):
            log = self.cluster.log(tp)
            if log is None or not self.cluster.is_led(log):
                found[tp] = ClusterError(self.subject, "its leader does not answer", code="_TIMED_OUT")
            else:
                found[tp] = log.epoch_end(epoch)
        if any(isinstance(said, ClusterError) for said in found.values()):
            self.crew.wait_for(lambda: False, self._timeout_s)
        return found


class TwinReplicaEnds(Held):
    """See `ports.servers.ReplicaEnds`."""

    def ends(
        self, replicas: Mapping[str, Sequence[TopicPartition]]
    ) -> dict[str, dict[TopicPartition, ReplicaEnd | ClusterError] | ClusterError]:
        self.record.see("see", self.name, "where logs of replicas end")
        by_address = {broker.address: number for number, broker in self.cluster.brokers.items()}
        return {address: self._of(by_address[address], wanted) for address, wanted in replicas.items()}

    def _of(
        self, broker: int, wanted: Sequence[TopicPartition]
    ) -> dict[TopicPartition, ReplicaEnd | ClusterError] | ClusterError:
        if broker not in self.cluster.answering:
            return ClusterError(self.subject, "does not answer", code="_TIMED_OUT")
        found: dict[TopicPartition, ReplicaEnd | ClusterError] = {}
        for tp in wanted:
            log = self.cluster.log(tp)
            assert log is not None
            found[tp] = log.behind.get(broker, ReplicaEnd(log.epoch, log.end))
        return found


class TwinEachBroker(Held):
    """See `ports.servers.EachBroker`."""

    def views(self, addresses: Iterable[str], timeout_s: float) -> dict[str, BrokerView | ClusterError]:
        cluster = self.cluster
        by_address = {broker.address: broker for broker in cluster.brokers.values()}
        found: dict[str, BrokerView | ClusterError] = {}
        for address in sorted(set(addresses)):
            broker = by_address[address]
            if broker.state != "up":
                subject = f"{self.subject}, {address}"
                found[address] = ClusterError(subject, "does not answer", code=CODES[broker.state])
                continue
            found[address] = BrokerView(
                broker_id=broker.number,
                brokers={b.number: b.address for b in cluster.brokers.values() if b.is_known},
                controller=min(cluster.answering),
                cluster_id=cluster.cluster_id,
                partitions={
                    TopicPartition(name, at): PartitionPlace(log.leader, log.isr)
                    for name, topic in cluster.topics.items()
                    for at, log in enumerate(topic.logs)
                },
            )
        if any(isinstance(said, ClusterError) for said in found.values()):
            self.crew.wait_for(lambda: False, timeout_s)
        return found

    def log_ends(
        self,
        addresses: Iterable[str],  # noqa: ARG002 - those of the brokers that answer
        led: Mapping[int, Sequence[TopicPartition]],
        timeout_s: float,
    ) -> dict[int, dict[TopicPartition, LogEnd] | ClusterError]:
        found: dict[int, dict[TopicPartition, LogEnd] | ClusterError] = {}
        for leader, partitions in led.items():
            if leader not in self.cluster.answering:
                found[leader] = self.error("asking for log offsets", "_TIMED_OUT")
                continue
            logs = {tp: log for tp in partitions if (log := self.cluster.log(tp)) is not None}
            found[leader] = {
                tp: LogEnd(log.start, log.readable_end, log.epoch)
                for tp, log in logs.items()
                if log.leader == leader
            }
        if any(isinstance(said, ClusterError) for said in found.values()):
            self.crew.wait_for(lambda: False, timeout_s)
        return found

    def committed(
        self,
        addresses: Iterable[str],  # noqa: ARG002 - those of the brokers that answer
        groups: Iterable[str],
        timeout_s: float,
    ) -> dict[str, dict[TopicPartition, int] | ClusterError]:
        found: dict[str, dict[TopicPartition, int] | ClusterError] = {}
        for group in groups:
            if self.cluster.is_coordinated(group):
                found[group] = dict(self.cluster.group(group).offsets)
                self.record.see("see", self.name, f"positions of {group}")
            else:
                found[group] = self.error(f"asking for the offsets of group {group}", "_TIMED_OUT")
        if any(isinstance(said, ClusterError) for said in found.values()):
            self.crew.wait_for(lambda: False, timeout_s)
        return found
