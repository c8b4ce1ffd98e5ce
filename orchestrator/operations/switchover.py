"""The planned move along one mirror: what is its own beside `procedure`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from orchestrator.engine import Actions, OnEvent
from orchestrator.moves.acting import EffectActions
from orchestrator.moves.effects import PARTICIPANTS, effects_with
from orchestrator.moves.mirror_ref import ref_to
from orchestrator.moves.participants import Participants
from orchestrator.moves.plans import plan_switchover
from orchestrator.moves.topic_states import topic_states
from orchestrator.operations.failover_result import FailoverResult, failover_result
from orchestrator.operations.fence import Asking
from orchestrator.operations.move_session import MoveSession
from orchestrator.operations.observe import Estate, observe, open_estate
from orchestrator.operations.procedure import Approve, OnPlan, preview, run_procedure
from orchestrator.operations.run import Run
from orchestrator.operations.servers import REAL_SERVERS, Servers
from orchestrator.planning.plan import Plan, RunEvent
from orchestrator.planning.positions import source_partitions
from orchestrator.planning.support import refuse_unsupported
from orchestrator.planning.switchover import (
    SwitchoverRequest,
    mirror_to_switch_over,
)
from orchestrator.planning.switchover_picture import SourceSide, SwitchoverPicture
from orchestrator.topology.model import Topology

_MIRROR_OFFSETS_TIMEOUT_S = 10.0


class SwitchoverProcedure:
    """See `operations.procedure.Procedure`. `offset_shift` is a rehearsal's sabotage."""

    verb = "switchover"
    is_alone = False
    gates_of_resumed = frozenset(
        {"coordination", "not-held", "same-clusters", "target-healthy", "mirror-controlled", "fenceable"}
    )

    def __init__(
        self,
        topology: Topology,
        request: SwitchoverRequest,
        *,
        servers: Servers = REAL_SERVERS,
        them: Participants = PARTICIPANTS,
    ) -> None:
        self.servers, self.them = servers, them
        refuse_unsupported(topology, "switchover")
        self.topology, self.request = topology, request
        self.mirror = mirror_to_switch_over(topology, request.to)
        self.command = f"switchover {self.mirror.source} → {self.mirror.target}"
        self.about: Mapping[str, Any] = {}

    @classmethod
    def of_run(
        cls, servers: Servers, topology: Topology, plan: Plan, _first: RunEvent, them: Participants
    ) -> SwitchoverProcedure:
        """As an earlier run was asked for."""
        return cls(topology, SwitchoverRequest(**plan.request), servers=servers, them=them)

    def open_estate(self) -> Estate:
        """The target's side; the source's connections are opened as they are needed."""
        return open_estate(self.servers, self.topology, self.mirror)

    def observe(self, estate: Estate, *, own_lock: bool, own_run: str) -> SwitchoverPicture:
        """Both sides, each asked directly."""
        servers, topology = self.servers, self.topology
        source = servers.kafka(topology, self.mirror.source)
        with servers.threads.pool(8) as pool:
            base = pool.submit(
                observe,
                estate,
                own_lock=own_lock,
                own_run=own_run,
                # Nothing burns, and without Connect's word nobody knows whether it can be drained.
                mirror_offsets_timeout_s=_MIRROR_OFFSETS_TIMEOUT_S,
            )
            of_source = Asking(servers, topology, pool, source)
            of_target = Asking(servers, topology, pool, estate.target)
            partitions = source_partitions(self.topology, self.mirror)
            topics = of_source.ask(lambda: topic_states(source, self.mirror.topics))
            log_ends = of_source.ask(lambda: source.log_ends(partitions))
            committed = of_source.ask(lambda: source.committed(estate.groups))
            access = of_source.access()
            target_access = of_target.access()
            return SwitchoverPicture(
                observation=base.result(),
                source=SourceSide(
                    topics=topics.result(),
                    log_ends=log_ends.result(),
                    committed=committed.result(),
                    access=access.result(),
                ),
                target_access=target_access.result(),
            )

    def plan(self, picture: SwitchoverPicture) -> Plan:
        """See `plan_switchover`."""
        return plan_switchover(self.topology, picture, self.request, them=self.them)

    def actions(self, run: Run[Estate], plan: Plan, picture: SwitchoverPicture) -> Actions:  # noqa: ARG002
        """The effects, for one run."""
        session = MoveSession(
            self.topology,
            run,
            picture.observation,
            samples={ref_to(self.mirror): picture.observation.samples},
            them=self.them,
        )
        return EffectActions(effects_with(self.them), session)


def preview_switchover(
    topology: Topology, request: SwitchoverRequest, *, servers: Servers = REAL_SERVERS
) -> Plan:
    """The plan as it would be now. Takes no lock and changes nothing."""
    return preview(SwitchoverProcedure(topology, request, servers=servers))


def run_switchover(
    topology: Topology,
    request: SwitchoverRequest,
    *,
    on_event: OnEvent = lambda _: None,
    on_plan: OnPlan = lambda _: None,
    approve: Approve = lambda _: True,
    folder: Path | None = None,
    servers: Servers = REAL_SERVERS,
    them: Participants = PARTICIPANTS,
) -> FailoverResult:
    """Move over, from the lock to the last verification; see `run_procedure`.

    Where a step before the promotion does not end well, all is taken back: `outcome` is then "undone".
    """
    ended = run_procedure(
        SwitchoverProcedure(topology, request, servers=servers, them=them),
        on_event=on_event,
        on_plan=on_plan,
        approve=approve,
        folder=folder,
    )
    return failover_result(ended, effects_with(them))
