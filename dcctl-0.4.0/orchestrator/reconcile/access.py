"""Access rules: creating and deleting exactly those that a plan names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar, Self

from pydantic.dataclasses import dataclass

from orchestrator.reconcile.batch import SETTLE_S, Batch
from orchestrator.reconcile.ports import ReconciledClusters
from orchestrator.runs.effect import (
    EFFECT_CONFIG,
    Done,
    Failed,
    Held,
    Nothing,
    Outcome,
    Reversible,
    Running,
    VerifiedUndo,
)
from orchestrator.values import Acl
from orchestrator.wording import listed, plural


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class OnRules(Reversible, VerifiedUndo, Batch, expected_s=0.3):
    """Rules that come (`CREATES`) or go; what takes one back does the other. Twice is once."""

    AT_ONCE: ClassVar[int] = 1_000
    EACH_S: ClassVar[float] = 0.002
    CREATES: ClassVar[bool]

    rules: tuple[Acl, ...]

    @property
    def objects(self) -> tuple[Acl, ...]:
        """See `Batch`."""
        return self.rules

    @classmethod
    def joined(cls, works: Sequence[Self]) -> Self:
        """See `Batch`."""
        rules = (rule for work in works for rule in work.rules)
        return cls(cluster=works[0].cluster, rules=tuple(dict.fromkeys(rules)))

    @property
    def what(self) -> str:
        """See `Batch`."""
        return (
            f"{plural(len(self.rules), 'operation')} of "
            f"{listed(sorted({rule.principal for rule in self.rules}))}"
        )

    def perform(self, run: Running) -> Outcome[Nothing]:
        """See `Effect`."""
        return self._write(run, creating=self.CREATES)

    def verify(self, run: Running) -> Outcome[Nothing]:
        """Every one of them is there, or none."""
        return self._seen(run, created=self.CREATES)

    def undo(self, run: Running) -> Outcome[Nothing]:
        """See `Reversible`."""
        return self._write(run, creating=not self.CREATES)

    def verify_undone(self, run: Running) -> Outcome[Nothing]:
        """See `VerifiedUndo`."""
        return self._seen(run, created=not self.CREATES)

    def _write(self, run: Running, *, creating: bool) -> Outcome[Nothing]:
        kafka = run.port(ReconciledClusters).at(self.cluster).kafka
        (kafka.create_acls if creating else kafka.delete_acls)(frozenset(self.rules))
        return Done(Nothing(), plural(len(self.rules), "access rule"))

    def _seen(self, run: Running, *, created: bool) -> Outcome[Nothing]:
        kafka, rules = run.port(ReconciledClusters).at(self.cluster).kafka, frozenset(self.rules)

        def wrong() -> frozenset[Acl]:
            there = kafka.acls() or frozenset()
            return rules - there if created else rules & there

        if run.await_true(lambda: not wrong(), SETTLE_S):
            return Done(Nothing())
        texts = (f"{rule.principal} {rule.operation} {rule.resource_name}" for rule in sorted(wrong()))
        return Failed(f"access rules {'missing' if created else 'still'} at {self.cluster}: {listed(texts)}")


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class CreateAcls(OnRules, name="create-acls", phase="access", title="Create access rules for"):
    """Create rules; those that exist stay."""

    CREATES: ClassVar[bool] = True


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class DeleteAcls(OnRules, name="delete-acls", phase="remove", title="Delete access rules for"):
    """Delete rules; one that is not there is no error."""

    CREATES: ClassVar[bool] = False

    def holds(self) -> Iterable[Held]:
        """What was allowed."""
        return (
            Held(rule.what, "not allowed", self.cluster, told_as=rule.principal)
            for rule in self.rules
            if rule.permission == "ALLOW"
        )
