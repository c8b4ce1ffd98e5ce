"""Reads what places by counting need: the source's records between offset syncs; see `counting.py`."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType

from orchestrator.ports.servers import Contents
from orchestrator.replication.by_content import Positions, ReadRanges, SearchBudget
from orchestrator.replication.counting import Window
from orchestrator.replication.offset_map import Counting, OffsetMap
from orchestrator.values import TopicPartition

NOWHERE: Positions = MappingProxyType({})


def places_by_counting(
    reader: Contents,
    offset_map: OffsetMap,
    *,
    ahead: Positions = NOWHERE,
    behind: Positions = NOWHERE,
    compacted: Collection[str] = (),
    budget: SearchBudget,
) -> OffsetMap:
    """The map with the places of these positions that the source's records tell exactly.

    `reader`: at the source, with the mirror's isolation level. `ahead`: source offsets, `behind`: target
    offsets, both by source partition. `compacted`: source topics that are. No more is read than the `budget`
    allows; where that is not enough the map's word stands. Raises `ClusterError`.
    """
    there = _affordable(_windows(offset_map, ahead, compacted, is_ahead=True), budget)
    back = _affordable(_windows(offset_map, behind, compacted, is_ahead=False), budget)
    spans = [
        (tp, window.source) for found in (there, back) for tp, of in found.items() for window in of.values()
    ]
    read = ReadRanges.of(reader, spans, budget.seconds)
    for tp in there.keys() | back.keys():
        offset_map = offset_map.counted(
            tp, _counted(read, tp, there.get(tp, {})), _counted(read, tp, back.get(tp, {}))
        )
    return offset_map


def _windows(
    offset_map: OffsetMap, positions: Positions, compacted: Collection[str], *, is_ahead: bool
) -> dict[TopicPartition, dict[int, Window]]:
    ask = offset_map.window_ahead if is_ahead else offset_map.window_behind
    found = {
        tp: {at: window for at in sorted(set(ats)) if (window := ask(tp, at)) is not None}
        for tp, ats in positions.items()
        if offset_map.may_have_gaps(tp) and tp.topic not in compacted
    }
    return {tp: windows for tp, windows in found.items() if windows}


def _affordable(
    wanted: Mapping[TopicPartition, Mapping[int, Window]], budget: SearchBudget
) -> dict[TopicPartition, dict[int, Window]]:
    """Those for which no more is read than may be; the budget is taken."""
    found: dict[TopicPartition, dict[int, Window]] = {}
    for tp, windows in wanted.items():
        read_up_to = 0
        for at, window in windows.items():
            # Positions rise, and so do their windows: what is read for one is there for the next.
            further = max(0, window.source.stop - max(window.source.start, read_up_to))
            if further <= budget.records:
                budget.records -= further
                read_up_to = max(read_up_to, window.source.stop)
                found.setdefault(tp, {})[at] = window
    return found


def _counted(read: ReadRanges, tp: TopicPartition, windows: Mapping[int, Window]) -> Counting:
    found = {}
    for at, window in windows.items():
        records = read.within(tp, window.source)
        if records is not None:
            slots = window.counted([record for record in records if record.offset < window.source.stop])
            if slots is not None:
                found[at] = window, slots
    return found
