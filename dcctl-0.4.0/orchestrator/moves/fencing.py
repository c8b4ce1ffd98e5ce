"""Denying applications at a cluster, seeing that nothing is written any more, and lifting that again.

Rules (facts: Kafka, "Fencing producers"): an explicit DENY, because taking an ALLOW away opens a topic where
`allow.everyone.if.no.acl.found=true`. What was there before a run is not the run's, and stays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from pydantic.dataclasses import dataclass

from orchestrator.moves.results import RulesFound
from orchestrator.runs.effect import (
    EFFECT_CONFIG,
    Done,
    Effect,
    Failed,
    Handle,
    Held,
    Look,
    Nothing,
    Outcome,
    Partial,
    Reversible,
    Running,
    Unknown,
    Verified,
    VerifiedUndo,
)
from orchestrator.runs.estate_record import Body, DenialInForce, DenialLifted, Topics
from orchestrator.runs.ports import Clusters, EstateRecord
from orchestrator.runs.writers import denied_principals
from orchestrator.values import Acl
from orchestrator.wording import listed, plural

R = TypeVar("R")
_SETTLED_S = 5.0
"""A broker hears of a change after the controller has made it."""
_LISTED = 5


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class RulesRecorded(
    Look[RulesFound],
    phase="fence",
    title="Record which of the access rules to be written exist at {cluster} already",
    expected_s=1.5,
):
    """Which of the rules are there already: they are not the run's, and stay when its own go."""

    cluster: str
    rules: tuple[Acl, ...]

    def perform(self, run: Running) -> Outcome[RulesFound]:
        """See `Effect`."""
        # The fence will wait for each broker's word, and then nothing else.
        run.port(Clusters).warm_up(self.cluster)
        there = self._there(run)
        return Done(
            RulesFound(tuple(sorted(there))),
            f"{plural(len(there), 'access rule')} of {len(self.rules)} exist at {self.cluster} already",
        )

    def _there(self, run: Running) -> frozenset[Acl]:
        return rules_there(run, self.cluster, self.rules)


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class RecordRules(RulesRecorded, name="record-rules"):
    """At a cluster whose brokers all answer."""


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class Denying(Reversible, VerifiedUndo, Effect[R], phase="fence", expected_s=0.5):
    """Bring rules in that deny. Those that are there already stay, and are not taken back."""

    cluster: str
    rules: tuple[Acl, ...]
    recorded_by: Handle[RulesFound]

    @property
    def title(self) -> str:
        """See `Effect`."""
        denied = listed(dict.fromkeys(rule.principal for rule in sorted(self.rules)))
        return f"Deny {_what(self.rules)} at {self.cluster} to {denied}"

    def holds(self) -> Iterable[Held]:
        """See `Effect`."""
        return denials(self.cluster, self.rules)

    def _own(self, run: Running) -> frozenset[Acl]:
        return frozenset(self.rules) - frozenset(run.of(self.recorded_by).had)


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class DenyRules(Verified[Nothing], Denying[Nothing], name="deny"):
    """The same at every broker.

    `topics`: those of which the rules keep every writer of the file off. Once that was seen in force it is
    recorded, and guards go by it (`guards.boot_guard`).
    """

    topics: Topics = ()

    def perform(self, run: Running) -> Outcome[Nothing]:
        """See `Effect`."""
        run.port(Clusters).access(self.cluster).add(self.rules)
        return Done(Nothing())

    def verify(self, run: Running) -> Outcome[Nothing]:
        """Every rule is there, and every broker has heard of it; then that is recorded."""
        wanted = frozenset(self.rules)
        missing = _awaited(run, lambda: wanted - rules_there(run, self.cluster, self.rules))
        if missing:
            return Failed(f"access rules missing at {self.cluster}: {rules_in_words(missing)}")
        behind = run.port(Clusters).await_brokers(self.cluster, run.timeout_s / 2)
        if behind:
            return Unknown(f"brokers of {self.cluster} that may not know the access rules yet: {behind}")
        if self.topics:
            run.port(EstateRecord).write(self._denial)
        return Done(
            Nothing(), f"{plural(len(wanted), 'access rule')} in force at every broker of {self.cluster}"
        )

    def undo(self, run: Running) -> Outcome[Nothing]:
        """Take away what this run brought in, after what it has recorded; what was there before stays."""
        if self.topics:
            run.port(EstateRecord).withdraw(DenialInForce, like=self._denial)
        run.port(Clusters).access(self.cluster).remove(self._own(run))
        return Done(Nothing())

    def verify_undone(self, run: Running) -> Outcome[Nothing]:
        """Nothing of it is there any more."""
        own = self._own(run)
        left = _awaited(run, lambda: own & rules_there(run, self.cluster, self.rules))
        if left:
            return Failed(f"access rules still at {self.cluster}: {rules_in_words(left)}")
        return Done(Nothing(), f"access rules of {self.cluster} as before the run")

    def facts(self, result: Nothing) -> Iterable[Body]:  # noqa: ARG002 - it is what was asked for
        """See `Effect`."""
        return (self._denial,) if self.topics else ()

    @property
    def _denial(self) -> DenialInForce:
        return DenialInForce(
            cluster=self.cluster, topics=self.topics, principals=denied_principals(self.rules)
        )


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class LiftRules(
    Verified[Nothing],
    Reversible,
    VerifiedUndo,
    Effect[Nothing],
    name="lift-rules",
    phase="fence",
    title="Remove the access rules that deny applications at {cluster}",
    expected_s=0.5,
):
    """Take the rules of a fence away, whoever brought them in.

    `topics`: those of which not every writer is denied any more. That is recorded before the first rule goes.
    """

    cluster: str
    rules: tuple[Acl, ...]
    recorded_by: Handle[RulesFound]
    topics: Topics = ()

    def frees(self) -> Iterable[Held]:
        """See `Effect`."""
        return denials(self.cluster, self.rules)

    def perform(self, run: Running) -> Outcome[Nothing]:
        """See `Effect`."""
        if self.topics:
            run.port(EstateRecord).write(self._lifted)
        run.port(Clusters).access(self.cluster).remove(self.rules)
        return Done(Nothing())

    def verify(self, run: Running) -> Outcome[Nothing]:
        """None of them is there."""
        left = _awaited(run, lambda: rules_there(run, self.cluster, self.rules))
        if not left:
            return Done(Nothing(), f"{plural(len(self.rules), 'access rule')} removed at {self.cluster}")
        lifted = frozenset(self.rules) - left
        if not lifted:
            return Failed(f"access rules still at {self.cluster}: {rules_in_words(left)}")
        return Partial(
            f"access rules still at {self.cluster}: {rules_in_words(left)}; removed: {rules_in_words(lifted)}"
        )

    def undo(self, run: Running) -> Outcome[Nothing]:
        """Bring back those of the lifted rules that had been there."""
        run.port(Clusters).access(self.cluster).add(self._had(run))
        return Done(Nothing())

    def verify_undone(self, run: Running) -> Outcome[Nothing]:
        """All that had been there is there. Where nobody had been let write, that counts as denied again."""
        had = self._had(run)
        missing = _awaited(run, lambda: had - rules_there(run, self.cluster, self.rules))
        if missing:
            return Failed(f"access rules missing at {self.cluster}: {rules_in_words(missing)}")
        if self.topics and all(rule in had for rule in self.rules if rule.operation == "WRITE"):
            run.port(EstateRecord).withdraw(DenialLifted, like=self._lifted)
        return Done(Nothing(), f"access rules of {self.cluster} as before the run")

    def facts(self, result: Nothing) -> Iterable[Body]:  # noqa: ARG002 - it is what was asked for
        """See `Effect`."""
        return (self._lifted,) if self.topics else ()

    @property
    def _lifted(self) -> DenialLifted:
        return DenialLifted(cluster=self.cluster, topics=self.topics)

    def _had(self, run: Running) -> frozenset[Acl]:
        return frozenset(run.of(self.recorded_by).had) & frozenset(self.rules)


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class AllowAtTarget(
    LiftRules,
    name="let-in",
    title="Allow writes at {cluster} to producers that move themselves",
    irreversible="these producers may write as soon as they are allowed to",
):
    """The same for producers that move themselves: they may write from then on."""


def denials(cluster: str, rules: Iterable[Acl]) -> Iterable[Held]:
    """What rules that deny keep from working at a cluster."""
    return (Held(rule.what, "denied", cluster, told_as="applications") for rule in rules)


def rules_there(run: Running, cluster: str, rules: Iterable[Acl]) -> frozenset[Acl]:
    """Which of the rules a cluster has. Raises `ClusterError` where it does not say."""
    wanted = frozenset(rules)
    return wanted & run.port(Clusters).access(cluster).rules(rule.principal for rule in wanted)


def rules_in_words(rules: Iterable[Acl]) -> str:
    """The first few rules in words, and how many more there are."""
    texts = (
        f"{rule.permission} {rule.operation} on {rule.resource_type.lower()} {rule.resource_name}"
        f" to {rule.principal}"
        for rule in sorted(rules)
    )
    return listed(texts, _LISTED)


def _what(rules: Iterable[Acl]) -> str:
    operations = {rule.operation for rule in rules}
    return {frozenset({"WRITE"}): "writing", frozenset({"READ"}): "reading"}.get(
        frozenset(operations), "reading and writing"
    )


def _awaited(run: Running, what_is_wrong: Callable[[], frozenset[Acl]]) -> frozenset[Acl]:
    """What is still wrong after a moment."""
    wrong: frozenset[Acl] = frozenset()

    def is_right() -> bool:
        nonlocal wrong
        wrong = what_is_wrong()
        return not wrong

    run.await_true(is_right, _SETTLED_S, poll_s=0.05)
    return wrong
