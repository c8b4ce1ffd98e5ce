"""Throttled mirrors: that a limit can be kept."""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.topology.flows import CLIENT_ID
from orchestrator.topology.model import Replication, Topology
from orchestrator.topology.rules.rule import Finding, Rule, rule


@rule(
    "mirror-throttle",
    "error",
    "A mirror with max_bytes_per_s is managed, by an engine that keeps to it, and each broker gets its part",
    "A client quota holds for each broker by itself, and for the client id that dcctl gives the connector.",
)
def mirror_throttle(topology: Topology) -> Iterator[Finding]:
    """Mirrors that nobody would keep to their limit."""
    for index, mirror in enumerate(topology.replication):
        if mirror.max_bytes_per_s is None:
            continue
        for message, hint in _wrong(topology, mirror, mirror.max_bytes_per_s):
            yield Finding(("replication", index, "max_bytes_per_s"), message, hint)


def _wrong(topology: Topology, mirror: Replication, limit: int) -> Iterator[tuple[str, str]]:
    name, target = f"the mirror {mirror.source} → {mirror.target}", topology.clusters.get(mirror.target)
    if not mirror.managed:
        yield f"{name} is not managed: dcctl cannot limit it", "remove it, or let whoever owns it limit it"
    elif not mirror.can_be_throttled:
        yield f"{name} cannot be limited: its engine {mirror.engine} has no limit", "remove it"
    if CLIENT_ID in mirror.connectors:
        yield (
            f"{name} gets its client id from dcctl, for the limit; `connectors` sets another one",
            f"remove {CLIENT_ID} from its `connectors`",
        )
    if target is not None and not target.brokers:
        yield (
            f"the file has no brokers at `{mirror.target}`, among which the limit is divided",
            f"add `brokers` to the nodes of `{mirror.target}`",
        )
    elif target is not None and limit < target.brokers:
        yield (
            f"{name} may write {limit} bytes/s, less than 1 to each of {target.brokers} brokers",
            f"take {target.brokers} or more",
        )


RULES: tuple[Rule, ...] = (mirror_throttle,)
