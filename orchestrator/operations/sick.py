"""The failover of a source that is only sick: what is its own beside `procedure`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orchestrator.engine import Actions
from orchestrator.moves.acting import EffectActions
from orchestrator.moves.effects import PARTICIPANTS, effects_with
from orchestrator.moves.mirror_ref import ref_to
from orchestrator.moves.participants import Participants
from orchestrator.moves.plans import plan_sick_failover
from orchestrator.operations.alone import has_local_journal, with_local_journals
from orchestrator.operations.fact_copies import copied_facts
from orchestrator.operations.fence import Asking
from orchestrator.operations.left import left_cluster
from orchestrator.operations.move_session import MoveSession
from orchestrator.operations.observe import Estate, asked, observe, open_estate
from orchestrator.operations.run import Run
from orchestrator.operations.servers import REAL_SERVERS, Servers
from orchestrator.planning.plan import Plan, RunEvent
from orchestrator.planning.positions import source_partitions
from orchestrator.planning.request import FailoverRequest, mirror_to_fail_over
from orchestrator.planning.sick_gates import SickPicture
from orchestrator.planning.support import refuse_unsupported
from orchestrator.topology.model import Topology

# It tells how far the mirror is behind what can be read: without it the whole map stands for it.
_MIRROR_OFFSETS_TIMEOUT_S = 5.0


class SickProcedure:
    """See `operations.procedure.Procedure`."""

    verb = "failover"
    # Whatever has become of the source meanwhile: what is begun is gone on with, or taken back.
    gates_of_resumed = frozenset(
        {"attested", "coordination", "not-held", "same-clusters", "target-healthy", "mirror-controlled"}
    )

    def __init__(
        self,
        topology: Topology,
        request: FailoverRequest,
        *,
        servers: Servers = REAL_SERVERS,
        them: Participants = PARTICIPANTS,
    ) -> None:
        self.servers, self.them = servers, them
        refuse_unsupported(topology, "failover")
        self.topology, self.request = topology, request
        self.mirror = mirror_to_fail_over(topology, request)
        self.command = f"failover {self.mirror.source} → {self.mirror.target}"
        self.is_alone = request.without_coordination
        self.about: Mapping[str, Any] = {}

    @classmethod
    def of_run(
        cls, servers: Servers, topology: Topology, plan: Plan, first: RunEvent, them: Participants
    ) -> SickProcedure:
        """As an earlier run was asked for."""
        is_alone = has_local_journal(topology.name, first.run_id)
        return cls(
            topology,
            FailoverRequest(**{**plan.request, "to": plan.target, "without_coordination": is_alone}),
            servers=servers,
            them=them,
        )

    def open_estate(self) -> Estate:
        """The target's side; what is left of the source is asked anew each time."""
        return open_estate(self.servers, self.topology, self.mirror)

    def observe(self, estate: Estate, *, own_lock: bool, own_run: str) -> SickPicture:
        """The target's side as for any failover, and the source broker by broker."""
        source, groups = self.mirror.source, estate.groups
        partitions = source_partitions(self.topology, self.mirror)
        with self.servers.threads.pool(4) as pool:
            base = pool.submit(
                observe,
                estate,
                own_lock=own_lock,
                own_run=own_run,
                mirror_offsets_timeout_s=_MIRROR_OFFSETS_TIMEOUT_S,
            )
            left = pool.submit(
                asked,
                f"cluster {source}",
                lambda: left_cluster(self.servers, self.topology, source, partitions, groups),
                self.servers.clock,
            )
            target_access = Asking(self.servers, self.topology, pool, estate.target).access()
            seen = base.result()
            if self.is_alone and estate.coordination is None:
                copied, effects = copied_facts(estate), effects_with(self.them)
                seen = with_local_journals(seen, self.topology.name, own_run, copied, effects)
            return SickPicture(observation=seen, left=left.result(), target_access=target_access.result())

    def plan(self, picture: SickPicture) -> Plan:
        """See `plan_sick_failover`."""
        return plan_sick_failover(self.topology, picture, self.request, them=self.them)

    def actions(self, run: Run[Estate], plan: Plan, picture: SickPicture) -> Actions:  # noqa: ARG002
        """The effects, for one run."""
        session = MoveSession(
            self.topology,
            run,
            picture.observation,
            samples={ref_to(self.mirror): picture.observation.samples},
            them=self.them,
        )
        return EffectActions(effects_with(self.them), session)
