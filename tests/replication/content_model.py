"""A mirror of a partition with gaps, simulated record by record, with what its records hold.

Source and target may be compacted, the source's retention may be ahead of the mirror, the target's log may lose
its beginning or its end or be made anew, the mirror restarts and copies records again, from what it has stored
or, where that is lost, from the earliest, syncs go missing, and positions are sampled in between, each with its fingerprint as a
watcher would read it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import strategies as st

from orchestrator.replication.content import (
    Fingerprint,
    ReadStretch,
    checked,
    fingerprint_of,
    stretch_to_read,
)
from orchestrator.replication.offset_map import OffsetMap, Translated
from orchestrator.values import Content, ReadContent
from tests.replication.mirror_model import PARTITION, build

_TIME_MS = 1_000


@dataclass
class World:
    """`source`: offset -> what its record holds. `slots`: target offset -> source offset, epoch; `written`:
    target offset -> source offset, whatever has become of the copy since.

    `passed`: the first source offset that the mirror has not come to. `start`: where the source's log begins.
    `copy_id`: which copy this is, and `seen`: of those that a watcher has seen, from which source offset on
    records were surely written since. `is_overtaken`: retention took what the mirror was copying again;
    `lost_unseen`: the target has lost what the newest sync tells of, and of a mirror that runs nobody sees it.
    """

    source: dict[int, tuple[int, int]] = field(default_factory=dict)
    end: int = 0
    is_compacted: bool = False
    is_timed: bool = True
    slots: dict[int, tuple[int, int]] = field(default_factory=dict)
    written: dict[int, int] = field(default_factory=dict)
    target_end: int = 0
    epoch: int = 0
    held: dict[int, tuple[int, int]] = field(default_factory=dict)
    syncs: list[tuple[int, int]] = field(default_factory=list)
    at: int = 0
    stored: int = -1
    passed: int = 0
    sampled: list[Fingerprint] = field(default_factory=list)
    is_first: bool = True
    start: int = 0
    copy_id: int = 0
    seen: dict[int, int] = field(default_factory=dict)
    is_overtaken: bool = False
    lost_unseen: bool = False

    def content(self, held: tuple[int, int]) -> Content:
        key, value = held
        return Content.of(b"%d" % key, b"%d" % value, (), _TIME_MS if self.is_timed else None)

    def append(self, key: int, value: int, gap: int) -> None:
        self.end += gap
        self.source[self.end] = self.held[self.end] = (key, value)
        self.end += 1

    def copy(self, *, keeps_sync: bool, stores: bool) -> None:
        """The mirror copies its next record, if there is one."""
        offset = min((u for u in self.source if u >= self.at), default=None)
        if offset is None:
            return
        self.is_overtaken |= self.at < min(self.start, self.passed)
        self.slots[self.target_end] = offset, self.epoch
        self.written[self.target_end] = offset
        if self.is_first or keeps_sync:
            self.syncs.append((offset, self.target_end))
            self.lost_unseen = False
        self.is_first = False
        self.target_end += 1
        self.at = offset + 1
        self.passed = max(self.passed, self.at)
        if stores:
            self.stored = offset

    def restart(self, *, loses_sync: bool, from_earliest: bool = False) -> None:
        self.is_overtaken |= self.at < min(self.start, self.passed)
        self.stored = -1 if from_earliest else self.stored
        self.at = max(self.start, self.stored + 1)
        self.is_first = not loses_sync

    def retain(self, count: int) -> None:
        """The source loses its first records, copied or not."""
        for u in sorted(self.source)[:count]:
            del self.source[u]
            self.start = u + 1

    def remake(self, *, loses_sync: bool) -> None:
        """The copy is deleted and made anew, and the mirror goes on where it was."""
        self.slots, self.target_end, self.is_first = {}, 0, not loses_sync
        self.written = {}
        self.copy_id += 1
        self._note_loss()

    def _note_loss(self) -> None:
        self.lost_unseen |= bool(self.syncs) and self.target_end <= self.syncs[-1][1]

    def see_copy(self) -> None:
        self.seen.setdefault(self.copy_id, self.end)

    def compact(self) -> None:
        """Of each key only the last record stays at the source; what was sampled before is not used."""
        last = {key: u for u, (key, _) in sorted(self.source.items())}
        self.source = {u: held for u, held in self.source.items() if last[held[0]] == u}
        if not self.is_compacted:
            self.sampled.clear()
        self.is_compacted = True

    def compact_target(self) -> None:
        last = {self.held[u][0]: d for d, (u, _) in sorted(self.slots.items())}
        self.slots = {d: slot for d, slot in self.slots.items() if last[self.held[slot[0]][0]] == d}

    def delete_first(self, count: int) -> None:
        for d in sorted(self.slots)[:count]:
            del self.slots[d]

    def cut(self, count: int) -> None:
        """The target loses its last records, and the mirror, which knows nothing of it, goes on."""
        self.target_end = max(0, self.target_end - count)
        self.slots = {d: slot for d, slot in self.slots.items() if d < self.target_end}
        self.written = {d: u for d, u in self.written.items() if d < self.target_end}
        self.epoch += 1
        self._note_loss()

    def sample(self, position: int, reach: int) -> None:
        if position <= self.start:
            return
        found = fingerprint_of(
            position,
            [
                ReadContent(PARTITION, u, 0, self.content(held))
                for u, held in self.source.items()
                if u >= position - reach
            ],
            is_compacted=self.is_compacted,
        )
        if found is not None and (not self.is_compacted or found.offset < self.passed):
            self.sampled.append(found._replace(is_copied=found.offset < self.passed))

    def sample_all(self) -> None:
        for position in range(self.end + 1):
            self.sample(position, 8)

    def map(self, *, is_closed: bool) -> OffsetMap:
        end = (self.stored, self.target_end) if is_closed else None
        return build(self.syncs, end, gaps="may")

    def place(self, offset_map: OffsetMap, by_map: Translated, wanted: Fingerprint) -> Translated:
        """As the product finds it: what the map leaves open is read, and searched."""
        stretch = offset_map.open_stretch(PARTITION, wanted.position)
        if stretch is None or not wanted.has_a_copy(self.start):
            return by_map
        since = self.seen.get(self.copy_id)
        if not stretch.is_uncut and (since is None or wanted.offset < since):
            return by_map
        span = stretch_to_read(stretch, self.target_end, is_before=wanted.is_before)
        records = self.copies(span)
        return checked(
            by_map,
            wanted,
            ReadStretch(span.start, span.stop, records, wanted.offset <= stretch.passed, stretch.is_uncut),
        )

    def copies(self, span: range) -> list[ReadContent]:
        """What a reader gets of the target's log: all in a range, and the first behind it."""
        there = [d for d in sorted(self.slots) if d >= span.start]
        inside = sum(d < span.stop for d in there)
        return [
            ReadContent(PARTITION, d, self.slots[d][1], self.content(self.held[self.slots[d][0]]))
            for d in there[: inside + 1]
        ]

    @property
    def repeats_unseen(self) -> bool:
        """Whether the mirror copies again behind its newest sync what it had copied before that."""
        upstream, downstream = self.syncs[-1] if self.syncs else (-1, -1)
        return any(u <= upstream for d, (u, _) in self.slots.items() if d > downstream)

    @property
    def repeats_at_oldest(self) -> bool:
        """Whether the oldest sync lies where the mirror copied again, which the map takes not to happen."""
        upstream, downstream = self.syncs[0] if self.syncs else (0, 0)
        return any(u >= upstream for d, u in self.written.items() if d < downstream)

    def present(self, start: int) -> set[int]:
        """Source offsets of the records that a reader finds at the target from an offset on."""
        return {u for d, (u, _) in self.slots.items() if d >= start}


def worlds() -> st.SearchStrategy[World]:
    """Worlds of some dozen records."""
    return st.binary(min_size=260, max_size=260).map(world_of)


def world_of(data: bytes) -> World:  # noqa: C901 - one small event each
    """The world that a sequence of decisions leads to."""
    bytes_left = iter(data)

    def choose(limit: int) -> int:
        return next(bytes_left, 0) % limit

    world = World(is_timed=bool(choose(2)))
    keys, values = (1, 2, 5)[choose(3)], (1, 3, 60)[choose(3)]
    kept, gaps, rough = (2, 4, 9)[choose(3)], (1, 2, 5)[choose(3)], choose(6)

    def append() -> None:
        for _ in range(1 + choose(4)):
            world.append(choose(keys), choose(values), choose(gaps) if not choose(3) else 0)

    def copy() -> None:
        for _ in range(1 + choose(5)):
            world.copy(keeps_sync=not choose(kept), stores=not choose(3))

    def harm() -> None:
        """What logs suffer: little, or in rough worlds anything."""
        harms = (world.compact, world.compact_target, lambda: world.delete_first(choose(5)))
        if rough == 1:
            world.cut(0)
        elif rough == 2:
            harms[choose(3)]()
        elif rough == 3:
            world.cut(choose(5))
        elif rough == 4:
            world.sample_all()
            world.retain(choose(12))
        elif rough == 5:
            world.remake(loses_sync=bool(choose(2)))

    events = (
        *[append] * 5,
        *[copy] * 6,
        *[lambda: world.sample(choose(world.end + 1), 1 + 7 * choose(2))] * 2,
        world.see_copy,
        # Not both: a log that was cut, and records copied again, can look like neither (`partition_map.py`).
        append
        if rough in {3, 5}
        else lambda: world.restart(loses_sync=bool(choose(2)), from_earliest=rough == 4 and not choose(2)),
        *[harm] * 2,
    )
    for _ in range(24 + choose(20)):
        events[choose(len(events))]()
    world.sample_all()
    return world
