"""Moves that no verb makes by itself yet: a part of a file, two ways at once, no mirror between, one cluster.

Each is what a runbook is given, and nothing else: what comes out is looked at as a plan, with its graph.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

from orchestrator.errors import DcctlError
from orchestrator.moves.beside import beside
from orchestrator.moves.failback_runbook import failback
from orchestrator.moves.failover_runbook import Degraded, Opening, failover
from orchestrator.moves.fence import Fenced, fenced
from orchestrator.moves.participants import Accepted
from orchestrator.moves.switchover_runbook import switchover
from orchestrator.moves.way import Item, Leg, Move, Place, Reach, Route, Way
from orchestrator.replication.mirror_ref import MirrorRef
from orchestrator.runs.runbook import Runbook
from orchestrator.topology.hooks import Hooks
from orchestrator.topology.loading import load_topology, parse_topology
from orchestrator.topology.model import Replication, Topology
from orchestrator.topology.spark import SparkQuery
from orchestrator.verbs.registration import EFFECTS, PARTICIPANTS

TOPOLOGIES = Path(__file__).parents[2] / "topologies"
OPENING = Opening(since_s=1_000.0, wait_s=0.1, look_s=0.1)

TWO = """
version: 1
name: two
layout: active-passive
datacenters: [west, east]
clusters:
  west:
    {kafka: 4.3.1, metadata: kraft, nodes: [{dc: west, brokers: 3, controllers: 3}]}
  east:
    {kafka: 4.3.1, metadata: kraft, nodes: [{dc: east, brokers: 3, controllers: 3, connect_workers: 1}]}
topics:
  - {name: orders, cluster: west, partitions: 2, replicas: 3, min_insync_replicas: 2}
  - {name: rates, cluster: west, partitions: 1, replicas: 3, min_insync_replicas: 2}
replication:
  - {source: west, target: east, topics: [orders, rates]}
producers:
  - {name: shop, cluster: west, topics: [orders, rates], principal: "User:shop"}
consumers:
  - {name: billing, cluster: west, kind: group, topics: [orders], principal: "User:billing"}
  - {name: fraud, cluster: east, kind: group, topics: [west.orders], principal: "User:fraud"}
  - {name: pricing, cluster: east, kind: group, topics: [west.orders, west.rates], principal: "User:pricing"}
  - name: revenue
    cluster: west
    kind: spark
    topics: [orders]
    checkpoint: /west/revenue
    standby_checkpoint: /east/revenue
    sink: {kind: files}
    principal: "User:revenue"
"""

WEST_EAST = MirrorRef(source="west", target="east")
EAST_WEST = MirrorRef(source="east", target="west")
WEST_SOUTH = MirrorRef(source="west", target="south")
AGAINST_THEN_SOUTH = (Leg(mirror=WEST_EAST, is_inverse=True), Leg(mirror=WEST_SOUTH))
HOOKS = Hooks(
    pre_switchover="before.yml",
    post_switchover="after.yml",
    pre_failover="before.yml",
    post_failover="after.yml",
)


def three() -> Topology:
    """West, mirrored to east and to south."""
    two = parse_topology(TWO)
    south = replace(two.clusters["east"], nodes=(replace(two.clusters["east"].nodes[0], dc="south"),))
    return replace(
        two,
        datacenters=("west", "east", "south"),
        clusters={**two.clusters, "south": south},
        replication=(*two.replication, Replication(source="west", target="south", topics=("orders",))),
        hooks=HOOKS,
    )


def both_active() -> Topology:
    return replace(load_topology(TOPOLOGIES / "active-active.yaml"), hooks=HOOKS)


def stretched() -> Topology:
    """One cluster over three sites, with a Spark query beside the groups."""
    file = load_topology(TOPOLOGIES / "stretched-3dc-kraft.yaml")
    group = file.consumers[0]
    query = SparkQuery(
        name="totals",
        cluster=group.cluster,
        kind="spark",
        topics=group.topics,
        checkpoint="/checkpoints/totals",
    )
    return replace(file, consumers=(*file.consumers, query), hooks=HOOKS)


class Planned:
    """Steps of a runbook: each of them an effect with arguments that fit, in an order without a circle."""

    def __init__(self, book: Runbook) -> None:
        self.book = book
        self.steps = {step.id: step for step in book.steps}
        assert len(self.steps) == len(book.steps)
        self.effects: Mapping[str, Any] = {step.id: EFFECTS.effect(step) for step in book.steps}
        self.graph = nx.DiGraph([(needed, step.id) for step in book.steps for needed in step.depends_on])
        self.graph.add_nodes_from(self.steps)
        assert nx.is_directed_acyclic_graph(self.graph)

    def before(self, step: str) -> set[str]:
        return set(nx.ancestors(self.graph, step))

    def of(self, action: str) -> list[str]:
        return [step.id for step in self.steps.values() if step.action == action]

    def clients(self, action: str) -> set[tuple[str, tuple[str, ...], tuple[str, ...]]]:
        found = (self.effects[step] for step in self.of(action))
        return {(effect.cluster, effect.clients, effect.sites) for effect in found}

    def mirrors(self) -> set[MirrorRef]:
        """Mirrors that anything is done to."""
        return {
            effect.mirror
            for step, effect in self.effects.items()
            if self.steps[step].action in {"record-mirror-end", "let-land", "await-drained", "drain-left"}
        }

    def in_section(self, name: str) -> set[str]:
        return {step.id for step in self.steps.values() if step.section == name}

    def told_to_hooks(self) -> list[tuple[str, str]]:
        found = (self.effects[step] for step in self.of("run-hook"))
        return [(e.variables["dcctl_source"], e.variables["dcctl_target"]) for e in found]

    def assert_nobody_starts_before(self, steps: Iterable[str]) -> None:
        starting = [*self.of("start-clients"), *self.of("let-in")]
        assert starting
        for step in starting:
            assert set(steps) <= self.before(step), step


def switched(move: Move, **accepted: Any) -> Planned:
    book = Runbook()
    switchover(book, move, PARTICIPANTS, Accepted(**accepted), timeout_s=60.0)
    return Planned(book)


def failed_over(move: Move, degraded: Mapping[str, Degraded] | None = None) -> Planned:
    book = Runbook()
    failover(book, move, PARTICIPANTS, OPENING, Accepted(), degraded=degraded or {})
    return Planned(book)


def names(rules: Iterable[Sequence[str]]) -> set[tuple[str, str]]:
    return {(rule[0], rule[1]) for rule in rules}


def group(
    topology: Topology, name: str, left: str, entered: str, *routes: Route, reach: Reach = "whole"
) -> Move:
    """One group alone."""
    who = (
        fenced(topology, c.cluster, principals=[str(c.principal)], with_consumers=True)
        for c in topology.consumers
        if c.name == name
    )
    way = Way(
        topology=topology,
        left=Place(left),
        entered=Place(entered),
        reach=reach,
        items=(Item(name=name, kind="group", routes=routes),),
        who=next(who),
    )
    return Move.of(topology, [way])


# One application of three


def test_a_group_alone_moves_and_its_mirror_runs_on() -> None:
    """No topic moves, nothing drains, no producer is touched; its positions go through the map as it is."""
    planned = switched(group(three(), "billing", "west", "east", (Leg(mirror=WEST_EAST),)), reread=7)
    assert planned.clients("stop-clients") == {("west", ("consumer-billing",), ())}
    assert planned.clients("start-clients") == {("east", ("consumer-billing",), ())}
    assert planned.mirrors() == set()
    for action in (
        "stop-connectors",
        "resume-connectors",
        "record-primary",
        "record-landing",
        "await-no-writes",
    ):
        assert planned.of(action) == []
    (translate,) = planned.of("translate-along")
    effect = planned.effects[translate]
    assert effect.routes == {"billing": ((Leg(mirror=WEST_EAST),),)}
    assert (effect.left, effect.entered, effect.ends, effect.accept_reread) == ("west", "east", (), 7)
    (write,) = planned.of("write-back")
    assert (planned.effects[write].cluster, planned.effects[write].synced_by) == ("east", (WEST_EAST,))
    denied = [rule for step in planned.of("deny") for rule in planned.effects[step].rules]
    assert names(denied) == {("User:billing", "READ")}
    assert [planned.effects[step].cluster for step in planned.of("deny")] == ["west"]
    assert [planned.effects[step].cluster for step in planned.of("lift-rules")] == ["east"]


def test_a_group_alone_starts_once_all_that_may_fail_is_done() -> None:
    """It is stopped, recorded, translated, saved, written, let in, started and seen, in this order."""
    planned = switched(group(three(), "billing", "west", "east", (Leg(mirror=WEST_EAST),)))
    order = [
        "pre-hook",
        "record-rules",
        "stop-consumers",
        "record-positions",
        "translate-positions-along",
        "save-offsets-along",
        "write-offsets-along",
        "thaw",
        "start-consumers",
        "consumers-progress-along",
        "post-hook",
    ]
    assert all(one in planned.before(other) for one, other in pairwise(order))
    planned.assert_nobody_starts_before(
        planned.in_section("hand over") | planned.in_section("read the access rules")
    )
    assert planned.told_to_hooks() == [("west", "east")] * 2
    seen = planned.effects["consumers-progress-along"]
    assert (seen.cluster, seen.groups, seen.written.step) == ("east", ("billing",), "write-offsets-along")


def test_a_query_alone_is_refused_by_name_and_route() -> None:
    """A checkpoint is relocated by the map of a mirror that stands; this one runs on."""
    topology, route = three(), (Leg(mirror=WEST_EAST),)
    item = Item(name="revenue", kind="spark", routes=(route,))
    way = Way(topology=topology, left=Place("west"), entered=Place("east"), reach="whole", items=(item,))
    with pytest.raises(
        DcctlError, match="query revenue: cannot go from west to east by the mirror west → east"
    ):
        switched(Move.of(topology, [way]))


# Two ways in opposite directions


def everybody(topology: Topology, mirror: MirrorRef, reach: Reach = "whole") -> Way:
    """Everybody of one active side. Who reads the other side's records as well reads its copies here."""
    there, back = (Leg(mirror=mirror),), (Leg(mirror=mirror.other_way, is_inverse=True),)
    copies = (Leg(mirror=MirrorRef(source=mirror.target, target=mirror.source), is_inverse=True),)
    kinds = {kind.name: kind for kind in PARTICIPANTS.kinds}
    items = [Item(name=name, kind="producer") for name in kinds["producer"].at(topology, mirror.source)]
    for consumer in topology.consumers_of(mirror.source):
        routes = (there, copies) if len(consumer.topics) > 1 else (there, back)
        items.append(Item(name=consumer.name, kind=consumer.kind, routes=routes))
    principals = [str(p.principal) for p in topology.producers_of(mirror.source)]
    principals += [str(c.principal) for c in topology.consumers_of(mirror.source)]
    who = fenced(topology, mirror.source, principals=principals, with_consumers=True)
    return Way(
        topology=topology,
        left=Place(mirror.source),
        entered=Place(mirror.target),
        reach=reach,
        items=tuple(items),
        topics=("orders",),
        home=mirror.source,
        drains=(mirror,),
        who=Fenced({}, {}, ()) if reach == "gone" else who,
    )


def swapped() -> Planned:
    topology = both_active()
    return switched(Move.of(topology, [everybody(topology, WEST_EAST), everybody(topology, EAST_WEST)]))


def test_two_active_sites_change_places_and_nobody_starts_before_both_are_prepared() -> None:
    """Whatever of either way may fail comes before the first application of either way starts."""
    planned = swapped()
    planned.assert_nobody_starts_before(
        planned.in_section("hand over") | planned.in_section("read the access rules")
    )
    assert planned.mirrors() == {WEST_EAST, EAST_WEST}
    assert planned.clients("stop-clients") == {
        ("west", ("producer-shop-west",), ()),
        ("east", ("producer-shop-east",), ()),
        ("west", ("consumer-packing-west", "consumer-reporting"), ()),
        ("east", ("consumer-packing-east",), ()),
    }
    assert planned.clients("start-clients") == {
        ("east", ("producer-shop-west",), ()),
        ("west", ("producer-shop-east",), ()),
        ("east", ("consumer-packing-west", "consumer-reporting"), ()),
        ("west", ("consumer-packing-east",), ()),
    }
    assert planned.told_to_hooks() == [("west,east", "east,west")] * 2


def test_each_side_is_recorded_primary_for_the_others_topics_and_denies_its_own() -> None:
    """Each way has its own topics, rules and clusters; nothing of the one is lifted by the other."""
    planned = swapped()
    primaries = {planned.effects[step] for step in planned.of("record-primary")}
    assert {(p.home, p.primary, p.topics) for p in primaries} == {
        ("west", "east", ("orders",)),
        ("east", "west", ("orders",)),
    }
    denied = {(planned.effects[s].cluster, *names_of(planned, s)) for s in planned.of("deny")}
    assert denied == {
        ("west", "User:shop-west"),
        ("east", "User:shop-east"),
        ("west", "User:packing-west", "User:reporting"),
        ("east", "User:packing-east"),
    }
    lifted = {(planned.effects[s].cluster, *names_of(planned, s)) for s in planned.of("lift-rules")}
    assert lifted == {
        ("east", "User:packing-west", "User:reporting", "User:shop-west"),
        ("west", "User:packing-east", "User:shop-east"),
    }


def names_of(planned: Planned, step: str) -> list[str]:
    return sorted({rule.principal for rule in planned.effects[step].rules})


def test_who_reads_both_sides_goes_on_in_both() -> None:
    """The other side's records, read as copies, are read there where they are written; the others as usual."""
    planned = swapped()
    (along,) = (planned.effects[step] for step in planned.of("translate-along"))
    assert along.routes == {
        "reporting": ((Leg(mirror=WEST_EAST),), (Leg(mirror=EAST_WEST, is_inverse=True),)),
    }
    assert [mirror for mirror, _ in along.ends] == [WEST_EAST]
    fed = [planned.effects[step] for step in planned.of("translate-positions")]
    assert {(effect.mirror, effect.groups) for effect in fed} == {
        (WEST_EAST, ("packing-west",)),
        (EAST_WEST, ("packing-east",)),
    }
    seen = [planned.effects[step] for step in planned.of("await-group-progress")]
    assert {
        (effect.cluster, effect.groups, planned.steps[effect.written.step].action) for effect in seen
    } == {
        ("east", ("packing-west",), "write-offsets"),
        ("east", ("reporting",), "write-back"),
        ("west", ("packing-east",), "write-offsets"),
    }


def test_one_of_two_active_sites_is_gone() -> None:
    """What worked there begins at the other; nobody touches who works there already, nor the other mirror."""
    topology = both_active()
    way = everybody(topology, WEST_EAST, reach="gone")
    items = tuple(item for item in way.items if item.name != "reporting")
    planned = failed_over(Move.of(topology, [replace(way, items=items)]))
    assert planned.mirrors() == {WEST_EAST}
    assert planned.clients("stop-clients") == set()
    assert planned.clients("start-clients") == {
        ("east", ("producer-shop-west",), ()),
        ("east", ("consumer-packing-west",), ()),
    }
    (primary,) = (planned.effects[step] for step in planned.of("record-primary-unless-back"))
    assert (primary.home, primary.primary, primary.unless_back) == ("west", "east", "west")
    # What a group read of the other site's copies is kept there, and so is the map against which it is led.
    (along,) = (
        effect
        for effect in failed_over(Move.of(topology, [way])).effects.values()
        if getattr(effect, "routes", {}).keys() == {"reporting"}
    )
    assert (along.is_left_gone, [mirror for mirror, _ in along.ends]) == (True, [WEST_EAST])


def test_two_places_left_at_once_one_gone_and_one_in_part() -> None:
    """The way of the one that is gone waits for the other's: until then all of both can be taken back."""
    topology = parse_topology((TOPOLOGIES / "aggregation.yaml").read_text())
    ways = [
        everybody(topology, MirrorRef(source="dc1", target="centre"), reach="gone"),
        everybody(topology, MirrorRef(source="dc2", target="centre"), reach="partial"),
    ]
    known = Degraded(is_fenced=True, is_kept_off=False, unread=())
    planned = failed_over(Move.of(topology, ways), {"dc2": known})
    (standing,) = (planned.effects[step] for step in planned.of("await-left-standing"))
    assert (standing.cluster, standing.home, standing.topics) == ("dc2", "dc2", ("orders",))
    may_fail = planned.in_section("drain what answers") | planned.in_section("stop the mirrors")
    beside = {step for step in may_fail if step.startswith("stop-group-sync")}
    planned.assert_nobody_starts_before(may_fail - beside)
    assert {s.on_failure for s in planned.steps.values() if s.id in may_fail} == {"undo"}


def test_ways_that_do_not_fit_each_other_are_refused() -> None:
    """Nobody goes to what is gone; and no way lifts what another one denies."""
    topology = both_active()
    there, back = everybody(topology, WEST_EAST, reach="gone"), everybody(topology, EAST_WEST)
    with pytest.raises(
        DcctlError,
        match="cluster west: is left as lost by this same move, so no application can be moved to it",
    ):
        Move.of(topology, [there, back])
    with pytest.raises(DcctlError, match="same principal: User:packing-east, User:shop-east"):
        Move.of(topology, [replace(everybody(topology, WEST_EAST), who=back.who), back])


# Between two clusters without a mirror


def between_copies() -> Planned:
    """One group from a copy to another."""
    return switched(group(three(), "fraud", "east", "south", AGAINST_THEN_SOUTH))


def test_a_group_goes_between_two_copies_by_a_route_of_two_maps() -> None:
    """Against the one mirror and along the other; both run on, and what is waited for is the second."""
    assert three().mirror("east", "south") is None
    planned = between_copies()
    assert planned.clients("stop-clients") == {("east", ("consumer-fraud",), ())}
    assert planned.clients("start-clients") == {("south", ("consumer-fraud",), ())}
    assert planned.mirrors() == set()
    (along,) = (planned.effects[step] for step in planned.of("translate-along"))
    assert along.routes == {"fraud": (AGAINST_THEN_SOUTH,)}
    assert (along.left, along.entered) == ("east", "south")
    recorded = planned.effects[along.recorded.step]
    assert (recorded.cluster, recorded.groups) == ("east", ("fraud",))
    (write,) = (planned.effects[step] for step in planned.of("write-back"))
    assert (write.cluster, write.synced_by) == ("south", (WEST_SOUTH,))
    (saved,) = (planned.effects[step] for step in planned.of("save-offsets"))
    assert (saved.cluster, saved.groups) == ("south", ("fraud",))
    planned.assert_nobody_starts_before(planned.in_section("hand over"))
    assert planned.told_to_hooks() == [("east", "south")] * 2
    assert planned.of("record-primary") == []


def test_what_a_route_does_not_lead_is_refused_where_the_plan_is_made() -> None:
    """A topic that the second mirror does not copy, a route to somewhere else, a place that is gone."""
    topology = three()
    with pytest.raises(
        DcctlError, match=r"consumer pricing: reads west\.rates, which no mirror copies from east"
    ):
        switched(group(topology, "pricing", "east", "south", AGAINST_THEN_SOUTH))
    with pytest.raises(DcctlError, match="leads from east to west, not to south"):
        switched(group(topology, "fraud", "east", "south", AGAINST_THEN_SOUTH[:1]))
    with pytest.raises(DcctlError, match="has come to east, and its next mirror begins at west"):
        switched(group(topology, "fraud", "east", "south", AGAINST_THEN_SOUTH[1:]))


def a_group_whose_place_is_gone() -> Planned:
    """One group from a lost copy to another."""
    return failed_over(group(three(), "fraud", "east", "south", AGAINST_THEN_SOUTH, reach="gone"))


def home_from_the_other_site() -> Planned:
    """Everybody of one active site goes home; one of them reads all that is written at the other one."""
    file = both_active()
    readers = (replace(c, landing="read") if c.name == "packing-west" else c for c in file.consumers)
    topology, book = replace(file, consumers=tuple(readers)), Runbook()
    way = beside(topology, WEST_EAST, PARTICIPANTS, is_back=True)
    move = Move(topology=topology, ways=(way,))
    failback(book, move, PARTICIPANTS, Accepted(), way.who, {}, timeout_s=60.0)
    return Planned(book)


def test_on_the_way_home_nothing_of_the_hand_over_begins_before_the_site_has_caught_up() -> None:
    """Sections are no barriers: each step says what it waits for."""
    planned = home_from_the_other_site()
    for step in planned.in_section("hand over"):
        assert {"returned-stands-still", "tail-arrives"} <= planned.before(step), step
    (read,) = planned.of("await-read")
    assert planned.effects[read].groups == {"packing-west": ("orders",)}
    (near,) = planned.of("await-groups-caught-up")
    assert planned.effects[near].groups == {"packing-west": ("orders",)}
    assert near in planned.before("deny-writing")
    assert read in planned.before("stop-consumers")
    assert "deny-writing" in planned.before(read)


def test_of_a_place_that_is_gone_a_watcher_has_kept_the_positions() -> None:
    """They are taken from its samples, and led by maps of mirrors that go on."""
    planned = a_group_whose_place_is_gone()
    (along,) = (planned.effects[step] for step in planned.of("translate-along"))
    assert along.is_left_gone
    assert planned.steps[along.recorded.step].action == "take-sampled-positions"
    planned.assert_nobody_starts_before(planned.in_section("stop the mirrors"))


def test_of_a_place_that_is_partial_nobody_starts_before_it_is_recorded() -> None:
    """Without topics there is no log to see stand; who is stopped and recorded is waited for all the same."""
    topology = three()
    known = Degraded(is_fenced=True, is_kept_off=False, unread=())
    move = group(topology, "fraud", "east", "south", AGAINST_THEN_SOUTH, reach="partial")
    planned = failed_over(move, {"east": known})
    assert planned.of("await-left-standing") == []
    may_fail = planned.in_section("drain what answers") | planned.in_section("stop the mirrors")
    planned.assert_nobody_starts_before(may_fail)
    assert {"record-positions", "translate-positions-along", "write-offsets-along"} <= may_fail


# Within one cluster


def within_one_cluster(reach: Reach) -> Move:
    """All applications of a stretched cluster from one of its sites to another."""
    topology = stretched()
    kinds = {kind.name: kind for kind in PARTICIPANTS.kinds}
    producers = [Item(name=name, kind="producer") for name in kinds["producer"].at(topology, "main")]
    consumers = [Item(name=c.name, kind=c.kind, routes=((),)) for c in topology.consumers_of("main")]
    assert producers
    assert {item.kind for item in consumers} >= {"group"}
    way = Way(
        topology=topology,
        left=Place("main", ("dc1",)),
        entered=Place("main", ("dc2",)),
        reach=reach,
        items=(*producers, *consumers),
    )
    return Move.of(topology, [way])


def test_a_site_of_one_cluster_is_gone_and_its_applications_begin_at_another() -> None:
    """No mirror, no map, nothing recorded as primary; they start at hosts of the other site, and are seen."""
    topology = stretched()
    move = within_one_cluster("gone")
    (way,) = move.ways
    planned = failed_over(move)
    starts = planned.clients("start-clients")
    assert {(cluster, sites) for cluster, _, sites in starts} == {("main", ("dc2",))}
    started = {name for _, clients, _ in starts for name in clients}
    assert started == set(programs(topology, way))
    assert planned.told_to_hooks() == [("main", "main")] * 2
    assert planned.mirrors() == set()
    actions = {step.action for step in planned.steps.values()}
    assert actions <= {
        "run-hook",
        "start-clients",
        "record-ends",
        "note-batch",
        "await-landing-records",
        "await-group-progress",
        "await-query-progress",
    }
    seen = planned.effects["producers-write"]
    assert seen.producers == way.named("producer")
    assert planned.steps[seen.landing.step].action == "record-ends"
    assert seen.landing.step in planned.before("start-producers")
    assert (planned.effects["consumers-progress"].groups, planned.effects["consumers-progress"].written) == (
        way.named("group"),
        None,
    )
    assert set(planned.of("note-batch")) == {f"note-{name}" for name in way.named("spark")}


def programs(topology: Topology, way: Way) -> Iterator[str]:
    for kind in PARTICIPANTS.kinds:
        yield from kind.programs(topology, way.named(kind.name))
