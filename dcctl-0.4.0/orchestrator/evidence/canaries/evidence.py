"""What of the canaries' ledgers one run is judged by, kept in a folder of its own beside `inputs.json`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from orchestrator.adapters.kafka import KafkaCluster
from orchestrator.errors import AuditError
from orchestrator.estate.live.connections import kafka_cluster
from orchestrator.evidence.audit.inputs import AuditInputs
from orchestrator.evidence.audit.ledgers import positions_path
from orchestrator.evidence.audit.result import Finding
from orchestrator.evidence.canaries.lives import Canary, lives_after
from orchestrator.evidence.canaries.taking import Taking
from orchestrator.evidence.canaries.window import Beginning, reached
from orchestrator.evidence.clients.places import LIFE_AT_SOURCE, LIFE_AT_TARGET
from orchestrator.evidence.run_audit import run_inputs
from orchestrator.replication.offsets_json import offsets_from_json
from orchestrator.topology.model import Replication, Topology
from orchestrator.values import TopicPartition
from orchestrator.verbs.live.run_result import RunResult

_POLL_S = 1.0
# Canaries run on machines of their own.
_CLOCKS_APART_S = 5.0

Tell = Callable[[str], None]
Lines = Callable[[Iterable[str]], Iterable[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What to take: from where, back to how many seconds before the fault, and for how long to wait for
    consumers that have not read to the end yet."""

    ledgers: Path
    window_s: float
    drain_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What was taken, and since when (Unix epoch seconds; None where no beginning was found).

    `is_drained`: every canary had read to the ends at which it was cut.
    """

    inputs: AuditInputs
    since_s: float | None
    findings: tuple[Finding, ...]
    is_drained: bool


def canaries_of(topology: Topology, mirror: Replication) -> tuple[Topology, Replication]:
    """The topology and the mirror with nothing but canaries and their topics."""
    producers = tuple(p for p in topology.producers_of(mirror.source) if p.canary)
    consumers = tuple(c for c in topology.consumers_of(mirror.source) if c.canary)
    written = {topic for producer in producers for topic in producer.topics}
    topics = tuple(topic for topic in mirror.topics if topic in written)
    return replace(topology, producers=producers, consumers=consumers), replace(mirror, topics=topics)


def take_evidence(
    topology: Topology,
    mirror: Replication,
    run: RunResult,
    asked: Asked,
    folder: Path,
    *,
    fault_at_s: float,
    tell: Tell = lambda _: None,
) -> Evidence:
    """Copy that part of the canaries' ledgers by which this run is judged into `folder`.

    The logs' ends are looked at first: what stands before them was announced in the ledgers before. Raises
    `AuditError` where the ledgers or the folder cannot be reached, and `ClusterError` of the target.
    """
    if not asked.ledgers.is_dir():
        hint = "where do the canaries write? is the third place mounted?"
        raise AuditError(f"--ledgers {asked.ledgers}", "there is no such folder", hint)
    if asked.ledgers.resolve() == (folder / "ledgers").resolve():
        raise AuditError(f"--out {folder}", "evidence would overwrite the ledgers", "take another folder")
    canaries, mirror = canaries_of(topology, mirror)
    target = kafka_cluster(topology, mirror.target)
    inputs = run_inputs(canaries, mirror, run, ledgers=folder / "ledgers", fault_at_s=fault_at_s)
    with _readable(asked.ledgers):
        first = LIFE_AT_SOURCE if run.plan["verb"] == "failback" else LIFE_AT_TARGET
        lives = lives_after(inputs, asked.ledgers, first, run.started_at_s - _CLOCKS_APART_S)
        life = max(lives.values())
        inputs = replace(inputs, life_before=life - 1, life_after=life)
        ends = _ends(target, inputs, offsets_from_json(run.fence_offsets.get("mirrored", {})))
        is_drained = _drained(inputs, asked, lives, ends, tell)
        taking = Taking(inputs, asked.ledgers, folder / "ledgers", ends, lives)
        begun = taking.copy_sends(from_ms=int((fault_at_s - asked.window_s) * 1000))
        taking.copy_readings()
    inputs, outside = _cut(inputs, target, begun, ends)
    inputs.write(folder)
    since_ms = min((begin.sent_ms for begin in begun.values()), default=None)
    return Evidence(
        inputs=inputs,
        since_s=None if since_ms is None else since_ms / 1000,
        findings=(*_one_numbering(inputs, lives), *taking.findings, *outside),
        is_drained=is_drained,
    )


def _one_numbering(inputs: AuditInputs, lives: Mapping[Canary, int]) -> Iterator[Finding]:
    """Under one name for both sides a record's life tells its side, and lives are numbered by producer."""
    numbers = {lives[client] for client in lives if client.folder == "producers"}
    if len(numbers) > 1 and any(topic.name == topic.mirrored for topic in inputs.topics):
        text = "producers are at different lives, and topics have one name at both sides: which side a record"
        yield Finding("unknown", f"{text} was written at cannot be told")


def _ends(
    target: KafkaCluster, inputs: AuditInputs, fenced: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int]:
    """Where the logs end now; those of mirrored topics, where the mirror was stopped."""
    places = [
        TopicPartition(name, number)
        for topic in inputs.topics
        for name in (topic.mirrored, topic.name)
        for number in range(topic.partitions)
    ]
    return {tp: min(fenced.get(tp, end), end) for tp, end in target.end_offsets(places).items()}


def _drained(
    inputs: AuditInputs,
    asked: Asked,
    lives: Mapping[Canary, int],
    ends: Mapping[TopicPartition, int],
    tell: Tell,
) -> bool:
    """Wait until every canary has read to those ends, as far as its ledger tells."""
    deadline = time.monotonic() + asked.drain_s
    while True:
        left = {
            consumer.name: _unread(
                inputs, asked.ledgers, consumer.name, lives[Canary("consumers", consumer.name)], ends
            )
            for consumer in inputs.consumers
        }
        listed = ", ".join(f"{name} {count:,}" for name, count in left.items() if count)
        tell(f"still to be read: {listed or 'nothing'}")
        if not listed:
            return True
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_S)


def _unread(
    inputs: AuditInputs, ledgers: Path, consumer: str, life: int, ends: Mapping[TopicPartition, int]
) -> int:
    topics = {topic.name: topic for topic in inputs.topics}
    subscribed = next(found.topics for found in inputs.consumers if found.name == consumer)
    try:
        with positions_path(ledgers, consumer, life).open(encoding="utf-8") as lines:
            at = reached(lines)
    except FileNotFoundError:
        at = {}
    unread = 0
    for name in (name for name in subscribed if name in topics):
        topic = topics[name]
        for number in range(topic.partitions):
            landing, mirrored = TopicPartition(name, number), TopicPartition(topic.mirrored, number)
            unread += max(0, ends[landing] - at.get(landing, topic.fence_offsets.get(number, 0)))
            unread += max(0, ends[mirrored] - at[mirrored]) if mirrored in at else 0
    return unread


def _cut(
    inputs: AuditInputs,
    target: KafkaCluster,
    first: Mapping[str, Beginning],
    ends: Mapping[TopicPartition, int],
) -> tuple[AuditInputs, list[Finding]]:
    """The topics as far as they are looked at; and positions that lie outside of that."""
    since = {
        topic: first[producer.name].sent_ms / 1000
        for producer in inputs.producers
        for topic in producer.topics
        if producer.name in first
    }
    times = {
        TopicPartition(topic.mirrored, number): since[topic.name]
        for topic in inputs.topics
        for number in range(topic.partitions)
        if topic.name in since
    }
    starts = target.offsets_for_times(times)
    topics = []
    for topic in inputs.topics:
        numbers = range(topic.partitions)
        mirrored = {number: TopicPartition(topic.mirrored, number) for number in numbers}
        topics.append(
            replace(
                topic,
                mirrored_starts={n: min(starts[tp], ends[tp]) for n, tp in mirrored.items() if tp in starts},
                mirrored_ends={n: ends[tp] for n, tp in mirrored.items()},
                landing_ends={n: ends[TopicPartition(topic.name, n)] for n in numbers},
            )
        )
    names = {topic.name: topic for topic in topics}
    outside = [
        Finding(
            "unknown",
            f"{position.consumer} at {names[position.topic].mirrored}-{position.partition}: it went on before"
            " the part that is looked at: take a larger --window",
        )
        for position in inputs.positions
        if position.topic in names
        and position.target_offset is not None
        and position.target_offset < names[position.topic].mirrored_starts.get(position.partition, 0)
    ]
    return replace(inputs, topics=tuple(topics)), outside


@contextmanager
def _readable(ledgers: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise AuditError(
            f"--ledgers {ledgers}", f"{error.filename or 'a ledger'}: {error.strerror}", "check its rights"
        ) from None
    except ValueError as error:
        raise AuditError(f"--ledgers {ledgers}", f"a ledger cannot be understood: {error}") from None
