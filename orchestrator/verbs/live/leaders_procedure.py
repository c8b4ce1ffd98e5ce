"""What is changed within one cluster: who leads, what a lost site asks for, and back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from orchestrator.moves.leadership.gates import nothing_reassigned
from orchestrator.moves.leadership.runbook import (
    EvacuateRequest,
    LeadersRequest,
    ReturnRequest,
    plan_evacuation,
    plan_leaders,
    plan_return,
)
from orchestrator.moves.site_loss.runbook import SiteLossRequest, plan_site_loss
from orchestrator.ports.part import Part
from orchestrator.ports.servers import Kafka, Placement
from orchestrator.runs.engine import OnEvent
from orchestrator.runs.live.procedure import Approve, OnPlan, preview, run_procedure
from orchestrator.runs.live.servers import Servers
from orchestrator.runs.plan import GateResult, Plan, RunEvent
from orchestrator.snapshot.live.asking import REACHED_WITHIN_S, asked, once_answered
from orchestrator.snapshot.snapshot import ClusterView, Snapshot
from orchestrator.topology.model import Topology
from orchestrator.verbs.live.one_cluster import ClusterEstate, OnOneCluster, coordination_state
from orchestrator.verbs.live.real_servers import REAL_SERVERS
from orchestrator.verbs.live.run_result import RunResult, journaled, run_result

_VERBS: Mapping[str, tuple[type[LeadersRequest], Callable[[Topology, Snapshot, Any], Plan]]] = {
    "leaders": (LeadersRequest, plan_leaders),
    "evacuate": (EvacuateRequest, plan_evacuation),
    "return": (ReturnRequest, plan_return),
    "site-loss": (SiteLossRequest, plan_site_loss),
}
LEADING_VERBS = tuple(_VERBS)
_NOTHING = Placement({}, {}, frozenset())


class LeadersProcedure(OnOneCluster):
    """See `runs.live.procedure.Procedure`. The request says which verb it is."""

    def __init__(
        self, topology: Topology, request: LeadersRequest, *, servers: Servers = REAL_SERVERS
    ) -> None:
        verb = next(verb for verb, (kind, _) in _VERBS.items() if kind is type(request))
        super().__init__(topology, request.cluster, verb, servers)
        self.request = request

    @classmethod
    def of_run(cls, servers: Servers, topology: Topology, plan: Plan, _first: RunEvent) -> LeadersProcedure:
        """As an earlier run was asked for."""
        return cls(topology, _VERBS[plan.verb][0](**plan.request), servers=servers)

    def observe(self, estate: ClusterEstate, *, own_lock: bool, own_run: str) -> Snapshot:  # noqa: ARG002
        """Its brokers, and who leads what."""
        coordination = coordination_state(self.topology, estate, own_lock, with_changes=True)
        cluster, clock = estate.cluster, self.servers.clock
        brokers, placement = _placement(self.servers, cluster)

        def min_insync() -> dict[str, int]:
            found = cluster.topic_config(once_answered(placement, lambda: placement.value or _NOTHING).topics)
            return {name: int(entries["min.insync.replicas"]) for name, entries in found.items()}

        view = ClusterView(
            brokers=brokers,
            placement=placement,
            reassigning=asked(
                cluster.subject, lambda: once_answered(brokers, cluster.list_reassignments), clock
            ),
            min_insync=asked(cluster.subject, min_insync, clock),
            cluster_id=None if brokers.value is None else cluster.cluster_id,
        )
        return Snapshot(at_s=clock.now_s(), coordination=coordination, clusters={cluster.name: view})

    def plan(self, picture: Snapshot) -> Plan:
        """See `moves.leadership.runbook`."""
        return _VERBS[self.verb][1](self.topology, picture, self.request)

    def gates_of_undo(self, picture: Snapshot) -> tuple[GateResult, ...]:
        """Another order takes the place of whatever Kafka is copying for."""
        return (nothing_reassigned(picture.cluster(self.cluster).reassigning, self.cluster),)


def placements(
    topology: Topology, names: Iterable[str], *, servers: Servers = REAL_SERVERS
) -> dict[str, Part[Placement]]:
    """Who leads each partition of these clusters, by their names, or why that is not known."""
    return {name: _placement(servers, servers.kafka(topology, name))[1] for name in names}


def _placement(servers: Servers, cluster: Kafka) -> tuple[Part[dict[int, str]], Part[Placement]]:
    """Its brokers, and who leads what."""
    clock = servers.clock
    brokers = asked(cluster.subject, lambda: cluster.brokers(REACHED_WITHIN_S), clock)
    return brokers, asked(cluster.subject, lambda: once_answered(brokers, cluster.placement), clock)


def preview_leaders(topology: Topology, request: LeadersRequest, *, servers: Servers = REAL_SERVERS) -> Plan:
    """The plan as it would be now. Takes no lock and changes nothing."""
    return preview(LeadersProcedure(topology, request, servers=servers))


def run_leaders(
    topology: Topology,
    request: LeadersRequest,
    *,
    on_event: OnEvent = lambda _: None,
    on_plan: OnPlan = lambda _: None,
    approve: Approve = lambda _: True,
    folder: Path | None = None,
    servers: Servers = REAL_SERVERS,
) -> RunResult:
    """Change leaders as the request says; see `run_procedure`."""
    ended = run_procedure(
        LeadersProcedure(topology, request, servers=servers),
        on_event=on_event,
        on_plan=on_plan,
        approve=approve,
        folder=folder,
        result_of=journaled(),
    )
    return run_result(ended)
