"""Which side is primary: recorded before anything works there, judged by the gates, and held against the world."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.mirrors.mirrormaker2.connectors import connector_names
from orchestrator.moves.primary_gate import Reality, grown_since_departure, primary_drift, primary_rows
from orchestrator.ports.part import Part
from orchestrator.runs.coordination_state import CoordinationState
from orchestrator.runs.plan import Plan
from orchestrator.runs.primaries import Primaries, PrimaryRecord, primaries_of
from orchestrator.verbs.plans import plan_failback, plan_failover, plan_switchover
from tests.verbs import failback_pictures, test_switchover
from tests.verbs.pictures import ABSENT, MIRROR, REQUEST, observation, part, topology, with_parts

FILE = topology()
TOPICS = tuple(MIRROR.topics)


def recorded(*sides: str, topics: tuple[str, ...] = TOPICS) -> Primaries:
    """As moves to these sides have left it."""
    return primaries_of(
        PrimaryRecord(home="west", primary=side, topics=topics, at_s=float(n), run_id=f"r{n}")
        for n, side in enumerate(sides)
    )


def gate(verb: str, primaries: Primaries | None) -> str:
    """How `source-primary` answers; None where the ensemble does not."""
    state: Part[CoordinationState] = ABSENT
    if primaries is not None:
        state = part(CoordinationState("", primaries=primaries))
    back = failback_pictures.picture()
    moved = replace(failback_pictures.AFTER_A_FAILOVER, primaries=primaries or {})
    home = replace(back, coordination=state if primaries is None else part(moved))
    planned = replace(test_switchover.picture(), coordination=state)
    plan: Plan = {
        "failover": lambda: plan_failover(FILE, replace(observation(), coordination=state), REQUEST),
        "switchover": lambda: plan_switchover(FILE, planned, test_switchover.REQUEST),
        "failback": lambda: plan_failback(failback_pictures.topology(), home, failback_pictures.REQUEST),
    }[verb]()
    return {gate.id: str(gate.outcome) for gate in plan.gates}["source-primary"]


@pytest.mark.parametrize(
    ("verb", "sides", "outcome"),
    [
        ("failover", (), "ok"),
        ("failover", ("west",), "ok"),
        ("failover", ("east", "west"), "ok"),
        ("failover", ("east",), "refused"),
        ("failover", ("west", "east"), "refused"),
        ("switchover", ("west",), "ok"),
        ("switchover", ("east",), "refused"),
        ("failback", ("east",), "ok"),
        ("failback", ("east", "west"), "refused"),
    ],
)
def test_nothing_is_moved_away_from_where_it_is_not_primary(
    verb: str, sides: tuple[str, ...], outcome: str
) -> None:
    """The newest record counts; without one, the file."""
    assert gate(verb, recorded(*sides)) == outcome


@pytest.mark.parametrize("verb", ["failover", "switchover", "failback"])
def test_what_cannot_be_read_is_unknown(verb: str) -> None:
    """And one topic elsewhere is enough to refuse."""
    assert gate(verb, None) == "unknown"
    other = "west" if verb == "failback" else "east"
    assert gate(verb, recorded(other, topics=TOPICS[:1])) == "refused"


@pytest.mark.parametrize(
    ("plan", "primary"),
    [
        (plan_failover(FILE, observation(), REQUEST), "east"),
        (test_switchover.PLAN, "east"),
        (
            plan_failback(
                failback_pictures.topology(), failback_pictures.picture(), failback_pictures.REQUEST
            ),
            "west",
        ),
    ],
    ids=["failover", "switchover", "failback"],
)
def test_each_move_records_it_before_anything_is_started_there(plan: Plan, primary: str) -> None:
    """Whoever asks in between must not open the other side."""
    step = plan.step("record-primary")
    recorded = {"home": "west", "primary": primary, "topics": list(TOPICS)}
    assert {name: step.arguments[name] for name in recorded} == recorded
    starts = [other for other in plan.steps if other.action == "start-clients"]
    assert starts
    for start in starts:
        assert step.id in start.depends_on


def drift(primaries: Primaries, state: str = "RUNNING", **growing: str) -> list[str]:
    rows = primary_rows(FILE, MIRROR, primaries)
    names = dict.fromkeys(connector_names(MIRROR), state)
    seen = {cluster: frozenset({topic}) for cluster, topic in growing.items()}
    return primary_drift(MIRROR, rows, Reality(connectors=names, growing=seen))


def test_where_record_and_world_disagree_it_is_said() -> None:
    """Somebody writes at the wrong side, the mirror is stopped under a primary, or half of it has moved."""
    assert drift({}, west="orders") == []
    assert drift(recorded("east"), state="STOPPED", east="orders") == []
    assert drift(recorded("east"), west="orders") == [
        "records are written to orders at west, which is not primary for it"
    ]
    assert drift({}, east="payments") == [
        "records are written to payments at east, which is not primary for it"
    ]
    assert drift({}, state="STOPPED") == ["west is primary, and the mirror into east is stopped"]
    assert drift(recorded("east", topics=("orders",))) == ["orders are primary at east, payments at west"]


def test_status_names_the_side_and_the_run() -> None:
    """Or that nobody can tell."""
    rows = primary_rows(FILE, MIRROR, recorded("west", "east"))
    assert {(row["primary"], row["run_id"]) for row in rows} == {("east", "r1")}
    assert {row["primary"] for row in primary_rows(FILE, MIRROR, {})} == {"west"}
    assert {row["primary"] for row in primary_rows(FILE, MIRROR, None)} == {None}


def test_the_gate_says_what_the_world_thinks_of_the_record() -> None:
    """It refuses nothing by that: a mirror that is stopped has a gate of its own."""
    stopped = dict.fromkeys(connector_names(MIRROR), "STOPPED")
    state = part(CoordinationState("", primaries=recorded("east", "west")))
    seen = with_parts(observation(), coordination=state, connectors=part(stopped))
    (found,) = (g for g in plan_failover(FILE, seen, REQUEST).gates if g.id == "source-primary")
    assert (found.outcome, found.reason) == (
        "ok",
        "west is primary for orders, payments; but west is primary, and the mirror into east is stopped",
    )


@pytest.mark.parametrize(
    ("values", "end_at_departure", "was_lost", "has_grown"),
    [
        ([90, 95, 100], None, False, True),
        ([90, 95, 100], 100, False, None),
        ([90, 95, 100, 100], 100, False, False),
        ([90, 100, 101], 100, False, True),
        ([90, 95], 100, False, None),
        ([80, 85], 100, True, True),
        ([85, 85], 100, True, False),
        ([95, 100, 120, 120], 120, True, False),
        ([], 100, True, None),
    ],
)
def test_only_what_was_read_since_a_log_was_left_tells_whether_it_grows(
    values: list[int], end_at_departure: int | None, was_lost: bool, has_grown: bool | None
) -> None:
    """By its recorded end, and not by clocks; of a lost side the log may have been cut below that."""
    assert grown_since_departure(values, end_at_departure, was_lost=was_lost) is has_grown
