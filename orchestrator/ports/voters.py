"""The voters of a metadata quorum on their hosts: what is read of them, and what can be done with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass as checked_dataclass

_CONFIG = ConfigDict(extra="forbid")


@dataclass(frozen=True, slots=True, kw_only=True)
class Voter:
    """One voter. `server`: its name in the inventory; `number`: its id in the quorum.

    `file` has its list of voters, with the digest `sha256`; `lines` are those about the quorum, by their
    numbers from 1 on. `end` is where its metadata log ends (KRaft: an offset, ZooKeeper: a zxid) and `epoch`
    that of its last entry (ZooKeeper: of the last leader that it has followed). `leads`: whether it leads as
    far as it knows, None where it knows no leader; `leader_epoch`: since which epoch (KRaft). `is_dynamic`:
    by its configuration its quorum can change its voters.
    """

    server: str
    site: str
    kind: Literal["kraft", "zookeeper"]
    number: int
    is_broker: bool
    file: str
    sha256: str
    lines: tuple[tuple[int, str], ...]
    epoch: int
    end: int
    runs: bool | None
    leads: bool | None
    leader_epoch: int = -1
    is_being_reconfigured: bool = False
    is_dynamic: bool = False

    def knows_leader(self, newer_than: int) -> bool:
        """Whether it runs, and knows who leads, in KRaft since a later epoch: its file keeps the last one."""
        is_new = self.kind == "zookeeper" or self.leader_epoch > newer_than
        return bool(self.runs) and self.leads is not None and is_new


@dataclass(frozen=True, slots=True)
class VotersSeen:
    """Voters by their names in the inventory; and by host or server why something could not be read.

    `stood`: where servers are started, epoch and end of each one's log a moment before.
    """

    voters: Mapping[str, Voter]
    problems: Mapping[str, str]
    stood: Mapping[str, tuple[int, int]] = field(default_factory=dict)


@checked_dataclass(frozen=True, slots=True, config=_CONFIG)
class LineChange:
    """One line of a file, by its number from 1 on: as it is, and as it shall be."""

    number: int
    was: str
    now: str


@checked_dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class FileChange:
    """Lines of a file with the digest `sha256`. `becomes`: its digest afterwards, where that is known."""

    path: str
    sha256: str
    changes: tuple[LineChange, ...]
    becomes: str = ""


class VoterHosts(Protocol):
    """The hosts of the voters of one cluster. All calls raise `PlaybookError` where a host fails in them."""

    def read(self, sites: Sequence[str], *, timeout_s: float) -> VotersSeen:
        """Those at these sites, as they are. A host that fails is among the problems."""

    def stop(
        self, sites: Sequence[str], servers: Sequence[str], *, name: str, timeout_s: float
    ) -> VotersSeen:
        """Stop them, kill what does not end, and read them then."""

    def start(
        self,
        sites: Sequence[str],
        servers: Sequence[str],
        *,
        changes: Mapping[str, FileChange],
        kept_as: str,
        furthest: tuple[str, int, int] | None,
        leaders_before: Mapping[str, int],
        name: str,
        await_leader_s: float,
        timeout_s: float,
        forget_epoch: int = -1,
    ) -> VotersSeen:
        """Change files of servers at these sites, once neither any of them nor of `servers` runs; then start
        `servers`. All are read as soon as each of these knows a leader, newer than the epoch in
        `leaders_before`, or after `await_leader_s`. `furthest`: server, epoch and end of the log that reached
        furthest when all were stopped; where others went on without it nothing is started. `forget_epoch`:
        the latest epoch of KRaft that any of them knows; none of those with changed files has a leader or a
        vote in it then (-1: they keep theirs).
        """

    def answering(self, addresses: Sequence[str]) -> tuple[str, ...]:
        """Which of these take connections."""
