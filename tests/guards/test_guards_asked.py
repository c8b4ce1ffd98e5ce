"""A failover asks the guards of the lost side and looks at it once more, before another one is primary."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.errors import ClusterError
from orchestrator.guards.guarding import WAITED_FOR_S
from orchestrator.guards.live.guard_reading import guards_path
from orchestrator.runs.engine import StepOutcome
from orchestrator.runs.guards import GuardSaid, Said
from orchestrator.runs.live.estate_facts import read_primaries
from orchestrator.runs.plan import Step
from orchestrator.verbs.plans import plan_failover
from tests.runs.memory_ensemble import MemoryEnsemble
from tests.verbs.pictures import LOST_AT_S, NOW_S, REQUEST, observation, topology
from tests.verbs.some_moves import a_session, performed
from tests.verbs.some_servers import PassingClock, SomeServers

_PLACES = topology().clusters
FILE = replace(topology(), clusters={**_PLACES, "west": replace(_PLACES["west"], bootstrap=("west:1",))})
PLAN = plan_failover(FILE, observation(), REQUEST)
ASKING, RECORDING = PLAN.step("guards-closed"), PLAN.step("record-primary")


class _East:
    name = "east"


class _West:
    """The lost side: whether it answers what it is asked, where it takes connections at all."""

    name, cluster_id = "west", "id-west"

    def __init__(self) -> None:
        self.takes_connections = self.answers = False

    def brokers(self, _timeout_s: float) -> dict[int, str]:
        if not self.answers:
            raise ClusterError("cluster west", "timed out")
        return {1: "west:1"}


class Side:
    """The ensemble and the lost side, as a run finds them. Waiting takes no time."""

    def __init__(self, folder: Path) -> None:
        self.ensemble, self.clock, self.west = MemoryEnsemble(), PassingClock(NOW_S), _West()
        servers = SomeServers(
            clusters={"east": _East(), "west": self.west},
            workers={"east": None},
            refused=lambda _: not self.west.takes_connections,
            clock=self.clock,
        )
        self.session = a_session(folder, servers, FILE, observation(), ensemble=self.ensemble)

    def says(self, state: Said, at_s: float = LOST_AT_S + 20, server: str = "kafka1", **more: Any) -> None:
        word = GuardSaid(server=server, state=state, at_s=at_s, **more)
        path = f"{guards_path(FILE.name, 'west')}/{server}"
        self.ensemble.nodes[path] = json.dumps(word.as_json()).encode()

    def says_all_are_closed(self) -> None:
        """The guard of each broker of the lost side, now."""
        for number in range(1, FILE.clusters["west"].brokers + 1):
            said = "east has taken over from it"
            self.says("closed", self.clock.now_s(), f"kafka{number}", reason=said, broker_id=number)

    def done(self, step: Step) -> StepOutcome:
        return performed(self.session, step)

    @property
    def is_recorded(self) -> bool:
        return bool(read_primaries(self.ensemble, FILE.name))


@pytest.fixture
def side(tmp_path: Path) -> Side:
    return Side(tmp_path)


def test_guards_that_have_let_nothing_start_cost_nothing(side: Side) -> None:
    """None is there; one was opened long before the loss; one keeps its broker closed."""
    for _ in (1, 2, 3):
        done = side.done(ASKING)
        assert done.outcome == "ok", done.message
        assert "no boot guard has let a broker of west open" in done.message
        side.says("open", LOST_AT_S - 3600)
    side.says("closed")
    assert "no boot guard has let a broker of west open" in side.done(ASKING).message
    assert side.clock.now_s() == NOW_S


def test_a_broker_on_its_way_to_open_is_waited_for(side: Side) -> None:
    """For as long as its guard can go on without an answer; no longer than until it says that it is closed."""
    side.says("opening")
    done = side.done(ASKING)
    assert done.outcome == "ok"
    said = f"kafka1 had been allowed to open by a boot guard; not seen open within {WAITED_FOR_S:g} s"
    assert done.message == said
    assert WAITED_FOR_S <= side.clock.now_s() - NOW_S < WAITED_FOR_S + 1
    side.clock.soon(1.0, lambda: side.says("closed"))
    begun_s = side.clock.now_s()
    assert side.done(ASKING).message == "kafka1 had been allowed to open by a boot guard; closed now"
    assert side.clock.now_s() - begun_s == 1.0


def test_a_word_of_whatever_clock_is_waited_for_while_it_says_opening(side: Side) -> None:
    """The clock of the lost site may be an hour behind."""
    side.says("opening", LOST_AT_S - 3600)
    assert side.done(ASKING).message.startswith("kafka1 had been allowed to open")


@pytest.mark.parametrize("state", ["", "open"])
def test_a_word_that_tells_nothing_ends_the_step(side: Side, state: Said) -> None:
    """It cannot be read, or is of a guard that does not ask again; of a sick site it is only told."""
    side.says(state)
    done = side.done(ASKING)
    assert done.outcome == "failed"
    assert "is unknown" in done.message
    of_sick = replace(ASKING, arguments={**ASKING.arguments, "must_be_clear": False})
    assert side.done(of_sick).outcome == "ok"


def test_a_run_that_has_lost_its_lock_does_not_wait_on(side: Side) -> None:
    """Another may hold it."""
    side.says("opening")
    side.clock.soon(1.0, side.session.cancel)
    done = side.done(ASKING)
    assert (done.outcome, side.clock.now_s()) == ("failed", NOW_S + 1.0)


def test_a_source_that_is_still_away_lets_the_other_side_be_recorded(side: Side) -> None:
    """As before."""
    assert side.done(RECORDING).outcome == "ok"
    assert side.is_recorded


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        (True, "west is not lost: a broker answers again"),
        (False, "west is not lost: west:1 takes connections again"),
    ],
)
def test_a_source_that_is_back_keeps_the_other_side_from_being_recorded(
    side: Side, answers: bool, said: str
) -> None:
    """Surely nothing was changed, and the message says how to go on. Kept closed by its guards, it may be."""
    side.west.takes_connections, side.west.answers = True, answers
    done = side.done(RECORDING)
    assert (done.outcome, side.is_recorded) == ("failed", False)
    assert said in done.message
    assert "dcctl abort run-1" in done.message
    assert "dcctl resume run-1" in done.message
    side.says_all_are_closed()
    assert side.done(RECORDING).outcome == "ok"
    assert side.is_recorded


def test_a_source_that_comes_up_closed_is_waited_for_a_moment(side: Side) -> None:
    """It takes connections before its guard has said anything."""
    side.west.takes_connections = True
    side.clock.soon(2.0, side.says_all_are_closed)
    assert side.done(RECORDING).outcome == "ok"
    assert side.clock.now_s() == NOW_S + 2.0
