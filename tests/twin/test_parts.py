"""A part of a site moves while others work on: a consumer alone, a topic with all of its applications."""

from __future__ import annotations

import pytest

from orchestrator.errors import GateRefusedError
from tests.twin import truths
from tests.twin.conftest import Estates
from tests.twin.operator import Operator

SMALL = "tests/faults/small.yaml"


def at_work(estates: Estates, file: str = SMALL) -> Operator:
    operator = estates.at_work(file)
    for workers in operator.estate.workers.values():
        workers.writes_delayed_syncs = True
    operator.estate.live(2)
    return operator


def assert_each_once(operator: Operator, **at: str) -> None:
    """Nobody has read a record twice, nor skipped one where it works now; nothing is lost."""
    estate = operator.estate
    names = [consumer.name for consumer in estate.topology.consumers]
    assert truths.processed_twice(estate, names) == dict.fromkeys(names, 0)
    for place in estate.topology.clusters:
        skipped = truths.skipped(estate, place)
        here = [name for name in names if at.get(name, "west") == place]
        assert {name: skipped[name] for name in here if name in skipped} == {}
        working = [name for name in names if estate.clusters[place].group(name).members]
        assert working == here, place
    assert truths.lost_at(estate, "west") == set() or "west" not in at.values()


def test_a_group_alone_goes_and_comes_home_while_others_work_on(estates: Estates) -> None:
    """It reads the copies there; nobody else pauses, and the mirror never stops."""
    operator = at_work(estates)
    workers = operator.estate.workers["east"]
    for _ in range(2):
        assert operator.switchover(applications=("billing",)).outcome == "ok"
        operator.estate.live(10)
        assert_each_once(operator, billing="east")
        assert workers.connectors["west-to-east-source"].state == "RUNNING"
        assert operator.failback(applications=("billing",)).outcome == "ok"
        operator.estate.live(10)
        assert_each_once(operator)
    assert set(truths.written_at(operator.estate)["orders"]) == {"west"}


def test_a_topic_goes_and_comes_home_with_all_that_write_and_read_it(estates: Estates) -> None:
    """The other one is written on at home, and read there or as its copy."""
    operator = at_work(estates)
    for _ in range(2):
        assert operator.switchover(topics=("orders",)).outcome == "ok"
        operator.estate.live(10)
        assert_each_once(operator, billing="east", shipping="east", fraud="east")
        assert operator.failback(topics=("orders",)).outcome == "ok"
        operator.estate.live(10)
        assert_each_once(operator)
    written = truths.written_at(operator.estate)
    assert written == {"orders": ["west", "east"] * 2 + ["west"], "payments": ["west"]}
