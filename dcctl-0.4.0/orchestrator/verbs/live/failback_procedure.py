"""The way back to a primary that was lost: what is its own beside `move_procedure`."""

from __future__ import annotations

from pathlib import Path

from orchestrator.moves.participants import Participants
from orchestrator.moves.request import FailbackRequest
from orchestrator.moves.support import refuse_unsupported
from orchestrator.moves.ways import way_to_fail_back
from orchestrator.runs.engine import OnEvent
from orchestrator.runs.live.procedure import Approve, OnPlan, preview
from orchestrator.runs.live.servers import Servers
from orchestrator.runs.plan import Plan, RunEvent
from orchestrator.snapshot.snapshot import Snapshot
from orchestrator.topology.model import Topology
from orchestrator.verbs.live.move_procedure import MoveProcedure
from orchestrator.verbs.live.real_servers import REAL_SERVERS
from orchestrator.verbs.live.run_result import RunResult
from orchestrator.verbs.plans import plan_failback
from orchestrator.verbs.registration import participants_of


class FailbackProcedure(MoveProcedure):
    """The returned primary is the target of the mirror back, which the workers at the standby run."""

    verb = "failback"

    def __init__(
        self,
        topology: Topology,
        request: FailbackRequest,
        *,
        servers: Servers = REAL_SERVERS,
        them: Participants | None = None,
    ) -> None:
        refuse_unsupported(topology, "failback")
        them = them or participants_of(topology)
        super().__init__(topology, way_to_fail_back(topology, request, them), servers=servers, them=them)
        self._request = request

    @classmethod
    def of_run(
        cls, servers: Servers, topology: Topology, plan: Plan, _first: RunEvent, them: Participants | None
    ) -> FailbackProcedure:
        """As an earlier run was asked for."""
        return cls(topology, FailbackRequest(**plan.request), servers=servers, them=them)

    def plan(self, picture: Snapshot) -> Plan:
        """See `plan_failback`."""
        return plan_failback(self.topology, picture, self._request, them=self.them)


def preview_failback(
    topology: Topology, request: FailbackRequest, *, servers: Servers = REAL_SERVERS
) -> Plan:
    """The plan as it would be now. Takes no lock and changes nothing."""
    return preview(FailbackProcedure(topology, request, servers=servers))


def run_failback(
    topology: Topology,
    request: FailbackRequest,
    *,
    on_event: OnEvent = lambda _: None,
    on_plan: OnPlan = lambda _: None,
    approve: Approve = lambda _: True,
    folder: Path | None = None,
    is_new_estate: bool = False,
    servers: Servers = REAL_SERVERS,
    them: Participants | None = None,
) -> RunResult:
    """Go back, from the lock to the last verification; see `run_procedure`.

    Where a step on the way over does not end well, the move is taken back, and the primary stays a standby.
    """
    procedure = FailbackProcedure(topology, request, servers=servers, them=them)
    return procedure.run(
        on_event=on_event, on_plan=on_plan, approve=approve, folder=folder, is_new_estate=is_new_estate
    )
