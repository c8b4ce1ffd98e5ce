"""What a decision has to know of the ensemble: who else holds the lock, earlier runs, holds."""

from __future__ import annotations

from orchestrator.adapters.zookeeper import Coordination
from orchestrator.errors import CoordinationError
from orchestrator.guards.live.site_words import site_guards_said
from orchestrator.runs.coordination_state import CoordinationState
from orchestrator.runs.estate_record import ClusterIds, LogsTruncated, cluster_ids
from orchestrator.runs.live.earlier_runs import earlier_runs
from orchestrator.runs.live.estate_facts import read_primaries
from orchestrator.runs.live.estate_record import written_facts
from orchestrator.runs.live.holds import read_holds
from orchestrator.runs.live.journal import lock_path
from orchestrator.runs.primaries import primaries_of
from orchestrator.runs.within_clusters import (
    WITHIN_CLUSTERS,
    evacuated_sites,
    halted_mirrors,
    lowered_topics,
    placed_applications,
    quorums,
    sites_off,
    sites_started,
    stopped_services,
)
from orchestrator.runs.words import Words
from orchestrator.topology.model import Topology
from orchestrator.verbs.live.standing_denials import denied_rules
from orchestrator.verbs.registration import EFFECTS

_HINT = "start the ZooKeeper ensemble again, or correct `coordination.zookeeper` in the file"
_HINT_NAME_IT = 'coordination: {zookeeper: "HOST:PORT,…"} in the file; docs/file.md'


def coordination_subject(topology: Topology) -> str:
    """How errors name the ensemble of a topology."""
    return f"coordination at {topology.coordination.zookeeper}" if topology.coordination else "coordination"


def no_ensemble(topology: Topology, problem: str) -> CoordinationError:
    """The error for an ensemble that could not be opened, as `problem` says."""
    return CoordinationError(
        coordination_subject(topology), problem, _HINT if topology.coordination else _HINT_NAME_IT
    )


def read_coordination(
    coordination: Coordination | None,
    problem: str,
    topology: Topology,
    *,
    own_lock: bool,
    own_run: str = "",
    with_runs: bool = True,
    with_denials: bool = False,
    with_changes: bool = False,
    effects: Words = EFFECTS,
) -> CoordinationState:
    """The state as the ensemble tells it; `problem` says why there is none.

    `own_lock`: this process holds the lock, so a holder that is found is no other. `own_run`: id of this
    process's run, which is no earlier one. `with_runs`: earlier runs matter, also those along a mirror that
    has left the file; `with_denials`: so does what runs deny; `with_changes`: so does what stands
    changed within clusters, sites put last, lowered settings and quorums. `effects`: those of whoever takes
    part in moves. Raises `CoordinationError` where it does not answer.
    """
    if coordination is None:
        raise no_ensemble(topology, problem)
    name = topology.name
    holder = None if own_lock else coordination.holder(lock_path(name))
    within = written_facts(coordination, name, WITHIN_CLUSTERS) if with_changes else ()
    cut = written_facts(coordination, name, [LogsTruncated]) if with_changes and topology.replication else ()
    off = sites_off(within)
    return CoordinationState(
        str(holder or ""),
        earlier_runs(coordination, name, without=own_run, effects=effects) if with_runs else (),
        read_holds(coordination),
        primaries_of(read_primaries(coordination, name)),
        cluster_ids=cluster_ids(written_facts(coordination, name, [ClusterIds])),
        denials=denied_rules(coordination, name) if with_denials else {},
        evacuated=evacuated_sites(within),
        lowered=lowered_topics(within),
        mirrors_halted=halted_mirrors(within),
        quorums=quorums(within),
        sites_off=off,
        services_stopped=stopped_services(within),
        services_started=sites_started(within),
        applications_at=placed_applications(within),
        truncated={
            (fact.body.home, fact.body.standby): fact.body.truncations
            for fact in cut
            if isinstance(fact.body, LogsTruncated)
        },
        site_guards={cluster: site_guards_said(coordination, name, cluster) for cluster in off},
    )
