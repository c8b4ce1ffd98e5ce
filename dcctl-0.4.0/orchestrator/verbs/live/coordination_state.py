"""What a decision has to know of the ensemble: who else holds the lock, earlier runs, holds."""

from __future__ import annotations

from collections.abc import Iterable

from orchestrator.adapters.zookeeper import Coordination
from orchestrator.errors import CoordinationError
from orchestrator.runs.coordination_state import CoordinationState, EarlierRun
from orchestrator.runs.estate_record import ClusterIds, cluster_ids
from orchestrator.runs.live.earlier_runs import earlier_runs
from orchestrator.runs.live.estate_facts import begun_runs, moved_between, read_primaries
from orchestrator.runs.live.estate_record import written_facts
from orchestrator.runs.live.holds import read_holds
from orchestrator.runs.live.journal import lock_path
from orchestrator.runs.primaries import primaries_of
from orchestrator.runs.words import Words
from orchestrator.topology.model import Topology
from orchestrator.verbs.live.standing_denials import denied_rules
from orchestrator.verbs.registration import EFFECTS

_HINT = "start the ZooKeeper ensemble again, or correct `coordination.zookeeper` in the file"


def coordination_subject(topology: Topology) -> str:
    """How errors name the ensemble of a topology."""
    return f"coordination at {topology.coordination.zookeeper}" if topology.coordination else "coordination"


def no_ensemble(topology: Topology, problem: str) -> CoordinationError:
    """The error for an ensemble that could not be opened, as `problem` says."""
    return CoordinationError(coordination_subject(topology), problem, _HINT)


def read_coordination(
    coordination: Coordination | None,
    problem: str,
    topology: Topology,
    *,
    own_lock: bool,
    own_run: str = "",
    between: Iterable[tuple[str, str]] | None = (),
    effects: Words = EFFECTS,
) -> CoordinationState:
    """The state as the ensemble tells it; `problem` says why there is none.

    `own_lock`: this process holds the lock, so a holder that is found is no other. `own_run`: id of this
    process's run, which is no earlier one. `between`: pairs of clusters whose runs matter; None for all
    between which a move has ever begun, also along a mirror that has left the file, and what runs deny is
    told then. `effects`: those of whoever takes part in moves. Raises `CoordinationError` where it does not
    answer.
    """
    if coordination is None:
        raise no_ensemble(topology, problem)
    name = topology.name
    holder = None if own_lock else coordination.holder(lock_path(name))
    runs: dict[str, EarlierRun] = {}
    for pair in moved_between(coordination, name) if between is None else between:
        for run in earlier_runs(coordination, name, between=pair, without=own_run, effects=effects):
            runs.setdefault(run.run_id, run)
    in_order = [runs[run_id] for run_id in begun_runs(coordination, name) if run_id in runs]
    return CoordinationState(
        str(holder or ""),
        tuple(in_order),
        read_holds(coordination),
        primaries_of(read_primaries(coordination, name)),
        cluster_ids=cluster_ids(written_facts(coordination, name, [ClusterIds])),
        denials=denied_rules(coordination, name) if between is None else {},
    )
