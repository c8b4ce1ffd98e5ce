"""Which way each mirror takes: straight across the gap between two sites, or along a lane below them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from orchestrator.topology.graph.parts import Mirror
from orchestrator.topology.graph.picture.grid import Grid


@dataclass(frozen=True, slots=True)
class Straight:
    """Across gap `gap` (between columns `gap - 1` and `gap`), the `slot`-th of those in this row."""

    mirror: Mirror
    gap: int
    row: int
    slot: int = 0


@dataclass(frozen=True, slots=True)
class End:
    """Where a detour leaves or enters a card: on which side, in which gap, on which track of that side.

    Tracks are counted from the card outwards; `port` counts the detours at this side of the card.
    """

    cluster: str
    is_right: bool
    gap: int
    track: int = 0
    port: int = 0


@dataclass(frozen=True, slots=True)
class Detour:
    """Out of the source into a gap, down to a lane, along it, and up a gap into the target."""

    mirror: Mirror
    source: End
    target: End
    lane: int = 0


@dataclass(frozen=True, slots=True)
class Routes:
    """The ways of all mirrors."""

    straight: tuple[Straight, ...]
    detours: tuple[Detour, ...]

    def slots(self, gap: int, row: int) -> int:
        """How many mirrors go straight across a gap in a row."""
        return sum((route.gap, route.row) == (gap, row) for route in self.straight)

    def tracks(self, gap: int, *, is_right: bool) -> int:
        """Tracks in a gap beside the column to its left (`is_right`: a card's right side) or right."""
        return sum(end.gap == gap and end.is_right == is_right for end in self._ends())

    def ports(self, cluster: str) -> int:
        """The most detours that meet at one side of a card."""
        sides = Counter(end.is_right for end in self._ends() if end.cluster == cluster)
        return max(sides.values(), default=0)

    def _ends(self) -> list[End]:
        return [end for detour in self.detours for end in (detour.source, detour.target)]


def routes_of(grid: Grid, mirrors: Sequence[Mirror]) -> Routes:
    """Straight where two clusters face each other in one row; else a detour."""
    straight: list[Straight] = []
    detours: list[Detour] = []
    slots: Counter[tuple[int, int]] = Counter()
    for mirror in mirrors:
        source, target = grid.band(mirror.source), grid.band(mirror.target)
        gap = max(source.first, target.first)
        is_facing = source.last + 1 == target.first or target.last + 1 == source.first
        if is_facing and source.row == target.row:
            straight.append(Straight(mirror, gap, source.row, slots[gap, source.row]))
            slots[gap, source.row] += 1
        else:
            detours.append(_detour(grid, mirror))
    # A short detour lies inside the long ones: its lane comes first.
    detours.sort(key=lambda detour: abs(detour.source.gap - detour.target.gap))
    return Routes(tuple(straight), tuple(_numbered(detours)))


def _detour(grid: Grid, mirror: Mirror) -> Detour:
    source, target = grid.band(mirror.source), grid.band(mirror.target)
    is_leftward = target.last < source.first
    if is_leftward:
        ends = End(mirror.source, False, source.first), End(mirror.target, True, target.last + 1)
    else:
        ends = End(mirror.source, True, source.last + 1), End(mirror.target, False, target.first)
    return Detour(mirror, *ends)


def _numbered(detours: Sequence[Detour]) -> list[Detour]:
    """Lanes, tracks and ports given out one after the other."""
    tracks: Counter[tuple[int, bool]] = Counter()
    ports: Counter[tuple[str, bool]] = Counter()

    def taken(end: End) -> End:
        track, port = (end.gap, end.is_right), (end.cluster, end.is_right)
        numbered = replace(end, track=tracks[track], port=ports[port])
        tracks[track] += 1
        ports[port] += 1
        return numbered

    return [
        replace(detour, source=taken(detour.source), target=taken(detour.target), lane=lane)
        for lane, detour in enumerate(detours)
    ]
