"""Quorums of a metadata store: who can still decide, and who surely knows what had been decided.

One definition covers all three kinds. Voters stand in groups and have weights. A set of them is a quorum
if it holds more than half of the weight in more than half of the groups; groups without weight are not
counted (ZooKeeper's `QuorumHierarchical`). KRaft and ZooKeeper's majority are one group of weights 1.

A change is committed once a quorum has it on disk, and any quorum may have been the one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Vote:
    """One voting server, and whether it is among the lost ones."""

    group: str
    is_lost: bool
    weight: int = 1


@dataclass(frozen=True, slots=True)
class Votes:
    """The voters of one cluster after a loss. `is_hierarchical` only changes how it is told."""

    voters: tuple[Vote, ...]
    is_hierarchical: bool = False

    @property
    def survivors(self) -> tuple[Vote, ...]:
        """The voters that are left."""
        return tuple(voter for voter in self.voters if not voter.is_lost)

    @property
    def group_weights(self) -> Mapping[str, int]:
        """Weight of each group that counts."""
        return {group: weight for group, weight in _weights(self.voters).items() if weight}

    @property
    def groups_needed(self) -> int:
        """How many groups must have their majority."""
        return len(self.group_weights) // 2 + 1

    def groups_won(self, present: Iterable[Vote]) -> int:
        """In how many groups the voters that are present have the majority."""
        here = _weights(present)
        return sum(2 * here.get(group, 0) > weight for group, weight in self.group_weights.items())

    def is_quorum(self, present: Iterable[Vote]) -> bool:
        """Whether these voters can decide."""
        return self.groups_won(present) >= self.groups_needed

    @property
    def outcome(self) -> Literal["holds", "complete", "incomplete"]:
        """What the survivors are worth.

        `holds`: they are a quorum. `complete`: they are none, but each quorum that ever was had one of
        them in it, so together they hold every committed change. `incomplete`: the lost ones alone may
        have committed the last changes.
        """
        if self.is_quorum(self.survivors):
            return "holds"
        lost = [voter for voter in self.voters if voter.is_lost]
        return "incomplete" if not self.survivors or self.is_quorum(lost) else "complete"

    @property
    def survivors_needed(self) -> int:
        """The least k so that any k of the survivors surely hold every committed change.

        A quorum with as few survivors in it as possible has all lost voters and then, in the cheapest
        groups, the heaviest survivors. k survivors surely meet it if fewer than k stand outside it.
        """
        costs = sorted(self._survivors_for_majority(group) for group in self.group_weights)
        fewest = sum(costs[: self.groups_needed])
        return len(self.survivors) - fewest + 1

    def _survivors_for_majority(self, group: str) -> int:
        """How many survivors a group needs for its majority when all its lost voters are with them."""
        members = [voter for voter in self.voters if voter.group == group]
        weight = sum(voter.weight for voter in members if voter.is_lost)
        count = 0
        for heaviest in sorted((v.weight for v in members if not v.is_lost), reverse=True):
            if 2 * weight > self.group_weights[group]:
                break
            weight += heaviest
            count += 1
        return count


def _weights(voters: Iterable[Vote]) -> Mapping[str, int]:
    weights: dict[str, int] = defaultdict(int)
    for voter in voters:
        weights[voter.group] += voter.weight
    return weights
