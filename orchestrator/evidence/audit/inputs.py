"""What an audit needs to know: where the ledgers and the records are, and what the failover wrote.

`inputs.json` in a drill's folder is one of these, so that an audit can be made again by itself:
`dcctl audit FOLDER`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from orchestrator.adapters.files import write_whole
from orchestrator.errors import AuditError
from orchestrator.evidence.audit.engines import ENGINE
from orchestrator.topology.model import Replication, Topology

_CONFIG = ConfigDict(extra="forbid", validate_by_name=True, validate_by_alias=True)

FILE_NAME = "inputs.json"

MIRRORED, LANDING = 0, 1
"""Of one move the two sides of its target, and their origins: copies of what the source had, and what was
written there after the move."""

SEEN_WITHIN_S = 120.0
"""A client counts as back after a move if it was seen within this time, unless the file allows more."""


def seen_again_limit_s(topology: Topology) -> float:
    """The time, in seconds, within which a client has to be seen again after a loss or a move.

    No less than the file's own objective (`failover.objectives.rto_s`), where that is longer.
    """
    objectives = topology.failover.objectives
    return max(SEEN_WITHIN_S, (objectives and objectives.rto_s) or 0.0)


ACKED, OPEN, FAILED, UNSERVED, ABORTED, FENCED = 1, 2, 4, 8, 16, 32
"""What came of a send: acknowledged; no answer, so it may be there or not; refused for certain.

An open or refused one is *unserved* as well where it was answered so (by a refusal, or by a time-out) after
its producer had been acknowledged in the same life: the producer was there, and its record was not taken.
*Fenced* is such a one in the last seconds of a life that a move ended. *Aborted*: its transaction was, on
purpose; no reader of what is committed may see it.
"""


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class AuditedTopic:
    """A topic by its name at the source, and the name of its copy at the target.

    After a failover producers write into the topic of the source's name at the target: the landing topic.
    `fence_offsets` are that topic's ends when it was fenced, per partition; records before them belong to
    earlier runs and are not looked at. Of an estate that works on, only a part is looked at: of the mirrored
    topic `[mirrored_starts, mirrored_ends)`, of the landing topic as far as `landing_ends`; without them all
    that is there. `copies`: cluster -> origin -> the name of a copy there, for other ways than from the
    source to the target.
    """

    name: str
    mirrored: str
    partitions: int
    copies: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    fence_offsets: Mapping[int, int] = field(default_factory=dict)
    mirrored_starts: Mapping[int, int] = field(default_factory=dict)
    mirrored_ends: Mapping[int, int] = field(default_factory=dict)
    landing_ends: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class AuditedProducer:
    """A producer; record number n of it belongs into the topic at n modulo the number of `topics`.

    One that is `transactional` leaves offsets without a record in its logs: markers, and what was aborted.
    """

    name: str
    topics: tuple[str, ...]
    transactional: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class AuditedConsumer:
    """A consumer, its kind as the file names it, with its topics' names at the source.

    `relocated_batch`: of a query, the newest batch in the checkpoint that it was restarted from.
    """

    name: str
    kind: str
    topics: tuple[str, ...]
    relocated_batch: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class Position:
    """Where one consumer went on in one partition, as the failover wrote it.

    `source_offset` is the recorded position at the source (the next record to read), `target_offset`
    what it was translated to; `exact` what the translation claimed. `engine_offset` is what
    stood there before: the mirror engine's own synced offset, None where there was none. `origin`: where the
    records of that log were produced; the source of the move where it is empty.
    """

    consumer: str
    topic: str
    partition: int
    origin: str = ""
    source_offset: int | None = None
    position_age_s: float | None = None
    target_offset: int | None = None
    exact: bool = False
    engine_offset: Annotated[int | None, Field(alias=ENGINE.offset_key)] = None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class AuditedPlace:
    """A cluster whose logs are read. Secrets in `client` are references, never values."""

    cluster: str
    bootstrap: tuple[str, ...]
    client: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class AuditedMove:
    """One of several moves, as it was made: with the nth of them life n + 1 of every client began.

    `mirrored_ends`: topic at the target -> partition -> its end when the mirror was stopped.
    `reread_at_most`: what the plan said each consumer would read again; None where it could not say.
    `started_at_s`: when it was commanded (Unix epoch seconds). `is_source_lost`: what had not been copied
    then arrives later.
    """

    verb: str
    run_id: str
    source: str
    target: str
    outcome: str
    seconds: float
    is_source_lost: bool
    started_at_s: float = 0.0
    positions: tuple[Position, ...] = ()
    mirrored_ends: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    reread_at_most: Mapping[str, int | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class AuditInputs:
    """Everything an audit reads or is told. Secrets in `client` are references, never values.

    `life_before` and `life_after` number the lives of the clients at the source and at the target.
    A client counts as back if it was seen within `seen_within_s` after the fault.

    With `moves` there are several, which led to and fro between the source and the target: lives are counted
    from 1 on, and all of `others` is looked at beside the target. The fault and `positions` are those of one
    move.
    """

    ledgers: str
    source: str
    target: str
    bootstrap: tuple[str, ...]
    client: Mapping[str, str]
    topics: tuple[AuditedTopic, ...]
    producers: tuple[AuditedProducer, ...]
    consumers: tuple[AuditedConsumer, ...]
    positions: tuple[Position, ...] = ()
    fault_at_s: float | None = None
    decided_at_s: float | None = None
    seen_within_s: float = SEEN_WITHIN_S
    life_before: int = 1
    life_after: int = 2
    others: tuple[AuditedPlace, ...] = ()
    moves: tuple[AuditedMove, ...] = ()

    @property
    def lives(self) -> dict[int, str]:
        """Each life that is looked at, in order, and the cluster where it was lived."""
        if not self.moves:
            return {self.life_before: self.source, self.life_after: self.target}
        return {1: self.moves[0].source} | {n: move.target for n, move in enumerate(self.moves, 2)}

    @property
    def transactional_topics(self) -> frozenset[int]:
        """Indexes of the topics that producers write in transactions."""
        written = {
            topic for producer in self.producers if producer.transactional for topic in producer.topics
        }
        return frozenset(index for index, topic in enumerate(self.topics) if topic.name in written)

    @property
    def places(self) -> tuple[AuditedPlace, ...]:
        """Every cluster whose logs are read."""
        target = AuditedPlace(cluster=self.target, bootstrap=self.bootstrap, client=self.client)
        return target, *self.others

    def write(self, folder: Path) -> Path:
        """Write `inputs.json` into a folder; returns its path. Ledgers in that folder are named within it."""
        path = folder / FILE_NAME
        ledgers = Path(self.ledgers)
        if ledgers.is_absolute() and ledgers.is_relative_to(folder.absolute()):
            within = ledgers.relative_to(folder.absolute()).as_posix()
            return replace(self, ledgers=within).write(folder)
        write_whole(path, _ADAPTER.dump_json(self, indent=2, by_alias=True).decode() + "\n")
        return path

    @classmethod
    def read(cls, folder: Path) -> AuditInputs:
        """Read `inputs.json` of a folder of evidence, wherever that lies now. Raises `AuditError`.

        Earlier versions named the ledgers by where they lay when the folder was made.
        """
        path, own = folder / FILE_NAME, folder.absolute() / "ledgers"
        try:
            inputs = _ADAPTER.validate_json(path.read_bytes())
            is_elsewhere = Path(inputs.ledgers).is_absolute() and own.is_dir()
            return replace(inputs, ledgers=str(own if is_elsewhere else folder.absolute() / inputs.ledgers))
        except OSError as error:
            raise AuditError(
                str(path), f"cannot be read: {error.strerror}", "name the folder that a drill left"
            ) from None
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            place = ".".join(str(part) for part in first["loc"])
            raise AuditError(str(path), f"{place}: {first['msg']}") from None


_ADAPTER = TypeAdapter(AuditInputs)


def names_of_groups(topology: Topology, cluster: str) -> dict[str, str]:
    """A cluster's consumers by their group ids: ledgers bear names, and the rows of moves have ids."""
    return {consumer.group_id: consumer.name for consumer in topology.consumers_of(cluster)}


def audit_inputs(
    topology: Topology,
    mirror: Replication,
    *,
    ledgers: Path,
    translations: Iterable[Mapping[str, Any]] = (),
    saved_offsets: Mapping[str, Mapping[str, Mapping[int, int]]] | None = None,
    relocated_batches: Mapping[str, int] | None = None,
    fence_offsets: Mapping[str, Mapping[int, int]] | None = None,
    fault_at_s: float | None = None,
    decided_at_s: float | None = None,
) -> AuditInputs:
    """The inputs for a move over one mirror.

    `translations` are rows as `dcctl offsets translate --json` gives them (of groups and Spark
    queries alike); `saved_offsets` is group -> target topic -> partition -> what stood there before;
    `relocated_batches` is query -> batch; `fence_offsets` is landing topic -> partition -> end.
    """
    saved = saved_offsets or {}
    batches = relocated_batches or {}
    fences = fence_offsets or {}
    called = names_of_groups(topology, mirror.source)
    sources = [topic for topic in topology.topics if topic.cluster == mirror.source]
    target = topology.clusters[mirror.target]
    return AuditInputs(
        ledgers=str(ledgers),
        source=mirror.source,
        target=mirror.target,
        bootstrap=target.bootstrap,
        client=dict(target.client),
        topics=tuple(
            AuditedTopic(
                name=topic.name,
                mirrored=mirror.mirrored_topic(topic.name),
                partitions=topic.partitions,
                fence_offsets=dict(fences.get(topic.name, {})),
            )
            for topic in sources
            if topic.name in mirror.topics
        ),
        producers=tuple(
            AuditedProducer(
                name=producer.name,
                topics=producer.topics,
                transactional=bool(producer.transactional_ids),
            )
            for producer in topology.producers_of(mirror.source)
        ),
        consumers=tuple(
            AuditedConsumer(
                name=consumer.name,
                kind=consumer.kind,
                topics=consumer.topics,
                relocated_batch=batches.get(consumer.name),
            )
            for consumer in topology.consumers_of(mirror.source)
        ),
        positions=tuple(
            _position(
                row,
                called.get(str(row["group"]), str(row["group"])),
                mirror,
                saved.get(str(row["group"]), {}),
            )
            for row in translations
            if row["source"] == mirror.source
        ),
        fault_at_s=fault_at_s,
        decided_at_s=decided_at_s,
        seen_within_s=seen_again_limit_s(topology),
    )


def _position(
    row: Mapping[str, Any], consumer: str, mirror: Replication, saved: Mapping[str, Mapping[int, int]]
) -> Position:
    topic, partition = str(row["topic"]), int(row["partition"])
    before = saved.get(mirror.mirrored_topic(topic), {})
    return Position(
        consumer=consumer,
        topic=topic,
        partition=partition,
        source_offset=row.get("source_offset"),
        position_age_s=row.get("position_age_s"),
        target_offset=row.get("target_offset"),
        exact=bool(row.get("exact", False)),
        engine_offset=before.get(partition),
        reason=str(row.get("reason", "")),
    )
