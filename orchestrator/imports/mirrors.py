"""Mirrors of an estate: those whose connectors are seen, and those that only their traces tell of.

MirrorMaker leaves topics of its own at both ends, whoever runs it: Connect, its dedicated mode
(`connect-mirror-maker.sh`) or an operator such as Strimzi's. A mirror without a connector that we can see,
or with one that is set up otherwise than the file would, belongs to somebody else: it is described, and
left alone (`managed: false`). Where a mirror's connectors are those that the file would make, the file may
take care of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from orchestrator.errors import UsageError
from orchestrator.estate.desired import configurations
from orchestrator.estate.observed import ObservedConnector
from orchestrator.imports.seen import SeenCluster, SeenEstate
from orchestrator.imports.technical import technical_topics
from orchestrator.replication.connectors import PLAIN_TOPIC, connector_names, mirror_as_set_up
from orchestrator.topology.flows import FIXED_CONNECTOR_PROPERTIES, HEARTBEATS_TOPIC
from orchestrator.topology.model import Replication, Topology
from orchestrator.topology.secrecy import NOT_SHOWN

_SOURCE_CONNECTOR = "MirrorSourceConnector"
_OPERATED = re.compile(r".+->.+\.Mirror\w+Connector")


@dataclass(frozen=True, slots=True)
class SeenMirror:
    """One mirror; `connectors` are those that were seen of it, by their names, none without Connect."""

    mirror: Replication
    connectors: Mapping[str, ObservedConnector]
    note: str = ""


def application_topics(seen: SeenCluster, estate: SeenEstate) -> frozenset[str]:
    """Every topic that is not kept by Kafka, Connect, MirrorMaker or dcctl for itself."""
    return frozenset(seen.observed.topics.keys() - technical_topics(seen, estate))


def seen_mirrors(estate: SeenEstate) -> tuple[tuple[SeenMirror, ...], tuple[str, ...]]:
    """Every mirror between clusters of the estate, and notes on mirrors from elsewhere.

    None of them is `managed` yet. Raises `UsageError` where a mirror calls a cluster by another name than
    the user does: mirrored topics bear that name, so the file must.
    """
    found: dict[tuple[str, str], SeenMirror] = {}
    notes: list[str] = []
    for target in estate.clusters.values():
        for connector in (target.observed.connectors or {}).values():
            if not connector.config.get("connector.class", "").endswith(_SOURCE_CONNECTOR):
                continue
            source = _source_of(connector, target, estate)
            alias = connector.config.get("source.cluster.alias", "source")
            if source is None:
                notes.append(
                    f"a mirror from `{alias}` into {target.name} was seen; `{alias}` is not imported"
                )
            elif (source.name, target.name) not in found:
                seen = _by_connector(connector, source, target, estate)
                found[source.name, target.name] = seen
    for seen in _by_traces(estate):
        found.setdefault((seen.mirror.source, seen.mirror.target), seen)
    for seen in found.values():
        if not seen.mirror.topics:
            notes.append(f"the mirror {_name(seen.mirror)} copies no topic that can be seen; it is left out")
        elif seen.note:
            notes.append(seen.note)
    return tuple(seen for seen in found.values() if seen.mirror.topics), tuple(notes)


def _source_of(connector: ObservedConnector, target: SeenCluster, estate: SeenEstate) -> SeenCluster | None:
    alias = connector.config.get("source.cluster.alias", "source")
    addresses = set(_listed(connector.config.get("source.cluster.bootstrap.servers", "")))
    for cluster in estate.clusters.values():
        known = {*cluster.bootstrap, *(broker.address for broker in cluster.observed.brokers)}
        if cluster is not target and addresses & known:
            if cluster.name != alias:
                raise UsageError(
                    f"cluster {cluster.name}",
                    f"the mirror `{connector.name}` into {target.name} calls it `{alias}`, and so do the "
                    "names of the mirrored topics",
                    f"import it as {alias}=…",
                )
            return cluster
    return estate.clusters.get(alias)


def _by_connector(
    connector: ObservedConnector, source: SeenCluster, target: SeenCluster, estate: SeenEstate
) -> SeenMirror:
    config = connector.config
    policy_class = config.get("replication.policy.class", "DefaultReplicationPolicy")
    mirror = replace(
        mirror_as_set_up(source.name, target.name, config),
        tasks_max=_number(config.get("tasks.max"), 1),
        managed=False,
    )
    names = _selected(config.get("topics", ".*"), application_topics(source, estate))
    mirror = replace(mirror, topics=_copied(mirror, names, target))
    stem = connector.name.removesuffix("-source").partition(".")[0]
    related = {
        name: other
        for name, other in (target.observed.connectors or {}).items()
        if name in connector_names(mirror) or name == connector.name or name.startswith(f"{stem}.")
    }
    note = ""
    if not policy_class.endswith(("IdentityReplicationPolicy", "DefaultReplicationPolicy")):
        note = f"the mirror {_name(mirror)} has a policy of its own, {policy_class}: it is not understood"
    elif _OPERATED.fullmatch(connector.name):
        note = f"the mirror {_name(mirror)} belongs to an operator (`{connector.name}`): observed only"
    return SeenMirror(mirror, related, note)


def _by_traces(estate: SeenEstate) -> Iterator[SeenMirror]:
    """Mirrors that MirrorMaker's own topics tell of."""
    for target in estate.clusters.values():
        for source in estate.clusters.values():
            if source is target:
                continue
            mirror = _traced(source, target, estate)
            if mirror is not None:
                note = (
                    f"the mirror {_name(mirror)} was known by its topics alone (dedicated MirrorMaker, an "
                    "operator, or Connect at an address that was not given): observed only"
                )
                yield SeenMirror(mirror, {}, note)


def _traced(source: SeenCluster, target: SeenCluster, estate: SeenEstate) -> Replication | None:
    here = target.observed.topics
    for separator in (".", "-", "_"):
        mirror = Replication(
            source=source.name, target=target.name, topics=(), separator=separator, managed=False
        )
        # Offset syncs alone tell nothing: they bear the same name for a mirror in the other direction.
        if mirror.checkpoints_topic not in here and mirror.mirrored_topic(HEARTBEATS_TOPIC) not in here:
            continue
        if mirror.offset_syncs_topic not in here:
            mirror = replace(mirror, offset_syncs="source")
        names = sorted(application_topics(source, estate))
        by_default = _copied(mirror, names, target)
        if by_default:
            return replace(mirror, topics=by_default)
        mirror = replace(mirror, policy="identity")
        return replace(mirror, topics=_copied(mirror, names, target))
    return None


def _copied(mirror: Replication, names: Iterable[str], target: SeenCluster) -> tuple[str, ...]:
    """Those topics of the source that are at the target by the mirror's naming, and did not come from it."""
    back = f"{mirror.target}{mirror.separator}"
    return tuple(
        name
        for name in names
        if not (mirror.policy == "default" and name.startswith(back))
        and mirror.mirrored_topic(name) in target.observed.topics
    )


def _selected(patterns: str, names: frozenset[str]) -> tuple[str, ...]:
    """Names that MirrorMaker's list of regular expressions selects, in its order."""
    found: dict[str, None] = {}
    for pattern in _listed(patterns):
        if PLAIN_TOPIC.fullmatch(pattern):
            name = pattern.replace("\\.", ".")
            found |= dict.fromkeys({name} & names)
            continue
        try:
            expression = re.compile(pattern)
        except re.error:
            continue  # Java's own kind of expression: what it selects is not known
        found |= dict.fromkeys(name for name in sorted(names) if expression.fullmatch(name))
    return tuple(found)


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _number(text: str | None, otherwise: int) -> int:
    return int(text) if text is not None and text.isdigit() else otherwise


def _name(mirror: Replication) -> str:
    return f"{mirror.source} -> {mirror.target}"


_PREFIX = {"source": "source.cluster.", "target": "target.cluster."}
_NOT_CLIENT = ("alias", "bootstrap.servers")


@dataclass(frozen=True, slots=True)
class MirrorClients:
    """How the source connector of a mirror reaches both clusters: addresses, and Java client properties."""

    source_bootstrap: tuple[str, ...]
    target_bootstrap: tuple[str, ...]
    source: Mapping[str, str]
    target: Mapping[str, str]


def mirror_clients(seen: SeenMirror) -> MirrorClients | None:
    """What the connector's configuration says of both clusters; None without one that can be written down."""
    connector = seen.connectors.get(connector_names(seen.mirror).source)
    if connector is None:
        return None
    sides = {side: _side(connector.config, prefix) for side, prefix in _PREFIX.items()}
    if any(NOT_SHOWN in client.values() for client in sides.values()):
        return None
    addresses = {
        side: tuple(
            part.strip() for part in connector.config.get(f"{prefix}bootstrap.servers", "").split(",") if part
        )
        for side, prefix in _PREFIX.items()
    }
    return MirrorClients(addresses["source"], addresses["target"], sides["source"], sides["target"])


def managed_mirror(topology: Topology, seen: SeenMirror) -> tuple[Replication, str]:
    """The mirror as the file would have it to make exactly these connectors; else the reason why it cannot.

    `topology` holds both clusters with the addresses and `mirror_client`s that the connectors use.
    """
    names = connector_names(seen.mirror)
    missing = [name for name in names if name not in seen.connectors]
    if missing:
        return seen.mirror, f"its connectors are not called as the file would ({missing[0]})"
    if seen.mirror.offset_syncs != "target":
        return seen.mirror, "its offset syncs lie at the source, and are lost with it"
    mirror = replace(seen.mirror, managed=True)
    wanted = configurations(topology, mirror)
    overrides = _overrides(wanted[names.source], seen.connectors[names.source].config)
    fixed = sorted(overrides.keys() & {*FIXED_CONNECTOR_PROPERTIES, "topics", "tasks.max"})
    if fixed or NOT_SHOWN in overrides.values():
        return (
            seen.mirror,
            f"its connectors have settings that the file cannot have ({', '.join(fixed) or 'secrets'})",
        )
    mirror = replace(mirror, connectors=overrides)
    for name, config in configurations(topology, mirror).items():
        has = seen.connectors[name].config
        other = sorted(key for key in config.keys() | has.keys() if config.get(key) != has.get(key))
        if other:
            return seen.mirror, f"its connector {name} is set up otherwise ({', '.join(other[:3])})"
    return mirror, ""


def _overrides(wanted: Mapping[str, str], has: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in sorted(has.items()) if wanted.get(key) != value}


def _side(config: Mapping[str, str], prefix: str) -> dict[str, str]:
    return {
        key.removeprefix(prefix): value
        for key, value in sorted(config.items())
        if key.startswith(prefix) and key.removeprefix(prefix) not in _NOT_CLIENT
    }
