"""The conditions for fencing: rules must be able to touch those whom they name, and nobody else."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from orchestrator.planning.coordination_gates import coordination_gate, not_held_gate
from orchestrator.planning.observation import CoordinationState, Part
from orchestrator.planning.picture import DigestedPicture
from orchestrator.planning.plan import GateResult, digest
from orchestrator.planning.same_clusters import same_clusters
from orchestrator.planning.situation import absent, gate_result, listed
from orchestrator.topology.model import Topology
from orchestrator.topology.rules.rule import plural


@dataclass(frozen=True, slots=True)
class AccessState:
    """`authorizer` is empty for none; `super_users` are above every rule, None where nobody tells them.

    `operator` is the orchestrator's own principal, as far as the file has its name.
    """

    authorizer: str
    super_users: frozenset[str] | None
    operator: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FencePicture(DigestedPicture):
    """One cluster as a fence sees it.

    `brokers`: id -> address of those that answer; `cluster_id`: what they say, None where none answers.
    """

    at_s: float
    brokers: Part[Mapping[int, str]]
    access: Part[AccessState]
    coordination: Part[CoordinationState]
    cluster_id: str | None = None

    def cluster_ids(self, cluster: str) -> dict[str, str]:
        """The id by the cluster's name in the file, if it answers."""
        return {} if self.cluster_id is None else {cluster: self.cluster_id}

    def digests(self) -> dict[str, str]:
        """What must not change between plan and act."""
        brokers, access = self.brokers.value, self.access.value
        return {
            "brokers": digest(None if brokers is None else sorted(brokers.items())),
            "access": digest(
                None if access is None else [access.authorizer, sorted(access.super_users or ())]
            ),
        }


def fence_gates(
    topology: Topology,
    picture: FencePicture,
    cluster: str,
    principals: Iterable[str],
    accepted: Collection[str] = (),
) -> tuple[GateResult, ...]:
    """Every gate of a fence."""
    return (
        *_common_gates(topology, picture, cluster, accepted),
        fenceable(picture.access, topology, cluster, tuple(principals)),
    )


def unfence_gates(
    topology: Topology,
    picture: FencePicture,
    cluster: str,
    acknowledged: str,
    accepted: Collection[str] = (),
) -> tuple[GateResult, ...]:
    """Every gate of taking a fence away."""
    return (
        *_common_gates(topology, picture, cluster, accepted),
        _primary_here(picture.coordination, topology, cluster, acknowledged),
    )


def _common_gates(
    topology: Topology, picture: FencePicture, cluster: str, accepted: Collection[str]
) -> tuple[GateResult, ...]:
    return (
        coordination_gate(picture.coordination),
        not_held_gate(picture.coordination, topology, (cluster,)),
        _reachable(picture.brokers, cluster),
        same_clusters(topology, picture.coordination, picture.cluster_ids(cluster), accepted),
    )


def _primary_here(
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
        reason = "whoever is let in writes at the primary"
        return gate_result("primary-here", "ok", measured, limit, reason)
    told = listed(f"{name} at {known.cluster} ({known.run_id})" for name, known in sorted(away.items()))
    if acknowledged:
        reason = f"primary elsewhere: {told}; acknowledged by {acknowledged}"
        return gate_result("primary-here", "ok", measured, limit, reason)
    return gate_result(
        "primary-here",
        "refused",
        measured,
        limit,
        f"applications would write at a second primary: {told}",
        f"dcctl failback makes {cluster} primary and lets them in; "
        'whoever owns them may still want it: --acknowledge "OWNER: comment"',
    )


def fenceable(
    access: Part[AccessState], topology: Topology, cluster: str, principals: tuple[str, ...]
) -> GateResult:
    """Whether rules reach all that they name."""
    limit = "an authorizer at every broker, and nobody among them above the rules"
    if access.value is None:
        return absent("fenceable", access, limit)
    hint = f"close the client listener of {cluster} for them, or give them principals of their own"
    if not access.value.authorizer:
        reason = "there is no authorizer: access rules have no effect"
        return gate_result("fenceable", "refused", "no authorizer", limit, reason, hint)
    known = access.value.super_users
    engine = topology.clusters[cluster].mirror_principal
    reasons = [
        f"{who} is a super user: no rule can deny it anything"
        for who in sorted((known or frozenset()).intersection(principals))
    ]
    reasons += [f"{who} is the replication engine's: it has to go on" for who in principals if who == engine]
    reasons += [f"{who} is dcctl's own" for who in principals if who == access.value.operator]
    told = "super users are not told" if known is None else f"{len(known)} super users"
    return gate_result(
        "fenceable",
        "refused" if reasons else "ok",
        measured=f"{len(principals)} principals, {told}",
        limit=limit,
        reason=listed(reasons)
        or ("who is above them shows by writing on" if known is None else "rules reach all of them"),
        hint=hint if reasons else "",
    )


def _reachable(brokers: Part[Mapping[int, str]], cluster: str) -> GateResult:
    limit = f"{cluster} answers: what cannot be reached cannot be verified as fenced"
    if brokers.value is None:
        return absent("reachable", brokers, limit)
    count = len(brokers.value)
    return gate_result(
        "reachable",
        "ok" if count else "unknown",
        measured=plural(count, "broker"),
        limit=limit,
        reason="it answers" if count else "no broker answers",
        hint="" if count else f"bring the brokers of {cluster} back first",
    )
