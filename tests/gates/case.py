"""One thing that is broken, and the words in which a verb then says no, or that it cannot know."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from tests.gates.breaking import Breaking

State = Literal["both up", "lost", "returned", "beside", "away"]
Said = tuple[str, str]
"""Words of the reason, and words of the hint."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """One thing that is broken in one state of the estate, and every gate that it closes, by verb.

    Nothing else may be closed. `is_readable`: what stands can be read while this is broken, but for what is
    broken itself; otherwise it is compared before and after that.
    """

    name: str
    state: State
    breaks: Breaking
    refused: Mapping[str, Mapping[str, Said]] = field(default_factory=dict)
    unknown: Mapping[str, Mapping[str, Said]] = field(default_factory=dict)
    is_readable: bool = True

    @property
    def verbs(self) -> tuple[str, ...]:
        """The verbs that are asked."""
        return tuple(dict.fromkeys([*self.refused, *self.unknown]))

    def closes(self, verb: str) -> dict[str, str]:
        """Outcome by gate."""
        refused = dict.fromkeys(self.refused.get(verb, ()), "refused")
        return refused | dict.fromkeys(self.unknown.get(verb, ()), "unknown")

    def said(self, verb: str) -> dict[str, Said]:
        """Reason and hint by gate."""
        return {**self.refused.get(verb, {}), **self.unknown.get(verb, {})}


NO_ENSEMBLE = ("no answer within", "start the ZooKeeper ensemble again")
LOCKED = ("held by eve", "wait until that run has ended")
HELD = ("disks are being swapped", "dcctl release all ")
NO_WORKER = ("no worker answers", "is the worker up")
NO_INVENTORY = ("no such file", "correct `inventory`")
NO_HOST = ("no host is in", "give each host its `dc`")
NOT_READ = ("", "the principal lacks an ACL")
SMALLER = ("west.payments at east has max.message.bytes 500000", "dcctl drift")
IN_SYNC = "payments-0: 1 replica in sync, min.insync.replicas is 2"
OWN = ("User:operator is dcctl's own", "principals of their own")
ANOTHER_CLUSTER = (
    "is another cluster than before: its id is ",
    "where a cluster was created again on purpose: --accept-cluster ",
)
WATCHER_SILENT = ("the watcher has been silent", "dcctl watch FILE")
STOPPED = ("stopped on the way", "dcctl resume ")
ANSWERS = ("west answers: it is not lost", "dcctl switchover")


def silent(cluster: str) -> Said:
    """A cluster that answers nothing."""
    return (f"cluster {cluster}: asking for its brokers", "is the cluster up")


def no_ensemble(*gates: str) -> dict[str, Said]:
    """Gates that ask the ensemble."""
    return dict.fromkeys(gates, NO_ENSEMBLE)


OF_A_MOVE = ("coordination", "not-held", "same-clusters", "needed", "not-flapping", "source-primary")
