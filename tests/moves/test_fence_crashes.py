"""Fence and unfence killed at every point: the real actions, on access rules that live in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.guards.boot_guard import Disk, boot_guard_status
from orchestrator.moves.fence import FenceRequest, fenced
from orchestrator.moves.fence_runbook import plan_fence, plan_unfence
from orchestrator.moves.fencing import rules_in_words
from orchestrator.ports.servers import TopicDescription
from orchestrator.runs.acting import EffectActions
from orchestrator.runs.coordination_state import CoordinationState
from orchestrator.runs.engine import Results, StepOutcome, state_from_journal
from orchestrator.runs.engine import standing as standing_steps
from orchestrator.runs.estate_record import (
    Body,
    DenialInForce,
    Fact,
    RunBegun,
    Withdrawn,
    is_about_the_same,
    standing,
)
from orchestrator.runs.live.run_session import RunSession
from orchestrator.runs.plan import Plan, Step, plan_from_json, to_json
from orchestrator.runs.writers import denied_principals, denied_topics, writers_at
from orchestrator.values import Acl, LogEnd, LogReach, TopicPartition
from orchestrator.verbs.live.real_servers import REAL_SERVERS
from orchestrator.verbs.registration import EFFECTS
from tests.runs.crashes import (
    ABORT,
    CrashingJournal,
    crash_everywhere,
    raise_everywhere,
    run_inline,
    run_until,
)
from tests.verbs.pictures import of_a_fence, part, topology

FILE = topology()
RULES = fenced(FILE, "west", with_consumers=False).rules
DENIAL = DenialInForce(
    cluster="west",
    topics=denied_topics(FILE, "west", RULES),
    principals=denied_principals(RULES),
)
# Somebody else's, put before: one that a fence wants as well, and one that it knows nothing of.
THEIRS = frozenset({RULES[0], Acl("User:guest", "READ", "DENY", "TOPIC", "orders")})
WITHOUT = frozenset(THEIRS - {RULES[0]})


def fence_plan(verb: str) -> Plan:
    """Of west, as read back from a journal."""
    picture = of_a_fence("west", part(CoordinationState("")))
    plan = (plan_fence if verb == "fence" else plan_unfence)(FILE, picture, FenceRequest(cluster="west"))
    # In memory an offset that stands still does so at once; one that moves was moved just now.
    steps = tuple(
        replace(step, arguments={**step.arguments, "standstill_s": 1e-9})
        if step.action == "await-no-writes"
        else step
        for step in plan.steps
    )
    return plan_from_json(to_json(replace(plan, steps=steps)))


@dataclass
class World(CrashingJournal):
    """One cluster's rules, each change of which is a point; whoever is not denied writes. `stuck` do not go.

    The estate record, in which each fact is a point as well, has whom the rules had denied before.
    """

    rules_there: set[Acl] = field(default_factory=lambda: set(THEIRS))
    facts: list[Fact] = field(default_factory=list)
    calls: list[tuple[str, frozenset[Acl]]] = field(default_factory=list)
    was_unguarded: bool = False
    stays_written: bool = False
    stuck: frozenset[Acl] = frozenset()
    offset: int = 100

    def __post_init__(self) -> None:
        if set(RULES) <= self.rules_there:
            self._record("before", DENIAL)
        self._actions = EffectActions(EFFECTS, _Instant(self))

    def perform(self, step: Step, results: Results) -> StepOutcome:
        return self._actions.perform(step, results)

    def verify(self, step: Step, results: Results) -> StepOutcome:
        self.point()
        return self._actions.verify(step, results)

    def compensate(self, step: Step, results: Results) -> StepOutcome:
        return self._actions.compensate(step, results)

    def verify_undone(self, step: Step, results: Results) -> StepOutcome:
        self.point()
        return self._actions.verify_undone(step, results)

    def cancel(self) -> None: ...

    def rules(self, _principals: Iterable[str]) -> frozenset[Acl]:
        self.point()
        return frozenset(self.rules_there)

    def add(self, rules: Iterable[Acl]) -> None:
        self._change("add", rules, self.rules_there.add)

    def remove(self, rules: Iterable[Acl]) -> None:
        self._change("remove", frozenset(rules) - self.stuck, self.rules_there.discard)

    def write(self, body: Body) -> None:
        if self.find(type(body), like=body) != body:
            self.point()
            self._record("run-1", body)
            self.point()

    def withdraw(self, kind: type[Body], *, like: Body | None = None, leaving: Body | None = None) -> None:
        assert leaving is None
        for fact in self._own(kind, like):
            self.point()
            self._record("run-1", Withdrawn(number=fact.number))

    def find(self, kind: type[Body], *, like: Body | None = None) -> Body | None:
        return next((fact.body for fact in reversed(self._own(kind, like))), None)

    @property
    def is_open_to_guards(self) -> bool:
        """Whether a guard would open west, though its topics are primary elsewhere: it counts on the rules."""
        begun = Fact(
            number=0, run_id="1", at_s=0.0, body=RunBegun(verb="failover", source="west", target="east")
        )
        return boot_guard_status("west", writers_at(FILE, "west"), [begun, *self.facts], disk=Disk()).is_open

    def _own(self, kind: type[Body], like: Body | None) -> list[Fact]:
        facts = [fact for fact in standing(self.facts) if fact.run_id == "run-1"]
        facts = [fact for fact in facts if isinstance(fact.body, kind)]
        return [fact for fact in facts if like is None or is_about_the_same(fact.body, like)]

    def _record(self, run_id: str, body: Body) -> None:
        self.facts.append(Fact(number=len(self.facts) + 1, run_id=run_id, at_s=0.0, body=body))

    def point(self) -> None:
        # A broker that asks at this moment may let writers in that no rule keeps off.
        self.was_unguarded |= self.is_open_to_guards and not set(RULES) <= self.rules_there
        super().point()

    def topics(self, names: Iterable[str]) -> dict[str, TopicDescription]:
        return {name: TopicDescription(name, "id", (1,), ((1,),), ((1,),)) for name in names}

    def brokers(self) -> dict[int, str]:
        return {1: "west:1"}

    @contextmanager
    def reader(self) -> Iterator[World]:
        yield self

    def reaches(
        self, _addresses: Iterable[str], partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, LogReach]:
        self.point()
        if self.stays_written or not set(RULES) <= self.rules_there:
            self.offset += 1
        return dict.fromkeys(partitions, LogReach(self.offset, self.offset))

    def log_ends(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, LogEnd]:
        return dict.fromkeys(partitions, LogEnd(0, self.offset))

    def describe_producers(self, _partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Any]:
        return {}

    def _change(self, what: str, rules: Iterable[Acl], change: Callable[[Acl], None]) -> None:
        """One rule after the other, as a broker makes them."""
        rules = frozenset(rules)
        self.calls.append((what, rules))
        for rule in sorted(rules):
            self.point()
            change(rule)
        self.point()


class _Instant(RunSession):
    """The world in place of connections; what is not there now will not come."""

    def __init__(self, world: World) -> None:
        super().__init__(FILE, Path("/nowhere"), run_id="run-1", estate_record=world, servers=REAL_SERVERS)
        self._world: Any = world

    def cluster(self, name: str) -> Any:
        assert name == "west"
        return self._world

    access = cluster

    def log_end_reader(self, name: str) -> Any:
        return self.cluster(name).reader()

    def warm_up(self, name: str) -> None: ...

    def await_brokers(self, _name: str, _timeout_s: float) -> str:
        return ""

    def await_true(self, condition: Callable[[], bool], _timeout_s: float, poll_s: float = 0.2) -> bool:
        assert poll_s
        return condition()


FENCED = THEIRS | set(RULES)
assert DENIAL.topics, "the file's topics have writers, whom the rules keep off"
CASES = [
    pytest.param("fence", THEIRS, FENCED, id="fence"),
    pytest.param("unfence", FENCED, WITHOUT, id="unfence"),
]


def check_record(world: World) -> None:
    """Guards go by what is recorded: never by rules that are not there, and in the end by those that are."""
    assert not world.was_unguarded
    assert world.is_open_to_guards is (set(RULES) <= world.rules_there)


@pytest.mark.parametrize(("verb", "before", "after"), CASES)
def test_killed_anywhere_and_resumed_it_ends_as_if_undisturbed(
    verb: str, before: frozenset[Acl], after: frozenset[Acl]
) -> None:
    """Killed twice, at each pair of points: the rules are as they have to be, and nobody else's are touched."""

    def check(world: World) -> None:
        check_record(world)
        assert frozenset(world.rules_there) == after
        assert not any(rules & WITHOUT for _, rules in world.calls)
        assert world.records[-1].data["outcome"] == "ok"

    assert crash_everywhere(fence_plan(verb), lambda: World(rules_there=set(before)), check) > 200


@pytest.mark.parametrize(("verb", "before", "after"), CASES)
def test_killed_anywhere_and_aborted_the_rules_are_as_before(
    verb: str, before: frozenset[Acl], after: frozenset[Acl]
) -> None:
    """Killed on the way there, and again at each point of the way back: what was there before is what stays."""

    def check(world: World) -> None:
        check_record(world)
        assert frozenset(world.rules_there) == before
        assert frozenset(world.rules_there) != after
        assert world.records[-1].data["outcome"] == "undone"

    plan = fence_plan(verb)
    assert crash_everywhere(plan, lambda: World(rules_there=set(before)), check, second_undo=ABORT) > 200


@pytest.mark.parametrize(("verb", "before", "after"), CASES)
def test_an_exception_anywhere_and_resumed_it_ends_as_if_undisturbed(
    verb: str, before: frozenset[Acl], after: frozenset[Acl]
) -> None:
    """Whatever a client of Kafka raises in the middle; what a plan takes back for it is as before."""

    def check(world: World) -> None:
        is_undone = world.records[-1].data["outcome"] == "undone"
        check_record(world)
        assert frozenset(world.rules_there) == (before if is_undone else after)
        assert is_undone or world.records[-1].data["outcome"] == "ok"

    plan = fence_plan(verb)
    assert raise_everywhere(plan, lambda: World(rules_there=set(before)), check) > 20


@pytest.mark.parametrize(("verb", "before", "after"), CASES)
def test_an_exception_anywhere_and_aborted_the_rules_are_as_before(
    verb: str, before: frozenset[Acl], after: frozenset[Acl]
) -> None:
    """Unless it had come to its end."""

    def check(world: World) -> None:
        is_done = world.records[-1].data["outcome"] == "ok"
        check_record(world)
        assert frozenset(world.rules_there) == (after if is_done else before)

    plan = fence_plan(verb)
    assert raise_everywhere(plan, lambda: World(rules_there=set(before)), check, second_undo=ABORT) > 20


def test_a_fence_that_somebody_writes_through_takes_itself_back_wherever_it_is_killed() -> None:
    """Its own rules go, those that were there before stay."""

    def check(world: World) -> None:
        check_record(world)
        assert frozenset(world.rules_there) == THEIRS
        assert world.records[-1].data["outcome"] == "undone"
        assert "still written" in world.records[-1].message

    assert crash_everywhere(fence_plan("fence"), lambda: World(stays_written=True), check) > 200


def test_a_fence_that_is_lifted_in_part_says_which_rules_are_left_wherever_it_is_killed() -> None:
    """Gone on with the others go; taken back all are there again."""
    stuck = frozenset({RULES[1]})
    lifted = frozenset(RULES) - stuck

    def new_world() -> World:
        return World(rules_there=set(FENCED), stuck=stuck)

    def check(world: World) -> None:
        check_record(world)
        assert frozenset(world.rules_there) == FENCED - lifted
        assert world.records[-1].data["outcome"] == "incomplete"
        said = f"lift partial: access rules still at west: {rules_in_words(stuck)}; removed: "
        assert world.records[-1].message.startswith(said)

    def check_back(world: World) -> None:
        check_record(world)
        assert frozenset(world.rules_there) == FENCED
        assert world.records[-1].data["outcome"] == "undone"

    plan = fence_plan("unfence")
    assert crash_everywhere(plan, new_world, check, second_every=3) > 100
    assert crash_everywhere(plan, new_world, check_back, second_every=3, second_undo=ABORT) > 100


@pytest.mark.parametrize("verb", ["fence", "unfence"])
def test_done_again_by_another_run_after_a_crash_it_is_the_same(verb: str) -> None:
    """Somebody runs the verb again in place of resuming: it records what it finds, and ends there too."""
    before, after = (THEIRS, FENCED) if verb == "fence" else (FENCED, WITHOUT)
    plan = fence_plan(verb)
    undisturbed = World(rules_there=set(before))
    run_until(plan, undisturbed, -1)
    for crash_at in range(1, undisturbed.points + 1):
        world = World(rules_there=set(before))
        assert run_until(plan, world, crash_at)
        world.records, world.crash_at = [], -1
        assert run_inline(plan, world).outcome == "ok"
        assert frozenset(world.rules_there) == after


def test_of_a_lifting_that_nothing_takes_back_the_half_that_was_lifted_stands() -> None:
    """As where producers that move themselves are let in: some may write by now, whatever came of the rest."""
    plan = fence_plan("unfence")
    steps = tuple(
        replace(step, irreversible=True, compensation=None, verify_undone=None)
        if step.action == "lift-rules"
        else step
        for step in plan.steps
    )
    plan = replace(plan, steps=steps)
    (lift,) = (step.id for step in steps if step.irreversible)
    halves = 0
    undisturbed = World(rules_there=set(FENCED))
    run_until(plan, undisturbed, -1)
    for point in range(1, undisturbed.points + 1):
        world = World(rules_there=set(FENCED), crash_at=point, dies_of=RuntimeError)
        end = run_inline(plan, world)
        gone = len(set(RULES) - world.rules_there)
        is_begun = any((record.kind, record.step) == ("step-intent", lift) for record in world.records)
        if not is_begun or end.outcome == "ok":
            continue
        halves += 0 < gone < len(RULES)
        state = state_from_journal(plan, "run-1", world.records)
        assert lift in [step.id for step in standing_steps(state)] or not gone
    assert halves > 2
