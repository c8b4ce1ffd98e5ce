"""Whether a run has begun, and how it ended: every reader of the journal gets the same answer."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from orchestrator.guards.boot_guard import GUARD_FACTS, newest_begun
from orchestrator.runs.estate_record import RunEnded
from orchestrator.runs.live.earlier_runs import earlier_runs, newest_runs
from orchestrator.runs.live.estate_facts import begun_runs, read_facts
from orchestrator.runs.live.run_outline import has_begun, outline_of, read_outline
from orchestrator.verbs.registration import EFFECTS
from tests.runs.memory_ensemble import MemoryEnsemble, a_record, write_run
from tests.runs.test_earlier_runs import WEST_TO_EAST, forget_the_facts

ENDS = ("", "ok", "incomplete", "unknown", "undone", "refused")


@pytest.mark.parametrize(("is_begun", "end"), list(product((True, False), ENDS)))
@pytest.mark.parametrize("written_by", ["facts", "journals alone"])
def test_every_reader_gives_the_same_answer(
    tmp_path: Path, is_begun: bool, end: str, written_by: str
) -> None:
    """A run has begun once the intent of a step stands in its journal, however it ended."""
    records = [a_record("r", 1, "run-started", **WEST_TO_EAST)]
    records += [a_record("r", 2, "step-intent", "stop-mirror")] if is_begun else []
    records += [a_record("r", 3, "run-ended", outcome=end)] if end else []
    ensemble = MemoryEnsemble()
    write_run(ensemble, "t", "r", tmp_path, *records)
    if written_by == "journals alone":
        forget_the_facts(ensemble)

    outline = read_outline(ensemble, "t", "r")
    assert outline == outline_of(records)
    assert outline is not None
    assert outline.has_begun is has_begun(records) is is_begun

    known = ["r"] if is_begun else []
    assert begun_runs(ensemble, "t") == known
    assert [run.run_id for run in earlier_runs(ensemble, "t", effects=EFFECTS)] == known
    assert newest_begun(read_facts(ensemble, "t", GUARD_FACTS)) == "".join(known)

    # A resumption that was refused is no end of what has begun.
    is_over = bool(end) and not (is_begun and end == "refused")
    assert outline.outcome == (end if is_over else "")
    told = [fact.body for fact in read_facts(ensemble, "t", [RunEnded])]
    assert told == [RunEnded(outcome=end) for _ in known if is_over]
    (shown,) = newest_runs(ensemble, "t", EFFECTS)
    assert shown.outcome in {outline.outcome, "incomplete" if is_begun else "not begun"}
    assert shown.has_effect is (shown.outcome not in {"refused", "not begun", "undone"})


def test_a_run_without_a_record_is_not_there_yet() -> None:
    """Its node is made before its first record; nothing was begun then."""
    ensemble = MemoryEnsemble()
    ensemble.nodes["/dcctl/t/runs/r"] = b""
    assert read_outline(ensemble, "t", "r") is None
    assert begun_runs(ensemble, "t") == []
