"""The conditions for applying a file. Each measures one thing; refused and unknown both stop."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from orchestrator.estate.desired import DesiredEstate
from orchestrator.estate.observed import ObservedCluster, ObservedEstate
from orchestrator.ports.part import Part
from orchestrator.reconcile.applied import Applied, AppliedCluster
from orchestrator.reconcile.batch import Batch
from orchestrator.reconcile.difference import Difference
from orchestrator.reconcile.held import newest_moves
from orchestrator.reconcile.topics import SetConfig
from orchestrator.runs.coordination_gates import coordination_gate, not_held_gate
from orchestrator.runs.coordination_state import CoordinationState, EarlierRun
from orchestrator.runs.gate import absent, asked_again, gate_result
from orchestrator.runs.pending_verification import how_to_end
from orchestrator.runs.plan import GateOutcome, GateResult
from orchestrator.runs.same_clusters import same_clusters
from orchestrator.runs.way_back import ways_out
from orchestrator.topology.model import Topology
from orchestrator.topology.verbs import put_back_command
from orchestrator.wording import listed, plural


@dataclass(frozen=True, slots=True, kw_only=True)
class ReconcileSituation:
    """All that the gates judge."""

    topology: Topology
    desired: DesiredEstate
    observed: ObservedEstate
    coordination: Part[CoordinationState]
    differences: tuple[Difference, ...]
    works: tuple[Batch, ...]
    applied: Applied | None = None
    accepted_clusters: tuple[str, ...] = ()

    def placing(self, cluster: str) -> bool:
        """Whether anything is to be done at a cluster that gives brokers replicas."""
        return any(work.cluster == cluster and work.PLACES_REPLICAS for work in self.works)


def reconcile_gates(situation: ReconcileSituation) -> tuple[GateResult, ...]:
    """Every gate, in the order in which a person would ask."""
    return (*(gate(situation) for gate in _GATES), *_site_is_back(situation))


def _coordination(s: ReconcileSituation) -> GateResult:
    return coordination_gate(s.coordination)


def _not_held(s: ReconcileSituation) -> GateResult:
    return not_held_gate(s.coordination, s.topology, s.topology.clusters)


def _same_clusters(s: ReconcileSituation) -> GateResult:
    return same_clusters(s.topology, s.coordination, cluster_ids(s.observed), s.accepted_clusters)


def cluster_ids(observed: ObservedEstate) -> dict[str, str]:
    """The id of each cluster that was seen."""
    return {name: found.cluster_id for name, found in observed.clusters.items() if not found.problem}


@asked_again()
def _moves_ended(s: ReconcileSituation) -> GateResult:
    limit = "no move of applications is under way"
    if s.coordination.value is None:
        return absent("moves-ended", s.coordination, limit)
    moves = {run.run_id: run for run in newest_moves(s.topology, s.coordination).values()}
    open_runs = [run for run in moves.values() if run.outcome not in ("ok", "undone") and not run.let_stand]
    return gate_result(
        "moves-ended",
        "refused" if open_runs else "ok",
        listed(f"run {run.run_id}: {run.outcome}" for run in moves.values()) or "no earlier move",
        limit,
        "a move stopped on the way, and an apply would undo what it has changed: "
        + listed(f"run {run.run_id} ({run.way})" for run in open_runs)
        if open_runs
        else "no move has stopped on the way",
        listed((_how_to_end(run, s.topology) for run in open_runs), separator="; "),
    )


def _how_to_end(run: EarlierRun, file: Topology) -> str:
    between, run_id = {run.source, run.target}, run.run_id
    if any({mirror.source, mirror.target} == between for mirror in file.replication):
        if run.looks:
            return how_to_end(run)
        return ways_out(run_id, run.no_way_back)
    return (
        f"dcctl resume {run_id} OLD-FILE, or dcctl abort {run_id} OLD-FILE, "
        f"with --leave STEP for what may stand; OLD-FILE: the file as it was when {run_id} began, "
        f"for this one has no mirror between {run.source} and {run.target}"
    )


@asked_again()
def _clusters_known(s: ReconcileSituation) -> GateResult:
    limit = "each cluster answers, and shows everything that the file describes"
    missing = [
        problem
        for name in s.topology.clusters
        for problem in _unknown_parts(s, name, s.observed.clusters.get(name))
    ]
    return gate_result(
        "clusters-known",
        "unknown" if missing else "ok",
        f"{len(s.topology.clusters) - len({text.partition(':')[0] for text in missing})} of "
        f"{len(s.topology.clusters)} clusters",
        limit,
        listed(missing)
        if missing
        else f"everything that the topology file describes could be read at {listed(s.topology.clusters)}",
        "make it readable first: what cannot be read may exist or not" if missing else "",
    )


def _unknown_parts(s: ReconcileSituation, name: str, cluster: ObservedCluster | None) -> list[str]:
    if cluster is None:
        return [f"{name} was not asked"]
    if cluster.problem:
        return [f"{name}: {cluster.problem}"]
    wanted = s.desired.clusters[name]
    # What the last apply has set may have to be removed; a record made without seeing it would forget it.
    last = (s.applied.clusters.get(name) if s.applied else None) or AppliedCluster()
    parts = {
        "acls": bool(wanted.acls or last.acls) and cluster.acls is None,
        "quotas": bool(wanted.quotas or last.quotas) and cluster.quotas is None,
        "connectors": bool(wanted.connectors or last.connectors) and cluster.connectors is None,
        "reassigning": s.placing(name) and cluster.reassigning is None,
    }
    return [
        f"{name}: {part}: {cluster.unknown.get(part, 'cannot be read')}"
        for part, is_missing in parts.items()
        if is_missing
    ]


def _brokers_alive(s: ReconcileSituation) -> GateResult:
    limit = "where replicas are to be placed, every broker of the file is alive, in its data centre and rack"
    wrong = []
    seen = 0
    for name, cluster in s.topology.clusters.items():
        observed = s.observed.clusters.get(name)
        if observed is None or observed.problem:
            continue
        seen += len(observed.brokers)
        if s.placing(name):
            wrong += _wrong_brokers(name, cluster.brokers_per_rack, observed)
    return gate_result(
        "brokers-alive",
        "refused" if wrong else "ok",
        plural(seen, "broker"),
        limit,
        listed(wrong) if wrong else "every broker that is to get replicas is alive",
        "start these brokers, set their broker.rack, or correct the file" if wrong else "",
    )


def _wrong_brokers(name: str, per_rack: Mapping[str, int], observed: ObservedCluster) -> list[str]:
    if len(per_rack) == 1:
        (wanted,) = per_rack.values()
        has = len(observed.brokers)
        return [f"{name} has {has} of {wanted} brokers"] if has < wanted else []
    found = {rack: sum(broker.rack == rack for broker in observed.brokers) for rack in per_rack}
    wrong = [f"{name} has {found[rack]} of {wanted} brokers in {rack}" for rack, wanted in per_rack.items()
             if found[rack] < wanted]  # fmt: skip
    lost = [b for b in observed.brokers if b.rack not in per_rack]
    return wrong + [f"{name}: broker {b.broker_id} has rack {b.rack or 'none'}" for b in lost]


def _nothing_moves(s: ReconcileSituation) -> GateResult:
    limit = "no partition of a topic that changes is being reassigned"
    touched = {(work.cluster, name) for work in s.works if work.PLACES_REPLICAS for name in work.objects}
    busy = [
        f"{partition} at {name}"
        for name, cluster in s.observed.clusters.items()
        for partition in sorted(cluster.reassigning or ())
        if (name, partition.topic) in touched
    ]
    return gate_result(
        "no-reassignment",
        "refused" if busy else "ok",
        f"{sum(len(c.reassigning or ()) for c in s.observed.clusters.values())} partitions being reassigned",
        limit,
        f"being reassigned: {listed(busy)}"
        if busy
        else "no partition of a topic that changes is being reassigned",
        "wait until the reassignment has ended, then try again" if busy else "",
    )


def _site_is_back(s: ReconcileSituation) -> Iterator[GateResult]:
    """Only where a site was lost: what was lowered for that is put back by the failback, and no sooner."""
    limit = "no setting that was lowered for a lost site is set back by this"
    state = s.coordination.value
    for name, lowered in (state.lowered if state is not None else {}).items():
        back = sorted(
            topic
            for work in s.works
            if isinstance(work, SetConfig) and work.cluster == name
            for topic, wanted in work.topics.items()
            if topic in lowered.lowered and "min.insync.replicas" in wanted["set"]
        )
        since = f"lowered since {listed(lowered.sites)} was lost"
        stops = f"min.insync.replicas of {listed(back)} at {name} is {since}: writes would stop"
        yield gate_result(
            "site-back",
            "refused" if back else "ok",
            f"{plural(len(lowered.lowered), 'topic')} of {name} {since}",
            limit,
            stops if back else limit,
            f"{put_back_command(name)}, once the site is back" if back else "",
        )


def _possible(s: ReconcileSituation) -> GateResult:
    limit = "Kafka can make every change that the file asks for"
    refused = [d for d in s.differences if d.mend == "refused"]
    outcome: GateOutcome = "refused" if refused else "ok"
    return gate_result(
        "possible",
        outcome,
        plural(len(s.differences), "difference"),
        limit,
        listed(f"{d.subject} at {d.cluster}: {d.aspect} {d.found}, the file says {d.wanted}" for d in refused)
        or "Kafka can make every change that the file asks for",
        listed(dict.fromkeys(d.reason for d in refused)),
    )


_GATES: tuple[Callable[[ReconcileSituation], GateResult], ...] = (
    _coordination,
    _not_held,
    _same_clusters,
    _moves_ended,
    _clusters_known,
    _brokers_alive,
    _nothing_moves,
    _possible,
)
