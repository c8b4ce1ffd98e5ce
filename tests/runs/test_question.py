"""What a person is asked: topology, places, price, what stays for good; and which answer is a yes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.runs.engine import state_from_journal
from orchestrator.runs.plan import Plan, Predicted
from orchestrator.runs.question import Question, question_of, question_of_apply, question_of_undo
from tests.runs.any_world import AnyWorld
from tests.runs.crashes import run_until
from tests.runs.test_any_exception import plans

PLANS = plans()
PRICED = Predicted(
    loss={"orders": {"at_most": 2_192}, "payments": {"at_most": 1_149}},
    reread={"billing": {"at_most": 2_212}, "fraud": {"at_most": 1}},
    seconds=25.9,
)


def failover(**changes: object) -> Plan:
    """With a price."""
    plan = replace(PLANS["failover"], predicted=PRICED)
    return replace(plan, **{"facts": {**plan.facts, "loss_seconds_at_most": 1.7}, **changes})  # type: ignore[arg-type]


def test_a_failover_is_asked_about_with_its_places_and_its_price() -> None:
    """Topology, from where to where, records lost and seconds of them, records read again, how long it takes."""
    asked = question_of(failover())
    assert asked.title == "Failover west → east (topology payments)"
    rows = dict(asked.rows)
    assert rows["lost at most"] == "3,341 records (1.7 s)"
    assert rows["read again at most"] == "2,213 records"
    assert rows["takes about"] == "25.9 s"


def test_what_cannot_be_taken_back_is_told_with_its_reason() -> None:
    """By the titles of the steps: ids are for programs."""
    plan = failover()
    (told,) = [text for name, text in question_of(plan).rows if name == "not rolled back"]
    assert plan.step("start-producers").title in told
    assert "(what applications write and commit at the new place cannot be undone)" in told
    assert "start-producers" not in told


@pytest.mark.parametrize(
    ("verb", "name", "named"),
    [
        ("failover", "west", "the cluster that is left"),
        ("switchover", "west", "the cluster that is left"),
        ("failback", "west", "the cluster that is gone back to"),
        ("fence", "west", "the cluster"),
        ("unfence", "west", "the cluster"),
    ],
)
def test_the_name_that_is_wanted(verb: str, name: str, named: str) -> None:
    """Of the place that the verb is about, so that whoever types it has read which one it is."""
    asked = question_of(PLANS[verb])
    assert (asked.name, asked.name_is) == (name, named)


def test_a_move_of_several_places_wants_the_name_of_the_topology() -> None:
    """No one cluster stands for it."""
    asked = question_of(failover(source="", target=""))
    assert (asked.name, asked.name_is) == ("payments", "the topology")


def test_a_price_that_is_not_known_is_not_nothing() -> None:
    """Neither where no bound could be made, nor where one topic has none; and nothing is told as nothing."""
    unknown = "an unknown number of records"
    for loss in ({}, {"orders": {"at_most": 5}, "payments": {}}):
        rows = dict(question_of(failover(predicted=Predicted(loss=loss), facts={})).rows)
        assert rows["lost at most"] == unknown
    reread = {"billing": {"at_most": None}}
    assert (
        dict(question_of(failover(predicted=Predicted(reread=reread))).rows)["read again at most"] == unknown
    )
    free = Predicted(loss={"orders": {"at_most": 0}}, reread={"billing": {"at_most": 0}})
    rows = dict(question_of(failover(predicted=free)).rows)
    assert (rows["lost at most"], rows["read again at most"]) == ("no record", "no record")


def test_a_fence_names_whom_it_denies() -> None:
    """And an unfence whom it lets in again."""
    facts = {"denied_writing": {"User:checkout": ["checkout"]}, "denied_reading": {}}
    assert dict(question_of(replace(PLANS["fence"], facts=facts)).rows)["denied writing"] == "User:checkout"
    assert dict(question_of(replace(PLANS["unfence"], facts=facts)).rows)["allowed again writing"]


@pytest.mark.parametrize(
    ("typed", "is_yes"),
    [
        ("west", True),
        ("  west \n", True),
        ("West", False),
        ("y", False),
        ("yes", False),
        ("", False),
        ("wes", False),
    ],
)
def test_only_the_name_is_a_yes(typed: str, is_yes: bool) -> None:
    """Exactly that name; blanks around it do not count."""
    assert Question(title="", rows=(), name="west", name_is="the cluster").is_consent(typed) is is_yes


@pytest.mark.parametrize(("typed", "is_yes"), [("y", True), (" YES ", True), ("n", False), ("", False)])
def test_where_no_name_is_wanted_yes_is_enough(typed: str, is_yes: bool) -> None:
    """For what can be taken back."""
    assert Question(title="", rows=()).is_consent(typed) is is_yes


def a_difference(**changes: object) -> dict[str, object]:
    """A topic's setting that an apply would mend."""
    row = {"cluster": "west", "subject": "topic orders", "aspect": "config retention.ms", "mend": "planned"}
    return {**row, "needs": None, **changes}


def test_an_apply_that_destroys_wants_the_name_of_the_topology() -> None:
    """And names what it destroys; another one is content with yes."""
    harmless = replace(PLANS["fence"], verb="apply", source="", facts={"differences": [a_difference()]})
    asked = question_of_apply(harmless, 1)
    assert (asked.title, asked.name) == ("Apply the topology file payments: 1 change at west", "")
    rows = [a_difference(needs="delete-records"), a_difference(needs="delete-topics", mend="not-allowed")]
    asked = question_of_apply(replace(harmless, facts={"differences": rows}), 1)
    assert (asked.name, asked.name_is) == ("payments", "the topology")
    assert dict(asked.rows)["destroys"] == "delete-records: topic orders at west"


def test_an_apply_that_does_what_stays_wants_it_as_well() -> None:
    """Though it destroys nothing: more partitions, say."""
    plan = replace(PLANS["failover"], verb="apply", facts={"differences": [a_difference()]})
    assert question_of_apply(plan, 1).name == "payments"


def test_an_abort_wants_the_name_of_the_topology() -> None:
    """And tells which run, and how much of it goes."""
    world = AnyWorld(plan=PLANS["switchover"])
    run_until(PLANS["switchover"], world, 12)
    state = state_from_journal(PLANS["switchover"], "r1", world.records)
    asked = question_of_undo(state)
    assert asked.title == "Roll back Switchover west → east (topology payments, run r1)"
    assert (asked.name, asked.name_is) == ("payments", "the topology")
    assert "step" in dict(asked.rows)["rolled back"]
