"""Consumers of one centre of an aggregation go to another one, between which no mirror leads, and home again."""

from __future__ import annotations

import pytest

from orchestrator.cli.status_places import place_headline, place_lines
from orchestrator.errors import GateRefusedError, UsageError
from orchestrator.runs.prices import price_in_words
from orchestrator.watch.place_status import place_status, unmirrored
from tests.twin import truths
from tests.twin.conftest import Estates
from tests.twin.crew import ProcessDied
from tests.twin.operator import Operator

TWO_CENTRES = "topologies/aggregation-two-centres.yaml"
READERS = ["reporting", "audit"]


def at_work(estates: Estates) -> Operator:
    operator = estates.at_work(TWO_CENTRES)
    for workers in operator.estate.workers.values():
        workers.writes_delayed_syncs = True
    operator.estate.live(2)
    return operator


def assert_each_once(operator: Operator, place: str) -> None:
    """Each record was read once by each consumer that moved, and the sources are written as ever."""
    assert truths.processed_twice(operator.estate, READERS) == dict.fromkeys(READERS, 0)
    assert {
        name: lost for name, lost in truths.skipped(operator.estate, place).items() if name in READERS
    } == {}


def test_consumers_go_to_the_other_centre_and_home_at_exact_positions(estates: Estates) -> None:
    """No producer is touched; each record is read once by each consumer, wherever it works."""
    operator = at_work(estates)
    for _ in range(2):
        assert operator.switchover(to="reserve", left="centre").outcome == "ok"
        operator.estate.live(10)
        assert_each_once(operator, "reserve")
        assert operator.failback(to="").outcome == "ok"
        operator.estate.live(10)
        assert_each_once(operator, "centre")


def test_a_lost_centre_is_left_at_exact_positions_by_the_maps_kept_at_the_other_one(estates: Estates) -> None:
    """Its own maps, and what its groups had committed, died with it."""
    operator = at_work(estates)
    for _ in range(2):
        operator.estate.lose("centre")
        operator.estate.live(5)
        assert operator.failover(to="reserve", attested=("centre",)).outcome == "ok"
        assert operator.plan is not None
        rows = operator.plan.facts["translations"]
        assert len(rows) == 9
        assert all(row["exact"] for row in rows)
        operator.estate.live(10)
        skipped = truths.skipped(operator.estate, "reserve")
        assert {name: lost for name, lost in skipped.items() if name in READERS} == {}
        operator.estate.bring_back("centre")
        operator.estate.live(10)
        assert operator.failback(to="centre").outcome == "ok"
        operator.estate.live(10)
        skipped = truths.skipped(operator.estate, "centre")
        assert {name: lost for name, lost in skipped.items() if name in READERS} == {}


def test_a_source_without_a_standby_waits(estates: Estates) -> None:
    """That is said, and what goes on without it."""
    operator = at_work(estates)
    with pytest.raises(UsageError, match="the file has no application of dc1 that goes there"):
        operator.switchover(to="centre", left="dc1")


def test_whoever_has_no_standby_is_named(estates: Estates) -> None:
    """Nothing goes from a site to a centre that the file does not send there."""
    operator = at_work(estates)
    with pytest.raises(UsageError, match="the file has no application of centre that goes to dc1"):
        operator.switchover(to="dc1", left="centre")


def test_status_tells_what_the_loss_of_a_centre_would_cost_as_its_failover_does(estates: Estates) -> None:
    """And where its consumers work, once they have gone."""
    operator = at_work(estates)
    topology, servers = operator.estate.topology, operator.estate.servers
    assert unmirrored(topology) == [("centre", "reserve")]
    found = place_status(topology, "centre", "reserve", servers=servers)
    assert found["would_refuse"] == []
    assert {row["group"]: (row["exact"], row["partitions"]) for row in found["groups"]} == {
        "reporting": (6, 6),
        "audit": (3, 3),
    }
    assert found["working_at"] == "centre"
    assert place_headline(found).startswith("centre → reserve: if centre were lost now, 2 groups could go on")
    assert operator.switchover(to="reserve", left="centre").outcome == "ok"
    found = place_status(topology, "centre", "reserve", servers=servers)
    assert place_headline(found).endswith("the way back: dcctl failback FILE --to centre")
    assert list(place_lines(found))


def lose_both(operator: Operator) -> None:
    """The centre has read what was still on its way to the other one, when it and dc1 are lost."""
    operator.estate.workers["reserve"].lag_s = 3.0
    operator.estate.live(5)
    operator.estate.lose("centre")
    operator.estate.lose("dc1")
    operator.estate.live(5)


def test_a_source_that_is_lost_with_the_centre_is_left_at_the_end_of_its_copies(estates: Estates) -> None:
    """What had been read and never came is foretold, counted, and read again once the source is back."""
    operator = at_work(estates)
    lose_both(operator)
    with pytest.raises(
        GateRefusedError, match="dc1 does not answer, so what was read at centre may never come to reserve"
    ):
        operator.failover(to="reserve", attested=("centre",))
    assert operator.failover(to="reserve", attested=("centre", "dc1")).outcome == "ok"
    assert operator.plan is not None
    rows = [row for row in operator.plan.facts["translations"] if row["topic"] == "dc1.orders"]
    assert all(row["exact"] for row in rows)
    foretold = {name: row["if_source_returns"] for name, row in operator.plan.predicted.reread.items()}
    ledger = operator.estate.applications.ledger
    present = truths.present_at(operator.estate, "reserve")
    never = {
        name: sum(truths.named(value) not in present for value in ledger.processed[name]) for name in READERS
    }
    assert foretold == never
    assert all(never.values())
    assert f", {sum(never.values()):,} more if a lost source returns, " in price_in_words(operator.plan)
    operator.estate.workers["reserve"].lag_s = 0.3
    operator.estate.live(10)
    assert_each_once(operator, "reserve")
    assert operator.estate.workers["reserve"].connectors["dc1-to-reserve-source"].state == "RUNNING"
    operator.estate.bring_back("dc1", applications=True)
    operator.estate.live(10)
    twice = truths.processed_twice(operator.estate, READERS)
    assert twice == never
    operator.estate.bring_back("centre")
    operator.estate.live(10)
    assert operator.failback(to="centre").outcome == "ok"
    operator.estate.live(10)
    assert truths.processed_twice(operator.estate, READERS) == twice
    skipped = truths.skipped(operator.estate, "centre")
    assert {name: lost for name, lost in skipped.items() if name in READERS} == {}


def test_a_source_that_answers_is_not_left_as_lost(estates: Estates) -> None:
    """Its mirror still brings what would be read again."""
    operator = at_work(estates)
    operator.estate.lose("centre")
    operator.estate.live(5)
    with pytest.raises(GateRefusedError, match="dc1 answers: what it still brings to reserve"):
        operator.failover(to="reserve", attested=("centre", "dc1"))
    operator.estate.lose("reserve")
    operator.estate.live(5)
    with pytest.raises(UsageError, match="they wait until one of the two is back"):
        operator.failover(to=None, attested=("centre", "reserve"))


def test_consumers_that_come_up_with_a_centre_are_stopped_before_anybody_goes_home(estates: Estates) -> None:
    """No guard keeps them off: they go on where their old positions are, until the failback begins."""
    operator = at_work(estates)
    operator.estate.lose("centre")
    operator.estate.live(5)
    assert operator.failover(to="reserve", attested=("centre",)).outcome == "ok"
    operator.estate.live(5)
    operator.estate.bring_back("centre", applications=True)
    operator.estate.live(5)
    result = operator.failback(to="centre")
    assert result.outcome == "ok"
    assert {step["id"]: step["message"] for step in result.steps}["stop-returned"].startswith(
        "2 clients stopped"
    )
    operator.estate.live(10)
    skipped = truths.skipped(operator.estate, "centre")
    assert {name: lost for name, lost in skipped.items() if name in READERS} == {}


def test_a_centre_that_comes_back_in_the_middle_of_its_failover_starts_nobody_elsewhere(
    estates: Estates,
) -> None:
    """Looked at once more before anybody starts: what works at two centres reads records twice."""
    operator = at_work(estates)
    operator.estate.lose("centre")
    operator.estate.live(5)
    operator.estate.record.harm_where(lambda entry: entry.verb == "commit offset", "dies after")
    with pytest.raises(ProcessDied):
        operator.failover(to="reserve", attested=("centre",))
    operator.estate.record.heal()
    operator.estate.restart_dcctl()
    operator.estate.bring_back("centre", applications=True)
    operator.estate.live(5)
    with pytest.raises(GateRefusedError, match="source-unreachable refused: centre answers"):
        operator.resume()
    assert operator.abort().outcome == "undone"
    operator.estate.live(5)
    assert operator.estate.clusters["reserve"].group("reporting").members == {}
    assert truths.processed_twice(operator.estate, ["audit"]) == {"audit": 0}
