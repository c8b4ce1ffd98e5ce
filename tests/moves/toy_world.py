"""An estate in memory in which a toy engine mirrors, and toy applications work beside usual producers.

Runs are made by `tests.runs.crashes`: the journal is theirs; lock, estate record and session are those of any
move, on the servers in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from orchestrator.applications.producers.kind import Producers
from orchestrator.mirrors.mirrormaker2 import MirrorMaker2
from orchestrator.moves.participants import Participants
from orchestrator.moves.request import FailbackRequest, FailoverRequest, SwitchoverRequest
from orchestrator.replication.mirror_ref import ref_to
from orchestrator.runs.acting import EffectActions
from orchestrator.runs.engine import Results, StepOutcome, state_from_journal
from orchestrator.runs.live.procedure import preview
from orchestrator.runs.live.run import Run
from orchestrator.runs.plan import Plan, Step
from orchestrator.runs.where_now import where_now
from orchestrator.topology.loading import load_topology
from orchestrator.topology.model import Consumer, Topology
from orchestrator.verbs.live.failback_procedure import FailbackProcedure
from orchestrator.verbs.live.failover_procedure import FailoverProcedure
from orchestrator.verbs.live.move_procedure import MoveProcedure
from orchestrator.verbs.live.switchover_procedure import SwitchoverProcedure
from orchestrator.verbs.registration import PARTICIPANTS, effects_with
from tests.moves.toy_applications import Tallies, ToyApplications
from tests.moves.toy_engine import Copiers, ToyEngine
from tests.runs.crashes import CrashingJournal
from tests.twin import truths
from tests.twin.crew import EPOCH_S
from tests.twin.estate import TwinEstate

FILE = Path(__file__).parents[1] / "faults" / "sick.yaml"
HOME, AWAY = "west", "east"
TALLIES = ("ada", "grace")
SLOW = {"grace": 2}
TIMEOUT_S = 30.0
_EVE = "eve: a rehearsal"
REQUESTS: Mapping[str, FailoverRequest | SwitchoverRequest | FailbackRequest] = {
    "failover": FailoverRequest(attested=(HOME,), to=AWAY, accept_loss=0),
    "leave": FailoverRequest(sick=(HOME,), to=AWAY, accept_loss=0),
    "switchover": SwitchoverRequest(to=AWAY, timeout_s=TIMEOUT_S),
    "failback": FailbackRequest(to=HOME, timeout_s=TIMEOUT_S, acknowledge=_EVE),
}
_AT_WORK_S, _A_WHILE_S = 3.0, 4.0


def toy_topology(*, has_connect: bool) -> Topology:
    """One topic of two partitions and its producer; neither the file nor a host knows the toys."""
    file = load_topology(FILE)
    (topic, *_), (producer, *_) = file.topics, file.producers
    (mirror,) = file.replication
    return replace(
        file,
        clusters={
            name: cluster
            if has_connect
            else replace(cluster, nodes=tuple(replace(row, connect_workers=0) for row in cluster.nodes))
            for name, cluster in file.clusters.items()
        },
        topics=(replace(topic, partitions=2),),
        replication=(replace(mirror, topics=(topic.name,), engine="mirrormaker2" if has_connect else "toy"),),
        producers=(producer,),
        consumers=(),
    )


class ToyEstate(TwinEstate):
    """West at work: tallies and a producer there, and a copier to east. No Connect is anywhere.

    With `is_usual` there is no copier: MirrorMaker copies, and a watcher watches. Tallies take part beside the
    usual kinds. `declared`: their entries, where the file has them.
    """

    def __init__(self, folder: Path, *, is_usual: bool = False, declared: tuple[Consumer, ...] = ()) -> None:
        file = replace(toy_topology(has_connect=is_usual), consumers=declared)
        super().__init__(file, folder)
        topics = {name: tuple(topic.name for topic in file.topics) for name in TALLIES}
        self.copiers = Copiers(self.topology, self.clusters, self.record)
        self.tallies = Tallies(self.topology, self.clusters, self.record, topics, SLOW)
        self.ahead = ref_to(self.topology.replication[0])
        if not is_usual:
            self.copiers.begin(self.ahead, {})
            self.copiers.run(self.ahead)
        for name in TALLIES:
            partitions = self.clusters[HOME].partitions(topics[name])
            self.tallies.positions[name, HOME] = dict.fromkeys(partitions, 0)
        self.tallies.start(TALLIES, HOME)
        toys = ToyApplications(self.tallies, {HOME: TALLIES})
        self.them = Participants(kinds=(Producers(), toys), engines=(MirrorMaker2(), ToyEngine(self.copiers)))
        if is_usual:
            self.them = replace(PARTICIPANTS, kinds=(*PARTICIPANTS.kinds, toys))
        self.live(_AT_WORK_S)

    def _lives(self, seconds: float) -> None:
        super()._lives(seconds)
        self.copiers.live(EPOCH_S + self.crew.now_s)
        self.tallies.live()


def procedure_of(estate: ToyEstate, verb: str) -> MoveProcedure:
    """A verb as a person asks for it, with the toys among those who take part."""
    topology, asked = estate.topology, REQUESTS[verb]
    if isinstance(asked, FailoverRequest):
        return FailoverProcedure(topology, asked, servers=estate.servers, them=estate.them)
    if isinstance(asked, SwitchoverRequest):
        return SwitchoverProcedure(topology, asked, servers=estate.servers, them=estate.them)
    return FailbackProcedure(topology, asked, servers=estate.servers, them=estate.them)


def made(estate: ToyEstate, verb: str) -> Plan:
    """The plan of a verb as things are: every gate lets it."""
    plan = preview(procedure_of(estate, verb))
    assert plan.is_allowed, [gate for gate in plan.gates if gate.outcome != "ok"]
    return plan


@dataclass
class ToyWorld(CrashingJournal):
    """One run on such an estate. Each process has its own lock and session; the estate survives them all."""

    estate: ToyEstate = field(kw_only=True)
    verb: str = field(kw_only=True)
    folder: Path = field(kw_only=True)
    run_id: str = "run-1"
    actions: dict[str, EffectActions] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.effects = effects_with(self.estate.them)
        self.procedure = procedure_of(self.estate, self.verb)
        # Whatever is done to the estate, by whomever, is a point.
        self.estate.record.harm_where(lambda _: self.point() or False, "fails")
        estate = self.procedure.open_estate()
        self.seen = self.procedure.observe(estate, own_lock=False, own_run=self.run_id)

    def on_loss(self, callback: Callable[[str], None]) -> None:
        """Each process asks for this once; the session of the one before it is over by then."""
        super().on_loss(callback)
        self.estate.ensemble.lose_locks()
        run = Run(
            self.estate.topology,
            self.run_id,
            self.procedure.open_estate,
            command="a toy's",
            folder=self.folder,
            on_event=lambda _: None,
            clock=self.estate.servers.clock,
        )
        self.actions[self.process] = self.procedure.actions(
            run.__enter__(), self.procedure.plan(self.seen), self.seen
        )

    def perform(self, step: Step, results: Results) -> StepOutcome:
        return self.actions[self.process].perform(step, results)

    def verify(self, step: Step, results: Results) -> StepOutcome:
        return self.actions[self.process].verify(step, results)

    def compensate(self, step: Step, results: Results) -> StepOutcome:
        return self.actions[self.process].compensate(step, results)

    def verify_undone(self, step: Step, results: Results) -> StepOutcome:
        return self.actions[self.process].verify_undone(step, results)

    def cancel(self) -> None:
        self.actions[self.process].cancel()


def ready_for(verb: str, folder: Path) -> ToyEstate:
    """West is lost, or lacks a broker, or is well; or it was lost and is back."""
    estate = ToyEstate(folder)
    if verb == "leave":
        estate.clusters[HOME].set_brokers("gone", 1)
    elif verb == "failover":
        estate.lose(HOME)
    elif verb == "failback":
        estate.lose(HOME)
        result = procedure_of(estate, "failover").run()
        assert result.outcome == "ok", result.reason
        estate.live(1)
        estate.tallies.stop(TALLIES, HOME)
        estate.bring_back(HOME)
    estate.live(1)
    return estate


def wrong(estate: ToyEstate) -> list[str]:
    """What must never be, after a while: two places at once, or a record that a tally has passed over."""
    estate.record.heal()
    estate.live(_A_WHILE_S)
    found = list(dict.fromkeys(estate.tallies.problems))
    for topic, turns in truths.written_at(estate).items():
        if turns not in ([HOME], [HOME, AWAY], [HOME, AWAY, HOME]):
            found.append(f"{topic} is written at {turns}")
    for name, at in sorted(estate.tallies.running):
        missing = estate.tallies.passed_over(name, at)
        if missing and estate.clusters[at].lets_in:
            found.append(f"{name} has passed over {missing} records at {at}")
    return found


def said_at(world: ToyWorld, plan: Plan, count: int) -> str:
    """What `where_now` says after so many records of the journal."""
    return where_now(state_from_journal(plan, world.run_id, world.records[:count]), world.effects)
