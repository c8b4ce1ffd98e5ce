"""Facts that outlive a run: one order for all, nothing forgotten, nothing that was taken back."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.replication.truncations import Truncation
from orchestrator.runs.estate_record import (
    KINDS,
    Body,
    Fact,
    LogsAtDeparture,
    LogsTruncated,
    PrimaryMoved,
    ReverseStarts,
    RunBegun,
    RunEnded,
    Withdrawn,
    logs_at_departure,
    offsets,
    rows,
    standing,
    undone_runs,
)
from orchestrator.runs.fact_copy import decode_copy, encode_copy, is_copy
from orchestrator.snapshot.back_starts import back_starts
from orchestrator.snapshot.rejoining import log_truncations, truncation_rows
from orchestrator.snapshot.samples import SampleHistory
from orchestrator.values import TopicPartition

ORDERS = TopicPartition("orders", 0)


def a_fact(number: int, body: Body, run_id: str = "r", after: int | None = None) -> Fact:
    return Fact(number=number, run_id=run_id, at_s=float(number), body=body, after=after)


def starts(offset: int, *, is_set: bool) -> ReverseStarts:
    return ReverseStarts(home="west", standby="east", starts=rows({ORDERS: offset}), is_set=is_set)


def left(end: int, cluster: str = "west") -> LogsAtDeparture:
    return LogsAtDeparture(cluster=cluster, ends=(("orders", 0, end, 5),), topic_ids={"orders": "id"})


def cut(*truncations: tuple[int, int]) -> LogsTruncated:
    found = {ORDERS: tuple(Truncation(*each) for each in truncations)}
    return LogsTruncated(home="west", standby="east", truncations=truncation_rows(found))


@given(st.one_of(*[st.builds(kind) for kind in KINDS.values()]), st.integers(0), st.none() | st.integers(0))
def test_a_fact_comes_back_as_it_was_written(body: Body, number: int, after: int | None) -> None:
    """In the ensemble, and as a copy in a samples topic."""
    fact = Fact(number=number, run_id="r", at_s=1.5, body=body, after=after)
    assert Fact.from_json(json.loads(json.dumps(fact.as_json()))) == fact
    key, value = encode_copy("life", fact)
    assert is_copy(key)
    assert decode_copy(value) == ("life", fact)


def test_a_copy_is_no_sample_and_disturbs_none() -> None:
    """Who reads samples passes it over, and takes it for nothing that cannot be read."""
    history = SampleHistory()
    history.add_record(*encode_copy("life", a_fact(1, left(5))))
    assert history.unreadable == 0
    assert not is_copy(b'["round","w","good"]')


def test_what_a_later_version_adds_is_passed_over_and_what_is_missing_is_an_error() -> None:
    """A kind that is not known is one as well."""
    data = a_fact(1, RunEnded(outcome="ok")).as_json()
    assert Fact.from_json({**data, "body": {**data["body"], "new": 1}}).body == RunEnded(outcome="ok")
    for wrong in ({**data, "body": {}}, {**data, "kind": "new"}, {"number": 1}):
        with pytest.raises(ValueError, match="is no fact that this version understands"):
            Fact.from_json(wrong)


def test_the_order_is_that_of_the_numbers_and_an_imported_run_stands_behind_what_it_had_seen() -> None:
    """In whatever order they are read."""
    facts = (
        a_fact(1, RunBegun(verb="failover", source="west", target="east"), "a"),
        a_fact(2, RunEnded(outcome="ok"), "a"),
        a_fact(4, RunBegun(verb="failover", source="west", target="east"), "alone", after=2),
        a_fact(5, RunEnded(outcome="ok"), "alone", after=2),
        a_fact(3, RunBegun(verb="failback", source="east", target="west"), "b"),
    )
    for order in permutations(facts):
        assert standing(order) == facts


def test_a_fact_that_was_withdrawn_does_not_hold_and_the_one_before_does() -> None:
    """As when a move is taken back."""
    east = PrimaryMoved(home="west", primary="east", topics=("orders",))
    facts = [a_fact(1, east), a_fact(2, east, "s"), a_fact(3, Withdrawn(number=2), "s")]
    assert [fact.number for fact in standing(facts)] == [1]


def test_how_the_logs_stood_is_that_of_the_newest_move_that_was_not_taken_back() -> None:
    """However many others there were since, and at other clusters."""
    facts = [a_fact(1, left(10_000), "over"), a_fact(2, left(700, "east"), "back")]
    facts += [a_fact(3, left(9_500), "taken-back"), a_fact(4, RunEnded(outcome="undone"), "taken-back")]
    found = logs_at_departure(facts, "west")
    assert found is not None
    assert found.log_ends()[ORDERS].end_offset == 10_000
    assert logs_at_departure([], "west") is None


def test_the_mirror_back_begins_where_applications_first_came_and_then_goes_on() -> None:
    """Where Connect was told to begin counts, also where that run was rolled back: it copies from there."""
    landing = [a_fact(1, starts(0, is_set=False), "over-1")]
    assert back_starts(landing, "west", "east").recorded == {ORDERS: 0}
    undone = [a_fact(1, starts(7, is_set=False), "no"), a_fact(2, RunEnded(outcome="undone"), "no")]
    again = [*undone, a_fact(3, starts(500, is_set=False), "over")]
    assert back_starts(again, "west", "east").recorded == {ORDERS: 500}
    told = [
        *again,
        a_fact(4, starts(500, is_set=True), "back"),
        a_fact(5, RunEnded(outcome="undone"), "back"),
    ]
    told.append(a_fact(6, starts(900, is_set=False), "over-2"))
    assert back_starts(told, "west", "east").recorded == {ORDERS: 500}
    assert back_starts(told, "east", "west").recorded == {}


def test_topics_that_left_one_by_one_are_told_together() -> None:
    """Since all of them left at once: of each its newest word, and where the mirror back began first."""
    payments = TopicPartition("payments", 0)
    whole = a_fact(1, left(10_000), "all")
    one = replace(left(12_000), is_part=True)
    other = replace(one, ends=(("payments", 0, 70, 1),), topic_ids={"payments": "p"})
    found = logs_at_departure([whole, a_fact(2, one, "orders"), a_fact(3, other, "payments")], "west")
    assert found is not None
    ends = {tp: log.end_offset for tp, log in found.log_ends().items()}
    assert (ends[ORDERS], ends[payments]) == (12_000, 70)
    assert logs_at_departure([a_fact(1, one, "a"), a_fact(2, left(9_000), "b")], "west") == left(9_000)
    began = replace(starts(5, is_set=False), is_part=True)
    late = replace(began, starts=(("payments", 0, 9),))
    landing = [a_fact(1, began, "orders"), a_fact(2, late, "payments")]
    assert back_starts(landing, "west", "east").recorded == {ORDERS: 5, payments: 9}
    told = [
        a_fact(1, began, "orders"),
        a_fact(2, starts(5, is_set=True), "back"),
        a_fact(3, late, "payments"),
    ]
    assert back_starts(told, "west", "east").recorded == {ORDERS: 5, payments: 9}


def test_a_start_of_a_topic_that_never_moved_gives_way_to_where_it_moves_to() -> None:
    """Whether it moves by its name or with all; a start that is set, or was recorded before, stays."""
    payments = TopicPartition("payments", 0)
    began = replace(starts(5, is_set=False), is_part=True)
    told = replace(starts(5, is_set=True), provisional=(("payments", 0, 7),))
    facts = [a_fact(1, began, "orders"), a_fact(2, told, "back")]
    found = back_starts(facts, "west", "east")
    assert (found.recorded, found.provisional) == ({ORDERS: 5}, {payments: 7})
    whole = replace(starts(60, is_set=False), starts=(("orders", 0, 60), ("payments", 0, 9)))
    for later in (whole, replace(whole, starts=(("payments", 0, 9),), is_part=True)):
        found = back_starts([*facts, a_fact(3, later, "rest")], "west", "east")
        assert found.recorded == {ORDERS: 5, payments: 9}
        undone = [a_fact(3, later, "rest"), a_fact(4, RunEnded(outcome="undone"), "rest")]
        assert back_starts([*facts, *undone], "west", "east").recorded == {ORDERS: 5}
    empty = replace(told, starts=())
    assert back_starts([a_fact(1, empty, "back")], "west", "east").recorded == {}
    found = back_starts([a_fact(1, empty, "back"), a_fact(2, whole)], "west", "east")
    assert found.recorded == {ORDERS: 60, payments: 9}


def test_a_topic_that_joined_the_mirror_after_a_way_home_begins_where_it_was_left_first() -> None:
    """What stood in its landing topic before is not brought home."""
    both = replace(starts(60, is_set=False), starts=(("orders", 0, 60), ("payments", 0, 9)))
    before = [a_fact(1, starts(5, is_set=False), "over"), a_fact(2, starts(5, is_set=True), "back")]
    found = back_starts([*before, a_fact(3, both, "again")], "west", "east")
    assert found.recorded == {ORDERS: 5, TopicPartition("payments", 0): 9}
    found = back_starts([before[0], a_fact(3, both, "again")], "west", "east")
    assert found.recorded == {ORDERS: 5, TopicPartition("payments", 0): 9}


def test_a_log_stays_cut_whatever_became_of_the_run_that_saw_it() -> None:
    """The newest fact names all cuts."""
    facts = [a_fact(1, cut((950, 1000)), "back-1"), a_fact(2, RunEnded(outcome="undone"), "back-1")]
    facts.append(a_fact(3, cut((950, 1000), (990, 1100)), "back-2"))
    assert log_truncations(facts[:2], "west", "east") == {ORDERS: (Truncation(950, 1000),)}
    assert log_truncations(facts, "west", "east") == {ORDERS: (Truncation(950, 1000), Truncation(990, 1100))}
    assert log_truncations(facts, "east", "west") == {}


@pytest.mark.parametrize(
    ("outcomes", "undone"), [(["undone"], True), (["undone", "ok"], False), (["incomplete", "undone"], True)]
)
def test_a_run_is_undone_by_its_newest_end(outcomes: list[str], undone: bool) -> None:
    """Going on after a taking back that stopped may end otherwise."""
    facts = [a_fact(number, RunEnded(outcome=said)) for number, said in enumerate(outcomes)]
    assert (undone_runs(facts) == {"r"}) == undone


@given(st.dictionaries(st.builds(TopicPartition, st.text(), st.integers(0)), st.integers(0)))
def test_offsets_come_back(values: dict[TopicPartition, Any]) -> None:
    """As rows."""
    assert offsets(rows(values)) == values
