"""A part of a site moves while others work on: a consumer alone, a topic with all of its applications."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.cli.status_view import away_lines
from orchestrator.errors import GateRefusedError, UsageError
from orchestrator.topology.model import Topology
from orchestrator.watch.status import mirror_status
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


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (
            {"applications": ("checkout",)},
            "producer checkout: writes orders, which would stay primary at west\n"
            "  --topics orders moves them with all that write and read them",
        ),
        (
            {"topics": ("orders",), "left_out": ("checkout",)},
            "topic orders: is written by checkout as well, which would stay at west\n"
            "  checkout has to come along, or --except orders leaves the topic where it is",
        ),
        (
            {"topics": ("orders",), "left_out": ("billing",)},
            "selection refused: billing reads orders, and would not see what is written to it at east",
        ),
        (
            {"left_out": ("settlement", "payments")},
            "selection refused: fraud reads",
        ),
    ],
)
def test_what_would_tear_a_topic_or_an_application_is_refused_by_name(
    estates: Estates, asked: dict[str, tuple[str, ...]], said: str
) -> None:
    """With what has to come along; nothing was done."""
    operator = at_work(estates)
    with pytest.raises(GateRefusedError) as refused:
        operator.switchover(**asked)
    assert said in str(refused.value)
    assert refused.value.exit_status == 4
    operator.estate.live(3)
    assert_each_once(operator)


def test_names_that_are_nothing_there_are_said(estates: Estates) -> None:
    """With those that are."""
    operator = at_work(estates)
    for asked in ({"applications": ("biling",)}, {"topics": ("order",)}, {"left_out": ("x",)}):
        with pytest.raises(
            UsageError, match=r"is nothing that goes from west to east\n  known: .*orders|checkout"
        ):
            operator.switchover(**asked)


def test_the_rest_follows_a_part_and_all_come_home_together(estates: Estates) -> None:
    """Who is away is left out by name; without that it is said."""
    operator = at_work(estates)
    assert operator.switchover(applications=("billing",)).outcome == "ok"
    known = operator.run_id
    operator.estate.live(5)
    with pytest.raises(GateRefusedError, match="selection refused: billing works at east already, since run"):
        operator.switchover()
    with pytest.raises(GateRefusedError, match="selection refused: shipping works at west"):
        operator.failback(applications=("billing", "shipping"))
    with pytest.raises(GateRefusedError, match="failback FILE --to west --applications billing"):
        operator.failback()
    again = operator.switchover(applications=("billing",))
    assert again.plan["facts"]["done_by"] == known
    assert operator.switchover(left_out=("billing",)).outcome == "ok"
    operator.estate.live(10)
    assert_each_once(operator, billing="east", shipping="east", fraud="east")
    with pytest.raises(GateRefusedError, match="billing reads orders, which is primary at east since run"):
        operator.failback(applications=("billing",))
    assert operator.failback().outcome == "ok"
    operator.estate.live(10)
    assert_each_once(operator)


def test_topics_go_one_after_the_other_and_home_in_any_order(estates: Estates) -> None:
    """Each remembers where it left, and where the other side began."""
    operator = at_work(estates)
    assert operator.switchover(topics=("orders",)).outcome == "ok"
    operator.estate.live(5)
    assert operator.switchover(topics=("payments",), left_out=("fraud",)).outcome == "ok"
    operator.estate.live(10)
    away = {"billing": "east", "shipping": "east", "fraud": "east"}
    assert_each_once(operator, **away)
    with pytest.raises(GateRefusedError, match="fraud reads payments, which is primary at east since run"):
        operator.failback(topics=("orders",))
    assert operator.failback().outcome == "ok"
    operator.estate.live(10)
    assert_each_once(operator)


@pytest.mark.parametrize("part", [{"applications": ("billing",)}, {"topics": ("orders",)}])
def test_a_site_is_lost_while_a_part_of_it_is_away(
    estates: Estates, part: dict[str, tuple[str, ...]]
) -> None:
    """The part works on where it is; the rest follows, and all come home together."""
    operator = at_work(estates)
    assert operator.switchover(**part).outcome == "ok"
    operator.estate.live(5)
    operator.estate.lose("west")
    operator.estate.live(5)
    with pytest.raises(GateRefusedError, match="works at east already") as refused:
        operator.failover()
    left_out = tuple(refused.value.hint.partition("--except ")[2].split(" ")[0].split(","))
    assert left_out == (part.get("topics") or part["applications"])
    assert operator.failover(left_out=left_out).outcome == "ok"
    operator.estate.live(10)
    for name in ("billing", "shipping", "fraud"):
        assert name not in truths.skipped(operator.estate, "east")
    assert truths.processed_twice(operator.estate, ["billing"]) == {"billing": 0}
    operator.estate.bring_back("west")
    operator.estate.live(10)
    assert operator.failback().outcome == "ok"
    operator.estate.live(10)
    assert truths.skipped(operator.estate, "west") == {}
    assert truths.processed_twice(operator.estate, ["billing"]) == {"billing": 0}


def test_status_tells_who_is_away_and_what_a_failover_would_leave_out(estates: Estates) -> None:
    """That a topic works elsewhere as it was meant to is no drift."""
    operator = at_work(estates)
    topology, servers = operator.estate.topology, operator.estate.servers
    mirror = topology.replication[0]
    assert mirror_status(topology, mirror, servers=servers)["away"] == {}
    assert operator.switchover(topics=("orders",)).outcome == "ok"
    operator.estate.live(5)
    told = mirror_status(topology, mirror, servers=servers)
    assert set(told["away"]) == {"checkout", "billing", "shipping", "fraud"}
    assert told["primary_drift"] == []
    assert [gate["id"] for gate in told["would_refuse"]] == ["selection", "source-primary", "groups-idle"]
    (line,) = away_lines(told["away"], "east")
    assert line == f"away      at east since {operator.run_id}: checkout, billing, shipping, fraud"
    assert told["working_side"]["kind"] == "split"


def in_transactions(file: Topology) -> Topology:
    """One producer writes in transactions: markers stand between its records, and none between the copies."""
    return replace(
        file,
        producers=tuple(
            replace(p, transactional_ids=(p.name,)) if p.name == "checkout" else p for p in file.producers
        ),
    )


@pytest.mark.parametrize("part", [{"applications": ("billing",)}, {"topics": ("orders",)}])
def test_under_transactions_positions_are_found_by_content(
    estates: Estates, part: dict[str, tuple[str, ...]]
) -> None:
    """Exact while others write on; no record is accepted to be read again."""
    operator = estates.at_work(SMALL, change=in_transactions)
    for workers in operator.estate.workers.values():
        workers.writes_delayed_syncs = True
    operator.estate.live(2)
    for _ in range(2):
        result = operator.switchover(**part)
        assert result.outcome == "ok", result.reason
        operator.estate.live(10)
        result = operator.failback(**part)
        assert result.outcome == "ok", result.reason
        operator.estate.live(10)
    assert_each_once(operator)


def test_a_group_that_was_brought_home_goes_alone_once_it_has_read_what_came_with_it(
    estates: Estates,
) -> None:
    """What it left unread of that it would read at the other side, and at home once more."""
    operator = at_work(estates)
    billing = operator.estate.applications.clients["west", "consumer-billing"]
    assert operator.switchover().outcome == "ok"
    operator.estate.applications.clients["east", "consumer-billing"].rate_per_s = 0.0
    operator.estate.live(10)
    billing.rate_per_s = 0.5
    assert operator.failback().outcome == "ok"
    result = operator.switchover(applications=("billing",))
    assert result.outcome == "undone"
    assert "records unread at west are not copied to east: billing east.orders-0" in result.reason
    billing.rate_per_s = operator.estate.applications.clients["east", "consumer-billing"].rate_per_s = None
    operator.estate.live(30)
    assert_each_once(operator)
    for _ in range(2):
        assert operator.switchover(applications=("billing",)).outcome == "ok"
        operator.estate.live(10)
        assert_each_once(operator, billing="east")
        assert operator.failback(applications=("billing",)).outcome == "ok"
        operator.estate.live(10)
        assert_each_once(operator)


def test_who_is_away_is_known_without_the_ensemble(estates: Estates) -> None:
    """By the copy of the estate record: nobody is told that all has moved where one group has."""
    operator = at_work(estates)
    assert operator.switchover(applications=("billing",)).outcome == "ok"
    operator.estate.live(10)
    operator.estate.ensemble.is_gone = True
    operator.estate.lose("west")
    operator.estate.live(5)
    with pytest.raises(GateRefusedError, match="billing works at east already, since run"):
        operator.failover(without_coordination=True)
    assert operator.failover(without_coordination=True, left_out=("billing",)).outcome == "ok"
    operator.estate.live(10)
    assert truths.skipped(operator.estate, "east") == {}
    assert truths.processed_twice(operator.estate, ["billing"]) == {"billing": 0}


@pytest.mark.parametrize("verb", ["switchover", "failback"])
def test_where_nobody_can_tell_whom_a_run_has_moved_nothing_moves(
    estates: Estates, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    """All cannot move either: some of them are there already. What is missing has to be restored."""
    operator = at_work(estates)
    assert operator.switchover(applications=("billing",)).outcome == "ok"
    known = operator.run_id
    for module in ("earlier_runs", "run_outline"):
        monkeypatch.setattr(f"orchestrator.runs.live.{module}.part_of_record", lambda _: ())
    said = f"selection unknown: which applications run {known} has moved cannot be read"
    with pytest.raises(GateRefusedError, match=said) as found:
        getattr(operator, verb)()
    assert (
        f"dcctl show {known} FILE names the journal records that are missing: restore them"
        in found.value.hint
    )
    assert "move all" not in found.value.hint
