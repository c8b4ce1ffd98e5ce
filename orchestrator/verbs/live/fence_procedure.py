"""`fence` and `unfence`: producers off and on, verified. What is their own beside `procedure`."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from orchestrator.moves.fence import FenceRequest
from orchestrator.moves.fence_gates import primary_here
from orchestrator.moves.fence_runbook import plan_fence, plan_unfence
from orchestrator.ports.part import Part
from orchestrator.ports.servers import Kafka
from orchestrator.runs.coordination_state import CoordinationState
from orchestrator.runs.engine import OnEvent
from orchestrator.runs.live.procedure import Approve, OnPlan, preview, run_procedure
from orchestrator.runs.live.servers import Servers
from orchestrator.runs.plan import GateResult, Plan, RunEvent
from orchestrator.snapshot.live.asking import REACHED_WITHIN_S, asked, read_access
from orchestrator.snapshot.snapshot import ClusterView, Snapshot
from orchestrator.topology.model import Topology
from orchestrator.verbs.live.one_cluster import ClusterEstate, OnOneCluster, coordination_state
from orchestrator.verbs.live.real_servers import REAL_SERVERS
from orchestrator.verbs.live.run_result import RunResult, journaled, run_result

FenceVerb = Literal["fence", "unfence"]


class FenceProcedure(OnOneCluster):
    """See `runs.live.procedure.Procedure`."""

    def __init__(
        self,
        topology: Topology,
        request: FenceRequest,
        verb: FenceVerb,
        *,
        servers: Servers = REAL_SERVERS,
    ) -> None:
        super().__init__(topology, request.cluster, verb, servers)
        self.request = request

    @classmethod
    def of_run(cls, servers: Servers, topology: Topology, plan: Plan, _first: RunEvent) -> FenceProcedure:
        """As an earlier run was asked for."""
        verb: FenceVerb = "fence" if plan.verb == "fence" else "unfence"
        return cls(topology, FenceRequest(**plan.request), verb, servers=servers)

    def observe(self, estate: ClusterEstate, *, own_lock: bool, own_run: str) -> Snapshot:  # noqa: ARG002
        """Its brokers, and who is above its rules."""
        coordination = coordination_state(self.topology, estate, own_lock)
        return fence_snapshot(self.servers, self.topology, estate.cluster, coordination)

    def plan(self, picture: Snapshot) -> Plan:
        """See `plan_fence`."""
        make = plan_fence if self.verb == "fence" else plan_unfence
        return make(self.topology, picture, self.request)

    def gates_of_undo(self, picture: Snapshot) -> tuple[GateResult, ...]:
        """Taking a fence back lets applications in: a move since may rest on its rules."""
        if self.verb != "fence":
            return ()
        cluster, acknowledged = self.request.cluster, self.request.acknowledge
        return (primary_here(picture.coordination, self.topology, cluster, acknowledged),)


def preview_fence(
    topology: Topology, request: FenceRequest, verb: FenceVerb, *, servers: Servers = REAL_SERVERS
) -> Plan:
    """The plan as it would be now. Takes no lock and changes nothing."""
    return preview(FenceProcedure(topology, request, verb, servers=servers))


def run_fence(
    topology: Topology,
    request: FenceRequest,
    verb: FenceVerb,
    *,
    on_event: OnEvent = lambda _: None,
    on_plan: OnPlan = lambda _: None,
    approve: Approve = lambda _: True,
    folder: Path | None = None,
    servers: Servers = REAL_SERVERS,
) -> RunResult:
    """Fence or unfence one cluster; see `run_procedure`."""
    ended = run_procedure(
        FenceProcedure(topology, request, verb, servers=servers),
        on_event=on_event,
        on_plan=on_plan,
        approve=approve,
        folder=folder,
        result_of=journaled(),
    )
    return run_result(ended)


def fence_snapshot(
    servers: Servers, topology: Topology, cluster: Kafka, coordination: Part[CoordinationState]
) -> Snapshot:
    """One cluster as a fence sees it: its brokers, and who is above its rules."""
    clock, access = servers.clock, servers.access(topology, cluster.name)
    brokers = asked(cluster.subject, lambda: cluster.brokers(REACHED_WITHIN_S), clock)
    view = ClusterView(
        brokers=brokers,
        access=asked(cluster.subject, lambda: read_access(access, brokers.value or {}), clock),
        cluster_id=None if brokers.value is None else cluster.cluster_id,
    )
    return Snapshot(at_s=clock.now_s(), coordination=coordination, clusters={cluster.name: view})
