"""The failover of one mirror's source: what is its own beside `procedure`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from orchestrator.engine import Actions, OnEvent
from orchestrator.moves.acting import EffectActions
from orchestrator.moves.effects import PARTICIPANTS, effects_with
from orchestrator.moves.mirror_ref import ref_to
from orchestrator.moves.participants import Participants
from orchestrator.moves.plans import plan_failover
from orchestrator.operations.alone import has_local_journal, with_local_journals
from orchestrator.operations.fact_copies import copied_facts
from orchestrator.operations.failover_result import FailoverResult, failover_result
from orchestrator.operations.move_session import MoveSession
from orchestrator.operations.observe import Estate, observe, open_estate
from orchestrator.operations.procedure import Approve, OnPlan, preview, run_procedure
from orchestrator.operations.run import Run
from orchestrator.operations.servers import REAL_SERVERS, Servers
from orchestrator.operations.sick import SickProcedure
from orchestrator.planning.observation import Observation
from orchestrator.planning.plan import Plan, RunEvent
from orchestrator.planning.request import FailoverRequest, mirror_to_fail_over
from orchestrator.planning.support import refuse_unsupported
from orchestrator.topology.model import Topology

__all__ = ["FailoverProcedure", "FailoverRequest", "FailoverResult", "preview_failover", "run_failover"]


class FailoverProcedure:
    """See `operations.procedure.Procedure`. `offset_shift` is a rehearsal's sabotage; see `run_failover`."""

    verb = "failover"
    gates_of_resumed = frozenset(
        {
            "attested",
            "coordination",
            "not-held",
            "same-clusters",
            "source-unreachable",
            "target-healthy",
            "mirror-controlled",
        }
    )

    def __init__(
        self,
        topology: Topology,
        request: FailoverRequest,
        offset_shift: int = 0,
        *,
        servers: Servers = REAL_SERVERS,
        them: Participants = PARTICIPANTS,
    ) -> None:
        self.servers, self.them = servers, them
        refuse_unsupported(topology, "failover")
        self.topology, self.request = topology, request
        self.mirror = mirror_to_fail_over(topology, request)
        self.command = f"failover {self.mirror.source} → {self.mirror.target}"
        self._offset_shift = offset_shift
        self.is_alone = request.without_coordination
        self.about: Mapping[str, Any] = {"sabotage_offset_shift": offset_shift} if offset_shift else {}

    @classmethod
    def of_run(
        cls, servers: Servers, topology: Topology, plan: Plan, first: RunEvent, them: Participants
    ) -> FailoverProcedure:
        """As an earlier run was asked for."""
        # Once its journal is in the ensemble, it goes on with the ensemble.
        is_alone = has_local_journal(topology.name, first.run_id)
        asked = {**plan.request, "to": plan.target, "without_coordination": is_alone}
        request = FailoverRequest(**asked)
        shift = int(first.data.get("sabotage_offset_shift", 0))
        return cls(topology, request, shift, servers=servers, them=them)

    def open_estate(self) -> Estate:
        """The target's side."""
        return open_estate(self.servers, self.topology, self.mirror)

    def observe(self, estate: Estate, *, own_lock: bool, own_run: str) -> Observation:
        """Both sides, from the target."""
        seen = observe(estate, own_lock=own_lock, own_run=own_run)
        if not self.is_alone or estate.coordination is not None:
            # An ensemble that answers, and only does not let itself be read, is none that is gone.
            return seen
        effects = effects_with(self.them)
        return with_local_journals(seen, self.topology.name, own_run, copied_facts(estate), effects)

    def plan(self, picture: Observation) -> Plan:
        """See `plan_failover`."""
        shift = self._offset_shift
        return plan_failover(self.topology, picture, self.request, offset_shift=shift, them=self.them)

    def actions(self, run: Run[Estate], plan: Plan, picture: Observation) -> Actions:  # noqa: ARG002
        """The effects, for one run."""
        session = MoveSession(
            self.topology,
            run,
            picture,
            samples={ref_to(self.mirror): picture.samples},
            them=self.them,
        )
        return EffectActions(effects_with(self.them), session)


def preview_failover(
    topology: Topology, request: FailoverRequest, *, servers: Servers = REAL_SERVERS
) -> Plan:
    """The plan as it would be now. Takes no lock and changes nothing."""
    if request.sick:
        return preview(SickProcedure(topology, request, servers=servers))
    return preview(FailoverProcedure(topology, request, servers=servers))


def run_failover(
    topology: Topology,
    request: FailoverRequest,
    *,
    on_event: OnEvent = lambda _: None,
    on_plan: OnPlan = lambda _: None,
    approve: Approve = lambda _: True,
    offset_shift: int = 0,
    folder: Path | None = None,
    servers: Servers = REAL_SERVERS,
    them: Participants = PARTICIPANTS,
) -> FailoverResult:
    """Fail over, from the lock to the last verification; see `run_procedure`.

    `offset_shift` is a rehearsal's sabotage: translated offsets are written that much too high, and the
    journal says so. `them`: who takes part.
    """
    if request.sick:
        sick = SickProcedure(topology, request, servers=servers, them=them)
        ended = run_procedure(sick, on_event=on_event, on_plan=on_plan, approve=approve, folder=folder)
        return failover_result(ended, effects_with(them))
    procedure = FailoverProcedure(topology, request, offset_shift, servers=servers, them=them)
    ended = run_procedure(procedure, on_event=on_event, on_plan=on_plan, approve=approve, folder=folder)
    return failover_result(ended, effects_with(them))


def procedure_of_run(
    servers: Servers, topology: Topology, plan: Plan, first: RunEvent, them: Participants
) -> FailoverProcedure | SickProcedure:
    """The procedure of an earlier run: of a lost source, or of a sick one."""
    made = SickProcedure if plan.request.get("sick") else FailoverProcedure
    return made.of_run(servers, topology, plan, first, them)
