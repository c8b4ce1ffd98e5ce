"""What the watcher has recorded about a source cluster, and how it lies in the samples topic.

The topic is at the target, so it survives the source. It is compacted with about an hour of history.
Records are JSON; the key says which part of the picture a record replaces:

    ["round", watcher, "good" | "failed"]              one for each sampling round
    ["positions", watcher, group, topic, block]        committed offsets of a group
    ["ends", watcher, topic, block]                    log start, log end and leader epoch, topic id
    ["copy", watcher, query]                           the copy of a Spark checkpoint
    ["application", watcher, kind, name]               what another kind of application keeps
    ["writers", watcher, block]                        who writes topics, and whether in transactions
    ["fingerprints", watcher, topic, partition]        the records that stand for positions

Only what changed is written. A round that did not fail confirms, at its time, everything that its
watcher wrote before and has not withdrawn by an empty block, except what the round names as missed.
Every watcher process writes under a name of its own, so that two of them at once never undo each
other's records by compaction; a reader takes, for each part, the one confirmed last. A block holds
`BLOCK_PARTITIONS` partitions of one topic, so no record nears Kafka's limit of 1 MB.

All times are Unix epoch seconds by the watcher's clock. Where that clock is set back, a watcher writes in
each record from then on by how much in all (`set_back_s`): a time plus that number never goes back, so the
times of one watcher can be compared with each other. Times of two watchers are compared as they are unless
the order of their records in the topic says that their clocks differ.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from orchestrator.replication.content import Fingerprint
from orchestrator.replication.recreated_topic import Recreation
from orchestrator.replication.source_gaps import TopicWriters
from orchestrator.values import Content, LogEnd

BLOCK_PARTITIONS = 500

Outcome = Literal["good", "partial", "failed"]
Cause = Literal["", "refused", "silent", "error"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One sampling round.

    `outcome`: good; partial (the source answered, but not for all: `missed`); failed.
    `cause` of a failed one: every broker `refused` the connection; was `silent`; answered an `error`.
    `ends_at_s`: when the reading of the log ends began and ended; None unless they were read.
    `last_good_at_s`: begin of the newest round that did not fail, of any watcher that this one knows of.
    `failing_since_s`: end of the first failed round of this outage, as this watcher saw it;
    `refused_since_s`: of the first of those in which every broker refused, unbroken until now.
    `full_at_s`: begin of this watcher's newest round in which it wrote everything, changed or not.
    `missed`: subject (see `group_subject`, `topic_subject`) -> when it was confirmed last, or None.
    `set_back_s`: by how much the watcher's clock was set back since the watcher began.
    """

    watcher: str
    begun_at_s: float
    ended_at_s: float
    outcome: Outcome
    cause: Cause = ""
    reason: str = ""
    ends_at_s: tuple[float, float] | None = None
    last_good_at_s: float | None = None
    failing_since_s: float | None = None
    refused_since_s: float | None = None
    full_at_s: float | None = None
    missed: Mapping[str, float | None] = field(default_factory=dict)
    set_back_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupPositions:
    """Committed offsets (the next to read) of one group in one block of a topic's partitions."""

    watcher: str
    group: str
    topic: str
    block: int
    at_s: float
    offsets: Mapping[int, int]
    set_back_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicEnds:
    """Log ends of one block of a topic's partitions.

    `recreated`: when the topic came to its id, where an earlier one is known.
    """

    watcher: str
    topic: str
    block: int
    at_s: float
    topic_id: str
    ends: Mapping[int, LogEnd]
    recreated: Recreation | None = None
    set_back_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointCopy:
    """How far the copy of a Spark checkpoint has come.

    `batch`: newest committed batch in the copy, None while there is none; `committed_at_s`: when Spark
    committed it. `source_batch`: newest committed batch seen in the original. `at_s`: when the original
    was last compared with the copy; it stands still once the original cannot be read, and `problem` says
    why.
    """

    watcher: str
    query: str
    at_s: float
    batch: int | None = None
    committed_at_s: float | None = None
    source_batch: int | None = None
    path: str = ""
    problem: str = ""
    set_back_s: float = 0.0

    @property
    def application(self) -> str:
        """Whom it is about."""
        return self.query

    @property
    def state(self) -> object:
        """What has to change for it to be written at once."""
        return self.batch, self.source_batch, self.problem

    @property
    def has_positions(self) -> bool:
        """Whether anything is there from which it could go on."""
        return self.batch is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class WritersSeen:
    """Who writes a block of topics, as of the look at `at_s` and all before it; by topic."""

    watcher: str
    block: int
    at_s: float
    topics: Mapping[str, TopicWriters]
    set_back_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FingerprintsSeen:
    """The records that stand for positions in one partition, as they were read at `at_s` at the latest.

    `topic_id`: of the topic in which they stood; `leader_epoch`: of that partition's log. `is_compacted`:
    whether it was known to be compacted then. `copy_id`: of the topic's copy (empty: not known), which had it
    when records from `written_since` on were written. Without any, what was written before is withdrawn.
    """

    watcher: str
    topic: str
    partition: int
    at_s: float
    topic_id: str
    leader_epoch: int
    is_compacted: bool
    fingerprints: tuple[Fingerprint, ...]
    copy_id: str = ""
    written_since: int = -1
    set_back_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplicationSample:
    """What is known of one application of a kind that keeps more than committed offsets.

    `told`: plain data, as its kind writes and reads it. `at_s`: when that was so; it stands still once the
    application's positions cannot be read, and `problem` says why.
    """

    watcher: str
    kind: str
    name: str
    at_s: float
    told: Mapping[str, Any] = field(default_factory=dict)
    problem: str = ""
    set_back_s: float = 0.0

    @property
    def application(self) -> str:
        """Whom it is about."""
        return self.name

    @property
    def state(self) -> object:
        """What has to change for it to be written at once."""
        return self.told, self.problem

    @property
    def has_positions(self) -> bool:
        """Whether anything is known from which it could go on."""
        return bool(self.told)


Word: TypeAlias = CheckpointCopy | ApplicationSample
"""The newest of them about an application replaces all others."""
Sample: TypeAlias = Round | GroupPositions | TopicEnds | Word | WritersSeen | FingerprintsSeen


def group_subject(group: str) -> str:
    """How a round names a group that it missed."""
    return f"group {group}"


def topic_subject(topic: str) -> str:
    """How a round names a topic whose log ends it missed."""
    return f"topic {topic}"


def blocks_of(partitions: Iterable[int]) -> dict[int, list[int]]:
    """Partitions by the block that they lie in."""
    blocks: dict[int, list[int]] = {}
    for partition in partitions:
        blocks.setdefault(partition // BLOCK_PARTITIONS, []).append(partition)
    return blocks


def sample_key(sample: Sample) -> bytes:
    """The key under which a sample replaces an older one."""
    kind = _KIND_OF[type(sample)]
    return _packed([kind.name, sample.watcher, *kind.names(sample)])


def encode_sample(sample: Sample) -> tuple[bytes, bytes]:
    """Key and value of a sample, as they lie in the samples topic."""
    return sample_key(sample), _packed({"v": 1, **_KIND_OF[type(sample)].value(sample)})


def decode_sample(key: bytes, value: bytes) -> Sample:
    """The sample in a record. Raises `ValueError` for anything that is not one of ours.

    What a later version has added to a value is passed over.
    """
    try:
        name, watcher, *names = json.loads(key)
        data = json.loads(value)
        sample = _KINDS[name, data["v"]].sample(watcher, names, data)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
        raise ValueError(f"not a sample: {key!r}: {error}") from None
    return sample


def _packed(what: object) -> bytes:
    return json.dumps(what, separators=(",", ":"), ensure_ascii=False).encode()


@dataclass(frozen=True, slots=True)
class _Kind:
    """How one kind of sample lies in the topic.

    `name` begins its key, `in_key` are the fields that stand there behind the watcher. All others are the
    record's value, by their names; `written` and `read` are for those that JSON has in another form,
    `stored_as` for those that have another name there. A new kind is a class and one entry in `_KINDS`.
    """

    name: str
    type: type[Sample]
    in_key: tuple[str, ...]
    written: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)
    read: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)
    stored_as: Mapping[str, str] = field(default_factory=dict)

    def names(self, sample: Sample) -> list[object]:
        """What stands in the key behind the watcher."""
        if isinstance(sample, Round):
            return ["failed" if sample.outcome == "failed" else "good"]
        return [getattr(sample, name) for name in self.in_key]

    def value(self, sample: Sample) -> dict[str, Any]:
        """The record without its version. By how much a clock was set back is left out while it is 0."""
        own = self.type.__dataclass_fields__.keys() - {"watcher", *self.in_key}
        told = {name: getattr(sample, name) for name in self.type.__dataclass_fields__ if name in own}
        if not sample.set_back_s:
            del told["set_back_s"]
        told |= {name: write(told[name]) for name, write in self.written.items()}
        return {self.stored_as.get(name, name): value for name, value in told.items()}

    def sample(self, watcher: str, names: list[Any], data: Mapping[str, Any]) -> Sample:
        """The sample of watcher, names and value again."""
        fields, read = self.type.__dataclass_fields__, self.read
        values = {name: data[at] for name in fields if (at := self.stored_as.get(name, name)) in data}
        known = {name: read[name](at) if name in read else at for name, at in values.items()}
        # A round's key says only what its value says as well.
        known.update(zip(self.in_key, names, strict=self.type is not Round), watcher=watcher)
        return self.type(**known)


_KINDS = {
    (kind.name, 1): kind
    for kind in (
        _Kind(
            "round",
            Round,
            in_key=(),
            written={"missed": dict},
            read={"ends_at_s": lambda times: tuple(times) if times else None},
        ),
        _Kind(
            "positions",
            GroupPositions,
            in_key=("group", "topic", "block"),
            written={"offsets": lambda offsets: sorted(offsets.items())},
            read={"offsets": dict},
        ),
        _Kind(
            "ends",
            TopicEnds,
            in_key=("topic", "block"),
            written={"ends": lambda ends: [[partition, *end] for partition, end in sorted(ends.items())]},
            read={
                "ends": lambda rows: {partition: LogEnd(*end) for partition, *end in rows},
                "recreated": lambda row: Recreation(*row) if row else None,
            },
            stored_as={"recreated": "made_anew"},
        ),
        _Kind("copy", CheckpointCopy, in_key=("query",)),
        _Kind("application", ApplicationSample, in_key=("kind", "name"), written={"told": dict}),
        _Kind(
            "fingerprints",
            FingerprintsSeen,
            in_key=("topic", "partition"),
            written={
                "fingerprints": lambda found: [
                    [f.position, f.offset, f.content.digest.hex(), f.content.timestamp_ms, int(f.is_copied)]
                    for f in found
                ]
            },
            read={
                "fingerprints": lambda rows: tuple(
                    Fingerprint(
                        position, offset, Content(bytes.fromhex(digest), timestamp_ms), bool(is_copied)
                    )
                    for position, offset, digest, timestamp_ms, is_copied, *_ in rows
                )
            },
        ),
        _Kind(
            "writers",
            WritersSeen,
            in_key=("block",),
            written={
                "topics": lambda topics: {
                    name: [seen.topic_id, seen.partitions, sorted(seen.transactional), seen.is_compacted]
                    for name, seen in sorted(topics.items())
                }
            },
            read={
                "topics": lambda topics: {
                    name: TopicWriters(topic_id, partitions, frozenset(transactional), is_compacted)
                    for name, (topic_id, partitions, transactional, is_compacted, *_) in topics.items()
                }
            },
        ),
    )
}
_KIND_OF = {kind.type: kind for kind in _KINDS.values()}
