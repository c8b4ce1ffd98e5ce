"""Whose record it is: by a mark, by the file, or not to be told. Never seen without a record of its own."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.applications.producers.record_writers import (
    Confirmation,
    Watch,
    Writers,
    landing_writers,
    not_seen,
    told,
)
from orchestrator.moves.primary_gate import STEP as RECORD_PRIMARY
from orchestrator.runs.plan import NEEDS_RESULT, Plan
from orchestrator.topology.model import Producer, RecordMark, Topology
from orchestrator.values import TopicPartition, WrittenRecord
from orchestrator.verbs.plans import plan_failover
from tests.verbs.pictures import MIRROR, REQUEST, observation, topology

APP = "app"


def producer(name: str, *topics: str, marked: bool = False) -> Producer:
    mark = RecordMark(header=APP, value=name) if marked else None
    return Producer(name=name, cluster="west", topics=topics, identified_by=mark)


def record(
    topic: str, at_ms: int = 5_000, *, by: str = "", offset: int = 7, broker: bool = False
) -> WrittenRecord:
    headers = ((APP, by.encode()),) if by else ()
    return WrittenRecord(TopicPartition(topic, 0), offset, at_ms, broker, headers)


def written_by(*producers: Producer) -> Topology:
    return replace(topology(), producers=producers)


def writers_of(file: Topology) -> Writers:
    """Who writes at the target once the mirror of the file is left behind."""
    return landing_writers(file, MIRROR.source, MIRROR.target, MIRROR.topics)


def watch(*producers: Producer, attested: tuple[str, ...] = ()) -> Watch:
    writers = writers_of(written_by(*producers))
    return Watch(writers, [known.name for known in producers], attested)


def outcomes(found: Watch, problem: str = "") -> dict[str, str]:
    return {row.producer: row.outcome for row in found.rows({}, problem)}


def test_the_only_producer_of_a_topic_needs_no_mark() -> None:
    """Its first record is the oldest of those at hand."""
    found = watch(producer("checkout", "orders"), producer("settlement", "payments"))
    found.take([record("orders", 5_200, offset=9), record("orders", 5_100, offset=7)])
    checkout, settlement = found.rows({})
    assert (checkout.at_s, checkout.clock, checkout.place) == (5.1, "producer", "orders-0 at 7")
    assert checkout.by == "only producer of orders"
    assert settlement.outcome == "not-seen"
    assert settlement.reason == "no record was written to payments"
    assert found.topics == {"payments"}


def test_one_of_two_producers_of_a_topic_is_named() -> None:
    """The other's records are none of its own, however many."""
    found = watch(producer("checkout", "orders", marked=True), producer("cashier", "orders", marked=True))
    found.take([record("orders", by="checkout")] * 5)
    assert outcomes(found) == {"checkout": "seen", "cashier": "not-seen"}
    assert found.topics == {"orders"}, "it is still waited for"
    found.take([record("orders", 6_000, by="cashier", broker=True)])
    (_, cashier) = found.rows({})
    assert (cashier.outcome, cashier.at_s, cashier.clock, cashier.by) == ("seen", 6.0, "broker", "header app")
    assert not found.topics


def test_where_all_others_are_marked_the_rest_is_its_own() -> None:
    """One producer of a topic may do without."""
    found = watch(producer("checkout", "orders", marked=True), producer("legacy", "orders"))
    found.take([record("orders", by="checkout")])
    assert outcomes(found) == {"checkout": "seen", "legacy": "not-seen"}
    found.take([record("orders")])
    assert outcomes(found) == {"checkout": "seen", "legacy": "seen"}


def test_producers_that_nothing_tells_apart_stay_unknown() -> None:
    """Whatever is written; the file says what to add."""
    found = watch(producer("checkout", "orders"), producer("cashier", "orders"))
    found.take([record("orders")] * 9)
    assert not found.topics, "more records would tell no more"
    checkout, cashier = found.rows({"orders": 2})
    assert (checkout.outcome, cashier.outcome) == ("unknown", "unknown")
    assert "shares orders with cashier (2 producer ids have written there since the move)" in checkout.reason
    assert "identified_by" in checkout.hint
    assert not_seen((checkout, cashier)) == ["checkout", "cashier"]


def test_where_nothing_arrives_nobody_has_written() -> None:
    """That is known, whether they can be told apart or not."""
    found = watch(producer("checkout", "orders"), producer("cashier", "orders"))
    assert outcomes(found) == {"checkout": "not-seen", "cashier": "not-seen"}
    assert found.topics == {"orders"}


def test_a_topic_of_its_own_is_enough() -> None:
    """What it writes elsewhere may be shared."""
    found = watch(producer("checkout", "orders", "payments"), producer("cashier", "orders"))
    found.take([record("orders")])
    assert outcomes(found) == {"checkout": "not-seen", "cashier": "unknown"}
    found.take([record("payments")])
    assert outcomes(found) == {"checkout": "seen", "cashier": "unknown"}


def test_a_mark_that_nobody_has_counts_for_nobody() -> None:
    """And is told: perhaps the file has it wrong."""
    found = watch(producer("checkout", "orders", marked=True))
    found.take([record("orders", by="somebody")] * 3)
    (row,) = found.rows({})
    assert row.outcome == "not-seen"
    assert "3 records there carry no producer's mark" in row.reason


def test_without_the_right_to_read_growth_tells_of_a_sole_producer() -> None:
    """Of no other: unknown, with the reason."""
    found = watch(
        producer("checkout", "orders", marked=True),
        producer("cashier", "orders", marked=True),
        producer("settlement", "payments"),
    )
    found.has_grown(["orders", "payments"])
    rows = found.rows({}, "its records cannot be read: not authorized", "give it READ")
    assert [row.outcome for row in rows] == ["unknown", "unknown", "seen"]
    assert rows[2].at_s is None
    assert "cannot be read" in rows[0].reason
    assert [row.hint for row in rows] == ["give it READ", "give it READ", ""]


def test_a_person_may_attest_what_cannot_be_told() -> None:
    """It is told as that, and not waited for."""
    found = watch(producer("checkout", "orders"), producer("cashier", "orders"), attested=("cashier",))
    assert found.indistinct == ("checkout",)
    found.take([record("orders")])
    assert outcomes(found) == {"checkout": "unknown", "cashier": "attested"}
    assert "attested to write by a person: cashier" in told(found.rows({}), 60)


def test_a_producer_of_nothing_that_is_mirrored_is_unknown() -> None:
    """It was started, and nobody looks there."""
    found = watch(producer("metrics", "elsewhere"))
    (row,) = found.rows({})
    assert (row.outcome, row.reason) == ("unknown", "writes to none of the mirrored topics")


def test_all_are_told_in_one_line() -> None:
    """With the time of each first record, and each reason."""
    rows = [
        Confirmation(producer="a", outcome="seen", at_s=3_723.5),
        Confirmation(producer="b", outcome="not-seen"),
        Confirmation(producer="c", outcome="unknown", reason="shares t"),
    ]
    assert (
        told(rows, 60)
        == "first records: a 01:02:03.500; producers without a record within 60 s: b; unknown whether c writes: it shares t"
    )


NAMES = st.sampled_from(["a", "b", "c", "d"])


@given(
    topics=st.dictionaries(NAMES, st.sets(st.sampled_from(MIRROR.topics), min_size=1), min_size=1),
    marked=st.sets(NAMES),
    wrote=st.lists(st.tuples(NAMES, st.sampled_from(MIRROR.topics)), max_size=20),
)
def test_never_seen_without_a_record_of_its_own(
    topics: dict[str, set[str]], marked: set[str], wrote: list[tuple[str, str]]
) -> None:
    """Whoever shares what with whom, marked or not: what is told of a producer is true."""
    producers = [producer(name, *sorted(own), marked=name in marked) for name, own in topics.items()]
    found = watch(*producers)
    own = [(name, topic) for name, topic in wrote if topic in topics.get(name, ())]
    found.take(record(topic, by=name if name in marked else "") for name, topic in own)
    for name, outcome in outcomes(found).items():
        has_written = name in {author for author, _ in own}
        assert outcome != "seen" or (has_written and name not in found.indistinct)
        if name in marked:
            assert (outcome == "seen") == has_written


def moving_itself(*names: str) -> Topology:
    known = topology().producers
    return replace(
        topology(),
        producers=tuple(replace(p, moved_by="itself") if p.name in names else p for p in known),
    )


def the_plan(file: Topology) -> Plan:
    return plan_failover(file, observation(), REQUEST)


def test_one_that_moves_itself_is_neither_started_nor_has_to_have_a_host() -> None:
    """But it is waited for."""
    file = moving_itself("checkout")
    plan = the_plan(file)
    assert plan.step("start-producers").arguments["clients"] == ["producer-settlement"]
    assert {p.name for p in writers_of(file).producers} == {"checkout", "settlement"}


def test_where_all_move_themselves_none_is_started() -> None:
    """Their first records are waited for as soon as the other side is primary."""
    plan = the_plan(moving_itself("checkout", "settlement"))
    assert "start-producers" not in {step.id for step in plan.steps}
    waits_for = dict(plan.step("producers-write").reasons)
    assert waits_for.pop("record-landing-ends") == NEEDS_RESULT, "their records count from there on"
    assert set(waits_for) == {RECORD_PRIMARY}
    assert "record-landing-ends" in plan.step(RECORD_PRIMARY).depends_on, "nothing else is waited for"


def test_the_plan_says_beforehand_whose_records_cannot_be_told_apart() -> None:
    """Whoever reads it knows that the run will end as unknown."""
    assert (
        the_plan(topology()).step("producers-write").title
        == "Verify that every producer writes: wait for its first record"
    )
    title = (
        the_plan(written_by(producer("a", "orders"), producer("b", "orders"))).step("producers-write").title
    )
    assert title.endswith("(except a, b, whose records look like those of others)")


@pytest.mark.parametrize("cluster", ["west", "east"])
def test_who_works_at_the_target_writes_there_as_well(cluster: str) -> None:
    """So a topic with one moved producer may have two."""
    other = replace(producer("own", "orders"), cluster=cluster)
    file = written_by(producer("checkout", "orders"), other)
    writers = writers_of(file)
    assert [p.name for p in writers.by_topic["orders"]] == ["checkout", "own"]
