"""Two clusters, both mirrors and one group, record by record: the truth for positions over many moves.

One partition: `orders` at west (its copy at east is `west.orders`), and `orders` at east (its copy at west
is `east.orders`). Every record has an id of its own; `seen` are those that the group has processed.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from orchestrator.replication.offset_map import OffsetMap, Translated
from orchestrator.replication.positions_back import (
    BackPosition,
    BothMaps,
    landing_position,
    positions_back,
    reverse_mirror,
)
from orchestrator.replication.truncations import Truncation
from orchestrator.topology.model import Consumer, Replication
from orchestrator.values import LogEnd, TopicPartition
from tests.replication.mirror_model import build

OWN = TopicPartition("orders", 0)
MIRROR = Replication(source="west", target="east", topics=("orders",))
BACK = reverse_mirror(MIRROR)
GROUP = Consumer(name="billing", cluster="west", kind="group", topics=("orders",))
Log = list[int | None]


@dataclass
class Mirror:
    """One direction; the copy may hold slots without a record. `next` is the next source offset to copy; `syncs` are those that were kept."""

    source: Log
    copy: Log
    next: int = 0
    start: int = 0
    syncs: list[tuple[int, int]] = field(default_factory=list)
    marker_every: int = 0

    def run(self, records: int, keeps: list[bool]) -> None:
        """Copy that many offsets; of the pairs those are kept that `keeps` says, in turn."""
        for number, offset in enumerate(range(self.next, min(self.next + records, len(self.source)))):
            if self.source[offset] is not None:
                if keeps[number % len(keeps)]:
                    self.syncs.append((offset, len(self.copy)))
                self.copy.append(self.source[offset])
                if self.marker_every and offset % self.marker_every == 0:
                    self.copy.append(None)
            self.next = offset + 1

    def replay(self, records: int) -> None:
        """A restart that lost the newest positions."""
        self.next = max(self.start, self.next - records)

    def map(self) -> OffsetMap:
        """The map of the stopped mirror."""
        return build(self.syncs, (self.next - 1, len(self.copy)), OWN)


@dataclass
class Estate:
    """`west` and `east` hold the topics of producers; `at` is where the group works, with its positions."""

    west: Log = field(default_factory=list)
    east: Log = field(default_factory=list)
    west_at_east: Log = field(default_factory=list)
    east_at_west: Log = field(default_factory=list)
    ids: int = 0
    seen: set[int] = field(default_factory=set)
    gone: set[int] = field(default_factory=set)
    truncations: list[Truncation] = field(default_factory=list)
    read_own: int = 0
    read_copy: int = 0
    read_again: int = 0
    is_home: bool = True
    marker_every: int = 0

    def __post_init__(self) -> None:
        self.forward = Mirror(self.west, self.west_at_east, marker_every=self.marker_every)
        self.reverse: Mirror | None = None

    def write(self, log: Log, records: int, gap: int = 0) -> None:
        """New records, with offsets that hold none before them."""
        log += [None] * (gap if records else 0)
        log += range(self.ids, self.ids + records)
        self.ids += records

    def read(self, own: int, copy: int) -> None:
        """The group processes that many offsets of each topic that it reads, and commits."""
        mine, other = (self.west, self.east_at_west) if self.is_home else (self.east, self.west_at_east)
        for log, start, count in ((mine, self.read_own, own), (other, self.read_copy, copy)):
            found = {record for record in log[start : start + count] if record is not None}
            self.read_again += len(found & self.seen)
            self.seen |= found
        self.read_own = min(len(mine), self.read_own + own)
        self.read_copy = min(len(other), self.read_copy + copy)

    def fail_over(self) -> tuple[Translated, Translated]:
        """West is lost: the group goes to `west.orders` and `orders` at east."""
        mirrored = self.forward.map().translate(OWN, self.read_own)
        landing = Translated(len(self.east), True, 0, "the end")
        if self.reverse is not None:
            landing = landing_position(self.reverse.map(), OWN, self.read_copy, self.reverse.start)
        else:
            start = len(self.east)
            self.reverse = Mirror(self.east, self.east_at_west, start, start, marker_every=self.marker_every)
        # Without a position for either the failover is refused, and nothing moves.
        if mirrored.offset is not None and landing.offset is not None:
            self.read_own, self.read_copy = landing.offset, mirrored.offset
            self.is_home = False
        return mirrored, landing

    def cut_west(self, end: int) -> None:
        """A power loss took the end of west's log; the mirror is set to go on from there."""
        for record in self.west[end:]:
            if record is not None and record not in self.west_at_east:
                self.gone.add(record)
        del self.west[end:]
        if self.forward.next > end:
            if any(record not in self.west for record in self.west_at_east):
                self.truncations.append(Truncation(end, len(self.west_at_east)))
            self.forward.next = end

    def way_back(self) -> tuple[BackPosition, ...]:
        """Both mirrors are drained and stopped; nothing is moved yet."""
        assert self.reverse is not None
        maps = BothMaps(
            forward=self.forward.map(),
            reverse=self.reverse.map(),
            standby={
                MIRROR.mirrored(OWN): LogEnd(0, len(self.west_at_east)),
                OWN: LogEnd(0, len(self.east)),
            },
            primary={OWN: LogEnd(0, len(self.west)), BACK.mirrored(OWN): LogEnd(0, len(self.east_at_west))},
            truncations={OWN: tuple(self.truncations)},
            reverse_starts={OWN: self.reverse.start},
        )
        committed = {MIRROR.mirrored(OWN): self.read_copy, OWN: self.read_own}
        return positions_back(MIRROR, GROUP, [OWN], committed, maps)

    def go_back(self, rows: tuple[BackPosition, ...]) -> None:
        """Redirected: the group reads `orders` and `east.orders` at west."""
        offsets = {row.target_partition: row.target_offset for row in rows}
        own, copy = offsets[OWN], offsets[BACK.mirrored(OWN)]
        assert own is not None
        assert copy is not None
        self.read_own, self.read_copy, self.is_home = own, copy, True

    def orphans_to_read(self) -> set[int]:
        """Records that stand nowhere but in `west.orders`, and that the group has not processed."""
        west = set(self.west)
        return {r for r in self.west_at_east[self.read_copy :] if r is not None and r not in west}

    def still_to_come(self) -> list[int]:
        """Ids of all that the group will read if nothing more is written, in any order."""
        if self.is_home:
            logs = [self.west[self.read_own :], self.east_at_west[self.read_copy :]]
        else:
            late = self.west[self.forward.next :]
            logs = [self.east[self.read_own :], self.west_at_east[self.read_copy :], late]
        return [record for log in logs for record in log if record is not None]

    def skipped(self) -> set[int]:
        """Records that the group has not processed and never will."""
        written = set(range(self.ids)) - self.gone
        return written - self.seen - set(self.still_to_come())
