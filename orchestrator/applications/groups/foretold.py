"""What is known of consumer groups before they move, for the plan."""

from __future__ import annotations

from orchestrator.applications.groups.gates import recorded, rereads, rows_of
from orchestrator.applications.groups.sharing import kept_at
from orchestrator.moves.foretold import Foretold
from orchestrator.moves.situation import Situation


def groups_foretold(s: Situation) -> dict[str, Foretold]:
    """By name; see `Foretold`."""
    again = {} if s.way.reach == "whole" else s.once(rereads)
    kept, known = kept_at(s.way, s.entered), s.once(recorded)
    is_known = s.way.reach != "whole" or s.source.committed.value is not None
    return {
        group.name: Foretold(
            committed={tp: at.offset for tp, at in known[group.group_id].items()} if is_known else None,
            placed=rows_of(s, group),
            again=again[group.name].by_topic if group.name in again else {},
            kept=kept.get(group.name, ()),
        )
        for group in s.moving("group")
    }
