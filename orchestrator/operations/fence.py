"""`fence` and `unfence`: producers off and on, verified. What is their own beside `procedure`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

from orchestrator.adapters.clock import SystemClock
from orchestrator.adapters.kafka import KafkaCluster
from orchestrator.adapters.kafka.access import AccessRules
from orchestrator.adapters.zookeeper import Coordination
from orchestrator.engine import Actions, OnEvent
from orchestrator.errors import DcctlError, UsageError
from orchestrator.operations.actions.fence_table import FENCE_TABLE
from orchestrator.operations.actions.tables import TableActions
from orchestrator.operations.coordination_state import coordination_subject, read_coordination
from orchestrator.operations.failover_result import FailoverResult, failover_result
from orchestrator.operations.observe import REACHED_WITHIN_S, asked, once_reached, open_coordination
from orchestrator.operations.procedure import Approve, OnPlan, preview, run_procedure
from orchestrator.operations.run import Run
from orchestrator.operations.run_session import RunSession
from orchestrator.planning.fence import FenceRequest, plan_fence, plan_unfence
from orchestrator.planning.fence_gates import AccessState, FencePicture
from orchestrator.planning.observation import CoordinationState, Part
from orchestrator.planning.plan import Plan, RunEvent
from orchestrator.topology.model import Topology
from orchestrator.watch.estate import kafka_cluster

_CLOCK = SystemClock()
T = TypeVar("T")
FenceVerb = Literal["fence", "unfence"]


@dataclass(frozen=True, slots=True)
class ClusterEstate:
    """The connections of a run about one cluster."""

    cluster: KafkaCluster
    coordination: Coordination | None
    coordination_problem: str = ""

    def close(self) -> None:
        """End the session with the ensemble; Kafka's connections end with their clients."""
        if self.coordination is not None:
            self.coordination.close()


class FenceProcedure:
    """See `operations.procedure.Procedure`."""

    is_alone = False
    gates_of_resumed = frozenset({"coordination", "not-held", "same-clusters", "reachable", "primary-here"})

    def __init__(self, topology: Topology, request: FenceRequest, verb: FenceVerb) -> None:
        if request.cluster not in topology.clusters:
            listed = ", ".join(topology.clusters)
            raise UsageError(
                f"--cluster {request.cluster}", f"there is no such cluster; the file has: {listed}"
            )
        self.topology, self.request = topology, request
        self.verb: str = verb
        self.command = f"{verb} {request.cluster}"
        self.about: Mapping[str, Any] = {}

    @classmethod
    def of_run(cls, topology: Topology, plan: Plan, _first: RunEvent) -> FenceProcedure:
        """As an earlier run was asked for."""
        verb: FenceVerb = "fence" if plan.verb == "fence" else "unfence"
        return cls(topology, FenceRequest(**plan.request), verb)

    def open_estate(self) -> ClusterEstate:
        """That cluster alone."""
        coordination, problem = open_coordination(self.topology)
        try:
            cluster = kafka_cluster(self.topology, self.request.cluster)
        except DcctlError:
            if coordination is not None:
                coordination.close()
            raise
        return ClusterEstate(cluster, coordination, problem)

    def observe(self, estate: ClusterEstate, *, own_lock: bool, own_run: str) -> FencePicture:  # noqa: ARG002
        """Its brokers, and who is above its rules."""
        return fence_picture(estate.cluster, coordination_state(self.topology, estate, own_lock))

    def plan(self, picture: FencePicture) -> Plan:
        """See `plan_fence`."""
        make = plan_fence if self.verb == "fence" else plan_unfence
        return make(self.topology, picture, self.request)

    def actions(self, run: Run[ClusterEstate], plan: Plan, picture: FencePicture) -> Actions:  # noqa: ARG002
        """The effects, for one run."""
        session = RunSession(self.topology, run.folder, run_id=run.run_id)
        return TableActions(session, FENCE_TABLE)


def preview_fence(topology: Topology, request: FenceRequest, verb: FenceVerb) -> Plan:
    """The plan as it would be now. Takes no lock and changes nothing."""
    return preview(FenceProcedure(topology, request, verb))


def run_fence(
    topology: Topology,
    request: FenceRequest,
    verb: FenceVerb,
    *,
    on_event: OnEvent = lambda _: None,
    on_plan: OnPlan = lambda _: None,
    approve: Approve = lambda _: True,
    folder: Path | None = None,
) -> FailoverResult:
    """Fence or unfence one cluster; see `run_procedure`."""
    ended = run_procedure(
        FenceProcedure(topology, request, verb),
        on_event=on_event,
        on_plan=on_plan,
        approve=approve,
        folder=folder,
    )
    return failover_result(ended)


def fence_picture(cluster: KafkaCluster, coordination: Part[CoordinationState]) -> FencePicture:
    """One cluster as a fence sees it."""
    brokers = asked(cluster.subject, lambda: cluster.brokers(REACHED_WITHIN_S))
    return FencePicture(
        at_s=_CLOCK.now_s(),
        brokers=brokers,
        access=asked(cluster.subject, lambda: read_access(cluster, brokers.value or {})),
        coordination=coordination,
        cluster_id=None if brokers.value is None else cluster.cluster_id,
    )


def coordination_state(topology: Topology, estate: ClusterEstate, own_lock: bool) -> Part[CoordinationState]:
    """Whether lock and journal are at hand."""

    def ask() -> CoordinationState:
        return read_coordination(
            estate.coordination, estate.coordination_problem, topology, own_lock=own_lock
        )

    return asked(coordination_subject(topology), ask)


def read_access(cluster: KafkaCluster, brokers: Mapping[int, str]) -> AccessState:
    """How a cluster decides who may do what. Raises where its brokers do not say it."""
    if not brokers:
        raise DcctlError(cluster.subject, "no broker answers")
    found = AccessRules(cluster.name, cluster.properties).authorization(sorted(brokers))
    user = cluster.properties.get("sasl.username")
    return AccessState(found.authorizer, found.super_users, f"User:{user}" if user else "")


class Asking:
    """One cluster that is asked for several parts of a picture side by side: nothing, if it is not there."""

    def __init__(self, pool: ThreadPoolExecutor, cluster: KafkaCluster) -> None:
        self._pool, self._cluster = pool, cluster
        self._brokers = pool.submit(asked, cluster.subject, lambda: cluster.brokers(REACHED_WITHIN_S))

    def ask(self, question: Callable[[], T]) -> Future[Part[T]]:
        """The answer, once it is there."""
        return self._pool.submit(asked, self._cluster.subject, lambda: once_reached(self._brokers, question))

    def access(self) -> Future[Part[AccessState]]:
        """How it decides who may do what."""
        return self.ask(lambda: read_access(self._cluster, self._brokers.result().value or {}))
