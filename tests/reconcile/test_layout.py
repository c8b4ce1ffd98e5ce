"""From file and observation to a plan: what differs, why, and what mends it."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from orchestrator.cli.reconcile_view import render_reconcile_plan
from orchestrator.estate.desired import desired_estate
from orchestrator.estate.observed import ObservedConnector, ObservedTopic
from orchestrator.ports.part import Part
from orchestrator.reconcile.applied import applied_now
from orchestrator.reconcile.difference import Difference
from orchestrator.reconcile.planning import changes_of, plan_reconcile, record_of
from orchestrator.reconcile.record import RecordApplied
from orchestrator.runs.coordination_state import CoordinationState, EarlierRun
from orchestrator.runs.plan import Plan, Step, plan_from_json, to_json
from orchestrator.runs.primaries import Primary
from orchestrator.runs.word import WordWanted
from orchestrator.topology.loading import load_topology
from orchestrator.topology.model import InternalTopic, Topic, Topology
from orchestrator.topology.spark import Sink, SparkQuery
from orchestrator.values import Acl, TopicPartition
from tests.reconcile.estates import (
    NOW_S,
    as_described,
    coordinated,
    empty,
    planned,
    told,
    with_cluster,
    with_config,
    with_topic,
)
from tests.reconcile.layouts import active_active, aggregation, stretched

EXAMPLE = Path(__file__).parents[2] / "topologies" / "active-passive.yaml"
PAYMENTS = load_topology(EXAMPLE)
LAYOUTS = [PAYMENTS, active_active(), aggregation()]


def changed(topology: Topology, name: str, **changes: Any) -> Topology:
    """The file with one topic described otherwise."""
    return replace(
        topology,
        topics=tuple(replace(t, **changes) if t.name == name else t for t in topology.topics),
    )


def orders(**more: Any) -> Topic:
    given = {"name": "orders", "cluster": "main", "partitions": 4, "replicas": 4, "min_insync_replicas": 3}
    return Topic(**{**given, **more})


def mending(plan: Plan) -> tuple[Step, ...]:
    """The steps that change something; what was applied is remembered at the end of each plan."""
    return tuple(step for step in plan.steps if step.action != RecordApplied.NAME)


def steps(plan: Plan, action: str) -> list[dict[str, Any]]:
    """Arguments of the steps with this action."""
    return [dict(step.arguments) for step in plan.steps if step.action == action]


@pytest.mark.parametrize("topology", LAYOUTS, ids=lambda topology: topology.layout)
def test_an_estate_as_described_needs_nothing(topology: Topology) -> None:
    """No difference, no step, every gate open."""
    plan = planned(topology, as_described(topology))
    assert (plan.facts["differences"], mending(plan), plan.is_allowed) == ([], (), True)


@pytest.mark.parametrize("topology", LAYOUTS, ids=lambda topology: topology.layout)
def test_an_empty_estate_gets_everything(topology: Topology) -> None:
    """Topics and rules first, at each cluster on its own; connectors once both their sides are ready."""
    plan = planned(topology, empty(topology))
    assert plan.is_allowed
    assert {d["cause"] for d in plan.facts["differences"]} == {"change"}
    assert plan_from_json(to_json(plan)) == plan
    graph = plan.graph()
    for step in plan.steps:
        if step.action == "create-connectors":
            before = {plan.step(needed).action for needed in step.depends_on}
            assert "create-topics" in before
            assert {plan.step(n).arguments["cluster"] for n in step.depends_on} == {
                m.source for m in topology.replication if m.target == step.arguments["cluster"]
            } | {step.arguments["cluster"]}
        if step.action == "create-topics":
            assert list(graph.predecessors(step.id)) == []


def test_what_was_applied_is_remembered_once() -> None:
    """The first apply on a finished estate writes the record; after that there is nothing to do."""
    estate = as_described(PAYMENTS)
    first = planned(PAYMENTS, estate)
    assert [step.action for step in first.steps] == [RecordApplied.NAME]
    assert changes_of(first) == 0
    again = planned(PAYMENTS, estate, PAYMENTS)
    assert (again.steps, again.facts["done_by"]) == ((), "run-0")


def test_a_topic_made_anew_is_told_and_noted() -> None:
    """It has the same name, and another id than the one that was applied."""
    estate = with_topic(as_described(PAYMENTS), "west", "orders", lambda t: replace(t, topic_id="new"))
    plan = planned(PAYMENTS, estate, PAYMENTS)
    (difference,) = plan.facts["differences"]
    assert (difference["aspect"], difference["cause"], difference["found"]) == ("topic id", "drift", "new")
    assert [step.action for step in plan.steps] == [RecordApplied.NAME]


def test_plans_of_the_same_picture_are_the_same() -> None:
    """A plan file can be compared with what would be planned now."""
    assert planned(PAYMENTS, empty(PAYMENTS)).digest == planned(PAYMENTS, empty(PAYMENTS)).digest


def test_big_estates_are_made_in_batches() -> None:
    """Neither more topics nor more partitions than a controller takes at once, two requests at a time."""
    topology = stretched(*(orders(name=f"t{n}", partitions=20) for n in range(1200)))
    plan = planned(topology, empty(topology))
    batches = steps(plan, "create-topics")
    assert sum(len(batch["topics"]) for batch in batches) == 1200
    assert max(sum(t["partitions"] for t in batch["topics"].values()) for batch in batches) <= 5000
    assert [len(step.depends_on) for step in mending(plan)] == [0, 0, *([1] * (len(batches) - 2))]


def test_a_setting_that_somebody_changed_is_drift() -> None:
    """It was applied, the file is the same, and the cluster is not."""
    estate = with_config(as_described(PAYMENTS), "west", "orders", {"min.insync.replicas": "1"})
    plan = planned(PAYMENTS, estate, PAYMENTS)
    (difference,) = told(plan, cause="drift", mend="planned")
    assert (difference["subject"], difference["aspect"]) == ("topic orders", "config min.insync.replicas")
    assert (difference["wanted"], difference["found"]) == ("2", "1")
    assert steps(plan, "set-config") == [
        {
            "cluster": "west",
            "topics": {
                "orders": {
                    "set": {"min.insync.replicas": "2"},
                    "was": {"min.insync.replicas": "1"},
                    "irreversible": False,
                }
            },
        }
    ]


def test_a_setting_that_the_file_says_anew_is_change() -> None:
    """The cluster is as it was applied; copy, landing topic and mirror follow."""
    file = changed(PAYMENTS, "orders", config={"max.message.bytes": "2000000"})
    plan = planned(file, as_described(PAYMENTS), PAYMENTS)
    assert {(d["cluster"], d["subject"], d["cause"]) for d in plan.facts["differences"]} == {
        ("west", "topic orders", "change"),
        ("east", "topic orders", "change"),
        ("east", "topic west.orders", "change"),
        # The mirror sends on what the topics take now.
        ("east", "connector west-to-east-source", "change"),
    }


def test_both_at_once_is_told_as_both() -> None:
    """Somebody changed it, and the file says otherwise, too."""
    before = changed(PAYMENTS, "orders", config={"max.message.bytes": "1"})
    after = changed(PAYMENTS, "orders", config={"max.message.bytes": "3"})
    estate = with_config(as_described(before), "west", "orders", {"max.message.bytes": "2"})
    (difference,) = told(planned(after, estate, before), cluster="west")
    assert difference["cause"] == "drift"
    assert difference["reason"] == "somebody changed it from 1, and the file says otherwise now"


def test_without_a_record_everything_is_change() -> None:
    """Nobody knows who did it."""
    estate = with_config(as_described(PAYMENTS), "west", "orders", {"min.insync.replicas": None})
    (difference,) = planned(PAYMENTS, estate).facts["differences"]
    assert (difference["cause"], difference["reason"]) == ("change", "it is not set")


def test_settings_nobody_described_stay_unless_allowed() -> None:
    """They are told; `reset-config` takes them away."""
    estate = with_config(as_described(PAYMENTS), "east", "orders", {"max.message.bytes": "5"})
    plan = planned(PAYMENTS, estate, PAYMENTS)
    (difference,) = plan.facts["differences"]
    assert (difference["mend"], difference["needs"], mending(plan)) == ("not-allowed", "reset-config", ())
    allowed = planned(replace(PAYMENTS, allow=("reset-config",)), estate, PAYMENTS)
    (step,) = steps(allowed, "set-config")
    assert step["topics"]["orders"]["set"] == {"max.message.bytes": None}


def test_whoever_makes_a_topic_may_give_it_settings_of_its_own() -> None:
    """A watcher that was there before the first apply has made its topic with one that no file names."""
    file = replace(PAYMENTS, allow=("reset-config", "reduce-durability"))
    samples = PAYMENTS.replication[0].samples_topic
    estate = with_config(as_described(PAYMENTS), "east", samples, {"min.insync.replicas": "2"})
    assert planned(file, estate, PAYMENTS).facts["differences"] == []
    lost = with_config(as_described(PAYMENTS), "east", samples, {"cleanup.policy": "delete"})
    assert [d["subject"] for d in told(planned(file, lost, PAYMENTS), cause="drift")] == [f"topic {samples}"]


def test_a_setting_given_to_the_source_is_missed_at_the_mirror() -> None:
    """Source and mirror are compared as a pair, and so is what the mirror sends on."""
    estate = with_config(as_described(PAYMENTS), "west", "orders", {"max.message.bytes": "9000000"})
    pair, sends = told(planned(PAYMENTS, estate, PAYMENTS), cluster="east")
    assert pair["subject"] == "topic west.orders"
    assert "orders at west has 9000000, its mirror has not" in pair["reason"]
    assert "a larger record stops the mirror" in pair["reason"]
    assert (sends["subject"], sends["aspect"]) == (
        "connector west-to-east-source",
        "config producer.override.max.request.size",
    )
    assert (sends["wanted"], sends["found"], sends["mend"]) == ("9001024", "1049612", "kept")


def with_defaults(estate: Any, cluster: str, **settings: str) -> Any:
    """The brokers of a cluster have settings of their own for topics that have none."""
    return with_cluster(estate, cluster, topic_defaults={k.replace("_", "."): v for k, v in settings.items()})


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"retention_ms": "1000"}, "the copy deletes records sooner"),
        ({"cleanup_policy": "compact"}, "the copy is compacted"),
        ({"message_timestamp_type": "LogAppendTime"}, "replaces the time of each record"),
        (
            {"message_timestamp_after_max_ms": "3600000"},
            "a record with a time further ahead stops the mirror",
        ),
        ({"message_timestamp_before_max_ms": "1000"}, "a record with a time further back stops the mirror"),
        ({"max_message_bytes": "1000"}, "a larger record stops the mirror"),
    ],
)
def test_what_only_the_brokers_have_otherwise_is_told_at_the_copy(settings: Any, words: str) -> None:
    """A setting that no topic has of its own is in force all the same."""
    estate = with_defaults(as_described(PAYMENTS), "east", **settings)
    found = told(planned(PAYMENTS, estate, PAYMENTS), subject="topic west.orders")
    assert [(row["mend"], words in row["reason"]) for row in found] == [("kept", True)]


def test_a_copy_that_does_more_than_its_source_is_no_difference() -> None:
    """Larger records, a longer retention, any time: nothing is lost."""
    more = {"retention_ms": "-1", "max_message_bytes": "9000000"}
    estate = with_defaults(as_described(PAYMENTS), "east", **more)
    assert planned(PAYMENTS, estate, PAYMENTS).facts["differences"] == []


def test_larger_records_that_only_the_brokers_of_the_source_allow_are_told_of_the_mirror() -> None:
    """Its producer refuses them, though both topics take them."""
    estate = with_defaults(as_described(PAYMENTS), "east", max_message_bytes="9000000")
    estate = with_defaults(estate, "west", max_message_bytes="9000000")
    (sends,) = told(planned(PAYMENTS, estate, PAYMENTS))
    assert sends["subject"] == "connector west-to-east-source"
    assert "add max.message.bytes" in sends["reason"]


@pytest.mark.parametrize(
    ("key", "old", "new", "needs"),
    [
        ("retention.ms", "2000", "1000", "delete-records"),
        ("retention.ms", "-1", "1000", "delete-records"),
        ("retention.ms", None, "1000", "delete-records"),
        ("retention.ms", "1000", "2000", None),
        ("retention.ms", "1000", "-1", None),
        ("local.retention.ms", "-2", "1000", "delete-records"),
        ("cleanup.policy", "delete", "compact", "delete-records"),
        ("min.insync.replicas", "3", "2", "reduce-durability"),
        ("unclean.leader.election.enable", None, "true", "reduce-durability"),
        ("unclean.leader.election.enable", "false", " TRUE", "reduce-durability"),
        ("unclean.leader.election.enable", "true", "false", None),
        ("remote.storage.enable", "true", "false", "delete-records"),
        ("remote.storage.enable", None, "true", None),
        ("remote.log.delete.on.disable", None, "true", "delete-records"),
        ("remote.log.delete.on.disable", "true", "false", None),
    ],
)
def test_settings_that_destroy_must_be_allowed(
    key: str, old: str | None, new: str, needs: str | None
) -> None:
    """Each kind by its own name; what deletes records has its own mark."""
    file = changed(PAYMENTS, "orders", config={key: new})
    estate = with_config(as_described(file), "west", "orders", {key: old})
    (difference,) = planned(file, estate).facts["differences"]
    assert difference["needs"] == needs
    assert difference["mend"] == ("planned" if needs is None else "not-allowed")
    assert difference["irreversible"] == (needs == "delete-records")
    if needs is not None:
        plan = planned(replace(file, allow=(needs,)), estate)  # type: ignore[arg-type]
        assert [step.irreversible for step in mending(plan)] == [needs == "delete-records"]


@pytest.mark.parametrize(
    ("key", "default", "new", "needs"),
    [
        ("min.insync.replicas", "3", "2", "reduce-durability"),
        ("min.insync.replicas", None, "2", "reduce-durability"),
        ("min.insync.replicas", "1", "2", None),
        ("retention.ms", "2000", "1000", "delete-records"),
        ("retention.ms", "1000", "2000", None),
        ("unclean.leader.election.enable", "true", "false", None),
    ],
)
def test_what_is_in_force_without_a_setting_of_the_topics_own_is_not_lowered_unless_allowed(
    key: str, default: str | None, new: str, needs: str | None
) -> None:
    """The brokers' default protects as well as a setting does; one that is not known may be any."""
    file = changed(PAYMENTS, "orders", config={key: new} if key != "min.insync.replicas" else {})
    estate = with_config(as_described(file), "west", "orders", {key: None})
    estate = with_cluster(estate, "west", topic_defaults={key: default} if default else {})
    (difference,) = told(planned(file, estate), cluster="west")
    assert (difference["needs"], difference["mend"]) == (needs, "not-allowed" if needs else "planned")
    assert default is None or f"the brokers' default is {default}" in difference["reason"]


@pytest.mark.parametrize(
    ("key", "has", "default", "needs"),
    [
        ("unclean.leader.election.enable", "false", "true", "reduce-durability"),
        ("unclean.leader.election.enable", "false", None, "reduce-durability"),
        ("unclean.leader.election.enable", "false", "false", None),
        ("retention.ms", "1000", "2000", None),
        ("retention.ms", "2000", "1000", "delete-records"),
        ("retention.ms", "2000", None, "delete-records"),
        ("remote.storage.enable", "true", "false", "delete-records"),
    ],
)
def test_a_reset_is_judged_by_the_default_that_comes_into_force(
    key: str, has: str, default: str | None, needs: str | None
) -> None:
    """To reset is allowed by one word, to destroy by another."""
    estate = with_config(as_described(PAYMENTS), "west", "orders", {key: has})
    estate = with_cluster(estate, "west", topic_defaults={key: default} if default else {})
    plan = planned(replace(PAYMENTS, allow=("reset-config",)), estate)
    (difference,) = told(plan, cluster="west")
    assert difference["needs"] == (needs or "reset-config")
    assert difference["mend"] == ("not-allowed" if needs else "planned")
    assert difference["irreversible"] == (needs == "delete-records")


@pytest.mark.parametrize(
    ("key", "said", "described"),
    [
        ("cleanup.policy", "compact, delete", "compact,delete"),
        ("min.cleanable.dirty.ratio", "1", "1.0"),
        ("min.cleanable.dirty.ratio", "0.0005", "5.0E-4"),
        ("preallocate", "TRUE", "true"),
        ("retention.ms", "0604800000", "604800000"),
        ("compression.type", " zstd", "zstd"),
    ],
)
def test_what_kafka_describes_in_its_own_way_is_no_difference(key: str, said: str, described: str) -> None:
    """Kafka takes a text and describes what it has parsed; what somebody changed later is drift all the same."""
    file = changed(PAYMENTS, "orders", config={key: said})
    estate = as_described(file)
    for cluster, name in (("west", "orders"), ("east", "orders"), ("east", "west.orders")):
        estate = with_config(estate, cluster, name, {key: described})
    assert planned(file, estate).facts["differences"] == []
    anew = changed(PAYMENTS, "orders", config={})
    assert {d["cause"] for d in told(planned(anew, estate, file))} == {"change"}


def test_the_order_in_a_list_is_no_difference() -> None:
    """Kafka keeps `compact,delete` as it was written."""
    file = changed(PAYMENTS, "orders", config={"cleanup.policy": "compact,delete"})
    estate = with_config(as_described(file), "west", "orders", {"cleanup.policy": "delete, compact"})
    assert planned(file, estate).facts["differences"] == []


def test_partitions_of_the_copies_come_first() -> None:
    """The mirror always has where to write."""
    file = changed(PAYMENTS, "orders", partitions=8)
    plan = planned(file, as_described(PAYMENTS), PAYMENTS)
    copies, source = [step for step in plan.steps if step.action == "add-partitions"]
    assert set(copies.arguments["topics"]) == {"orders", "west.orders"}
    assert source.arguments["topics"] == {"orders": {"total": 8, "was": 4}}
    assert copies.id in source.depends_on
    assert copies.irreversible
    assert {d["irreversible"] for d in plan.facts["differences"]} == {True}


def test_sites_that_mirror_each_other_wait_in_no_circle() -> None:
    """Each is the other's source."""
    topology = active_active()
    file = replace(topology, topics=tuple(replace(t, partitions=12) for t in topology.topics))
    plan = planned(file, as_described(topology), topology)
    assert len(mending(plan)) == 4
    assert len(plan.in_order()) == 5


def test_partitions_added_at_the_source_are_followed() -> None:
    """Nothing takes them away again, so the copies get them; the file is to be corrected."""

    def two_more(topic: ObservedTopic) -> ObservedTopic:
        more = topic.replicas[:2]
        return replace(topic, replicas=topic.replicas + more, isr=topic.isr + more,
                       leaders=(*topic.leaders, 1, 1))  # fmt: skip

    estate = with_topic(as_described(PAYMENTS), "west", "orders", two_more)
    plan = planned(PAYMENTS, estate, PAYMENTS)
    (kept,) = told(plan, cluster="west")
    assert (kept["mend"], kept["cause"]) == ("kept", "drift")
    assert "write partitions: 6 in the file" in kept["reason"]
    assert {d["wanted"] for d in told(plan, cluster="east", aspect="partitions")} == {"6"}
    assert plan.is_allowed


def test_fewer_partitions_are_refused_with_the_reason() -> None:
    """Kafka has no way to do that."""
    file = changed(PAYMENTS, "orders", partitions=2)
    plan = planned(file, as_described(PAYMENTS), PAYMENTS)
    (gate,) = [gate for gate in plan.gates if gate.outcome != "ok"]
    assert gate.id == "possible"
    assert "topic orders at west: partitions 4, the file says 2" in gate.reason
    assert "Kafka cannot remove a partition" in gate.hint


def test_more_replicas_are_a_move_of_data() -> None:
    """As large as it is known to be; min.insync.replicas only after it."""
    before = stretched(orders(replicas=2, min_insync_replicas=1))
    file = stretched(orders(replicas=4, min_insync_replicas=3))
    sizes = {"main": {TopicPartition("orders", number): 1_000_000 for number in range(4)}}
    plan = plan_reconcile(file, as_described(before), coordination=coordinated(), sizes=sizes)
    move, config = mending(plan)
    assert (move.action, config.action) == ("move-replicas", "set-config")
    assert move.arguments["copied_bytes"] == 8_000_000
    assert "8 MB" in move.title
    assert config.depends_on == (move.id,)
    moved = move.arguments["topics"]["orders"]["partitions"]["0"]
    assert moved["replicas"][:2] == moved["was"]
    assert sorted(moved["replicas"]) == [1, 2, 3, 4]
    unknown = planned(file, as_described(before)).steps[0]
    assert unknown.arguments["copied_bytes"] is None
    assert "an unknown amount of data" in unknown.title


def test_fewer_replicas_must_be_allowed() -> None:
    """And min.insync.replicas goes down before them."""
    before = stretched(orders(replicas=4, min_insync_replicas=3))
    file = stretched(orders(replicas=2, min_insync_replicas=1))
    plan = planned(file, as_described(before), before)
    assert {d["needs"] for d in plan.facts["differences"]} == {"reduce-durability"}
    assert mending(plan) == ()
    config, move = mending(planned(replace(file, allow=("reduce-durability",)), as_described(before)))
    assert (config.action, move.action) == ("set-config", "move-replicas")
    assert move.depends_on == (config.id,)


def test_a_lopsided_topic_is_moved() -> None:
    """Kafka's own spread is checked, and mended where somebody has spoilt it."""
    topology = stretched(orders(replicas=2, min_insync_replicas=1))

    def spoilt(topic: ObservedTopic) -> ObservedTopic:
        return replace(topic, replicas=((1, 2), *topic.replicas[1:]))

    estate = with_topic(as_described(topology), "main", "orders", spoilt)
    plan = planned(topology, estate, topology)
    (difference,) = plan.facts["differences"]
    assert (difference["cause"], difference["found"]) == ("drift", "2 replicas (2 in dc1)")
    (move,) = steps(plan, "move-replicas")
    assert move["topics"]["orders"]["partitions"] == {"0": {"replicas": [1, 3], "was": [1, 2]}}


RACKS = load_topology(Path(__file__).parents[1] / "topology" / "racks.yaml")


def test_replicas_that_share_a_rack_are_moved() -> None:
    """Kafka spread them before there were racks, or somebody has moved them since."""

    def spoilt(topic: ObservedTopic) -> ObservedTopic:
        return replace(topic, replicas=((1, 2, 3), *topic.replicas[1:]))

    whole = as_described(RACKS)
    assert planned(RACKS, whole).facts["differences"] == []
    plan = planned(RACKS, with_topic(whole, "main", "orders", spoilt))
    (difference,) = plan.facts["differences"]
    assert difference["wanted"] == "3 replicas (evenly over rack-a, rack-b, rack-c)"
    assert difference["found"] == "3 replicas (2 in rack-a, 1 in rack-b)"
    (move,) = steps(plan, "move-replicas")
    assert move["topics"]["orders"]["partitions"]["0"]["was"] == [1, 2, 3]
    assert {(number - 1) // 2 for number in move["topics"]["orders"]["partitions"]["0"]["replicas"]} == {
        0,
        1,
        2,
    }


def test_brokers_that_tell_no_rack_of_the_file_keep_replicas_from_being_placed() -> None:
    """Kafka would spread over what they tell."""
    estate = empty(RACKS)
    brokers = tuple(replace(broker, rack="north") for broker in estate.clusters["main"].brokers)
    plan = planned(RACKS, with_cluster(estate, "main", brokers=brokers))
    (gate,) = [gate for gate in plan.gates if gate.id == "brokers-alive"]
    assert gate.outcome == "refused"
    assert "main has 0 of 2 brokers in rack-a" in gate.reason
    assert "main: broker 1 has rack north" in gate.reason


def test_numbers_for_each_site_are_assigned() -> None:
    """Kafka's rack-aware spread would make two and one of either."""
    topology = stretched(orders(replicas=3, min_insync_replicas=2, replicas_per_dc={"dc1": 1, "dc2": 2}))
    (batch,) = steps(planned(topology, empty(topology)), "create-topics")
    for replicas in batch["topics"]["orders"]["assignment"]:
        assert [broker > 2 for broker in sorted(replicas)] == [False, True, True]
    more = changed(topology, "orders", partitions=6)
    (added,) = steps(planned(more, as_described(topology)), "add-partitions")
    assert len(added["topics"]["orders"]["assignment"]) == 2


def test_other_places_that_the_file_says_anew_are_change() -> None:
    """The replicas lie where the last apply had put them; moved by somebody they are drift."""
    before = stretched(orders(replicas_per_dc={"dc1": 2, "dc2": 2}))
    after = stretched(orders(replicas_per_dc={"dc1": 1, "dc2": 3}))
    (difference,) = told(planned(after, as_described(before), before), aspect="replicas")
    assert difference["cause"] == "change"
    (difference,) = told(planned(before, as_described(after), before), aspect="replicas")
    assert difference["cause"] == "drift"


def test_internal_topics_are_compared_once_they_are_there() -> None:
    """Kafka makes them; their durability is the file's business, other settings are not."""
    cluster = replace(
        PAYMENTS.clusters["west"],
        internal_topics={"__consumer_offsets": InternalTopic(replicas=3, min_insync_replicas=2)},
    )
    file = replace(PAYMENTS, clusters={**PAYMENTS.clusters, "west": cluster})
    without = with_topic(as_described(file), "west", "__consumer_offsets", lambda _: None)
    assert planned(file, without).facts["differences"] == []
    estate = with_config(
        as_described(file), "west", "__consumer_offsets",
        {"min.insync.replicas": "1", "cleanup.policy": "compact"},
    )  # fmt: skip
    (difference,) = planned(file, estate).facts["differences"]
    assert difference["aspect"] == "config min.insync.replicas"


def test_a_deleted_topic_is_drift_and_made_again() -> None:
    """With what it is for."""
    estate = with_topic(as_described(PAYMENTS), "east", "west.orders", lambda _: None)
    (difference,) = planned(PAYMENTS, estate, PAYMENTS).facts["differences"]
    assert (difference["cause"], difference["mend"]) == ("drift", "planned")
    assert difference["reason"].startswith("it was deleted; the copy of orders of west. The mirror goes on")
    assert "copies no earlier record again: docs/copies.md" in difference["reason"]


def test_a_copy_that_was_made_anew_by_the_mirror_is_told_as_one_that_lacks_its_past() -> None:
    """Somebody deleted it, MirrorMaker made it again: only its id tells."""
    known = planned(PAYMENTS, as_described(PAYMENTS), PAYMENTS).facts["differences"]
    assert known == []
    estate = with_topic(
        as_described(PAYMENTS), "east", "west.orders", lambda topic: replace(topic, topic_id="another")
    )
    (difference,) = planned(PAYMENTS, estate, PAYMENTS).facts["differences"]
    assert "created again, its records are gone" in difference["reason"]
    assert "copies no earlier record again: docs/copies.md" in difference["reason"]


def test_topics_that_left_the_file_stay_unless_allowed() -> None:
    """Only those that the file had; others are counted, and nobody's business."""
    file = replace(
        PAYMENTS,
        topics=PAYMENTS.topics[:1],
        replication=(replace(PAYMENTS.replication[0], topics=("orders",)),),
    )
    plan = planned(file, as_described(PAYMENTS), PAYMENTS)
    left = told(plan, aspect="existence")
    assert {(d["cluster"], d["subject"]) for d in left} == {
        ("west", "topic payments"),
        ("east", "topic payments"),
        ("east", "topic west.payments"),
    }
    assert {(d["mend"], d["irreversible"]) for d in left} == {("not-allowed", True)}
    assert plan.facts["ignored"]["west"]["topics"] == 1
    assert told(planned(file, as_described(PAYMENTS)), aspect="existence") == []
    allowed = planned(replace(file, allow=("delete-topics",)), as_described(PAYMENTS), PAYMENTS)
    deleted = [step for step in allowed.steps if step.action == "delete-topics"]
    assert [step.irreversible for step in deleted] == [True, True]


def test_workers_outlive_the_last_mirror_into_their_cluster() -> None:
    """Their topics and rights stay: connectors of others rest on them, and the mirror may come back."""
    before = active_active()
    everything = ("delete-topics", "delete-acls", "delete-connectors")
    file = replace(before, layout="active-passive", replication=before.replication[:1], allow=everything)
    plan = planned(file, as_described(before), before)
    deleted = {name for step in steps(plan, "delete-topics") for name in step["topics"]}
    assert "east.orders" in deleted
    assert not {name for name in deleted if name.startswith("connect-")}
    withdrawn = {tuple(rule) for step in steps(plan, "delete-acls") for rule in step["rules"]}
    assert ("User:mirror", "WRITE", "ALLOW", "TOPIC", "east.orders", "LITERAL", "*") in withdrawn
    assert not {rule for rule in withdrawn if rule[3] == "GROUP" or rule[4].startswith("connect-")}
    assert told(plan, mend="kept") == told(plan, mend="not-allowed") == []


def test_what_a_mirror_used_goes_after_the_mirror_wherever_that_runs() -> None:
    """Its connectors run at the target; rules and topics of its source wait for their end, too."""
    before = active_active()
    everything = ("delete-topics", "delete-acls", "delete-connectors")
    file = replace(before, layout="active-passive", replication=before.replication[:1], allow=everything)
    plan = planned(file, as_described(before), before)
    at_source = [step for step in plan.steps if step.id in ("delete-acls-east-1", "delete-topics-east-1")]
    assert len(at_source) == 2
    assert all("delete-connectors-west-1" in step.depends_on for step in at_source)


def test_kafkas_own_topics_are_never_deleted() -> None:
    """A file that says no more how durable they shall be does not want to be rid of them."""
    internal = {"__consumer_offsets": InternalTopic(replicas=3, min_insync_replicas=2)}
    west = replace(PAYMENTS.clusters["west"], internal_topics=internal)
    before = replace(PAYMENTS, clusters={**PAYMENTS.clusters, "west": west})
    file = replace(PAYMENTS, allow=("delete-topics",))
    assert mending(planned(file, as_described(before), before)) == ()


def test_somebody_elses_topic_of_the_same_name_is_not_deleted() -> None:
    """It has another id than the one that was applied."""
    file = replace(PAYMENTS, topics=PAYMENTS.topics[:1], replication=(), allow=("delete-topics",))
    estate = with_topic(
        as_described(PAYMENTS), "west", "payments", lambda topic: replace(topic, topic_id="other")
    )
    assert not told(planned(file, estate, PAYMENTS), cluster="west", subject="topic payments")


def test_missing_rules_are_added_and_further_ones_told() -> None:
    """A DENY is never taken away here: it may be a fence."""
    estate = as_described(PAYMENTS)
    some = estate.clusters["west"].acls or frozenset()
    write = next(rule for rule in some if rule[:2] == ("User:checkout", "WRITE"))
    deny = Acl("User:checkout", "WRITE", "DENY", "TOPIC", "*")
    extra = Acl("User:billing", "WRITE", "ALLOW", "TOPIC", "orders")
    other = Acl("User:someone", "WRITE", "ALLOW", "TOPIC", "orders")
    estate = with_cluster(estate, "west", acls=(some - {write}) | {deny, extra, other})
    plan = planned(PAYMENTS, estate, PAYMENTS)
    assert [(d["mend"], d["cause"]) for d in told(plan, subject="rules of User:checkout")] == [
        ("planned", "drift"),
        ("kept", "drift"),
    ]
    (left,) = told(plan, subject="rules of User:billing")
    assert (left["mend"], left["cause"], left["needs"]) == ("kept", "drift", None)
    assert "no apply of this file created it" in left["reason"]
    assert plan.facts["ignored"]["west"]["rules"] == 1


def _without(topology: Topology, consumer: str, **more: Any) -> Topology:
    """The consumer reads only `orders`."""
    return replace(
        topology,
        consumers=tuple(
            replace(c, topics=("orders",)) if c.name == consumer else c for c in topology.consumers
        ),
        **more,
    )


def test_only_rules_that_an_apply_has_made_are_withdrawn() -> None:
    """Others may be those of another file with the same principal, or of a person."""
    consumer = replace(PAYMENTS.consumers[0], topics=("orders", "payments"), pattern=None)
    before = replace(PAYMENTS, consumers=(consumer,))
    others = {
        Acl(str(consumer.principal), "WRITE", "ALLOW", "TRANSACTIONAL_ID", "tx-1"),
        Acl(str(consumer.principal), "READ", "ALLOW", "TOPIC", "another"),
        Acl(str(consumer.principal), "CREATE", "ALLOW", "CLUSTER", "kafka-cluster"),
    }
    estate = as_described(before)
    rules = estate.clusters["west"].acls or frozenset()
    estate = with_cluster(estate, "west", acls=rules | others)
    after = _without(before, consumer.name)
    plan = planned(after, estate, before)
    assert {d["mend"] for d in told(plan, aspect="topic payments")} == {"not-allowed"}
    allowed = planned(replace(after, allow=("delete-acls",)), estate, before)
    withdrawn = {tuple(rule) for step in steps(allowed, "delete-acls") for rule in step["rules"]}
    assert withdrawn
    assert not withdrawn & {tuple(rule) for rule in others}
    assert {d["mend"] for d in told(allowed, cause="drift")} == {"kept"}
    (tx,) = told(allowed, aspect="transactional_id tx-1")
    assert "`transactional_ids` of a producer" in tx["reason"]


@pytest.mark.parametrize("allowed", [("delete-acls",), ("delete-acls", "delete-connectors")])
def test_rules_are_withdrawn_after_those_that_replace_them(allowed: Any) -> None:
    """A group that becomes a query has another rule for its name; a mirror uses its rules until it is changed."""
    group = next(c for c in PAYMENTS.consumers if c.kind == "group")
    query = SparkQuery(
        name=group.name,
        cluster=group.cluster,
        topics=group.topics,
        kind="spark",
        checkpoint="/c",
        sink=Sink(kind="files", remembers="batch-id"),
        principal="User:q",
    )
    before = replace(PAYMENTS, consumers=(replace(group, principal="User:q"),))
    fewer = replace(PAYMENTS.replication[0], topics=("orders",))
    after = replace(PAYMENTS, consumers=(query,), replication=(fewer,), allow=allowed)
    plan = planned(after, as_described(before), before)
    by_id = {step.id: step for step in plan.steps}
    made = {step.id for step in plan.steps if step.action in ("create-acls", "configure-connectors")}
    assert {by_id[step].action for step in made} == {"create-acls", "configure-connectors"}
    withdrawing = [step for step in plan.steps if step.action == "delete-acls"]
    assert {step.arguments["cluster"] for step in withdrawing} == {"west", "east"}
    for step in withdrawing:
        assert made <= set(step.depends_on)


def test_a_producer_may_write_in_transactions_wherever_it_may_work() -> None:
    """Without the right on its id it could not start after a failover."""
    producer = replace(PAYMENTS.producers[0], transactional_ids=("checkout-1", "checkout-batch-*"))
    file = replace(PAYMENTS, producers=(producer, *PAYMENTS.producers[1:]))
    for cluster in ("west", "east"):
        rules = desired_estate(file).clusters[cluster].acls
        assert {
            (rule.resource_name, rule.pattern, rule.operation)
            for rule in rules
            if rule.resource_type == "TRANSACTIONAL_ID"
        } == {
            ("checkout-1", "LITERAL", "WRITE"),
            ("checkout-1", "LITERAL", "DESCRIBE"),
            ("checkout-batch-", "PREFIXED", "WRITE"),
            ("checkout-batch-", "PREFIXED", "DESCRIBE"),
        }
    every = replace(file, producers=(replace(producer, transactional_ids=("*",)),))
    names = {(r.resource_name, r.pattern) for r in desired_estate(every).clusters["east"].acls}
    assert ("*", "LITERAL") in names


def test_a_cluster_without_an_authorizer_takes_no_rules() -> None:
    """It has none and needs none."""
    estate = with_cluster(as_described(PAYMENTS), "west", acls=frozenset(), has_authorizer=False)
    plan = planned(PAYMENTS, estate)
    assert (plan.facts["differences"], plan.is_allowed) == ([], True)


def _connector(estate: Any, name: str, **changes: Any) -> Any:
    connectors = dict(estate.clusters["east"].connectors)
    connectors[name] = replace(connectors[name], **changes)
    return with_cluster(estate, "east", connectors=connectors)


def test_connectors_are_what_the_file_says_and_run() -> None:
    """Set up anew where a property differs, resumed where halted, restarted where failed."""
    estate = as_described(PAYMENTS)
    source = estate.clusters["east"].connectors["west-to-east-source"]  # type: ignore[index]
    estate = _connector(estate, source.name, config={**source.config, "offset.lag.max": "0"}, state="PAUSED")
    estate = _connector(estate, "west-to-east-checkpoint", tasks=("FAILED",))
    plan = planned(PAYMENTS, estate, PAYMENTS)
    assert [d["aspect"] for d in told(plan, subject="connector west-to-east-source")] == [
        "config offset.lag.max",
        "state",
    ]
    by_action = {step.action: step for step in plan.steps}
    assert set(by_action) == {
        "configure-connectors",
        "resume-halted-connectors",
        "restart-connectors",
        RecordApplied.NAME,
    }
    assert by_action["configure-connectors"].id in by_action["resume-halted-connectors"].depends_on


def test_no_secret_of_a_connector_is_told() -> None:
    """Somebody may have written one there."""
    estate = as_described(PAYMENTS)
    source = estate.clusters["east"].connectors["west-to-east-source"]  # type: ignore[index]
    key = "source.cluster.sasl.jaas.config"
    estate = _connector(estate, source.name, config={**source.config, key: "password=hunter2"})
    assert "hunter2" not in str(to_json(planned(PAYMENTS, estate, PAYMENTS)))


def _moved(
    verb: str, outcome: str, source: str = "west", target: str = "east", at_s: float = 1.0
) -> EarlierRun:
    return EarlierRun(
        run_id=f"{verb}-{outcome}",
        verb=verb,
        source=source,
        target=target,
        started_at_s=at_s,
        outcome=outcome,
    )


def test_a_mirror_that_a_failover_has_ended_stays_as_it_is() -> None:
    """Its connectors are stopped on purpose, until a failback."""
    estate = _connector(as_described(PAYMENTS), "west-to-east-source", state="STOPPED", tasks=())
    over = planned(PAYMENTS, estate, coordination=coordinated(_moved("failover", "ok")))
    assert over.facts["differences"] == []
    assert "failover-ok" in over.facts["held"]["east"]["west"]
    back = coordinated(_moved("failover", "ok"), _moved("failback", "ok", "east", "west", 2.0))
    assert planned(PAYMENTS, estate, coordination=back).steps[0].action == "resume-halted-connectors"


def _primary(cluster: str) -> Part[CoordinationState]:
    """The estate record, once a failover of `orders` by run r-1, and perhaps a failback, are in it."""
    state = coordinated().value
    assert state is not None
    moved = {("west", "orders"): Primary(cluster, NOW_S, "r-1")}
    return Part("coordination", NOW_S, replace(state, primaries=moved))


def test_what_the_file_gives_up_holds_no_connector() -> None:
    """A topic that a failback could not bring back, for it had left the file, and a site that is given up."""
    record = coordinated(_moved("failover", "ok"), _moved("failback", "ok", "east", "west", 2.0)).value
    assert record is not None
    moved = {
        ("west", "orders"): Primary("west", 2.0, "r-2"),
        ("west", "retired"): Primary("east", 1.0, "r-1"),
    }
    known = Part("coordination", NOW_S, replace(record, primaries=moved))
    failed = _connector(as_described(PAYMENTS), "west-to-east-source", state="FAILED", tasks=("FAILED",))
    assert steps(planned(PAYMENTS, failed, PAYMENTS, coordination=known), "restart-connectors")
    there = tuple(replace(topic, cluster="east") for topic in PAYMENTS.topics)
    given_up = replace(PAYMENTS, topics=there, replication=(), allow=("delete-connectors",))
    estate = _connector(as_described(PAYMENTS), "west-to-east-source", state="STOPPED", tasks=())
    assert steps(planned(given_up, estate, PAYMENTS, coordination=_primary("east")), "delete-connectors")


def test_connectors_of_the_way_back_stay_when_their_mirror_leaves_the_file() -> None:
    """Whatever is allowed. They are remembered as this file's, so that they can be deleted after a failback."""
    estate = _connector(as_described(PAYMENTS), "west-to-east-source", state="STOPPED", tasks=())
    file = replace(PAYMENTS, replication=(), allow=("delete-connectors",))
    over = planned(file, estate, PAYMENTS, coordination=_primary("east"))
    assert steps(over, "delete-connectors") == []
    kept = [d for d in told(over, mend="kept") if d["subject"].startswith("connector ")]
    assert {d["subject"].removeprefix("connector ") for d in kept} == set(estate.clusters["east"].connectors)
    assert {d["reason"] for d in kept} == {"east has taken over from west by run r-1: a failback needs it"}
    before = applied_now(desired_estate(PAYMENTS), estate, "run-0")
    left = [Difference(**difference) for difference in over.facts["differences"]]
    remembered = record_of(file, estate, left, before).clusters["east"].connectors
    assert remembered == before.clusters["east"].connectors
    back = planned(file, estate, PAYMENTS, coordination=_primary("west"))
    (deleted,) = steps(back, "delete-connectors")
    assert set(deleted["connectors"]) == set(estate.clusters["east"].connectors)


_EVERYTHING = ("delete-topics", "delete-acls", "delete-connectors")


_AT_EAST = Primary("east", NOW_S, "r-1")


def _over(*topics: str, by: Primary = _AT_EAST) -> Part[CoordinationState]:
    """A failover of these topics of west is in the estate record."""
    state = coordinated().value
    assert state is not None
    moved = {("west", name): by for name in topics}
    return Part("coordination", NOW_S, replace(state, primaries=moved))


def _deleted(plan: Plan) -> set[str]:
    """Topics that the plan deletes, and rules that it withdraws, with their clusters."""
    topics = {f"{step['cluster']} {name}" for step in steps(plan, "delete-topics") for name in step["topics"]}
    return topics | {
        f"{step['cluster']} {' '.join(rule[:2])}"
        for step in steps(plan, "delete-acls")
        for rule in step["rules"]
    }


def test_what_a_run_denies_is_no_drift() -> None:
    """It is told with its run. The same rule made by somebody else, or one more, is drift as ever."""
    deny = Acl("User:checkout", "WRITE", "DENY", "TOPIC", "*")
    other = Acl("User:billing", "READ", "DENY", "TOPIC", "*")
    estate = as_described(PAYMENTS)
    there = with_cluster(estate, "west", acls=(estate.clusters["west"].acls or frozenset()) | {deny, other})
    state = coordinated().value
    assert state is not None
    known = Part(
        "coordination", NOW_S, replace(state, denials={"west": {deny: "r-1"}, "east": {deny: "r-1"}})
    )
    plan = planned(PAYMENTS, there, PAYMENTS, coordination=known)
    assert [d["subject"] for d in plan.facts["differences"]] == ["rules of User:billing"]
    assert plan.facts["denied"] == {"west": {"r-1": ["User:checkout"]}}
    assert len(planned(PAYMENTS, there, PAYMENTS).facts["differences"]) == 2


def test_what_a_held_mirror_needs_stays_when_it_leaves_the_file() -> None:
    """Copies, what applications write and read now, and their rights; a topic of it that left as well."""
    file = replace(PAYMENTS, topics=PAYMENTS.topics[:1], replication=(), allow=_EVERYTHING)
    over = planned(file, as_described(PAYMENTS), PAYMENTS, coordination=_over("orders", "payments"))
    assert _deleted(over) == set()
    kept = told(over, mend="kept")
    east = {d["subject"].removeprefix("topic ") for d in kept if d["cluster"] == "east"}
    assert {"orders", "west.orders", "payments", "west.payments", "dcctl-samples.west.internal"} <= east
    assert {"rules of User:checkout", "rules of User:billing"} <= east
    assert {d["subject"] for d in kept if d["cluster"] == "west"} >= {"topic payments"}
    assert {d["reason"] for d in kept if d["subject"].startswith("topic ")} == {
        "east has taken over from west by run r-1: a failback needs it"
    }
    left = [Difference(**difference) for difference in over.facts["differences"]]
    before = applied_now(desired_estate(PAYMENTS), as_described(PAYMENTS), "run-0")
    remembered = record_of(file, as_described(PAYMENTS), left, before).clusters["east"]
    assert {"orders", "west.orders"} <= remembered.topics.keys()
    at_home = Primary("west", NOW_S, "r-2")
    back = planned(
        file, as_described(PAYMENTS), PAYMENTS, coordination=_over("orders", "payments", by=at_home)
    )
    gone = {"east orders", "east west.orders", "west payments", "east User:checkout WRITE"}
    assert gone <= _deleted(back)


def test_a_topic_that_leaves_a_held_mirror_of_the_file_stays() -> None:
    """Its records of this side and of that one are what a failback brings together."""
    mirror = replace(PAYMENTS.replication[0], topics=("orders",))
    file = replace(PAYMENTS, topics=PAYMENTS.topics[:1], replication=(mirror,), allow=_EVERYTHING)
    over = coordinated(_moved("failover", "ok"))
    gone = {"east payments", "east west.payments", "west payments"}
    assert not gone & _deleted(planned(file, as_described(PAYMENTS), PAYMENTS, coordination=over))
    assert gone <= _deleted(planned(file, as_described(PAYMENTS), PAYMENTS))


def test_the_rules_of_a_held_mirror_stay_while_another_one_is_in_the_file() -> None:
    """Both run as the same principal."""
    both = active_active()
    file = replace(both, replication=both.replication[1:], allow=_EVERYTHING)
    mirrors = {f"east {both.clusters['east'].mirror_principal} WRITE"}
    assert mirrors <= _deleted(planned(file, as_described(both), both))
    over = planned(file, as_described(both), both, coordination=_over("orders"))
    assert not {found for found in _deleted(over) if found.startswith("east ")}


def test_an_open_move_along_a_mirror_that_has_left_the_file_goes_first() -> None:
    """The file as it was is needed to end it; later moves between other clusters end nothing of it."""
    file = replace(PAYMENTS, replication=())
    for outcome in ("incomplete", "unknown"):
        plan = planned(
            file, as_described(PAYMENTS), PAYMENTS, coordination=coordinated(_moved("failover", outcome))
        )
        (gate,) = [gate for gate in plan.gates if gate.outcome != "ok"]
        assert (gate.id, gate.outcome) == ("moves-ended", "refused")
        run = f"failover-{outcome}"
        assert gate.hint == (
            f"dcctl resume {run} OLD-FILE, or dcctl abort {run} OLD-FILE, with --leave STEP for what may stand; "
            f"OLD-FILE: the file as it was when {run} began, for this one has no mirror between west and east"
        )
    ended = coordinated(_moved("failover", "incomplete"), _moved("failback", "ok", "east", "west", 2.0))
    assert not _closed(planned(file, as_described(PAYMENTS), PAYMENTS, coordination=ended))


def test_a_move_that_stopped_on_the_way_goes_first() -> None:
    """What it has changed must not be changed back under it."""
    plan = planned(
        PAYMENTS, as_described(PAYMENTS), coordination=coordinated(_moved("failover", "incomplete"))
    )
    (gate,) = [gate for gate in plan.gates if gate.outcome != "ok"]
    run = "failover-incomplete"
    assert (gate.id, gate.hint) == ("moves-ended", f"dcctl resume {run} FILE, or dcctl abort {run} FILE")
    word = WordWanted("producers-write", "--attest-writing", "checkout", "PRODUCER", "it was seen to write")
    unseen = replace(_moved("failover", "incomplete"), looks=("producers-write",), waits_for=(word,))
    plan = planned(PAYMENTS, as_described(PAYMENTS), coordination=coordinated(unseen))
    (gate,) = [gate for gate in plan.gates if gate.outcome != "ok"]
    assert "dcctl resume failover-incomplete FILE --attest-writing checkout --reason TEXT" in gate.hint
    left = replace(_moved("failover", "incomplete"), let_stand=("start-producers",))
    assert not _closed(planned(PAYMENTS, as_described(PAYMENTS), coordination=coordinated(left)))


def _closed(plan: Plan) -> dict[str, str]:
    return {gate.id: gate.outcome for gate in plan.gates if gate.outcome != "ok"}


def test_what_was_not_seen_is_unknown() -> None:
    """Nothing is planned on it, and nothing is taken for missing."""
    estate = as_described(PAYMENTS)
    lost = with_cluster(
        estate, "west", problem="no broker answers", topics={}, brokers=(), acls=None, reassigning=None
    )
    plan = planned(PAYMENTS, lost)
    assert (_closed(plan), plan.facts["differences"]) == ({"clusters-known": "unknown"}, [])
    blind = with_cluster(estate, "east", connectors=None, unknown={"connectors": "no worker answers"})
    plan = planned(PAYMENTS, blind)
    assert _closed(plan) == {"clusters-known": "unknown"}
    assert "east: connectors: no worker answers" in next(
        gate.reason for gate in plan.gates if gate.id == "clusters-known"
    )
    no_lock: Part[Any] = Part("coordination", NOW_S, None, "no answer")
    plan = planned(PAYMENTS, estate, coordination=no_lock)
    closed = ("coordination", "not-held", "same-clusters", "moves-ended")
    assert _closed(plan) == dict.fromkeys(closed, "unknown")


def test_replicas_are_placed_only_where_all_brokers_are() -> None:
    """A broker that is missing would have none of them; without racks nobody knows where they lie."""
    topology = stretched(orders())
    estate = empty(topology)
    brokers = estate.clusters["main"].brokers
    assert _closed(planned(topology, with_cluster(estate, "main", brokers=brokers[1:]))) == {
        "brokers-alive": "refused"
    }
    no_rack = (replace(brokers[0], rack=None), *brokers[1:])
    assert _closed(planned(topology, with_cluster(estate, "main", brokers=no_rack))) == {
        "brokers-alive": "refused"
    }
    whole = as_described(topology)
    assert _closed(planned(topology, with_cluster(whole, "main", brokers=brokers[1:]))) == {}


def test_a_topic_that_is_being_moved_is_waited_for() -> None:
    """Its replicas are not what they will be."""
    topology = stretched(orders(replicas=2, min_insync_replicas=1))

    def spoilt(topic: ObservedTopic) -> ObservedTopic:
        return replace(topic, replicas=((1, 2), *topic.replicas[1:]))

    estate = with_topic(as_described(topology), "main", "orders", spoilt)
    moving = with_cluster(estate, "main", reassigning=frozenset({TopicPartition("orders", 1)}))
    assert _closed(planned(topology, moving)) == {"no-reassignment": "refused"}
    blind = with_cluster(estate, "main", reassigning=None)
    assert _closed(planned(topology, blind)) == {"clusters-known": "unknown"}


def test_a_connector_of_nobody_is_only_counted() -> None:
    """Other connectors may run on the same workers."""
    estate = as_described(PAYMENTS)
    other = ObservedConnector(name="s3-sink", config={}, state="FAILED")
    connectors = {**(estate.clusters["east"].connectors or {}), "s3-sink": other}
    plan = planned(PAYMENTS, with_cluster(estate, "east", connectors=connectors))
    assert plan.facts["differences"] == []
    assert plan.facts["ignored"]["east"]["connectors"] == 1


def _by_pattern() -> Topology:
    (mirror,) = PAYMENTS.replication
    return replace(PAYMENTS, replication=(replace(mirror, topics=("orders", "pay.*")),))


def test_a_topic_that_a_pattern_matches_and_the_file_has_not_is_drift() -> None:
    """The mirror copies it, and no move takes it along; internal ones are left out and named."""
    file = _by_pattern()
    estate = as_described(file)
    assert planned(file, estate, file).facts["differences"] == []
    west = dict(estate.clusters["west"].topics)
    for name in ("payroll", "pay-store-changelog", "refunds"):
        west[name] = replace(west["payments"], name=name)
    plan = planned(file, with_cluster(estate, "west", topics=west), file)
    (found,) = plan.facts["differences"]
    assert (found["cluster"], found["subject"], found["aspect"]) == (
        "east",
        "mirror west → east",
        "topic payroll",
    )
    assert (found["cause"], found["mend"]) == ("drift", "kept")
    assert "payroll at west is not in the file" in found["reason"]
    (told,) = plan.facts["patterns"]
    assert told["patterns"] == {"pay.*": ["payments"]}
    assert told["left_out"] == ["pay-store-changelog"]
    console = Console(file=StringIO(), width=200)
    render_reconcile_plan(plan, console)
    said = console.file.getvalue()  # type: ignore[attr-defined]
    assert "copies by the pattern pay.*: payments" in said
    assert "leaves out internal topics that its patterns match: pay-store-changelog" in said
    assert "mirror west → east topic payroll: matched by pay.*" in said
