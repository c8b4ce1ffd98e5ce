"""The offset map of one source partition: which target offset stands for which source offset.

What is asked: a group has committed U, the next source offset that it would read. The answer is a target
offset from which on *every* mirrored record at or above U can be read (never a skip). It is *exact* if no
record below U can be read from there on either.

What is known: runs (see `runs.py`) in the order of the target's log, and the number of slots between them.
Rules:

- U inside a run: the slot of its record.
- U behind a run: the slot after the run. Exact if the next run starts in that very slot.
- U before the oldest run: none. (That run reaches back to the beginning of both logs if the first sync has
  the same offset on both sides.)
- A run that starts at or below where an earlier one ended is a *replay*: a restarted task copied records
  again. From its start on the later copies count, because after them everything follows completely.
- That last reason fails while a replay has not caught up with where the mirror had been before. Then the
  records between stand only *before* the replay, and whoever starts in it would skip them. So no run is
  used that might lie in such a replay. As any sync can be missing, a gap may hide one: the mirror may have
  been further ahead by as many records as the gap has slots. It has caught up for certain when that
  many records have been seen behind the gap.
- In the same way a gap further on may hide the start of a replay, which repeats as many records as it
  has slots at most. A position so close before it is not called exact.

Two things are taken for granted, because no pair of offsets could tell: between syncs with ΔU = ΔD > 0 a
missing source offset and an additional target offset do not cancel out (the mirror's producer is idempotent
and alone); and the oldest sync is not itself part of a replay that never caught up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from orchestrator.replication.formats import Offsets
from orchestrator.replication.runs import (
    RecordCount,
    Runs,
    blocks_from_the_end,
    counting_runs,
    shortened,
)

_UNLIMITED = 1 << 62


class Translated(NamedTuple):
    """A translated offset.

    `offset` is None where there is no translation. `reread_at_most` is an upper bound of the records
    that are read again because of the translation: 0 where it is exact, None where it is not known.
    """

    offset: int | None
    is_exact: bool
    reread_at_most: int | None
    reason: str


class MirrorEnd(NamedTuple):
    """Where a stopped mirror stands: the last source offset read (-1: none), the target's log end."""

    last_upstream: int
    target_end: int


class Closing(NamedTuple):
    """What is known behind the last run.

    `open`: the mirror may go on. `exact`: nothing stands behind it. `loose`: `slots` unknown target
    offsets stand behind it. `cut`: the target's log ends before the newest syncs.
    """

    kind: Literal["open", "exact", "loose", "cut"]
    last_upstream: int
    slots: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class PartitionMap:
    """Source offsets to target offsets, for one partition.

    `runs` are those that count, by rising offsets on both sides. A position in run i is exact as long as
    it is at most `clear[i]` records behind the run's start. `slots_behind` are known target offsets behind
    the last of these runs (None: open). `is_settled` says that no replay may be unfinished.
    """

    runs: Runs
    clear: Offsets
    closing: Closing
    slots_behind: int | None
    is_settled: bool
    mirrored_end: int

    def translate(self, upstream: int) -> Translated:
        """Where to read at the target when `upstream` is the next offset to read at the source."""
        runs = self.runs
        at = int(runs.upstream.searchsorted(upstream, side="right")) - 1
        if at < 0:
            oldest = int(runs.upstream[0])
            return Translated(None, False, None, f"below the oldest offset sync, at source offset {oldest}")
        length = int(runs.length[at])
        within = upstream - int(runs.upstream[at])
        offset = int(runs.downstream[at]) + min(within, length)
        if within < length:
            if within <= int(self.clear[at]):
                return Translated(offset, True, 0, "between offset syncs without a gap")
            reason = "between offset syncs, but a restart of the mirror may have copied records again"
            return Translated(offset, False, self._reread(at, within), reason)
        if at + 1 == len(runs):
            return self._behind(upstream, offset, within - length)
        if offset == int(runs.downstream[at + 1]) and int(self.clear[at + 1]) >= 0:
            return Translated(offset, True, 0, "in a gap of the source, next to an offset sync")
        reason = "between offset syncs with a gap: from the lower one on"
        return Translated(offset, False, self._reread(at, length), reason)

    def translate_many(self, upstream: Offsets) -> tuple[Offsets, npt.NDArray[np.bool_]]:
        """Target offset (-1 for none) and exactness for each source offset, as `translate` tells them."""
        # In rising order neighbours are looked up near each other: several times faster in a large map.
        order = np.argsort(upstream)
        offsets, exact = self._translate_rising(upstream[order])
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        return offsets[back], exact[back]

    def _translate_rising(self, upstream: Offsets) -> tuple[Offsets, npt.NDArray[np.bool_]]:
        runs = self.runs
        found = runs.upstream.searchsorted(upstream, side="right") - 1
        at = np.maximum(found, 0)
        length = runs.length[at]
        within = upstream - runs.upstream[at]
        offsets = runs.downstream[at] + np.minimum(within, length)
        last = len(runs) - 1
        following = np.minimum(at + 1, last)
        exact = np.where(
            within < length,
            within <= self.clear[at],
            (offsets == runs.downstream[following]) & (self.clear[following] >= 0) & (at < last),
        )
        behind = (at == last) & (within >= length)
        exact[behind] = self._is_exact_behind(within[behind] - length[behind])
        below = found < 0
        offsets[below] = -1
        exact[below] = False
        return offsets, exact

    def _behind(self, upstream: int, offset: int, beyond: int) -> Translated:
        is_exact = bool(self._is_exact_behind(np.array([beyond]))[0])
        if not self.is_settled:
            reason = "the mirror may have stopped while it copied records again: from before that on"
            unseen = max(0, upstream - self.mirrored_end) if self.closing.kind == "open" else 0
            return Translated(offset, False, (self.slots_behind or 0) + unseen, reason)
        match self.closing.kind:
            case "open":
                reason = (
                    "right behind the newest offset sync" if is_exact else "beyond the newest offset sync"
                )
                return Translated(offset, is_exact, beyond, reason)
            case "exact":
                lost = upstream - self.mirrored_end
                reason = (
                    f"beyond the last mirrored record: {lost} processed records never arrived"
                    if lost > 0
                    else "at the end of what was mirrored"
                )
                return Translated(offset, True, 0, reason)
            case "loose":
                reason = "beyond the newest offset sync, and the end of the log does not fit to it"
                return Translated(offset, False, self.closing.slots, reason)
            case "cut":
                return Translated(offset, False, None, "the target's log ends before the newest offset sync")

    def _is_exact_behind(self, beyond: Offsets) -> npt.NDArray[np.bool_]:
        """For positions that many records behind the end of the last run."""
        if not self.is_settled or self.closing.kind in {"loose", "cut"}:
            return np.zeros(len(beyond), dtype=bool)
        exact: npt.NDArray[np.bool_] = (beyond == 0) | (self.closing.kind == "exact")
        return exact

    def _reread(self, at: int, within: int) -> int | None:
        """Slots of all gaps, from run `at` on, in which a record below the position may stand."""
        runs, last = self.runs, len(self.runs) - 1
        start, records, window = at, 0, 16
        while start < last:
            stop = min(start + window, last)
            passed = records + runs.length[start:stop].cumsum()
            clear = np.flatnonzero(within - passed <= self.clear[start + 1 : stop + 1])
            if len(clear):
                run = int(clear[0])
                between = int(runs.downstream[start + run + 1] - runs.downstream[at])
                return between - int(passed[run])
            start, records, window = stop, int(passed[-1]), window * 4
        if self.slots_behind is None:
            return None
        return int(runs.downstream[last] - runs.downstream[at]) - records + self.slots_behind


def build_partition_map(log: Runs, end: MirrorEnd | None) -> tuple[PartitionMap | None, Runs]:
    """The map from runs in log order, and those runs with the stopped mirror's end put in.

    The map is None if nothing is known of the partition.
    """
    log, closing = _closed(log, end)
    if not len(log):
        return None, log
    usable = _settled_runs(log)
    runs, widest_gap = counting_runs(log[:usable])
    tail_limit, slots_behind = _tail(log, usable, closing)
    is_settled = usable == len(log)
    mirrored = int(log.last_upstream.max() if not log.is_rising else log.upstream[-1] + log.length[-1] - 1)
    return (
        PartitionMap(
            runs=runs,
            clear=_clear(runs, widest_gap, tail_limit),
            closing=closing,
            slots_behind=slots_behind,
            is_settled=is_settled,
            mirrored_end=max(mirrored, closing.last_upstream if closing.kind != "cut" else -1) + 1,
        ),
        log,
    )


def _closed(log: Runs, end: MirrorEnd | None) -> tuple[Runs, Closing]:
    """The runs within the target's log, prolonged to the end that Connect's offset confirms."""
    if end is None or not len(log):
        return log, Closing("open", -1)
    slots = end.target_end - int(log.downstream[-1] + log.length[-1])
    ahead = end.last_upstream - int(log.upstream[-1] + log.length[-1]) + 1
    if slots < 0:
        return shortened(log, end.target_end - log.downstream), Closing("cut", -1)
    if slots == 0:
        return log, Closing("exact", end.last_upstream)
    if slots == ahead:
        length = log.length.copy()
        length[-1] += slots
        return Runs(log.upstream, log.downstream, length), Closing("exact", end.last_upstream)
    return log, Closing("loose", end.last_upstream, slots)


def _settled_runs(log: Runs) -> int:
    """How many runs, from the first, surely do not lie in a replay that has not caught up.

    Whatever follows the run with the highest source offset repeats, and has not caught up.
    A gap with more slots than records are known behind it leaves open how far the mirror had been.
    """
    if log.is_rising:
        return _settled_rising_runs(log)
    last = log.last_upstream
    usable = len(log) - int(last[::-1].argmax())
    count = RecordCount(counting_runs(log[:usable])[0])
    for block in blocks_from_the_end(usable - 1):
        slots = log[block.start : block.stop + 1].slots_between
        unsettled = np.flatnonzero(slots > count.above(last[block]))
        if len(unsettled):
            usable = block.start + int(unsettled[0]) + 1
    return usable


def _settled_rising_runs(log: Runs) -> int:
    usable, records = len(log), 0
    for block in blocks_from_the_end(len(log) - 1):
        length = log.length[block.start + 1 : block.stop + 1]
        behind = length[::-1].cumsum()[::-1] + records
        slots = log[block.start : block.stop + 1].slots_between
        unsettled = np.flatnonzero(slots > behind)
        if len(unsettled):
            usable = block.start + int(unsettled[0]) + 1
        records = int(behind[0])
    return usable


def _tail(log: Runs, usable: int, closing: Closing) -> tuple[int, int | None]:
    """How far the last usable run is clear of what follows it, and the slots that follow it."""
    start, length = int(log.upstream[usable - 1]), int(log.length[usable - 1])
    end = int(log.downstream[usable - 1]) + length
    limit, slots_behind = _UNLIMITED, int(log.downstream[-1] + log.length[-1]) - end
    lowest = start + length
    if usable < len(log):
        lowest = min(lowest, int(log.upstream[usable:].min()))
        limit = lowest - start - int(log[usable - 1 :].slots_between.max())
    if closing.kind == "loose":
        # A pass that ends at Connect's offset and fills these slots began that many records before it.
        lowest = min(lowest, closing.last_upstream + 1)
        limit = min(limit, lowest - start - closing.slots)
    is_open = closing.kind == "open" and usable == len(log)
    return limit, None if is_open else slots_behind + closing.slots


def _clear(runs: Runs, widest_gap: Offsets | None, tail_limit: int) -> Offsets:
    """For each run how many records behind its start are surely not copied again further on.

    `clear[i] = length[i] + min(-widest_gap[i], clear[i + 1])`, solved block by block from the end.
    """
    clear = np.empty(len(runs), np.int64)
    clear[-1] = tail_limit
    for block in blocks_from_the_end(len(runs) - 1):
        gap = runs[block.start : block.stop + 1].slots_between if widest_gap is None else widest_gap[block]
        behind = runs.length[block].cumsum()
        limit = behind - gap
        limit[-1] = min(int(limit[-1]), int(behind[-1]) + int(clear[block.stop]))
        limit = np.minimum.accumulate(limit[::-1])[::-1]
        limit -= behind - runs.length[block]
        clear[block] = limit
    return clear
