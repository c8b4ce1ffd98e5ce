"""Committing offsets for groups, and seeing that they are committed: the same for every move."""

from __future__ import annotations

from collections.abc import Mapping

from orchestrator.errors import ClusterError
from orchestrator.moves.effect import Done, Nothing, Outcome, Running, Unknown
from orchestrator.moves.ports import Pools
from orchestrator.ports.servers import Kafka
from orchestrator.values import TopicPartition

_GROUPS_AT_ONCE = 8

Wanted = Mapping[str, Mapping[TopicPartition, int]]
"""The offsets of each group, by partition."""


def commit_offsets(run: Running, target: Kafka, wanted: Wanted) -> Outcome[Nothing]:
    """Several groups at a time. A group with members refuses by itself; an interrupted run begins no more."""

    def write(group: str) -> str:
        if run.is_cancelled():
            return f"group {group}: not written, the run was interrupted"
        try:
            target.write_group_offsets(group, wanted[group], may_write=run.may_write)
        except ClusterError as error:
            return error.problem
        return ""

    with run.port(Pools).pool(_GROUPS_AT_ONCE) as pool:
        problems = [said for said in pool.map(write, wanted) if said]
    return Unknown("; ".join(problems)) if problems else Done(Nothing())


def not_committed(target: Kafka, wanted: Wanted) -> list[str]:
    """Which of the offsets are not what is committed now, in words. Raises `ClusterError`."""
    committed = target.committed(wanted)
    return [
        f"{group} {tp}: {committed[group].get(tp)}, not {offset}"
        for group, offsets in wanted.items()
        for tp, offset in offsets.items()
        if committed[group].get(tp) != offset
    ]
