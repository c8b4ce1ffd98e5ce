"""What the verbs that move have in common beside `procedure`: a way along a mirror, and who takes part."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from orchestrator.moves.participants import Participants
from orchestrator.moves.way import Way
from orchestrator.runs.acting import EffectActions
from orchestrator.runs.engine import Actions, OnEvent
from orchestrator.runs.live.procedure import Approve, OnPlan, run_procedure
from orchestrator.runs.live.run import Run
from orchestrator.runs.live.servers import Servers
from orchestrator.runs.live.uncoordinated import known_here
from orchestrator.runs.plan import GateResult, Plan
from orchestrator.snapshot.snapshot import Snapshot
from orchestrator.topology.model import Topology
from orchestrator.verbs.live.fact_copier import copied_facts
from orchestrator.verbs.live.move_estate import Estate, open_estate
from orchestrator.verbs.live.move_session import MoveSession
from orchestrator.verbs.live.observe import observe
from orchestrator.verbs.live.real_servers import REAL_SERVERS
from orchestrator.verbs.live.run_result import RunResult, journaled, run_result
from orchestrator.verbs.registration import effects_with


class MoveProcedure(ABC):
    """See `runs.live.procedure.Procedure`. `way`: what is looked at for it; whom the place left is denied is
    for its plan.

    `is_uncoordinated`: without the ensemble; only a failover can be asked for like that.
    """

    verb: str

    def __init__(
        self,
        topology: Topology,
        way: Way,
        *,
        is_uncoordinated: bool = False,
        servers: Servers = REAL_SERVERS,
        them: Participants,
    ) -> None:
        self.topology, self.way, self.is_uncoordinated = topology, way, is_uncoordinated
        self.servers, self.them = servers, them
        self.command = f"{self.verb} {way.left.cluster} → {way.entered.cluster}"
        self.about: Mapping[str, Any] = {"part": way.part_as_json()} if way.is_part else {}

    def open_estate(self) -> Estate:
        """The side that is entered; connections to the other one are opened as they are needed."""
        for mirror in self.way.feeds:
            self.them.engine(self.topology, mirror)  # one that only copies moves nothing
        return open_estate(self.servers, self.topology, self.way, self.them)

    def observe(self, estate: Estate, *, own_lock: bool, own_run: str) -> Snapshot:
        """Both sides, and what lies between them."""
        seen = observe(estate, self.way, them=self.them, own_lock=own_lock, own_run=own_run)
        if (
            not self.is_uncoordinated
            or estate.coordination is not None
            or seen.coordination.value is not None
        ):
            # An ensemble that answers, and only does not let itself be read, is none that is gone.
            return seen
        copied, effects = copied_facts(estate), effects_with(self.them)
        here = known_here(seen.coordination, self.topology.name, own_run, copied, effects)
        return replace(seen, coordination=here)

    @abstractmethod
    def plan(self, picture: Snapshot) -> Plan:
        """What it would do now."""

    def gates_of_undo(self, picture: Snapshot) -> tuple[GateResult, ...]:  # noqa: ARG002
        """None: what a later move has made of it is refused before anything is looked at."""
        return ()

    def actions(self, run: Run[Estate], plan: Plan, picture: Snapshot) -> Actions:  # noqa: ARG002
        """The effects, for one run."""
        session = MoveSession(self.topology, run, picture, self.way, them=self.them)
        return EffectActions(effects_with(self.them), session)

    def run(
        self,
        *,
        on_event: OnEvent = lambda _: None,
        on_plan: OnPlan = lambda _: None,
        approve: Approve = lambda _: True,
        folder: Path | None = None,
        is_new_estate: bool = False,
    ) -> RunResult:
        """From the lock to the last verification; see `run_procedure`."""
        effects = effects_with(self.them)
        ended = run_procedure(
            self,
            on_event=on_event,
            on_plan=on_plan,
            approve=approve,
            folder=folder,
            is_new_estate=is_new_estate,
            result_of=journaled(effects),
        )
        return run_result(ended, effects)
