"""A lost site is left: what is done to the world, and what becomes of the applications."""

from __future__ import annotations

import pytest

from orchestrator.errors import GateRefusedError
from tests.twin import truths
from tests.twin.conftest import Estates
from tests.twin.crew import ProcessDied
from tests.twin.operator import Operator
from tests.twin.record import Harm

ACTIVE_PASSIVE = "topologies/active-passive.yaml"
SMALL = "tests/faults/small.yaml"
MOVED = {"orders": ["west", "east"], "payments": ["west", "east"]}


def lost(estates: Estates, file: str = SMALL) -> Operator:
    """West is gone, and the watcher has seen it."""
    operator = estates.at_work(file)
    operator.estate.lose("west")
    operator.estate.live(5)
    return operator


def test_a_lost_site_is_left(estates: Estates) -> None:
    """Groups skip nothing of what is there, topics are written at one side, and what is lost is the tail."""
    operator = lost(estates, ACTIVE_PASSIVE)
    result = operator.failover()
    assert (result.outcome, list(result.not_seen)) == ("ok", [])
    operator.estate.live(5)
    assert truths.written_at(operator.estate) == MOVED
    assert truths.skipped(operator.estate, "east") == {}
    gone = truths.lost_at(operator.estate, "east")
    predicted = result.predicted["loss"]
    assert 0 < len(gone) <= sum(row["at_most"] for row in predicted.values())


def test_what_is_done_is_told_in_plain_words(estates: Estates) -> None:
    """Nothing else is done to the world, and each doing is its step's."""
    operator = lost(estates)
    operator.failover()
    done = operator.estate.record.done
    assert ("stop connector", "east", "west-to-east-source") in done
    assert ("start client", "east", "producer checkout") in done
    assert ("commit offset", "east", "billing orders-0 → 0") in done
    assert {verb for verb, *_ in done} == {
        "stop connector",
        "commit offset",
        "start client",
        "record fact",
    }
    by_step = operator.estate.record.by_step()
    assert ("start client", "east", "producer checkout") in by_step["start-producers"]
    assert ("see", "east", "ends of orders, payments") in by_step["record-landing-ends"]
    assert operator.plan is not None
    assert set(by_step) - {""} <= {step.id for step in operator.plan.steps}


def test_the_same_story_is_told_in_the_same_words(estates: Estates) -> None:
    """Nothing depends on the machine, or on which thread is faster."""
    told = []
    for _ in range(2):
        operator = lost(estates)
        operator.failover()
        told.append(operator.estate.record.entries)
    assert told[0] == told[1]


def test_a_site_that_answers_is_not_left(estates: Estates) -> None:
    """The gates see the estate as it is."""
    operator = estates.at_work(SMALL)
    with pytest.raises(GateRefusedError, match="source-unreachable"):
        operator.failover()
    assert operator.estate.record.done == []


@pytest.mark.parametrize(("harm", "every"), [("dies before", 2), ("dies after", 7)])
def test_wherever_the_process_dies_the_run_is_gone_on_with(estates: Estates, harm: Harm, every: int) -> None:
    """At each doing, and at each record of the journal; nothing is skipped, and nobody writes at both sides."""
    whole = lost(estates)
    whole.failover()
    expected = {words for words in whole.estate.record.done if words[0] != "record fact"}
    for number in range(0, whole.estate.record.count, every):
        operator = lost(estates)
        operator.estate.record.harm_nth(number, harm)
        with pytest.raises(ProcessDied):
            operator.failover()
        operator.estate.record.heal()
        operator.estate.restart_dcctl()
        result = operator.resume() if operator.has_begun else operator.failover()
        assert result.outcome == "ok", (number, result.reason)
        operator.estate.live(5)
        assert truths.written_at(operator.estate) == MOVED
        assert truths.skipped(operator.estate, "east") == {}
        assert {words for words in operator.estate.record.done if words[0] != "record fact"} == expected
