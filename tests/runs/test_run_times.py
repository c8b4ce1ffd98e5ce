"""One run has one set of times, whoever went on with it and wherever they are told."""

from __future__ import annotations

import io
from pathlib import Path

from rich.console import Console

from orchestrator.cli.result_view import render_result
from orchestrator.cli.run_end import _summary
from orchestrator.cli.story_view import render_story
from orchestrator.evidence.report.run_parts import phase_parts
from orchestrator.runs.engine import RunEnd, state_from_journal
from orchestrator.runs.live.ended import Ended, Timing
from orchestrator.runs.plan import EventKind, Plan, RunEvent, to_json
from orchestrator.runs.run_times import phase_rows, phases_in_words, run_times, without_renamed
from orchestrator.verbs.live.run_result import RunResult, run_result
from orchestrator.verbs.run_story import run_story
from tests.runs.test_failover_crashes import PLAN

ASKED_S, OBSERVED_S, ANSWERED_S, STOPPED_S, RESUMED_S = 1_000.0, 1_001.9, 1_072.7, 1_080.0, 1_168.0


def journal(plan: Plan = PLAN) -> list[RunEvent]:
    """A person thought for 70 s, pressed Ctrl-C in a step, and went on 88 s later."""
    first, second = (step.id for step in plan.in_order()[:2])
    rows: list[tuple[EventKind, float, str]] = [
        ("run-started", 1_002.0, ""),
        ("step-intent", ANSWERED_S, first),
        ("step-outcome", 1_074.0, first),
        ("step-intent", STOPPED_S, second),
        ("run-resumed", RESUMED_S, ""),
        ("step-outcome", 1_170.0, second),
        ("run-ended", 1_171.0, ""),
    ]
    about = {"asked_at_s": ASKED_S, "observed_at_s": OBSERVED_S, "plan": to_json(plan), "by": {"who": "ada"}}
    return [
        RunEvent(
            run_id="r1",
            sequence=number,
            kind=kind,
            at_s=at_s,
            step=step,
            outcome="ok" if kind == "step-outcome" else None,
            message="failover",
            data=about if kind == "run-started" else {"outcome": "ok"} if kind == "run-ended" else {},
        )
        for number, (kind, at_s, step) in enumerate(rows, 1)
    ]


def result_of(records: list[RunEvent]) -> RunResult:
    """As whoever resumed the run has it: its own clock knows nothing of what was before."""
    end = RunEnd("ok", "", state_from_journal(PLAN, "r1", records))
    resumed = Timing(1_160.0, 1_163.0, 1_163.0, 1_171.0)
    return run_result(
        Ended(run_id="r1", plan=PLAN, end=end, events=tuple(records), timing=resumed, folder=Path("/nowhere"))
    )


def test_the_journal_alone_decides() -> None:
    """Asked for, decided once people had answered, stopped for as long as nobody went on with it."""
    times = run_times(journal())
    assert (times.asked_at_s, times.decided_at_s, times.ended_at_s) == (ASKED_S, ANSWERED_S, 1_171.0)
    assert times.stopped_s == 88.0
    spans = {span.name: (span.begin_s, span.end_s) for span in times.phases}
    assert spans["observe"] == (ASKED_S, OBSERVED_S)
    assert spans["decide"] == (OBSERVED_S, ANSWERED_S)


def test_console_show_and_report_tell_the_same_times() -> None:
    """The end of `resume`, `show`, `result.json` and the phases of the report: one and the same."""
    records = journal()
    result, story = result_of(records), run_story(records)
    assert result.phases == story["phases"] == phase_rows(run_times(records))
    assert phase_parts(result) == without_renamed(story["phases"])
    assert (result.started_at_s, result.ended_at_s) == (story["asked_at_s"], story["ended_at_s"])
    assert result.stopped_s == story["stopped_seconds"] == 88.0
    words = phases_in_words(story["phases"], ASKED_S)
    assert words.startswith("observe 0.0–1.9, decide 1.9–72.7, ")
    ended, shown = io.StringIO(), io.StringIO()
    render_result(result, Console(file=ended, width=400))
    render_story(story, Console(file=shown, width=400))
    assert words in ended.getvalue()
    assert words in shown.getvalue()
    assert "(171.0 s since it was asked for, 88.0 s of them stopped)" in _summary(result, is_abort=False)


def test_the_look_at_the_world_answers_under_its_earlier_name_too() -> None:
    """Programs that read `phases` find `detect` for one more version, marked as renamed."""
    rows = phase_rows(run_times(journal()))
    (renamed,) = [row for row in rows if "renamed" in row]
    assert (renamed["name"], renamed["renamed"], renamed["seconds"]) == ("detect", "observe", 1.9)
    assert renamed not in without_renamed(rows)
