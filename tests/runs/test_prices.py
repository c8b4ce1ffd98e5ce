"""What has grown between the plan that a person approved and the one that would be run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from orchestrator.runs.plan import Plan, Predicted
from orchestrator.runs.prices import READERS_ALONE, grown_since, price_in_words
from orchestrator.verbs.plans import plan_failover
from tests.verbs.pictures import REQUEST, observation, topology

PLAN = plan_failover(topology(), observation(), REQUEST)


def costing(lost: int | None, again: int | None = 0, seconds: float | None = 1.0) -> Plan:
    """So many records at most."""
    loss: dict[str, dict[str, int]] = {"orders": {} if lost is None else {"at_most": lost}}
    predicted = Predicted(loss=loss, reread={"billing": {"at_most": again}})
    return replace(PLAN, predicted=predicted, facts={**PLAN.facts, "loss_seconds_at_most": seconds})


@pytest.mark.parametrize(
    ("before", "now", "said"),
    [
        (costing(120), costing(120), ()),
        (costing(120), costing(80), ()),
        (costing(120), costing(180), ("records lost of orders: at most 180, approved were 120",)),
        (costing(0), costing(None), ("records lost of orders: at most an unknown number, approved were 0",)),
        (costing(None), costing(180), ()),
        (costing(0, 10), costing(0, 11), ("records read again by billing: at most 11, approved were 10",)),
        (costing(0), costing(0, seconds=4.0), ("seconds lost: at most 4.0 s, approved were 1.0 s",)),
    ],
)
def test_only_what_costs_more_is_told(before: Plan, now: Plan, said: Any) -> None:
    """With both figures."""
    assert grown_since(before, now) == said


def test_the_same_plan_costs_the_same() -> None:
    """A real one."""
    assert grown_since(PLAN, PLAN) == ()


def test_what_could_not_be_measured_is_unknown_and_not_nothing() -> None:
    """Without samples nothing is foretold, neither of what is lost nor of what is read again."""
    nothing = replace(PLAN, predicted=replace(PLAN.predicted, loss={}, reread={}), facts={})
    assert "an unknown number of records lost, an unknown number of records read again" in price_in_words(
        nothing
    )
    of_nobody = replace(PLAN, predicted=replace(costing(0).predicted, reread={}), facts={})
    assert "no record lost, no record read again" in price_in_words(of_nobody)


def test_who_only_reads_loses_nothing_and_reads_again_what_nobody_can_tell() -> None:
    """The records stand where they are produced; where somebody stood is known from samples alone."""
    blind = replace(PLAN.predicted, loss={}, reread={})
    readers = replace(PLAN, predicted=blind, facts={READERS_ALONE: True})
    assert "no record lost, an unknown number of records read again" in price_in_words(readers)
