"""Access rules as the file implies them against those that there are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from orchestrator.planning.layout.applied import rules_of
from orchestrator.planning.layout.comparison import Comparison
from orchestrator.planning.layout.difference import Cause, Difference, Finding, Mend, Work
from orchestrator.values import Acl

_Resource = tuple[str, str, str, str, str, str]


def compare_access(side: Comparison) -> Iterator[Finding]:
    """Rules that are missing, and those of the file's principals that it does not imply.

    A DENY is told and never removed here: it may be the fence of a failover.
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
            _work("create-acls", side, rules),
        )
    own = {rule for rule in found if rule.principal in side.desired.principals}
    for rules in _by_resource(own - side.desired.acls - side.desired.spared_acls):
        yield _extra(side, rules, known)


def _extra(side: Comparison, rules: list[Acl], known: frozenset[Acl]) -> Finding:
    if rules[0].permission == "DENY":
        reason = "it may be a fence: `dcctl unfence` takes that away"
        return Finding(_difference(side, rules, "drift", "kept", reason, is_wanted=False))
    was_ours = any(rule in known for rule in rules)
    is_allowed = "delete-acls" in side.allow
    difference = _difference(
        side,
        rules,
        "drift" if side.applied is not None and not was_ours else "change",
        "planned" if is_allowed else "not-allowed",
        "the file implies it no more" if was_ours else "the file does not imply it",
        is_wanted=False,
    )
    return Finding(difference, _work("delete-acls", side, rules) if is_allowed else None)


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


def _work(action: str, side: Comparison, rules: list[Acl]) -> Work:
    first = rules[0]
    return Work(
        action=action,
        cluster=side.desired.name,
        name=" ".join(_resource(first)),
        arguments={"rules": [list(rule) for rule in rules]},
    )


def _by_resource(rules: Iterable[Acl]) -> Iterator[list[Acl]]:
    """Rules that differ only in their operation, together; in order."""
    groups: dict[_Resource, list[Acl]] = {}
    for rule in sorted(rules):
        groups.setdefault(_resource(rule), []).append(rule)
    yield from groups.values()


def _resource(rule: Acl) -> _Resource:
    return (
        rule.principal,
        rule.resource_type,
        rule.resource_name,
        rule.pattern,
        rule.permission,
        rule.host,
    )
