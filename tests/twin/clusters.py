"""A Kafka cluster as values: brokers and who leads, logs as lists of records, groups, access rules.

Behaviour is that of the facts that the project has gathered of Kafka: the high watermark waits for every replica
in sync; one that hangs leaves them after `replica.lag.time.max.ms`, if a majority of controllers is there to say
so; a leader that is gone has a successor a moment later; DENY wins over ALLOW.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from orchestrator.errors import ClusterError
from orchestrator.estate.desired_acls import desired_acls
from orchestrator.estate.desired_topics import desired_topics
from orchestrator.topology.model import Topology
from orchestrator.values import Acl, EpochEnd, ReplicaEnd, TopicPartition
from tests.twin.voters import State, TwinQuorum

OPERATOR = "User:operator"
AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
# So long until a broker that is gone has lost its leaderships, and until one that hangs has.
_GONE_AFTER_S, _SILENT_AFTER_S = 0.5, 9.0
# A producer that is not acknowledged sends no more than this.
_IN_FLIGHT = 5
_COORDINATORS = 5


class TwinRecord(NamedTuple):
    """One record; `value` names its writer and number. None in a log stands for a transaction's marker."""

    at_s: float
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()


@dataclass
class Broker:
    """One broker. `is_known`: the cluster takes it for living. `heard`: metadata that it has applied."""

    number: int
    dc: str
    address: str
    state: State = "up"
    is_known: bool = True
    changed_at_s: float = 0.0
    heard: int = 1
    rack: str = ""


@dataclass
class Log:
    """One partition. `hidden`: the last records, which a replica in sync does not have yet. `behind`: where
    replicas end that are out of sync and were left behind.

    `epochs`: where each leader epoch began, as far as it has records; the last one is the leader's.
    """

    replicas: tuple[int, ...]
    leader: int
    isr: tuple[int, ...]
    records: list[TwinRecord | None] = field(default_factory=list)
    start: int = 0
    epochs: dict[int, int] = field(default_factory=lambda: {0: 0})
    hidden: int = 0
    behind: dict[int, ReplicaEnd | ClusterError] = field(default_factory=dict)
    writers: dict[str, tuple[float, bool]] = field(default_factory=dict)

    @property
    def epoch(self) -> int:
        """The leader's."""
        return max(self.epochs)

    def begin_epoch(self) -> None:
        """Another leader, or the same one anew."""
        epoch = self.epoch + 1
        self.epochs = {before: at for before, at in self.epochs.items() if at < self.end}
        self.epochs[epoch] = self.end

    def epoch_end(self, epoch: int) -> EpochEnd:
        """What Kafka's `LeaderEpochFileCache.endOffsetFor` says."""
        if epoch == self.epoch:
            return EpochEnd(epoch, self.end)
        later = [at for begun, at in self.epochs.items() if begun > epoch]
        if not later:
            return EpochEnd(-1, -1)
        return EpochEnd(max((begun for begun in self.epochs if begun <= epoch), default=epoch), min(later))

    @property
    def end(self) -> int:
        """The next offset to be written."""
        return len(self.records)

    @property
    def readable_end(self) -> int:
        """The high watermark."""
        return len(self.records) - self.hidden


@dataclass
class Topic:
    """One topic; the list is by partition."""

    topic_id: str
    logs: list[Log]
    config: dict[str, str]

    @property
    def min_insync_replicas(self) -> int:
        """As Kafka takes it."""
        return int(self.config.get("min.insync.replicas", "1"))


@dataclass
class Group:
    """One consumer group: committed offsets, and who is in it, with the topics that each subscribes to.

    `hidden`: topics that its leader, the first member, may not describe: it gives them to nobody.
    """

    offsets: dict[TopicPartition, int] = field(default_factory=dict)
    members: dict[str, tuple[str, ...]] = field(default_factory=dict)
    hidden: set[str] = field(default_factory=set)

    def assigned(self, partitions: Iterable[TopicPartition], member: str) -> list[TopicPartition]:
        """Those of these partitions that a member reads: each goes to one of those who subscribe to it."""
        found = []
        for tp in partitions:
            readers = sorted(name for name, topics in self.members.items() if tp.topic in topics)
            if tp.topic in self.hidden:
                continue
            if readers and readers[tp.partition % len(readers)] == member:
                found.append(tp)
        return found


class Rules(set[Acl]):
    """Access rules, found by their principal: thousands of applications ask for theirs at each moment."""

    def __init__(self, rules: Iterable[Acl]) -> None:
        super().__init__()
        self._by_principal: dict[str, set[Acl]] = {}
        for rule in rules:
            self.add(rule)

    def add(self, rule: Acl) -> None:
        """See `set`."""
        super().add(rule)
        self._by_principal.setdefault(rule.principal, set()).add(rule)

    def discard(self, rule: Acl) -> None:
        """See `set`."""
        super().discard(rule)
        self._by_principal.get(rule.principal, set()).discard(rule)

    remove = discard

    def of(self, principal: str) -> Iterable[Acl]:
        """Those of one principal."""
        return self._by_principal.get(principal, ())


class TwinCluster:
    """One cluster of the file, made as `apply` would make it."""

    def __init__(self, topology: Topology, name: str) -> None:
        described = topology.clusters[name]
        self.name, self.metadata, self.site_of = name, described.metadata, described.site_of
        self.cluster_id = f"id-{name}"
        self.now_s = 0.0
        rows = [row for row in described.nodes for _ in range(row.brokers)]
        self.brokers = {
            number: Broker(number, row.dc, f"{name}-{number}:9092", rack=row.broker_rack)
            for number, row in enumerate(rows, 1)
        }
        self.quorum = TwinQuorum.of(described)
        self.topics: dict[str, Topic] = {}
        self.groups: dict[str, Group] = {}
        self.acls: set[Acl] = Rules(desired_acls(topology, name))
        self.authorizer = AUTHORIZER
        self.super_users: frozenset[str] = frozenset({OPERATOR, "User:broker"})
        # Kafka hides the values of settings that belong to plug-ins.
        self.tells_super_users = False
        self.log_end = 1
        # Brokers that let operator and mirror in, and no application.
        self.closed: set[int] = set()
        # In ZooKeeper mode threads of a broker wait for the quorum, until none is left to answer.
        self.is_silent_without_quorum = False
        # Topics that the operator does not see, and partitions whose replicas are being moved.
        self.unseen: set[str] = set()
        self.moving: set[TopicPartition] = set()
        self._made = 0
        for topic in desired_topics(topology, name).values():
            self.create_topic(
                topic.name, topic.partitions or _COORDINATORS, topic.replicas, dict(topic.config)
            )
        self.create_topic("__consumer_offsets", _COORDINATORS, min(3, len(rows)), {})

    def create_topic(self, name: str, partitions: int, replicas: int, config: dict[str, str]) -> bool:
        """Make a topic; False where there is one already."""
        if name in self.topics:
            return False
        self._made += 1
        numbers = list(self.brokers)
        logs = []
        for partition in range(partitions):
            placed = tuple(
                numbers[(self._made + partition + at) % len(numbers)]
                for at in range(min(replicas, len(numbers)))
            )
            logs.append(Log(placed, placed[0], placed))
        self.topics[name] = Topic(f"{self.name}-{name}-{self._made}", logs, config)
        return True

    @property
    def answering(self) -> dict[int, Broker]:
        """Brokers that answer, by number."""
        return {number: broker for number, broker in self.brokers.items() if self._met(broker) == "up"}

    @property
    def reach(self) -> State:
        """What a client meets that may use any broker."""
        states = {self._met(broker) for broker in self.brokers.values()}
        return "up" if "up" in states else "silent" if "silent" in states else "gone"

    def _met(self, broker: Broker) -> State:
        waits = self.is_silent_without_quorum and broker.state == "up" and not self.has_quorum
        return "silent" if waits else broker.state

    @property
    def lets_in(self) -> bool:
        """Whether an application finds a broker."""
        return bool(self.answering.keys() - self.closed)

    @property
    def has_quorum(self) -> bool:
        """Whether a majority of controllers is there."""
        return bool(self.quorum.members())

    def log(self, tp: TopicPartition) -> Log | None:
        """One partition, if there is one."""
        topic = self.topics.get(tp.topic)
        return topic.logs[tp.partition] if topic is not None and tp.partition < len(topic.logs) else None

    def partitions(self, topics: Iterable[str]) -> list[TopicPartition]:
        """Those of topics that exist."""
        known = (name for name in topics if name in self.topics)
        return [TopicPartition(name, at) for name in known for at in range(len(self.topics[name].logs))]

    def is_led(self, log: Log) -> bool:
        """Whether its leader answers."""
        return log.leader in self.answering

    def coordinator(self, group: str) -> Log:
        """The log whose leader coordinates a group."""
        logs = self.topics["__consumer_offsets"].logs
        return logs[zlib.crc32(group.encode()) % len(logs)]

    def is_coordinated(self, group: str) -> bool:
        """Whether the group's coordinator answers."""
        return self.is_led(self.coordinator(group))

    def group(self, name: str) -> Group:
        """A group, made where there was none."""
        return self.groups.setdefault(name, Group())

    def set_brokers(self, state: State, *numbers: int) -> None:
        """Brokers go away, hang, or come back."""
        for number in numbers or tuple(self.brokers):
            broker = self.brokers[number]
            if broker.state != state:
                broker.state, broker.changed_at_s = state, self.now_s

    def set_controllers(self, state: State, *numbers: int) -> None:
        """The same of controllers."""
        for number in numbers or tuple(self.quorum.voters):
            voter = self.quorum.voters[number]
            if voter.state != "up":  # a site that returns starts what it had
                voter.is_started, voter.loaded = True, voter.text
            voter.state = state
        self.quorum.elect()

    def cut(self, tp: TopicPartition, end: int) -> None:
        """A power loss: the log comes back shorter, with another leader epoch."""
        log = self.log(tp)
        assert log is not None
        del log.records[end:]
        log.begin_epoch()

    def live(self, now_s: float) -> None:
        """Elections, and replicas that leave or join those in sync."""
        self.now_s = now_s
        self.quorum.elect()
        for broker in self.brokers.values():
            if broker.state == "up":
                broker.heard = self.log_end
        if all(b.state == "up" and b.is_known for b in self.brokers.values()):
            return
        if not self.has_quorum:
            return
        for broker in self.brokers.values():
            away_s = _GONE_AFTER_S if broker.state == "gone" else _SILENT_AFTER_S
            if broker.state == "up" or now_s - broker.changed_at_s >= away_s:
                broker.is_known = broker.state == "up"
        for topic in self.topics.values():
            for log in topic.logs:
                self._elect(log)

    def _elect(self, log: Log) -> None:
        known = {number for number in log.replicas if self.brokers[number].is_known}
        # The last one in sync stays so: it alone has everything.
        isr = tuple(number for number in log.isr if number in known) or log.isr
        isr += tuple(
            number for number in log.replicas if number in known and number not in isr and known & set(isr)
        )
        leader = log.leader if log.leader in known else next((n for n in isr if n in known), -1)
        if leader != log.leader:
            log.begin_epoch()
        log.isr, log.leader = isr, leader
        if leader != -1 and all(self.brokers[number].state == "up" for number in isr):
            log.hidden = 0

    def would_elect(self, tp: TopicPartition) -> bool:
        """Whether the first replica is in sync, and does not lead yet."""
        log = self.log(tp)
        return log is not None and log.replicas[0] in log.isr and log.leader != log.replicas[0]

    def elect_preferred(self, tp: TopicPartition) -> None:
        """The first replica leads, if it is in sync."""
        log = self.log(tp)
        if log is not None and self.would_elect(tp):
            log.leader = log.replicas[0]
            log.begin_epoch()

    def elect_unclean(self, tp: TopicPartition) -> None:
        """The first replica that is up leads one that nobody leads, and what it lacks is gone."""
        log = self.log(tp)
        if log is None or self.is_led(log):
            return
        living = [broker for broker in log.replicas if broker in self.answering]
        if not living:
            return
        end = log.behind.get(living[0])
        if isinstance(end, ReplicaEnd):
            del log.records[end.log_end - log.start :]
        log.leader, log.isr, log.hidden, log.behind = living[0], tuple(living), 0, {}
        log.begin_epoch()

    def configure(self, name: str, entries: Mapping[str, str | None]) -> None:
        """Set entries of a topic; None takes one away."""
        config = {**self.topics[name].config, **{k: v for k, v in entries.items() if v is not None}}
        self.topics[name].config = {k: v for k, v in config.items() if entries.get(k, v) is not None}

    def reorder(self, tp: TopicPartition, replicas: Sequence[int]) -> None:
        """The same replicas, in another order: applied at once."""
        log = self.log(tp)
        assert log is not None
        assert sorted(log.replicas) == sorted(replicas)
        log.replicas = tuple(replicas)

    def may(self, principal: str, operation: str, kind: str, name: str) -> bool:
        """What the authorizer says: DENY wins, and who has no ALLOW may not."""
        if not self.authorizer or principal in self.super_users:
            return True
        rules = self.acls.of(principal) if isinstance(self.acls, Rules) else self.acls
        fitting = [
            rule
            for rule in rules
            if rule.principal == principal
            and rule.resource_type == kind
            and rule.operation in (operation, "ALL")
            and (
                rule.resource_name in ("*", name)
                or (rule.pattern == "PREFIXED" and name.startswith(rule.resource_name))
            )
        ]
        return bool(fitting) and all(rule.permission == "ALLOW" for rule in fitting)

    def append(
        self,
        tp: TopicPartition,
        record: TwinRecord,
        *,
        who: str = "",
        acks_all: bool = True,
        in_transaction: bool = False,
    ) -> bool:
        """Write one record; returns whether it is acknowledged. One in a transaction has a marker behind it."""
        log = self.log(tp)
        if log is None or not self.is_led(log):
            return False
        hangs = any(self.brokers[number].state != "up" for number in log.isr)
        if acks_all and len(log.isr) < self.topics[tp.topic].min_insync_replicas:
            return False
        if hangs and acks_all and log.hidden >= _IN_FLIGHT:
            return False
        log.records.append(record)
        log.hidden = log.hidden + 1 if hangs else 0
        if who:
            log.writers[who] = (record.at_s, in_transaction)
        if in_transaction:
            log.records.append(None)
            log.hidden = log.hidden + 1 if hangs else 0
        return not (hangs and acks_all)
