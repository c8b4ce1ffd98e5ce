"""Moves that follow each other too soon: refused, or acknowledged by name; and every override is told."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.errors import UsageError
from orchestrator.moves.gates.ensemble import cooldown_gate
from orchestrator.ports.part import Part
from orchestrator.runs.coordination_state import CoordinationState, EarlierRun
from orchestrator.runs.overrides import acknowledgement, left_standing, overrides
from orchestrator.runs.plan import Plan
from orchestrator.topology.model import QUIET_AFTER_MOVE_S
from orchestrator.verbs.plans import plan_failback, plan_failover, plan_switchover
from tests.verbs import failback_pictures, test_switchover
from tests.verbs.pictures import ABSENT, NOW_S, REQUEST, observation, part, topology

FILE = topology()
WORD = "eve: the owners want it back now"


def moved(age_s: float, *, source: str = "east", target: str = "west", outcome: str = "ok") -> EarlierRun:
    """A move that ended so long ago."""
    ended = NOW_S - age_s
    return EarlierRun("r1", "failback", source, target, ended - 30, outcome, ended)


def after(*runs: EarlierRun) -> Part[CoordinationState]:
    return part(CoordinationState("", runs))


def plans(coordination: Part[CoordinationState], word: str = "") -> dict[str, Plan]:
    """Each moving verb, asked for after those runs."""
    base = replace(observation(), coordination=coordination)
    planned = replace(test_switchover.picture(), coordination=coordination)
    back = failback_pictures.picture()
    back = replace(back, coordination=coordination)
    return {
        "failover": plan_failover(FILE, base, replace(REQUEST, acknowledge=word)),
        "switchover": plan_switchover(
            FILE,
            planned,
            replace(test_switchover.REQUEST, acknowledge=word),
        ),
        "failback": plan_failback(
            failback_pictures.topology(), back, replace(failback_pictures.REQUEST, acknowledge=word)
        ),
    }


def outcome(plan: Plan) -> str:
    return {gate.id: str(gate.outcome) for gate in plan.gates}["not-flapping"]


@pytest.mark.parametrize("verb", ["failover", "switchover", "failback"])
def test_a_move_right_after_a_move_wants_a_word(verb: str) -> None:
    """Refused, open with an acknowledgement, open again half an hour later; unknown where nobody can tell."""
    assert outcome(plans(after(moved(60)))[verb]) == "refused"
    assert outcome(plans(after(moved(60)), WORD)[verb]) == "ok"
    assert outcome(plans(after(moved(QUIET_AFTER_MOVE_S)))[verb]) == "ok"
    assert outcome(plans(ABSENT)[verb]) == "unknown"


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        (moved(60, outcome="undone"), "ok"),
        (moved(60, outcome="refused"), "ok"),
        (moved(60, outcome="incomplete"), "ok"),
        (moved(60, source="north", target="south"), "ok"),
        (moved(60, source="north", target="west"), "refused"),
        (moved(60, source="west", target="south"), "refused"),
        (replace(moved(60), verb="fence"), "ok"),
        (replace(moved(60), verb="apply"), "ok"),
        (moved(-5), "refused"),
    ],
)
def test_what_counts_as_a_move(run: EarlierRun, expected: str) -> None:
    """Whatever led out of their home or into it, of another home nothing; an open run is for another gate;
    clocks may differ.
    """
    assert cooldown_gate(after(run), FILE, NOW_S, "", home="west").outcome == expected


def test_the_file_says_how_long_it_has_to_be_quiet() -> None:
    """0 lets moves follow each other."""
    for cooldown_s, expected in ((0.0, "ok"), (30.0, "ok"), (90.0, "refused")):
        file = replace(FILE, failover=replace(FILE.failover, quiet_after_move_s=cooldown_s))
        gate = cooldown_gate(after(moved(60)), file, NOW_S, "", home="west")
        assert gate.outcome == expected
    assert "r1" in gate.measured
    assert "--acknowledge" in gate.hint


@pytest.mark.parametrize("text", ["soon", "eve:", ": because", " : ", "eve:  "])
def test_an_acknowledgement_names_owner_and_comment(text: str) -> None:
    """Anything less is a usage error."""
    with pytest.raises(UsageError, match="owner and comment"):
        acknowledgement(text)
    assert acknowledgement(" eve :  the owners: all of them ") == "eve: the owners: all of them"
    assert acknowledgement("  ") == ""


def test_each_override_is_named_with_who_and_why() -> None:
    """One by one; what overrides nothing is not there."""
    request = replace(REQUEST, attested=("west", "north"), accept_loss=0, acknowledge=WORD)
    assert [str(row) for row in overrides(request.as_json())] == [
        "--attest-down west by ada: fire",
        "--attest-down north by ada: fire",
        "--accept-loss 0 by ada: fire",
        "--acknowledge by ada for eve: the owners want it back now",
    ]
    assert list(overrides(test_switchover.REQUEST.as_json())) == []
    assert list(overrides(failback_pictures.REQUEST.as_json())) == []
    assert [str(row) for row in left_standing(["b", "a"], "ada: it works there")] == [
        "--leave a by ada: it works there",
        "--leave b by ada: it works there",
    ]
    reread = replace(failback_pictures.REQUEST, accept_reread=7, reason="")
    assert [str(row) for row in overrides(reread.as_json())] == ["--accept-reread 7 by ada: no reason given"]
