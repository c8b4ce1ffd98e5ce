"""The topology file of an estate that was seen. Pure: what was seen in, file and notes out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from orchestrator.errors import ClusterError
from orchestrator.imports.clients import seen_clients
from orchestrator.imports.limits import seen_limit
from orchestrator.imports.seen import Imported, SeenCluster, SeenEstate
from orchestrator.imports.sites import Sites, seen_sites
from orchestrator.imports.technical import technical_topics, traced_clusters
from orchestrator.imports.topics import (
    described_copies,
    described_topic,
    internal_topics,
    own_topics,
    without_defaults,
)
from orchestrator.replication.engine import SeenMirror, all_engines, engine_of
from orchestrator.topology.mirrored_topics import MirroredTopics, matching
from orchestrator.topology.model import Cluster, Coordination, Layout, Replication, Topic, Topology, Unknown
from orchestrator.topology.reading import read_from, unknown_selector
from orchestrator.topology.rules.mirrors import mirror_internal_topics
from orchestrator.wording import listed


def imported_topology(estate: SeenEstate) -> Imported:
    """The file that describes the estate, guessed where it must be, `unknown` where it cannot.

    Raises `ClusterError` for a cluster of which nothing could be read, or that no mirror joins to the
    others; and `UsageError` for a name that the mirrors contradict.
    """
    for seen in estate.clusters.values():
        if seen.observed.problem:
            raise ClusterError(f"cluster {seen.name}", seen.observed.problem)
    notes: list[str] = []
    sites = {name: seen_sites(seen, estate) for name, seen in estate.clusters.items()}
    mirrors, said = _seen_mirrors(estate)
    _refuse_unconnected(estate, mirrors)
    plain = tuple(seen.mirror for seen in mirrors)
    clusters = {
        name: _cluster(seen, sites[name], estate, plain, notes) for name, seen in estate.clusters.items()
    }
    for found in sites.values():
        notes += found.notes
    notes += said
    notes += _left_out(estate)
    clusters = _with_mirror_clients(clusters, mirrors, estate)
    topology = Topology(
        version=1,
        name=estate.name,
        layout=_layout(sites, plain),
        datacenters=tuple(dict.fromkeys(row.dc for found in sites.values() for row in found.rows)),
        clusters=clusters,
        coordination=Coordination(zookeeper=estate.coordination) if estate.coordination else None,
        inventory=estate.inventory,
    )
    owned = tuple(_owned(topology, seen, estate, notes) for seen in mirrors)
    topology = replace(topology, topics=tuple(_topics(estate, sites, owned, notes)))
    topology = replace(topology, replication=tuple(_copies(topology, owned, estate, notes)))
    topology = _without_state(topology, notes)
    topology = _with_mirror_principals(topology, estate)
    clients = seen_clients(topology, estate)
    notes += clients.notes
    topology = replace(topology, producers=clients.producers, consumers=clients.consumers)
    return Imported(topology=topology, notes=tuple(dict.fromkeys(notes)))


def _seen_mirrors(estate: SeenEstate) -> tuple[tuple[SeenMirror, ...], list[str]]:
    """Those of every engine; of two between the same clusters the first engine's."""
    traced, found, notes = traced_clusters(estate), dict[tuple[str, str], SeenMirror](), list[str]()
    for engine in all_engines():
        mirrors, said = engine.seen_mirrors(traced)
        notes += said
        for seen in mirrors:
            found.setdefault((seen.mirror.source, seen.mirror.target), seen)
    return tuple(found.values()), notes


def _refuse_unconnected(estate: SeenEstate, mirrors: Sequence[SeenMirror]) -> None:
    joined = {name for seen in mirrors for name in (seen.mirror.source, seen.mirror.target)}
    alone = [name for name in estate.clusters if name not in joined]
    if len(estate.clusters) > 1 and alone:
        raise ClusterError(
            f"cluster {alone[0]}",
            "no mirror between it and the others can be seen",
            "import it by itself, or name the Connect workers that run its mirrors (--connect)",
        )


def _cluster(
    seen: SeenCluster,
    sites: Sites,
    estate: SeenEstate,
    mirrors: Sequence[Replication],
    notes: list[str],
) -> Cluster:
    durability, is_known = internal_topics(seen)
    unknown: list[Unknown] = []
    if not sites.has_quorum:
        unknown.append("quorum")
    if not sites.has_racks:
        unknown.append("racks")
    if not is_known:
        unknown.append("internal-topics")
        notes.append(f"how durable Kafka's own topics of {seen.name} are could not be seen")
    if seen.observed.acls is None:
        unknown.append("acls")
        notes.append(
            f"access rules of {seen.name} could not be seen: {seen.observed.unknown.get('acls', '')}"
        )
    if selector := unknown_selector(seen.settings):
        notes.append(
            f"brokers of {seen.name} choose by {selector} which replica a consumer reads from; the file "
            "cannot say that, and says read_from: leader"
        )
    is_target = any(mirror.target == seen.name for mirror in mirrors)
    if is_target and seen.observed.quotas is None:
        notes.append(
            f"how fast mirrors into {seen.name} may write could not be seen: "
            f"{seen.observed.unknown.get('quotas', '')}"
        )
    if seen.observed.connectors is None or (is_target and not seen.connect):
        unknown.append("connectors")
    cluster = Cluster(
        kafka=_version(seen, estate, notes),
        metadata=seen.metadata,
        nodes=sites.rows,
        quorum="hierarchical" if sites.is_hierarchical else "majority",
        voters="dynamic" if seen.has_dynamic_voters else "static",
        combined=sites.combined,
        internal_topics=durability,
        read_from=read_from(seen.settings),
        bootstrap=seen.bootstrap,
        connect=seen.connect,
        client=dict(seen.client),
        connect_client=seen.connect_client,
        unknown=tuple(unknown),
    )
    return without_defaults(cluster)


def _version(seen: SeenCluster, estate: SeenEstate, notes: list[str]) -> str:
    """Brokers tell their release at best; of the patches the newest that dcctl knows is taken."""
    known = sorted(estate.known_versions, key=lambda version: [int(n) for n in version.split(".")])
    if seen.release is None:
        version = known[-1] if seen.metadata == "kraft" and known else "3.9.1"
        notes.append(f"the version of {seen.name} could not be seen; {version} is a guess")
        return version
    fitting = [version for version in known if version.startswith(f"{seen.release}.")]
    version = fitting[-1] if fitting else f"{seen.release}.0"
    notes.append(
        f"{seen.name} runs Kafka {seen.release}; its patch level cannot be seen, {version} is a guess"
    )
    return version


def _with_mirror_clients(
    clusters: dict[str, Cluster], mirrors: Sequence[SeenMirror], estate: SeenEstate
) -> dict[str, Cluster]:
    """How mirrors reach the clusters, as the first connector says it; another one is then managed no more."""
    found = dict(clusters)
    done: set[str] = set()
    for seen in mirrors:
        clients = engine_of(seen.mirror).mirror_clients(seen)
        if clients is None:
            continue
        for name, addresses, client in (
            (seen.mirror.source, clients.source_bootstrap, clients.source),
            (seen.mirror.target, clients.target_bootstrap, clients.target),
        ):
            there = estate.clusters[name]
            known = {*there.bootstrap, *(broker.address for broker in there.observed.brokers)}
            if name not in done and set(addresses) <= known:
                found[name] = replace(found[name], bootstrap=addresses, mirror_client=client)
                done.add(name)
    return found


def _with_mirror_principals(topology: Topology, estate: SeenEstate) -> Topology:
    """Who the mirrors are: whoever may write what nobody but their engine writes."""
    clusters = dict(topology.clusters)
    for mirror in topology.replication:
        rules = estate.clusters[mirror.target].observed.acls or ()
        kept = engine_of(mirror).writes_to(mirror)
        writers = {
            rule.principal
            for rule in rules
            if kept and (rule.resource_name, rule.operation) == (kept, "WRITE")
        }
        if mirror.managed and len(writers) == 1:
            principal = writers.pop()
            for name in (mirror.source, mirror.target):
                clusters[name] = replace(clusters[name], mirror_principal=principal)
    return replace(topology, clusters=clusters)


def _topics(
    estate: SeenEstate, sites: dict[str, Sites], mirrors: Sequence[Replication], notes: list[str]
) -> list[Topic]:
    found = []
    for name, seen in estate.clusters.items():
        is_stretched = len({row.dc for row in sites[name].rows}) > 1 and sites[name].has_racks
        homes = (
            {b.broker_id: b.rack for b in seen.observed.brokers if b.rack is not None} if is_stretched else {}
        )
        for topic_name in own_topics(seen, mirrors, estate):
            topic, said = described_topic(seen, topic_name, homes)
            found.append(topic)
            notes += said
    return found


def _left_out(estate: SeenEstate) -> Iterator[str]:
    """Every topic that is taken for nobody's, by name: whoever knows better adds it to the file."""
    for name, seen in estate.clusters.items():
        technical = technical_topics(seen, estate)
        if technical:
            yield (
                f"topics of {name} that Kafka, Connect, a mirror or dcctl keep for themselves are left out: "
                f"{', '.join(sorted(technical))}"
            )


def _owned(topology: Topology, seen: SeenMirror, estate: SeenEstate, notes: list[str]) -> Replication:
    """The mirror with its limit, managed by the file if its connectors are what the file would make of it."""
    engine, limit = engine_of(seen.mirror), seen_limit(topology, seen.mirror, estate)
    if limit is not None:
        limited = replace(seen, mirror=replace(seen.mirror, max_bytes_per_s=limit))
        mirror, reason = engine.managed(topology, limited)
        if not reason:
            return mirror
    mirror, reason = engine.managed(topology, seen)
    if reason and not seen.note:
        notes.append(f"the mirror {mirror.source} -> {mirror.target} is observed only: {reason}")
    return mirror


def _copies(
    topology: Topology, mirrors: Sequence[Replication], estate: SeenEstate, notes: list[str]
) -> Iterator[Replication]:
    for mirror in mirrors:
        topics = {topic.name: topic for topic in topology.topics_of(mirror.source)}
        described, said = described_copies(mirror, estate.clusters[mirror.target], topics)
        notes += said
        matched = [name for name in mirror.topics if matching(mirror.patterns, name)]
        if mirror.patterns:
            notes.append(
                f"the mirror {mirror.source} -> {mirror.target} copies what "
                f"{listed(mirror.patterns)} matches: {listed(matched)} now, and topics to come"
            )
        yield described


def _without_state(topology: Topology, notes: list[str]) -> Topology:
    """The mirrors without internal topics of Streams, ksqlDB or Connect, which the file's rules refuse.

    An engine copies them unless told otherwise; nothing can be built on such copies.
    """
    refused: dict[int, set[int]] = {}
    for finding in mirror_internal_topics.check(topology):
        _, index, _, number = finding.path
        refused.setdefault(int(index), set()).add(int(number))
    kept = []
    for position, mirror in enumerate(topology.replication):
        left_out = {mirror.topics[number] for number in refused.get(position, ())}
        if left_out:
            notes.append(
                f"the mirror {mirror.source} -> {mirror.target} also copies {len(left_out)} internal topics "
                f"of applications ({', '.join(sorted(left_out))}); they are left out: copies of state are of "
                "no use"
            )
        names = tuple(name for name in mirror.topics if name not in left_out)
        kept.append(replace(mirror, topics=MirroredTopics(names, mirror.patterns)))
    return replace(topology, replication=tuple(mirror for mirror in kept if mirror.topics))


def _layout(sites: dict[str, Sites], mirrors: Sequence[Replication]) -> Layout:
    if mirrors:
        pairs = {(mirror.source, mirror.target) for mirror in mirrors}
        sources, targets = {source for source, _ in pairs}, {target for _, target in pairs}
        if all((target, source) in pairs for source, target in pairs):
            return "active-active"
        return "aggregation" if len(sources) > 1 and not sources & targets else "active-passive"
    (only,) = sites.values()
    with_brokers = len({row.dc for row in only.rows if row.brokers})
    if with_brokers <= 1:
        return "one-location"
    if with_brokers == 2:
        return "stretched-2.5dc" if len(only.rows) > 2 else "stretched-2dc"
    return "stretched-3dc"
