"""Effects are put in order by handles and reasons; the plan that comes out runs, is killed, and is taken back."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

import pytest

from orchestrator.errors import DcctlError
from orchestrator.runs.acting import EffectActions
from orchestrator.runs.effect import Handle, Held
from orchestrator.runs.engine import Results, StepOutcome, state_from_journal
from orchestrator.runs.held import held_in_words, still_held
from orchestrator.runs.plan import NEEDS_RESULT, Plan, Step, plan_from_json, to_json
from orchestrator.runs.registry import Registry
from orchestrator.runs.runbook import Runbook, behind
from tests.moves.toy_effects import LEDGERS, CloseLedger, OpenLedger, ReadPage, Say, Shelves, ToyWorld, TurnTo
from tests.runs.crashes import ABORT, crash_everywhere, raise_everywhere, run_inline, stall_everywhere


def plan_of(book: Runbook) -> Plan:
    """A plan of these steps and nothing else."""
    return Plan(
        verb="carry",
        topology="shop",
        source="west",
        target="east",
        request={},
        created_at_s=0,
        expires_at_s=60,
        topology_digest="",
        observed={},
        gates=(),
        steps=book.steps,
    )


def carry(*ledgers: str) -> Plan:
    """Ledgers from west to east; all are closed before any is opened."""
    book = Runbook()
    pages = {}
    with book.section("prepare", on_failure="undo"):
        for name in ledgers:
            closed = book.add(CloseLedger(ledger=name, place="west"), id=f"close-{name}")
            page = book.add(ReadPage(ledger=name, place="west", closed=closed), id=f"read-{name}")
            pages[name] = book.add(TurnTo(place="east", page=page), id=f"turn-{name}")
    ready = behind(*book.last(), because="no ledger is open at both sides")
    with book.section("promote", on_failure="stop", after=[ready]):
        for name, page in pages.items():
            book.add(OpenLedger(ledger=name, place="east", page=page), id=f"open-{name}", after=[ready])
    return plan_of(book)


@dataclass
class World(ToyWorld):
    """Shelves, and the engine's port to the effects of the plan on them."""

    plan: Plan | None = None
    effects: Registry = LEDGERS

    @property
    def actions(self) -> EffectActions:
        return EffectActions(self.effects, self)

    def perform(self, step: Step, results: Results) -> StepOutcome:
        return self.actions.perform(step, results)

    def verify(self, step: Step, results: Results) -> StepOutcome:
        return self.actions.verify(step, results)

    def compensate(self, step: Step, results: Results) -> StepOutcome:
        return self.actions.compensate(step, results)

    def verify_undone(self, step: Step, results: Results) -> StepOutcome:
        return self.actions.verify_undone(step, results)


def new_world(plan: Plan) -> World:
    shelves = Shelves(
        open_at={"bread": "west", "milk": "west"}, pages={("bread", "west"): 7, ("milk", "west"): 9}
    )
    return World(shelves=shelves, plan=plan)


def test_a_handle_is_what_makes_a_step_wait() -> None:
    """No order is written down twice: who takes a result waits for it, and says why."""
    plan = carry("bread", "milk")
    assert plan.step("turn-bread").depends_on == ("read-bread",)
    assert plan.step("turn-bread").reasons == {"read-bread": NEEDS_RESULT}
    assert set(plan.step("open-milk").depends_on) == {"turn-bread", "turn-milk"}
    assert plan.step("open-milk").reasons["turn-bread"] == "no ledger is open at both sides"
    assert plan.step("open-milk").section == "promote"
    assert plan.step("open-milk").stays_because == "what was written cannot be unwritten"
    assert plan_from_json(json.loads(json.dumps(to_json(plan)))) == plan


def test_killed_at_every_point_it_is_gone_on_with() -> None:
    """Every change, every look, every record; stopped for long and overtaken as well."""
    plan = carry("bread", "milk")

    def check(world: Any) -> None:
        assert world.shelves.problems == []
        assert world.shelves.open_at == {"bread": "east", "milk": "east"}
        assert world.shelves.pages["milk", "east"] == 9

    assert crash_everywhere(plan, lambda: new_world(plan), check) > 500


def test_who_was_overtaken_does_no_harm() -> None:
    """Stopped for long at every point, while another goes on to the end; it may still look."""
    plan = carry("bread", "milk")

    def check(world: Any) -> None:
        assert not [problem for problem in world.shelves.problems if "read" not in problem]
        assert world.shelves.open_at == {"bread": "east", "milk": "east"}

    stall_everywhere(plan, lambda: new_world(plan), check)


def test_an_exception_at_any_point_takes_it_back_or_is_gone_on_from() -> None:
    """Whatever an effect raises: both ledgers are open, at one side, on the right page."""
    plan = carry("bread", "milk")

    def check(world: Any) -> None:
        assert world.shelves.problems == []
        assert world.shelves.open_at.keys() == {"bread", "milk"}
        assert len(set(world.shelves.open_at.values())) == 1

    assert raise_everywhere(plan, lambda: new_world(plan), check) > 30


def test_killed_at_every_point_it_is_taken_back() -> None:
    """Before the first ledger was opened everything is as it was; afterwards what stands is named."""
    plan = carry("bread", "milk")
    ends = set()

    def check(world: Any) -> None:
        state = state_from_journal(plan, "run-1", world.records)
        assert world.shelves.problems == []
        if {"open-bread", "open-milk"} & state.effective:
            ends.add("stands")
        else:
            ends.add("back")
            assert world.shelves.open_at == {"bread": "west", "milk": "west"}
            assert still_held(state, LEDGERS) == ()

    crash_everywhere(plan, lambda: new_world(plan), check, second_undo=ABORT)
    assert ends == {"stands", "back"}


def test_what_an_unfinished_run_holds_is_told_by_its_effects() -> None:
    """Surely where the step is done, maybe where nobody knows, and no more once it was let go."""
    plan = carry("bread", "milk")
    world = new_world(plan)
    run_inline(plan, world)
    told = []
    for count in range(len(world.records) + 1):
        state = state_from_journal(plan, "run-1", world.records[:count])
        told.append(held_in_words(still_held(state, LEDGERS)))
    assert told[0] == told[-1] == ""
    assert "ledger bread maybe closed" in told
    assert "ledger bread closed; ledger milk maybe closed" in told
    assert "ledger bread, ledger milk closed" in told
    assert still_held(state, Registry()) == ()


def test_at_a_place_it_is_held_until_it_is_freed_there_or_anywhere() -> None:
    """What is held at one cluster is not freed at another."""
    plan = carry("bread")
    world = new_world(plan)
    world.shelves.open_at = {}
    run_inline(plan, world)
    before_open = [r for r in world.records if r.step != "open-bread"]
    (found,) = still_held(state_from_journal(plan, "run-1", before_open), LEDGERS)
    assert (found.held, found.step, found.surely) == (Held("ledger bread", "closed"), "close-bread", True)


def test_what_is_held_anew_is_held() -> None:
    """Who lets go of something before that has not let go of it."""
    book = Runbook()
    with book.section("all", on_failure="stop"):
        for number in (1, 2):
            before = [behind(*book.last(), because="a test")]
            closed = book.add(CloseLedger(ledger="bread", place="west"), id=f"close-{number}", after=before)
            page = book.add(ReadPage(ledger="bread", place="west", closed=closed), id=f"read-{number}")
            book.add(OpenLedger(ledger="bread", place="west", page=page), id=f"open-{number}")
    plan = plan_of(book)
    world = new_world(plan)
    run_inline(plan, world)
    told = []
    for count in range(len(world.records) + 1):
        word = held_in_words(still_held(state_from_journal(plan, "run-1", world.records[:count]), LEDGERS))
        told += [] if told[-1:] == [word] else [word]
    # While it is being opened it may be either.
    maybe, surely = "ledger bread maybe closed", "ledger bread closed"
    assert told == ["", maybe, surely, maybe] * 2 + [""]


@pytest.mark.parametrize(
    ("outcome", "word", "said"),
    [
        ("ok", "ok", "as say of run-1"),
        ("failed", "failed", "no"),
        ("partial", "partial", "one of two"),
        ("unknown", "unknown", "who knows"),
        ("error", "unknown", "say: an error"),
    ],
)
def test_every_outcome_is_told_as_it_is(outcome: str, word: str, said: str) -> None:
    """Done, failed, in part, unknown; an error is unknown unless the effect is whole or nothing."""
    book = Runbook()
    with book.section("all", on_failure="stop"):
        book.add(Say(outcome=outcome))
    plan = plan_of(book)
    world = new_world(plan)
    end = run_inline(plan, world)
    assert (end.state.status("say"), end.state.messages["say"]) == (word, said)
    assert end.outcome == {"ok": "ok", "failed": "incomplete", "partial": "incomplete"}.get(
        outcome, "unknown"
    )


def test_an_error_of_a_look_has_changed_nothing() -> None:
    """It failed, and is not unknown: nothing can stand of it."""
    book = Runbook()
    with book.section("all", on_failure="stop"):
        closed = book.add(CloseLedger(ledger="bread", place="west"))
        book.add(ReadPage(ledger="tea", place="west", closed=closed))
    plan = plan_of(book)

    class NoSuchPage(dict[Any, int]):
        def __missing__(self, key: Any) -> int:
            raise DcctlError(str(key), "there is no such page")

    world = new_world(plan)
    world.shelves.pages = NoSuchPage()
    assert run_inline(plan, world).state.status("read-page") == "failed"


def test_what_a_section_keeps_is_not_taken_back() -> None:
    """Neither by itself nor by a person, and the plan says why."""
    book = Runbook()
    with book.section("hold", on_failure="stop", kept="it would be open at both sides"):
        closed = book.add(CloseLedger(ledger="bread", place="west"))
    with book.section("go on", on_failure="undo", after=[behind(closed, because="it is held first")]):
        book.add(CloseLedger(ledger="milk", place="west"), id="close-milk")
        book.add(
            Say(outcome="failed"), after=[behind(Handle("close-milk", "close-ledger"), because="a test")]
        )
    plan = plan_of(book)
    assert plan.step("close-ledger").stays_because == "it would be open at both sides"
    assert plan.step("close-milk").depends_on == ("close-ledger",)
    assert plan.step("say").depends_on == ("close-milk",)
    world = new_world(plan)
    assert run_inline(plan, world).outcome == "undone"
    assert world.shelves.open_at == {"milk": "west"}


def test_what_cannot_be_put_together_is_refused() -> None:
    """Twice the same id, an unknown step, no section, a section within another or twice."""
    book = Runbook()
    with pytest.raises(DcctlError, match="outside of any section"):
        book.add(Say())
    with book.section("one", on_failure="stop"):
        book.add(Say())
        with pytest.raises(DcctlError, match="added twice"):
            book.add(Say())
        with pytest.raises(DcctlError, match="waits for later, which was not added"):
            book.add(Say(), id="again", after=[behind(Handle("later", "say"), because="x")])
        with pytest.raises(DcctlError, match="within section one"), book.section("two", on_failure="stop"):
            pass
    with pytest.raises(DcctlError, match="opened twice"), book.section("one", on_failure="stop"):
        pass
    assert [step.id for step in book.steps] == ["say"]


def test_a_plan_of_another_version_is_named() -> None:
    """An action that is not known here, arguments and results that do not fit; two effects of one name."""
    plan = carry("bread")
    step = plan.step("close-bread")
    with pytest.raises(DcctlError, match="its action shut is not known here"):
        LEDGERS.effect(replace(step, action="shut"))
    with pytest.raises(DcctlError, match="step close-bread, its arguments: place"):
        LEDGERS.effect(replace(step, arguments={"ledger": "bread"}))
    with pytest.raises(DcctlError, match="step read-bread, its result: page"):
        LEDGERS.result(Handle("read-bread", "read-page"), {"ledger": "bread", "page": "none"})

    class Shout(Say):
        """Another one of the same name."""

    with pytest.raises(DcctlError, match="two effects have this name"):
        Registry(Say, Shout)
    assert list(Registry(Say, Say)) == [Say], "participants may share one"


def test_a_result_that_is_not_there_is_named() -> None:
    """A plan whose order was changed by hand does not go on with nothing."""
    plan = carry("bread")
    world = new_world(plan)
    with pytest.raises(DcctlError, match="step read-bread has left no result"):
        world.perform(plan.step("turn-bread"), {})


def test_the_last_steps_can_leave_some_out() -> None:
    """What nobody has to wait for is named where it is left out."""
    book = Runbook()
    with book.section("one", on_failure="stop"):
        first = book.add(Say(), id="first")
        slow = book.add(Say(), id="slow", after=[behind(first, because="a test")])
    assert book.last() == (slow,)
    assert book.last(without=[slow]) == (first,)
