"""Client quotas by which the file's mirrors are limited, against those that there are."""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.reconcile.applied import cause_of, quota_of
from orchestrator.reconcile.comparison import Comparison
from orchestrator.reconcile.difference import Cause, Difference, Finding, Mend
from orchestrator.reconcile.quotas import SetQuotas
from orchestrator.values import PRODUCER_BYTE_RATE, QuotaOwner


def compare_quotas(side: Comparison) -> Iterator[Finding]:
    """Limits that are missing or other ones, and those on mirrors that the file does not imply.

    Removed is only what an apply of this file has set, and nobody has changed since.
    """
    if side.observed.quotas is None:
        return
    last = side.applied.quotas if side.applied else {}
    found = {
        owner: limits[PRODUCER_BYTE_RATE]
        for owner, limits in side.observed.quotas.items()
        if PRODUCER_BYTE_RATE in limits
    }
    for owner, limit in sorted(side.desired.quotas.items(), key=str):
        if found.get(owner) != limit:
            yield _unlike(side, owner, limit, found.get(owner), last.get(owner))
    for owner, has in sorted(found.items(), key=str):
        is_mirror = owner.user in side.desired.mirror_users and _may_be_mirror(side, owner)
        if owner in last and owner not in side.desired.quotas:
            yield (
                _no_longer_implied(side, owner, has)
                if has == last[owner]
                else _kept(
                    side,
                    owner,
                    has,
                    "drift",
                    f"somebody changed it from {last[owner]}, so no apply removes it",
                )
            )
        elif is_mirror and owner not in side.desired.quotas:
            cause: Cause = "change" if side.applied is None else "drift"
            yield _kept(side, owner, has, cause, _of_others(owner))


def _unlike(side: Comparison, owner: QuotaOwner, limit: int, has: float | None, last: int | None) -> Finding:
    if has is None:
        reason = "somebody removed it" if last == limit else "the mirror's max_bytes_per_s implies it"
    elif last is None:
        reason = "no apply of this file set what is there; the file's takes its place"
    elif last == has:
        reason = f"the file implied {last}"
    else:
        reason = f"somebody changed it from {last}"
    cause = cause_of(last, limit, has, is_known=side.applied is not None)
    return Finding(
        _difference(side, owner, limit, has, cause, "planned", reason), _set(side, owner, limit, has)
    )


def _no_longer_implied(side: Comparison, owner: QuotaOwner, has: float) -> Finding:
    """An apply of this file has set it."""
    reason = "the file limits its mirror no more"
    return Finding(
        _difference(side, owner, None, has, "change", "planned", reason), _set(side, owner, None, has)
    )


def _kept(side: Comparison, owner: QuotaOwner, has: float, cause: Cause, reason: str) -> Finding:
    return Finding(_difference(side, owner, None, has, cause, "kept", reason))


def _may_be_mirror(side: Comparison, owner: QuotaOwner) -> bool:
    """Whether it limits what mirrors write here: all clients of the principal, or one of the connectors."""
    return owner.client_id is None or owner.client_id in side.desired.connectors


def _of_others(owner: QuotaOwner) -> str:
    reason = "no apply of this file set it, so no apply removes it"
    if owner.client_id is None:
        reason += "; it limits all mirrors without max_bytes_per_s, and Connect's workers"
    return reason


def _set(side: Comparison, owner: QuotaOwner, limit: float | None, was: float | None) -> SetQuotas:
    user = owner.user or ""
    return SetQuotas(
        cluster=side.desired.name,
        quotas=({"user": user, "client_id": owner.client_id, "set": limit, "was": was},),
    )


def _difference(  # noqa: PLR0917 - what a difference is made of
    side: Comparison,
    owner: QuotaOwner,
    limit: float | None,
    has: float | None,
    cause: Cause,
    mend: Mend,
    reason: str,
) -> Difference:
    return Difference(
        cluster=side.desired.name,
        subject=quota_of(owner),
        aspect=PRODUCER_BYTE_RATE,
        wanted="" if limit is None else f"{limit:.0f}",
        found="" if has is None else f"{has:.0f}",
        cause=cause,
        mend=mend,
        reason=reason,
    )
