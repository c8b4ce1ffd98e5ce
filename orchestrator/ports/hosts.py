"""What hosts tell: whether they take connections, and what a playbook finds on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Listening = Literal["yes", "refused", "silent"]
"""Whether an address takes a connection, refuses it, or does not answer."""


@dataclass(frozen=True, slots=True)
class HostsTold:
    """What hosts have told, by their names, and in words what has failed, by the names of hosts.

    `unreachable`: those of the latter that were not even reached.
    """

    told: Mapping[str, Any]
    failures: Mapping[str, str]
    unreachable: frozenset[str] = frozenset()
