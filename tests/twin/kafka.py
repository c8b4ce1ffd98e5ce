"""What dcctl asks of a Kafka cluster, answered out of values: the adapters' protocols on a `TwinCluster`.

A cluster that is away answers nothing for as long as it is waited for. Errors bear librdkafka's names, by which
the callers decide.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Self

from orchestrator.errors import ClusterError
from orchestrator.ports.admin_values import (
    ActiveProducer,
    Broker,
    ClusterIdentity,
    ConfigKind,
    Quorum,
    Voter,
)
from orchestrator.ports.kafka_values import Authorization, TopicDescription
from orchestrator.ports.kafka_values import Record as ReadRecord
from orchestrator.values import (
    Acl,
    BrokerView,
    LogEnd,
    LogReach,
    PartitionPlace,
    TopicPartition,
    WrittenRecord,
)
from tests.twin.clusters import OPERATOR, Log, TwinCluster, TwinRecord
from tests.twin.crew import EPOCH_S, Crew
from tests.twin.record import Record

_CODES = {"gone": "_TRANSPORT", "silent": "_TIMED_OUT"}


class Asked:
    """What all questions to one cluster share."""

    def __init__(self, cluster: TwinCluster, record: Record, crew: Crew) -> None:
        self._cluster, self._record, self._crew = cluster, record, crew

    @property
    def name(self) -> str:
        return self._cluster.name

    @property
    def subject(self) -> str:
        return f"cluster {self._cluster.name}"

    def _error(self, doing: str, code: str) -> ClusterError:
        return ClusterError(
            self.subject, f"{doing}: {code.strip('_').lower()} ({code})", "is the cluster up?", code
        )

    def _reached(self, doing: str, timeout_s: float) -> None:
        """Raise what a client meets where no broker answers, after its time."""
        state = self._cluster.reach
        if state != "up":
            self._crew.pass_time(timeout_s)
            raise self._error(doing, _CODES[state])

    def _led(self, tp: TopicPartition, doing: str, timeout_s: float) -> Log:
        log = self._cluster.log(tp)
        if log is None:
            raise ClusterError(f"{self.subject}, {tp}", f"{doing}: unknown", code="UNKNOWN_TOPIC_OR_PART")
        if not self._cluster.is_led(log):
            self._crew.pass_time(timeout_s)
            raise self._error(f"{doing} {tp}", "_TIMED_OUT")
        return log

    def _coordinated(self, group: str, doing: str, timeout_s: float) -> None:
        if not self._cluster.is_coordinated(group):
            self._crew.pass_time(timeout_s)
            raise self._error(f"{doing} {group}", "_TIMED_OUT")


class TwinKafka(Asked):
    """See `ports.servers.Kafka`."""

    def __init__(self, cluster: TwinCluster, record: Record, crew: Crew) -> None:
        super().__init__(cluster, record, crew)
        self.cluster_id = ""

    def reconnect(self) -> None: ...

    def brokers(self, timeout_s: float = 10.0) -> dict[int, str]:
        self._reached("asking for its brokers", timeout_s)
        self.cluster_id = self._cluster.cluster_id
        return {n: broker.address for n, broker in self._cluster.brokers.items() if broker.is_known}

    def topics(self, names: Iterable[str], timeout_s: float = 10.0) -> dict[str, TopicDescription]:
        self._reached("describing topics", timeout_s)
        return described(self._cluster, names)

    def topic_config(self, names: Iterable[str], timeout_s: float = 10.0) -> dict[str, dict[str, str]]:
        self._reached("describing configurations", timeout_s)
        found = self._cluster.topics
        return {name: {"min.insync.replicas": "1", **found[name].config} for name in sorted(set(names))}

    def create_topics(
        self, topics: Mapping[str, tuple[int, int, Mapping[str, str]]], timeout_s: float = 30.0
    ) -> None:
        self._reached("creating topics", timeout_s)
        for name, (partitions, replicas, config) in topics.items():
            if name in self._cluster.topics:
                continue

            def create(
                name: str = name, made: tuple[int, int, dict[str, str]] = (partitions, replicas, dict(config))
            ) -> None:
                self._cluster.create_topic(name, *made)

            self._record.do(
                "create topic",
                self.name,
                f"{name} with {partitions} partitions",
                create,
                failed=lambda why: self._error(f"creating topics: {why}", "_TIMED_OUT"),
            )

    def log_ends(
        self, partitions: Iterable[TopicPartition], timeout_s: float = 10.0
    ) -> dict[TopicPartition, LogEnd]:
        self._reached("asking for log offsets", timeout_s)
        logs = {tp: self._led(tp, "asking for the offsets of", timeout_s) for tp in sorted(set(partitions))}
        self._see_ends(logs)
        return {tp: LogEnd(log.start, log.readable_end, log.epoch) for tp, log in logs.items()}

    def end_offsets(
        self, partitions: Iterable[TopicPartition], timeout_s: float = 10.0
    ) -> dict[TopicPartition, int]:
        self._reached("asking for log offsets", timeout_s)
        logs = {tp: self._led(tp, "asking for the offsets of", timeout_s) for tp in sorted(set(partitions))}
        self._see_ends(logs)
        return {tp: log.readable_end for tp, log in logs.items()}

    def _see_ends(self, asked: Iterable[TopicPartition]) -> None:
        topics = dict.fromkeys(tp.topic for tp in asked)
        if topics:
            self._record.see("see", self.name, f"ends of {', '.join(topics)}")

    def offsets_for_times(
        self, times: Mapping[TopicPartition, float], timeout_s: float = 10.0
    ) -> dict[TopicPartition, int]:
        self._reached("asking for log offsets", timeout_s)
        found = {}
        for tp, at_s in times.items():
            log = self._led(tp, "asking for the offsets of", timeout_s)
            later = (
                offset
                for offset in range(log.start, log.readable_end)
                if (record := log.records[offset]) is not None and record.at_s >= at_s
            )
            found[tp] = next(later, log.readable_end)
        return found

    def committed(
        self, groups: Iterable[str], timeout_s: float = 10.0
    ) -> dict[str, dict[TopicPartition, int]]:
        self._reached("asking for group offsets", timeout_s)
        found = {}
        for group in sorted(groups):
            self._coordinated(group, "asking for the offsets of group", timeout_s)
            found[group] = dict(self._cluster.group(group).offsets)
            self._record.see("see", self.name, f"positions of {group}")
        return found

    def group_members(self, groups: Iterable[str], timeout_s: float = 10.0) -> dict[str, int]:
        self._reached("describing groups", timeout_s)
        found = {}
        for group in sorted(set(groups)):
            self._coordinated(group, "describing group", timeout_s)
            found[group] = len(self._cluster.group(group).members)
            self._record.see("see", self.name, f"{group} {'at work' if found[group] else 'empty'}")
        return found

    def write_group_offsets(
        self,
        group: str,
        offsets: Mapping[TopicPartition, int],
        timeout_s: float = 10.0,
        *,
        may_write: Callable[[], bool] = lambda: True,
    ) -> None:
        doing = f"writing the offsets of group {group}"
        if not may_write():
            raise ClusterError(self.subject, f"{doing}: not tried (again), the run may write no more")
        self._reached(doing, timeout_s)
        self._coordinated(group, doing, timeout_s)
        if self._cluster.group(group).members:
            raise self._error(doing, "UNKNOWN_MEMBER_ID")
        self._record.do(
            "commit offset",
            self.name,
            [f"{group} {tp} → {offset}" for tp, offset in sorted(offsets.items())],
            lambda: self._cluster.group(group).offsets.update(offsets),
            failed=lambda why: self._error(f"{doing}: {why}", "_TIMED_OUT"),
        )

    def read_records(
        self,
        ranges: Mapping[TopicPartition, tuple[int, int]],
        idle_timeout_s: float = 15.0,
        isolation_level: str = "read_uncommitted",  # noqa: ARG002 - there are no aborted records here
    ) -> Iterator[list[ReadRecord]]:
        wanted = {tp: span for tp, span in ranges.items() if span[1] > span[0]}
        if not wanted:
            return
        self._reached("reading records", idle_timeout_s)
        for tp, (first, end) in wanted.items():
            log = self._led(tp, "reading records of", idle_timeout_s)
            if end > log.readable_end:
                self._crew.pass_time(idle_timeout_s)
                raise ClusterError(
                    self.subject, f"no record within {idle_timeout_s:g} s; not read to the end: {tp}"
                )
            chunk = [
                ReadRecord(tp.topic, tp.partition, at, _ms(record), record.key, record.value)
                for at in range(max(first, log.start), end)
                if (record := log.records[at]) is not None
            ]
            if chunk:
                yield chunk

    def follow(self, starts: Mapping[TopicPartition, int]) -> TwinFollower:
        return TwinFollower(self._cluster, self._record, self._crew, starts)

    def writer(self, topic: str) -> TwinWriter:
        return TwinWriter(self._cluster, self._record, self._crew, topic)


class TwinFollower(Asked):
    """See `adapters.kafka.following.Follower`."""

    def __init__(
        self, cluster: TwinCluster, record: Record, crew: Crew, starts: Mapping[TopicPartition, int]
    ) -> None:
        super().__init__(cluster, record, crew)
        self._next = dict(starts)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def read(self, timeout_s: float) -> list[WrittenRecord]:
        self._crew.wait_for(lambda: False, timeout_s)
        found = []
        for tp, at in sorted(self._next.items()):
            log = self._cluster.log(tp)
            if log is None or not self._cluster.is_led(log):
                continue
            for offset in range(max(at, log.start), log.readable_end):
                record = log.records[offset]
                if record is not None:
                    found.append(WrittenRecord(tp, offset, _ms(record), False, record.headers))
            self._next[tp] = max(at, log.readable_end)
        for topic in dict.fromkeys(record.partition.topic for record in found):
            self._record.see("see", self.name, f"writers of {topic}")
        return found

    def leave(self, topics: Collection[str]) -> None:
        self._next = {tp: at for tp, at in self._next.items() if tp.topic not in topics}


class TwinWriter(Asked):
    """See `adapters.kafka.writer.RecordWriter`."""

    def __init__(self, cluster: TwinCluster, record: Record, crew: Crew, topic: str) -> None:
        super().__init__(cluster, record, crew)
        self._topic = topic

    def write(self, records: Iterable[tuple[bytes, bytes | None]], timeout_s: float) -> None:
        written = list(records)
        self._reached("writing records", timeout_s)
        partition = TopicPartition(self._topic, 0)
        now_s = EPOCH_S + self._crew.now_s

        def write() -> None:
            for key, value in written:
                self._cluster.append(partition, TwinRecord(now_s, key, value))

        self._record.do(
            "write records",
            self.name,
            f"{len(written)} to {self._topic}",
            write,
            failed=lambda why: self._error(f"writing records: {why}", "_TIMED_OUT"),
        )

    def close(self) -> None: ...


class TwinAccess(Asked):
    """See `ports.servers.Access`."""

    def __init__(self, cluster: TwinCluster, record: Record, crew: Crew, timeout_s: float) -> None:
        super().__init__(cluster, record, crew)
        self._timeout_s = timeout_s

    @property
    def operator(self) -> str:
        return OPERATOR

    def rules(self, principals: Iterable[str] | None = None) -> frozenset[Acl]:
        self._reached("reading access rules", self._timeout_s)
        wanted = None if principals is None else set(principals)
        return frozenset(rule for rule in self._cluster.acls if wanted is None or rule.principal in wanted)

    def add(self, rules: Iterable[Acl]) -> None:
        for rule in sorted(rules):
            if rule not in self._cluster.acls:
                verb = "deny" if rule.permission == "DENY" else "allow"
                self._change("creating access rules", verb, rule, self._cluster.acls.add)

    def remove(self, rules: Iterable[Acl]) -> None:
        for rule in sorted(rules):
            if rule in self._cluster.acls:
                verb = "lift denial" if rule.permission == "DENY" else "withdraw right"
                self._change("deleting access rules", verb, rule, self._cluster.acls.discard)

    def _change(self, doing: str, verb: str, rule: Acl, change: Callable[[Acl], None]) -> None:
        self._reached(doing, self._timeout_s)
        if not self._cluster.has_quorum:
            self._crew.pass_time(self._timeout_s)
            raise self._error(doing, "_TIMED_OUT")

        def made() -> None:
            change(rule)
            self._cluster.log_end += 1

        name = f"{rule.resource_name}*" if rule.pattern == "PREFIXED" else rule.resource_name
        self._record.do(
            verb,
            self.name,
            f"{rule.principal} {rule.operation} {rule.resource_type.lower()} {name}",
            made,
            failed=lambda why: self._error(f"{doing}: {why}", "_TIMED_OUT"),
        )

    def authorization(self, brokers: Sequence[int]) -> Authorization:
        self._reached("asking for its authorizer", self._timeout_s)
        if any(self._cluster.brokers[number].state != "up" for number in brokers):
            self._crew.pass_time(self._timeout_s)
            raise self._error("asking for its authorizer", "_TIMED_OUT")
        return Authorization(self._cluster.authorizer, self._cluster.super_users)


class Held(Asked):
    """Something that is closed after use."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def close(self) -> None: ...


class TwinAdmin(Held):
    """See `ports.servers.KafkaAdmin`."""

    def identity(self, timeout_s: float = 15.0) -> ClusterIdentity:
        self._reached("asking which cluster it is", timeout_s)
        brokers = tuple(
            Broker(b.number, b.address.partition(":")[0], 9092, b.dc)
            for b in self._cluster.brokers.values()
            if b.is_known
        )
        return ClusterIdentity(self._cluster.cluster_id, min(self._cluster.controllers, default=-1), brokers)

    def describe_topics(self, names: Iterable[str], timeout_s: float = 30.0) -> dict[str, TopicDescription]:
        self._reached("describing topics", timeout_s)
        return described(self._cluster, names)

    def configs(
        self,
        kind: ConfigKind,
        names: Iterable[str],
        *,
        own_only: bool = True,  # noqa: ARG002 - the brokers' own settings are Kafka's defaults
        timeout_s: float = 30.0,
    ) -> dict[str, dict[str, str]]:
        self._reached(f"describing the configuration of {kind}s", timeout_s)
        return {
            name: {"cleanup.policy": "delete", **self._cluster.topics[name].config}
            for name in names
            if name in self._cluster.topics
        }

    def describe_quorum(self, timeout_s: float = 15.0) -> Quorum:
        doing = "describing the metadata quorum"
        self._reached(doing, timeout_s)
        cluster, now_s = self._cluster, EPOCH_S + self._crew.now_s
        up = [number for number, (_, state) in cluster.controllers.items() if state == "up"]
        if not cluster.has_quorum:
            self._crew.pass_time(timeout_s)
            raise self._error(doing, "Timeout")
        end = cluster.log_end
        voters = tuple(
            Voter(number, "", end if state == "up" else 0, now_s if state == "up" else now_s - 60, None)
            for number, (_, state) in cluster.controllers.items()
        )
        observers = tuple(Voter(b.number, "", b.heard, now_s, None) for b in cluster.brokers.values())
        return Quorum(up[0], 1, end, voters, observers)

    def describe_producers(
        self, partitions: Iterable[TopicPartition], timeout_s: float = 15.0
    ) -> dict[TopicPartition, tuple[ActiveProducer, ...]]:
        self._reached("describing producers", timeout_s)
        found = {}
        for tp in sorted(set(partitions)):
            log = self._led(tp, "describing producers of", timeout_s)
            found[tp] = tuple(
                ActiveProducer(number, 0, 0, at_s, 0 if transactional else None, None)
                for number, (_, (at_s, transactional)) in enumerate(sorted(log.writers.items()), 1)
            )
        return found


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
            log = self._cluster.log(tp)
            if log is None or not self._cluster.is_led(log):
                found[tp] = ClusterError(self.subject, "its leader does not answer", code="_TIMED_OUT")
                is_late = True
            else:
                found[tp] = LogReach(log.readable_end, log.end)
        if is_late:
            self._crew.wait_for(lambda: False, self._timeout_s)
        topics = dict.fromkeys(tp.topic for tp in found)
        self._record.see("see", self.name, f"how far the logs of {', '.join(topics)} reach")
        return found


class TwinEachBroker(Held):
    """See `ports.servers.EachBroker`."""

    def views(self, addresses: Iterable[str], timeout_s: float) -> dict[str, BrokerView | ClusterError]:
        cluster = self._cluster
        by_address = {broker.address: broker for broker in cluster.brokers.values()}
        found: dict[str, BrokerView | ClusterError] = {}
        for address in sorted(set(addresses)):
            broker = by_address[address]
            if broker.state != "up":
                subject = f"{self.subject}, {address}"
                found[address] = ClusterError(subject, "does not answer", code=_CODES[broker.state])
                continue
            found[address] = BrokerView(
                broker_id=broker.number,
                brokers={b.number: b.address for b in cluster.brokers.values() if b.is_known},
                controller=min(cluster.answering),
                partitions={
                    TopicPartition(name, at): PartitionPlace(log.leader, log.isr)
                    for name, topic in cluster.topics.items()
                    for at, log in enumerate(topic.logs)
                },
            )
        if any(isinstance(said, ClusterError) for said in found.values()):
            self._crew.wait_for(lambda: False, timeout_s)
        return found

    def log_ends(
        self,
        addresses: Iterable[str],  # noqa: ARG002 - those of the brokers that answer
        led: Mapping[int, Sequence[TopicPartition]],
        timeout_s: float,
    ) -> dict[int, dict[TopicPartition, LogEnd] | ClusterError]:
        found: dict[int, dict[TopicPartition, LogEnd] | ClusterError] = {}
        for leader, partitions in led.items():
            if leader not in self._cluster.answering:
                found[leader] = self._error("asking for log offsets", "_TIMED_OUT")
                continue
            logs = {tp: log for tp in partitions if (log := self._cluster.log(tp)) is not None}
            found[leader] = {
                tp: LogEnd(log.start, log.readable_end, log.epoch)
                for tp, log in logs.items()
                if log.leader == leader
            }
        if any(isinstance(said, ClusterError) for said in found.values()):
            self._crew.wait_for(lambda: False, timeout_s)
        return found

    def committed(
        self,
        addresses: Iterable[str],  # noqa: ARG002 - those of the brokers that answer
        groups: Iterable[str],
        timeout_s: float,
    ) -> dict[str, dict[TopicPartition, int] | ClusterError]:
        found: dict[str, dict[TopicPartition, int] | ClusterError] = {}
        for group in groups:
            if self._cluster.is_coordinated(group):
                found[group] = dict(self._cluster.group(group).offsets)
                self._record.see("see", self.name, f"positions of {group}")
            else:
                found[group] = self._error(f"asking for the offsets of group {group}", "_TIMED_OUT")
        if any(isinstance(said, ClusterError) for said in found.values()):
            self._crew.wait_for(lambda: False, timeout_s)
        return found


def described(cluster: TwinCluster, names: Iterable[str]) -> dict[str, TopicDescription]:
    """Topics as a cluster describes them."""
    return {
        name: TopicDescription(
            name,
            topic.topic_id,
            tuple(log.leader for log in topic.logs),
            tuple(log.replicas for log in topic.logs),
            tuple(log.isr for log in topic.logs),
        )
        for name in sorted(set(names))
        if (topic := cluster.topics.get(name)) is not None
    }


def _ms(record: TwinRecord) -> int:
    return int(record.at_s * 1000)
