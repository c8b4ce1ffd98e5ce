"""What the watcher of one cluster tells Prometheus."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from orchestrator.watch.metrics import serve_registry
from orchestrator.watch.within_cluster.reading import Reading
from orchestrator.watch.within_cluster.said import in_short
from orchestrator.watch.within_cluster.story import KINDS, SILENT_FOR_S, Story

_UNKNOWN = float("nan")
_WHERE = ["cluster", "site"]

GAUGES: Mapping[str, tuple[str, Sequence[str]]] = {
    "cluster_reading_age_seconds": ("Age of the newest reading in which a broker told of the cluster", []),
    "cluster_broker_up": ("Whether a broker takes connections", ["broker"]),
    "cluster_broker_registered": ("Whether the cluster takes a broker for living", ["broker"]),
    "cluster_voter_up": ("Whether a voter of the metadata quorum is up", ["voter"]),
    "cluster_has_controller": ("Whether an active controller was seen", []),
    "cluster_partitions_not_led": ("Partitions without a leader that is up", []),
    "cluster_partitions_not_in_sync": ("Partitions of which a replica is not in sync", []),
    "cluster_partitions_in_one_site": (
        "Partitions with replicas at several sites, all of whose replicas in sync are at one",
        [],
    ),
    "cluster_leaders_not_preferred": (
        "Partitions that another replica leads than the first, which could lead",
        [],
    ),
    "cluster_events": ("Events that have ended, by kind, of the last 200 of all kinds", ["kind"]),
    "cluster_event_seconds": ("How long the newest event of a kind took, or has gone on by now", ["kind"]),
    "cluster_event_goes_on": ("Events of a kind that go on", ["kind"]),
}


class _Watcher(Protocol):
    """What is read of a `ClusterWatcher`."""

    cluster: str
    site: str
    story: Story
    newest: Reading | None


class ClusterCollector(Collector):
    """Computes every metric at the moment of the scrape. What cannot be said is NaN, never 0."""

    def __init__(self, watcher: _Watcher) -> None:
        self._watcher = watcher

    def collect(self) -> Iterator[Metric]:
        """All metrics of one cluster."""
        watcher = self._watcher
        where = [watcher.cluster, watcher.site]
        gauges = {
            name: GaugeMetricFamily(f"dcctl_{name}", text, labels=[*_WHERE, *labels])
            for name, (text, labels) in GAUGES.items()
        }
        for name, labels, value in gauge_values(watcher.story, watcher.newest, time.time()):
            gauges[name].add_metric([*where, *labels], value)
        yield from gauges.values()


def gauge_values(
    story: Story, newest: Reading | None, now_s: float
) -> Iterator[tuple[str, list[str], float]]:
    """Name, labels beyond cluster and site, and value of each metric. An old reading tells nothing."""
    told_s = None if newest is None else newest.ended_at_s if newest.has_answer else story.told_s
    yield "cluster_reading_age_seconds", [], _UNKNOWN if told_s is None else max(0.0, now_s - told_s)
    if newest is not None:
        is_old = now_s - newest.ended_at_s > SILENT_FOR_S
        yield from _of_reading(newest, is_old=is_old)
    ended = Counter(event.kind for event in story.ended)
    going_on = Counter(event.kind for event in story.going_on.values())
    for kind in KINDS:
        yield "cluster_events", [kind], float(ended[kind])
        yield "cluster_event_goes_on", [kind], float(going_on[kind])
        if found := story.of(kind):
            yield "cluster_event_seconds", [kind], found[-1].seconds(now_s)


def _of_reading(reading: Reading, *, is_old: bool) -> Iterator[tuple[str, list[str], float]]:
    def told(value: float | None) -> float:
        return _UNKNOWN if value is None or is_old else float(value)

    seen = in_short(reading)
    for number in sorted(reading.known_brokers):
        port = reading.brokers.get(number)
        yield "cluster_broker_up", [str(number)], told(None if port is None else port.is_up)
        registered = number in reading.registered if reading.has_answer else None
        yield "cluster_broker_registered", [str(number)], told(registered)
    for name, voter in sorted(reading.voters.items()):
        yield "cluster_voter_up", [name], told(voter.is_up)
    yield "cluster_has_controller", [], told(bool(reading.controller) if reading.has_answer else None)
    yield "cluster_partitions_not_led", [], told(seen.not_led)
    yield "cluster_partitions_not_in_sync", [], told(seen.not_in_sync)
    yield "cluster_partitions_in_one_site", [], told(seen.in_one_site)
    yield "cluster_leaders_not_preferred", [], told(seen.not_preferred)


def serve_gauges(watcher: _Watcher, port: int, address: str) -> None:
    """Serve the metrics over HTTP from a thread. Raises `DcctlError` if the port is taken."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(ClusterCollector(watcher))
    serve_registry(registry, port, address)
