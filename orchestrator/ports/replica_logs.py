"""Logs of brokers on their disks, read by their hosts while the brokers do not run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from orchestrator.values import TopicPartition


@dataclass(frozen=True, slots=True)
class ReplicaLog:
    """One replica. `leader_epoch`: of its last record, -1 of an empty log; `log_end`: the offset behind it.

    `epochs`: leader epochs, each with the offset at which it begins, as the broker has noted them; None where
    it has not noted those of its last records.
    """

    leader_epoch: int
    log_end: int
    epochs: tuple[tuple[int, int], ...] | None = None

    def end_of(self, epoch: int) -> int | None:
        """Where the records of an epoch, and of those before it, end in this log; None where not known."""
        if epoch >= self.leader_epoch:
            return self.log_end
        return None if self.epochs is None else min(start for one, start in self.epochs if one > epoch)


@dataclass(frozen=True, slots=True)
class BrokerLogs:
    """The logs of one broker. `server`: its name in the inventory; `number`: its id."""

    server: str
    number: int
    logs: Mapping[TopicPartition, ReplicaLog]


@dataclass(frozen=True, slots=True)
class LogsSeen:
    """Brokers by their ids; and by host or server why something could not be read."""

    brokers: Mapping[int, BrokerLogs]
    problems: Mapping[str, str]


class LogHosts(Protocol):
    """The hosts of a cluster's brokers. Raises `PlaybookError` where none can be asked."""

    def read(self, sites: Sequence[str], *, timeout_s: float) -> LogsSeen:
        """The logs of the brokers at these sites."""

    def keep(
        self,
        sites: Sequence[str],
        beyond: Mapping[str, Mapping[TopicPartition, int]],
        into: Path,
        *,
        timeout_s: float,
    ) -> tuple[str, ...]:
        """Fetch what logs hold from these offsets on, by server; returns why something was not, in words.

        They lie in `into` as server/partition/segment.log, byte for byte.
        """
