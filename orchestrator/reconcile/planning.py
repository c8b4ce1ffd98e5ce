"""The plan that brings an estate to what its file says. Pure: file and observation in, plan out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from orchestrator.estate.desired import DesiredEstate, desired_estate
from orchestrator.estate.observed import ObservedCluster, ObservedEstate
from orchestrator.estate.placement import Spread
from orchestrator.ports.part import Part
from orchestrator.reconcile.applied import Applied, applied_now
from orchestrator.reconcile.compare_access import compare_access
from orchestrator.reconcile.compare_connectors import compare_connectors
from orchestrator.reconcile.compare_patterns import compare_patterns, patterns_seen
from orchestrator.reconcile.compare_quotas import compare_quotas
from orchestrator.reconcile.compare_sides import compare_sending
from orchestrator.reconcile.compare_topics import compare_topics
from orchestrator.reconcile.comparison import Comparison
from orchestrator.reconcile.difference import Difference, Finding
from orchestrator.reconcile.digests import observed_digests
from orchestrator.reconcile.gates import ReconcileSituation, cluster_ids, reconcile_gates
from orchestrator.reconcile.held import Kept, held_mirrors, kept_by_held
from orchestrator.reconcile.record import RecordApplied
from orchestrator.reconcile.runbook import add_works
from orchestrator.runs.coordination_state import CoordinationState
from orchestrator.runs.hooks import hooks_around
from orchestrator.runs.plan import GateResult, Plan, digest, with_seconds
from orchestrator.runs.runbook import Runbook, behind
from orchestrator.runs.same_clusters import GATE as SAME_CLUSTERS
from orchestrator.runs.same_clusters import ids_to_remember
from orchestrator.topology.loading import dump_topology
from orchestrator.topology.model import Replication, Topology
from orchestrator.values import Acl, TopicPartition

VERB = "apply"
# A plan may wait for a colleague's review over night; what moves meanwhile is seen by its digests.
EXPIRES_AFTER_S = 24 * 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyRequest:
    """An apply as asked for. `accept_cluster`: see `same_clusters`; `by` and `reason` go to the journal."""

    accept_cluster: tuple[str, ...] = ()
    by: str = ""
    reason: str = ""

    def as_json(self) -> dict[str, Any]:
        """For the plan and the journal; empty where nothing is overridden."""
        if not self.accept_cluster:
            return {}
        return {"accept_cluster": list(self.accept_cluster), "by": self.by, "reason": self.reason}

    @classmethod
    def of_plan(cls, plan: Plan) -> ApplyRequest:
        """As a plan was asked for."""
        said = plan.request
        return cls(
            accept_cluster=tuple(said.get("accept_cluster", ())),
            by=str(said.get("by", "")),
            reason=str(said.get("reason", "")),
        )


def plan_reconcile(
    topology: Topology,
    observed: ObservedEstate,
    *,
    coordination: Part[CoordinationState],
    applied: Applied | None = None,
    sizes: Mapping[str, Mapping[TopicPartition, int]] | None = None,
    request: Mapping[str, Any] | None = None,
) -> Plan:
    """Compare file and estate, and plan what brings them together.

    `applied` is what was applied last; with it, what somebody changed (drift) is told from what the file
    says anew (change). `sizes`: bytes of one replica by cluster and partition, where known. `request`: what
    a person overrides (`accept_cluster`), who and why. The plan's `facts` hold every difference, also those
    that are left as they are, how much nobody's file knows, and which clusters could be `compared`.
    `applied_known`: whether the record of the last apply could be read at all; without it nobody can tell
    drift from change, nor what the file had once and has no more.
    """
    desired = desired_estate(topology)
    held = held_mirrors(topology, coordination)
    kept = kept_by_held(topology, coordination, applied, held)
    denied = coordination.value.denials if coordination.value else {}
    findings = tuple(
        finding
        for name in desired.clusters
        for finding in _compare(
            _side(
                topology,
                desired,
                observed,
                applied,
                name,
                kept=kept.get(name, Kept()),
                denied=denied.get(name, {}),
                sizes=(sizes or {}).get(name, {}),
            ),
            held.get(name, {}),
            topology.replication,
        )
    )
    works = tuple(finding.work for finding in findings if finding.work is not None)
    differences = tuple(finding.difference for finding in findings)
    situation = ReconcileSituation(
        topology=topology,
        desired=desired,
        observed=observed,
        coordination=coordination,
        differences=differences,
        works=works,
        applied=applied,
        accepted_clusters=tuple((request or {}).get("accept_cluster", ())),
    )
    described = dump_topology(topology)
    gates = reconcile_gates(situation)
    record = _record(desired, observed, differences, applied)
    new_ids = ids_to_remember(coordination, cluster_ids(observed))
    is_recorded = applied is not None and applied.says_the_same(record)
    book = Runbook()
    # To remember what was applied is nothing that anybody would have to be told of.
    with hooks_around(book, topology, VERB, "", "") if works else nullcontext():
        add_works(book, works, desired)
        if works or not is_recorded:
            done = behind(*book.last(), because="what was applied is recorded once it is done")
            with book.section("record", on_failure="stop"):
                book.add(RecordApplied(), after=[done])
    is_done = not book.steps and all(gate.outcome == "ok" for gate in gates)
    return with_seconds(
        Plan(
            verb=VERB,
            topology=topology.name,
            source="",
            target="",
            request=dict(request or {}),
            created_at_s=observed.at_s,
            expires_at_s=observed.at_s + EXPIRES_AFTER_S,
            topology_digest=digest(described),
            observed=observed_digests(observed, desired, works),
            gates=gates,
            steps=book.steps,
            facts={
                **({"done_by": applied.run_id} if is_done and applied else {}),
                # A plan file is canonical: names come back from it in another order than the file has.
                "clusters": list(desired.clusters),
                "differences": [difference.as_json() for difference in differences],
                "compared": [
                    name
                    for name in desired.clusters
                    if name in observed.clusters and not observed.clusters[name].problem
                ],
                "ignored": {
                    name: _ignored(desired, cluster)
                    for name, cluster in observed.clusters.items()
                    if name in desired.clusters
                },
                **new_ids,
                "held": {name: dict(reasons) for name, reasons in held.items()},
                "denied": _denied(observed, denied),
                "applied": {"run_id": applied.run_id, "at_s": applied.at_s} if applied else None,
                "applied_known": coordination.value is not None,
                **({"patterns": patterns} if (patterns := patterns_seen(topology, observed)) else {}),
                "topology": described,
            },
        )
    )


def record_of(
    topology: Topology,
    observed: ObservedEstate,
    differences: Iterable[Difference],
    applied: Applied | None,
    run_id: str = "",
) -> Applied:
    """What is to be remembered of an estate that was found like this, once what is planned is done."""
    return _record(desired_estate(topology), observed, differences, applied, run_id)


def _record(
    desired: DesiredEstate,
    observed: ObservedEstate,
    differences: Iterable[Difference],
    applied: Applied | None,
    run_id: str = "",
) -> Applied:
    left = [difference for difference in differences if difference.mend != "planned"]
    return applied_now(desired, observed, run_id, before=applied, left=left)


# Those that say whether something was not seen.
_OF_SEEING = frozenset({"coordination", "not-held", "moves-ended", "clusters-known", SAME_CLUSTERS})


def not_compared(plan: Plan) -> tuple[GateResult, ...]:
    """Gates by which some of the file may differ from its clusters though no difference is told."""
    return tuple(
        gate
        for gate in plan.gates
        if (gate.outcome == "unknown" and gate.id in _OF_SEEING) or is_of_other_clusters(gate)
    )


def is_of_other_clusters(gate: GateResult) -> bool:
    """Whether it says that other clusters than the file's were looked at: differences mean nothing then."""
    return gate.id == SAME_CLUSTERS and gate.outcome == "refused"


def changes_of(plan: Plan) -> int:
    """How many differences the plan mends. To remember what was applied is no change."""
    return sum(difference["mend"] == "planned" for difference in plan.facts["differences"])


def _side(
    topology: Topology,
    desired: DesiredEstate,
    observed: ObservedEstate,
    applied: Applied | None,
    name: str,
    *,
    kept: Kept,
    denied: Mapping[Acl, str],
    sizes: Mapping[TopicPartition, int],
) -> Comparison | None:
    found = observed.clusters.get(name)
    if found is None or found.problem:
        return None
    return Comparison(
        desired=desired.clusters[name],
        observed=found,
        applied=applied.clusters.get(name) if applied else None,
        estate=observed,
        spread=Spread(
            _racks(topology, name, found),
            [replicas for topic in found.topics.values() for replicas in topic.replicas],
        ),
        allow=frozenset(topology.allow),
        kept=kept,
        denied=denied,
        sizes=sizes,
    )


def _compare(
    side: Comparison | None, held: Mapping[str, str], mirrors: Iterable[Replication]
) -> Iterator[Finding]:
    """Nothing is concluded from a cluster that could not be seen."""
    if side is not None:
        yield from compare_topics(side)
        yield from compare_access(side)
        yield from compare_quotas(side)
        yield from compare_connectors(side, held)
        yield from compare_sending(side)
        yield from compare_patterns(side, mirrors)


def _racks(topology: Topology, name: str, found: ObservedCluster) -> dict[int, str | None]:
    """Data centre of each broker, or its rack where the file has some."""
    described = topology.clusters[name]
    if described.racks:
        return found.racks
    return {broker: described.site_of(rack) for broker, rack in found.racks.items()}


def _denied(
    observed: ObservedEstate, denied: Mapping[str, Mapping[Acl, str]]
) -> dict[str, dict[str, list[str]]]:
    """cluster -> run -> principals, of those rules that are there by which runs keep applications off."""
    found: dict[str, dict[str, list[str]]] = {}
    for name, rules in denied.items():
        there = (observed.clusters[name].acls if name in observed.clusters else None) or frozenset()
        for rule in sorted(there & rules.keys()):
            principals = found.setdefault(name, {}).setdefault(rules[rule], [])
            if rule.principal not in principals:
                principals.append(rule.principal)
    return found


def _ignored(desired: DesiredEstate, cluster: ObservedCluster) -> dict[str, int]:
    """How much there is that nobody's file names; Kafka's own topics are not counted."""
    wanted = desired.clusters[cluster.name]
    others = [t for t in cluster.topics.values() if t.name not in wanted.topics and not t.is_internal]
    return {
        "topics": len(others),
        "rules": sum(acl.principal not in wanted.principals for acl in cluster.acls or ()),
        "connectors": len((cluster.connectors or {}).keys() - wanted.connectors.keys()),
    }
