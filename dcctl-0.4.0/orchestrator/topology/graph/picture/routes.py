"""Which way each mirror and standby takes: straight across the gap between two sites, or below them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from orchestrator.topology.graph.parts import Mirror, Standby
from orchestrator.topology.graph.picture.grid import Grid

Edge = Mirror | Standby
"""What leads from one cluster to another."""


@dataclass(frozen=True, slots=True)
class Straight:
    """Across gap `gap` (between columns `gap - 1` and `gap`), the `slot`-th of those in this row."""

    edge: Edge
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

    edge: Edge
    source: End
    target: End
    lane: int = 0


@dataclass(frozen=True, slots=True)
class Routes:
    """The ways of all of them."""

    straight: tuple[Straight, ...]
    detours: tuple[Detour, ...]

    def slots(self, gap: int, row: int) -> int:
        """How many go straight across a gap in a row."""
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


def routes_of(grid: Grid, edges: Sequence[Edge]) -> Routes:
    """Straight where two clusters face each other in one row; else a detour."""
    straight: list[Straight] = []
    detours: list[Detour] = []
    slots: Counter[tuple[int, int]] = Counter()
    for edge in edges:
        source, target = grid.band(edge.source), grid.band(edge.target)
        gap = max(source.first, target.first)
        is_facing = source.last + 1 == target.first or target.last + 1 == source.first
        if is_facing and source.row == target.row:
            straight.append(Straight(edge, gap, source.row, slots[gap, source.row]))
            slots[gap, source.row] += 1
        else:
            detours.append(_detour(grid, edge))
    # A short detour lies inside the long ones: its lane comes first.
    detours.sort(key=lambda detour: abs(detour.source.gap - detour.target.gap))
    return Routes(tuple(straight), tuple(_numbered(detours)))


def _detour(grid: Grid, edge: Edge) -> Detour:
    source, target = grid.band(edge.source), grid.band(edge.target)
    is_leftward = target.last < source.first
    if is_leftward:
        ends = End(edge.source, False, source.first), End(edge.target, True, target.last + 1)
    else:
        ends = End(edge.source, True, source.last + 1), End(edge.target, False, target.first)
    return Detour(edge, *ends)


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
