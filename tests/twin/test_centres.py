"""Consumers of one centre of an aggregation go to another one, between which no mirror leads, and home again."""

from __future__ import annotations

from tests.twin import truths
from tests.twin.conftest import Estates
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
        assert operator.failback(to="centre").outcome == "ok"
        operator.estate.live(10)
        assert_each_once(operator, "centre")
