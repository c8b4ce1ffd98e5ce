"""The voters of a metadata quorum that lives, as the quorum itself knows them, and changes of them.

KRaft's dynamic voters (`kraft.version` 1) and ZooKeeper's dynamic reconfiguration are one idea: the members
stand in what the quorum has committed, and a change of them is committed by it as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass as checked_dataclass


@checked_dataclass(frozen=True, slots=True, kw_only=True, config=ConfigDict(extra="ignore"))
class Member:
    """One voter: its id in the quorum, and where the others find it.

    `directory_id`: of its metadata log (KRaft; empty in ZooKeeper mode). `addresses`: in KRaft
    `LISTENER://host:port`, of ZooKeeper what stands behind `server.N=`.
    """

    number: int
    directory_id: str = ""
    addresses: tuple[str, ...] = ()

    def is_same(self, other: Member) -> bool:
        """Whether they are one voter with one log: an empty disk makes another one of it."""
        return (self.number, self.directory_id) == (other.number, other.directory_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class VoterSet:
    """The voters as the quorum has them. `leader` is None where nobody says that it leads.

    `heard`: ids of those of which the quorum has heard within seconds. `version`: which configuration that is
    (ZooKeeper), and `lines` are all of it. `anew`: members that run with another log than the set has of
    them, as after a disk was replaced: they follow, and do not vote. `unasked`: ids of those that nobody can
    ask whether they run (ZooKeeper: their line names no address for clients).
    """

    voters: tuple[Member, ...]
    heard: frozenset[int]
    leader: int | None
    version: str = ""
    lines: tuple[str, ...] = ()
    anew: tuple[Member, ...] = ()
    unasked: frozenset[int] = frozenset()

    def has(self, member: Member) -> bool:
        """Whether this very voter is one of them."""
        return any(member.is_same(one) for one in self.voters)

    @property
    def numbers(self) -> frozenset[int]:
        """Their ids."""
        return frozenset(voter.number for voter in self.voters)


class VoterSets(Protocol):
    """The voters of one cluster. All calls raise `ClusterError` or `CoordinationError`."""

    def read(self) -> VoterSet:
        """As they are. Raises where they are a static list as well, and says so."""

    def following(self, members: Sequence[Member]) -> tuple[Member, ...]:
        """Which of these run without a vote and have what is committed, each with the log that it has now."""

    def remove(self, seen: VoterSet, members: Sequence[Member]) -> None:
        """Take these out of the voters that were seen; whatever comes between makes it fail."""

    def add(self, seen: VoterSet, members: Sequence[Member], lines: Sequence[str]) -> None:
        """Add these to the voters that were seen. `lines`: all of the configuration as it was with them, for
        a hierarchical quorum, where one is not changed by parts.
        """
