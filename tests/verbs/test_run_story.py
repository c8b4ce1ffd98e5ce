"""A run retold from its journal alone, to somebody who was not there."""

from __future__ import annotations

import io
import json
import re
from dataclasses import asdict, replace

from rich.console import Console

from orchestrator.applications.producers.record_writers import Confirmation, not_seen, told
from orchestrator.cli.story_view import render_story
from orchestrator.moves.clients import StopClients
from orchestrator.runs.engine import StepOutcome
from orchestrator.runs.overrides import overrides
from orchestrator.runs.plan import Plan, RunEvent, to_json
from orchestrator.runs.registry import Registry
from orchestrator.verbs.registration import EFFECTS
from orchestrator.verbs.run_story import run_story
from tests.runs.any_world import AnyWorld
from tests.runs.crashes import ABORT, run_inline, run_until
from tests.runs.test_degraded_crashes import FENCED as LEAVING
from tests.runs.test_failover_crashes import PLAN as FAILOVER
from tests.verbs.test_switchover import PLAN as SWITCHOVER


def a_journal(plan: Plan, world: AnyWorld, *between: RunEvent) -> list[RunEvent]:
    """What stands in the store of a run: how it was asked for, then what it did."""
    about = {
        "verb": plan.verb,
        "source": plan.source,
        "target": plan.target,
        "by": {"who": "ada", "host": "ops-1", "pid": 42},
        "asked_at_s": 990.0,
        "observed_at_s": 995.0,
        "plan": to_json(plan),
    }
    started = RunEvent(run_id="r1", sequence=0, kind="run-started", at_s=996.0, data=about)
    told = [
        RunEvent(run_id="r1", sequence=0, kind="override", at_s=997.0, message=str(row), data=row.as_json())
        for row in overrides(plan.request)
    ]
    return [started, *told, *between, *world.records]


def shown(records: list[RunEvent], *, full: bool = True) -> str:
    out = io.StringIO()
    story = run_story(records)
    json.dumps(story)
    render_story(story, Console(file=out, width=400, highlight=False), full=full)
    return " ".join(out.getvalue().split())


def test_an_undisturbed_run_is_told_from_who_to_how_long() -> None:
    """In the order in which a reader asks: who, why, what was set aside, measured, predicted, done."""
    world = AnyWorld(plan=FAILOVER)
    run_inline(FAILOVER, world)
    records = a_journal(FAILOVER, world)
    said = shown(records)
    in_order = [
        "Failover west → east of payments: ok",
        "who ada on ops-1 (process 42)",
        "why fire",
        "when 1970-01-01 00:16:30 UTC to",
        "set aside --attest-down west by ada: fire",
        "Measured, and what it decided ✓ attested: a person attests that west is down (west)",
        "Predicted at most",
        "orders ",
        "afterwards at east",
        "west.orders",
        "Done",
        "✓ Stop the source connector",
        "Phases (they overlap; seconds after the command) observe 0.0–5.0, decide 5.0–",
        "Ended ok",
    ]
    at = [said.index(words) for words in in_order]
    assert at == sorted(at)
    for step in FAILOVER.steps:
        assert step.title in said
    short = shown(records, full=False)
    for words in ("gates ok", "Predicted at most", "✓ stop the mirrors: ", "Phases", "Ended ok"):
        assert words in short
    assert "Stop the source connector" not in short
    story = run_story(records)
    assert {phase["name"] for phase in story["phases"]} >= {"observe", "decide", "fence", "redirect"}
    assert story["not_done"] == []


def test_each_producer_is_told_with_its_first_record_or_as_not_seen() -> None:
    """As the last attempt found it."""
    rows = [
        Confirmation(producer="checkout", outcome="seen", at_s=1_003.5, clock="broker", by="header app"),
        Confirmation(
            producer="settlement", outcome="not-seen", reason="nothing was written", hint="old servers?"
        ),
    ]
    missing = StepOutcome(
        "unknown",
        told(rows, 60),
        {"producers": [asdict(row) for row in rows], "not_seen": not_seen(rows)},
    )
    world = AnyWorld(plan=FAILOVER, fails={"producers-write": missing})
    run_inline(FAILOVER, world)
    records = a_journal(FAILOVER, world)
    assert [row["producer"] for row in run_story(records)["producers"]] == ["checkout", "settlement"]
    said = shown(records)
    assert (
        "✓ producer checkout first record 1970-01-01 00:16:43 UTC, clock of the broker (header app)" in said
    )
    assert "? producer settlement not seen (nothing was written) old servers?" in said
    assert "Failover west → east of payments: unknown" in said


def test_a_crash_and_who_went_on_are_told() -> None:
    """What nobody saw the end of, how long it stood still, and by whom it was gone on with."""
    world = AnyWorld(plan=FAILOVER)
    run_until(FAILOVER, world, 5)
    crashed = shown(a_journal(FAILOVER, world))
    assert "Failover west → east of payments: open" in crashed
    assert "begun; nobody saw its end" in crashed
    assert "to end it: dcctl resume r1 FILE, or dcctl abort r1 FILE" in crashed
    resumed = RunEvent(
        run_id="r1",
        sequence=len(world.records) + 1,
        kind="run-resumed",
        at_s=world.now + 300,
        data={"by": {"who": "bob", "host": "ops-2"}},
    )
    world.records.append(resumed)
    world.now += 301
    world.crash_at = -1
    run_inline(FAILOVER, world)
    said = shown(a_journal(FAILOVER, world))
    assert "▶ resumed by bob on ops-2, 5.0 min after the last record" in said
    assert "of which 5.0 min stopped" in said
    _, ended, last = said.rpartition("Ended ok held when it ended: ")
    assert ended
    assert last == "west-to-east-source, west-to-east-checkpoint, west-to-east-heartbeat stopped at east"


def test_a_run_that_was_taken_back_tells_why_and_what() -> None:
    """Each thing undone, and what was never begun."""
    failing = {"drain": StepOutcome("failed", "7 records are not copied")}
    world = AnyWorld(plan=SWITCHOVER, fails=failing)
    run_inline(SWITCHOVER, world)
    said = shown(a_journal(SWITCHOVER, world))
    assert "↶ rolled back: drain failed: 7 records are not copied" in said
    assert "undone: Stop the producers at west" in said
    short = shown(a_journal(SWITCHOVER, world), full=False)
    assert re.search(r"✓ hand over: \d+ steps undone", short), short
    assert re.search(r"· not begun: [A-Z][^·]*· not begun: and 16 more", short), short
    assert "Switchover west → east of payments: undone" in said


def test_what_was_done_in_part_is_told_so_there_and_back() -> None:
    """By a mark and a word of its own, with what is there and what is not; nothing says that it failed."""
    world = AnyWorld(plan=FAILOVER, halves={"start-consumers"})
    run_inline(FAILOVER, world)
    records = a_journal(FAILOVER, world)
    (act,) = [act for act in run_story(records)["acts"] if act["step"] == "start-consumers"]
    assert act["outcome"] == "partial"
    said = shown(records)
    assert "◐ Start the consumers at east" in said
    assert "Ended incomplete: start-consumers partial: still there: bob; lifted: ada" in said
    assert "failed" not in said
    half_back = StepOutcome("partial", "no host has started a; started on h: b")
    world = AnyWorld(plan=SWITCHOVER, fails={"drain": StepOutcome("failed", "7 records behind")})
    world.verify_undone = world.compensate = lambda *_: half_back  # type: ignore[method-assign]
    run_inline(SWITCHOVER, world)
    assert "◐ undone: " in shown(a_journal(SWITCHOVER, world))


def test_what_an_earlier_journal_called_failed_in_part_is_told_as_partial() -> None:
    """It had the mark beside the outcome."""
    world = AnyWorld(plan=FAILOVER, halves={"start-consumers"})
    run_inline(FAILOVER, world)
    now = a_journal(FAILOVER, world)
    earlier = [
        replace(record, outcome="failed", data={**record.data, "in_part": True})
        if record.outcome == "partial"
        else record
        for record in now
    ]
    assert earlier != now
    assert run_story(earlier) == run_story(now)


def test_a_refused_run_says_by_what_and_that_nothing_was_done() -> None:
    """Its gates are all there."""
    world = AnyWorld(plan=FAILOVER)
    ended = RunEvent(
        run_id="r1",
        sequence=2,
        kind="run-ended",
        at_s=998.0,
        message="declined",
        data={"outcome": "refused"},
    )
    said = shown([*a_journal(FAILOVER, world), ended])
    assert "Done nothing" in said
    assert said.endswith("Ended refused: declined")


def test_an_aborted_run_names_who_wanted_it() -> None:
    """In the words that the abort was given."""
    world = AnyWorld(plan=SWITCHOVER)
    run_until(SWITCHOVER, world, 15)
    world.crash_at = -1
    run_inline(SWITCHOVER, world, undo=ABORT)
    assert f"↶ rolled back: {ABORT.reason}" in shown(a_journal(SWITCHOVER, world))


def test_a_loss_that_cannot_be_read_is_unknown_and_hides_nothing_else() -> None:
    """Another build of this version has left it, or a hand: the rest of the night is told all the same."""
    world = AnyWorld(plan=LEAVING)
    run_inline(LEAVING, world)
    (counted,) = LEAVING.told["loss"]
    records = [
        replace(record, data={"result": {"loss": "much"}})
        if record.step == counted and record.data
        else record
        for record in a_journal(LEAVING, world)
    ]
    story = run_story(records)
    assert story["loss"] is None
    assert f"step {counted}, its result" in story["loss_unknown"]
    said = shown(records)
    assert f"Lost ? unknown: step {counted}, its result" in said
    assert "Ended ok" in said


def of_another_version(records: list[RunEvent], version: str) -> list[RunEvent]:
    first = records[0]
    plan = {**first.data["plan"], "dcctl_version": version}
    return [replace(first, data={**first.data, "plan": plan}), *records[1:]]


def test_a_loss_counted_by_another_version_in_a_form_of_its_own_is_unknown() -> None:
    """It is not told as if nothing was lost."""
    world = AnyWorld(plan=LEAVING)
    run_inline(LEAVING, world)
    (counted,) = LEAVING.told["loss"]
    records = [
        replace(record, data={"result": {"lost": {"orders": 7}}})
        if record.step == counted and record.data
        else record
        for record in a_journal(LEAVING, world)
    ]
    later = of_another_version(records, "99.0.0")
    story = run_story(later)
    assert (story["loss"], story["held"]) == (None, None)
    assert story["loss_unknown"] == "only dcctl 99.0.0, which began the run, can say"
    assert "Lost ? unknown: only dcctl 99.0.0, which began the run, can say" in shown(later)


def test_of_another_version_nothing_is_lost_where_no_step_has_counted() -> None:
    """A switchover counts no loss, and a run that stopped before its count has none yet."""
    world = AnyWorld(plan=SWITCHOVER)
    run_inline(SWITCHOVER, world)
    story = run_story(of_another_version(a_journal(SWITCHOVER, world), "99.0.0"))
    assert (story["loss"], story["loss_unknown"]) == ({}, "")
    world = AnyWorld(plan=LEAVING)
    run_until(LEAVING, world, 2)
    story = run_story(of_another_version(a_journal(LEAVING, world), "99.0.0"))
    assert (story["loss"], story["loss_unknown"]) == ({}, "")


def test_a_story_without_the_package_of_a_step_says_that_what_is_held_is_not_known() -> None:
    """As JSON and for people, while it is open and once it has ended."""
    others = Registry(*(effect for effect in EFFECTS if effect is not StopClients))
    world = AnyWorld(plan=SWITCHOVER)
    run_until(SWITCHOVER, world, 15)
    records = a_journal(SWITCHOVER, world)
    assert any("stop-producers" in (record.step or "") for record in records)
    story, out = run_story(records, others), io.StringIO()
    assert story["held"] is None
    assert "is not known here" in story["held_unknown"]
    render_story(story, Console(file=out, width=400))
    assert f"held: {story['held_unknown']}" in " ".join(out.getvalue().split())
    run_inline(SWITCHOVER, world)
    ended = run_story(a_journal(SWITCHOVER, world), others)
    render_story(ended, Console(file=out, width=400))
    assert "held when it ended: ? unknown: what step" in " ".join(out.getvalue().split())
