"""The access rules of a sick cluster: brought in and taken back through whichever broker answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from pydantic.dataclasses import dataclass

from orchestrator.errors import ClusterError
from orchestrator.moves.fencing import Denying, RulesRecorded, rules_in_words
from orchestrator.moves.ports import PartialClusters
from orchestrator.moves.results import RulesHeard
from orchestrator.ports.servers import Access
from orchestrator.runs.effect import (
    EFFECT_CONFIG,
    Done,
    Failed,
    Nothing,
    Outcome,
    Running,
    Unknown,
    Verified,
)
from orchestrator.runs.ports import Clusters
from orchestrator.topology.model import Topology
from orchestrator.values import Acl
from orchestrator.wording import plural

READ_TIMEOUT_S = 2.0
"""For one look at the brokers of a sick cluster, where they are asked again soon."""
_RULES_TIMEOUT_S = 5.0
_POLL_S = 0.3
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class RecordPartialRules(RulesRecorded, name="record-left-rules"):
    """At a cluster of which some broker answers."""

    def _there(self, run: Running) -> frozenset[Acl]:
        return _rules_there(run, self.cluster, self.rules)


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class DenyAtPartial(Verified[RulesHeard], Denying[RulesHeard], name="deny-left", timeout_s=40.0):
    """The same through any broker that answers."""

    def holds_surely(self, result: RulesHeard) -> bool:
        """See `Effect`. A broker that is silent, or told nothing, may still let clients in."""
        return bool(result.heard) and not result.silent

    def perform(self, run: Running) -> Outcome[RulesHeard]:
        """See `Effect`."""
        _again(run, self.cluster, lambda access: access.add(self.rules))
        # Nobody was asked yet: `verify` does that.
        return Done(RulesHeard(heard=(), silent=()))

    def verify(self, run: Running) -> Outcome[RulesHeard]:
        """Every rule is there, and every broker that answers has heard of it; those that do not are named.

        In ZooKeeper mode a broker does not tell how far it has read them: nobody is known to have heard.
        """
        rules = frozenset(self.rules)
        missing = rules - _rules_there(run, self.cluster, rules)
        if missing:
            return Failed(f"access rules missing at {self.cluster}: {rules_in_words(missing)}")
        with run.port(PartialClusters).left(self.cluster, READ_TIMEOUT_S) as reader:
            brokers, silent = reader.ask_brokers(), sorted(reader.silent)
        if run.port(Topology).clusters[self.cluster].metadata == "zookeeper":
            written = f"{plural(len(rules), 'access rule')} written at {self.cluster}"
            said = f"{written}; in ZooKeeper mode a broker does not say whether it knows them"
            return Done(RulesHeard(heard=(), silent=tuple(silent)), said)
        behind = run.port(Clusters).await_brokers(self.cluster, run.timeout_s / 2, brokers=brokers)
        if behind:
            return Unknown(f"brokers of {self.cluster} that may not know the access rules yet: {behind}")
        unknown = f"; unknown at {', '.join(silent)}, which does not answer" if silent else ""
        said = f"{plural(len(rules), 'access rule')} in force at {plural(len(brokers), 'broker')}{unknown}"
        return Done(RulesHeard(heard=tuple(sorted(brokers)), silent=tuple(silent)), said)

    def undo(self, run: Running) -> Outcome[Nothing]:
        """Take away what this run brought in, through any broker that answers."""
        own = self._own(run)
        _again(run, self.cluster, lambda access: access.remove(own))
        return Done(Nothing())

    def verify_undone(self, run: Running) -> Outcome[Nothing]:
        """Nothing of it is there any more."""
        left = self._own(run) & _rules_there(run, self.cluster, self.rules)
        return (
            Failed(f"access rules still at {self.cluster}: {rules_in_words(left)}")
            if left
            else Done(Nothing(), f"access rules of {self.cluster} as before the run")
        )


def _rules_there(run: Running, cluster: str, rules: Iterable[Acl]) -> frozenset[Acl]:
    """Which of the rules a cluster has. Raises `ClusterError` where no broker says it in time."""
    wanted = frozenset(rules)
    return _again(run, cluster, lambda access: wanted & access.rules(rule.principal for rule in wanted))


def _again(run: Running, cluster: str, ask: Callable[[Access], T]) -> T:
    """Ask on new connections until one of the brokers that answer has done it, or half the time is over.

    Raises `ClusterError`, the last one, where none has.
    """
    clusters = run.port(PartialClusters)
    answer: list[T] = []
    last = ClusterError(f"cluster {cluster}", "no broker answers")
    with clusters.left(cluster, READ_TIMEOUT_S) as reader:

        def is_answered() -> bool:
            nonlocal last
            addresses = sorted(reader.ask_brokers().values())
            if not run.may_write():
                last = ClusterError(
                    f"cluster {cluster}", "not tried: the run was interrupted, or has lost its lock"
                )
                return False
            if not addresses:
                return False
            try:
                answer.append(ask(clusters.access_by(cluster, addresses, _RULES_TIMEOUT_S)))
            except ClusterError as error:
                last = error
                return False
            return True

        run.await_true(is_answered, run.timeout_s / 2, poll_s=_POLL_S)
    if not answer:
        raise last
    return answer[0]
