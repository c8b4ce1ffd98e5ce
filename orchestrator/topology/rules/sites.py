"""Sites and what is between them: links, residency, and the place of the coordination ensemble."""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.topology.model import Topic, Topology
from orchestrator.topology.rules.references import applications
from orchestrator.topology.rules.rule import Finding, Rule, quoted, rule
from orchestrator.topology.source import Path
from orchestrator.wording import plural

_SLOW_MS = 50.0


@rule(
    "links-distinct",
    "error",
    "A link joins two data centres",
    "From a data centre to itself there is none.",
)
def links_distinct(topology: Topology) -> Iterator[Finding]:
    """Links with one end."""
    for index, link in enumerate(topology.links):
        if link.between[0] == link.between[1]:
            message = f"the link leads from `{link.between[0]}` to itself"
            yield Finding(("links", index, "between"), message, "name two data centres")


@rule(
    "links-slow",
    "warning",
    "The sites of a stretched cluster are near each other",
    "Each acknowledged write waits for the slowest in-sync replica, and every election for the slowest "
    "voter; vendors of stretched clusters ask for 50 ms at most.",
)
def links_slow(topology: Topology) -> Iterator[Finding]:
    """Links of more than 50 ms inside one cluster."""
    for index, link in enumerate(topology.links):
        if link.latency_ms <= _SLOW_MS or link.between[0] == link.between[1]:
            continue
        for name, cluster in topology.clusters.items():
            if set(link.between) <= set(cluster.datacenters):
                message = (
                    f"cluster `{name}` is stretched over {link.latency_ms:g} ms between "
                    f"`{link.between[0]}` and `{link.between[1]}`: each write waits for it"
                )
                hint = f"above {_SLOW_MS:g} ms take two clusters and a mirror"
                yield Finding(("links", index, "latency_ms"), message, hint)


@rule(
    "residency",
    "error",
    "No copy of a topic lies outside its residency",
    "Where records may lie is often law.",
)
def residency(topology: Topology) -> Iterator[Finding]:
    """Replicas in the own cluster, and copies by mirrors, also by mirrors of mirrors."""
    for index, topic in enumerate(topology.topics):
        if not topic.residency or topic.cluster not in topology.clusters:
            continue
        allowed = set(topic.residency)
        for cluster, sites in _copies(topology, topic):
            outside = [dc for dc in sites if dc not in allowed]
            if not outside:
                continue
            path: Path = ("topics", index, "residency")
            if cluster == topic.cluster:
                hint = "say replicas_per_dc, or widen residency"
                message = f"replicas of `{topic.name}` may lie in {quoted(outside)}"
            else:
                hint = "take it out of the mirror, or widen residency"
                message = f"a mirror copies `{topic.name}` to `{cluster}` in {quoted(outside)}"
            yield Finding(path, message, hint)


def _copies(topology: Topology, topic: Topic) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Clusters with copies, and the data centres where they can lie."""
    spread = tuple(dc for dc, count in topic.replicas_per_dc.items() if count)
    yield topic.cluster, spread or tuple(topology.clusters[topic.cluster].brokers_per_dc)
    waiting, seen = [(topic.cluster, topic.name)], {(topic.cluster, topic.name)}
    while waiting:
        cluster, name = waiting.pop(0)
        for mirror in topology.replication:
            copy = (mirror.target, mirror.mirrored_topic(name))
            if mirror.source != cluster or name not in mirror.topics or copy in seen:
                continue
            seen.add(copy)
            waiting.append(copy)
            if mirror.target in topology.clusters:
                yield mirror.target, tuple(topology.clusters[mirror.target].brokers_per_dc)


@rule(
    "instances-at-sites",
    "error",
    "Instances of an application run at sites of its cluster",
    "At the loss of a site its instances are started at another one of the same cluster.",
)
def instances_at_sites(topology: Topology) -> Iterator[Finding]:
    """Instances where the application's own cluster has no server."""
    for place, application in applications(topology):
        cluster = topology.clusters.get(application.cluster)
        for dc in application.instances:
            if cluster is None or dc in cluster.datacenters or dc not in topology.datacenters:
                continue
            message = f"`{application.name}` has instances in `{dc}`; its cluster is in "
            message += quoted(cluster.datacenters)
            path: Path = (*place, "instances", dc)
            yield Finding(path, message, "name a site of the cluster, or leave instances out")


@rule(
    "mirror-bootstrap-sites",
    "warning",
    "A mirror begins with brokers at more than one site of a stretched cluster",
    "Whoever starts a connector while a site is lost has no other addresses than those in `bootstrap`: it "
    "would not find the brokers that are left, and the mirror would stand though its cluster goes on.",
)
def mirror_bootstrap_sites(topology: Topology) -> Iterator[Finding]:
    """No more addresses than one site has brokers. Which broker is where no address tells."""
    mirrored = {name for mirror in topology.replication for name in (mirror.source, mirror.target)}
    for name, cluster in topology.clusters.items():
        there = cluster.brokers_per_dc
        if name not in mirrored or len(there) < 2 or not cluster.bootstrap:
            continue
        named, at_one = len(set(cluster.bootstrap)), max(there.values())
        if named <= at_one:
            largest = quoted(dc for dc, count in there.items() if count >= named)
            message = (
                f"bootstrap of `{name}` names {plural(named, 'broker')}, which may all be at one site "
                f"({largest}): if that is lost, so are its mirrors"
            )
            hint = f"name {at_one + 1} or more, which are never all at one site"
            yield Finding(("clusters", name, "bootstrap"), message, hint)


@rule(
    "coordination-servers",
    "error",
    "coordination.datacenters names one data centre for each server of the ensemble",
    "Which loss it survives is counted from them.",
)
def coordination_servers(topology: Topology) -> Iterator[Finding]:
    """More or fewer names than servers."""
    named = topology.coordination
    if named is None or not named.datacenters:
        return
    servers = [server for server in named.zookeeper.partition("/")[0].split(",") if server.strip()]
    if len(servers) != len(named.datacenters):
        message = (
            f"coordination has {plural(len(servers), 'server')} and "
            f"{plural(len(named.datacenters), 'data centre')}"
        )
        yield Finding(("coordination", "datacenters"), message, "name one for each server, in their order")


@rule(
    "coordination-survives",
    "error",
    "The coordination ensemble survives the loss of any one site",
    "It holds the lock and the journal of a failover: it must not be lost with the site.",
)
def coordination_survives(topology: Topology) -> Iterator[Finding]:
    """Ensembles of which a site that holds brokers has half."""
    named = topology.coordination
    holding = {dc for cluster in topology.clusters.values() for dc in cluster.brokers_per_dc}
    if named is None or len(holding) < 2:
        return
    total = len(named.datacenters)
    for dc in dict.fromkeys(named.datacenters):
        there = named.datacenters.count(dc)
        if dc in holding and 2 * (total - there) <= total:
            message = (
                f"the coordination ensemble dies with `{dc}`: it has {there} of {plural(total, 'server')}"
            )
            hint = "place one server in a third site; neither of two sites may have half of them"
            yield Finding(("coordination", "datacenters"), message, hint)


@rule(
    "stretched-moves",
    "warning",
    "The file of a stretched cluster on servers of one's own names an ensemble and an inventory",
    "Without the ensemble's lock nothing is moved. Hosts of voters, brokers and applications are reached by "
    "the inventory.",
)
def stretched_moves(topology: Topology) -> Iterator[Finding]:
    """Clusters over several sites with addresses of their own; those of a simulation have none yet."""
    for name, cluster in topology.clusters.items():
        if len(cluster.datacenters) < 2 or not cluster.bootstrap:
            continue
        if topology.coordination is None:
            message = f"`{name}` stands in several data centres, and the file names no coordination ensemble"
            hint = 'add coordination: {zookeeper: "HOST:PORT,…"}: without its lock no failover is made'
            yield Finding(("clusters", name), message, hint)
        if not topology.inventory:
            message = f"`{name}` stands in several data centres, and the file names no inventory"
            hint = "add inventory: PATH, with the hosts of its voters and brokers, and their `dcctl_servers`"
            yield Finding(("clusters", name), message, hint)


RULES: tuple[Rule, ...] = (
    links_distinct,
    links_slow,
    residency,
    instances_at_sites,
    mirror_bootstrap_sites,
    coordination_servers,
    coordination_survives,
    stretched_moves,
)
