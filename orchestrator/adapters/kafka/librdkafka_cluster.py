"""One cluster by librdkafka, in the process that asks. Calls are batched; no call is per topic."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import suppress
from time import monotonic, sleep
from typing import Any, TypeAlias

from confluent_kafka import OFFSET_INVALID, KafkaException, TopicCollection
from confluent_kafka import TopicPartition as LibTopicPartition
from confluent_kafka.admin import (
    AdminClient,
    ClusterMetadata,
    ConfigResource,
    OffsetSpec,
    ResourceType,
    TopicMetadata,
)
from confluent_kafka.admin import NewTopic as LibNewTopic
from confluent_kafka.admin import TopicDescription as LibTopicDescription

from orchestrator.adapters.kafka.client import (
    BROKER_GONE,
    Refusals,
    asked_anew,
    client_properties,
    cluster_error,
    logger,
    translated_errors,
)
from orchestrator.adapters.kafka.contents import ContentReader
from orchestrator.adapters.kafka.following import Follower
from orchestrator.adapters.kafka.records import read_records
from orchestrator.adapters.kafka.writer import RecordWriter
from orchestrator.errors import ClusterError
from orchestrator.ports.admin_values import NewTopic
from orchestrator.ports.servers import Placement, Record, SiteOf, TopicDescription, rack_as_site
from orchestrator.values import LogEnd, TopicPartition
from orchestrator.wording import and_n_more, listed

# What librdkafka says where it believes to know that a partition has no leader, or another one, or one of
# another epoch: it asks by the epoch that it knows, and a cluster that came back has gone on from there;
# or where the leader that it asked has left.
_STALE_LEADERS = frozenset(
    {
        "_NOENT",
        "UNKNOWN_TOPIC_OR_PART",
        "NOT_LEADER_FOR_PARTITION",
        "LEADER_NOT_AVAILABLE",
        "FENCED_LEADER_EPOCH",
        "UNKNOWN_LEADER_EPOCH",
        BROKER_GONE,
    }
)

_KNOWN_AGAIN_S = 0.05
_CAUGHT_UP_WITHIN_S = 1.5
# A topic that is just being made or deleted is listed by one broker, and not known to another one.
_LOOKS, _LOOK_AGAIN_S = 5, 0.3
_LOOK_AROUND_S = 3.0

_Specs: TypeAlias = Mapping[TopicPartition, OffsetSpec]
_Offsets: TypeAlias = dict[TopicPartition, tuple[int, int]]


class LibrdkafkaCluster:
    """A connection to one cluster. Every method takes a deadline in seconds and raises `ClusterError`.

    `cluster_id`: what the broker said that answered `brokers` or `topic_names` last; empty before.
    """

    def __init__(
        self,
        name: str,
        bootstrap: Sequence[str],
        client: Mapping[str, str],
        *,
        site_of: SiteOf = rack_as_site,
    ) -> None:
        self.name, self.site_of = name, site_of
        self.cluster_id = ""
        self.properties = client_properties(name, bootstrap, client)
        self._refusals = Refusals()
        self._connect()

    def _connect(self) -> None:
        with translated_errors(self.subject, "opening a connection"):
            self._admin = AdminClient({**self.properties, "error_cb": self._refusals}, logger=logger)

    @property
    def subject(self) -> str:
        """How errors name it."""
        return f"cluster {self.name}"

    def brokers(self, timeout_s: float = 10.0) -> dict[int, str]:
        """Live brokers as one of them knows them: id -> "host:port".

        By plain metadata: librdkafka's `describe_cluster` ends the whole process (an assertion in
        `rd_kafka_admin_response_parse`, 2.16) where a broker that is starting knows of none yet.
        """
        found = self.listed("asking for its brokers", timeout_s).brokers
        return {number: f"{found[number].host}:{found[number].port}" for number in sorted(found)}

    def identity(self, timeout_s: float = 10.0) -> tuple[str, dict[int, str]]:
        """The cluster's id and its live brokers, as one broker tells them in one answer."""
        brokers = self.brokers(timeout_s)
        return self.cluster_id, brokers

    def topic_names(self, timeout_s: float = 10.0) -> set[str]:
        """Every topic that the operator may see."""
        return set(self.listed("listing topics", timeout_s).topics)

    @asked_anew
    def listed(self, doing: str, timeout_s: float) -> ClusterMetadata:
        """What any broker tells of brokers and topics."""
        try:
            found = self._admin.list_topics(timeout=timeout_s)
        except KafkaException as error:
            raise self._error(doing, error) from None
        self._refusals.forget()
        self.cluster_id = str(found.cluster_id or "")
        return found

    def topics(self, names: Iterable[str], timeout_s: float = 10.0) -> dict[str, TopicDescription]:
        """Descriptions of those of `names` that exist."""
        found = self._descriptions(names, timeout_s)
        return {name: _description(topic) for name, topic in found.items()}

    def placement(self, timeout_s: float = 30.0) -> Placement:
        """Who has and who leads each partition of every topic that the operator may see."""
        for _ in range(_LOOKS):
            known = self.listed("asking who leads", timeout_s)
            found = self._descriptions(known.topics, timeout_s)
            missing = sorted(known.topics.keys() - found.keys())
            if not missing:
                nodes = (node for topic in found.values() for p in topic.partitions for node in p.replicas)
                racks = {node.id: node.rack for node in nodes if node.rack}
                topics = {name: _description(topic) for name, topic in found.items()}
                return Placement.told(topics, racks, frozenset(known.brokers), self.site_of)
            sleep(_LOOK_AGAIN_S)
        raise ClusterError(self.subject, f"asking who leads: topics are not described: {listed(missing)}")

    @asked_anew
    def _descriptions(self, names: Iterable[str], timeout_s: float) -> dict[str, LibTopicDescription]:
        wanted = sorted(set(names))
        if not wanted:
            return {}
        futures = self._admin.describe_topics(TopicCollection(wanted), request_timeout=timeout_s)
        self._await(futures.values(), timeout_s)
        found = {}
        for name, future in futures.items():
            try:
                found[name] = future.result(timeout_s + 5)
            except KafkaException as error:
                if error.args[0].name() == "UNKNOWN_TOPIC_OR_PART":
                    continue
                raise cluster_error(f"{self.subject}, topic {name}", "describing it", error.args[0]) from None
        return found

    def log_ends(
        self, partitions: Iterable[TopicPartition], timeout_s: float = 10.0
    ) -> dict[TopicPartition, LogEnd]:
        """Start and end offset and leader epoch of each partition: two batched calls, at the same time."""
        wanted = sorted(set(partitions))
        if not wanted:
            return {}
        earliest = dict.fromkeys(wanted, OffsetSpec.earliest())
        latest = dict.fromkeys(wanted, OffsetSpec.latest())
        starts, ends = self._offsets_by_spec((earliest, latest), timeout_s)
        # A start that was read after the end may lie behind it: the log reached as far by then.
        return {tp: LogEnd(starts[tp][0], max(starts[tp][0], ends[tp][0]), ends[tp][1]) for tp in wanted}

    def end_offsets(
        self, partitions: Iterable[TopicPartition], timeout_s: float = 10.0
    ) -> dict[TopicPartition, int]:
        """End offsets (high watermarks) alone: one batched call."""
        wanted = sorted(set(partitions))
        if not wanted:
            return {}
        (ends,) = self._offsets_by_spec((dict.fromkeys(wanted, OffsetSpec.latest()),), timeout_s)
        return {tp: end for tp, (end, _) in ends.items()}

    def offsets_for_times(
        self, times: Mapping[TopicPartition, float], timeout_s: float = 10.0
    ) -> dict[TopicPartition, int]:
        """The first offset of each partition whose record bears that time (Unix seconds) or a later one.

        The log's end where there is none. Two batched calls for any number.
        """
        if not times:
            return {}
        # The end first: a record that comes in between is then not passed over.
        ends = self.end_offsets(times, timeout_s)
        asked = {tp: OffsetSpec.for_timestamp(max(0, int(at_s * 1000))) for tp, at_s in times.items()}
        (found,) = self._offsets_by_spec((asked,), timeout_s)
        return {tp: ends[tp] if offset < 0 else offset for tp, (offset, _) in found.items()}

    @asked_anew
    def groups(self, timeout_s: float = 10.0) -> set[str]:
        """Every group that the operator may see, with running members or without."""
        listed = self._result(
            self._admin.list_consumer_groups(request_timeout=timeout_s), "listing groups", timeout_s
        )
        if listed.errors:
            raise cluster_error(self.subject, "listing groups", listed.errors[0])
        return {group.group_id for group in listed.valid}

    @asked_anew
    def create_topics(self, topics: Mapping[str, NewTopic], timeout_s: float = 60.0) -> None:
        """Create topics. One that exists is left as it is; where some are refused, the others are made.

        A broker knows each before this ends, those of others too: in KRaft mode the controller answers first.
        """
        if not topics:
            return
        doing = "creating topics"
        requests = [_request(name, topic) for name, topic in topics.items()]
        with translated_errors(self.subject, doing):
            futures = self._admin.create_topics(
                requests, operation_timeout=timeout_s, request_timeout=timeout_s
            )
        refused: dict[str, ClusterError] = {}
        for name, future in futures.items():
            try:
                self._result(future, doing, timeout_s)
            except ClusterError as error:
                if error.code != "TOPIC_ALREADY_EXISTS":
                    refused[name] = error
        if refused:
            name, more = min(refused), f" ({and_n_more(len(refused) - 1)})" if len(refused) > 1 else ""
            first = refused[name]
            raise ClusterError(f"{self.subject}, topic {name}{more}", first.problem, first.hint, first.code)
        self._await_known(set(topics), timeout_s)

    def _await_known(self, made: set[str], timeout_s: float) -> None:
        deadline = monotonic() + timeout_s
        while made := made - self.topics(made, timeout_s).keys():
            if monotonic() > deadline:
                raise ClusterError(
                    f"{self.subject}, topics {listed(sorted(made))}",
                    f"the controller has them, but {timeout_s:g} s later no broker knows them",
                    "look into the brokers' logs, and run the same command again",
                )
            sleep(_KNOWN_AGAIN_S)

    def read_records(
        self,
        ranges: Mapping[TopicPartition, tuple[int, int]],
        idle_timeout_s: float = 15.0,
        isolation_level: str = "read_uncommitted",
    ) -> Iterator[list[Record]]:
        """Every record of each range `[start, end)`, in chunks; see `records.read_records`."""
        return read_records(
            self.name, self.properties, ranges, idle_timeout_s=idle_timeout_s, isolation_level=isolation_level
        )

    def follow(self, starts: Mapping[TopicPartition, int]) -> Follower:
        """Who reads on from given offsets. To be closed."""
        return Follower(self.name, self.properties, starts)

    def contents(self, isolation_level: str = "read_uncommitted") -> ContentReader:
        """Who reads what records hold. To be closed."""
        return ContentReader(self.name, self.properties, isolation_level)

    def writer(self, topic: str) -> RecordWriter:
        """Who writes to one topic. To be closed."""
        return RecordWriter(self.name, self.properties, topic)

    @asked_anew
    def topic_config(self, names: Iterable[str], timeout_s: float = 10.0) -> dict[str, dict[str, str]]:
        """Configuration in force of those of `names` that exist."""
        resources = [ConfigResource(ResourceType.TOPIC, name) for name in sorted(set(names))]
        if not resources:
            return {}
        found: dict[str, dict[str, str]] = {}
        futures = self._admin.describe_configs(resources, request_timeout=timeout_s)
        self._await(futures.values(), timeout_s)
        for resource, future in futures.items():
            doing = f"describing the configuration of {resource.name}"
            try:
                entries = self._result(future, doing, timeout_s).values()
            except ClusterError as error:
                if error.code != "UNKNOWN_TOPIC_OR_PART":
                    raise
            else:
                found[resource.name] = {e.name: e.value for e in entries if e.value is not None}
        return found

    def _offsets_by_spec(self, questions: Sequence[_Specs], timeout_s: float) -> list[_Offsets]:
        """Offset and leader epoch of each partition, for each of several questions, asked at once.

        A client that was asked for several topics before they existed, or while their leaders moved, goes on
        answering from its cache that they have no leader (librdkafka 2.16: `No leaders found`, for minutes).
        Describing them tells it better, and who leads in the place of a broker that is gone.
        """
        deadline = monotonic() + timeout_s
        try:
            return self._offsets_caught_up(questions, deadline)
        except ClusterError as error:
            left_s = deadline - monotonic()
            if left_s <= 0 or error.code not in _STALE_LEADERS:
                raise
        self.topics({tp.topic for specs in questions for tp in specs}, left_s)
        return self._offsets_caught_up(questions, deadline)

    def _offsets_caught_up(self, questions: Sequence[_Specs], deadline: float) -> list[_Offsets]:
        """A leader that was just elected tells no end before its followers have fetched from it (KIP-207).

        It may never know it while nobody writes (KIP-966), so it is asked for a moment.
        """
        again_until = min(deadline, monotonic() + _CAUGHT_UP_WITHIN_S)
        while True:
            try:
                return self._offsets_once(questions, max(deadline - monotonic(), _KNOWN_AGAIN_S))
            except ClusterError as error:
                if error.code != "OFFSET_NOT_AVAILABLE" or monotonic() > again_until:
                    raise
            sleep(_KNOWN_AGAIN_S)

    def _offsets_once(self, questions: Sequence[_Specs], timeout_s: float) -> list[_Offsets]:
        """Raises where a leader gave no answer, of which librdkafka (2.16) says nothing.

        `rd_kafka_ListOffsets_response_merge` passes over the error of a leader's request and leaves the
        offsets of its partitions as they were in the question: invalid, and without an error.
        """
        asked_at_s = monotonic()
        with translated_errors(self.subject, "asking for log offsets"):
            asked = [
                self._admin.list_offsets(
                    {LibTopicPartition(tp.topic, tp.partition): spec for tp, spec in specs.items()},
                    request_timeout=timeout_s,
                )
                for specs in questions
            ]
        answers = []
        for futures in asked:
            found: _Offsets = {}
            for tp, future in futures.items():
                doing = f"asking for the offsets of {tp.topic}-{tp.partition}"
                info = self._result(future, doing, timeout_s)
                if info.offset == OFFSET_INVALID:
                    is_late = monotonic() - asked_at_s >= timeout_s
                    problem = f"{doing}: its leader gave no answer"
                    raise ClusterError(self.subject, problem, code="_TIMED_OUT" if is_late else BROKER_GONE)
                epoch = info.leader_epoch if getattr(info, "leader_epoch", None) is not None else -1
                found[TopicPartition(tp.topic, tp.partition)] = (info.offset, epoch)
            answers.append(found)
        return answers

    def _await(self, futures: Collection[Future[Any]], timeout_s: float) -> None:
        """Until all are answered. Meanwhile it is asked from time to time who is in the cluster.

        librdkafka (2.16) puts these questions to whoever was told to be the controller last, and waits for
        that one to the end, also where it has died or stands still: it looks for no other by itself.
        """
        deadline = monotonic() + timeout_s
        while wait(futures, min(_LOOK_AROUND_S, max(0.0, deadline - monotonic()))).not_done:
            left_s = deadline - monotonic()
            if left_s <= 0:
                return
            with suppress(KafkaException):
                self._admin.list_topics(timeout=min(_LOOK_AROUND_S, left_s))

    def _result(self, future: Future[Any], doing: str, timeout_s: float) -> Any:
        try:
            # librdkafka answers by itself at its own deadline; ours only guards against it not doing so.
            answer = future.result(timeout_s + 5)
        except KafkaException as error:
            raise self._error(doing, error) from None
        except TimeoutError:
            raise ClusterError(self.subject, f"{doing}: no answer within {timeout_s:g} s") from None
        self._refusals.forget()
        return answer

    def _error(self, doing: str, error: KafkaException) -> ClusterError:
        return cluster_error(self.subject, doing, self._refusals.behind(error.args[0], self._admin))


def told_topic(topic: TopicMetadata) -> TopicDescription:
    """A topic as a broker tells it to everybody who reads or writes: without its id."""
    partitions = [topic.partitions[number] for number in sorted(topic.partitions)]
    return TopicDescription(
        name=str(topic.topic),
        topic_id="",
        leaders=tuple(p.leader for p in partitions),
        replicas=tuple(tuple(p.replicas) for p in partitions),
        isr=tuple(tuple(p.isrs) for p in partitions),
    )


def _description(topic: LibTopicDescription) -> TopicDescription:
    partitions = sorted(topic.partitions, key=lambda partition: partition.id)
    return TopicDescription(
        name=topic.name,
        topic_id=str(topic.topic_id),
        leaders=tuple(p.leader.id if p.leader else -1 for p in partitions),
        replicas=tuple(tuple(node.id for node in p.replicas) for p in partitions),
        isr=tuple(tuple(node.id for node in p.isr) for p in partitions),
    )


def _request(name: str, topic: NewTopic) -> LibNewTopic:
    if topic.assignment:
        placed = [list(brokers) for brokers in topic.assignment]
        return LibNewTopic(name, len(placed), replica_assignment=placed, config=dict(topic.config))
    replicas = -1 if topic.replicas is None else topic.replicas
    return LibNewTopic(name, topic.partitions, replicas, config=dict(topic.config))
