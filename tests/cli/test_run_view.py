"""What stands on a terminal, or in a log, while a run is under way, and where it was interrupted."""

from __future__ import annotations

import io
import re
import threading
import time

import pytest
from rich.console import Console

from orchestrator.cli.failover_view import RunView
from orchestrator.cli.live_lines import live_line
from orchestrator.runs.plan import EventKind, Outcome, RunEvent
from tests.cli.screen import Screen
from tests.runs.test_any_exception import plans

PLAN = plans()["failover"]


def event(kind: EventKind, step: str = "", outcome: Outcome | None = None, message: str = "") -> RunEvent:
    return RunEvent(
        run_id="r1", sequence=1, kind=kind, at_s=1_000.0, step=step, outcome=outcome, message=message
    )


def interrupted(*events: RunEvent, earlier: tuple[RunEvent, ...] = ()) -> str:
    """What is said after Ctrl-C."""
    out = io.StringIO()

    def run() -> None:
        with RunView(Console(file=out, width=500)) as view:
            view.take_records(earlier)
            view.take_plan(PLAN)
            for one in events:
                view.take_event(one)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run()
    return out.getvalue().splitlines()[-1]


BEGUN = event("step-intent", "stop-mirror"), event("step-outcome", "stop-mirror", "ok")
STARTED = event("step-intent", "start-producers"), event("step-outcome", "start-producers", "ok")


def test_ctrl_c_says_both_ways_out_while_there_are_two() -> None:
    """Nothing stands that could not be taken back."""
    assert interrupted(*BEGUN) == ("run r1 stopped on the way: dcctl resume r1 FILE, or dcctl abort r1 FILE")


@pytest.mark.parametrize("is_resumed", [False, True])
def test_ctrl_c_offers_no_abort_that_would_be_refused(*, is_resumed: bool) -> None:
    """Producers write at the other side: what stands since when, in words, also where an earlier process did it."""
    said = interrupted(*(() if is_resumed else STARTED), *BEGUN, earlier=STARTED if is_resumed else ())
    assert "dcctl abort" not in said
    title = PLAN.step("start-producers").title
    assert said.startswith(
        "run r1 stopped on the way: dcctl resume r1 FILE; the run can only go forward: "
        f"since 1970-01-01 00:16:40 UTC steps were done that cannot be undone: {title} ("
    )


def test_ctrl_c_before_the_first_step_leaves_nothing_to_end() -> None:
    """At the question, say."""
    said = interrupted(event("run-started"), event("run-ended"))
    assert said == "run r1: nothing was begun, and nothing was changed"


def test_in_a_log_each_step_line_has_the_time_of_day() -> None:
    """Of the journal's record; on a terminal steps that end well are told by the part that they belong to."""
    said = {}
    for is_terminal in (False, True):
        out = io.StringIO()
        with RunView(Console(file=out, width=200, force_terminal=is_terminal)) as view:
            view.take_plan(PLAN)
            for one in (*BEGUN, event("undo-started", message="ada: no")):
                view.take_event(one)
        said[is_terminal] = [
            line for line in out.getvalue().splitlines() if "Stop the source connector" in line
        ]
    assert re.match(r" +00:16:40 +✓ Stop the source connector", said[False][0])
    assert said[True] == []


def test_a_line_that_cannot_be_shown_ends_no_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """The record is in the journal; the display is best effort."""
    console = Console(file=io.StringIO(), width=200)

    def broken(*_: object, **__: object) -> None:
        raise ValueError("I/O operation on closed file")

    with RunView(console) as view:
        view.take_plan(PLAN)
        monkeypatch.setattr(console, "print", broken)
        for one in BEGUN:
            view.take_event(one)


class Slow(Console):
    """A terminal at the far end of a slow line: between laying a line out and writing it, time passes."""

    def _check_buffer(self) -> None:
        if threading.current_thread() is threading.main_thread():
            time.sleep(0.3)
        super()._check_buffer()


def test_no_spinner_line_stays_behind() -> None:
    """Though the display is drawn by a thread of its own while steps begin and end."""
    screen = Screen(columns=60)
    console = Slow(file=screen, width=60, force_terminal=True, soft_wrap=True, highlight=False)
    with RunView(console, full=True) as view:
        view.take_plan(PLAN)
        for number in range(2):
            view.take_event(event("step-intent", "let-land"))
            time.sleep(0.3)
            others = ("stop-mirror", "start-producers", "record-left")
            for step in others:
                view.take_event(event("step-intent", step))
            for step in ("let-land", *others):
                view.take_event(event("step-outcome", step, "ok", f"round {number}"))
    left = screen.text()
    assert left.count("round 0") == left.count("round 1") == 4
    assert not re.search(r"[⠀-⣿]", left)


def test_a_live_line_fits_its_terminal() -> None:
    """One line, its end cut."""
    console = Console(file=io.StringIO(), width=20, soft_wrap=True)
    (line,) = console.render_lines(live_line("a title of far more than twenty columns", 0.0), pad=False)
    assert sum(segment.cell_length for segment in line) == 20
