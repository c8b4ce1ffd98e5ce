"""Parts come home behind a failover, or behind a mirror that stood: all that is away, and all is compared."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.errors import DcctlError, GateRefusedError
from orchestrator.topology.model import Topology
from orchestrator.values import TopicPartition
from tests.twin import test_active_sites as sites
from tests.twin import test_parts as parts
from tests.twin import truths
from tests.twin.conftest import Estates
from tests.twin.operator import Operator
from tests.twin.test_parts_beside import with_payments

PAYMENTS = TopicPartition("payments", 0)
SOURCE = "west-to-east-source"


def two_halves(file: Topology) -> Topology:
    """No consumer reads both topics, so each can go without the other."""
    return replace(
        file,
        consumers=tuple(replace(c, topics=("payments",)) if c.name == "fraud" else c for c in file.consumers),
    )


def at_work(estates: Estates) -> Operator:
    operator = estates.at_work(parts.SMALL, change=two_halves)
    for workers in operator.estate.workers.values():
        workers.writes_delayed_syncs = True
    operator.estate.live(2)
    return operator


def lost(operator: Operator, **asked: tuple[str, ...]) -> None:
    operator.estate.lose("west")
    operator.estate.live(5)
    assert operator.failover(**asked).outcome == "ok"
    operator.estate.live(5)


@pytest.mark.parametrize("is_guarded", [False, True])
def test_a_part_does_not_come_home_alone_behind_a_failover(estates: Estates, is_guarded: bool) -> None:
    """Refused before anything is done, with the command for all; a guard would not open for a part either."""
    operator = at_work(estates)
    if is_guarded:
        operator.estate.guard("west")
    lost(operator)
    operator.estate.bring_back("west", applications=True)
    operator.estate.live(10)
    for part in ({"topics": ("orders",)}, {"left_out": ("payments",)}):
        with pytest.raises(GateRefusedError, match="settlement, fraud would stay at east") as refused:
            operator.failback(**part)
        assert not operator.has_begun
        assert "dcctl failback FILE --to west brings home all who are away" in refused.value.hint
    assert operator.estate.workers["east"].connectors[SOURCE].state == "STOPPED"
    assert operator.failback().outcome == "ok"
    operator.estate.live(10)
    assert truths.skipped(operator.estate, "west") == {}
    assert truths.lost_at(operator.estate, "west") == set()


def test_who_went_before_the_failover_comes_home_with_the_rest(estates: Estates) -> None:
    """The group left alone while all worked; the mirror has stood since for it as well."""
    operator = at_work(estates)
    assert operator.switchover(applications=("billing",)).outcome == "ok"
    operator.estate.live(5)
    lost(operator, left_out=("billing", "orders"))
    operator.estate.bring_back("west")
    operator.estate.live(10)
    with pytest.raises(GateRefusedError, match="settlement, fraud would stay at east") as refused:
        operator.failback(applications=("billing",))
    way_out = "dcctl failback FILE --to west --topics payments --applications billing brings home"
    assert way_out in refused.value.hint


def test_what_stayed_while_the_mirror_stood_is_compared_as_well(estates: Estates) -> None:
    """The failover records how all logs of the mirror stood, and one that stayed was cut: refused, not ok."""
    operator = at_work(estates)
    lost(operator, topics=("orders",))
    west = operator.estate.clusters["west"]
    west.cut(PAYMENTS, west.log(PAYMENTS).end - 40)
    operator.estate.bring_back("west")
    operator.estate.live(10)
    with pytest.raises(GateRefusedError, match="up to 30 records that had been copied are gone from west"):
        operator.failback(topics=("orders",))
    assert not operator.has_begun
    assert operator.estate.workers["east"].connectors[SOURCE].state == "STOPPED"


def test_a_part_behind_a_planned_move_of_all_is_held_against_all_logs(estates: Estates) -> None:
    """The mirror stood since, and starts again for the topic that stays away, whose log was cut meanwhile."""
    operator = at_work(estates)
    assert operator.switchover().outcome == "ok"
    operator.estate.live(5)
    west = operator.estate.clusters["west"]
    west.cut(PAYMENTS, west.log(PAYMENTS).end - 40)
    with pytest.raises(GateRefusedError, match="up to 40 records that had been copied are gone from west"):
        operator.failback(topics=("orders",))
    assert operator.failback(topics=("orders",), accept_loss=40).outcome == "ok"
    operator.estate.live(10)
    copies = operator.estate.clusters["east"].log(TopicPartition("west.payments", 0)).records
    values = [record.value for record in copies if record is not None]
    assert len(values) == len(set(values))


def test_the_same_between_two_active_sites(estates: Estates) -> None:
    """The mirror out of the lost site is one of two."""
    operator = estates.at_work(sites.TWO_SITES, change=with_payments)
    operator.estate.live(5)
    operator.estate.lose("west")
    operator.estate.live(5)
    assert operator.failover(to="east", attested=("west",)).outcome == "ok"
    operator.estate.bring_back("west")
    operator.estate.live(10)
    with pytest.raises(DcctlError, match=r"cashier.* would stay at east"):
        operator.failback(to="west", topics=("orders",))
    assert not operator.has_begun
