"""Access rules as the file implies them against those that there are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from orchestrator.estate.desired_acls import TRANSACTIONAL_ID
from orchestrator.reconcile.access import CreateAcls, DeleteAcls
from orchestrator.reconcile.applied import rules_of
from orchestrator.reconcile.comparison import Comparison
from orchestrator.reconcile.difference import Cause, Difference, Finding, Mend
from orchestrator.values import Acl


def compare_access(side: Comparison) -> Iterator[Finding]:
    """Rules that are missing, and those of the file's principals that it does not imply.

    Withdrawn is only what an apply of this file had made. A DENY is told and never removed here: it may be
    the fence of a failover.
    """
    found = side.observed.acls
    if found is None or not side.observed.has_authorizer:
        return
    known = side.applied.acls if side.applied else frozenset()
    for rules in _by_resource(side.desired.acls - found):
        cause: Cause = "drift" if any(rule in known for rule in rules) else "change"
        reason = "it was removed" if cause == "drift" else "the principal needs it"
        yield Finding(
            _difference(side, rules, cause, "planned", reason, is_wanted=True),
            CreateAcls(cluster=side.desired.name, rules=tuple(rules)),
        )
    own = {rule for rule in found if rule.principal in side.desired.principals}
    # A fence, or a move, has made these, and takes them away.
    extra = own - side.desired.acls - side.desired.spared_acls - side.denied.keys()
    kept = side.kept.acls.keys()
    for rules in _by_resource((extra & known) - kept):
        yield _no_longer_implied(side, rules)
    for rules in _by_resource(extra & known & kept):
        reason = side.kept.acls[rules[0]]
        yield Finding(_difference(side, rules, "change", "kept", reason, is_wanted=False))
    for rules in _by_resource(extra - known):
        yield _of_others(side, rules)


def _no_longer_implied(side: Comparison, rules: list[Acl]) -> Finding:
    """An apply of this file made them."""
    is_allowed = "delete-acls" in side.allow
    mend: Mend = "planned" if is_allowed else "not-allowed"
    difference = _difference(
        side, rules, "change", mend, "the file does not imply it any more", is_wanted=False
    )
    withdrawal = DeleteAcls(cluster=side.desired.name, rules=tuple(rules))
    return Finding(difference, withdrawal if is_allowed else None)


def _of_others(side: Comparison, rules: list[Acl]) -> Finding:
    """Who made them is not known: another file with the same principal may imply them, or a person."""
    if rules[0].permission == "DENY":
        reason = f"it may be a fence: `dcctl unfence FILE --cluster {side.desired.name}` removes it"
        return Finding(_difference(side, rules, "drift", "kept", reason, is_wanted=False))
    reason = "no apply of this file created it, so no apply withdraws it"
    if rules[0].resource_type == TRANSACTIONAL_ID:
        reason += "; `transactional_ids` of a producer gives it wherever the producer may work"
    cause: Cause = "change" if side.applied is None else "drift"
    return Finding(_difference(side, rules, cause, "kept", reason, is_wanted=False))


def _difference(
    side: Comparison, rules: list[Acl], cause: Cause, mend: Mend, reason: str, *, is_wanted: bool
) -> Difference:
    first = rules[0]
    name = f"{first.resource_name}*" if first.pattern == "PREFIXED" else first.resource_name
    operations = ", ".join(sorted(rule.operation for rule in rules))
    host = "" if first.host == "*" else f" from {first.host}"
    text = f"{first.permission} {operations}{host}"
    return Difference(
        cluster=side.desired.name,
        subject=rules_of(first.principal),
        aspect=f"{first.resource_type.lower()} {name}",
        wanted=text if is_wanted else "",
        found="" if is_wanted else text,
        cause=cause,
        mend=mend,
        reason=reason,
        needs=None if is_wanted or mend == "kept" else "delete-acls",
    )


def _by_resource(rules: Iterable[Acl]) -> Iterator[list[Acl]]:
    """Rules that differ only in their operation, together; in order."""
    groups: dict[Acl, list[Acl]] = {}
    for rule in sorted(rules):
        groups.setdefault(rule._replace(operation=""), []).append(rule)
    yield from groups.values()
