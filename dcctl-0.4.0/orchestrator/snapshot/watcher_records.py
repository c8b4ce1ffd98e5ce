"""What one watcher process has recorded, on a time of its own; and how the times of two are compared.

The time of a watcher is its clock plus what that was set back since the watcher began: it never goes
back. Two watchers may run on machines whose clocks differ. What cannot be wrong is the order of their
records in the topic: a round is written within seconds of its end. So where a watcher's last round lies
between two rounds of the watcher that wrote last, its time does as well.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeVar

from orchestrator.ports.clock import CLOCKS_APART_S, LONG_AGO_S
from orchestrator.replication.recreated_topic import Recreation
from orchestrator.snapshot.rates import Reading
from orchestrator.snapshot.sample_blocks import (
    ENDS,
    Block,
    Part,
    at_s,
    begun_at_s,
    confirmed_by,
    ended_at_s,
    insert_ordered,
    is_of_another_topic,
    is_withdrawn,
    missed_as,
    part_of,
    scope_of,
    value_in,
)
from orchestrator.snapshot.sample_codec import (
    ApplicationSample,
    CheckpointCopy,
    GroupPositions,
    Round,
    TopicEnds,
    Word,
)

CLOCKS_DIFFER_S = 10.0
"""More than this between a record's time and its place in the topic is no slow write."""
SET_CLOCKS = "synchronise the clocks of both machines (NTP); a running watcher notices it within seconds"
"""What helps where an age cannot be told, see `age_s`."""
_TRIM_EVERY_S = 60.0
_S = TypeVar("_S", bound=Round | GroupPositions | TopicEnds | CheckpointCopy | ApplicationSample)


class Written(NamedTuple):
    """A round's place in the topic, its end on its watcher's time, and what the clock had been set back."""

    order: int
    ended_at_s: float
    set_back_s: float


class WatcherRecords:
    """The records of one watcher process. All times in them are on its own time, see the module.

    Unless it `keeps_positions`, of each part of a group's positions only the newest is kept.
    """

    def __init__(self, keeps_positions: bool = True) -> None:
        self._keeps_positions = keeps_positions
        self.rounds: list[Round] = []  # that did not fail, by begin
        self.failed: list[Round] = []  # by end
        self.scopes: dict[str, dict[Part, list[Block]]] = {}  # each list by time
        self.words: dict[str, Word] = {}  # by application
        self.set_back_s = 0.0
        self.last_good_order = -1  # of the newest round in the topic that did not fail
        self._newest_order = -1
        self._written: list[Written] = []  # by place
        self._trimmed_at_s = 0.0

    def add(self, sample: Round | Block | Word, order: int) -> None:
        """Take a sample that lies at `order` in the topic."""
        if order > self._newest_order:
            self._newest_order, self.set_back_s = order, sample.set_back_s
        if isinstance(sample, CheckpointCopy | ApplicationSample):
            own: Word = shifted(sample, sample.set_back_s)
            known = self.words.get(own.application)
            if known is None or (known.at_s, known.problem) < (own.at_s, own.problem):
                self.words[own.application] = own
        elif isinstance(sample, Round):
            self._add_round(shifted(sample, sample.set_back_s), order)
        else:
            self._add_block(shifted(sample, sample.set_back_s))

    def _add_round(self, round_: Round, order: int) -> None:
        if round_.outcome == "failed":
            insert_ordered(self.failed, round_, ended_at_s)
        else:
            insert_ordered(self.rounds, round_, begun_at_s)
            self.last_good_order = max(self.last_good_order, order)
        mark = Written(order, round_.ended_at_s, round_.set_back_s)
        index = bisect_left(self._written, mark)
        if self._written[index : index + 1] != [mark]:
            self._written.insert(index, mark)

    def _add_block(self, block: Block) -> None:
        blocks = self.scopes.setdefault(scope_of(block), {}).setdefault(part_of(block), [])
        insert_ordered(blocks, block, at_s)
        if any(is_of_another_topic(other, blocks[-1]) for other in (block, blocks[-2:][0])):
            blocks[:] = [other for other in blocks if not is_of_another_topic(other, blocks[-1])]
        if not self._keeps_positions and isinstance(block, GroupPositions):
            del blocks[:-1]

    @property
    def last_written(self) -> Written:
        """The last round in the topic; of place -1 where there is none."""
        return self._written[-1] if self._written else Written(-1, 0.0, 0.0)

    @property
    def first_written_order(self) -> int:
        """Place of its first round in the topic."""
        return self._written[0].order if self._written else -1

    @property
    def newest_s(self) -> float:
        """The newest moment of which any of the records tells."""
        blocks = [blocks[-1].at_s for parts in self.scopes.values() for blocks in parts.values()]
        return max([self.last_written.ended_at_s, *blocks, *(word.at_s for word in self.words.values())])

    def written_around(self, order: int) -> tuple[Written | None, Written | None]:
        """The last round before that place in the topic, and the first one behind it."""
        index = bisect_left(self._written, order, key=lambda written: written.order)
        before = self._written[index - 1] if index else None
        return before, self._written[index] if index < len(self._written) else None

    def confirmed_at_s(self, block: Block) -> float:
        """The newest moment at which the block was still what the source said."""
        return confirmed_by(self.rounds[-1] if self.rounds else None, block)

    def trim(
        self, keep_s: float, keep_positions_s: float, is_uncoordinated: Callable[[str, Part], bool]
    ) -> None:
        """Forget what is older than that before the newest round, but never the newest of each part.

        That a part is no longer there is forgotten as well, once no other watcher says something of it.
        """
        newest_s = max(self.rounds[-1].begun_at_s if self.rounds else 0.0, self.last_written.ended_at_s)
        if newest_s - self._trimmed_at_s < min(keep_s, _TRIM_EVERY_S):
            return
        self._trimmed_at_s = newest_s
        before_s = newest_s - keep_s
        del self.rounds[: max(0, bisect_left(self.rounds[:-1], before_s, key=begun_at_s))]
        del self.failed[: max(0, bisect_left(self.failed[:-1], before_s, key=ended_at_s))]
        del self._written[: max(0, len(self._written) - len(self.rounds) - len(self.failed))]
        for scope, parts in list(self.scopes.items()):
            limit_s = before_s if scope == ENDS else newest_s - keep_positions_s
            for part, blocks in list(parts.items()):
                # The last one before the limit still tells what held at the limit.
                del blocks[: max(0, bisect_left(blocks[:-1], limit_s, key=at_s) - 1)]
                if blocks[-1].at_s < before_s and is_withdrawn(blocks[-1]) and is_uncoordinated(scope, part):
                    del parts[part]
            if not parts:
                del self.scopes[scope]


class Placed(NamedTuple):
    """A watcher's records, and what to add to their times; None where nobody knows."""

    name: str
    records: WatcherRecords
    offset_s: float | None

    def at(self, time_s: float) -> float:
        """One of its times by the clock of the watcher that wrote last."""
        return LONG_AGO_S if self.offset_s is None else time_s + self.offset_s


def placed(watchers: Mapping[str, WatcherRecords]) -> tuple[Placed, ...]:
    """What to add to each one's times to have them by the clock of the watcher that wrote last.

    If the clock of one that had ended before that began was ahead of it, either of the two was wrong: then
    nobody knows how long ago anything is that had been written before.
    """
    last = max(watchers.values(), key=lambda watcher: watcher.last_written.order, default=None)
    if last is None:
        return ()
    offsets = {name: _offset_s(watcher, last) for name, watcher in watchers.items()}
    began = last.first_written_order
    if None in offsets.values():
        for name, watcher in watchers.items():
            if watcher is not last and watcher.last_written.order < began:
                offsets[name] = None
    return tuple(Placed(name, watcher, offsets[name]) for name, watcher in watchers.items())


def _offset_s(watcher: WatcherRecords, last: WatcherRecords) -> float | None:
    own, (before, behind) = watcher.last_written, last.written_around(watcher.last_written.order)
    if watcher is last or own.order < 0 or behind is None:
        return -watcher.set_back_s
    # Their clocks agreed when one's last round and the other's next one were written, for all that is known.
    by_clocks_s = behind.set_back_s - watcher.set_back_s
    to_now_s = -last.set_back_s
    if own.ended_at_s + by_clocks_s > behind.ended_at_s + CLOCKS_DIFFER_S:
        return None if before is None else before.ended_at_s - own.ended_at_s + to_now_s
    if before is not None and own.ended_at_s + by_clocks_s < before.ended_at_s - CLOCKS_DIFFER_S:
        return before.ended_at_s - own.ended_at_s + to_now_s
    return by_clocks_s + to_now_s


def shifted(sample: _S, by_s: float) -> _S:
    """The sample with every time of its watcher's later by `by_s`."""
    if not by_s:
        return sample
    if isinstance(sample, Round):
        return replace(
            sample,
            begun_at_s=sample.begun_at_s + by_s,
            ended_at_s=sample.ended_at_s + by_s,
            ends_at_s=sample.ends_at_s and (sample.ends_at_s[0] + by_s, sample.ends_at_s[1] + by_s),
            last_good_at_s=_later(sample.last_good_at_s, by_s),
            failing_since_s=_later(sample.failing_since_s, by_s),
            refused_since_s=_later(sample.refused_since_s, by_s),
            full_at_s=_later(sample.full_at_s, by_s),
            missed={subject: _later(at, by_s) for subject, at in sample.missed.items()},
        )
    if isinstance(sample, TopicEnds):
        anew = sample.recreated and Recreation(*(at + by_s for at in sample.recreated))
        return replace(sample, at_s=sample.at_s + by_s, recreated=anew)
    if isinstance(sample, CheckpointCopy | ApplicationSample) and not sample.at_s:
        return sample
    return replace(sample, at_s=sample.at_s + by_s)


def _later(at_s: float | None, by_s: float) -> float | None:
    return None if at_s is None else at_s + by_s


def age_s(now_s: float, at_s: float) -> float | None:
    """How old something is; None where that cannot be told, for the clock that dated it was another one.

    Clocks that differ by at most `CLOCKS_APART_S` are taken for one: an age may be too small by so much.
    """
    if at_s <= LONG_AGO_S or at_s > now_s + CLOCKS_APART_S:
        return None
    return max(0.0, now_s - at_s)


def readings_of(w: Placed, blocks: Sequence[Block], horizon_s: float, partition: int | None) -> list[Reading]:
    """One for each round of the last `horizon_s` before the newest of the blocks that had an answer on them.

    One that came too late for its own round is of the moment at which it was asked for, or of any up to the
    end of the round in which it came: where answers take long no other might ever come.
    """
    since_s = w.records.confirmed_at_s(blocks[-1]) - horizon_s
    rounds, subject, by_s = w.records.rounds, missed_as(blocks[-1]), w.offset_s or 0.0
    readings: list[Reading] = []
    newest_s = float("-inf")
    for round_ in rounds[bisect_left(rounds, since_s, key=begun_at_s) :]:
        asked_s = round_.missed.get(subject, round_.begun_at_s)
        if asked_s is None or asked_s < since_s or asked_s <= newest_s:
            continue
        newest_s = asked_s
        index = bisect_right(blocks, asked_s, key=at_s) - 1
        value = value_in(blocks[index], partition) if index >= 0 else None
        if value is not None:
            is_of_ends = isinstance(blocks[index], TopicEnds) and subject not in round_.missed
            read_s = (round_.ends_at_s if is_of_ends else None) or (asked_s, round_.ended_at_s)
            readings.append(Reading(read_s[0] + by_s, read_s[1] + by_s, value))
    return readings
