"""Who decides over the metadata: ZooKeeper servers or KRaft controllers, and how they stand over sites."""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.topology.durability.control_plane import FIRST_WITH_ANOTHER_LIST
from orchestrator.topology.model import Cluster, Topology
from orchestrator.topology.rules.rule import Finding, Rule, quoted, rule
from orchestrator.topology.source import Path
from orchestrator.wording import plural

_FEW = 3


def voters_per_dc(cluster: Cluster) -> dict[str, int]:
    """How many servers vote in each data centre that has any; empty where that could not be seen."""
    if "quorum" in cluster.unknown:
        return {}
    key = "controllers" if cluster.metadata == "kraft" else "zookeepers"
    counts: dict[str, int] = {}
    for row in cluster.nodes:
        weight = row.zookeeper_weight if cluster.quorum == "hierarchical" and key == "zookeepers" else 1
        if count := getattr(row, key) * min(weight, 1):
            counts[row.dc] = counts.get(row.dc, 0) + count
    return counts


def stops_with(cluster: Cluster, dc: str) -> bool:
    """Whether the loss of `dc` alone takes the quorum away.

    A hierarchical quorum needs more than half of its groups, each whole site being one; a plain one more
    than half of the servers (facts: ZooKeeper hierarchical quorum, KRaft).
    """
    voters = voters_per_dc(cluster)
    if dc not in voters:
        return False
    if cluster.metadata == "zookeeper" and cluster.quorum == "hierarchical":
        return 2 * (len(voters) - 1) <= len(voters)
    return 2 * (sum(voters.values()) - voters[dc]) <= sum(voters.values())


def _name(cluster: Cluster) -> str:
    return "controller" if cluster.metadata == "kraft" else "ZooKeeper server"


def _nodes(cluster: str) -> Path:
    return ("clusters", cluster, "nodes")


@rule(
    "quorum-sites-even",
    "warning",
    "No even number of sites decides the quorum",
    "Of two sites neither has more than half: the loss of one stops leader elections and every change, "
    "until a person forces a new quorum. A third site with one server is enough.",
)
def quorum_sites_even(topology: Topology) -> Iterator[Finding]:
    """An even number of sites, of which the loss of any stops the quorum."""
    for name, cluster in topology.clusters.items():
        voters = voters_per_dc(cluster)
        deciding = [dc for dc in voters if stops_with(cluster, dc)]
        if len(voters) > 1 and len(voters) % 2 == 0 and deciding:
            message = (
                f"{len(voters)} data centres decide the quorum of `{name}`: "
                f"the loss of {' or '.join(f'`{dc}`' for dc in deciding)} stops it"
            )
            hint = f"a {_name(cluster)} in a third site would let it go on"
            yield Finding(_nodes(name), message, hint)


@rule(
    "quorum-uneven",
    "warning",
    "Over two sites the quorum is split evenly",
    "With 2 and 3, the newest changes may be in the larger site alone: they are lost with it. "
    "With an even split every committed change is on both sides.",
)
def quorum_uneven(topology: Topology) -> Iterator[Finding]:
    """Plain majorities over two sites of different size."""
    for name, cluster in topology.clusters.items():
        voters = voters_per_dc(cluster)
        if len(voters) == 2 and len(set(voters.values())) == 2 and cluster.quorum == "majority":
            larger = max(voters, key=lambda dc: voters[dc])
            message = (
                f"`{larger}` has {voters[larger]} of {sum(voters.values())} {_name(cluster)}s of `{name}`: "
                "its loss may take committed changes along"
            )
            yield Finding(_nodes(name), message, "take as many in either site, or add a third site")


@rule(
    "quorum-survives",
    "warning",
    "Over three sites and more, the quorum survives the loss of any one of them",
    "The further sites exist for that.",
)
def quorum_survives(topology: Topology) -> Iterator[Finding]:
    """An odd number of sites, one of which has half of the votes."""
    for name, cluster in topology.clusters.items():
        voters = voters_per_dc(cluster)
        if len(voters) > 2 and len(voters) % 2:
            for dc in voters:
                if stops_with(cluster, dc):
                    message = (
                        f"the loss of `{dc}` stops the quorum of `{name}`: it has {voters[dc]} of "
                        f"{plural(sum(voters.values()), _name(cluster))}"
                    )
                    yield Finding(_nodes(name), message, "no site may have half of the voters or more")


@rule(
    "quorum-even",
    "warning",
    "The number of voters is odd",
    "A majority of four is three: a fourth server can fail, but lets no further one fail.",
)
def quorum_even(topology: Topology) -> Iterator[Finding]:
    """Plain majorities that are not split over two sites."""
    for name, cluster in topology.clusters.items():
        voters = voters_per_dc(cluster)
        total = sum(voters.values())
        if len(voters) not in (0, 2) and total % 2 == 0 and cluster.quorum == "majority":
            message = (
                f"`{name}` has {plural(total, _name(cluster))}, which tolerate "
                f"{f'the loss of {spare}' if (spare := (total - 1) // 2) else 'no loss'}, no more than "
                f"{total - 1} would"
            )
            yield Finding(_nodes(name), message, f"take {total - 1} or {total + 1}")


@rule(
    "quorum-small",
    "warning",
    "The quorum survives the loss of one server",
    "With one or two voters, or two in a group, a single failure stops it.",
)
def quorum_small(topology: Topology) -> Iterator[Finding]:
    """Fewer than three voters, or a hierarchical group with fewer than three."""
    for name, cluster in topology.clusters.items():
        voters = voters_per_dc(cluster)
        total = sum(voters.values())
        if 0 < total < _FEW:
            message = f"`{name}` has {plural(total, _name(cluster))}: the loss of one stops the quorum"
            yield Finding(_nodes(name), message, "three survive the loss of one")
        elif cluster.quorum == "hierarchical" and len(voters) == 2:
            for dc, count in voters.items():
                if count < _FEW:
                    message = (
                        f"the group of `{dc}` has {plural(count, _name(cluster))}: its loss stops `{name}`"
                    )
                    yield Finding(_nodes(name), message, "three in a group survive the loss of one")


@rule(
    "quorum-majority-2dc",
    "warning",
    "ZooKeeper over two sites has a hierarchical quorum",
    "With a plain majority the newest change may be on one server of the surviving site only: after a loss "
    "all of them must take part. With groups, any majority of the site knows everything.",
)
def quorum_majority_two_sites(topology: Topology) -> Iterator[Finding]:
    """Plain majorities over two sites in ZooKeeper mode."""
    for name, cluster in topology.clusters.items():
        if (
            cluster.metadata == "zookeeper"
            and cluster.quorum == "majority"
            and len(voters_per_dc(cluster)) == 2
        ):
            message = f"the ZooKeeper servers of `{name}` stand in two sites and decide by plain majority"
            yield Finding(("clusters", name, "quorum"), message, "take quorum: hierarchical")


@rule(
    "quorum-hierarchical",
    "error",
    "Only ZooKeeper has hierarchical quorums, and groups with weight",
    "KRaft counts voters. Groups without any weight are not counted; if none is, nothing can be decided.",
)
def quorum_hierarchical(topology: Topology) -> Iterator[Finding]:
    """Hierarchical quorums of KRaft, of one group, or without weight; weights of plain majorities."""
    for name, cluster in topology.clusters.items():
        path: Path = ("clusters", name, "quorum")
        weighted = [index for index, row in enumerate(cluster.nodes) if row.zookeeper_weight != 1]
        if cluster.quorum == "majority" or cluster.metadata == "kraft":
            for index in weighted:
                message = "zookeeper_weight counts in a hierarchical quorum only"
                hint = "remove it, or take quorum: hierarchical"
                yield Finding((*_nodes(name), index, "zookeeper_weight"), message, hint)
        if cluster.quorum == "majority":
            continue
        if cluster.metadata == "kraft":
            message = f"cluster `{name}` has KRaft controllers; a hierarchical quorum is ZooKeeper's"
            yield Finding(path, message, "remove it: KRaft decides by plain majority")
        elif any(row.zookeepers for row in cluster.nodes) and not voters_per_dc(cluster):
            if "quorum" not in cluster.unknown:
                message = f"no group of ZooKeeper servers of `{name}` has any weight"
                yield Finding(path, message, "give at least one a zookeeper_weight above 0")
        elif len(voters_per_dc(cluster)) == 1:
            message = (
                f"all ZooKeeper servers of `{name}` with weight stand in {quoted(voters_per_dc(cluster))}"
            )
            yield Finding(path, message, "one group is a plain majority: take quorum: majority")


@rule(
    "kraft-combined-2dc",
    "warning",
    "KRaft over two sites has controllers of their own",
    "Brokers that are controllers too lose their place among the in-sync replicas when a new quorum is "
    "forced by a restart: every partition stays without a leader. Isolated controllers do not.",
)
def kraft_combined_two_sites(topology: Topology) -> Iterator[Finding]:
    """Combined nodes, and two sites that decide."""
    for name, cluster in topology.clusters.items():
        if cluster.metadata == "kraft" and cluster.is_combined and len(voters_per_dc(cluster)) == 2:
            message = f"the controllers of `{name}` share their processes with brokers, over two sites"
            hint = "take combined: false; with combined nodes a site loss cannot be recovered from"
            yield Finding(("clusters", name, "combined"), message, hint)


@rule(
    "kraft-version-2dc",
    "warning",
    "KRaft over two sites has Kafka 3.8 or newer",
    "Controllers of earlier versions start with no other voters than those in their `quorum-state` file "
    "(KAFKA-16526): after the loss of either site nothing is left but to wait for it.",
)
def kraft_version_two_sites(topology: Topology) -> Iterator[Finding]:
    """Controllers that cannot be left out, and two sites that decide."""
    for name, cluster in topology.clusters.items():
        is_old = cluster.metadata == "kraft" and cluster.version < FIRST_WITH_ANOTHER_LIST
        if is_old and len(voters_per_dc(cluster)) == 2:
            message = f"controllers of Kafka {cluster.kafka} start with no other voters than all of `{name}`"
            yield Finding(("clusters", name, "kafka"), message, "take kafka: 4.3.1 (3.8 or newer)")


@rule(
    "guards-start-2dc",
    "warning",
    "Guards wait without an answer where two sites decide",
    "Once the survivors of one site are the whole quorum, the other half must not start by itself. A guard "
    "that starts its server while the ensemble does not answer lets it: two quorums, and both take writes.",
)
def guards_start_two_sites(topology: Topology) -> Iterator[Finding]:
    """`boot_guard` starts servers without an answer, and two sites decide."""
    for name, cluster in topology.clusters.items():
        if topology.boot_guard.without_answer == "start" and len(voters_per_dc(cluster)) == 2:
            message = f"guards of `{name}` start servers without an answer, and two sites decide its quorum"
            hint = "leave without_answer out: they wait, and --start-anyway at a host is a person's word"
            yield Finding(("boot_guard", "without_answer"), message, hint)


_DYNAMIC_FROM = (3, 9)


@rule(
    "voters-dynamic-version",
    "error",
    "Controllers have dynamic voters from Kafka 3.9 on",
    "`kraft.version` 1 (KIP-853) came with it.",
)
def voters_dynamic_version(topology: Topology) -> Iterator[Finding]:
    """`voters: dynamic` with controllers of an earlier version."""
    for name, cluster in topology.clusters.items():
        if cluster.metadata == "kraft" and cluster.voters == "dynamic" and cluster.version < _DYNAMIC_FROM:
            message = f"controllers of Kafka {cluster.kafka} have a static list of voters"
            yield Finding(("clusters", name, "voters"), message, "take voters: static, or Kafka 3.9 or later")


@rule(
    "voters-dynamic-2dc",
    "warning",
    "KRaft over two sites has static voters",
    "Dynamic voters stand in the metadata log, which nobody can change without a quorum: after the loss of "
    "either site nothing is left but to wait for it. With static ones the survivors can be made a quorum.",
)
def voters_dynamic_two_sites(topology: Topology) -> Iterator[Finding]:
    """Dynamic voters of KRaft, and two sites that decide."""
    for name, cluster in topology.clusters.items():
        is_dynamic = cluster.metadata == "kraft" and cluster.voters == "dynamic"
        if is_dynamic and len(voters_per_dc(cluster)) == 2:
            message = (
                f"voters of `{name}` are dynamic, over two sites: without a quorum nobody can change them"
            )
            yield Finding(("clusters", name, "voters"), message, "take voters: static")


@rule(
    "voters-dynamic-login",
    "warning",
    "whoever changes the voters of a ZooKeeper ensemble has a login for it",
    "ZooKeeper lets a superuser, or whom its access rules name, change its configuration, and nobody else: "
    "without `zookeeper_client` dead voters stay in it, and that shows once everything else is done.",
)
def voters_dynamic_login(topology: Topology) -> Iterator[Finding]:
    """An ensemble whose voters are dynamic, and no login."""
    for name, cluster in topology.clusters.items():
        is_ensemble = cluster.metadata == "zookeeper" and cluster.voters == "dynamic"
        if is_ensemble and cluster.zookeeper_client is None:
            message = f"voters of `{name}` are dynamic, and the file has no login that may change them"
            hint = "zookeeper_client: {username: …, password: …}, unless its access rules let everybody"
            yield Finding(("clusters", name, "voters"), message, hint)


RULES: tuple[Rule, ...] = (
    quorum_sites_even,
    quorum_uneven,
    quorum_survives,
    quorum_even,
    quorum_small,
    quorum_majority_two_sites,
    quorum_hierarchical,
    kraft_combined_two_sites,
    kraft_version_two_sites,
    guards_start_two_sites,
    voters_dynamic_version,
    voters_dynamic_two_sites,
    voters_dynamic_login,
)
