"""The failover of a place that is gone, or that answers in part: what is its own beside `move_procedure`."""

from __future__ import annotations

from pathlib import Path

from orchestrator.moves.participants import Participants
from orchestrator.moves.request import FailoverRequest
from orchestrator.moves.support import refuse_unsupported
from orchestrator.moves.ways import way_to_fail_over
from orchestrator.runs.engine import OnEvent
from orchestrator.runs.live.procedure import Approve, OnPlan, preview
from orchestrator.runs.live.servers import Servers
from orchestrator.runs.live.uncoordinated import has_local_journal
from orchestrator.runs.plan import Plan, RunEvent
from orchestrator.snapshot.snapshot import Snapshot
from orchestrator.topology.model import Topology
from orchestrator.verbs.live.move_procedure import MoveProcedure
from orchestrator.verbs.live.real_servers import REAL_SERVERS
from orchestrator.verbs.live.run_result import RunResult
from orchestrator.verbs.plans import plan_failover
from orchestrator.verbs.registration import participants_of

_SHIFT = "sabotage_offset_shift"


class FailoverProcedure(MoveProcedure):
    """`offset_shift` is a rehearsal's sabotage; see `run_failover`."""

    verb = "failover"

    def __init__(
        self,
        topology: Topology,
        request: FailoverRequest,
        offset_shift: int = 0,
        *,
        servers: Servers = REAL_SERVERS,
        them: Participants | None = None,
    ) -> None:
        refuse_unsupported(topology, "failover")
        them = them or participants_of(topology)
        super().__init__(
            topology,
            way_to_fail_over(topology, request, them),
            is_uncoordinated=request.without_coordination,
            servers=servers,
            them=them,
        )
        self._request, self._offset_shift = request, offset_shift
        self.about = {**self.about, **({_SHIFT: offset_shift} if offset_shift else {})}

    @classmethod
    def of_run(
        cls, servers: Servers, topology: Topology, plan: Plan, first: RunEvent, them: Participants | None
    ) -> FailoverProcedure:
        """As an earlier run was asked for; once its journal is in the ensemble, it goes on with that."""
        is_uncoordinated = has_local_journal(topology.name, first.run_id)
        asked = {**plan.request, "to": plan.target, "without_coordination": is_uncoordinated}
        shift = int(first.data.get(_SHIFT, 0))
        return cls(topology, FailoverRequest(**asked), shift, servers=servers, them=them)

    def plan(self, picture: Snapshot) -> Plan:
        """See `plan_failover`."""
        shift = self._offset_shift
        return plan_failover(self.topology, picture, self._request, offset_shift=shift, them=self.them)


def preview_failover(
    topology: Topology, request: FailoverRequest, *, servers: Servers = REAL_SERVERS
) -> Plan:
    """The plan as it would be now. Takes no lock and changes nothing."""
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
    is_new_estate: bool = False,
    servers: Servers = REAL_SERVERS,
    them: Participants | None = None,
) -> RunResult:
    """Fail over, from the lock to the last verification; see `run_procedure`.

    `offset_shift` is a rehearsal's sabotage: translated offsets are written that much too high, and the
    journal says so. `them`: who takes part.
    """
    procedure = FailoverProcedure(topology, request, offset_shift, servers=servers, them=them)
    return procedure.run(
        on_event=on_event, on_plan=on_plan, approve=approve, folder=folder, is_new_estate=is_new_estate
    )
