"""The analysis equals the brute force, for every lost site, pair, broker and mixture of random topologies."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from orchestrator.topology.durability.analysis import explain_topology
from orchestrator.topology.durability.losses import Loss, Server, loss_of, servers_of
from orchestrator.topology.durability.quorum import Vote, Votes
from orchestrator.topology.model import Cluster, Producer, Replication, Topic, Topology
from tests.topology.durability import brute_force
from tests.topology.durability.topologies import cluster, topic, topology

CENTRES = ("a", "b", "c")
TOPICS = ("orders", "payments", "clicks", "returns")
ACKED = ("safe", "at-risk", "lost")
RTO = ("zero", "leader-election", "procedure", "site-return")


@st.composite
def clusters(draw: st.DrawFn) -> Cluster:
    """One to three data centres with up to three brokers and three voters each."""
    metadata = draw(st.sampled_from(["kraft", "zookeeper"]))
    kind = "controllers" if metadata == "kraft" else "zookeepers"
    centres = draw(st.permutations(CENTRES))[: draw(st.integers(1, 3))]
    rows = []
    for dc in centres:
        row = {"brokers": draw(st.integers(0, 3)), kind: draw(st.integers(0, 3))}
        if metadata == "zookeeper":
            row["zookeeper_weight"] = draw(st.sampled_from([1, 1, 1, 0, 2]))
        rows.append((dc, row))
    rows[0][1]["brokers"] += 1
    rows[-1][1][kind] += 1
    if metadata == "zookeeper":
        rows[-1][1]["zookeeper_weight"] = 1
    more = (
        {"combined": draw(st.sampled_from([None, True, False]))}
        if metadata == "kraft"
        else {"quorum": draw(st.sampled_from(["majority", "hierarchical"]))}
    )
    return cluster(metadata, *rows, **more)


@st.composite
def topics(draw: st.DrawFn, name: str, home: Cluster) -> Topic:
    """A topic that fits its cluster, placed by Kafka or by the file."""
    brokers = [dc for dc, count in home.brokers_per_dc.items() for _ in range(count)]
    replicas = min(draw(st.sampled_from([3, 4, 2, 5, 1])), len(brokers))
    spread: dict[str, int] = {}
    if draw(st.booleans()):
        for dc in draw(st.permutations(brokers))[:replicas]:
            spread[dc] = spread.get(dc, 0) + 1
    unclean = {"unclean.leader.election.enable": "true"} if draw(st.booleans()) else {}
    in_sync = draw(st.integers(1, replicas))
    return topic(replicas, in_sync, name=name, replicas_per_dc=spread, config=unclean)


@st.composite
def topologies(draw: st.DrawFn) -> Topology:
    """One cluster, or two with a mirror between them; they may share data centres."""
    named = {"main": draw(clusters())}
    mirrors: tuple[Replication, ...] = ()
    if draw(st.booleans()):
        named["copy"] = draw(clusters())
        mirrors = (Replication(source="main", target="copy", topics=TOPICS),)
    drawn = [draw(topics(name, named["main"])) for name in TOPICS]
    acks = draw(st.sampled_from(["all", "1"]))
    producer = Producer(name="checkout", cluster="main", topics=TOPICS, acks=acks)
    return topology(named, *drawn, replication=mirrors, producers=(producer,))


def every_loss(given_topology: Topology) -> list[Loss]:
    """Each data centre, each pair, each broker, each data centre with a broker, each pair of servers."""
    servers = servers_of(given_topology)
    brokers = [server.path for server in servers if server.is_broker]
    centres = given_topology.datacenters
    names: list[tuple[str, ...]] = [(name,) for name in (*centres, *brokers)]
    names += combinations(centres, 2)
    names += [(dc, broker) for dc in centres for broker in brokers[:4]]
    names += combinations([server.path for server in servers][:7], 2)
    return [loss_of(given_topology, one) for one in names]


@dataclass(frozen=True)
class Expected:
    """What the brute force finds for one topic inside one cluster, over every placement."""

    acked: str
    writes: str
    rto: str


def expected_plane(servers: list[Server], lost: frozenset[str], home: Cluster) -> str:
    """The control plane by brute force."""
    voters = [
        brute_force.Voter(server.path, server.dc, server.weight, server.is_broker)
        for server in servers
        if server.is_voter
    ]
    is_hierarchical = home.metadata == "zookeeper" and home.quorum == "hierarchical"
    return brute_force.control_plane(voters, lost, is_hierarchical=is_hierarchical)


def expected_topic(
    its: Topic, home: Cluster, servers: list[Server], lost: frozenset[str], plane: str, *, spread: bool
) -> Expected:
    """The worst over every set of brokers that a partition may be on."""
    brokers = {server.path: server.dc for server in servers if server.is_broker}
    replicas = min(its.replicas, len(brokers))
    needed = min(its.min_insync_replicas, replicas)
    stated = dict(its.replicas_per_dc) if spread else {}
    found = []
    for chosen in brute_force.placements(brokers, replicas, spread=stated, metadata=home.metadata):
        gone = frozenset(index for index, broker in enumerate(sorted(chosen)) if broker in lost)
        found.append(
            (
                brute_force.acked(replicas, needed, gone, is_unclean=bool(its.config)),
                *brute_force.writes(replicas, needed, gone, plane),
            )
        )
    assert found
    worst = max(found, key=lambda one: RTO.index(one[2]))
    return Expected(max((one[0] for one in found), key=ACKED.index), worst[1], worst[2])


def told(expected: Expected, copy: Expected | None, producer: Producer) -> tuple[str, str, str, str]:
    """The four words of the contract, mirror and acks included."""
    acked, writes, rto = expected.acked, expected.writes, expected.rto
    rpo = {"safe": "zero", "at-risk": "possible-loss", "lost": "total"}[acked]
    if rpo == "zero" and rto != "zero" and producer.acks != "all":
        rpo = "possible-loss"
    if writes == "stop" and copy is not None and copy.acked != "lost":
        if acked == "lost":
            acked, rpo = "at-risk", "replication-lag"
        if copy.writes != "stop":
            writes, rto, rpo = "need-procedure", "switch-clients", "replication-lag"
    return acked, writes, rpo, rto


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(topologies())
def test_the_analysis_equals_the_brute_force(drawn: Topology) -> None:
    """Control plane, records, writes, RPO and RTO, for every cluster."""
    (producer,) = drawn.producers
    servers = {name: [s for s in servers_of(drawn) if s.cluster == name] for name in drawn.clusters}
    losses = every_loss(drawn)
    for loss, found in zip(losses, explain_topology(drawn, losses).losses, strict=True):
        lost = frozenset(server.path for server in loss.servers)
        planes = {name: expected_plane(servers[name], lost, home) for name, home in drawn.clusters.items()}
        assert {name: fate.control_plane for name, fate in found.clusters.items()} == planes, loss.names
        for its in drawn.topics:
            inside = {
                name: expected_topic(its, home, servers[name], lost, planes[name], spread=name == "main")
                for name, home in drawn.clusters.items()
            }
            words = told(inside["main"], inside.get("copy"), producer)
            fate = found.clusters["main"].topics[its.name]
            assert (fate.acked_records, fate.writes, fate.rpo, fate.rto) == words, (loss.names, fate)


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(CENTRES), st.booleans(), st.integers(0, 3)), min_size=1, max_size=8),
    st.booleans(),
)
def test_how_many_survivors_must_take_part(drawn: list[tuple[str, bool, int]], hierarchical: bool) -> None:
    """Where the survivors hold everything together, the fewest of them that surely do are counted right."""
    voters = [(group, is_lost, weight if hierarchical else 1) for group, is_lost, weight in drawn]
    assume(any(weight for *_, weight in voters))
    quorum = Votes(
        tuple(Vote(group if hierarchical else "", is_lost, weight) for group, is_lost, weight in voters),
        hierarchical,
    )
    named = [brute_force.Voter(str(index), group, weight) for index, (group, _, weight) in enumerate(voters)]
    lost = frozenset(str(index) for index, (_, is_lost, _) in enumerate(voters) if is_lost)
    outcome = brute_force.control_plane(named, lost, is_hierarchical=hierarchical)
    assert (
        quorum.outcome == {"continues": "holds", "needs-procedure": "complete", "lost": "incomplete"}[outcome]
    )
    if quorum.outcome == "complete":
        needed = brute_force.survivors_needed(named, lost, is_hierarchical=hierarchical)
        assert quorum.survivors_needed == needed
