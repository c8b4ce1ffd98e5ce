"""Access rules: creating and deleting exactly those that a plan names."""

from __future__ import annotations

from orchestrator.engine import Results, StepOutcome
from orchestrator.operations.layout.session import LayoutSession
from orchestrator.planning.plan import Step
from orchestrator.values import Acl
from orchestrator.wording import listed

_SETTLE_S = 10.0


def create_acls(session: LayoutSession, step: Step, _results: Results) -> StepOutcome:
    """Create them; those that exist stay."""
    rules = _rules(step)
    session.at(step.arguments["cluster"]).create_acls(rules)
    return StepOutcome("ok", f"{len(rules)} rules")


def delete_acls(session: LayoutSession, step: Step, _results: Results) -> StepOutcome:
    """Delete them; one that is not there is no error."""
    rules = _rules(step)
    session.at(step.arguments["cluster"]).delete_acls(rules)
    return StepOutcome("ok", f"{len(rules)} rules")


def rules_are_there(session: LayoutSession, step: Step, _results: Results) -> StepOutcome:
    """Every one of them."""
    cluster, wanted = session.at(step.arguments["cluster"]), _rules(step)
    if session.await_true(lambda: wanted <= cluster.acls(), _SETTLE_S):
        return StepOutcome("ok")
    return StepOutcome(
        "failed", f"missing: {listed(_text(rule) for rule in sorted(wanted - cluster.acls()))}"
    )


def rules_are_gone(session: LayoutSession, step: Step, _results: Results) -> StepOutcome:
    """None of them."""
    cluster, unwanted = session.at(step.arguments["cluster"]), _rules(step)
    if session.await_true(lambda: not unwanted & cluster.acls(), _SETTLE_S):
        return StepOutcome("ok")
    return StepOutcome(
        "failed", f"still there: {listed(_text(r) for r in sorted(unwanted & cluster.acls()))}"
    )


def _rules(step: Step) -> frozenset[Acl]:
    return frozenset(Acl(*rule) for rule in step.arguments["rules"])


def _text(rule: Acl) -> str:
    return f"{rule.principal} {rule.operation} {rule.resource_name}"
