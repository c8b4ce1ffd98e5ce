"""Topics that Kafka, Connect, mirrors and dcctl keep for themselves; every other one is an application's.

A name alone tells little: `device.heartbeats` and `orders.connection.status` are applications'. What is taken
for technical wrongly would be in no file, no mirror and no failover.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from orchestrator.imports.seen import SeenCluster, SeenEstate
from orchestrator.replication.engine import TracedCluster, all_engines

_OWN = re.compile(r"__.*|dcctl-(?:samples|map)\..+\.internal")
_CONNECT = re.compile(r"(_?(?:.+[-_.])?connect.*[-_.])(config|offset|status)(?:s|es)?")
_OF_CONNECT = frozenset({"config", "offset", "status"})


def technical_topics(seen: SeenCluster, estate: SeenEstate) -> frozenset[str]:
    """Names of the topics of one cluster that no application has made.

    Connect's are three of one beginning, and compacted; a mirror's are what its engine says.
    """
    found = {
        name for name, topic in seen.observed.topics.items() if topic.is_internal or _OWN.fullmatch(name)
    }
    traced = _traced(estate)
    of_mirrors = [engine.own_topics(traced[seen.name], traced) for engine in all_engines()]
    return frozenset({*found, *_of_connect(seen)}).union(*of_mirrors)


def application_topics(seen: SeenCluster, estate: SeenEstate) -> frozenset[str]:
    """Every topic that is not kept by Kafka, Connect, a mirror or dcctl for itself."""
    return frozenset(seen.observed.topics.keys() - technical_topics(seen, estate))


def traced_clusters(estate: SeenEstate) -> Mapping[str, TracedCluster]:
    """The clusters by their names, as engines look for traces in them."""
    return {
        name: replace(traced, applications=application_topics(estate.clusters[name], estate))
        for name, traced in _traced(estate).items()
    }


def _traced(estate: SeenEstate) -> dict[str, TracedCluster]:
    return {
        name: TracedCluster(
            name=seen.name,
            addresses=frozenset({*seen.bootstrap, *(broker.address for broker in seen.observed.brokers)}),
            topics=frozenset(seen.observed.topics),
            connectors={
                connector: found.config for connector, found in (seen.observed.connectors or {}).items()
            },
        )
        for name, seen in estate.clusters.items()
    }


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
