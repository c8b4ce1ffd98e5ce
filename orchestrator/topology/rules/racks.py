"""Racks of one location: where they may stand, and what Kafka makes of them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from orchestrator.topology.model import Topology
from orchestrator.topology.rules.rule import Finding, Rule, quoted, rule
from orchestrator.topology.source import Path

_SERVER = re.compile(r"(broker|controller|zookeeper|connect)-\d+")


@rule(
    "racks-layout",
    "error",
    "Racks are named in one location only",
    "In every other layout the data centre is the rack: what dcctl knows of a loss rests on that.",
)
def racks_layout(topology: Topology) -> Iterator[Finding]:
    """Rows with a rack in other layouts."""
    if topology.layout == "one-location":
        return
    for path, rack in _named(topology):
        message = f"rack `{rack}` is named in layout {topology.layout}, where each data centre is one rack"
        yield Finding(path, message, "remove it")


@rule(
    "racks-complete",
    "error",
    "All brokers of a cluster have a rack, or none has",
    "One without would tell its data centre, and Kafka would spread replicas over that as another rack.",
)
def racks_complete(topology: Topology) -> Iterator[Finding]:
    """Rows with brokers and no rack beside others that have one; racks that nobody is said to know."""
    for name, cluster in topology.clusters.items():
        if not cluster.racks or topology.layout != "one-location":
            continue
        for index, row in enumerate(cluster.nodes):
            if row.brokers and not row.rack:
                message = f"brokers of `{name}` without a rack beside others in {quoted(cluster.racks)}"
                hint = "give this row a rack, or take it from the others"
                yield Finding(("clusters", name, "nodes", index), message, hint)
        if "racks" in cluster.unknown:
            place = cluster.unknown.index("racks")
            message = f"`{name}` names racks, and says that they are unknown"
            yield Finding(("clusters", name, "unknown", place), message, "keep one of the two")


@rule(
    "racks-names",
    "error",
    "A rack has a name of its own, and stands in one row",
    "`north/rack-a` has to mean one rack; its servers are counted where it stands.",
)
def racks_names(topology: Topology) -> Iterator[Finding]:
    """Racks named like a data centre or a server, and those that stand twice."""
    seen = set[str]()
    for path, rack in _named(topology):
        if rack in topology.datacenters:
            yield Finding(path, f"rack `{rack}` is named like a data centre", "rename the rack")
        elif _SERVER.fullmatch(rack):
            yield Finding(path, f"rack `{rack}` is named like a server", "rename the rack")
        elif rack in seen:
            yield Finding(path, f"rack `{rack}` stands in more than one row", "write its servers in one row")
        seen.add(rack)


def _named(topology: Topology) -> Iterator[tuple[Path, str]]:
    for name, cluster in topology.clusters.items():
        for index, row in enumerate(cluster.nodes):
            if row.rack:
                yield ("clusters", name, "nodes", index, "rack"), row.rack


RULES: tuple[Rule, ...] = (racks_layout, racks_complete, racks_names)
