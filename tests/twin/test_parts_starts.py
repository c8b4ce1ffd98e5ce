"""Where the mirror back begins in topics that never moved: nothing that stood there before comes to the home."""

from __future__ import annotations

import pytest

from orchestrator.values import TopicPartition
from tests.twin import truths
from tests.twin.clusters import TwinRecord
from tests.twin.conftest import Estates
from tests.twin.crew import EPOCH_S, ProcessDied
from tests.twin.operator import Operator
from tests.twin.record import Harm
from tests.twin.test_parts_behind_failover import PAYMENTS, at_work

COPY = TopicPartition("east.payments", 0)
FROM_BEFORE = [b"before:%d" % number for number in range(7)]
REST = [{"topics": ("payments",)}, {}]
"""The rest of the site moves later: by its name, or as all that there is."""


def write(operator: Operator, values: list[bytes]) -> None:
    """Somebody writes the landing topic though nothing of it is primary at the standby."""
    at_s = EPOCH_S + operator.estate.crew.now_s
    for value in values:
        assert operator.estate.clusters["east"].append(PAYMENTS, TwinRecord(at_s, None, value))


def brought_home(operator: Operator) -> list[bytes]:
    """What the copy of the landing topic holds at home."""
    west = operator.estate.clusters["west"]
    log = west.log(COPY) if COPY.topic in west.topics else None
    records = [] if log is None else log.records
    return [record.value for record in records if record is not None and record.value is not None]


@pytest.mark.parametrize("rest", REST)
@pytest.mark.parametrize("is_empty", [False, True])
def test_a_topic_that_never_moved_is_not_copied_back_and_begins_where_it_moves_to(
    estates: Estates, rest: dict[str, tuple[str, ...]], is_empty: bool
) -> None:
    """Neither what stood there, nor what somebody wrote there since; all that was written after it moved."""
    operator = at_work(estates)
    if not is_empty:
        write(operator, FROM_BEFORE)
    assert operator.switchover(topics=("orders",)).outcome == "ok"
    operator.estate.live(5)
    assert operator.failback(topics=("orders",)).outcome == "ok"
    operator.estate.live(5)
    assert brought_home(operator) == []
    write(operator, [b"since:%d" % number for number in range(5)])
    assert operator.switchover(**rest).outcome == "ok"
    operator.estate.live(10)
    assert operator.failback(**rest).outcome == "ok"
    operator.estate.live(10)
    copies = brought_home(operator)
    assert len(copies) == len(set(copies)) > 10
    assert {value.partition(b":")[0] for value in copies} == {b"settlement"}
    assert truths.skipped(operator.estate, "west") == {}
    assert truths.lost_at(operator.estate, "west") == set()
    names = [consumer.name for consumer in operator.estate.topology.consumers]
    assert truths.processed_twice(operator.estate, names) == dict.fromkeys(names, 0)


@pytest.mark.parametrize("harm", ["dies before", "dies after"])
@pytest.mark.parametrize("verb", ["record fact", "set source offset"])
def test_a_run_that_dies_while_it_sets_the_starts_is_gone_on_with(
    estates: Estates, verb: str, harm: Harm
) -> None:
    """What stood there when it was set first is where the mirror begins; written since: still not copied."""
    operator = at_work(estates)
    write(operator, FROM_BEFORE)
    assert operator.switchover(topics=("orders",)).outcome == "ok"
    operator.estate.live(5)
    operator.estate.record.harm_where(lambda entry: entry.verb == verb and "payments" in entry.value, harm)
    with pytest.raises(ProcessDied):
        operator.failback(topics=("orders",))
    operator.estate.record.heal()
    operator.estate.restart_dcctl()
    assert operator.resume().outcome == "ok"
    operator.estate.live(5)
    assert brought_home(operator) == []
    assert truths.lost_at(operator.estate, "west") == set()
