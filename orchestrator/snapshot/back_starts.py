"""Where the mirror back begins in each landing partition, by what earlier runs have recorded. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from orchestrator.runs.estate_record import Fact, ReverseStarts, offsets, standing, undone_runs
from orchestrator.values import TopicPartition


@dataclass(frozen=True, slots=True, kw_only=True)
class BackStarts:
    """The first landing offset that the mirror back copies, by partition.

    `recorded`: where applications began to write, first of all, or what Connect was told then (none: from
    the beginning). `provisional`: what Connect was told of topics that had never moved; a recorded start
    comes before it. `unmoved`: topics that have never moved, so nothing that stands there is to come home.
    """

    recorded: Mapping[TopicPartition, int] = field(default_factory=dict)
    provisional: Mapping[TopicPartition, int] = field(default_factory=dict)
    unmoved: tuple[str, ...] = ()


def back_starts(facts: Iterable[Fact], home: str, standby: str) -> BackStarts:
    """Where the mirror back began, or where it will have to.

    What Connect was told holds, also where that run was taken back. Before that it is where the landing
    topics ended when applications first came.
    """
    facts = standing(facts)
    undone = undone_runs(facts)
    found = [
        (fact.run_id, fact.body)
        for fact in facts
        if isinstance(fact.body, ReverseStarts) and (fact.body.home, fact.body.standby) == (home, standby)
    ]
    are_set = [body for _, body in found if body.is_set]
    provisional = {tp: at for body in are_set for tp, at in offsets(body.provisional).items()}
    first = [body for run_id, body in found if run_id not in undone]
    return BackStarts(recorded=_recorded(are_set, first), provisional=provisional)


def _recorded(are_set: list[ReverseStarts], first: list[ReverseStarts]) -> dict[TopicPartition, int]:
    """`first`: what was recorded by runs that were not taken back.

    Of each partition the earliest holds: topics go one by one, and some join the mirror between two moves.
    What Connect was told comes before it.
    """
    starts: dict[TopicPartition, int] = {}
    for body in reversed(first):
        starts |= offsets(body.starts)
    return starts | (offsets(are_set[-1].starts) if are_set else {})
