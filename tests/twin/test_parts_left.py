"""A topic that a failover leaves out: nobody copies it until what went is home again, and that is said."""

from __future__ import annotations

import pytest

from orchestrator.errors import GateRefusedError
from orchestrator.values import TopicPartition
from tests.twin import truths
from tests.twin.conftest import Estates
from tests.twin.test_parts_behind_failover import PAYMENTS, SOURCE, at_work, lost

COPY = TopicPartition("west.payments", 0)


@pytest.mark.parametrize("is_guarded", [False, True])
def test_what_a_failover_leaves_at_a_lost_site_waits_for_it_and_is_copied_once_all_is_home(
    estates: Estates, is_guarded: bool
) -> None:
    """The plan says so of the topic, and counts nothing of it as lost; the way home asks for no word."""
    operator = at_work(estates)
    if is_guarded:
        operator.estate.guard("west")
    lost(operator, left_out=("payments",))
    assert operator.plan is not None
    (said,) = operator.plan.facts["left_behind"].values()
    assert said.startswith(
        "topic payments stays at west: its applications wait until west is back, or, where"
    )
    assert set(operator.plan.predicted.loss) == {"orders"}
    estate = operator.estate
    estate.bring_back("west", applications=True)
    estate.live(20)
    west, east = estate.clusters["west"], estate.clusters["east"]
    not_copied = west.log(PAYMENTS).end - east.log(COPY).end
    assert not_copied < 50 if is_guarded else not_copied > 200
    assert estate.workers["east"].connectors[SOURCE].state == "STOPPED"
    assert operator.failback(topics=("orders",)).outcome == "ok"
    estate.live(10)
    assert west.log(PAYMENTS).end - east.log(COPY).end < 20
    values = [record.value for record in east.log(COPY).records if record is not None]
    assert len(values) == len(set(values))
    assert truths.skipped(estate, "west") == {}
    assert truths.lost_at(estate, "west") == set()


def test_what_was_away_before_is_not_said_to_stay(estates: Estates) -> None:
    """It works at the other site, and needs no copy."""
    operator = at_work(estates)
    assert operator.switchover(topics=("orders",)).outcome == "ok"
    operator.estate.live(5)
    lost(operator, left_out=("orders",))
    assert operator.plan is not None
    assert "left_behind" not in operator.plan.facts


def test_nothing_is_left_at_a_sick_site_where_it_would_be_written_and_not_copied(estates: Estates) -> None:
    """Its producers would go on, and the mirror would not."""
    operator = at_work(estates)
    operator.estate.clusters["west"].set_controllers("gone", 101)
    operator.estate.live(20)
    with pytest.raises(GateRefusedError, match="selection refused: payments would stay at west"):
        operator.leave(left_out=("payments",), accept_unfenced=True)
    assert not operator.has_begun
