"""Which partitions their preferred replica does not lead, and what a plan makes of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from orchestrator.moves.clients import StartElsewhere
from orchestrator.moves.within_cluster.evacuation import plan_evacuation
from orchestrator.moves.within_cluster.leaders import plan_leaders
from orchestrator.moves.within_cluster.preferred import BrokerLeads, Displaced, displaced, leads_by_broker
from orchestrator.moves.within_cluster.putting_back import plan_put_back
from orchestrator.moves.within_cluster.requests import (
    EvacuateRequest,
    LeadersRequest,
    PutBackRequest,
    SiteLossRequest,
)
from orchestrator.moves.within_cluster.site_loss import plan_site_loss
from orchestrator.ports.part import Part
from orchestrator.ports.servers import Placement, TopicDescription
from orchestrator.ports.services import ServicesSeen, ServiceState
from orchestrator.runs.coordination_state import CoordinationState
from orchestrator.runs.effect import Effect
from orchestrator.runs.estate_record import Body, Fact
from orchestrator.runs.facts_within_clusters import (
    MinInsyncLowered,
    ServicesStarted,
    ServicesStopped,
    SitesOff,
    SitesOn,
    TopicOrder,
)
from orchestrator.runs.guards import SiteGuardSaid
from orchestrator.runs.plan import Plan
from orchestrator.runs.within_clusters import Evacuated, sites_off, sites_started, stopped_services
from orchestrator.snapshot.snapshot import Snapshot
from orchestrator.topology.loading import load_topology
from orchestrator.values import TopicPartition
from orchestrator.verbs.registration import PARTICIPANTS
from tests.verbs.known_names import WITHIN_CLUSTERS
from tests.verbs.pictures import of_a_fence, part, topology

ORDERS = TopicDescription(
    name="orders",
    topic_id="id",
    leaders=(2, 2, 3, -1),
    replicas=((1, 2), (2, 3), (1, 3), (1, 2)),
    isr=((1, 2), (2, 3), (3,), (1,)),
)
PLACED = Placement({"orders": ORDERS}, {1: "dc1", 2: "dc2"}, frozenset({1, 2, 3}), racks={1: "dc1", 2: "dc2"})


STRETCHED = Path(__file__).parents[2] / "topologies" / "stretched-2.5dc-kraft.yaml"
NOTHING = CoordinationState("")
EVEN = replace(ORDERS, leaders=(1, 2, 1, 1), isr=ORDERS.replicas)
AT_REST = Placement({"orders": EVEN}, {1: "dc1", 2: "dc2", 3: "dc2"}, frozenset({1, 2, 3}))
EVACUATED = Evacuated(("dc1",), {"orders": TopicOrder(topic_id="id", replicas={1: (3, 2)})})
LOWERED = MinInsyncLowered(cluster="west", sites=("dc1",), before={"orders": "2"}, lowered={"orders": 1})


def seen(placement: Placement, coordination: CoordinationState = NOTHING, name: str = "west") -> Snapshot:
    """One cluster, where this is so."""
    picture = of_a_fence("west", part(coordination))
    min_insync: dict[str, int] = dict.fromkeys(placement.topics, 2)
    west = replace(
        picture.cluster("west"),
        placement=part(placement),
        reassigning=part(frozenset()),
        min_insync=part(min_insync),
    )
    return replace(picture, clusters={name: west})


def leaders_plan(placement: Placement = PLACED) -> Plan:
    """Preferred leaders."""
    return plan_leaders(topology(), seen(placement), LeadersRequest(cluster="west"))


def evacuation_plan() -> Plan:
    """Leaders off dc1."""
    return plan_evacuation(
        topology(), seen(AT_REST), EvacuateRequest(cluster="west", site="dc1"), PARTICIPANTS
    )


def put_back_plan() -> Plan:
    """What was evacuated and lowered is put back."""
    state = CoordinationState("", evacuated={"west": EVACUATED}, lowered={"west": LOWERED})
    return plan_put_back(topology(), seen(AT_REST, state), PutBackRequest(cluster="west"), PARTICIPANTS)


def site_loss_plan() -> Plan:
    """Broker 1 is gone with its site, and a topic is lowered."""
    gone = replace(AT_REST, living=frozenset({2, 3}), sites={2: "dc2", 3: "dc2"})
    request = SiteLossRequest(cluster="main", attested=("dc1",), lower_min_insync=("all",))
    return plan_site_loss(load_topology(STRETCHED), seen(gone, name="main"), request, PARTICIPANTS)


def put_back_after_a_loss(guards: dict[str, str], placement: Placement | None) -> Plan:
    """dc1 is recorded as off; `guards`: by server the site at which its guard holds it."""
    said = {server: SiteGuardSaid(site=site, state="held") for server, site in guards.items()}
    state = CoordinationState("", sites_off={"west": ("dc1",)}, site_guards={"west": said})
    picture = seen(AT_REST, state)
    unseen: Part[Placement] = Part("brokers", 0.0, problem="no answer")
    view = replace(picture.cluster("west"), placement=unseen if placement is None else part(placement))
    picture = replace(picture, clusters={"west": view})
    return plan_put_back(topology(), picture, PutBackRequest(cluster="west"), PARTICIPANTS)


WITHOUT_DC1 = replace(AT_REST, living=frozenset({2, 3}), sites={2: "dc2", 3: "dc2"})


def test_servers_of_a_lost_site_run_again_before_what_waits_for_them() -> None:
    """With whoever is back: the last host may be under repair for a week."""
    plan = put_back_after_a_loss({"broker-1": "dc1"}, WITHOUT_DC1)
    assert [step.action for step in plan.steps] == [
        "count-tails",
        "let-sites-run",
        "await-in-sync",
        "elect-preferred",
    ]
    assert outcome_of(plan, "sites-returned") == "ok"
    assert outcome_of(put_back_after_a_loss({"broker-2": "dc2"}, WITHOUT_DC1), "sites-returned") == "refused"


def put_back_with_services(facts: list[Body], answering: set[str]) -> Plan:
    """dc1 is recorded as off, and these facts; hosts there tell of the services that are `answering`."""
    numbered = [Fact(number=at, run_id="r", at_s=0.0, body=body) for at, body in enumerate(facts)]
    state = CoordinationState(
        "",
        sites_off=sites_off(numbered),
        services_stopped=stopped_services(numbered),
        services_started=sites_started(numbered),
    )
    picture = seen(WITHOUT_DC1, state)
    told = ServicesSeen({server: ServiceState(site="dc1", is_running=False) for server in answering}, {})
    view = replace(picture.cluster("west"), services=part(told))
    picture = replace(picture, clusters={"west": view})
    return plan_put_back(topology(), picture, PutBackRequest(cluster="west"), PARTICIPANTS)


def test_services_that_were_stopped_start_before_their_guards_let_them_on() -> None:
    """A site where nothing runs, since dcctl has stopped it, is back if its hosts answer."""
    off, on = SitesOff(cluster="west", sites=("dc1",)), SitesOn(cluster="west")
    before = {"broker-1": ServiceState(site="dc1", is_running=True, is_enabled=True)}
    stopped = ServicesStopped(cluster="west", before=before)
    plan = put_back_with_services([off, stopped], {"broker-1"})
    steps = [step.action for step in plan.steps]
    assert steps == ["count-tails", "start-services", "let-sites-run", "await-in-sync", "elect-preferred"]
    assert outcome_of(plan, "sites-returned") == "ok"
    assert outcome_of(put_back_with_services([off, stopped], set()), "sites-returned") == "refused"
    # A run has started them, and died before it let the site on.
    started = ServicesStarted(cluster="west")
    plan = put_back_with_services([off, stopped, started], set())
    assert [step.action for step in plan.steps][:2] == ["count-tails", "let-sites-run"]
    assert outcome_of(plan, "sites-returned") == "ok"
    # The host of one could not be reached then, and can be by now.
    started = ServicesStarted(cluster="west", but_for=("broker-1",))
    plan = put_back_with_services([off, stopped, started, on], {"broker-1"})
    assert [step.action for step in plan.steps][:2] == ["start-services", "await-in-sync"]


def test_how_services_were_at_first_is_what_counts() -> None:
    """A second failover finds them stopped."""
    before = {"broker-1": ServiceState(site="dc1", is_running=True, is_enabled=True)}
    after = {"broker-1": ServiceState(site="dc1", is_running=False, is_enabled=False)}
    facts = [
        Fact(number=at, run_id=str(at), at_s=0.0, body=ServicesStopped(cluster="west", before=one))
        for at, one in enumerate((before, after))
    ]
    assert stopped_services(facts) == {"west": before}


def test_where_the_cluster_does_not_answer_servers_that_are_held_run_and_no_more() -> None:
    """The other site is lost in the meantime: guards would hold the only ones that are left."""
    plan = put_back_after_a_loss({"broker-1": "dc1"}, None)
    assert [step.action for step in plan.steps] == ["let-sites-run"]
    assert "reachable" not in {gate.id for gate in plan.gates}
    assert outcome_of(plan, "sites-returned") == "ok"
    assert outcome_of(put_back_after_a_loss({}, None), "sites-returned") == "unknown"


def outcome_of(plan: Plan, gate: str) -> str:
    """Of the gate with that name."""
    return next(one.outcome for one in plan.gates if one.id == gate)


def test_a_partition_is_displaced_where_another_or_nobody_leads() -> None:
    """With whether its first replica could lead at once."""
    found = list(displaced(PLACED))
    assert found == [
        Displaced(TopicPartition("orders", 0), 1, 2),
        Displaced(TopicPartition("orders", 2), 1, 3, "not in sync"),
        Displaced(TopicPartition("orders", 3), 1, -1),
    ]
    assert [str(one) for one in found] == [
        "orders-0 is led by 2 instead of 1",
        "orders-2 is led by 3 instead of 1, which is not in sync",
        "orders-3 has no leader instead of 1",
    ]


def test_a_broker_that_is_down_could_not_lead_though_it_stands_among_those_in_sync() -> None:
    """ZooKeeper mode takes it out of them only after `replica.lag.time.max.ms`."""
    gone = replace(PLACED, living=frozenset({2, 3}))
    assert [one.problem for one in displaced(gone)] == ["down"] * 3


def test_leaders_are_counted_by_broker() -> None:
    """One that only follows has a row as well, and one without a rack."""
    assert leads_by_broker(PLACED) == {
        1: BrokerLeads("dc1", leads=0, preferred=3),
        2: BrokerLeads("dc2", leads=2, preferred=1),
        3: BrokerLeads("", leads=1, preferred=0),
    }


def test_a_plan_elects_as_long_as_a_replica_in_sync_does_not_lead() -> None:
    """Otherwise there is nothing to do, and who is not in sync is named."""
    plan = leaders_plan()
    assert [step.action for step in plan.steps] == ["elect-preferred"]
    assert (plan.facts["partitions"], plan.facts["to_elect"], plan.facts["elsewhere"]) == (4, 2, 1)
    lagging = replace(ORDERS, leaders=(1, 2, 3, 1))
    nothing = leaders_plan(Placement({"orders": lagging}, {}, frozenset({1, 2, 3})))
    assert (nothing.steps, nothing.is_done) == ((), True)
    assert nothing.facts["nothing_to_do"] == (
        "west: 3 of 4 partitions are led by their preferred replica; "
        "orders-2 is led by 3 instead of 1, which is not in sync"
    )


def test_nothing_within_a_cluster_keeps_an_application_from_working() -> None:
    """A guard, an abort and a story need to know of none of them, but for who stops and starts them."""
    for effect in WITHIN_CLUSTERS - {StartElsewhere}:
        assert (effect.holds, effect.frees, effect.primaries) == (
            Effect.holds,
            Effect.frees,
            Effect.primaries,
        )


def test_each_way_has_its_steps() -> None:
    """In this order; what is lowered is lowered once leaders are there, and put back before them."""
    assert [step.action for step in evacuation_plan().steps] == [
        "put-site-last",
        "elect-preferred",
        "see-none-led",
    ]
    assert [step.action for step in put_back_plan().steps] == [
        "restore-min-insync",
        "restore-order",
        "elect-preferred",
    ]
    assert [step.action for step in site_loss_plan().steps] == [
        "fence-site",
        "await-leaders",
        "lower-min-insync",
        "see-writable",
    ]
