"""What each layout must have, so that its name tells the truth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from orchestrator.topology.model import Cluster, Topology
from orchestrator.topology.rules.quorum import voters_per_dc
from orchestrator.topology.rules.rule import Finding, Rule, quoted, rule
from orchestrator.topology.source import Path
from orchestrator.wording import plural

_BROKER_SITES: Mapping[str, int] = {"stretched-2dc": 2, "stretched-2.5dc": 2, "stretched-3dc": 3}
_VOTER_SITES: Mapping[str, int] = {"stretched-2dc": 2, "stretched-2.5dc": 3, "stretched-3dc": 3}
_IN_WORDS = ("no data centre", "one data centre", "two data centres", "three data centres")
_MIRRORED = ("active-passive", "active-active", "aggregation")


@rule(
    "layout-one-location",
    "error",
    "one-location: one cluster in one data centre",
    "What stands in a second site makes it another layout, with other answers.",
)
def layout_one_location(topology: Topology) -> Iterator[Finding]:
    """One cluster, one site, no mirror."""
    if topology.layout != "one-location":
        return
    yield from _single_cluster(topology)
    for name, cluster in topology.clusters.items():
        if len(cluster.datacenters) > 1:
            message = f"one-location has one data centre; `{name}` stands in {quoted(cluster.datacenters)}"
            yield Finding(("clusters", name, "nodes"), message, "take one of the stretched layouts")


@rule(
    "layout-stretched",
    "error",
    "stretched-…: one cluster, with brokers and voters in as many sites as the name says",
    "2dc: brokers and voters in two sites. 2.5dc: brokers in two, voters in a third one as well. "
    "3dc: brokers and voters in three.",
)
def layout_stretched(topology: Topology) -> Iterator[Finding]:
    """Sites of brokers and of voters, by the layout's name."""
    if topology.layout not in _BROKER_SITES:
        return
    yield from _single_cluster(topology)
    for name, cluster in topology.clusters.items():
        yield from _stretched_cluster(topology, name, cluster)


def _stretched_cluster(topology: Topology, name: str, cluster: Cluster) -> Iterator[Finding]:
    path: Path = ("clusters", name, "nodes")
    layout, brokers, voters = topology.layout, cluster.brokers_per_dc, voters_per_dc(cluster)
    wanted, voting = _BROKER_SITES[layout], _VOTER_SITES[layout]
    if len(brokers) != wanted:
        without = [dc for dc in topology.datacenters if dc not in brokers]
        few = f"; none in {quoted(without)}" if len(brokers) < wanted and without else ""
        message = (
            f"{layout} has brokers in {_IN_WORDS[wanted]}; `{name}` has them in "
            f"{quoted(brokers) or 'none'}{few}"
        )
        yield Finding(path, message, _other_layout(len(brokers), len(voters)))
        return
    if "quorum" in cluster.unknown or not voters:
        return
    servers = "controllers" if cluster.metadata == "kraft" else "ZooKeeper servers"
    if len(voters) != voting:
        message = f"{layout} has {servers} in {_IN_WORDS[voting]}; `{name}` has them in {quoted(voters)}"
        yield Finding(path, message, _other_layout(len(brokers), len(voters)))
    elif missing := [dc for dc in brokers if dc not in voters]:
        message = f"{layout} has {servers} beside the brokers; `{name}` has none in {quoted(missing)}"
        yield Finding(path, message, "add some there")


def _other_layout(brokers: int, voters: int) -> str:
    for layout, wanted in _BROKER_SITES.items():
        if (brokers, voters) == (wanted, _VOTER_SITES[layout]):
            return f"this is layout: {layout}"
    return (
        "this is layout: one-location"
        if brokers == voters == 1
        else "dcctl explain FILE says what each layout survives"
    )


def _single_cluster(topology: Topology) -> Iterator[Finding]:
    count = len(topology.clusters)
    if count > 1:
        message = f"{topology.layout} has one cluster; the file has {count}"
        hint = f"mirrored clusters are layout: {', '.join(_MIRRORED[:-1])} or {_MIRRORED[-1]}"
        yield Finding(("clusters",), message, hint)
    elif topology.replication:
        message = (
            f"{topology.layout} has no mirror; the file has {plural(len(topology.replication), 'mirror')}"
        )
        yield Finding(("replication",), message, "remove it, or take a layout with two clusters")


@rule(
    "layout-homes",
    "error",
    "Mirrored layouts: each cluster in data centres of its own, one or several",
    "Where both ends of a mirror stand in one site, its loss takes both.",
)
def layout_homes(topology: Topology) -> Iterator[Finding]:
    """Sites with several clusters."""
    if topology.layout not in _MIRRORED:
        return
    homes: dict[str, str] = {}
    for name, cluster in topology.clusters.items():
        path: Path = ("clusters", name, "nodes")
        for dc in cluster.datacenters:
            if (other := homes.setdefault(dc, name)) != name:
                message = f"data centre `{dc}` holds servers of `{other}` and of `{name}`"
                yield Finding(path, message, "give each cluster a data centre of its own")


@rule(
    "layout-active-passive",
    "error",
    "active-passive: two clusters, one mirror, producers at its source only",
    "Records that are written at the passive side would not be copied to the other one.",
)
def layout_active_passive(topology: Topology) -> Iterator[Finding]:
    """Numbers of clusters and mirrors, and where producers work."""
    if topology.layout != "active-passive":
        return
    if len(topology.clusters) != 2:
        message = f"active-passive has two clusters; the file has {len(topology.clusters)}"
        yield Finding(("clusters",), message, "one cluster is the standby of the other")
    if len(topology.replication) != 1:
        message = f"active-passive has one mirror; the file has {len(topology.replication)}"
        yield Finding(("replication",), message, "mirrors in both directions are layout: active-active")
        return
    mirror = topology.replication[0]
    if mirror.source == mirror.target:
        return
    for index, producer in enumerate(topology.producers):
        if producer.cluster == mirror.target:
            message = f"producer `{producer.name}` writes at `{mirror.target}`, the passive side"
            hint = "take layout: active-active if both sides write"
            yield Finding(("producers", index, "cluster"), message, hint)


@rule(
    "layout-active-active",
    "error",
    "active-active: every mirror has one in the other direction",
    "What is written at either side must be at the other when one is lost.",
)
def layout_active_active(topology: Topology) -> Iterator[Finding]:
    """Mirrors without their reverse."""
    if topology.layout != "active-active":
        return
    if len(topology.clusters) < 2:
        message = f"active-active has two clusters or more; the file has {len(topology.clusters)}"
        yield Finding(("clusters",), message, "one cluster over several sites is a stretched layout")
    if not topology.replication:
        yield Finding(("replication",), "active-active has mirrors; the file has none", "add both directions")
    for index, mirror in enumerate(topology.replication):
        if topology.mirror(mirror.target, mirror.source) is None and mirror.source != mirror.target:
            message = (
                f"active-active mirrors both ways; none leads from `{mirror.target}` to `{mirror.source}`"
            )
            yield Finding(("replication", index), message, "add it, or take layout: active-passive")


@rule(
    "layout-aggregation",
    "error",
    "aggregation: two or more clusters mirrored into one, or into several centres",
    "Its point is one place where everything can be read, and another one where that goes on.",
)
def layout_aggregation(topology: Topology) -> Iterator[Finding]:
    """Fewer than two sources, centres that copy different clusters, or a centre that is mirrored on."""
    if topology.layout != "aggregation":
        return
    sources = list(dict.fromkeys(mirror.source for mirror in topology.replication))
    targets = list(dict.fromkeys(mirror.target for mirror in topology.replication))
    for index, mirror in enumerate(topology.replication):
        if mirror.source in targets:
            message = f"cluster `{mirror.source}` is a centre of the aggregation and is mirrored on"
            yield Finding(("replication", index), message, "mirrors both ways are layout: active-active")
    for centre in targets:
        if missing := [name for name in sources if topology.mirror(name, centre) is None]:
            message = f"centre `{centre}` has no mirror from {quoted(missing)}, as another centre has"
            hint = "add it, or write a file for each centre"
            yield Finding(("replication",), message, hint)
    if len(sources) < 2:
        message = f"aggregation has two sources or more; the file has {len(sources)}"
        yield Finding(("replication",), message, "one source and one target are layout: active-passive")
    for name in topology.clusters:
        if targets and name not in sources and name not in targets:
            message = f"cluster `{name}` has no part in the aggregation into {quoted(targets)}"
            yield Finding(("clusters", name), message, "add a mirror from it, or remove it")


RULES: tuple[Rule, ...] = (
    layout_one_location,
    layout_stretched,
    layout_homes,
    layout_active_passive,
    layout_active_active,
    layout_aggregation,
)
