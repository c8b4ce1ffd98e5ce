"""What each effect of each verb holds is told by whoever reads a run: status, abort, show and the boot guard.

The effects are those of the registry. Each is taken where a verb really has it in force, surely or maybe.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from orchestrator.applications.groups.pausing import PauseMembers, ResumeMembers
from orchestrator.cli.failover_view import RunView, render_undo
from orchestrator.cli.run_end import end_with
from orchestrator.cli.story_view import render_story
from orchestrator.errors import DeclinedError, GateRefusedError
from orchestrator.guards.boot_guard import GUARD_FACTS
from orchestrator.guards.live.guard_reading import GuardFacts, GuardReading
from orchestrator.mirrors.mirrormaker2.shortened import SetBehindElection
from orchestrator.runs import where_now as telling
from orchestrator.runs.effect import Effect, Held, Look
from orchestrator.runs.engine import RunState, state_from_journal
from orchestrator.runs.estate_record import KIND_OF, Body, RunBegun, RunEnded, standing
from orchestrator.runs.live.history import run_records
from orchestrator.runs.plan import RunEvent, Step
from orchestrator.verbs.live.runs import abort_run
from orchestrator.verbs.registration import EFFECTS
from orchestrator.verbs.run_story import run_story
from orchestrator.watch.status import mirror_status
from tests.golden.play import Situation
from tests.moves import test_ways
from tests.moves.moments import STORIES, Moment, Occurrence, Told, occurrences, told, told_of
from tests.moves.test_runbook import plan_of
from tests.verbs.known_names import OF_MOVES

AnyEffect = type[Effect[Any]]
held_rows = partial(telling.held_rows, effects=EFFECTS)
where_now = partial(telling.where_now, effects=EFFECTS)
# What an apply holds: tests/reconcile/test_apply_held.py
every_effect = pytest.mark.parametrize("effect", OF_MOVES, ids=lambda effect: effect.NAME)


@pytest.fixture(scope="module", autouse=True)
def _state_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterable[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DCCTL_STATE_DIR", str(tmp_path_factory.mktemp("state")))
        yield


def one_line(console_out: io.StringIO) -> str:
    return " ".join(console_out.getvalue().split())


def tells(said: str, held: Held, *, surely: bool) -> bool:
    """Whether a sentence says so; of many alike it names the first few."""
    state = held.state + (f" at {held.cluster}" if held.cluster else "")
    is_said = re.search(rf"(?<!maybe ){state}" if surely else f"maybe {state}", said) is not None
    return is_said and ((held.told_as or held.subject) in said or " more " in said)


# It holds nothing; it is told of and killed in tests/twin/test_stretched_mirrored.py.
WITHIN_A_STRETCHED_SOURCE = {SetBehindElection}
# What members of a group at both sites hold: tests/twin/test_one_group.py
OF_SHARED_GROUPS = {PauseMembers, ResumeMembers}


@pytest.mark.parametrize(
    "effect",
    [one for one in OF_MOVES if one not in OF_SHARED_GROUPS | WITHIN_A_STRETCHED_SOURCE],
    ids=lambda effect: effect.NAME,
)
def test_each_is_made_by_some_verb(effect: AnyEffect) -> None:
    """Else nothing here says anything of it. What no verb makes yet is a look, and holds nothing."""
    found = {one.surely for one in occurrences(effect)}
    declares = {effect.holds, effect.frees, effect.primaries, effect.facts}
    is_mere_look = issubclass(effect, Look) and declares == {
        Effect.holds,
        Effect.frees,
        Effect.primaries,
        Effect.facts,
    }
    assert found == {True, False} or (not found and is_mere_look)


@every_effect
def test_status_tells_what_it_holds(effect: AnyEffect) -> None:
    """In the last word on the run, as the run's own end has it; and where topics are primary."""
    for one in occurrences(effect):
        state, estate = one.state, one.story.at(one.moment)
        said = where_now(state)
        if state.plan.verb not in ("fence", "unfence"):
            (mirror,) = estate.topology.replication
            move = mirror_status(estate.topology, mirror, servers=estate.servers)["last_move"]
            assert (move["run_id"], move["where_now"]) == (state.run_id, said), str(one)
        for held in one.holds:
            assert tells(said, held, surely=one.holds_surely), (str(one), said)
        for moved in EFFECTS.primaries(one.step):
            after = (
                moved.primary
                if one.surely
                else f"{state.plan.source} or {moved.primary}, dcctl status FILE tells"
            )
            assert said.startswith(f"Recorded as primary: {after}; "), str(one)


def asked(one: Occurrence) -> str:
    """What a person gets to read who wants the run taken back, before they say no; or why it is refused."""
    out, estate = io.StringIO(), one.story.at(one.moment)

    def ask(state: RunState) -> bool:
        render_undo(state, Console(file=out, width=500), EFFECTS, full=True)
        return False

    with pytest.raises((GateRefusedError, DeclinedError)) as refused:
        abort_run(estate.topology, one.state.run_id, reason="ada: no", approve=ask, servers=estate.servers)
    out.write(f" {refused.value} {refused.value.hint}")
    return one_line(out)


@every_effect
def test_abort_tells_what_it_holds_and_what_becomes_of_it(effect: AnyEffect) -> None:
    """Taken back, or that it stands; and what stays held then."""
    for one in occurrences(effect):
        said, step = asked(one), one.step
        for held in one.holds:
            assert tells(said.partition("held once")[0], held, surely=one.holds_surely), (
                str(one),
                said,
            )
        if "cannot be rolled back any more" in said:
            assert not step.irreversible or step.id in said, (str(one), said)
            assert where_now(one.state) in said, (str(one), said)
            continue
        assert "declined" in said, (str(one), said)
        afterwards = said.partition("held once that is rolled back: ")[2]
        if step.compensation is not None and not step.stays_because:
            assert f"rolled back: {step.title} " in said, (str(one), said)
        elif step.stays_because:
            assert f"rolled back: {step.title} " not in said, (str(one), said)
            assert f"stands: {step.title} ({step.stays_because})" in said, (str(one), said)
            assert all(tells(afterwards, held, surely=one.holds_surely) for held in one.holds), (
                str(one),
                said,
            )
        else:
            assert one.holds == [], (str(one), said)


@every_effect
def test_show_tells_what_it_holds(effect: AnyEffect) -> None:
    """As JSON each thing with its step, to people in a sentence; what it did stands in the story."""
    for one in occurrences(effect):
        estate, out = one.story.at(one.moment), io.StringIO()
        story = run_story(run_records(estate.topology, one.state.run_id, estate.servers.coordination))
        json.dumps(story)
        render_story(story, Console(file=out, width=500), full=True)
        said = one_line(out)
        rows = {
            (row["subject"], row["state"], row["cluster"], row["step"], row["surely"])
            for row in story["held"]
        }
        for held in one.holds:
            assert (held.subject, held.state, held.cluster, one.step.id, one.holds_surely) in rows, str(one)
            assert tells(said, held, surely=one.holds_surely), (str(one), said)
        assert " ".join(story["where_now"].split()) in said, (str(one), said)
        stays = {row["step"]: row["because"] for row in story["stays"]}
        assert stays.get(one.step.id, "") == one.step.stays_because, str(one)
        assert (", also once it is rolled back: " in said) == bool(stays), (str(one), said)
        (act,) = [act for act in story["acts"] if act["step"] == one.step.id]
        assert act["outcome"] == ("ok" if one.surely else None), str(one)
        assert " ".join(one.step.title.split()) in said, (str(one), said)


def recorded(story: Told, moment: Moment) -> list[Body]:
    """What a guard knows of a run but that it has begun, and maybe ended."""
    estate = story.at(moment)
    facts = standing(GuardFacts(estate.topology, next(iter(estate.topology.clusters))).read(estate.ensemble))
    return [fact.body for fact in facts if fact.run_id == moment.event.run_id and _is_of_steps(fact.body)]


def _is_of_steps(body: Body) -> bool:
    return isinstance(body, GUARD_FACTS) and not isinstance(body, RunBegun | RunEnded)


def declared(state: RunState, *steps: Step) -> list[Body]:
    """What steps say they have recorded for guards."""
    found = [body for step in steps for body in EFFECTS.facts(step, state.results[step.id])]
    return [body for body in found if _is_of_steps(body)]


@every_effect
def test_guards_know_what_it_has_recorded(effect: AnyEffect) -> None:
    """Once it is surely in force."""
    for one in occurrences(effect):
        if one.surely:
            known = recorded(one.story, one.moment)
            assert [body for body in declared(one.state, one.step) if body not in known] == [], str(one)


every_story = pytest.mark.parametrize(("group", "name"), STORIES)


@every_story
def test_guards_know_nothing_else(group: str, name: str) -> None:
    """Whenever all that was begun has ended well, or was rolled back: what keeps writers off by other ways counts not."""
    story, quiet = told(group, name), 0
    for moment in story.moments:
        state = story.state(moment)
        stands = [step for step in state.plan.steps if state.status(step.id, "undo") != "ok"]
        known, made = recorded(story, moment), [step for step in stands if state.status(step.id) == "ok"]
        if {step.id for step in stands} & state.effective == {step.id for step in made}:
            quiet += 1
            wanted = declared(state, *made)
            assert [body for body in known if body not in wanted] == [], moment.event
            assert [body for body in wanted if body not in known] == [], moment.event
    assert quiet


def test_a_guard_decides_otherwise_without_what_was_recorded(tmp_path: Path) -> None:
    """Of each kind there is a fact on which a broker's opening hangs."""
    (tmp_path / "orders-0").mkdir()
    decisive = set()
    for story in (told(*names) for names in STORIES):
        for moment in (moment for moment in story.moments if moment.event.kind == "run-ended"):
            estate = story.at(moment)
            for cluster in estate.topology.clusters:
                word = GuardReading(estate.topology, cluster, tmp_path).word(estate.ensemble)
                for path in moment.nodes:
                    kind = path.partition("/estate/")[2].partition("-")[2].partition("-")[0]
                    estate.ensemble.nodes = {
                        name: node for name, node in moment.nodes.items() if name != path
                    }
                    if (
                        kind
                        and GuardReading(estate.topology, cluster, tmp_path).word(estate.ensemble) != word
                    ):
                        decisive.add(kind)
    assert {KIND_OF[kind] for kind in GUARD_FACTS} - {KIND_OF[RunEnded]} <= decisive


@every_story
def test_nothing_that_a_run_keeps_from_working_is_withheld(group: str, name: str) -> None:
    """By the estate, and not by what effects declare: who has stopped since the run began, and who is denied.

    What is told without a maybe is so.
    """
    story, before = told(group, name), {}
    for moment in story.moments:
        state, first = story.state(moment), before.setdefault(moment.event.run_id, moment)
        made_since = moment.connectors - first.connectors
        rows = {
            (row["subject"], row["state"], row["cluster"]): row["surely"] for row in held_rows(state) or ()
        }
        lost = {(held.subject, held.state, held.cluster) for held in moment.absent - first.absent}
        lost = {key for key in lost if key[0] not in made_since}
        assert lost - rows.keys() == set(), moment.event
        is_so = {(held.subject, held.state, held.cluster) for held in moment.absent}
        assert {key for key, surely in rows.items() if surely} - is_so == set(), moment.event


def test_who_may_run_on_is_not_told_as_surely_stopped() -> None:
    """Hosts of a degraded site that do not answer: the run goes on, and its clients are denied instead."""
    story = told("leaving a sick site, by state", "hosts do not answer")
    ended = [m for m in story.moments if m.event.step == "stop-left" and m.event.outcome == "ok"]
    assert [m.event.data["result"]["not_stopped"] for m in ended] != [""]
    for moment in ended:
        assert "producer-settlement, consumer-billing and 2 more maybe stopped" in where_now(
            story.state(moment)
        )


@pytest.mark.parametrize("name", ["one broker hangs", "one broker gone"])
def test_who_may_be_let_in_by_a_silent_broker_is_not_told_as_surely_denied(name: str) -> None:
    """A broker that does not answer may not have heard of the rules: where-now, abort and show all say maybe."""
    story = told("leaving a sick site, by state", name)
    ended = next(m for m in story.moments if m.event.step == "deny" and m.event.outcome == "ok")
    one = Occurrence(story, ended, story.plan(ended.event.run_id).step("deny"), surely=True)
    estate, out = story.at(ended), io.StringIO()
    shown = run_story(run_records(estate.topology, one.state.run_id, estate.servers.coordination))
    render_story(shown, Console(file=out, width=500), full=True)
    for said in (where_now(one.state), asked(one), one_line(out)):
        assert "applications maybe denied at west" in said, said
    assert {row["surely"] for row in shown["held"] if row["state"] == "denied"} == {False}


def test_what_stays_of_a_run_that_is_taken_back_is_told_as_what_it_is(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A hook, and a record of what was seen: at the question, as it goes, at the end, and by show afterwards."""
    died = ("work 10", "commit offset east: billing dies after", "$ switchover --to east", "all is well")
    story = told_of(Situation(("three brokers", "hooks"), died))
    (run_id,) = {moment.event.run_id for moment in story.moments}
    plan, estate = story.plan(run_id), story.at(story.moments[-1])
    pre, landing = plan.step("pre-hook"), plan.step("record-landing-ends")
    assert (pre.stays_because, bool(landing.stays_because)) == ("dcctl does not know what a hook did", True)
    question, on_the_way, shown = io.StringIO(), io.StringIO(), io.StringIO()

    def ask(state: RunState) -> bool:
        render_undo(state, Console(file=question, width=500), EFFECTS, full=True)
        return True

    with RunView(Console(file=on_the_way, width=500)) as view:
        result = abort_run(
            estate.topology,
            run_id,
            reason="ada: no",
            approve=ask,
            on_plan=view.take_plan,
            on_event=view.take_event,
            servers=estate.servers,
        )
    assert result.outcome == "undone"
    begun = {row["id"] for row in result.steps if row["outcome"] != "not done"}
    stays = {step.id for step in plan.steps if step.stays_because}
    assert {row["step"] for row in result.stays} == begun & stays
    end_with(result, as_json=False, is_abort=True)
    render_story(
        run_story(run_records(estate.topology, run_id, estate.servers.coordination)),
        Console(file=shown, width=500),
        full=True,
    )
    stands = [f"{step.title} ({step.stays_because})" for step in (pre, landing)]
    at_the_end = " ".join(capsys.readouterr().out.split())
    for said in (one_line(question), at_the_end, one_line(shown)):
        assert all(one in said for one in stands), said
    assert f"stands: {pre.title}" in one_line(question)
    assert f"stands: {pre.title}" in one_line(on_the_way)
    told_anywhere = one_line(question) + one_line(on_the_way) + at_the_end + one_line(shown)
    assert f"taken back: {pre.title}" not in told_anywhere
    assert f"undone: {pre.title}" not in told_anywhere


def test_with_several_ways_each_is_told_by_its_topics() -> None:
    """None is known by the name of its step."""
    plan = plan_of(test_ways.swapped().book)
    moves = [step for step in plan.steps if EFFECTS.primaries(step)]
    events = [
        RunEvent(run_id="r", sequence=1, kind="step-intent", at_s=1.0, step=moves[0].id),
        RunEvent(run_id="r", sequence=2, kind="step-outcome", at_s=2.0, step=moves[0].id, outcome="ok"),
    ]
    said = where_now(state_from_journal(plan, "r", events))
    assert said.startswith("Recorded as primary: east for orders of west, as before for orders of east; ")
