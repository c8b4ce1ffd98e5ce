"""What a plan of a lost site states of each application, from what was seen: a number, or why there is none."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from orchestrator.ports.part import Part
from orchestrator.runs.afterwards import Afterwards, TopicRead
from orchestrator.runs.plan import Plan, plan_from_json, to_json
from orchestrator.snapshot.snapshot import Snapshot
from orchestrator.topology.model import Topology
from orchestrator.values import LogEnd
from orchestrator.verbs.plans import plan_failover
from tests.verbs.pictures import GROUPS, MIRRORED, NOW_S, REQUEST, observation, of, topology, with_parts

PLAN = plan_failover(topology(), observation(), REQUEST)
PARTITIONS = next(topic.partitions for topic in topology().topics if topic.name == "orders")
GROUP = next(c.name for c in topology().consumers if c.kind == "group" and "orders" in c.topics)


def plan(file: Topology | None = None, **parts: Part[Any]) -> Plan:
    """Of a picture in which some parts are others."""
    seen: Snapshot = with_parts(observation(), **parts)
    return plan_failover(topology() if file is None else file, seen, REQUEST)


def stated(made: Plan, name: str = GROUP) -> Afterwards:
    """Of one application."""
    (found,) = (one for one in made.applications if one.name == name)
    return found


def read(made: Plan, topic: str, name: str = GROUP) -> TopicRead:
    """Of one topic of one consumer."""
    (found,) = (read for read in stated(made, name).reads if read.topic == topic)
    return found


def absent(why: str) -> Part[Any]:
    return Part("this look", NOW_S, None, why)


def test_every_application_is_stated_with_what_it_reads_and_writes() -> None:
    """Copies and landing topics by consumer, landing topics by producer; all of them work at the place entered."""
    names = {one.name for one in (*topology().producers, *topology().consumers)}
    assert {one.name for one in PLAN.applications} == names
    assert {one.cluster for one in PLAN.applications} == {"east"}
    for producer in topology().producers:
        assert tuple(one.topic for one in stated(PLAN, producer.name).writes) == producer.topics
    for consumer in topology().consumers:
        found = {one.topic: (one.begins, one.route) for one in stated(PLAN, consumer.name).reads}
        copies = {f"west.{name}": ("translated", "west→east") for name in consumer.topics}
        assert found == {**copies, **dict.fromkeys(consumer.topics, ("fenced-end", ""))}


def test_what_is_unread_is_between_the_position_and_the_end_of_the_copies() -> None:
    """Logs that stand still tell exactly; what may still land is added where they may not."""
    behind = (MIRRORED - 98_000) * PARTITIONS
    assert read(PLAN, "west.orders").unread_now == behind
    assert read(PLAN, "west.orders").unread_at_most == behind
    moving = plan(earlier_ends=absent("it takes connections"))
    at_most = moving.predicted.loss["orders"]["at_most"]
    assert read(moving, "west.orders").unread_at_most == behind + at_most
    assert read(PLAN, "orders").unread_at_most == 0


def test_what_is_read_again_by_topic_comes_to_what_is_predicted_of_the_consumer() -> None:
    """The same figure, taken apart."""
    for name in GROUPS:
        row = PLAN.predicted.reread[name]
        again = [one.reread_at_most for one in stated(PLAN, name).reads]
        assert None not in again
        assert sum(filter(None, again)) == row["at_most"]


def test_the_tail_comes_late_and_out_of_order_but_not_where_names_are_the_same() -> None:
    """It arrives behind what producers write in another topic; a fork of the same topic does not arrive."""
    late = PLAN.predicted.late["orders"]["at_most"]
    assert late == PLAN.predicted.loss["orders"]["at_most"] > 0
    row = read(PLAN, "west.orders")
    assert (row.out_of_order_at_most, row.reread_if_source_returns, row.newer_in) == (late, late, "orders")
    mirrors = tuple(replace(mirror, policy="identity") for mirror in topology().replication)
    same = plan(replace(topology(), replication=mirrors))
    assert {one["at_most"] for one in same.predicted.late.values()} == {0}
    assert [one.topic for one in stated(same).reads] == list(
        next(c.topics for c in topology().consumers if c.name == GROUP)
    )
    assert {one.out_of_order_at_most for one in stated(same).reads} == {0}


def test_what_is_not_known_is_none_with_a_reason() -> None:
    """Never 0: without samples, without the map, without logs, without the ensemble."""
    for name in ("samples", "offset_map", "log_ends"):
        row = read(plan(**{name: absent("it hangs")}), "west.orders")
        assert (row.unread_now, row.unread_at_most, row.reread_at_most) == (None, None, None), name
        assert "where it stands in orders at west is not known" in row.reason
    alone = read(plan(coordination=absent("no ensemble")), "orders")
    assert alone.unread_at_most is None
    assert "whether anybody writes orders at east is not known" in alone.reason


def test_a_plan_is_read_back_and_one_of_before_has_none_of_it() -> None:
    """JSON there and back; keys that an earlier version did not write are empty."""
    assert plan_from_json(to_json(PLAN)) == PLAN
    data = to_json(PLAN)
    del data["applications"], data["predicted"]["late"]
    old = plan_from_json(data)
    assert (old.applications, old.predicted.late) == ((), {})


def test_a_partition_without_a_log_makes_the_topic_unknown() -> None:
    """A sum over some of its partitions would be too small."""
    logs: dict[Any, LogEnd] = dict(of(observation(), "log_ends").value)
    gone = next(tp for tp in logs if tp.topic == "west.orders")
    del logs[gone]
    assert read(plan(log_ends=Part("east", NOW_S, logs)), "west.orders").unread_now is None
