"""Two sites, an ensemble and people, in memory and in virtual time: for what guards and moves do to each other.

What decides here is the product's own: `guarding.decide` for each guard, `boot_guard_status` for what it reads, and the
functions by which a failover judges the guards' words and the source. The rest is the world: machines with their
own clocks, power and pauses, brokers that take their time to listen, calls that answer late, twice as late or
never, operators that die between two steps and others that go on.

Each site has topics of its own, and any of them may be moved, alone or with others: west's to east and back, and
east's to west. West stands behind guards; at east whoever writes is started and stopped by the moves alone.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, field
from random import Random

from orchestrator.guards.boot_guard import Disk, boot_guard_status, newest_begun
from orchestrator.guards.guard_events import (
    Ask,
    Begun,
    Ended,
    Event,
    Exit,
    Heard,
    Instruction,
    Kill,
    LeaveTurn,
    Listens,
    Start,
    Stop,
    TakeTurn,
    Ticked,
    TurnAnswered,
)
from orchestrator.guards.guarding import WAITED_FOR_S, Guard, decide
from orchestrator.moves.brokers_starting import source_back
from orchestrator.runs.estate_record import DenialInForce, PrimaryMoved, primary_records
from orchestrator.runs.guards import GuardSaid, kept_closed, may_open_yet, not_clear
from orchestrator.runs.primaries import primaries_of
from orchestrator.runs.writers import Topic
from orchestrator.snapshot.observation import SourceProbe
from tests.guards.guard_facts import REFUNDS, TOPICS, WRITERS, Story

TICK_S = 0.4
NAMED_WITHIN_S = 5.0
OF_WEST = frozenset(topic for topic in TOPICS if topic[0] == "west")


@dataclass
class Run:
    """One run in the journal, and what it has done. `topics` are those that it moves, or denies."""

    id: str
    verb: str
    source: str
    target: str
    topics: frozenset[Topic]
    begun: bool = False
    outcome: str = ""
    held: bool = False
    waited: bool = False
    frozen: bool = False
    recorded: bool = False


@dataclass
class Broker:
    """A broker of west with its machine: `skew_s` of its wall clock, `rate` of its steady one."""

    name: str
    skew_s: float
    rate: float
    guard: Guard | None = None
    disk: Disk = field(default_factory=Disk)
    is_empty: bool = False
    is_on: bool = False
    is_paused: bool = False
    mode: str = ""  # how the broker runs: open, closed, or not
    listens_at_s: float = 0.0
    life: int = 0  # of the guard
    start: int = 0  # of the broker
    kept: list[Callable[[], None]] = field(default_factory=list)

    def is_listening(self, now_s: float) -> bool:
        return self.is_on and bool(self.mode) and now_s >= self.listens_at_s

    def takes_writes(self, now_s: float) -> bool:
        return self.is_listening(now_s) and self.mode == "open" and not self.is_paused


@dataclass
class Habits:
    """What is left out, to see that the model notices it."""

    waits: bool = True
    looks: bool = True
    asks_again: bool = True
    claims: bool = True
    knows_disks: bool = True
    looks_at_each: bool = True


class World:
    """`problems` is what must not be; `named`, `lies` and `apart` are counted to see that it gets there."""

    def __init__(self, seed: int, brokers: int = 2, habits: Habits | None = None) -> None:
        self.random = Random(seed)  # noqa: S311 - a story is to be told again by its seed
        self.habits = habits or Habits()
        self.now_s = 1_000.0
        self._queue: list[tuple[float, int, Callable[[], None]]] = []
        self._count = 0
        self.runs: list[Run] = []
        self.record = Story()
        self.turn = ""
        self.lock = 0
        self.is_ensemble_up = True
        self.rules_at_west: set[Topic] = set()
        # Who comes up at west with its hosts, and writes as soon as a broker lets it in; who writes at east.
        self.at_home_in_west = set(OF_WEST)
        self.east_writes = set(TOPICS) - OF_WEST
        self.is_operator_cut_off = False
        self.is_lie = False
        self.beside_since_s: float | None = None
        self.calls_well_since_s = 0.0
        self.problems: list[str] = []
        self.log: list[str] = []
        self.named = 0
        self.apart = 0
        self.last_good_s = self.now_s
        self.brokers = [
            Broker(f"kafka{n}", self.random.uniform(-3600, 3600), self.random.uniform(0.99, 1.01))
            for n in range(1, brokers + 1)
        ]
        # From when they were started last, long ago.
        self.said = {
            b.name: GuardSaid(
                server=b.name,
                state="open",
                at_s=b.skew_s,
                broker_id=int(b.name[-1]),
                has_listened=True,
            )
            for b in self.brokers
        }

    # time

    def after(self, seconds: float, what: Callable[[], None]) -> None:
        self._count += 1
        heapq.heappush(self._queue, (self.now_s + seconds, self._count, what))

    def run(self, seconds: float) -> None:
        until_s = self.now_s + seconds
        while self._queue and self._queue[0][0] <= until_s:
            self.now_s, _, what = heapq.heappop(self._queue)
            what()
            self._check()
        self.now_s = until_s

    def tell(self, text: str) -> None:
        self.log.append(f"{self.now_s - 1000:8.2f} {text}")

    # what must hold

    def _check(self) -> None:
        west = [b for b in self.brokers if b.takes_writes(self.now_s)]
        if any(b.mode == "open" and b.is_listening(self.now_s) for b in self.brokers):
            self.last_good_s = self.now_s
        # Both sites take writes, each of other topics of west.
        self.apart += bool(west and self.east_writes & OF_WEST and OF_WEST - self.east_writes)
        both = (self.at_home_in_west - self.rules_at_west) & self.east_writes
        if not (west and both):
            self.beside_since_s = None
            return
        if not self.is_lie:
            names = ", ".join(sorted(name for _, name in both))
            self.problems.append(f"{self.now_s - 1000:.2f}: {west[0].name} and east take writes of {names}")
        self.beside_since_s = self.beside_since_s or self.now_s
        since_s = max(self.beside_since_s, self.calls_well_since_s)
        names = {name for name, word in self.said.items() if word.beside}
        if names & {b.name for b in west}:
            self.named += 1
        elif self.now_s - since_s > NAMED_WITHIN_S:
            self.problems.append(f"{self.now_s - 1000:.2f}: nobody has named {west[0].name}")

    # the ensemble

    def call(self, what: Callable[[], object]) -> tuple[float, Callable[[], object] | None, float]:
        """How long until it is done, what is done (None: nothing), and how long until that is known."""
        kind = self.random.random()
        if not self.is_ensemble_up:
            self.calls_well_since_s = max(self.calls_well_since_s, self.now_s + 6.0)
            return 3.0, None, 0.0
        late = self.random.uniform(2.0, 8.0) if kind < 0.08 else self.random.uniform(0.0, 0.3)
        back = self.random.uniform(2.0, 9.0) if kind > 0.92 else self.random.uniform(0.0, 0.3)
        if late > 1.0 or back > 1.0:
            self.calls_well_since_s = max(self.calls_well_since_s, self.now_s + late + back + 1.0)
        return late, what, back

    def word(self, broker: Broker) -> object:
        facts = self.record.facts
        if broker.disk.is_new and broker.disk.after is None:
            broker.disk = Disk(True, newest_begun(facts))
        disk = broker.disk if self.habits.knows_disks else Disk()
        seen = WRITERS if self.habits.looks_at_each else {TOPICS[0]: WRITERS[TOPICS[0]]}
        return boot_guard_status("west", seen, facts, disk=disk)

    def at_west(self) -> frozenset[Topic]:
        """Topics that are recorded as primary at west."""
        known = primaries_of(primary_records(self.record.facts))
        return frozenset(t for t in TOPICS if (known[t].cluster if t in known else t[0]) == "west")

    # guards

    def power_on(self, broker: Broker) -> None:
        broker.is_on, broker.is_paused, broker.mode = True, False, ""
        broker.life += 1
        broker.kept = []
        if broker.is_empty:
            broker.disk = Disk(True, None)
        broker.guard = Guard()
        self.tell(f"{broker.name} starts")
        self.event(broker, broker.life, Begun(self.clock(broker), 10.0))
        self._tick(broker, broker.life)

    def power_off(self, broker: Broker) -> None:
        self.tell(f"{broker.name} is gone")
        broker.is_on, broker.mode, broker.guard = False, "", None
        broker.life += 1
        if self.turn == broker.name:
            self.turn = ""

    def clock(self, broker: Broker) -> float:
        return self.now_s * broker.rate

    def _tick(self, broker: Broker, life: int) -> None:
        if broker.life != life:
            return
        if not broker.is_paused:
            self.event(broker, life, Ticked(self.clock(broker)))
        self.after(TICK_S, lambda: self._tick(broker, life))

    def event(self, broker: Broker, life: int, event: Event) -> None:
        if broker.life != life or broker.guard is None:
            return
        if broker.is_paused:
            broker.kept.append(lambda: self.event(broker, life, event))
            return
        broker.guard, instructions = decide(broker.guard, event)
        for instruction in instructions:
            self._carry_out(broker, life, instruction)

    def _carry_out(self, broker: Broker, life: int, instruction: Instruction) -> None:
        match instruction:
            case Ask():
                self._ask(broker, life, instruction)
            case TakeTurn():
                is_ours = self.is_ensemble_up and self.turn in {"", broker.name}
                self.turn = broker.name if is_ours else self.turn
                answered = TurnAnswered(self.clock(broker), is_ours)
                self.after(0.1, lambda: self.event(broker, life, answered))
            case LeaveTurn():
                self.turn = "" if self.turn == broker.name else self.turn
            case Start(is_open):
                self._start(broker, life, is_open=is_open)
            case Stop():
                self._end(broker, life, self.random.uniform(0.1, 10.0))
            case Kill():
                broker.mode = ""
                self._end(broker, life, 0.05)
            case Exit():
                self.power_off(broker)

    def _ask(self, broker: Broker, life: int, ask: Ask) -> None:
        def answer() -> object:
            if ask.says is not None and (self.habits.claims or ask.says.state != "opening"):
                self.said[broker.name] = GuardSaid(
                    server=broker.name,
                    state=ask.says.state,
                    reason=ask.says.reason,
                    at_s=self.now_s + broker.skew_s,
                    broker_id=int(broker.name[-1]),
                    has_listened=ask.says.state == "open",
                    beside=ask.says.beside,
                )
            return self.word(broker)

        late_s, what, back_s = self.call(answer)

        def done() -> None:
            if broker.life != life:
                return
            if broker.is_paused:
                broker.kept.append(done)
                return
            word = what() if what is not None and self.is_ensemble_up else None
            said = ask.says if word is not None else None
            self.after(
                back_s,
                lambda: self.event(broker, life, Heard(self.clock(broker), word, "no answer", said)),  # type: ignore[arg-type]
            )

        self.after(late_s, done)

    def _start(self, broker: Broker, life: int, *, is_open: bool) -> None:
        broker.mode, broker.is_empty = "open" if is_open else "closed", False
        broker.start += 1
        start = broker.start
        boot_s = self.random.choice((0.3, 1.0, 2.0, 4.0, 8.0, 12.0, 30.0, 45.0)) * self.random.uniform(
            0.8, 1.2
        )
        broker.listens_at_s = self.now_s + boot_s
        self.tell(f"{broker.name} runs {broker.mode}, listens in {boot_s:.1f} s")

        def up() -> None:
            if broker.start == start and broker.life == life:
                if broker.is_paused:
                    broker.listens_at_s = float("inf")
                    broker.kept.append(lambda: setattr(broker, "listens_at_s", self.now_s))
                    broker.kept.append(up)
                    return
                if self.habits.asks_again or broker.guard is None or broker.mode != "open":
                    self.event(broker, life, Listens(self.clock(broker)))
                else:
                    broker.guard = None  # as one that has become the broker: it asks no more

        self.after(boot_s, up)
        if is_open and not self.habits.asks_again:
            broker.guard = None

    def _end(self, broker: Broker, life: int, seconds: float) -> None:
        start = broker.start

        def ended() -> None:
            if broker.start == start and broker.life == life:
                broker.mode = ""
                self.event(broker, life, Ended(self.clock(broker), 0))

        self.after(seconds, ended)

    def pause(self, broker: Broker) -> None:
        if broker.is_on and not broker.is_paused:
            self.tell(f"{broker.name} stands still")
            broker.is_paused = True

    def thaw(self, broker: Broker) -> None:
        if broker.is_on and broker.is_paused:
            self.tell(f"{broker.name} goes on")
            broker.is_paused = False
            self.calls_well_since_s = max(self.calls_well_since_s, self.now_s + 1.0)
            # What is under way goes on before the guard has noticed anything.
            kept, broker.kept = broker.kept, []
            for what in kept:
                what()

    # a person's side

    def probe(self) -> SourceProbe:
        """What is seen of west from east."""
        if self.is_operator_cut_off:
            return SourceProbe({b.name: "silent" for b in self.brokers}, "silent")
        up = [b for b in self.brokers if b.is_listening(self.now_s) and not b.is_paused]
        seen = {b.name: "yes" if b in up else "refused" for b in self.brokers}
        return SourceProbe(seen, "" if up else "nothing")  # type: ignore[arg-type]

    def seen_back(self) -> str:
        """The look at the source, with what the guards say of it."""
        probe = self.probe()
        up = {int(b.name[-1]) for b in self.brokers if probe.addresses[b.name] == "yes"}
        now_s = self.now_s + self.random.uniform(-2, 2)
        return source_back(probe, kept_closed(list(self.said.values()), len(self.brokers), now_s, lambda: up))

    def is_attested_wrongly(self) -> bool:
        """West has an open broker that only stands still, or that only cannot be seen from here."""
        return any(
            b.is_on
            and b.mode == "open"
            and (b.is_paused or (self.is_operator_cut_off and b.is_listening(self.now_s)))
            for b in self.brokers
        )


Steps = Generator[float, None, None]


class Operator:
    """Moves by hand or by script: each yields the seconds until it goes on, and may end between any two."""

    def __init__(self, world: World) -> None:
        self.world = world

    def begin(self, steps: Steps, dies_after: int | None) -> None:
        world = self.world
        world.lock += 1
        mine = world.lock

        def go_on(number: int) -> None:
            if dies_after is not None and number >= dies_after:
                world.tell("the operator is gone")
                return
            if world.lock != mine:
                return  # its next record fails: another holds the lock
            if not world.is_ensemble_up:
                world.after(1.0, lambda: go_on(number))
                return
            seconds = next(steps, None)
            if seconds is not None:
                world.after(seconds, lambda: go_on(number + 1))

        go_on(0)

    def _begun(self, run: Run) -> None:
        """With its first effect."""
        if not run.begun:
            run.begun = True
            self.world.runs.append(run)
            self.world.record.begin(run.id, run.verb, run.source, run.target)
            self.world.tell(f"{run.id} of {_in_words(run.topics)} has begun")

    def _ended(self, run: Run, outcome: str) -> None:
        run.outcome = outcome
        self.world.record.end(run.id, outcome)

    def failover(self, run: Run) -> Steps:
        """From the plan on, or from where an earlier process has stopped."""
        world = self.world
        if world.seen_back():
            return
        if not run.begun and not_clear(world.said.values(), world.last_good_s):
            return
        yield world.random.choice((0.0, 0.5, 5.0, 20.0))  # a person thinks it over
        self._begun(run)
        yield world.random.uniform(0.0, 0.3)
        if not run.waited:
            until_s = world.now_s + (WAITED_FOR_S if world.habits.waits else 0.0)
            while world.now_s < until_s and may_open_yet(world.said.values(), world.last_good_s):
                yield 0.5
            run.waited = True
            world.tell(f"{run.id} has asked the guards")
            yield world.random.choice((0.1, 0.1, 5.0))
        if not run.recorded:
            if world.habits.looks and world.seen_back():
                world.tell(f"{run.id} sees west: {world.seen_back()}")
                self._ended(run, "incomplete")
                return
            world.is_lie = world.is_lie or world.is_attested_wrongly()
            yield 0.05
            run.recorded = True
            world.record.move(run.id, "east", *sorted(run.topics))
            world.east_writes |= run.topics
            lie = ", and west is not down" if world.is_lie else ""
            world.tell(f"east is primary for {_in_words(run.topics)}{lie}")
            yield 1.0
        self._ended(run, "ok")

    def abort(self, run: Run) -> Steps:
        """What the run has done is taken back, the newest first; then it counts as undone."""
        world = self.world
        yield 0.1
        if run.target == "west":
            world.at_home_in_west -= run.topics
            yield 0.2
        elif run.recorded:
            world.east_writes -= run.topics
            yield 0.2
        if run.recorded:
            world.record.withdraw(run.id, PrimaryMoved)
            run.recorded = False
            yield 0.2
        if run.target == "west":
            world.east_writes |= run.topics
        elif run.verb == "switchover":
            world.record.withdraw(run.id, DenialInForce)
            yield 0.2
            world.at_home_in_west |= run.topics
            world.rules_at_west -= run.topics
            yield 0.2
        self._ended(run, "undone")
        world.tell(f"{run.id} is taken back")

    def failback(self, run: Run) -> Steps:
        """Hold west by rules, let its guards open it, and move back; what is not moved stays held."""
        world = self.world
        yield 0.1
        if not any(b.is_listening(world.now_s) and not b.is_paused for b in world.brokers):
            return
        self._begun(run)
        yield 0.1
        if not run.held:
            away = sorted(set(TOPICS) - world.at_west())
            world.rules_at_west |= set(away)
            yield 0.2
            run.held = True
            world.record.deny(run.id, *away)
            world.tell(f"{run.id} holds west")
        patience = 0
        while any(word.state != "open" for word in world.said.values()):
            patience += 1
            if patience > 120:
                self._ended(run, "incomplete")
                return
            yield 0.5
        if not run.recorded:
            world.east_writes -= run.topics
            yield 0.5
            yield from self._lifted(run)
            run.recorded = True
            world.record.move(run.id, "west", *sorted(run.topics))
            world.tell(f"west is primary for {_in_words(run.topics)}")
            yield 0.5
        self._ended(run, "ok")
        world.is_lie = False

    def _lifted(self, run: Run) -> Steps:
        """The rules go, and before them what is recorded of them."""
        world = self.world
        world.record.lift(run.id, *sorted(run.topics))
        yield 0.2
        world.rules_at_west -= run.topics
        yield 0.5

    def switchover(self, run: Run) -> Steps:
        """A planned move away: rules first, then the other side. A topic of east goes home, and is stopped here."""
        world = self.world
        yield 0.1
        if not any(b.takes_writes(world.now_s) for b in world.brokers):
            return
        self._begun(run)
        yield 0.2
        world.rules_at_west |= run.topics
        yield 1.0
        if not run.topics <= world.rules_at_west:  # the whole cluster was made anew meanwhile
            self._ended(run, "incomplete")
            return
        world.record.deny(run.id, *sorted(run.topics))
        yield 0.3
        world.at_home_in_west -= run.topics - OF_WEST
        run.recorded = True
        world.record.move(run.id, "east", *sorted(run.topics))
        world.east_writes |= run.topics
        world.tell(f"{run.id} has moved {_in_words(run.topics)} to east by rules")
        yield 0.5
        self._ended(run, "ok")

    def bring(self, run: Run) -> Steps:
        """A planned move of what is at home in east to west, as planned: it is stopped there first."""
        world = self.world
        yield 0.1
        if not any(b.takes_writes(world.now_s) for b in world.brokers):
            return
        self._begun(run)
        world.east_writes -= run.topics
        yield 0.5
        yield from self._lifted(run)
        run.recorded = True
        world.record.move(run.id, "west", *sorted(run.topics))
        yield 0.2
        world.at_home_in_west |= run.topics
        world.tell(f"{run.id} has moved {_in_words(run.topics)} to west")
        yield 0.5
        self._ended(run, "ok")

    def fence(self, run: Run) -> Steps:
        """Writers of some topics are denied, or let in again, by a person who wants nothing else."""
        world = self.world
        yield 0.1
        if not any(b.takes_writes(world.now_s) for b in world.brokers):
            return
        self._begun(run)
        yield 0.1
        if run.verb == "unfence":
            yield from self._lifted(run)
        else:
            world.rules_at_west |= run.topics
            yield 0.5
            if run.topics <= world.rules_at_west:
                world.record.deny(run.id, *sorted(run.topics))
            yield 0.2
        self._ended(run, "ok")


def _in_words(topics: Iterable[Topic]) -> str:
    return ", ".join(sorted(name for _, name in topics))


def scenario(seed: int, habits: Habits | None = None) -> World:
    """One interleaving, wholly decided by `seed`."""
    world = World(seed, habits=habits)
    operator = Operator(world)
    people = _people(world, operator)
    for _ in range(world.random.randint(6, 14)):
        next(people)
        world.run(world.random.choice((0.2, 0.5, 1.0, 3.0, 8.0, 20.0)))
    world.is_ensemble_up = True
    world.run(30.0)
    return world


def _people(world: World, operator: Operator) -> Iterator[None]:
    """One thing after the other that may happen. At first the site is gone, and maybe comes back at once."""
    random = world.random
    for count in itertools.count(1):
        if random.random() < 0.3:
            _move(world, operator, count)
        else:
            random.choice((_on, _on, _off, _pause, _thaw, _net, _cut, _new))(world)
        yield


def _on(world: World) -> None:
    for broker in world.brokers:
        if not broker.is_on and world.random.random() < 0.8:
            world.power_on(broker)


def _some(world: World, share: float) -> list[Broker]:
    return world.brokers if world.random.random() < share else [world.random.choice(world.brokers)]


def _off(world: World) -> None:
    for broker in _some(world, 0.5):
        world.power_off(broker)


def _pause(world: World) -> None:
    world.pause(world.random.choice(world.brokers))


def _thaw(world: World) -> None:
    for broker in world.brokers:
        world.thaw(broker)


def _net(world: World) -> None:
    world.is_ensemble_up = not world.is_ensemble_up
    world.calls_well_since_s = world.now_s + 12.0


def _cut(world: World) -> None:
    world.is_operator_cut_off = not world.is_operator_cut_off


def _new(world: World) -> None:
    brokers = _some(world, 0.6)
    for broker in brokers:
        world.power_off(broker)
        broker.is_empty = True
    if brokers is world.brokers:
        world.tell("west is made anew")
        world.rules_at_west = set()


def _part(world: World, topics: frozenset[Topic]) -> frozenset[Topic]:
    """All of them, or some."""
    known = sorted(topics)
    if world.random.random() < 0.4:
        return topics
    return frozenset(world.random.sample(known, world.random.randint(1, len(known))))


def _move(world: World, operator: Operator, count: int) -> None:
    """Go on with the run that is open, or take it back; else something new, of all topics or of some."""
    random, newest = world.random, world.runs[-1] if world.runs else None
    dies = random.choice((None, None, None, random.randint(1, 12)))
    here = world.at_west()
    away = OF_WEST - here
    go_on = {
        "failover": operator.failover,
        "failback": operator.failback,
        "fence": operator.fence,
        "unfence": operator.fence,
    }
    if newest is not None and newest.outcome in {"", "incomplete"}:
        is_taken_back = newest.verb == "switchover" or (newest.verb == "failover" and random.random() < 0.4)
        operator.begin(operator.abort(newest) if is_taken_back else go_on[newest.verb](newest), dies)
        return
    kind = random.random()
    if away and kind < 0.6:
        run = Run(f"{count}-failback", "failback", "east", "west", _part(world, away))
        operator.begin(operator.failback(run), dies)
    elif kind < 0.15 and here:
        run = Run(f"{count}-switchover", "switchover", "west", "east", _part(world, here))
        operator.begin(operator.switchover(run), dies)
    elif kind < 0.25 and REFUNDS not in here:
        run = Run(f"{count}-switchover", "switchover", "east", "west", frozenset({REFUNDS}))
        operator.begin(operator.bring(run), dies)
    elif kind < 0.35 and here:
        verb = "unfence" if here & world.rules_at_west and random.random() < 0.7 else "fence"
        run = Run(f"{count}-{verb}", verb, "west", "", _part(world, here))
        operator.begin(operator.fence(run), dies)
    elif here:
        run = Run(f"{count}-failover", "failover", "west", "east", _part(world, here))
        operator.begin(operator.failover(run), dies)
