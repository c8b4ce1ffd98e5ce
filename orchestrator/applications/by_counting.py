"""Places by counting the records of a mirror's source, for a move; see `replication/counting.py`."""

from __future__ import annotations

from orchestrator.errors import ClusterError
from orchestrator.moves.ports import Maps
from orchestrator.replication.by_content import Positions
from orchestrator.replication.by_counting import NOWHERE, places_by_counting
from orchestrator.replication.mirror_ref import MirrorRef
from orchestrator.replication.offset_map import OffsetMap
from orchestrator.runs.effect import Running
from orchestrator.runs.ports import Clusters

_SOURCE_TIMEOUT_S = 5.0


def with_counted_places(
    run: Running,
    mirror: MirrorRef,
    offset_map: OffsetMap,
    *,
    ahead: Positions = NOWHERE,
    behind: Positions = NOWHERE,
) -> OffsetMap:
    """The map of a mirror with places of source (`ahead`) and target offsets (`behind`) found by counting.

    Both by source partition. Where the source cannot be read, or the mirror may leave records out, it is the
    map that it was. What is read is taken from what the move may read.
    """
    maps, topics = run.port(Maps), {tp.topic for tp in (*ahead, *behind) if offset_map.may_have_gaps(tp)}
    if not topics or not maps.copies_all(mirror):
        return offset_map
    source, budget = run.port(Clusters).cluster(mirror.source), maps.search
    try:
        with budget.timed():
            configs = source.topic_config(topics, _SOURCE_TIMEOUT_S)
            with source.contents(maps.isolation_level(mirror)) as reader:
                return places_by_counting(
                    reader,
                    offset_map,
                    ahead=ahead,
                    behind=behind,
                    compacted={
                        name
                        for name in topics
                        if "compact" in configs.get(name, {}).get("cleanup.policy", "compact")
                    },
                    budget=budget,
                )
    except ClusterError:
        return offset_map
