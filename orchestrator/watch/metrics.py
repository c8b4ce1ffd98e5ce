"""What the watcher tells Prometheus: if the source were lost now, and whether that can be believed."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

import structlog
from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from orchestrator.errors import DcctlError
from orchestrator.moves.in_status import Measured, StatusPart
from orchestrator.moves.prediction import predict_loss
from orchestrator.replication.engine import UNKNOWN, MirrorHealth
from orchestrator.snapshot.samples import SampleHistory
from orchestrator.snapshot.watcher_records import age_s
from orchestrator.topology.model import Consumer
from orchestrator.values import LogEnd, TopicPartition
from orchestrator.watch.health import silent_gaps
from orchestrator.watch.status_parts import refuse_taken, status_parts
from orchestrator.watch.watcher import Watcher

_log = structlog.get_logger()
_UNKNOWN = float("nan")
_MIRROR = ["source", "target"]


class WatchCollector(Collector):
    """Computes every metric at the moment of the scrape. What cannot be said is NaN, never 0.

    `consumers`: those of the file, whose kinds may have gauges of their own. Raises `DcctlError` where two
    have one name.
    """

    def __init__(self, watchers: Sequence[Watcher], consumers: Iterable[Consumer] = ()) -> None:
        self._watchers = tuple(watchers)
        self._parts, self._gauges = status_parts(consumers), dict(_GAUGES)
        for kind, part in self._parts.items():
            refuse_taken(kind, "gauge", part.gauges, self._gauges)
            self._gauges |= part.gauges

    def collect(self) -> Iterator[Metric]:
        """All metrics of all mirrors."""
        gauges = {
            name: GaugeMetricFamily(f"dcctl_{name}", text, labels=[*_MIRROR, *labels])
            for name, (text, labels) in self._gauges.items()
        }
        for watcher in self._watchers:
            sides = [watcher.watched.cluster, watcher.watched.kept_at]
            health = watcher.health.newest if watcher.health is not None else None
            with watcher.lock:
                history, now_s = watcher.history, time.time()
                mirrored = watcher.watched.topics
                values = history_values(history, health, now_s, mirrored)
                of_mirror = () if watcher.health is None else mirror_values(history, health, now_s, mirrored)
                for name, labels, value in (*values, *of_mirror):
                    gauges[name].add_metric([*sides, *labels], value)
                words, judged_at_s = _words_of(history), history.ages_at_s(now_s)
            for kind, part in self._parts.items():
                for name, own, known in self._measured(kind, part, words, judged_at_s):
                    gauges[name].add_metric([*sides, *own], _number(known))
            for copier in watcher.maps:
                behind = _number(copier.lag_records)
                gauges["map_copy_lag_records"].add_metric([*sides, copier.mirror.source], behind)
            are_same = watcher.clusters.are_same
            gauges["same_clusters"].add_metric(sides, _UNKNOWN if are_same is None else float(are_same))
        yield from gauges.values()

    def _measured(
        self, kind: str, part: StatusPart[Any], words: SampleHistory, judged_at_s: float
    ) -> list[Measured]:
        """What a kind's package measures; nothing where it raises, or names a gauge that it has not declared.

        It is called without the lock of the watcher: one that blocks holds up scrapes, and no round.
        """
        try:
            found = list(part.measured(words, judged_at_s))
            wrong = [row for row in found if len(row[1]) != len(part.gauges[row[0]].labels)]
        except Exception as error:  # noqa: BLE001 - a package's bug takes no other metric along
            _log.warning("the metrics of a kind are unknown", kind=kind, problem=repr(error))
            return []
        if wrong:
            _log.warning("metrics of a kind have other labels than it declares", kind=kind, metrics=wrong)
        return [row for row in found if row not in wrong]


def _words_of(history: SampleHistory) -> SampleHistory:
    """The words on applications alone, for whoever reads them while rounds go on."""
    found = SampleHistory()
    for word in history.of_applications.values():
        found.add(word)
    return found


_GAUGES: dict[str, tuple[str, Sequence[str]]] = {
    "watch_round_age_seconds": ("Age of the newest sampling round, good or not", []),
    "watch_good_round_age_seconds": ("Age of the newest round in which the source answered", []),
    "same_clusters": (
        "Whether both clusters are those that they were; no sample of another one is recorded",
        [],
    ),
    "source_up": ("Whether the source answered in the newest round", []),
    "records_at_risk": ("Records of a topic lost at most if the source were lost now", ["topic"]),
    "seconds_at_risk": ("How far back lost records would reach if the source were lost now", ["topic"]),
    "group_position_age_seconds": ("Age of the oldest recorded position of a group", ["group"]),
    "mirror_lag_records": (
        "End offset of the source less the mirror's offset in Connect less 1",
        ["topic", "partition"],
    ),
    "mirror_gap_partitions": ("Partitions in which the mirror skipped records", []),
    "mirror_heartbeat_age_seconds": ("Age of the newest heartbeat that came through the mirror", []),
    "mirror_look_age_seconds": ("Age of what is known of the mirror: connectors, lag, heartbeats", []),
    "connector_running": ("Whether a connector and all its tasks run", ["connector"]),
    "map_copy_lag_records": (
        "Records by which the copy of a map that lies at the source is behind it, by the mirror's source",
        ["map_from"],
    ),
    "application_positions_age_seconds": (
        "Age of what the watcher keeps of an application beside committed offsets",
        ["application"],
    ),
}


def history_values(
    history: SampleHistory, health: MirrorHealth | None, now_s: float, mirrored: Collection[str] | None = None
) -> Iterator[tuple[str, list[str], float]]:
    """Name, labels beyond the mirror's, and value of each metric, by a clock that says `now_s`.

    `mirrored`: the topics that the mirror copies; by default all whose logs were sampled.
    """
    yield "watch_round_age_seconds", [], _age(now_s, history.last_sign_of_life_s)
    yield "watch_good_round_age_seconds", [], _age(now_s, history.last_good_at_s)
    window = history.loss_window()
    yield "source_up", [], float(history.last_good_at_s is not None and window is None)
    ends = _ends(history, mirrored)
    judged_at_s = history.ages_at_s(now_s)
    replicated = health.replicated if health else None
    if replicated is None:
        for topic in sorted({tp.topic for tp in ends}):
            yield "records_at_risk", [topic], _UNKNOWN
    else:
        for topic, loss in predict_loss(history, ends, replicated, until_s=judged_at_s).topics.items():
            yield "records_at_risk", [topic], _number(loss.at_most)
            yield "seconds_at_risk", [topic], _number(loss.seconds_at_most)
    for group in sorted(history.groups):
        positions = history.positions(group)
        oldest = min((position.sampled_at_s for position in positions.values()), default=None)
        yield "group_position_age_seconds", [group], _age(judged_at_s, oldest)
    for name, word in history.of_applications.items():
        at_s = word.at_s if word.has_positions else None
        yield "application_positions_age_seconds", [name], _age(judged_at_s, at_s or None)


def mirror_values(
    history: SampleHistory, health: MirrorHealth | None, now_s: float, mirrored: Collection[str] | None = None
) -> Iterator[tuple[str, list[str], float]]:
    """The same of the mirror (`health`: None before the first look at it).

    What Connect does not say is NaN, not absent: an alert on a value that vanishes never fires.
    """
    yield "mirror_look_age_seconds", [], _age(now_s, health.at_s if health else None)
    if health is None:
        return
    ends = _ends(history, mirrored)
    # As of now, whatever else is judged as of the loss: it goes on growing while nothing comes through.
    yield "mirror_heartbeat_age_seconds", [], _age(history.comparable_s(now_s), health.heartbeat_at_s)
    is_known = health.replicated is not None
    gaps = silent_gaps(health, history.sampled_ends(), history.recreated)
    yield "mirror_gap_partitions", [], float(len(gaps)) if is_known else _UNKNOWN
    for connector, state in health.states.items():
        yield "connector_running", [connector], _UNKNOWN if state == UNKNOWN else float(state == "RUNNING")
    lag = health.lag_records(ends)
    for tp in sorted(ends):
        yield "mirror_lag_records", [tp.topic, str(tp.partition)], float(lag[tp]) if is_known else _UNKNOWN


def _ends(history: SampleHistory, mirrored: Collection[str] | None) -> dict[TopicPartition, LogEnd]:
    """What the place has by other ways is neither at risk nor behind."""
    ends = history.newest_ends()
    return {tp: log for tp, log in ends.items() if mirrored is None or tp.topic in mirrored}


def serve_metrics(
    watchers: Sequence[Watcher], port: int, address: str, consumers: Iterable[Consumer]
) -> None:
    """Serve the metrics over HTTP from a thread. `consumers`: those of the file. Raises `DcctlError` if the
    port is taken, or as `WatchCollector`.
    """
    registry = CollectorRegistry(auto_describe=False)
    registry.register(WatchCollector(watchers, consumers))
    serve_registry(registry, port, address)


def serve_registry(registry: CollectorRegistry, port: int, address: str) -> None:
    """Serve what a registry has over HTTP from a thread. Raises `DcctlError` if the port is taken."""
    try:
        start_http_server(port, addr=address, registry=registry)
    except OSError as error:
        raise DcctlError(
            f"metrics port {address}:{port}", f"cannot be opened: {error.strerror}", "choose another one"
        ) from None


def _age(now_s: float, at_s: float | None) -> float:
    """Not known as well where it lies in the future: another clock has dated it."""
    return _UNKNOWN if at_s is None else _number(age_s(now_s, at_s))


def _number(value: float | None) -> float:
    return _UNKNOWN if value is None else float(value)
