"""Small histories of a site loss, drawn at random, and a brute-force audit of them.

A history is made of plain lists, in the order in which things happened; the audit here walks over
them in loops and sets, in a way as different from Spark's as it can be. One history holds several
worlds that know nothing of each other, so that one run on Spark audits them all.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import NamedTuple

from pyspark.sql import SparkSession

from orchestrator.adapters.spark import small_table
from orchestrator.evidence.audit.inputs import (
    ACKED,
    LANDING,
    MIRRORED,
    OPEN,
    AuditedConsumer,
    AuditedProducer,
    AuditedTopic,
    AuditInputs,
    Position,
)
from orchestrator.evidence.audit.numbers import key_number
from orchestrator.evidence.audit.positions import PositionEvent, Positions
from orchestrator.evidence.audit.run import Tables
from orchestrator.evidence.audit.sides import LogKey
from orchestrator.evidence.audit.soundness import Soundness
from orchestrator.evidence.audit.tables import COUNTS_SCHEMA, PROCESSED_SCHEMA, SENDS_SCHEMA
from orchestrator.values import TopicPartition

PARTITIONS = 2
KEYS = 5
FAULT_MS = 1_800_000_000_000
_RECORDS_SCHEMA = (
    "side INT, topic INT, partition INT, offset LONG, key STRING, producer INT, sequence LONG, resent INT"
)


class Sent(NamedTuple):
    """One record: producer, number, key, and whether it was sent again."""

    producer: int
    sequence: int
    key: str
    resent: int = 0


@dataclass
class Read:
    """What one consumer did in one partition of one topic."""

    recorded: int
    target: int
    committed: int
    first: list[int] = field(default_factory=list)  # source offsets, in batches for a query
    again: list[int] = field(default_factory=list)  # offsets of the mirrored partition
    landing: list[int] = field(default_factory=list)  # offsets of the landing partition


@dataclass
class History:
    """Logs by (topic, partition), what the ledgers say, and what each consumer read."""

    source: dict[tuple[int, int], list[Sent]]
    mirrored: dict[tuple[int, int], list[tuple[Sent, int]]]  # record and its source offset
    landing: dict[tuple[int, int], list[Sent]]
    acked: dict[tuple[int, int], tuple[int, int, int]]  # (producer, sequence) -> topic, partition, offset
    acked_after: dict[tuple[int, int], tuple[int, int, int]]
    announced: dict[int, int]  # producer -> numbers announced at the source
    reads: dict[tuple[int, int, int], Read]  # (consumer, topic, partition)
    batch_records: int = 7


WORLDS = 16
"""Each world has two topics with a producer each, a group that reads both and a query that reads the first."""

TOPICS = tuple(f"topic-{number}" for number in range(2 * WORLDS))
PRODUCERS = tuple(AuditedProducer(name=f"producer-{n}", topics=(topic,)) for n, topic in enumerate(TOPICS))
RELOCATED_BATCH = 2
CONSUMERS = tuple(
    AuditedConsumer(name=f"group-{number // 2}", kind="group", topics=TOPICS[number : number + 2])
    if number % 2 == 0
    else AuditedConsumer(
        name=f"query-{number // 2}",
        kind="spark",
        topics=(TOPICS[number - 1],),
        relocated_batch=RELOCATED_BATCH,
    )
    for number in range(2 * WORLDS)
)


def is_query(consumer: int) -> bool:
    """Whether a consumer is a Spark query."""
    return consumer % 2 == 1


def topics_of(consumer: int) -> tuple[int, ...]:
    """Topics that a consumer reads."""
    return (consumer - 1,) if is_query(consumer) else (consumer, consumer + 1)


def draw_history(seed: int) -> History:
    """A history with some anomalies, which ones depends on the seed."""
    dice = random.Random(seed)  # noqa: S311 - a drawing that can be drawn again
    history = History({}, {}, {}, {}, {}, {}, {})
    for topic in range(len(TOPICS)):
        _produce(dice, history, topic, topic)
        for partition in range(PARTITIONS):
            _mirror(dice, history, topic, partition)
        _go_on(dice, history, topic, topic)
    for consumer in range(len(CONSUMERS)):
        for topic in topics_of(consumer):
            for partition in range(PARTITIONS):
                _consume(dice, history, consumer, topic, partition)
    return history


def _produce(dice: random.Random, history: History, producer: int, topic: int) -> None:
    count = dice.randint(0, 60)
    for partition in range(PARTITIONS):
        history.source[topic, partition] = []
    unanswered = dice.choice([0, 0, 3, 8])
    for sequence in range(count):
        key = dice.randrange(KEYS)
        log = history.source[topic, key % PARTITIONS]
        if sequence >= count - unanswered and dice.random() < 0.5:
            continue  # announced, and the broker never got it
        log.append(Sent(producer, sequence, f"k{key}"))
        if sequence < count - unanswered:
            history.acked[producer, sequence] = (topic, key % PARTITIONS, len(log) - 1)
    history.announced[producer] = count + dice.choice([0, 5])


def _mirror(dice: random.Random, history: History, topic: int, partition: int) -> None:
    log = history.source[topic, partition]
    copied = len(log) - dice.choice([0, 0, 1, min(len(log), 6)]) if log else 0
    mirrored = [(record, offset) for offset, record in enumerate(log[:copied])]
    anomaly = dice.choice(["none", "none", "hole", "double", "replay", "swap"])
    if len(mirrored) > 4:
        place = dice.randrange(1, len(mirrored) - 2)
        if anomaly == "hole":
            del mirrored[place]
        elif anomaly == "double":
            mirrored.append(mirrored[place])
        elif anomaly == "replay":
            mirrored[place:place] = mirrored[max(0, place - 3) : place]
        elif anomaly == "swap":
            mirrored[place], mirrored[place + 1] = mirrored[place + 1], mirrored[place]
    history.mirrored[topic, partition] = mirrored


def _go_on(dice: random.Random, history: History, producer: int, topic: int) -> None:
    """At the target the producer sends again what it owes, then new numbers."""
    for partition in range(PARTITIONS):
        history.landing[topic, partition] = []
    owed = [n for n in range(history.announced[producer]) if (producer, n) not in history.acked]
    new = range(history.announced[producer], history.announced[producer] + dice.randint(0, 20))
    known = {r.sequence: r.key for p in range(PARTITIONS) for r in history.source[topic, p]}
    for sequence in [*owed, *new]:
        key = known.get(sequence, f"k{dice.randrange(KEYS)}")
        log = history.landing[topic, int(key[1:]) % PARTITIONS]
        log.append(Sent(producer, sequence, key, int(sequence in owed)))
        history.acked_after[producer, sequence] = (topic, int(key[1:]) % PARTITIONS, len(log) - 1)
        if dice.random() < 0.02:
            log.append(log[-1])
        if dice.random() < 0.02:
            log.pop()


def _consume(dice: random.Random, history: History, consumer: int, topic: int, partition: int) -> None:
    log, mirrored = history.source[topic, partition], history.mirrored[topic, partition]
    processed = dice.randint(0, len(log))
    committed = max(0, processed - dice.choice([0, 0, 2]))
    if is_query(consumer):
        # Its position is where a batch ended.
        in_state = min(processed, (RELOCATED_BATCH + 1) * history.batch_records)
        recorded = in_state
        committed = max(committed, recorded)
    else:
        recorded = max(0, committed - dice.choice([0, 0, 4]))
    exact = next((at for at, (_, offset) in enumerate(mirrored) if offset >= recorded), len(mirrored))
    target = min(len(mirrored), max(0, exact + dice.choice([0, 0, 0, -2, 2])))
    read = Read(recorded, target, committed, list(range(processed)))
    read.again = list(range(target, len(mirrored)))
    read.landing = list(range(len(history.landing[topic, partition])))
    if read.again and dice.random() < 0.1:
        read.again.append(read.again[-1])
    if read.landing and dice.random() < 0.1:
        read.landing.pop(dice.randrange(len(read.landing)))
    history.reads[consumer, topic, partition] = read


def inputs_of(history: History) -> AuditInputs:
    """The audit's inputs for a history."""
    topics = tuple(AuditedTopic(name=name, mirrored=f"west.{name}", partitions=PARTITIONS) for name in TOPICS)
    return AuditInputs(
        ledgers="",
        source="west",
        target="east",
        bootstrap=("127.0.0.1:1",),
        client={},
        topics=topics,
        producers=PRODUCERS,
        consumers=CONSUMERS,
        positions=tuple(
            Position(
                consumer=CONSUMERS[consumer].name,
                topic=topics[topic].name,
                partition=partition,
                source_offset=read.recorded,
                target_offset=read.target,
                exact=True,
                engine_offset=max(0, read.target - 3),
            )
            for (consumer, topic, partition), read in history.reads.items()
        ),
        fault_at_s=FAULT_MS / 1000,
        decided_at_s=FAULT_MS / 1000 + 5,
    )


def notes_of(history: History) -> Soundness:
    """What the consumers' notes say of their commits."""
    found = Soundness()
    for consumer in range(len(CONSUMERS)):
        commits = [
            PositionEvent(
                "commit",
                TopicPartition(TOPICS[topic], partition),
                read.committed,
                FAULT_MS - 500,
                "1",
            )
            for (reader, topic, partition), read in history.reads.items()
            if reader == consumer
        ]
        found.notes[consumer, 1] = Positions(commits)
        found.notes[consumer, 2] = Positions(
            [
                PositionEvent("start", None, None, FAULT_MS + 6_000, ""),
                PositionEvent("session", None, None, FAULT_MS + 9_000, ""),
                PositionEvent("commit", TopicPartition("west.topic-0", 0), 1, FAULT_MS + 10_000, "3"),
                PositionEvent("state", None, KEYS, FAULT_MS + 10_000, "3"),
            ]
        )
    return found


def tables_of(spark: SparkSession, history: History) -> Tables:
    """The history as the audit's DataFrames."""
    records = [
        (MIRRORED, topic, partition, offset, record.key, record.producer, record.sequence, record.resent)
        for (topic, partition), log in history.mirrored.items()
        for offset, (record, _) in enumerate(log)
    ] + [
        (LANDING, topic, partition, offset, record.key, record.producer, record.sequence, record.resent)
        for (topic, partition), log in history.landing.items()
        for offset, record in enumerate(log)
    ]
    ranges = {LogKey(MIRRORED, *place): (0, len(log)) for place, log in history.mirrored.items()}
    ranges |= {LogKey(LANDING, *place): (0, len(log)) for place, log in history.landing.items()}
    return Tables(
        records=small_table(spark, records, _RECORDS_SCHEMA).withColumn("key", key_number("key")),
        sends=small_table(spark, _send_rows(history), SENDS_SCHEMA),
        processed=small_table(spark, _processed_rows(history), PROCESSED_SCHEMA),
        counts=small_table(spark, _count_rows(history), COUNTS_SCHEMA),
        ranges=ranges,
    )


def _send_rows(history: History) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    for producer, announced in history.announced.items():
        still_open = [n for n in range(announced) if (producer, n) not in history.acked]
        rows.extend((producer, 1, OPEN, n, producer, None, None, None) for n in still_open)
    for life, acked, at_ms in (
        (1, history.acked, FAULT_MS - 1_000),
        (2, history.acked_after, FAULT_MS + 7_000),
    ):
        rows.extend(
            (producer, life, ACKED, sequence, topic, partition, offset, at_ms)
            for (producer, sequence), (topic, partition, offset) in acked.items()
        )
    return rows


def _processed_rows(history: History) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    for (consumer, topic, partition), read in history.reads.items():
        for life, side, offsets in (
            (1, MIRRORED, read.first),
            (2, MIRRORED, read.again),
            (2, LANDING, read.landing),
        ):
            for offset in offsets:
                record = _record(history, life, side, (topic, partition), offset)
                batch = None
                if is_query(consumer):
                    batch = offset // history.batch_records if life == 1 else 3
                at_ms = FAULT_MS + (-2_000 if life == 1 else 8_000)
                place = (consumer, life, side, topic, partition, offset)
                rows.append((*place, record.producer, record.sequence, record.key, at_ms, batch))
    return rows


def _record(history: History, life: int, side: int, place: tuple[int, int], offset: int) -> Sent:
    if life == 1:
        return history.source[place][offset]
    return history.mirrored[place][offset][0] if side == MIRRORED else history.landing[place][offset]


def counted(history: History, query: int) -> Counter[str]:
    """What the query's state counts by key at the end, by its own reading."""
    counts: Counter[str] = Counter()
    for (consumer, topic, partition), read in history.reads.items():
        if consumer == query:
            counts.update(history.source[topic, partition][n].key for n in range(read.recorded))
            counts.update(history.mirrored[topic, partition][n][0].key for n in read.again)
            counts.update(history.landing[topic, partition][n].key for n in read.landing)
    return counts


def _count_rows(history: History) -> list[tuple[object, ...]]:
    queries = [consumer for consumer in range(len(CONSUMERS)) if is_query(consumer)]
    final = [(query, 2, 3, key, count) for query in queries for key, count in counted(history, query).items()]
    earlier = [(query, 1, 0, key, 1) for query, _, _, key, _ in final]
    # The site had gone on after the batch that was copied: none of that is in the line of states.
    beyond = [(query, 1, RELOCATED_BATCH + 1, "k0", 10_000) for query in queries]
    return [*final, *earlier, *beyond]


def brute_topics(history: History, topic: int) -> dict[str, dict[str, int]]:
    """`mirrored` and `landing` figures of one topic."""
    copies: Counter[tuple[int, int]] = Counter()
    landed: Counter[tuple[int, int]] = Counter()
    marked: set[tuple[int, int]] = set()
    for partition in range(PARTITIONS):
        copies.update((r.producer, r.sequence) for r, _ in history.mirrored[topic, partition])
        landed.update((r.producer, r.sequence) for r in history.landing[topic, partition])
        marked |= {(r.producer, r.sequence) for r in history.landing[topic, partition] if r.resent}
    acked = {name: place for name, place in history.acked.items() if place[0] == topic}
    replicated: dict[int, int] = defaultdict(lambda: -1)
    for name, (_, partition, offset) in acked.items():
        if copies[name]:
            replicated[partition] = max(replicated[partition], offset)
    lost = {name: place for name, place in acked.items() if not copies[name]}
    tail = sum(offset > replicated[partition] for _, partition, offset in lost.values())
    still_open = [
        (producer, n)
        for producer, count in history.announced.items()
        if producer == topic
        for n in range(count)
        if (producer, n) not in history.acked
    ]
    after = [name for name, place in history.acked_after.items() if place[0] == topic]
    return {
        "mirrored": {
            "acked": len(acked),
            "present": len(acked) - len(lost),
            "tail": tail,
            "hole": len(lost) - tail,
            "duplicates": sum(count - 1 for count in copies.values()),
            "reordered": sum(
                _reordered([r for r, _ in history.mirrored[topic, p]]) for p in range(PARTITIONS)
            ),
            "open_present": sum(copies[name] > 0 for name in still_open),
            "open_absent": sum(copies[name] == 0 for name in still_open),
        },
        "landing": {
            "acked": len(after),
            "present": sum(landed[name] > 0 for name in after),
            "hole": sum(landed[name] == 0 for name in after),
            "duplicates": sum(count - 1 for count in landed.values()),
            "reordered": sum(_reordered(history.landing[topic, p]) for p in range(PARTITIONS)),
            "resent_copies": sum(copies[name] > 0 for name in marked),
        },
    }


def _reordered(log: list[Sent]) -> int:
    seen: set[int] = set()
    largest: dict[tuple[int, str], int] = {}
    late = 0
    for record in log:
        if record.sequence in seen:
            continue
        seen.add(record.sequence)
        of_key = (record.producer, record.key)
        late += record.sequence < largest.get(of_key, -1)
        largest[of_key] = max(largest.get(of_key, -1), record.sequence)
    return late


def brute_reading(history: History, consumer: int, topic: int, partition: int) -> dict[str, int]:
    """Figures of one consumer in one mirrored partition."""
    read = history.reads[consumer, topic, partition]
    mirrored = history.mirrored[topic, partition]
    offsets = {record: offset for offset, record in enumerate(history.source[topic, partition])}
    again: Counter[Sent] = Counter(mirrored[at][0] for at in read.again)
    there: Counter[Sent] = Counter(record for record, _ in mirrored)
    first = {history.source[topic, partition][offset] for offset in read.first}
    kept = first if not is_query(consumer) else {r for r in first if offsets[r] < read.recorded}
    reread = [offsets[record] for record in first if again[record]]
    last = {record: at for at, (record, _) in enumerate(mirrored)}
    return {
        "map": sum(offset < read.recorded for offset in reread),
        "position_age": sum(read.recorded <= offset < read.committed for offset in reread),
        "uncommitted": sum(offset >= max(read.committed, read.recorded) for offset in reread),
        # Every draw reads the mirrored log to its end.
        "skipped": sum(not again[record] and record not in kept for record in there),
        "processed_but_lost": sum(record not in there for record in kept),
        "mirrormaker": sum(record in first and last[record] >= max(0, read.target - 3) for record in there),
        "twice": sum(max(0, again[record] - there[record]) for record in there),
        "passed_over": sum(
            offsets[record] >= read.recorded and last[record] < read.target for record in there
        ),
    }
