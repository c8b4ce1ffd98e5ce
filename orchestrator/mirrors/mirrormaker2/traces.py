"""MirrorMaker 2's traces in an estate: connectors that are seen, and mirrors that only topics tell of.

MirrorMaker leaves topics of its own at both ends, whoever runs it: Connect, its dedicated mode
(`connect-mirror-maker.sh`) or an operator such as Strimzi's. A mirror without a connector that we can see,
or with one that is set up otherwise than the file would, belongs to somebody else: it is described, and
left alone (`managed: false`). Where a mirror's connectors are those that the file would make, the file may
take care of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from orchestrator.errors import UsageError
from orchestrator.mirrors.mirrormaker2.connectors import (
    PLAIN_TOPIC,
    configurations,
    connector_names,
    mirror_as_set_up,
)
from orchestrator.replication.engine import MirrorClients, SeenMirror, TracedCluster
from orchestrator.topology.flows import FIXED_CONNECTOR_PROPERTIES, HEARTBEATS_TOPIC
from orchestrator.topology.mirrored_topics import MirroredTopics, pattern_problem
from orchestrator.topology.model import Replication, Topology
from orchestrator.topology.secrecy import NOT_SHOWN

Estate = Mapping[str, TracedCluster]
"""By the names that the user gave the clusters."""

_SOURCE_CONNECTOR = "MirrorSourceConnector"
_OPERATED = re.compile(r".+->.+\.Mirror\w+Connector")
OWN_GROUP = re.compile(r"mirrormaker.*")
"""Ids of MirrorMaker's own consumer groups (its first version's)."""
_OWN = re.compile(r"mm2-(?:offset-syncs|configs|offsets|status)\W.+\Winternal")
_CHECKPOINTS = re.compile(r"(.+)\Wcheckpoints\Winternal")
_HEARTBEATS = re.compile(rf"(.+)([\W_]){HEARTBEATS_TOPIC}")


def seen_mirrors(estate: Estate) -> tuple[tuple[SeenMirror, ...], tuple[str, ...]]:
    """Every mirror between clusters of the estate, and notes on mirrors from elsewhere.

    None of them is `managed` yet. Raises `UsageError` where a mirror calls a cluster by another name than
    the user does: mirrored topics bear that name, so the file must.
    """
    found: dict[tuple[str, str], SeenMirror] = {}
    notes: list[str] = []
    for target in estate.values():
        for name, config in target.connectors.items():
            if not config.get("connector.class", "").endswith(_SOURCE_CONNECTOR):
                continue
            source = _source_of(name, config, target, estate)
            alias = config.get("source.cluster.alias", "source")
            if source is None:
                notes.append(
                    f"a mirror from `{alias}` into {target.name} was seen; `{alias}` is not imported"
                )
            elif (source.name, target.name) not in found:
                found[source.name, target.name] = _by_connector(name, config, source, target)
    for seen in _by_traces(estate):
        found.setdefault((seen.mirror.source, seen.mirror.target), seen)
    for seen in found.values():
        if not seen.mirror.topics:
            notes.append(f"the mirror {_name(seen.mirror)} copies no topic that can be seen; it is left out")
        elif seen.note:
            notes.append(seen.note)
    return tuple(seen for seen in found.values() if seen.mirror.topics), tuple(notes)


def _source_of(
    connector: str, config: Mapping[str, str], target: TracedCluster, estate: Estate
) -> TracedCluster | None:
    alias = config.get("source.cluster.alias", "source")
    addresses = set(_listed(config.get("source.cluster.bootstrap.servers", "")))
    for cluster in estate.values():
        if cluster is not target and addresses & cluster.addresses:
            if cluster.name != alias:
                raise UsageError(
                    f"cluster {cluster.name}",
                    f"the mirror `{connector}` into {target.name} calls it `{alias}`, and so do the "
                    "names of the mirrored topics",
                    f"import it as {alias}=…",
                )
            return cluster
    return estate.get(alias)


def _by_connector(
    connector: str, config: Mapping[str, str], source: TracedCluster, target: TracedCluster
) -> SeenMirror:
    policy_class = config.get("replication.policy.class", "DefaultReplicationPolicy")
    mirror = replace(
        mirror_as_set_up(source.name, target.name, config),
        tasks_max=_number(config.get("tasks.max"), 1),
        managed=False,
    )
    entries = _listed(config.get("topics", ".*"))
    names = _copied(mirror, _selected(entries, source.applications), target)
    mirror = replace(mirror, topics=MirroredTopics(names, _patterns(entries)))
    stem = connector.removesuffix("-source").partition(".")[0]
    related = {
        name: other
        for name, other in target.connectors.items()
        if name in connector_names(mirror) or name == connector or name.startswith(f"{stem}.")
    }
    note = ""
    if not policy_class.endswith(("IdentityReplicationPolicy", "DefaultReplicationPolicy")):
        note = f"the mirror {_name(mirror)} has a policy of its own, {policy_class}: it is not understood"
    elif _OPERATED.fullmatch(connector):
        note = f"the mirror {_name(mirror)} belongs to an operator (`{connector}`): observed only"
    return SeenMirror(mirror, related, note)


def _by_traces(estate: Estate) -> Iterator[SeenMirror]:
    """Mirrors that MirrorMaker's own topics tell of."""
    for target in estate.values():
        for source in estate.values():
            if source is target:
                continue
            mirror = _traced(source, target)
            if mirror is not None:
                note = (
                    f"the mirror {_name(mirror)} was known by its topics alone (dedicated MirrorMaker, an "
                    "operator, or Connect at an address that was not given): observed only"
                )
                yield SeenMirror(mirror, {}, note)


def _traced(source: TracedCluster, target: TracedCluster) -> Replication | None:
    here = target.topics
    for separator in (".", "-", "_"):
        mirror = Replication(
            source=source.name, target=target.name, topics=(), separator=separator, managed=False
        )
        # Offset syncs alone tell nothing: they bear the same name for a mirror in the other direction.
        if mirror.checkpoints_topic not in here and mirror.mirrored_topic(HEARTBEATS_TOPIC) not in here:
            continue
        if mirror.offset_syncs_topic not in here:
            mirror = replace(mirror, offset_syncs="source")
        names = sorted(source.applications)
        by_default = _copied(mirror, names, target)
        if by_default:
            return replace(mirror, topics=by_default)
        mirror = replace(mirror, policy="identity")
        return replace(mirror, topics=_copied(mirror, names, target))
    return None


def _copied(mirror: Replication, names: Iterable[str], target: TracedCluster) -> tuple[str, ...]:
    """Those topics of the source that are at the target by the mirror's naming, and did not come from it."""
    back = f"{mirror.target}{mirror.separator}"
    return tuple(
        name
        for name in names
        if not (mirror.policy == "default" and name.startswith(back))
        and mirror.mirrored_topic(name) in target.topics
    )


def _patterns(entries: Iterable[str]) -> tuple[str, ...]:
    """Those of MirrorMaker's regular expressions that stand for no single name.

    None where one of them would be read otherwise by dcctl: the file then has the names that it selects now.
    """
    found = tuple(entry for entry in entries if not PLAIN_TOPIC.fullmatch(entry))
    return () if any(map(pattern_problem, found)) else found


def _selected(entries: Iterable[str], names: frozenset[str]) -> tuple[str, ...]:
    """Names that MirrorMaker's list of regular expressions selects, in its order."""
    found: dict[str, None] = {}
    for pattern in entries:
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


def mirror_clients(seen: SeenMirror) -> MirrorClients | None:
    """What the connector's configuration says of both clusters; None without one that can be written down."""
    connector = seen.connectors.get(connector_names(seen.mirror).source)
    if connector is None:
        return None
    sides = {side: _side(connector, prefix) for side, prefix in _PREFIX.items()}
    if any(NOT_SHOWN in client.values() for client in sides.values()):
        return None
    addresses = {
        side: tuple(
            part.strip() for part in connector.get(f"{prefix}bootstrap.servers", "").split(",") if part
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
    overrides = _overrides(wanted[names.source], seen.connectors[names.source])
    fixed = sorted(overrides.keys() & {*FIXED_CONNECTOR_PROPERTIES, "topics", "tasks.max"})
    if fixed or NOT_SHOWN in overrides.values():
        return (
            seen.mirror,
            f"its connectors have settings that the file cannot have ({', '.join(fixed) or 'secrets'})",
        )
    mirror = replace(mirror, connectors=overrides)
    for name, config in configurations(topology, mirror).items():
        has = seen.connectors[name]
        keys = config.keys() | has.keys()
        other = sorted(key for key in keys if not _is_alike(key, config.get(key), has.get(key)))
        if other:
            return seen.mirror, f"its connector {name} is set up otherwise ({', '.join(other[:3])})"
    return mirror, ""


def _is_alike(key: str, wanted: str | None, has: str | None) -> bool:
    """Whether a setting is the file's. Groups at work at the target stand behind what is always left out:
    which these are follows from consumers.
    """
    if key == "groups.exclude" and wanted is not None and has is not None:
        return has == wanted or has.startswith(f"{wanted},")
    return wanted == has


def _overrides(wanted: Mapping[str, str], has: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in sorted(has.items()) if wanted.get(key) != value}


def _side(config: Mapping[str, str], prefix: str) -> dict[str, str]:
    return {
        key.removeprefix(prefix): value
        for key, value in sorted(config.items())
        if key.startswith(prefix) and key.removeprefix(prefix) not in _NOT_CLIENT
    }


def own_topics(cluster: TracedCluster, estate: Estate) -> frozenset[str]:
    """Names of MirrorMaker's topics at a cluster.

    Heartbeats are MirrorMaker's with the name of a cluster or of a mirror's source before them, and alone
    where a mirror out of or into the cluster has left traces.
    """
    sources = _sources(estate)
    found = {name for name in cluster.topics if _OWN.fullmatch(name) or _CHECKPOINTS.fullmatch(name)}
    found |= set(_heartbeats(cluster.topics, sources | estate.keys()))
    if HEARTBEATS_TOPIC in cluster.topics and (found or cluster.name in sources):
        found.add(HEARTBEATS_TOPIC)
    return frozenset(found)


def _sources(estate: Estate) -> frozenset[str]:
    """What mirrors into the estate call the clusters that they copy from."""
    found: set[str] = set()
    for cluster in estate.values():
        for config in cluster.connectors.values():
            if "Mirror" in config.get("connector.class", ""):
                found.add(config.get("source.cluster.alias", "source"))
        for name in cluster.topics:
            match = _CHECKPOINTS.fullmatch(name)
            if match is not None:
                found.add(match[1])
        found |= {
            match[1]
            for name in cluster.topics
            if (match := _HEARTBEATS.fullmatch(name)) and match[1] in estate
        }
    return frozenset(found)


def _heartbeats(names: Iterable[str], aliases: frozenset[str]) -> Iterator[str]:
    """Those that a mirror has copied, over several clusters perhaps."""
    for name in names:
        match = _HEARTBEATS.fullmatch(name)
        if match is not None and (match[1] in aliases or aliases.issuperset(match[1].split(match[2]))):
            yield name
