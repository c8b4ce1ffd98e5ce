"""Each move of a rehearsal, as its run told it and as records show it: where positions led, what came late,
and what was read again. Pure.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

from orchestrator.evidence.audit.inputs import names_of_groups
from orchestrator.evidence.audit.moves import MoveFigures
from orchestrator.evidence.clients.records import RecordId
from orchestrator.evidence.origins.compared import Logs
from orchestrator.evidence.origins.names import name_at
from orchestrator.evidence.origins.told import Reading, Told
from orchestrator.topology.model import Consumer, Producer, Topology
from orchestrator.topology.standby import standby_of
from orchestrator.values import TopicPartition


class Placed(NamedTuple):
    """One position that a move wrote: where it stood, and where it was led."""

    consumer: str
    left: TopicPartition
    left_offset: int
    entered: TopicPartition
    entered_offset: int
    exact: bool
    age_s: float | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """One move, as its run told it. Times are Unix epoch seconds.

    `home`: the cluster that the file gives those who moved. `number`: which of its moves it was, from 1 on:
    it ended the life of that number of each of them. `mirrored_ends`: of each copy of what was produced at a
    lost source, where it ended. `loss`, `reread`: what the plan had stated, by topic and by consumer.
    """

    verb: str
    run_id: str
    source: str
    target: str
    home: str
    number: int
    outcome: str
    reason: str
    asked_at_s: float
    ended_at_s: float
    positions: tuple[Placed, ...]
    unwritten: tuple[str, ...]
    mirrored_ends: Mapping[TopicPartition, int]
    loss: Mapping[str, Mapping[str, Any]]
    reread: Mapping[str, Mapping[str, Any]]

    @property
    def away(self) -> str:
        """The other one of its two places."""
        return self.target if self.home == self.source else self.source

    @property
    def is_of_a_loss(self) -> bool:
        """Whether the place that it left was lost."""
        return self.verb == "failover"

    def moves(self, topology: Topology, one: Consumer | Producer) -> bool:
        """Whether it takes an application along."""
        return one.cluster == self.home and standby_of(topology, one) == self.away


def moves_of(topology: Topology, results: Sequence[Mapping[str, Any]]) -> tuple[Moved, ...]:
    """Moves from the results of their runs, as `result.json` has them, in their order."""
    found: list[Moved] = []
    for result in results:
        plan = result["plan"]
        home = str(result["target"] if plan["verb"] == "failback" else result["source"])
        rows, called = list(result["translations"]), names_of_groups(topology, home)
        found.append(
            Moved(
                verb=str(plan["verb"]),
                run_id=str(result["run_id"]),
                source=str(result["source"]),
                target=str(result["target"]),
                home=home,
                number=1 + sum(one.home == home for one in found),
                outcome=str(result["outcome"]),
                reason=str(result["reason"]),
                asked_at_s=float(result["asked_at_s"]),
                ended_at_s=float(result["ended_at_s"]),
                positions=tuple(_placed(row, called) for row in rows if _is_placed(row)),
                unwritten=tuple(
                    f"{row['group']} at {row['topic']}-{row['partition']}"
                    for row in rows
                    if row["source_offset"] is not None and row["target_offset"] is None
                ),
                mirrored_ends={
                    TopicPartition(topic, int(number)): end
                    for topic, ends in result["fence_offsets"].get("mirrored", {}).items()
                    for number, end in ends.items()
                },
                loss={
                    topic: {**bounds, **plan["facts"].get("loss_rests_on", {}).get(topic, {})}
                    for topic, bounds in result["predicted"]["loss"].items()
                },
                reread=result["predicted"]["reread"],
            )
        )
    return tuple(found)


def _is_placed(row: Mapping[str, Any]) -> bool:
    return row["source_offset"] is not None and row["target_offset"] is not None


def _placed(row: Mapping[str, Any], called: Mapping[str, str]) -> Placed:
    number = int(row["partition"])
    return Placed(
        consumer=called.get(str(row["group"]), str(row["group"])),
        left=TopicPartition(str(row["topic"]), number),
        left_offset=int(row["source_offset"]),
        entered=TopicPartition(str(row["target_topic"]), number),
        entered_offset=int(row["target_offset"]),
        exact=bool(row["exact"]),
        age_s=row.get("position_age_s"),
        reason=str(row.get("reason") or ""),
    )


class Shift(NamedTuple):
    """What a position has done, compared by content: records passed over, and those that come again."""

    skipped: tuple[RecordId, ...]
    again: tuple[RecordId, ...]


@dataclass(frozen=True, slots=True)
class Records:
    """What the ledgers tell, and what stands where, as moves are compared with it.

    Of a cluster that is lost the logs are what its clients wrote down of them.
    """

    topology: Topology
    told: Told
    logs: Logs

    def log(self, cluster: str, at: TopicPartition) -> Sequence[tuple[int, RecordId]]:
        """The records of a partition with their offsets, in order."""
        if cluster in self.logs:
            return self.logs[cluster].get(at, ())
        found = {
            ack.offset: record
            for record, ack in self.told.acked.items()
            if (*ack.origin, ack.partition) == (cluster, *at)
        }
        for done in self.told.processed.values():
            for record, reading in ((r, one) for r, times in done.items() for one in times):
                if (reading.cluster, reading.topic, reading.partition) == (cluster, *at):
                    found[reading.offset] = record
        return sorted(found.items())

    def late(self, move: Moved) -> frozenset[RecordId]:
        """Acknowledged records of the lost place that stand behind the end that its copies had then."""
        before, behind = set[RecordId](), set[RecordId]()
        for at, end in move.mirrored_ends.items():
            for offset, record in self.log(move.target, at):
                (before if offset < end else behind).add(record)
        return frozenset(record for record in behind - before if self._was_lost(record, move))

    def missing(self, move: Moved) -> frozenset[RecordId]:
        """Acknowledged records of the lost place that never came to the place entered."""
        names = {at.topic for at in move.mirrored_ends}
        there = {
            record
            for at in chain(self.logs.get(move.target, ()))
            if at.topic in names
            for _, record in self.log(move.target, at)
        }
        return frozenset(
            record for record in self.told.acked if record not in there and self._was_lost(record, move)
        )

    def _was_lost(self, record: RecordId, move: Moved) -> bool:
        """Whether it had been acknowledged at the lost place before the move, in a topic that is copied."""
        ack = self.told.acked.get(record)
        if ack is None or ack.origin.cluster != move.source or record.life > move.number:
            return False
        name = name_at(self.topology, ack.origin, move.target)
        return name in {at.topic for at in move.mirrored_ends}

    def shift(self, move: Moved, placed: Placed) -> Shift:
        """Where a position led: what is before it at the one place, and is not at the other."""
        left = self.log(move.source, placed.left)
        before = {record for _, record in left[: bisect_left(left, (placed.left_offset,))]}
        behind = {record for _, record in left} - before
        entered = self.log(move.target, placed.entered)
        cut = bisect_left(entered, (placed.entered_offset,))
        passed, ahead = ({record for _, record in part} for part in (entered[:cut], entered[cut:]))
        return Shift(tuple(sorted((passed - ahead) & behind)), tuple(sorted(ahead & before)))


@dataclass(frozen=True, slots=True)
class Again:
    """Records that one consumer processed again because of one move. `late`: they had arrived late."""

    consumer: str
    again: tuple[RecordId, ...]
    late: tuple[RecordId, ...]


def read_again(told: Told, move: Moved, consumer: str, late: Collection[RecordId]) -> Again:
    """What it had processed before a move, and processed in the life that the move began."""
    found = [
        record
        for record, times in told.processed.get(consumer, {}).items()
        if _again_in(times, move.number + 1)
    ]
    return Again(
        consumer,
        tuple(record for record in found if record not in late),
        tuple(record for record in found if record in late),
    )


def _again_in(times: Sequence[Reading], life: int) -> bool:
    lives = {one.life for one in times}
    return life in lives and min(lives) < life


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveFound:
    """One move, with all that records show of it.

    `shifts`: of each position. `again`: of each consumer that it took along. `late`: see `Records.late`;
    `missing`: what never arrived.
    """

    move: Moved
    shifts: tuple[tuple[Placed, Shift], ...]
    again: tuple[Again, ...]
    late: frozenset[RecordId]
    missing: frozenset[RecordId]

    @property
    def wrong(self) -> Iterator[tuple[Placed, Shift]]:
        """Positions that passed something over, or that were called exact and were not. What arrived late
        comes again wherever a position is.
        """
        for placed, shift in self.shifts:
            if shift.skipped or (placed.exact and set(shift.again) - self.late):
                yield placed, shift

    def at_most(self, consumer: str) -> int | None:
        """What the plan had said that a consumer would read again at most."""
        stated: int | None = self.move.reread.get(consumer, {}).get("at_most")
        return stated

    def figures(self, producers_s: float | None, consumers_s: float | None) -> MoveFigures:
        """One of `moves` of a report, with the longest pauses of those that it took along."""
        move, wrong = self.move, list(self.wrong)
        stated = [self.at_most(one.consumer) for one in self.again]
        known = [one for one in stated if one is not None]
        return MoveFigures(
            verb=move.verb,
            run_id=move.run_id,
            source=move.source,
            target=move.target,
            outcome=move.outcome,
            seconds=round(move.ended_at_s - move.asked_at_s, 3),
            pause_s=producers_s,
            consumer_pause_s=consumers_s,
            late=len(self.late),
            positions=len(move.positions),
            exact=sum(placed.exact for placed in move.positions),
            wrong=len(wrong),
            skipped=sum(len(shift.skipped) for _, shift in wrong),
            read_again=sum(len(one.again) for one in self.again),
            read_again_at_most=sum(known) if len(known) == len(stated) else None,
            read_again_late=sum(len(one.late) for one in self.again),
        )


def found_of(records: Records, moves: Sequence[Moved]) -> tuple[MoveFound, ...]:
    """Each move with what records show of it."""
    late = {move.run_id: records.late(move) for move in moves if move.is_of_a_loss}
    every = frozenset(chain.from_iterable(late.values()))
    topology, none = records.topology, frozenset[RecordId]()
    return tuple(
        MoveFound(
            move=move,
            shifts=tuple((placed, records.shift(move, placed)) for placed in move.positions),
            again=tuple(
                read_again(records.told, move, consumer.name, every)
                for consumer in topology.consumers
                if move.moves(topology, consumer) and consumer.name not in records.told.unreadable
            ),
            late=late.get(move.run_id, none),
            missing=records.missing(move) if move.is_of_a_loss else none,
        )
        for move in moves
    )


class Cost(NamedTuple):
    """Why records of one partition were processed again after a move, by cause, and how many were processed
    and never arrived. Records.
    """

    map: int
    position_age: int
    uncommitted: int
    processed_but_lost: int


def position_cost(told: Told, found: MoveFound, placed: Placed, shift: Shift) -> Cost:
    """Of one position, by the consumer's own ledgers: what lies before it and comes again is the map's doing;
    what was processed behind it had been committed since it was recorded, or had not been committed at all.
    """
    life = found.move.number
    done: list[tuple[int, RecordId]] = []
    for record, times in told.processed.get(placed.consumer, {}).items():
        if _again_in(times, life + 1):
            done += [
                (one.offset, record)
                for one in times
                if one.life == life and (one.topic, one.partition) == placed.left
            ]
    committed = max(
        (
            note.offset or 0
            for note in told.notes.get(placed.consumer, ())
            if (note.life, note.event, note.at) == (life, "commit", placed.left)
        ),
        default=0,
    )
    behind = [(offset, record) for offset, record in done if offset >= placed.left_offset]
    lost = [
        record
        for record, times in told.processed.get(placed.consumer, {}).items()
        if record in found.missing
        and any((one.topic, one.partition) == placed.left for one in times if one.life == life)
    ]
    return Cost(
        map=len(set(shift.again) - found.late),
        position_age=sum(offset < committed for offset, _ in behind),
        uncommitted=sum(offset >= committed for offset, _ in behind),
        processed_but_lost=len(lost),
    )
