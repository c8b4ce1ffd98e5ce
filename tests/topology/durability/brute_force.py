"""The analysis once more, without arithmetic: by trying everything that Kafka and ZooKeeper may do.

Nothing here shares code with `orchestrator.topology.durability`. Replicas and servers are small numbers;
sets are frozensets; worst cases are found by going through all cases.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

Replicas = frozenset[int]


class History(NamedTuple):
    """One partition and one record: who is in sync, who leads, who has the record, was it acknowledged."""

    in_sync: Replicas
    leader: int
    holders: Replicas
    is_acked: bool


@functools.cache
def acked_histories(replicas: int, needed: int) -> frozenset[tuple[Replicas, Replicas]]:
    """(in-sync set, holders) of every reachable state in which the record has been acknowledged."""
    everyone = frozenset(range(replicas))
    waiting = [History(everyone, leader, frozenset(), False) for leader in everyone]
    seen = set(waiting)
    while waiting:
        for following in _steps(waiting.pop(), everyone, needed):
            if following not in seen:
                seen.add(following)
                waiting.append(following)
    return frozenset((state.in_sync, state.holders) for state in seen if state.is_acked)


def _steps(state: History, everyone: Replicas, needed: int) -> Iterator[History]:
    in_sync, leader, holders, is_acked = state
    is_written = leader in holders
    for replica in in_sync - {leader}:
        # A slow follower leaves the ISR, also below min.insync.replicas; or a lost leader is followed by it.
        yield state._replace(in_sync=in_sync - {replica})
        if replica in holders or not holders:
            yield state._replace(in_sync=in_sync - {leader}, leader=replica)
        else:
            # The record was never in the whole ISR: not acknowledged, and gone with its leader.
            assert not is_acked
    for replica in everyone - in_sync:
        if replica in holders or not is_written:
            yield state._replace(in_sync=in_sync | {replica})
    if not is_written and not holders and len(in_sync) >= needed:
        yield state._replace(holders=frozenset([leader]))
    if is_written:
        for replica in everyone - holders:
            yield state._replace(holders=holders | {replica})
        if in_sync <= holders and len(in_sync) >= needed:
            yield state._replace(is_acked=True)


@functools.cache
def acked(replicas: int, needed: int, lost: Replicas, *, is_unclean: bool) -> str:
    """What becomes of acknowledged records when these replicas are lost."""
    left = frozenset(range(replicas)) - lost
    if not lost:
        return "safe"
    if not left:
        return "lost"
    for in_sync, holders in acked_histories(replicas, needed):
        if not holders & left:
            return "at-risk"
        if is_unclean and not in_sync & left and not left <= holders:
            return "at-risk"
    return "safe"


class Voter(NamedTuple):
    """A server that votes: its group and weight count in a hierarchical quorum only."""

    name: str
    group: str
    weight: int
    is_combined: bool = False


def control_plane(voters: Sequence[Voter], lost: frozenset[str], *, is_hierarchical: bool) -> str:
    """Every set of servers that may have committed the last change is tried."""
    left = [voter for voter in voters if voter.name not in lost]
    if _is_quorum(left, voters, is_hierarchical=is_hierarchical):
        return "continues"
    for size in range(1, len(voters) + 1):
        for quorum in combinations(voters, size):
            is_known = any(voter.name not in lost for voter in quorum)
            if _is_quorum(quorum, voters, is_hierarchical=is_hierarchical) and not is_known:
                return "lost"
    if not left or any(voter.is_combined for voter in left):
        return "lost"
    return "needs-procedure"


def survivors_needed(voters: Sequence[Voter], lost: frozenset[str], *, is_hierarchical: bool) -> int:
    """The least k so that whichever k survivors take part, one of them has the last change."""
    left = [voter for voter in voters if voter.name not in lost]
    committed = [
        {voter.name for voter in quorum}
        for size in range(1, len(voters) + 1)
        for quorum in combinations(voters, size)
        if _is_quorum(quorum, voters, is_hierarchical=is_hierarchical)
    ]
    for count in range(1, len(left) + 1):
        parts = [{voter.name for voter in part} for part in combinations(left, count)]
        if all(part & quorum for part in parts for quorum in committed):
            return count
    raise AssertionError("not even all of them")


def _is_quorum(present: Sequence[Voter], voters: Sequence[Voter], *, is_hierarchical: bool) -> bool:
    if not is_hierarchical:
        return len(present) > len(voters) / 2
    groups = {voter.group for voter in voters}
    weight = {group: sum(voter.weight for voter in voters if voter.group == group) for group in groups}
    here = {group: sum(voter.weight for voter in present if voter.group == group) for group in groups}
    counted = [group for group in groups if weight[group] > 0]
    won = [group for group in counted if here[group] > weight[group] / 2]
    return len(won) > len(counted) / 2


def placements(
    brokers: dict[str, str], replicas: int, *, spread: dict[str, int], metadata: str
) -> list[frozenset[str]]:
    """Every set of brokers that a partition may be on. `brokers` is name -> data centre."""
    centres = sorted(set(brokers.values()))

    def counts(chosen: Sequence[str]) -> tuple[int, ...]:
        return tuple(sum(brokers[name] == dc for name in chosen) for dc in centres)

    sizes = counts(list(brokers))
    every = list(combinations(brokers, replicas))
    if spread:
        return [frozenset(one) for one in every if counts(one) == tuple(spread.get(dc, 0) for dc in centres)]
    if metadata == "kraft":
        return [frozenset(one) for one in every if _is_even(counts(one), sizes)]
    allowed = {counts(one) for one in alternated_placements(brokers, replicas)}
    return [frozenset(one) for one in every if counts(one) in allowed]


def _is_even(counts: tuple[int, ...], sizes: tuple[int, ...]) -> bool:
    """No rack is two behind another while it has a broker to spare."""
    behind = [count for count, size in zip(counts, sizes, strict=True) if count < size]
    return not behind or max(counts) - min(behind) <= 1


def alternated_placements(brokers: dict[str, str], replicas: int) -> Iterator[tuple[str, ...]]:
    """What `AdminUtils.assignReplicasToBrokersRackAware` may choose for one partition."""
    queues = {dc: sorted(name for name in brokers if brokers[name] == dc) for dc in set(brokers.values())}
    arranged = []
    while any(queues.values()):
        arranged += [queues[dc].pop(0) for dc in sorted(queues) if queues[dc]]
    total, racks = len(arranged), len(queues)
    for first in range(total):
        for shift in range(total):
            chosen, number = [arranged[first]], 0
            while len(chosen) < replicas:
                step = 1 + (shift * racks + number) % (total - 1)
                broker = arranged[(first + step) % total]
                number += 1
                used = {brokers[name] for name in chosen}
                if broker not in chosen and (brokers[broker] not in used or len(used) == racks):
                    chosen.append(broker)
            yield tuple(chosen)


def writes(replicas: int, needed: int, lost: Replicas, control: str) -> tuple[str, str]:
    """Writes with acks=all, from the steady state (all in sync), for the unluckiest leader."""
    everyone = frozenset(range(replicas))
    left = everyone - lost
    worst = ("continue", "zero")
    for leader in everyone:
        is_served = leader in left and everyone <= left
        if is_served:
            continue
        worst = ("stop", "site-return")
        if control == "continues" and left and len(left) >= needed:
            worst = ("continue", "leader-election")
        elif control in ("continues", "needs-procedure") and left:
            worst = ("need-procedure", "procedure")
        break
    return worst
