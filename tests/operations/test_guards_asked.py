"""A failover asks the guards of the lost side and looks at it once more, before another one is primary."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from threading import Timer
from typing import Any

import pytest
from orchestrator.operations.actions import MOVE_TABLE, TableActions
from orchestrator.operations.actions import guards as asking
from orchestrator.operations.session import Session

from orchestrator.engine import StepOutcome
from orchestrator.moves.plans import plan_failover
from orchestrator.operations.estate_store import EnsembleRecord
from orchestrator.operations.guard_words import guards_path
from orchestrator.operations.observe import Estate
from orchestrator.operations.primaries import read_primaries
from orchestrator.planning.guards import GuardSaid, Said
from orchestrator.planning.observation import SourceProbe
from tests.operations.memory_ensemble import MemoryEnsemble, MemoryLock
from tests.planning.pictures import LOST_AT_S, MIRROR, REQUEST, observation, topology

PLAN = plan_failover(topology(), observation(), REQUEST)
ASKING, RECORDING = PLAN.step("guards-closed"), PLAN.step("record-primary")
GONE = SourceProbe({"west:1": "refused"}, "no address takes a connection")


class Side:
    """The ensemble and the lost side, as a run finds them."""

    def __init__(self, folder: Path) -> None:
        self.ensemble = MemoryEnsemble()
        self.probe, self.closed = GONE, ""
        estate = Estate(topology(), MIRROR, None, None, self.ensemble)  # type: ignore[arg-type]
        record = EnsembleRecord(MemoryLock(self.ensemble, "lock"), topology().name, "run-1")
        self.session = Session(estate, observation(), folder, run_id="run-1", estate_record=record)

    def says(self, state: Said, at_s: float = LOST_AT_S + 20, **more: Any) -> None:
        word = GuardSaid(server="kafka1", state=state, at_s=at_s, **more)
        path = f"{guards_path(topology().name, 'west')}/kafka1"
        self.ensemble.nodes[path] = json.dumps(word.as_json()).encode()

    def done(self, step: Any) -> StepOutcome:
        return TableActions(self.session, MOVE_TABLE).perform(step, {})

    @property
    def is_recorded(self) -> bool:
        return bool(read_primaries(self.ensemble, topology().name))


@pytest.fixture
def side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Side:
    found = Side(tmp_path)
    monkeypatch.setattr(asking, "WAITED_FOR_S", 0.6)
    monkeypatch.setattr(asking, "_COMES_UP_WITHIN_S", 0.6)
    monkeypatch.setattr(asking, "probe_source", lambda *_: found.probe)
    monkeypatch.setattr(asking, "words_of_guards", lambda *_: ((), found.closed))
    return found


def test_guards_that_have_let_nothing_start_cost_nothing(side: Side) -> None:
    """None is there; one was opened long before the loss; one keeps its broker closed."""
    for _ in (1, 2, 3):
        done = side.done(ASKING)
        assert (done.outcome, done.result) == ("ok", {}), done.message
        side.says("open", LOST_AT_S - 3600)
    side.says("closed")
    assert side.done(ASKING).result == {}


def test_a_broker_on_its_way_to_open_is_waited_for(side: Side) -> None:
    """For as long as its guard can go on without an answer; no longer than until it says that it is closed."""
    side.says("opening")
    done = side.done(ASKING)
    assert (done.outcome, done.result) == ("ok", {"waited_for": ["kafka1"]})
    assert "0.6 s have passed: open by now, or never" in done.message
    Timer(0.1, side.says, ("closed",)).start()
    assert "closed now" in side.done(ASKING).message


def test_a_word_of_whatever_clock_is_waited_for_while_it_says_opening(side: Side) -> None:
    """The clock of the lost site may be an hour behind."""
    side.says("opening", LOST_AT_S - 3600)
    assert side.done(ASKING).result == {"waited_for": ["kafka1"]}


@pytest.mark.parametrize("state", ["", "open"])
def test_a_word_that_tells_nothing_ends_the_step(side: Side, state: Said) -> None:
    """It cannot be read, or is of a guard that does not ask again; of a sick site it is only told."""
    side.says(state)
    done = side.done(ASKING)
    assert done.outcome == "failed"
    assert "cannot be told" in done.message
    of_sick = replace(ASKING, arguments={**ASKING.arguments, "must_be_clear": False})
    assert side.done(of_sick).outcome == "ok"


def test_a_run_that_has_lost_its_lock_does_not_wait_on(side: Side) -> None:
    """Another may hold it."""
    side.says("opening")
    side.session.cancel()
    assert asking.await_guards(side.session, ASKING, {}).outcome == "failed"


def test_a_source_that_is_still_away_lets_the_other_side_be_recorded(side: Side) -> None:
    """As before."""
    assert side.done(RECORDING).outcome == "ok"
    assert side.is_recorded


@pytest.mark.parametrize(
    ("probe", "said"),
    [
        (SourceProbe({"west:1": "yes"}, ""), "west is not lost: it answers again"),
        (SourceProbe({"west:1": "yes"}, "timed out"), "west is not lost: west:1 takes connections again"),
    ],
)
def test_a_source_that_is_back_keeps_the_other_side_from_being_recorded(
    side: Side, probe: SourceProbe, said: str
) -> None:
    """Surely nothing was changed, and the message says how to go on. Kept closed by its guards, it may be."""
    side.probe = probe
    done = side.done(RECORDING)
    assert (done.outcome, side.is_recorded) == ("failed", False)
    assert said in done.message
    assert "dcctl abort run-1" in done.message
    assert "dcctl resume run-1" in done.message
    side.closed = "east has taken over from it"
    assert side.done(RECORDING).outcome == "ok"
    assert side.is_recorded


def test_a_source_that_comes_up_closed_is_waited_for_a_moment(side: Side) -> None:
    """It takes connections before its guard has said anything."""
    side.probe = SourceProbe({"west:1": "yes"}, "timed out")
    Timer(0.2, lambda: setattr(side, "closed", "east has taken over from it")).start()
    assert side.done(RECORDING).outcome == "ok"
