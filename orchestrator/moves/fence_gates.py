"""The conditions for fencing: rules must be able to touch those whom they name, and nobody else."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from orchestrator.moves.cluster_gates import gates_of_cluster
from orchestrator.ports.part import Part
from orchestrator.runs.coordination_state import CoordinationState
from orchestrator.runs.gate import absent, asked_again, gate_result
from orchestrator.runs.plan import GateResult
from orchestrator.snapshot.observation import AccessState
from orchestrator.snapshot.snapshot import Snapshot
from orchestrator.topology.model import Topology
from orchestrator.wording import all_of, listed, plural


def fence_gates(
    topology: Topology,
    seen: Snapshot,
    cluster: str,
    principals: Iterable[str],
    accepted: Collection[str] = (),
) -> tuple[GateResult, ...]:
    """Every gate of a fence."""
    return (
        *gates_of_cluster(topology, seen, cluster, accepted),
        fenceable(seen.cluster(cluster).access, topology, cluster, tuple(principals)),
    )


def unfence_gates(
    topology: Topology,
    seen: Snapshot,
    cluster: str,
    acknowledged: str,
    accepted: Collection[str] = (),
) -> tuple[GateResult, ...]:
    """Every gate of taking a fence away."""
    return (
        *gates_of_cluster(topology, seen, cluster, accepted),
        primary_here(seen.coordination, topology, cluster, acknowledged),
    )


@asked_again()
def primary_here(
    part: Part[CoordinationState], topology: Topology, cluster: str, acknowledged: str
) -> GateResult:
    """The rules are perhaps those with which a switchover or a failback keeps a second primary away."""
    limit = f"no topic of {cluster} is primary elsewhere"
    if part.value is None:
        return absent("primary-here", part, limit)
    own = [topic.name for topic in topology.topics if topic.cluster == cluster]
    away = {
        name: known
        for name in own
        if (known := part.value.primaries.get((cluster, name))) and known.cluster != cluster
    }
    measured = f"{len(away)} of {len(own)} topics are primary elsewhere"
    if not away:
        reason = f"{cluster} is primary for all its topics: applications may work there"
        return gate_result("primary-here", "ok", measured, limit, reason)
    told = listed(f"{name} at {known.cluster} ({known.run_id})" for name, known in sorted(away.items()))
    elsewhere = f"topics that the file gives {cluster} and that are primary elsewhere: {told}"
    if acknowledged:
        reason = f"{elsewhere}; acknowledged by {acknowledged}"
        return gate_result("primary-here", "ok", measured, limit, reason)
    return gate_result(
        "primary-here",
        "refused",
        measured,
        limit,
        f"{elsewhere}; applications would write at a second primary",
        f"dcctl failback FILE makes {cluster} primary and lets applications in; if the owners of the "
        'applications want it nevertheless: --acknowledge "OWNER: comment"',
    )


def fenceable(
    access: Part[AccessState], topology: Topology, cluster: str, principals: tuple[str, ...]
) -> GateResult:
    """Whether rules reach all that they name."""
    limit = f"{cluster} has an authorizer, and no principal to be denied is exempt from its rules"
    if access.value is None:
        return absent("fenceable", access, limit)
    hint = (
        f"give these applications principals of their own, or close the client listener of {cluster} for them"
    )
    if not access.value.authorizer:
        reason = f"{cluster} has no authorizer: access rules have no effect"
        return gate_result("fenceable", "refused", "no authorizer", limit, reason, hint)
    known = access.value.super_users
    engine = topology.clusters[cluster].mirror_principal
    reasons = [
        f"{who} is a super user of {cluster}: no rule can deny it anything"
        for who in sorted((known or frozenset()).intersection(principals))
    ]
    reasons += [
        f"{who} is the mirror's principal: denying it would stop the mirror"
        for who in principals
        if who == engine
    ]
    reasons += [
        f"{who} is dcctl's own principal: denying it would stop dcctl"
        for who in principals
        if who == access.value.operator
    ]
    told = "super users not known" if known is None else plural(len(known), "super user")
    return gate_result(
        "fenceable",
        "refused" if reasons else "ok",
        measured=f"{plural(len(principals), 'principal')}, {told}",
        limit=limit,
        reason=listed(reasons)
        or (
            f"access rules of {cluster} can deny every principal that is no super user; the brokers do not "
            "say who is one"
            if known is None
            else f"{cluster}: {all_of(len(principals), 'principal')} subject to its access rules"
        ),
        hint=hint if reasons else "",
    )
