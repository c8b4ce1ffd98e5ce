"""`apply`: what is its own beside `runs.live.procedure`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from orchestrator.adapters.clock import SystemClock
from orchestrator.adapters.connect import ConnectCluster
from orchestrator.adapters.kafka import KafkaCluster
from orchestrator.adapters.zookeeper import Coordination
from orchestrator.errors import ClusterError, DcctlError, GateRefusedError
from orchestrator.estate.desired import DesiredEstate, desired_estate
from orchestrator.estate.live.connections import connect_cluster, kafka_cluster
from orchestrator.estate.live.observe import observe_estate
from orchestrator.estate.observed import ObservedEstate
from orchestrator.ports.part import Part
from orchestrator.reconcile.applied import Applied
from orchestrator.reconcile.difference import Difference
from orchestrator.reconcile.digests import digests_like, moved_parts
from orchestrator.reconcile.live.record import read_applied, write_applied
from orchestrator.reconcile.planning import VERB, ApplyRequest, plan_reconcile, record_of
from orchestrator.reconcile.ports import ReconciledCluster, ReconciledClusters
from orchestrator.reconcile.record import LastLook
from orchestrator.reconcile.replicas import MoveReplicas
from orchestrator.runs.acting import EffectActions
from orchestrator.runs.coordination_state import CoordinationState
from orchestrator.runs.effect import Effect
from orchestrator.runs.engine import Actions
from orchestrator.runs.live.run import Run
from orchestrator.runs.live.run_session import RunSession
from orchestrator.runs.plan import GateResult, Plan, RunEvent
from orchestrator.topology.model import Topology
from orchestrator.values import TopicPartition
from orchestrator.verbs.live.coordination_state import coordination_subject, read_coordination
from orchestrator.verbs.live.move_estate import open_coordination
from orchestrator.verbs.live.real_servers import REAL_SERVERS
from orchestrator.verbs.registration import EFFECTS
from orchestrator.wording import listed

_CLOCK = SystemClock()
_NOTHING_SAID = ApplyRequest()


class RealCluster:
    """See `reconcile.ports.LayoutCluster`."""

    def __init__(self, topology: Topology, name: str) -> None:
        self._topology, self._name = topology, name
        self._opened: list[KafkaCluster] = []

    @cached_property
    def kafka(self) -> KafkaCluster:
        """See `ReconciledCluster`."""
        self._opened.append(kafka_cluster(self._topology, self._name))
        return self._opened[0]

    @cached_property
    def workers(self) -> ConnectCluster:
        """See `ReconciledCluster`."""
        return connect_cluster(self._topology, self._name)

    def close(self) -> None:
        """End Kafka's; Connect's end with the process."""
        for cluster in self._opened:
            cluster.close()


@dataclass(frozen=True, slots=True)
class ReconcileEstate:
    """The connections of one apply."""

    topology: Topology
    clusters: Mapping[str, ReconciledCluster]
    observe: Callable[[], ObservedEstate]
    coordination: Coordination | None
    coordination_problem: str = ""

    def close(self) -> None:
        """End them all."""
        for cluster in self.clusters.values():
            cluster.close()
        if self.coordination is not None:
            self.coordination.close()


@dataclass(frozen=True)
class ReconcileSnapshot:
    """What was seen before deciding: every cluster, the ensemble, and what was applied last."""

    topology: Topology
    observed: ObservedEstate
    coordination: Part[CoordinationState]
    applied: Applied | None
    sizes: Mapping[str, Mapping[TopicPartition, int]]

    @cached_property
    def desired(self) -> DesiredEstate:
        """What the file says."""
        return desired_estate(self.topology)

    def moved_since(self, digests: Mapping[str, str]) -> tuple[str, ...]:
        """Parts and topics that are not as they were when `digests` were taken."""
        return moved_parts(digests, digests_like(digests, self.observed, self.desired))


class ReconcileProcedure:
    """See `runs.live.procedure.Procedure`.

    With `given` exactly that plan is run, and none where the world has moved since it was made.
    """

    verb = VERB
    is_uncoordinated = False
    servers = REAL_SERVERS

    def __init__(
        self, topology: Topology, request: ApplyRequest = _NOTHING_SAID, given: Plan | None = None
    ) -> None:
        self.topology = topology
        self.command = f"apply {topology.name}"
        self.about: Mapping[str, Any] = {"reason": request.reason} if request.reason else {}
        self._request, self._given = request, given

    @classmethod
    def of_run(cls, topology: Topology, plan: Plan, _first: RunEvent) -> ReconcileProcedure:
        """As an earlier run was asked for."""
        return cls(topology, ApplyRequest.of_plan(plan))

    def open_estate(self) -> ReconcileEstate:
        """Every cluster of the file; its clients connect when they are first used."""
        coordination, problem = open_coordination(self.servers, self.topology)
        clusters = {name: RealCluster(self.topology, name) for name in self.topology.clusters}
        return ReconcileEstate(
            self.topology, clusters, partial(observe_estate, self.topology), coordination, problem
        )

    def observe(self, estate: ReconcileEstate, *, own_lock: bool, own_run: str) -> ReconcileSnapshot:
        """Everything, once; sizes only where data is to be moved."""
        coordination = _coordination(estate, own_lock=own_lock, own_run=own_run)
        applied = _applied(estate)
        picture = ReconcileSnapshot(self.topology, estate.observe(), coordination, applied, {})
        moving = {
            str(step.arguments["cluster"])
            for step in self._fresh(picture).steps
            if step.action == MoveReplicas.NAME
        }
        if not moving:
            return picture
        return ReconcileSnapshot(
            self.topology,
            picture.observed,
            coordination,
            applied,
            {name: sizes for name in moving if (sizes := _sizes(self.topology, name, picture.observed))},
        )

    def plan(self, picture: ReconcileSnapshot) -> Plan:
        """The plan of now. Where one was given: that one, if nothing has moved since; else it is refused."""
        fresh = self._fresh(picture)
        if self._given is None:
            return fresh
        moved, hint = (
            picture.moved_since(self._given.observed),
            "make the plan again: dcctl plan FILE -o PLAN",
        )
        if moved:
            problem = f"since the plan was made these have changed: {listed(moved)}"
        elif _CLOCK.now_s() > self._given.expires_at_s:
            problem = "has expired"
        elif _effects(fresh) != _effects(self._given):
            problem = "the changes needed are no longer those of the plan"
            hint = "was the plan changed by hand, or written by another version? Make it again"
        else:
            return fresh
        raise GateRefusedError(f"plan of {self._given.topology}", f"{problem}. Nothing was changed", hint)

    def gates_of_undo(self, picture: ReconcileSnapshot) -> tuple[GateResult, ...]:  # noqa: ARG002
        """None: each of its steps looks at what is there before it takes anything back."""
        return ()

    def actions(self, run: Run[ReconcileEstate], plan: Plan, picture: ReconcileSnapshot) -> Actions:  # noqa: ARG002
        """The effects, for one run."""
        estate = run.estate

        def plan_again() -> tuple[Plan, Applied]:
            seen = ReconcileSnapshot(
                self.topology, estate.observe(), picture.coordination, picture.applied, {}
            )
            again = self._fresh(seen)
            differences = [Difference(**data) for data in again.facts["differences"]]
            return again, record_of(self.topology, seen.observed, differences, picture.applied, run.run_id)

        def keep(applied: Applied) -> None:
            write_applied(run.coordination, run.lock, self.topology.name, applied)

        ports = {
            ReconciledClusters: ReconciledClusters(estate.clusters),
            LastLook: LastLook(plan_again, keep),
        }
        session = RunSession(
            self.topology,
            run.folder,
            run_id=run.run_id,
            estate_record=run.estate_record,
            holds_lock=run.holds_lock,
            records=run.events,
            servers=self.servers,
            more_ports=ports,
        )
        return EffectActions(EFFECTS, session)

    def _fresh(self, picture: ReconcileSnapshot) -> Plan:
        return plan_reconcile(
            self.topology,
            picture.observed,
            coordination=picture.coordination,
            applied=picture.applied,
            sizes=picture.sizes,
            request=self._request.as_json(),
        )


def _effects(plan: Plan) -> dict[str, Effect[Any] | None]:
    """What a plan does, by its steps: side by side has no order. None for what this version does not know."""
    return {step.id: EFFECTS.understood(step) for step in plan.steps}


def _applied(estate: ReconcileEstate) -> Applied | None:
    """The record, where the ensemble answers; without it nobody can tell drift from change."""
    if estate.coordination is None:
        return None
    return read_applied(estate.coordination, estate.topology.name)


def _coordination(estate: ReconcileEstate, *, own_lock: bool, own_run: str) -> Part[CoordinationState]:
    topology = estate.topology
    try:
        state = read_coordination(
            estate.coordination,
            estate.coordination_problem,
            topology,
            own_lock=own_lock,
            own_run=own_run,
            with_denials=True,
            with_changes=True,
        )
    except DcctlError as error:
        return Part(error.subject, _CLOCK.now_s(), None, error.problem, error.hint)
    return Part(coordination_subject(topology), _CLOCK.now_s(), state)


def _sizes(topology: Topology, name: str, observed: ObservedEstate) -> dict[TopicPartition, int]:
    """Bytes of the largest replica of each partition; none where they cannot be asked for."""
    try:
        with kafka_cluster(topology, name) as cluster:
            return cluster.replica_sizes(broker.broker_id for broker in observed.clusters[name].brokers)
    except ClusterError:
        return {}
