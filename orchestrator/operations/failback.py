"""The way back to a primary that was lost: what is its own beside `procedure`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from orchestrator.adapters.checkpoint_files import local_checkpoint
from orchestrator.engine import Actions, OnEvent
from orchestrator.errors import DcctlError
from orchestrator.moves.acting import EffectActions
from orchestrator.moves.effects import PARTICIPANTS, effects_with
from orchestrator.moves.epoch_ends import read_epoch_ends
from orchestrator.moves.last_copied import read_last_copied
from orchestrator.moves.mirror_ref import ref_to
from orchestrator.moves.participants import Participants
from orchestrator.moves.plans import plan_failback
from orchestrator.moves.topic_states import topic_states
from orchestrator.operations.coordination_state import no_ensemble
from orchestrator.operations.estate_facts import read_facts
from orchestrator.operations.failover_result import FailoverResult, failover_result
from orchestrator.operations.fence import Asking
from orchestrator.operations.left import ANSWER_TIMEOUT_S
from orchestrator.operations.move_session import MoveSession
from orchestrator.operations.observe import (
    REACHED_WITHIN_S,
    Estate,
    asked,
    observe,
    open_estate,
)
from orchestrator.operations.procedure import Approve, OnPlan, preview, run_procedure
from orchestrator.operations.relocation import seen_checkpoint
from orchestrator.operations.run import Run
from orchestrator.operations.servers import REAL_SERVERS, Servers
from orchestrator.planning.checkpoints import SeenCheckpoint
from orchestrator.planning.estate_record import (
    JournalUnread,
    LogsCut,
    LogsLeft,
    ReverseStarts,
    RunEnded,
    cuts_since_left,
    journals_unread,
    log_cuts,
    logs_left,
    reverse_starts,
)
from orchestrator.planning.failback import FailbackRequest, mirror_to_fail_back
from orchestrator.planning.failback_flip import flipped
from orchestrator.planning.failback_picture import FailbackPicture, Past, StandbySide
from orchestrator.planning.plan import Plan, RunEvent
from orchestrator.planning.positions import source_partitions
from orchestrator.planning.returned import epochs_left
from orchestrator.planning.support import refuse_unsupported
from orchestrator.replication.connectors import connector_names
from orchestrator.topology.model import Consumer, Topology
from orchestrator.values import EpochEnd, TopicPartition
from orchestrator.watch.reader import read_samples


class FailbackProcedure:
    """See `operations.procedure.Procedure`."""

    verb = "failback"
    is_alone = False
    gates_of_resumed = frozenset(
        {"coordination", "not-held", "same-clusters", "target-healthy", "standby-healthy", "fenceable"}
    )

    def __init__(
        self,
        topology: Topology,
        request: FailbackRequest,
        *,
        servers: Servers = REAL_SERVERS,
        them: Participants = PARTICIPANTS,
    ) -> None:
        self.servers, self.them = servers, them
        refuse_unsupported(topology, "failback")
        self.topology, self.request = topology, request
        self.mirror = mirror_to_fail_back(topology, request.to)
        self.command = f"failback {self.mirror.target} → {self.mirror.source}"
        self.about: Mapping[str, Any] = {}

    @classmethod
    def of_run(
        cls, servers: Servers, topology: Topology, plan: Plan, _first: RunEvent, them: Participants
    ) -> FailbackProcedure:
        """As an earlier run was asked for."""
        return cls(topology, FailbackRequest(**plan.request), servers=servers, them=them)

    def open_estate(self) -> Estate:
        """The primary as target of the reverse mirror, and the workers at the standby."""
        back = flipped(self.topology, self.mirror)
        estate = open_estate(self.servers, back, back.replication[0])
        # Errors shall name them where they stand.
        return replace(estate, connect=self.servers.connect(self.topology, self.mirror.target))

    def observe(self, estate: Estate, *, own_lock: bool, own_run: str) -> FailbackPicture:
        """Both sides, each asked directly, and the journal for what earlier runs have recorded."""
        mirror, servers, clock = self.mirror, self.servers, self.servers.clock
        standby = servers.kafka(self.topology, mirror.target)
        own = source_partitions(self.topology, mirror)
        read_at_standby = [*own, *(mirror.mirrored(tp) for tp in own)]
        topics = {tp.topic for tp in read_at_standby}
        connect = estate.connect.within(REACHED_WITHIN_S)
        with servers.threads.pool(13) as pool:
            base = pool.submit(observe, estate, own_lock=own_lock, own_run=own_run)
            of_standby = Asking(servers, self.topology, pool, standby)
            of_home = Asking(servers, self.topology, pool, estate.target)
            states = of_standby.ask(lambda: topic_states(standby, topics))
            logs = of_standby.ask(lambda: standby.log_ends(read_at_standby))
            committed = of_standby.ask(lambda: standby.committed(estate.groups))
            access = of_standby.access()
            home_access = of_home.access()
            samples = of_standby.ask(lambda: read_samples(standby, mirror.samples_topic))
            past = pool.submit(asked, "journal", lambda: self._past(estate), clock)
            last_read = pool.submit(
                asked,
                f"Connect at {connect.name}",
                lambda: read_last_copied(
                    self.topology,
                    mirror,
                    standby,
                    connect.source_offsets(_connector(self)),
                    samples=samples.result().value,
                    past=past.result().value,
                ),
                clock,
            )
            epoch_ends = of_home.ask(lambda: self._epoch_ends(estate, past.result().value or Past()))
            left = pool.submit(asked, f"checkpoints at {mirror.target}", lambda: _checkpoints(estate), clock)
            seen = base.result()
            copies, read = logs.result(), last_read.result()
            # Behind what was copied: of a primary that is written, a mirror at work would seem to have more.
            home_ends = of_home.ask(lambda: estate.target.log_ends(seen.log_ends.value or ())).result()
            if seen.log_ends.value is not None:
                seen = replace(seen, log_ends=home_ends)
            return FailbackPicture(
                observation=seen,
                standby=StandbySide(
                    topics=states.result(),
                    log_ends=copies,
                    committed=committed.result(),
                    access=access.result(),
                ),
                home_access=home_access.result(),
                last_read=read,
                samples=samples.result(),
                past=past.result(),
                epoch_ends=epoch_ends.result(),
                checkpoints=left.result(),
            )

    def plan(self, picture: FailbackPicture) -> Plan:
        """See `plan_failback`."""
        return plan_failback(self.topology, picture, self.request, them=self.them)

    def actions(self, run: Run[Estate], plan: Plan, picture: FailbackPicture) -> Actions:  # noqa: ARG002
        """The effects, for one run."""
        mirror = ref_to(self.mirror)
        session = MoveSession(
            self.topology,
            run,
            picture.observation,
            samples={mirror: picture.samples, mirror.other_way: picture.observation.samples},
            past=picture.past,
            are_samples_needed=False,
            them=self.them,
        )
        return EffectActions(effects_with(self.them), session)

    def _epoch_ends(self, estate: Estate, past: Past) -> dict[TopicPartition, EpochEnd]:
        """Of the primary's logs, as far as it is recorded in which epochs they were left."""
        epochs = epochs_left(self.topology, self.mirror, past)
        if not epochs:
            return {}
        addresses = estate.target.brokers(REACHED_WITHIN_S).values()
        with self.servers.log_ends(self.topology, self.mirror.source, ANSWER_TIMEOUT_S) as reader:
            return read_epoch_ends(reader, addresses, epochs)

    def _past(self, estate: Estate) -> Past:
        """What the estate record tells of the two clusters."""
        if estate.coordination is None:
            raise no_ensemble(self.topology, estate.coordination_problem)
        kinds = (RunEnded, ReverseStarts, LogsCut, LogsLeft, JournalUnread)
        facts = read_facts(estate.coordination, self.topology.name, kinds)
        home, standby = self.mirror.source, self.mirror.target
        unread = journals_unread(facts, home, standby)
        if unread:
            raise DcctlError(f"journal of run {unread[0].run_id}", "could not be read for the estate record")
        return Past(
            starts=reverse_starts(facts, home, standby),
            cuts=log_cuts(facts, home, standby),
            cuts_since_left=cuts_since_left(facts, home, standby),
            left=logs_left(facts, home),
        )


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
    servers: Servers = REAL_SERVERS,
    them: Participants = PARTICIPANTS,
) -> FailoverResult:
    """Go back, from the lock to the last verification; see `run_procedure`.

    Where a step on the way over does not end well, the move is taken back, and the primary stays a standby.
    """
    ended = run_procedure(
        FailbackProcedure(topology, request, servers=servers, them=them),
        on_event=on_event,
        on_plan=on_plan,
        approve=approve,
        folder=folder,
    )
    return failover_result(ended, effects_with(them))


def _checkpoints(estate: Estate) -> dict[str, SeenCheckpoint]:
    """The checkpoint of each query where it works now, at the standby."""
    queries = [c for c in estate.topology.consumers_of(estate.mirror.source) if c.kind == "spark"]
    return {query.name: _seen(query) for query in queries}


def _seen(query: Consumer) -> SeenCheckpoint:
    try:
        return seen_checkpoint(local_checkpoint(f"consumer {query.name}", query.checkpoint or ""))
    except DcctlError as error:
        return SeenCheckpoint(problem=error.problem, hint=error.hint)


def _connector(procedure: FailbackProcedure) -> str:
    return connector_names(procedure.mirror).source
