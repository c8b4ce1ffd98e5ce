"""Topics that Kafka, Connect, MirrorMaker and dcctl keep for themselves; every other one is an application's.

A name alone tells little: `device.heartbeats` and `orders.connection.status` are applications'. What is taken
for technical wrongly would be in no file, no mirror and no failover.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from orchestrator.imports.seen import SeenCluster, SeenEstate
from orchestrator.topology.flows import HEARTBEATS_TOPIC

_OWN = re.compile(r"__.*|dcctl-samples\..+\.internal")
_MIRROR_MAKER = re.compile(r"mm2-(?:offset-syncs|configs|offsets|status)\W.+\Winternal")
_CHECKPOINTS = re.compile(r"(.+)\Wcheckpoints\Winternal")
_HEARTBEATS = re.compile(rf"(.+)([\W_]){HEARTBEATS_TOPIC}")
_CONNECT = re.compile(r"(_?(?:.+[-_.])?connect.*[-_.])(config|offset|status)(?:s|es)?")
_OF_CONNECT = frozenset({"config", "offset", "status"})


def technical_topics(seen: SeenCluster, estate: SeenEstate) -> frozenset[str]:
    """Names of the topics of one cluster that no application has made.

    Heartbeats are MirrorMaker's with the name of a cluster or of a mirror's source before them, and alone
    where a mirror out of or into the cluster has left traces. Connect's are three of one beginning, and
    compacted.
    """
    names = seen.observed.topics.keys()
    found = {
        name for name, topic in seen.observed.topics.items() if topic.is_internal or _OWN.fullmatch(name)
    }
    of_mirrors = {name for name in names if _MIRROR_MAKER.fullmatch(name) or _CHECKPOINTS.fullmatch(name)}
    of_mirrors |= set(_heartbeats(names, _aliases(estate)))
    if HEARTBEATS_TOPIC in names and (of_mirrors or seen.name in _sources(estate)):
        of_mirrors.add(HEARTBEATS_TOPIC)
    return frozenset({*found, *of_mirrors, *_of_connect(seen)})


def _aliases(estate: SeenEstate) -> frozenset[str]:
    """Names by which mirrors may call clusters."""
    return frozenset({*estate.clusters, *_sources(estate)})


def _sources(estate: SeenEstate) -> frozenset[str]:
    """What mirrors into the estate call the clusters that they copy from."""
    found: set[str] = set()
    for cluster in estate.clusters.values():
        for connector in (cluster.observed.connectors or {}).values():
            if "Mirror" in connector.config.get("connector.class", ""):
                found.add(connector.config.get("source.cluster.alias", "source"))
        for name in cluster.observed.topics:
            match = _CHECKPOINTS.fullmatch(name)
            if match is not None:
                found.add(match[1])
        found |= {
            match[1]
            for name in cluster.observed.topics
            if (match := _HEARTBEATS.fullmatch(name)) and match[1] in estate.clusters
        }
    return frozenset(found)


def _heartbeats(names: Iterable[str], aliases: frozenset[str]) -> Iterator[str]:
    """Those that a mirror has copied, over several clusters perhaps."""
    for name in names:
        match = _HEARTBEATS.fullmatch(name)
        if match is not None and (match[1] in aliases or aliases.issuperset(match[1].split(match[2]))):
            yield name


def _of_connect(seen: SeenCluster) -> Iterator[str]:
    """The workers' own: configurations, offsets and status, each compacted, under one beginning."""
    by_stem: dict[str, dict[str, str]] = {}
    for name, topic in seen.observed.topics.items():
        match = _CONNECT.fullmatch(name)
        policy = topic.config.get("cleanup.policy") or seen.observed.topic_defaults.get("cleanup.policy", "")
        if match is not None and "compact" in policy:
            by_stem.setdefault(match[1], {})[match[2]] = name
    for kinds in by_stem.values():
        if kinds.keys() == _OF_CONNECT:
            yield from kinds.values()
