"""What a map is made of for one partition: its map if there is one, its log, and what that lost."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from orchestrator.replication.build_partition_map import build_partition_map
from orchestrator.replication.collected_syncs import CollectedSyncs
from orchestrator.replication.current_log import CurrentLog, LostCopies
from orchestrator.replication.partition_map import MirrorEnd, PartitionMap
from orchestrator.replication.segments import Segments
from orchestrator.replication.source_gaps import SourceGaps


class BuiltPartition(NamedTuple):
    """What is known of one partition. Without a map `problem` says why there is none.

    `first`: its oldest sync. `lost`: copies that the target lost again.
    """

    first: tuple[int, int]
    log: Segments
    lost: tuple[LostCopies, ...]
    map: PartitionMap | None
    problem: str = ""


def built_partition(
    collected: CollectedSyncs,
    current: CurrentLog,
    end: MirrorEnd | None,
    said: SourceGaps,
    has_shown_gaps: bool,
) -> BuiltPartition:
    """One partition's map, from its syncs and from the log that they tell of as it is now.

    `end`: of a mirror that stands. `said`: of gaps in the source; `has_shown_gaps`: syncs show one.
    """
    may_have_gaps = has_shown_gaps or not collected.folds
    begins_alike = may_have_gaps and collected.begins_alike and current.reached < 0
    found, log, lost = build_partition_map(
        current,
        end,
        may_have_gaps=may_have_gaps,
        begins_alike=begins_alike,
        counts_missing=said == "no",
    )
    if found is None:
        return BuiltPartition(
            collected.first_pair, log, lost, None, "the target's log ends before its offset syncs"
        )
    if not current.has_caught_up:
        problem = (
            "the target's log lost copies, and the mirror, which had been at source offset "
            f"{current.reached}, has not come that far again"
        )
        return BuiltPartition(collected.first_pair, log, lost, None, problem)
    upstream, downstream = collected.last_pair
    if (
        found.closing.kind == "open"
        and downstream < int(found.segments.downstream[-1] + found.segments.length[-1]) - 1
    ):
        # The newest sync steps back to what is known: the mirror may be copying all of it again.
        found = replace(found, mirrored_end=min(found.mirrored_end, upstream + 1))
    return BuiltPartition(collected.first_pair, log, lost, found)
