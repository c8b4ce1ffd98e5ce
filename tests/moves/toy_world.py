"""An estate in memory in which a toy engine mirrors, and toy applications work beside usual producers.

Runs are made by `tests.engine.crashes`: the journal is theirs; lock, estate record and session are those of any
move, on the servers in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from orchestrator.engine import Results, StepOutcome, state_from_journal
from orchestrator.moves.acting import EffectActions
from orchestrator.moves.effects import PARTICIPANTS, effects_with
from orchestrator.moves.failback import failback
from orchestrator.moves.failover import Degraded, Opening, failover
from orchestrator.moves.kinds import Producers
from orchestrator.moves.participants import Accepted, Participants
from orchestrator.moves.plans import along
from orchestrator.moves.runbook import Runbook
from orchestrator.moves.switchover import switchover
from orchestrator.operations.estate_facts import read_facts
from orchestrator.operations.move_session import MoveSession
from orchestrator.operations.observe import Estate, observe, open_estate
from orchestrator.operations.run import Run
from orchestrator.operations.where_now import where_now
from orchestrator.planning.estate_record import ReverseStarts, reverse_starts
from orchestrator.planning.request import principals_back
from orchestrator.planning.fence import Fenced
from orchestrator.planning.mirror_ref import MirrorRef, ref_to
from orchestrator.planning.observation import Observation, Part
from orchestrator.planning.plan import Plan, Step, digest
from orchestrator.planning.samples import SampleHistory
from orchestrator.planning.request import moved_principals
from orchestrator.topology.loading import dump_topology, load_topology
from orchestrator.topology.model import Topology
from orchestrator.values import TopicPartition
from tests.engine.crashes import CrashingJournal, run_inline
from tests.moves.toy_applications import Tallies, ToyApplications
from tests.moves.toy_engine import Copiers, ToyEngine
from tests.twin import truths
from tests.twin.crew import EPOCH_S
from tests.twin.estate import TwinEstate

FILE = Path(__file__).parents[1] / "faults" / "sick.yaml"
HOME, AWAY = "west", "east"
TALLIES = ("ada", "grace")
SLOW = {"grace": 2}
TIMEOUT_S = 30.0
_AT_WORK_S, _A_WHILE_S = 3.0, 4.0


def toy_topology() -> Topology:
    """One topic of two partitions and its producer; neither the file nor a host knows the toys."""
    file = load_topology(FILE)
    (topic, *_), (producer, *_) = file.topics, file.producers
    (mirror,) = file.replication
    return replace(
        file,
        topics=(replace(topic, partitions=2),),
        replication=(replace(mirror, topics=(topic.name,)),),
        producers=(producer,),
        consumers=(),
    )


class ToyEstate(TwinEstate):
    """West at work: tallies and a producer there, and a copier to east. Connect's workers have nothing to do.

    With `is_usual` there is no copier: MirrorMaker copies, and a watcher watches. Tallies take part beside the
    usual kinds.
    """

    def __init__(self, folder: Path, *, is_usual: bool = False) -> None:
        file = toy_topology()
        super().__init__(file, folder)
        topics = {name: tuple(topic.name for topic in file.topics) for name in TALLIES}
        self.copiers = Copiers(self.topology, self.clusters, self.record)
        self.tallies = Tallies(self.topology, self.clusters, self.record, topics, SLOW)
        self.ahead = ref_to(self.topology.replication[0])
        if not is_usual:
            for workers in self.workers.values():
                workers.connectors.clear()
            for watcher in self.watchers:
                watcher.is_running = False
            self.copiers.begin(self.ahead, {})
            self.copiers.run(self.ahead)
        for name in TALLIES:
            partitions = self.clusters[HOME].partitions(topics[name])
            self.tallies.positions[name, HOME] = dict.fromkeys(partitions, 0)
        self.tallies.start(TALLIES, HOME)
        toys = ToyApplications(self.tallies, {HOME: TALLIES})
        self.them = Participants(kinds=(Producers(), toys), engines=(ToyEngine(self.copiers),))
        if is_usual:
            self.them = replace(PARTICIPANTS, kinds=(*PARTICIPANTS.kinds, toys))
        self.live(_AT_WORK_S)

    def _lives(self, seconds: float) -> None:
        super()._lives(seconds)
        self.copiers.live(EPOCH_S + self.crew.now_s)
        self.tallies.live()

    def open(self) -> Estate:
        """As every verb along the mirror opens it."""
        return open_estate(self.servers, self.topology, self.topology.replication[0])

    def session(self, run: Run[Estate], seen: Observation) -> MoveSession:
        """That of any move; no watcher has recorded anything."""
        none: Part[SampleHistory] = Part("watcher", seen.at_s, None, "there is none")
        samples: Mapping[MirrorRef, Part[SampleHistory]] = {self.ahead: none, self.ahead.other_way: none}
        return MoveSession(self.topology, run, seen, samples=samples, them=self.them)

    def starts(self) -> dict[TopicPartition, int]:
        """Where the way back begins, by the estate record."""
        facts = read_facts(self.ensemble, self.topology.name, (ReverseStarts,))
        return reverse_starts(facts, HOME, AWAY)


def made(estate: ToyEstate, verb: str) -> Plan:
    """The plan of a verb by its own runbook, as things are."""
    topology, ahead, them = estate.topology, estate.ahead, estate.them
    (mirror,), book = topology.replication, Runbook()
    who = moved_principals(topology, mirror)
    opening = Opening(since_s=EPOCH_S + estate.crew.now_s, wait_s=0.1, look_s=0.1)
    if verb == "failover":
        move = along(topology, ahead, Fenced({}, {}, ()), them, reach="gone")
        failover(book, move, them, opening, Accepted(), degraded={})
    elif verb == "leave":
        move = along(topology, ahead, who, them, reach="partial")
        known = Degraded(is_fenced=True, is_kept_off=False, unread=())
        failover(book, move, them, opening, Accepted(loss=0), degraded={HOME: known})
    elif verb == "switchover":
        move = along(topology, ahead, who, them)
        switchover(book, move, them, Accepted(), timeout_s=TIMEOUT_S)
    else:
        who_home, who_standby = principals_back(topology, mirror)
        move = along(topology, ahead.other_way, who_standby, them)
        failback(book, move, them, Accepted(), who_home, estate.starts(), timeout_s=TIMEOUT_S)
    is_back = verb == "failback"
    return Plan(
        verb={"leave": "failover"}.get(verb, verb),
        topology=topology.name,
        source=AWAY if is_back else HOME,
        target=HOME if is_back else AWAY,
        request={},
        created_at_s=EPOCH_S + estate.crew.now_s,
        expires_at_s=EPOCH_S + estate.crew.now_s + 3600,
        topology_digest=digest(dump_topology(topology)),
        observed={},
        gates=(),
        steps=book.steps,
        told=book.told,
    )


@dataclass
class ToyWorld(CrashingJournal):
    """One run on such an estate. Each process has its own lock and session; the estate survives them all."""

    estate: ToyEstate = field(kw_only=True)
    folder: Path = field(kw_only=True)
    run_id: str = "run-1"
    actions: dict[str, EffectActions] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.effects = effects_with(self.estate.them)
        # Whatever is done to the estate, by whomever, is a point.
        self.estate.record.harm_where(lambda _: self.point() or False, "fails")
        self.seen = observe(self.estate.open())

    def on_loss(self, callback: Callable[[str], None]) -> None:
        """Each process asks for this once; the session of the one before it is over by then."""
        super().on_loss(callback)
        self.estate.ensemble.lose_locks()
        run = Run(
            self.estate.topology,
            self.run_id,
            self.estate.open,
            command="a toy's",
            folder=self.folder,
            on_event=lambda _: None,
            clock=self.estate.servers.clock,
        )
        self.actions[self.process] = EffectActions(
            self.effects, self.estate.session(run.__enter__(), self.seen)
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
        world = ToyWorld(estate=estate, folder=folder, run_id="run-0")
        assert run_inline(made(estate, "failover"), world).outcome == "ok"
        estate.record.heal()
        estate.ensemble.lose_locks()
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
