"""Which layouts each verb can handle in this version. What it cannot, it refuses before it does anything.

Every valid file can be explained, drawn and applied; moving applications is taught one layout at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from orchestrator.errors import DcctlError
from orchestrator.replication.engine import engine_of
from orchestrator.topology.model import Consumer, Producer, Topology

Verb = Literal[
    "sim workload", "drill", "failover", "failback", "switchover", "status", "watch", "offsets", "relocate"
]


@dataclass(frozen=True, slots=True)
class Support:
    """What one verb handles: layouts, replication policies, consumers that read by a pattern (but for
    layouts of `no_patterns_in`), applications that run at several sites at once, and mirrors of clusters that
    lie at several sites (`stretched_ends`).
    """

    layouts: frozenset[str]
    policies: frozenset[str] = frozenset({"default"})
    patterns: bool = False
    no_patterns_in: frozenset[str] = frozenset()
    several_sites: bool = True
    stretched_ends: bool = True


_MIRRORED = frozenset({"active-passive", "active-active", "aggregation"})
_STRETCHED = frozenset({"stretched-2dc", "stretched-2.5dc", "stretched-3dc"})
_BOTH = frozenset({"default", "identity"})
_ROUTED = Support(_MIRRORED, patterns=True)

SUPPORT: Mapping[Verb, Support] = {
    "sim workload": Support(_MIRRORED | _STRETCHED, patterns=True, several_sites=False),
    # Over the one mirror of active-passive the audit asks for each topic by its name.
    "drill": Support(
        _MIRRORED | _STRETCHED,
        patterns=True,
        no_patterns_in=frozenset({"active-passive"}),
        several_sites=False,
        stretched_ends=False,
    ),
    "failover": _ROUTED,
    "switchover": _ROUTED,
    "failback": _ROUTED,
    "status": _ROUTED,
    "watch": Support(_MIRRORED, _BOTH, patterns=True),
    "offsets": Support(_MIRRORED, _BOTH),
    "relocate": Support(_MIRRORED),
}


def refuse_unsupported(topology: Topology, verb: Verb) -> None:
    """Raise `DcctlError` if `verb` cannot handle this topology, naming all that it cannot handle."""
    reasons = unsupported(topology, verb)
    if reasons:
        hint = "validate, explain, graph, plan and apply support every layout"
        if topology.is_one_cluster:
            hint += "; within a stretched cluster: leaders, switchover --evacuate DC, failover, failback"
        raise DcctlError(
            f"topology {topology.name}",
            f"`dcctl {verb}` does not support this topology yet: {'; '.join(reasons)}. Nothing was done",
            hint,
        )


def unsupported(topology: Topology, verb: Verb) -> list[str]:
    """All of this topology that `verb` cannot handle, in words; nothing where it can."""
    return list(_unsupported(topology, SUPPORT[verb]))


def _unsupported(topology: Topology, known: Support) -> Iterator[str]:
    if not topology.is_laid_out(known.layouts):
        yield f"layout {topology.layout} (only {', '.join(sorted(known.layouts))})"
    for mirror in topology.replication:
        name = f"mirror {mirror.source} → {mirror.target}"
        if mirror.policy not in known.policies:
            yield f"{name} has policy {mirror.policy} (only {', '.join(sorted(known.policies))})"
        if not mirror.managed:
            yield f"{name} is not managed by dcctl"
        yield from (f"{name} {what}" for what in engine_of(mirror).unsupported(mirror))
        ends = (mirror.source, mirror.target) if not known.stretched_ends else ()
        yield from (
            f"{name}: {end} lies at several sites"
            for end in ends
            if len(topology.clusters[end].datacenters) > 1
        )
    for consumer in topology.consumers:
        yield from _unsupported_of(topology, consumer, known)
    everybody: tuple[Producer | Consumer, ...] = (*topology.producers, *topology.consumers)
    for application in everybody:
        if len(application.instances) > 1 and not known.several_sites:
            yield f"{application.name} has instances at several sites: a simulation runs one, at one site"


def _unsupported_of(topology: Topology, consumer: Consumer, known: Support) -> Iterator[str]:
    is_mirrored = any(mirror.source == consumer.cluster for mirror in topology.replication)
    reads = known.patterns and topology.layout not in known.no_patterns_in
    if not reads and consumer.pattern is not None and is_mirrored:
        yield f"consumer {consumer.name} reads by a pattern"
