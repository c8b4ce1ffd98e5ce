"""The audit of moves there and back: every life of every client, by content. Pure, on numpy arrays.

A record is known by its number: producer and sequence, one integer. What was acknowledged in any life has to
be at the primary in the end, in its own topic or in the copy of what the other side had taken. A position is
right when what lies before it at one side is what lies before it at the other; that is compared record by
record, whatever the translation believed. The rules are those of `docs/evidence.md`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from orchestrator.evidence.audit.inputs import SEEN_WITHIN_S
from orchestrator.evidence.audit.result import Finding
from orchestrator.values import TopicPartition

Numbers = npt.NDArray[np.int64]
NOTHING: Numbers = np.empty(0, np.int64)


class Log(NamedTuple):
    """One partition in the order of its offsets. `resent`: sent again on purpose, and marked so."""

    offsets: Numbers
    ids: Numbers
    keys: Numbers
    resent: npt.NDArray[np.bool_]

    def before(self, offset: int) -> Numbers:
        """Records below an offset."""
        return self.ids[: int(np.searchsorted(self.offsets, offset))]

    def behind(self, offset: int) -> Numbers:
        """Records at an offset and above."""
        return self.ids[int(np.searchsorted(self.offsets, offset)) :]


Side = Mapping[TopicPartition, Log]
Span = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """One move as it was made: `positions` are rows of `translations`, `mirrored_ends` of the stopped mirror.

    `reread_at_most`: what the plan said each consumer would read again; None where it could not say.
    `started_at_s`: when it was commanded (Unix epoch seconds).
    """

    verb: str
    run_id: str
    source: str
    target: str
    outcome: str
    seconds: float
    started_at_s: float = 0.0
    positions: Sequence[Mapping[str, Any]] = ()
    mirrored_ends: Mapping[TopicPartition, int] = field(default_factory=dict)
    reread_at_most: Mapping[str, int | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledgers:
    """What clients wrote down, by life: life n + 1 begins with move n.

    `acked`: topic -> life -> numbers. `processed`: consumer -> life -> numbers, in order, with repetitions.
    `acked_ms`: producer and topic -> life -> (first, last) acknowledgement; `processed_ms`: consumer ->
    life -> (first, last) record; `stopped_ms`: consumer -> life -> when it ended by itself (Unix epoch
    milliseconds). `unserved`: topic -> life -> sends that were refused or timed out while their producer
    was acknowledged.
    """

    acked: Mapping[str, Mapping[int, Numbers]]
    processed: Mapping[str, Mapping[int, Numbers]]
    acked_ms: Mapping[tuple[str, str], Mapping[int, Span]]
    processed_ms: Mapping[str, Mapping[int, Span]]
    stopped_ms: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    unserved: Mapping[str, Mapping[int, int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundTrip:
    """All that is compared. `homes` and `standbys`: for each topic its places at the two sides.

    `reads`: consumer -> topics, as the primary names them. A client counts as back if it was seen within
    `seen_within_s`.
    """

    home: str
    logs: Mapping[str, Side]
    topics: Mapping[str, Mapping[str, tuple[str, ...]]]
    reads: Mapping[str, Sequence[str]]
    moves: Sequence[Move]
    ledgers: Ledgers
    seen_within_s: float = SEEN_WITHIN_S


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicFigures:
    """One topic over all lives, at one side: what was acknowledged and is missing, twice or out of order."""

    acked: int
    missing: int
    duplicates: int
    reordered: int
    resent_copies: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveFigures:
    """What one move came to. Records, except `positions`, `exact`, `wrong` (positions), and times.

    `late`: had not been copied when the source was lost, and arrived after its return. `read_again_late`:
    those of them that a consumer had processed before the loss. `read_again`: all others.
    """

    verb: str
    run_id: str
    source: str
    target: str
    outcome: str
    seconds: float
    pause_s: float | None
    consumer_pause_s: float | None
    late: int
    positions: int
    exact: int
    wrong: int
    skipped: int
    read_again: int
    read_again_at_most: int | None
    read_again_late: int


def topic_figures(trip: RoundTrip, topic: str, cluster: str) -> TopicFigures:
    """Everything of a topic that was ever acknowledged, against what stands at a cluster."""
    acked = _all(trip.ledgers.acked.get(topic, {}).values())
    logs = list(_logs(trip, topic, cluster))
    ids, marked = _joined([log.ids for log in logs]), _joined([log.ids[log.resent] for log in logs])
    found, copies = np.unique(ids, return_counts=True)
    several = found[copies > 1]
    extra = int((copies[copies > 1] - 1).sum())
    on_purpose = int(np.isin(several, marked).sum())
    return TopicFigures(
        acked=len(acked),
        missing=len(np.setdiff1d(acked, found)),
        duplicates=extra - on_purpose,
        reordered=sum(reordered(log) for log in logs),
        resent_copies=on_purpose,
    )


def reordered(log: Log) -> int:
    """Records whose first copy comes after a later one of the same producer and key."""
    _, first = np.unique(log.ids, return_index=True)
    largest: dict[tuple[int, int], int] = {}
    count = 0
    for place in np.sort(first):
        number = int(log.ids[place])
        key = (number >> PRODUCER_SHIFT, int(log.keys[place]))
        count += largest.get(key, -1) > number
        largest[key] = max(largest.get(key, -1), number)
    return count


PRODUCER_SHIFT = 40


def move_figures(trip: RoundTrip) -> list[MoveFigures]:
    """Each move in its turn."""
    found = []
    late = _late_by_move(trip)
    for index, move in enumerate(trip.moves):
        wrong, skipped = 0, 0
        for row in move.positions:
            passed, again = _misplaced(trip, move, row)
            skipped += passed
            wrong += bool(passed or (row["exact"] and again))
        read_again = {name: _read_again(trip, name, index, late[: index + 1]) for name in trip.reads}
        stated = [move.reread_at_most.get(name) for name in trip.reads]
        found.append(
            MoveFigures(
                verb=move.verb,
                run_id=move.run_id,
                source=move.source,
                target=move.target,
                outcome=move.outcome,
                seconds=move.seconds,
                pause_s=_longest(producer_pauses_s(trip, index)),
                consumer_pause_s=_longest(consumer_pauses_s(trip, index)),
                late=len(late[index]),
                positions=len(move.positions),
                exact=sum(bool(row["exact"]) for row in move.positions),
                wrong=wrong,
                skipped=skipped,
                read_again=sum(own for own, _ in read_again.values()),
                read_again_at_most=None if None in stated else sum(filter(None, stated)),
                read_again_late=sum(tail for _, tail in read_again.values()),
            )
        )
    return found


def unprocessed(trip: RoundTrip, consumer: str) -> int:
    """Records at the primary that a consumer never processed in any life."""
    there = _all(log.ids for topic in trip.reads[consumer] for log in _logs(trip, topic, trip.home))
    return len(np.setdiff1d(there, _all(trip.ledgers.processed.get(consumer, {}).values())))


def findings(
    trip: RoundTrip, moves: Sequence[MoveFigures], topics: Mapping[str, Mapping[str, TopicFigures]]
) -> Iterator[Finding]:
    """What forbids a valid verdict; `topics` is cluster -> topic."""
    for cluster, by_topic in topics.items():
        for name, figures in by_topic.items():
            if not figures.acked:
                yield Finding("unknown", f"{name} at {cluster}: nothing was acknowledged")
            for count, what in (
                (figures.missing, "acknowledged records are not there"),
                (figures.duplicates, "records are there twice"),
                (figures.reordered, "records are out of order within their key"),
            ):
                if count:
                    yield Finding("invalid", f"{name} at {cluster}: {count:,} {what}")
    for number, move in enumerate(moves, 1):
        for verdict, text in (*_of_move(move), *_of_pauses(trip, number - 1), *_of_topics(trip, number + 1)):
            yield Finding(verdict, f"move {number} ({move.verb}): {text}")
    for consumer in trip.reads:
        if left := unprocessed(trip, consumer):
            yield Finding("invalid", f"{consumer}: {left:,} records were never processed")


def _of_move(move: MoveFigures) -> Iterator[Finding]:
    if move.outcome != "ok":
        yield Finding("unknown", f"it ended {move.outcome}")
    if not move.positions:
        yield Finding("unknown", "it placed no group")
    if move.wrong:
        yield Finding("invalid", f"{move.wrong} positions are not where they were said to be")
    if move.skipped:
        yield Finding("invalid", f"{move.skipped:,} records lie before a position, unread")
    if move.read_again_at_most is None:
        yield Finding("unknown", "it was not stated how much would be read again")
    elif move.read_again > move.read_again_at_most:
        text = f"{move.read_again:,} records read again, {move.read_again_at_most:,} at most were stated"
        yield Finding("invalid", text)


def _misplaced(trip: RoundTrip, move: Move, row: Mapping[str, Any]) -> tuple[int, int]:
    """Records that a position passes over unread, and records before it that stand behind it again.

    Of a lost site's records those count that have arrived by the time the mirror was stopped.
    """
    at, to = row["source_offset"], row["target_offset"]
    read_at = TopicPartition(row["topic"], int(row["partition"]))
    goes_on_at = TopicPartition(row["target_topic"], int(row["partition"]))
    source, target = trip.logs[move.source].get(read_at), trip.logs[move.target].get(goes_on_at)
    if at is None or to is None or source is None or target is None:
        return 0, 0
    read, passed = source.before(int(at)), target.before(int(to))
    end = move.mirrored_ends.get(goes_on_at)
    arrived = target.ids if end is None else target.before(end)
    again = np.intersect1d(np.setdiff1d(read, passed), arrived)
    return len(np.setdiff1d(passed, read)), len(again)


def _late_by_move(trip: RoundTrip) -> list[Numbers]:
    """Per move the records that stood in the mirrored topics only behind their ends of that time."""
    found = []
    for move in trip.moves:
        late = [NOTHING]
        if move.verb == "failover":
            for tp, end in move.mirrored_ends.items():
                log = trip.logs[move.target].get(tp)
                if log is not None:
                    late.append(np.setdiff1d(log.behind(end), log.before(end)))
        found.append(_late_only(trip, move, _joined(late)))
    return found


def _late_only(trip: RoundTrip, move: Move, behind: Numbers) -> Numbers:
    """Of records behind an end, those that were acknowledged before the move; later lives come behind too."""
    life = trip.moves.index(move) + 1
    before = _all(
        numbers for by_life in trip.ledgers.acked.values() for at, numbers in by_life.items() if at <= life
    )
    return np.intersect1d(behind, before)


def _read_again(trip: RoundTrip, consumer: str, index: int, late: Sequence[Numbers]) -> tuple[int, int]:
    """Records processed after a move that had been processed before it: others, and late ones.

    Of a record that stands there twice on purpose both copies are read.
    """
    by_life = trip.ledgers.processed.get(consumer, {})
    life = index + 2
    now, counts = np.unique(by_life.get(life, NOTHING), return_counts=True)
    before = _all(numbers for number, numbers in by_life.items() if number < life)
    target = trip.moves[index].target
    there = _joined([log.ids for topic in trip.reads[consumer] for log in _logs(trip, topic, target)])
    ids, copies = np.unique(there, return_counts=True)
    again = np.setdiff1d(np.intersect1d(now, before), ids[copies > 1])
    # More often in one life than it stands there: read again without any move.
    allowed = np.ones(len(now), np.int64)
    if len(ids):
        at = np.clip(np.searchsorted(ids, now), 0, len(ids) - 1)
        allowed = np.where(ids[at] == now, copies[at], 1)
    twice = int((counts - allowed).clip(0).sum())
    tail = int(np.isin(again, _joined(late)).sum())
    return len(again) - tail + twice, tail


def producer_pauses_s(trip: RoundTrip, index: int) -> dict[str, float | None]:
    """Per producer and topic, from the last acknowledgement before a move to the first one after it.

    None: not acknowledged before, or not again.
    """
    return {
        f"{producer} in {topic}": _between(by_life.get(index + 1), by_life.get(index + 2))
        for (producer, topic), by_life in trip.ledgers.acked_ms.items()
    }


def consumer_pauses_s(trip: RoundTrip, index: int) -> dict[str, float | None]:
    """Per consumer, from its last processed record before a move to its first one after it.

    One that had ended by itself before the move, or had processed nothing, counts from its command on.
    """
    started_ms = int(trip.moves[index].started_at_s * 1000)
    found = {}
    for consumer in trip.reads:
        by_life = trip.ledgers.processed_ms.get(consumer, {})
        stopped_ms = trip.ledgers.stopped_ms.get(consumer, {}).get(index + 1)
        last = by_life.get(index + 1)
        if last is None or (stopped_ms is not None and stopped_ms < started_ms):
            last = (started_ms, started_ms)
        found[consumer] = _between(last, by_life.get(index + 2))
    return found


def _between(before: Span | None, after: Span | None) -> float | None:
    return None if before is None or after is None else (after[0] - before[1]) / 1000


def _longest(pauses: Mapping[str, float | None]) -> float | None:
    """None where one is not known, or is none."""
    known = [pause for pause in pauses.values() if pause is not None and pause >= 0]
    return max(known, default=None) if len(known) == len(pauses) else None


def _of_pauses(trip: RoundTrip, index: int) -> Iterator[Finding]:
    for name, pause in (producer_pauses_s(trip, index) | consumer_pauses_s(trip, index)).items():
        if pause is None:
            yield Finding("invalid", f"{name} was not seen both before it and after it")
        elif pause < 0:
            yield Finding("unknown", f"{name} was seen {-pause:.3f} s too early: do the clocks disagree?")
        elif pause > trip.seen_within_s:
            text = f"{name} was seen again only after {pause:.1f} s (limit {trip.seen_within_s:g} s)"
            yield Finding("invalid", text)


def _of_topics(trip: RoundTrip, life: int) -> Iterator[Finding]:
    """Topics that took nothing in the life after a move, or not all."""
    for topic in trip.topics:
        if not len(trip.ledgers.acked.get(topic, {}).get(life, NOTHING)):
            yield Finding(
                "unknown", f"in {topic} no record was acknowledged after it: nothing is shown of it"
            )
        if count := trip.ledgers.unserved.get(topic, {}).get(life, 0):
            text = f"{count:,} sends to {topic} were refused or timed out after their producer was back"
            yield Finding("invalid", text)


def _logs(trip: RoundTrip, topic: str, cluster: str) -> Iterator[Log]:
    """Every partition at a cluster that holds records of a topic: its own, and copies."""
    names = trip.topics[topic][cluster]
    return (log for tp, log in trip.logs[cluster].items() if tp.topic in names)


def _joined(parts: Sequence[Numbers]) -> Numbers:
    return np.concatenate(parts) if parts else NOTHING


def _all(parts: Iterator[Numbers] | Any) -> Numbers:
    """Each number once."""
    return np.unique(_joined([NOTHING, *parts]))
