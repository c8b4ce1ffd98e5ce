"""Consumers that read from the nearest replica, and what that needs."""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.topology.durability.reading import readings
from orchestrator.topology.model import Topology
from orchestrator.topology.rules.rule import Finding, Rule, quoted, rule


@rule(
    "nearest-replica",
    "warning",
    "Consumers that read from the nearest replica have one at their site",
    "A broker is near to whoever is in its rack. Where no replica is, a consumer reads from the leader, and "
    "what it reads crosses sites as if the file said nothing.",
    needs_sound=True,
)
def nearest_replica(topology: Topology) -> Iterator[Finding]:
    """Clusters without known racks or with brokers in one place only; consumers without a replica at hand."""
    useless = set()
    for name, cluster in topology.clusters.items():
        if cluster.read_from == "leader":
            continue
        path = ("clusters", name, "read_from")
        if "racks" in cluster.unknown:
            useless.add(name)
            message = (
                f"which broker of `{name}` stands where is not known: one without `broker.rack` is nobody's "
                "nearest, and what consumers elsewhere read from its leaders goes on crossing sites"
            )
            hint = "give each broker its site as `broker.rack`, then take racks out of `unknown`"
            yield Finding(path, message, hint)
        elif len(cluster.brokers_per_dc) == 1:
            useless.add(name)
            message = (
                f"all brokers of `{name}` are in {quoted(cluster.brokers_per_dc)}: all leaders are there, "
                "and whoever reads from elsewhere crosses sites for each record"
            )
            if cluster.racks:
                message = (
                    f"`{name}` has racks, and the file says of no consumer in which one it is: what it "
                    "has as `client.rack` by the file, its data centre, is nobody's rack"
                )
            yield Finding(path, message, "take read_from: leader")
    places = {consumer.name: index for index, consumer in enumerate(topology.consumers)}
    for one in readings(topology):
        if not one.is_near and one.cluster not in useless:
            some = "no partition" if one.at_site is None or not one.at_site[1] else "not each partition"
            message = (
                f"`{one.consumer}` at `{one.site}` is to read {quoted(one.topics)} from the nearest replica, "
                f"and {some} has one there: what it reads of the others crosses sites"
            )
            hint = f"say replicas_per_dc with replicas at `{one.site}`, or instances at sites that have them"
            yield Finding(("consumers", places[one.consumer]), message, hint)


RULES: tuple[Rule, ...] = (nearest_replica,)
