"""The services of a cluster's servers on their hosts: whether they run, and start with their host."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass as checked_dataclass

STOP_WITHIN_S = 20.0
"""A server of a lost site has nothing left to hand over."""


@checked_dataclass(frozen=True, slots=True, kw_only=True, config=ConfigDict(extra="ignore"))
class ServiceState:
    """One service, of a server at a site. `is_running`: or it is being started.

    `is_enabled`: it starts with its host; None where its service manager cannot be told not to.
    """

    site: str
    is_running: bool
    is_enabled: bool | None = None

    @property
    def is_off(self) -> bool:
        """It does not run, and is not enabled."""
        return not self.is_running and not self.is_enabled


@dataclass(frozen=True, slots=True)
class ServicesSeen:
    """Services by the names of their servers; by host why it tells nothing, and which cannot be reached."""

    services: Mapping[str, ServiceState]
    problems: Mapping[str, str]
    unreachable: frozenset[str] = frozenset()


class ServiceHosts(Protocol):
    """The hosts of the servers of one cluster. What a host does not do or tell is among the problems.

    All calls raise `PlaybookError` where nobody could be asked.
    """

    def look(self, sites: Sequence[str], *, name: str) -> ServicesSeen:
        """Services at these sites, as they are. A host that cannot be reached costs a few seconds."""

    def stop(
        self, services: Mapping[str, ServiceState], *, name: str, within_s: float = STOP_WITHIN_S
    ) -> ServicesSeen:
        """Disable those that are enabled, stop all, kill what has not ended after `within_s`; then tell how
        they are.
        """

    def start(self, services: Mapping[str, ServiceState], *, name: str) -> ServicesSeen:
        """Enable those that are to be enabled, start those that are to run, and tell how they are then."""
