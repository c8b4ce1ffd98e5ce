"""What dcctl asks of a Kafka cluster, answered out of values: the adapters' protocols on a `TwinCluster`.

A cluster that is away answers nothing for as long as it is waited for. Errors bear librdkafka's names, by which
the callers decide.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from orchestrator.errors import ClusterError
from orchestrator.ports.admin_values import ActiveProducer, ConfigKind, Features, NewTopic, Quorum, Voter
from orchestrator.ports.servers import Placement, TopicDescription
from orchestrator.ports.servers import Record as ReadRecord
from orchestrator.values import (
    Content,
    LogEnd,
    ReadContent,
    TopicPartition,
    WrittenRecord,
)
from tests.opened import Opened
from tests.twin.asking import Asked, described
from tests.twin.clusters import TwinCluster, TwinRecord
from tests.twin.crew import EPOCH_S, Crew
from tests.twin.record import Record


class TwinKafka(Asked):
    """See `ports.servers.Kafka`."""

    def __init__(self, cluster: TwinCluster, record: Record, crew: Crew) -> None:
        super().__init__(cluster, record, crew)
        self.cluster_id = ""

    def reconnect(self) -> None: ...

    def warm_up(self) -> None:
        self.reached("asking which cluster it is", 15.0)

    def close(self) -> None: ...

    def describe_quorum(self, timeout_s: float = 15.0) -> Quorum:
        doing = "describing the metadata quorum"
        self.reached(doing, timeout_s)
        cluster, now_s = self.cluster, EPOCH_S + self.crew.now_s
        voters_of = cluster.quorum.voters
        up = [number for number, voter in voters_of.items() if voter.runs]
        if not cluster.has_quorum:
            self.crew.pass_time(timeout_s)
            raise self.error(doing, "Timeout")
        end = cluster.log_end
        voting = set(voters_of) if cluster.quorum.voting is None else cluster.quorum.voting
        logs = cluster.quorum.logs
        told = {
            number: Voter(
                number, end if voter.runs else 0, now_s if voter.runs else now_s - 60, voter.directory_id
            )
            for number, voter in voters_of.items()
        }
        away = {n for n in voting if not cluster.quorum.votes(n)}
        voters = tuple(Voter(n, 0, now_s - 60, logs[n]) if n in away else told[n] for n in sorted(voting))
        observers = tuple(Voter(b.number, b.heard, now_s) for b in cluster.brokers.values())
        observers += tuple(one for number, one in told.items() if number not in voting - away)
        leader = next((number for number in up if voters_of[number].leads), up[0])
        endpoints = {number: (f"CONTROLLER://{voters_of[number].address}",) for number in voting}
        return Quorum(leader, end, voters, observers, endpoints)

    def features(self, timeout_s: float = 15.0) -> Features:
        self.reached("asking for its features", timeout_s)
        is_dynamic = self.cluster.metadata == "kraft" and self.cluster.quorum.voting is not None
        return Features({"kraft.version": int(is_dynamic)}, {"kraft.version": 1})

    def remove_voter(self, number: int, directory_id: str, timeout_s: float = 30.0) -> None:
        self._change_voters("remove voter", number, directory_id, timeout_s)

    def add_voter(
        self, number: int, directory_id: str, endpoints: Iterable[str], timeout_s: float = 30.0
    ) -> None:
        assert tuple(endpoints) == (f"CONTROLLER://{self.cluster.quorum.voters[number].address}",)
        self._change_voters("add voter", number, directory_id, timeout_s)

    def _change_voters(self, verb: str, number: int, directory_id: str, timeout_s: float) -> None:
        self.reached(verb, timeout_s)
        quorum = self.cluster.quorum
        if not self.cluster.has_quorum:
            self.crew.pass_time(timeout_s)
            raise self.error(verb, "Timeout")
        logs = {number: quorum.voters[number].directory_id} | (quorum.logs if verb == "remove voter" else {})
        if logs[number] != directory_id:
            raise self.error(verb, "VoterNotFound")
        if verb == "add voter" and not quorum.voters[number].runs:
            raise self.error(verb, "RequestTimedOut")
        voting = quorum.voting or frozenset()
        now = voting - {number} if verb == "remove voter" else voting | {number}
        self.record.do(
            verb,
            self.name,
            str(number),
            lambda: quorum.change(now),
            failed=lambda why: self.error(f"{verb}: {why}", "_TIMED_OUT"),
        )

    def describe_producers(
        self, partitions: Iterable[TopicPartition], timeout_s: float = 15.0
    ) -> dict[TopicPartition, tuple[ActiveProducer, ...]]:
        self.reached("describing producers", timeout_s)
        found = {}
        for tp in sorted(set(partitions)):
            log = self.led(tp, "describing producers of", timeout_s)
            found[tp] = tuple(
                ActiveProducer(number, at_s, 0 if transactional else None, None)
                for number, (_, (at_s, transactional)) in enumerate(sorted(log.writers.items()), 1)
            )
        return found

    def replica_sizes(self, brokers: Iterable[int], timeout_s: float = 30.0) -> dict[TopicPartition, int]:
        self.reached("describing log directories", timeout_s)
        asked = frozenset(brokers)
        return {
            TopicPartition(name, number): sum(len(one.value or b"") for one in log.records if one is not None)
            for name, topic in self.cluster.topics.items()
            for number, log in enumerate(topic.logs)
            if asked & set(log.replicas)
        }

    def brokers(self, timeout_s: float = 10.0) -> dict[int, str]:
        self.reached("asking for its brokers", timeout_s)
        self.cluster_id = self.cluster.cluster_id
        return {n: broker.address for n, broker in self.cluster.brokers.items() if broker.is_known}

    def topics(self, names: Iterable[str], timeout_s: float = 10.0) -> dict[str, TopicDescription]:
        self.reached("describing topics", timeout_s)
        return described(self.cluster, names)

    def placement(self, timeout_s: float = 30.0) -> Placement:
        self.reached("describing topics", timeout_s)
        living = {number: broker.rack for number, broker in self.cluster.brokers.items() if broker.is_known}
        seen = self.cluster.topics.keys() - self.cluster.unseen
        return Placement.told(described(self.cluster, seen), living, frozenset(living), self.cluster.site_of)

    def placement_as_told(self, timeout_s: float = 15.0) -> Placement:
        return self.placement(timeout_s)

    def elect_preferred(self, partitions: Iterable[TopicPartition], timeout_s: float = 30.0) -> None:
        doing = "electing preferred leaders"
        self.reached(doing, timeout_s)
        for tp in sorted(set(partitions)):
            if not self.cluster.would_elect(tp):
                continue
            self.record.do(
                "elect leader",
                self.name,
                str(tp),
                lambda tp=tp: self.cluster.elect_preferred(tp),
                failed=lambda why: self.error(f"{doing}: {why}", "_TIMED_OUT"),
            )

    def elect_unclean(self, partitions: Iterable[TopicPartition], timeout_s: float = 30.0) -> None:
        doing = "electing unclean leaders"
        self.reached(doing, timeout_s)
        for tp in sorted(set(partitions)):
            self.record.do(
                "elect unclean leader",
                self.name,
                str(tp),
                lambda tp=tp: self.cluster.elect_unclean(tp),
                failed=lambda why: self.error(f"{doing}: {why}", "_TIMED_OUT"),
            )

    def configs(
        self, kind: ConfigKind, names: Iterable[str], timeout_s: float = 30.0
    ) -> dict[str, dict[str, str]]:
        assert kind == "topic"
        self.reached("describing configurations", timeout_s)
        known = self.cluster.topics.keys() - self.cluster.unseen
        return {name: dict(self.cluster.topics[name].config) for name in sorted(known.intersection(names))}

    def alter_configs(
        self, kind: ConfigKind, changes: Mapping[str, Mapping[str, str | None]], timeout_s: float = 30.0
    ) -> None:
        assert kind == "topic"
        doing = "changing configurations"
        self.reached(doing, timeout_s)
        for name, entries in sorted(changes.items()):
            self.record.do(
                "alter config",
                self.name,
                f"{name}: {dict(entries)}",
                lambda name=name, entries=entries: self.cluster.configure(name, entries),
                failed=lambda why: self.error(f"{doing}: {why}", "_TIMED_OUT"),
            )

    def list_reassignments(self, timeout_s: float = 15.0) -> frozenset[TopicPartition]:
        self.reached("listing reassignments", timeout_s)
        if not self.cluster.has_quorum and self.cluster.metadata == "kraft":
            self.crew.pass_time(timeout_s)  # a controller is asked
            raise self.error("listing reassignments", "Timeout")
        return frozenset(self.cluster.moving)

    def alter_reassignments(
        self, moves: Mapping[TopicPartition, Sequence[int] | None], timeout_s: float = 60.0
    ) -> None:
        doing = "moving partitions"
        self.reached(doing, timeout_s)
        for tp, replicas in sorted(moves.items()):
            assert replicas is not None
            self.record.do(
                "move partition",
                self.name,
                f"{tp} → {list(replicas)}",
                lambda tp=tp, replicas=replicas: self.cluster.reorder(tp, replicas),
                failed=lambda why: self.error(f"{doing}: {why}", "_TIMED_OUT"),
            )

    def topic_config(self, names: Iterable[str], timeout_s: float = 10.0) -> dict[str, dict[str, str]]:
        self.reached("describing configurations", timeout_s)
        found = self.cluster.topics
        return {
            name: {"min.insync.replicas": "1", "cleanup.policy": "delete", **found[name].config}
            for name in sorted(set(names))
        }

    def create_topics(self, topics: Mapping[str, NewTopic], timeout_s: float = 60.0) -> None:
        self.reached("creating topics", timeout_s)
        for name, topic in topics.items():
            if name in self.cluster.topics:
                continue

            def create(name: str = name, topic: NewTopic = topic) -> None:
                self.cluster.create_topic(name, topic.partitions, topic.replicas or 1, dict(topic.config))

            self.record.do(
                "create topic",
                self.name,
                f"{name} with {topic.partitions} partitions",
                create,
                failed=lambda why: self.error(f"creating topics: {why}", "_TIMED_OUT"),
            )

    def log_ends(
        self, partitions: Iterable[TopicPartition], timeout_s: float = 10.0
    ) -> dict[TopicPartition, LogEnd]:
        self.reached("asking for log offsets", timeout_s)
        logs = {tp: self.led(tp, "asking for the offsets of", timeout_s) for tp in sorted(set(partitions))}
        self._see_ends(logs)
        return {tp: LogEnd(log.start, log.readable_end, log.epoch) for tp, log in logs.items()}

    def end_offsets(
        self, partitions: Iterable[TopicPartition], timeout_s: float = 10.0
    ) -> dict[TopicPartition, int]:
        self.reached("asking for log offsets", timeout_s)
        logs = {tp: self.led(tp, "asking for the offsets of", timeout_s) for tp in sorted(set(partitions))}
        self._see_ends(logs)
        return {tp: log.readable_end for tp, log in logs.items()}

    def _see_ends(self, asked: Iterable[TopicPartition]) -> None:
        topics = dict.fromkeys(tp.topic for tp in asked)
        if topics:
            self.record.see("see", self.name, f"ends of {', '.join(topics)}")

    def offsets_for_times(
        self, times: Mapping[TopicPartition, float], timeout_s: float = 10.0
    ) -> dict[TopicPartition, int]:
        self.reached("asking for log offsets", timeout_s)
        found = {}
        for tp, at_s in times.items():
            log = self.led(tp, "asking for the offsets of", timeout_s)
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
        self.reached("asking for group offsets", timeout_s)
        found = {}
        for group in sorted(groups):
            self.coordinated(group, "asking for the offsets of group", timeout_s)
            found[group] = dict(self.cluster.group(group).offsets)
            self.record.see("see", self.name, f"positions of {group}")
        return found

    def group_members(self, groups: Iterable[str], timeout_s: float = 10.0) -> dict[str, int]:
        self.reached("describing groups", timeout_s)
        found = {}
        for group in sorted(set(groups)):
            self.coordinated(group, "describing group", timeout_s)
            found[group] = len(self.cluster.group(group).members)
            self.record.see("see", self.name, f"{group} {'at work' if found[group] else 'empty'}")
        return found

    def group_assignments(
        self, groups: Iterable[str], timeout_s: float = 10.0
    ) -> dict[str, frozenset[TopicPartition] | None]:
        self.reached("describing groups", timeout_s)
        found: dict[str, frozenset[TopicPartition] | None] = {}
        for name in sorted(set(groups)):
            self.coordinated(name, "describing group", timeout_s)
            group = self.cluster.group(name)
            topics = {topic for read in group.members.values() for topic in read} - group.hidden
            found[name] = frozenset(self.cluster.partitions(sorted(topics)))
            self.record.see("see", self.name, f"what members of {name} read")
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
        self.reached(doing, timeout_s)
        self.coordinated(group, doing, timeout_s)
        if self.cluster.group(group).members:
            raise self.error(doing, "UNKNOWN_MEMBER_ID")
        self.record.do(
            "commit offset",
            self.name,
            [f"{group} {tp} → {offset}" for tp, offset in sorted(offsets.items())],
            lambda: self.cluster.group(group).offsets.update(offsets),
            failed=lambda why: self.error(f"{doing}: {why}", "_TIMED_OUT"),
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
        self.reached("reading records", idle_timeout_s)
        for tp, (first, end) in wanted.items():
            log = self.led(tp, "reading records of", idle_timeout_s)
            if end > log.readable_end:
                self.crew.pass_time(idle_timeout_s)
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
        return TwinFollower(self.cluster, self.record, self.crew, starts)

    def contents(self, isolation_level: str = "read_uncommitted") -> TwinContents:  # noqa: ARG002
        return TwinContents(self.cluster, self.record, self.crew)

    def writer(self, topic: str) -> TwinWriter:
        return TwinWriter(self.cluster, self.record, self.crew, topic)


class TwinFollower(Opened, Asked):
    """See `adapters.kafka.following.Follower`."""

    def __init__(
        self, cluster: TwinCluster, record: Record, crew: Crew, starts: Mapping[TopicPartition, int]
    ) -> None:
        super().__init__(cluster, record, crew)
        self._next = dict(starts)

    def read(self, timeout_s: float) -> list[WrittenRecord]:
        self.crew.wait_for(lambda: False, timeout_s)
        found = []
        for tp, at in sorted(self._next.items()):
            log = self.cluster.log(tp)
            if log is None or not self.cluster.is_led(log):
                continue
            for offset in range(max(at, log.start), log.readable_end):
                record = log.records[offset]
                if record is not None:
                    found.append(WrittenRecord(tp, offset, _ms(record), False, record.headers))
            self._next[tp] = max(at, log.readable_end)
        for topic in dict.fromkeys(record.partition.topic for record in found):
            self.record.see("see", self.name, f"writers of {topic}")
        return found

    def leave(self, topics: Collection[str]) -> None:
        self._next = {tp: at for tp, at in self._next.items() if tp.topic not in topics}


class TwinContents(Opened, Asked):
    """See `adapters.kafka.contents.ContentReader`."""

    refused: Mapping[str, str] = MappingProxyType({})
    fetched_bytes = 0

    def read(
        self, ranges: Mapping[TopicPartition, Sequence[range]], timeout_s: float
    ) -> dict[TopicPartition, dict[range, list[ReadContent]]]:
        self.reached("reading records", timeout_s)
        return {tp: {span: self._within(tp, span) for span in spans} for tp, spans in ranges.items()}

    def _within(self, tp: TopicPartition, span: range) -> list[ReadContent]:
        log, found = self.led(tp, "reading records of", 1.0), []
        for offset in range(max(span.start, log.start), log.readable_end):
            if (record := log.records[offset]) is not None:
                content = Content.of(record.key, record.value, record.headers, _ms(record))
                found.append(ReadContent(tp, offset, 0, content))
                if offset >= span.stop:
                    break
        return found


class TwinWriter(Asked):
    """See `adapters.kafka.writer.RecordWriter`."""

    def __init__(self, cluster: TwinCluster, record: Record, crew: Crew, topic: str) -> None:
        super().__init__(cluster, record, crew)
        self._topic = topic

    def write(self, records: Iterable[tuple[bytes, bytes | None]], timeout_s: float) -> None:
        written = list(records)
        self.reached("writing records", timeout_s)
        partition = TopicPartition(self._topic, 0)
        now_s = EPOCH_S + self.crew.now_s

        def write() -> None:
            for key, value in written:
                self.cluster.append(partition, TwinRecord(now_s, key, value))

        self.record.do(
            "write records",
            self.name,
            f"{len(written)} to {self._topic}",
            write,
            failed=lambda why: self.error(f"writing records: {why}", "_TIMED_OUT"),
        )

    def close(self) -> None: ...


def _ms(record: TwinRecord) -> int:
    return int(record.at_s * 1000)
