"""Which part of a canary's ledgers one run is judged by. Pure: lines in, lines out.

A canary works for months, and logs forget: the part begins some time before the fault, at a number from
which on everything is known, and ends where the logs ended when it was looked at.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from orchestrator.evidence.audit.ledgers import END_MARK
from orchestrator.evidence.audit.sends import FENCING_MS
from orchestrator.values import TopicPartition

_SEND_FIELDS, _PROCESSED_FIELDS, _POSITION_FIELDS = 11, 8, 7
# Kafka looks records up by whole milliseconds; what was sent in the same one or beside it is not a cut.
_APART_MS = 2


class Beginning(NamedTuple):
    """The first number of a producer that is looked at, and when it was sent (Unix epoch milliseconds)."""

    sequence: int
    sent_ms: int


def beginning(sends: Iterable[str], from_ms: int) -> Beginning | None:
    """The first new number sent at `from_ms` or later, acknowledged as its predecessor is, and sent after it.

    Every later record then bears a later time, and can be found in the log by it. `sends` are the lines of
    the life before the move. None where there is no such number.
    """
    known_from: int | None = None
    before: tuple[int, int] | None = None
    for fields in _whole(sends, _SEND_FIELDS):
        if fields[0] == "intent" and fields[8] != "1" and known_from is None:
            known_from = int(fields[1])
        if fields[0] != "ack" or fields[8] == "1":
            continue
        sequence, sent_ms = int(fields[1]), int(fields[6])
        follows = before is not None and before[0] == sequence - 1 and before[1] <= sent_ms - _APART_MS
        if follows and sent_ms >= from_ms and known_from is not None and known_from <= sequence:
            return Beginning(sequence, sent_ms)
        before = (sequence, sent_ms)
    return None


def sends_before(sends: Iterable[str], first: int) -> Iterator[str]:
    """Lines of the life before the move, from number `first` on; what was announced at once is cut there."""
    for fields in _whole(sends, _SEND_FIELDS):
        if fields[0] in ("intent", "unsent"):
            begin, until = int(fields[1]), int(fields[2])
            if until > first:
                yield ",".join([fields[0], str(max(begin, first)), *fields[2:]])
        elif fields[0] in ("start", "stop", "clock") or int(fields[1]) >= first:
            yield ",".join(fields)


def sends_after(
    sends: Iterable[str], ends: Mapping[TopicPartition, int], *, was_left: bool = False
) -> Iterator[str]:
    """Lines of the life after the move, without the numbers that were acknowledged behind the log's `ends`.

    They are neither announced nor acknowledged then: the work went on, and is not looked at. `was_left`: a
    later move has ended this life; what its fence refused says nothing of this one.
    """
    lines = list(_whole(sends, _SEND_FIELDS))
    if was_left:
        fenced_ms = max((int(f[7]) for f in lines if f[0] == "ack"), default=0) - FENCING_MS
        lines = [f for f in lines if f[0] not in ("failed", "timeout") or int(f[7]) < fenced_ms]
    later = {int(f[1]) for f in lines if f[0] == "ack" and _is_behind(f[3], f[4], f[5], ends)}
    for fields in lines:
        if fields[0] in ("intent", "unsent"):
            for first, until in _without(int(fields[1]), int(fields[2]), later):
                yield ",".join([fields[0], str(first), str(until), *fields[3:]])
        elif fields[0] != "ack" or int(fields[1]) not in later:
            yield ",".join(fields)


def _without(first: int, until: int, left_out: Collection[int]) -> Iterator[tuple[int, int]]:
    """The range `[first, until)` as ranges without some numbers."""
    begin = first
    for number in range(first, until):
        if number in left_out:
            if begin < number:
                yield begin, number
            begin = number + 1
    if begin < until:
        yield begin, until


def processed_within(
    lines: Iterable[str],
    first: Mapping[str, int],
    ends: Mapping[TopicPartition, int],
    fenced: Mapping[TopicPartition, int],
) -> Iterator[str]:
    """Processed records that are looked at: from their producer's number in `first` on, before the `ends`.

    Partitions in `fenced` are looked at from that offset on, whatever number a record has: among what was
    written after the move are older ones that their producer owed. What was there before is not looked at.
    """
    for fields in _whole(lines, _PROCESSED_FIELDS):
        place = TopicPartition(fields[0], int(fields[1]))
        offset, end = int(fields[2]), ends.get(place)
        if end is not None and offset >= end:
            continue
        begin = fenced.get(place)
        is_looked_at = int(fields[4]) >= first.get(fields[3], 0) if begin is None else offset >= begin
        if is_looked_at:
            yield ",".join(fields)


def reached(positions: Iterable[str]) -> dict[TopicPartition, int]:
    """How far a consumer is, by its positions ledger: the newest commit, or where it was assigned."""
    found: dict[TopicPartition, int] = {}
    for fields in _whole(positions, _POSITION_FIELDS):
        if fields[0] in ("assigned", "commit") and fields[3]:
            found[TopicPartition(fields[1], int(fields[2]))] = int(fields[3])
    return found


def first_given(positions: Iterable[str]) -> dict[TopicPartition, int | None] | None:
    """The position that a consumer found in each partition at the begin of its life; None: it found none.

    None in place of all of them where the ledger does not go back so far.
    """
    found: dict[TopicPartition, int | None] = {}
    is_whole = False
    for number, fields in enumerate(_whole(positions, _POSITION_FIELDS)):
        if number == 0:
            is_whole = fields[0] == "start"
        if fields[0] == "assigned":
            found.setdefault(TopicPartition(fields[1], int(fields[2])), int(fields[3]) if fields[3] else None)
    return found if is_whole else None


def begun_ms(sends: Iterable[str]) -> int | None:
    """When a producer's life began, as far back as its ledger goes. Unix epoch milliseconds."""
    return next((int(f[7]) for f in _whole(sends, _SEND_FIELDS) if f[7].isdigit()), None)


def reading_begun_ms(positions: Iterable[str]) -> int | None:
    """When a consumer's life began, as far back as its ledger goes. Unix epoch milliseconds."""
    return next((int(f[4]) for f in _whole(positions, _POSITION_FIELDS) if f[4].isdigit()), None)


def _is_behind(topic: str, partition: str, offset: str, ends: Mapping[TopicPartition, int]) -> bool:
    end = ends.get(TopicPartition(topic, int(partition)))
    return end is not None and int(offset) >= end


def _whole(lines: Iterable[str], fields: int) -> Iterator[list[str]]:
    for line in lines:
        found = line.rstrip("\n").split(",")
        if len(found) == fields and found[-1] == END_MARK:
            yield found
