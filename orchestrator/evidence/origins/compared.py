"""What was acknowledged, set beside what stands where and what each consumer has processed. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from orchestrator.evidence.clients.records import RecordId
from orchestrator.evidence.origins.names import name_at, origins_at_home, origins_of_landing
from orchestrator.evidence.origins.one_group import others_of_group, read_by_group
from orchestrator.evidence.origins.told import UNTOLD, Ack, Origin, Reading, Told, origin_of_record
from orchestrator.topology.model import Consumer, Topology
from orchestrator.values import TopicPartition

Logs = Mapping[str, Mapping[TopicPartition, Sequence[tuple[int, RecordId]]]]
"""By cluster, each partition's records with their offsets, as a reader of what is committed sees them."""

Window = Mapping[TopicPartition, tuple[int, int | None]]
"""Of one stay at a standby: from which offset on a consumer has to read each partition of its landing topics
there, and up to which at least (None: to the end). See `stays`."""

Windows = Mapping[str, Sequence[Window]]
"""By consumer, for each of its stays."""

_NAMED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyFigures:
    """The acknowledged records of one origin at one cluster, which may be their own.

    Of those that are missing `tail` lies beyond the last one of its partition that is there, and `hole`
    before it. `twice`: those that stand there more than once, but for those that were sent more than once
    (`resent`). `reordered`: those that stand behind a later one of their partition.
    """

    origin: Origin
    cluster: str
    topic: str
    acked: int
    present: int
    tail: tuple[RecordId, ...] = ()
    hole: tuple[RecordId, ...] = ()
    twice: tuple[RecordId, ...] = ()
    resent: tuple[RecordId, ...] = ()
    reordered: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class OriginFigures:
    """What one consumer has made of the records of one origin.

    `expected` acknowledged records it had to process; `read` of them it has. `lost`: it has not, and they are
    not at the cluster where it works; `skipped`: all others that it has not. `again`: processed more than
    once, where it had read them before or at another place; `repeated`: more than once, since they stand
    more than once in the log. `uncalled`: records that it was not to read. `aborted`: of transactions that
    were. `resent`: processed more than once, since they were sent more than once. `open`: never acknowledged,
    so that they may be there or not. `beside`: records in a landing topic that it might read and did not have
    to. `late`: processed for the first time behind a later one of their partition. Where others are of its
    group, what they have read in a log that it reads as well is read, and `again` where it has read it too.
    """

    consumer: str
    origin: Origin
    expected: int
    read: int
    lost: tuple[RecordId, ...] = ()
    skipped: tuple[RecordId, ...] = ()
    again: tuple[RecordId, ...] = ()
    repeated: tuple[RecordId, ...] = ()
    uncalled: tuple[RecordId, ...] = ()
    aborted: tuple[RecordId, ...] = ()
    resent: int = 0
    open: int = 0
    beside: int = 0
    late: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """See the package. `copies` is empty without logs."""

    readings: tuple[OriginFigures, ...]
    copies: tuple[CopyFigures, ...] = ()

    def problems(self, *, at_risk: Iterable[str] = ()) -> list[str]:
        """What is not as it has to be, in words, the copies first.

        `at_risk`: clusters at which a `tail` may be missing, as what a site's loss takes along.
        """
        return [*self._of_copies(frozenset(at_risk)), *self._of_readings(), *self._unread()]

    def _of_copies(self, at_risk: frozenset[str]) -> Iterator[str]:
        for one in self.copies:
            found = {"missing before later ones": one.hole, "there more than once": one.twice}
            if one.cluster not in at_risk:
                found["missing at the end"] = one.tail
            yield from _said(f"{one.topic} at {one.cluster}", found)

    def _of_readings(self) -> Iterator[str]:
        for one in self.readings:
            found = {
                "lost": one.lost,
                "skipped": one.skipped,
                "processed again": one.again,
                "processed again, standing twice in the log": one.repeated,
                "processed that are not for it": one.uncalled,
                "processed of aborted transactions": one.aborted,
            }
            yield from _said(f"{one.consumer}, {one.origin}", found)

    def _unread(self) -> Iterator[str]:
        """An empty comparison shows nothing."""
        for name in dict.fromkeys(one.consumer for one in self.readings):
            if not any(one.read for one in self.readings if one.consumer == name):
                yield f"{name}: no record was processed that it had to"


def _said(subject: str, found: Mapping[str, tuple[RecordId, ...]]) -> Iterator[str]:
    for what, records in found.items():
        if records:
            named = ", ".join(f"{r.producer} {r.sequence} of life {r.life}" for r in records[:_NAMED])
            more = ", …" if len(records) > _NAMED else ""
            yield f"{subject}: {len(records):,} records {what} ({named}{more})"


def compare_origins(
    topology: Topology, told: Told, *, logs: Logs | None = None, windows: Windows | None = None
) -> Compared:
    """Compare everything. Without `logs` nothing is known of copies, and what was not processed is `skipped`.

    `windows`: see there. A consumer without one has to process, of its landing topics, what the producers of
    its own home wrote there, and may what others did.
    """
    there = _standing(logs or {})
    return Compared(
        readings=tuple(
            figures
            for consumer in topology.consumers
            for figures in _readings(topology, told, consumer, there, logs is not None, windows or {})
        ),
        copies=tuple(_copies(topology, told, there, logs or {})),
    )


_Standing = Mapping[tuple[str, str], Counter[RecordId]]


def _standing(logs: Logs) -> _Standing:
    """By cluster and topic, how often each record stands there."""
    found: dict[tuple[str, str], Counter[RecordId]] = {}
    for cluster, partitions in logs.items():
        for tp, records in partitions.items():
            found.setdefault((cluster, tp.topic), Counter()).update(record for _, record in records)
    return found


def _copies(topology: Topology, told: Told, there: _Standing, logs: Logs) -> Iterator[CopyFigures]:
    by_origin: defaultdict[Origin, dict[RecordId, Ack]] = defaultdict(dict)
    for record, ack in told.acked.items():
        by_origin[ack.origin][record] = ack
    for origin, acked in sorted(by_origin.items()):
        for cluster in topology.clusters:
            name = name_at(topology, origin, cluster)
            if name is not None and (cluster, name) in there:
                found = _copy(origin, cluster, name, acked, there[cluster, name], told.resent)
                yield replace(found, reordered=_reordered(logs[cluster], name, acked, told.resent))


def _reordered(
    log: Mapping[TopicPartition, Sequence[tuple[int, RecordId]]],
    name: str,
    acked: Mapping[RecordId, Ack],
    resent: Collection[RecordId],
) -> int:
    """Each where it stands first: a copy that is made again comes behind later ones."""
    found = 0
    for at, records in log.items():
        newest, seen = -1, set[RecordId]()
        for _, record in records if at.topic == name else ():
            ack = acked.get(record)
            is_placed = ack is not None and ack.offset != UNTOLD
            if ack is not None and is_placed and record not in seen and record not in resent:
                found += ack.offset < newest
                newest = max(newest, ack.offset)
            seen.add(record)
    return found


def _copy(  # noqa: PLR0917 - what a comparison is made of
    origin: Origin,
    cluster: str,
    name: str,
    acked: Mapping[RecordId, Ack],
    there: Counter[RecordId],
    resent: Collection[RecordId],
) -> CopyFigures:
    last: dict[int, int] = {}
    missing = []
    for record, ack in acked.items():
        if record in there:
            last[ack.partition] = max(ack.offset, last.get(ack.partition, -1))
        else:
            missing.append(record)
    is_tail = {record: acked[record].offset > last.get(acked[record].partition, -1) for record in missing}
    return CopyFigures(
        origin=origin,
        cluster=cluster,
        topic=name,
        acked=len(acked),
        present=len(acked) - len(missing),
        tail=tuple(record for record in missing if is_tail[record]),
        hole=tuple(record for record in missing if not is_tail[record]),
        twice=tuple(record for record in acked if there[record] > 1 and record not in resent),
        resent=tuple(record for record in acked if there[record] > 1 and record in resent),
    )


@dataclass(slots=True)
class _Tally:
    """The records of one origin, while they are sorted."""

    expected: list[RecordId] = field(default_factory=list)
    lost: list[RecordId] = field(default_factory=list)
    skipped: list[RecordId] = field(default_factory=list)
    again: list[RecordId] = field(default_factory=list)
    repeated: list[RecordId] = field(default_factory=list)
    uncalled: list[RecordId] = field(default_factory=list)
    aborted: list[RecordId] = field(default_factory=list)
    resent: int = 0
    open: int = 0
    beside: int = 0


def _readings(  # noqa: PLR0917 - what a comparison is made of
    topology: Topology,
    told: Told,
    consumer: Consumer,
    there: _Standing,
    has_logs: bool,
    windows: Windows,
) -> Iterator[OriginFigures]:
    called = _Called(topology, consumer, windows.get(consumer.name))
    done = told.processed.get(consumer.name, {})
    of_group = read_by_group(topology, told, consumer)
    tallies: defaultdict[Origin, _Tally] = defaultdict(
        _Tally, {origin: _Tally() for origin in called.at_home}
    )
    for record, ack in told.acked.items():
        if called.has_to_read(record, ack):
            tally = tallies[ack.origin]
            tally.expected.append(record)
            if record not in done and record not in of_group:
                is_there = not has_logs or record in _at(topology, there, ack.origin, told.at[consumer.name])
                (tally.skipped if is_there else tally.lost).append(record)
    for record, times in done.items():
        acked = told.acked.get(record)
        origin = acked.origin if acked else origin_of_record(topology, record)
        if origin is not None:
            _sort(tallies[origin], called, record, told, (*times, *of_group.get(record, ())))
    for origin, tally in sorted(tallies.items()):
        missing = len(tally.lost) + len(tally.skipped)
        yield OriginFigures(
            consumer=consumer.name,
            origin=origin,
            expected=len(tally.expected),
            read=len(tally.expected) - missing,
            lost=tuple(tally.lost),
            skipped=tuple(tally.skipped),
            again=tuple(tally.again),
            repeated=tuple(tally.repeated),
            uncalled=tuple(tally.uncalled),
            aborted=tuple(tally.aborted),
            resent=tally.resent,
            open=tally.open,
            beside=tally.beside,
            late=_late(told, done, origin),
        )


def _at(topology: Topology, there: _Standing, origin: Origin, cluster: str) -> Counter[RecordId]:
    """What stands at a cluster under the name of an origin."""
    return there.get((cluster, name_at(topology, origin, cluster) or ""), Counter())


def _sort(tally: _Tally, called: _Called, record: RecordId, told: Told, times: tuple[Reading, ...]) -> None:
    """One record that was processed."""
    ack = told.acked.get(record)
    if record in told.aborted:
        tally.aborted.append(record)
    elif ack is None:
        tally.open += 1
    elif called.has_to_read(record, ack):
        pass
    elif called.may_read(ack):
        tally.beside += 1
    else:
        tally.uncalled.append(record)
    if len(times) > 1:
        logs = {(one.cluster, one.topic) for one in times}
        is_repeated = len(logs) == 1 and len({(one.partition, one.offset) for one in times}) == len(times)
        if is_repeated and record in told.resent:
            tally.resent += 1
        else:
            (tally.repeated if is_repeated else tally.again).append(record)


def _late(told: Told, done: Mapping[RecordId, tuple[Reading, ...]], origin: Origin) -> int:
    """By the order in which records were processed first: `done` has it."""
    newest: dict[int, int] = {}
    late = 0
    for record in done:
        ack = told.acked.get(record)
        if ack is not None and ack.origin == origin and ack.offset != UNTOLD:
            late += ack.offset < newest.get(ack.partition, -1)
            newest[ack.partition] = max(ack.offset, newest.get(ack.partition, -1))
    return late


class _Called:
    """Which records are for one consumer."""

    def __init__(
        self,
        topology: Topology,
        consumer: Consumer,
        windows: Sequence[Window] | None,
    ) -> None:
        self.at_home = origins_at_home(topology, consumer)
        self._landing = origins_of_landing(topology, consumer)
        self._of_group = frozenset(
            origin for one in others_of_group(topology, consumer) for origin in origins_at_home(topology, one)
        )
        self._own = {producer.name for producer in topology.producers_of(consumer.cluster)}
        self._windows = windows

    def has_to_read(self, record: RecordId, ack: Ack) -> bool:
        """Whether the consumer has to process an acknowledged record, wherever it works."""
        if ack.origin in self.at_home:
            return True
        if ack.origin not in self._landing:
            return False
        if self._windows is None:
            return record.producer in self._own
        at = TopicPartition(ack.origin.topic, ack.partition)
        return any(_is_within(ack.offset, window.get(at)) for window in self._windows)

    def may_read(self, ack: Ack) -> bool:
        """Whether it may, where it does not have to: what others write to a topic that it shares a while.

        Where its stays are known, from the beginning of the first one on: it is stopped some time behind the
        end of what it has to read. Where its group reads it anyhow, all of it.
        """
        if ack.origin not in self._landing:
            return False
        if ack.origin in self._of_group:
            return True
        at = TopicPartition(ack.origin.topic, ack.partition)
        begins = [window[at][0] for window in self._windows or () if at in window]
        return self._windows is None or (bool(begins) and ack.offset >= min(begins))


def _is_within(offset: int, window: tuple[int, int | None] | None) -> bool:
    if window is None:
        return False
    start, end = window
    return start <= offset and (end is None or offset < end)
