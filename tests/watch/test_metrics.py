"""What Prometheus is told: numbers where they are known, NaN where they are not."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest
from prometheus_client import CollectorRegistry

from orchestrator.moves.in_status import Gauge, Measured, StatusPart
from orchestrator.replication.engine import MirrorHealth
from orchestrator.snapshot.samples import (
    CheckpointCopy,
    GroupPositions,
    Round,
    SampledEnd,
    SampleHistory,
    TopicEnds,
)
from orchestrator.snapshot.watched import Watched
from orchestrator.values import LogEnd, TopicPartition
from orchestrator.watch.health import silent_gaps
from orchestrator.watch.metrics import WatchCollector
from orchestrator.watch.watcher import Watcher

NOW_S = 1000.0
ORDERS = TopicPartition("orders", 0)


def steady_history() -> SampleHistory:
    """100 records a second until just now; a group 40 behind; a checkpoint copy one batch behind."""
    history = SampleHistory()
    for tick in range(20):
        at_s = NOW_S - 10 + tick / 2
        end = {0: LogEnd(0, 5000 + 50 * tick)}
        history.add(TopicEnds(watcher="w", topic="orders", block=0, at_s=at_s, topic_id="x", ends=end))
        history.add(Round(watcher="w", begun_at_s=at_s, ended_at_s=at_s, outcome="good"))
    history.add(
        GroupPositions(watcher="w", group="g", topic="orders", block=0, at_s=NOW_S - 0.5, offsets={0: 5910})
    )
    history.add(CheckpointCopy(watcher="w", query="q", at_s=NOW_S - 2, batch=7, source_batch=8))
    return history


class Row:
    """Nobody asks for one here."""


def part(measured: Callable[[SampleHistory, float], Iterator[Measured]]) -> StatusPart[Any]:
    """A package's part of metrics."""
    gauges = {"tally": Gauge("A figure of a package", ("who",))}
    return StatusPart(key="tally", row=Row, rows=lambda _: (), gauges=gauges, measured=measured)


def raising(_history: SampleHistory, _at_s: float) -> Iterator[Measured]:
    raise KeyError("notebook")
    yield "tally", ("ada",), 1.0


@pytest.mark.parametrize(
    ("measured", "told"),
    [
        (raising, None),
        (lambda _history, _at_s: iter([("tally", ("ada", "eve"), 1.0), ("tally", ("eve",), 2.0)]), 2.0),
        (lambda _history, _at_s: iter([("undeclared", ("ada",), 1.0)]), None),
    ],
)
def test_a_package_that_measures_wrongly_costs_its_own_metrics(
    measured: Callable[[SampleHistory, float], Iterator[Measured]],
    told: float | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Everything else is told in the same scrape."""
    monkeypatch.setattr("orchestrator.watch.metrics.status_parts", lambda _: {"toy": part(measured)})
    found = scraped(steady_history(), None, monkeypatch)
    assert found["dcctl_source_up"] == 1
    assert found.get("dcctl_tally eve") == told
    assert "dcctl_tally ada" not in found


def test_a_package_that_takes_its_time_holds_up_no_round(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is asked without the lock that a round needs, of words that no round changes."""
    seen: list[bool] = []

    def measured(history: SampleHistory, _at_s: float) -> Iterator[Measured]:
        seen.append(lock.locked())
        assert set(history.copies) == {"q"}
        yield "tally", ("ada",), 3.0

    lock = threading.Lock()
    monkeypatch.setattr("tests.watch.test_metrics.threading", SimpleNamespace(Lock=lambda: lock))
    monkeypatch.setattr("orchestrator.watch.metrics.status_parts", lambda _: {"toy": part(measured)})
    assert scraped(steady_history(), None, monkeypatch)["dcctl_tally ada"] == 3.0
    assert seen == [False]


def scraped(
    history: SampleHistory,
    health: MirrorHealth | None,
    monkeypatch: pytest.MonkeyPatch,
    are_same: bool | None = None,
) -> dict[str, float]:
    """Every metric of one scrape at NOW_S, by name and labels beyond the mirror's."""
    monkeypatch.setattr("orchestrator.watch.metrics.time.time", lambda: NOW_S)
    watcher = SimpleNamespace(
        watched=Watched(cluster="west", kept_at="east", topics=("orders",)),
        lock=threading.Lock(),
        history=history,
        health=SimpleNamespace(newest=health),
        clusters=SimpleNamespace(are_same=are_same),
        maps=(),
    )
    registry = CollectorRegistry(auto_describe=False)
    registry.register(WatchCollector([cast("Watcher", watcher)]))
    found = {}
    for metric in registry.collect():
        for sample in metric.samples:
            labels = dict(sample.labels)
            assert (labels.pop("source"), labels.pop("target")) == ("west", "east")
            found[" ".join([sample.name, *labels.values()])] = sample.value
    return found


def test_a_scrape_tells_what_would_be_lost_now(monkeypatch: pytest.MonkeyPatch) -> None:
    """Records at risk, ages, lag, connectors and the copy, of one mirror."""
    health = MirrorHealth(
        at_s=NOW_S,
        states={"a": "RUNNING", "b": "FAILED"},
        replicated={ORDERS: 5900},
        heartbeat_at_s=NOW_S - 3,
    )
    found = scraped(steady_history(), health, monkeypatch)
    assert found["dcctl_records_at_risk orders"] == pytest.approx(50 + 50, abs=2)
    assert found["dcctl_seconds_at_risk orders"] == pytest.approx(1.0)
    assert found["dcctl_group_position_age_seconds g"] == pytest.approx(0.5)
    assert found["dcctl_mirror_lag_records orders 0"] == 50
    assert found["dcctl_connector_running a"] == 1
    assert found["dcctl_connector_running b"] == 0
    assert found["dcctl_checkpoint_copy_batches_behind q"] == 1
    assert found["dcctl_mirror_heartbeat_age_seconds"] == 3
    assert found["dcctl_source_up"] == 1


def test_whether_the_clusters_are_the_same_is_told_or_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing to compare with is no 1, and no 0 either."""
    for are_same, told in ((True, 1.0), (False, 0.0)):
        assert scraped(steady_history(), None, monkeypatch, are_same)["dcctl_same_clusters"] == told
    assert math.isnan(scraped(steady_history(), None, monkeypatch)["dcctl_same_clusters"])


def test_what_is_not_known_is_not_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    """Connect does not answer: the records at risk are NaN, never a reassuring 0."""
    found = scraped(steady_history(), None, monkeypatch)
    assert math.isnan(found["dcctl_records_at_risk orders"])
    empty = scraped(SampleHistory(), None, monkeypatch)
    assert math.isnan(empty["dcctl_watch_round_age_seconds"])
    assert empty["dcctl_source_up"] == 0


def test_what_connect_does_not_say_is_told_as_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    """A series that vanishes fires no alert: connectors, lag and gaps are NaN, and the look has an age."""
    away = MirrorHealth(at_s=NOW_S - 7, states={"a": "UNKNOWN"}, problems=("no worker answers",))
    found = scraped(steady_history(), away, monkeypatch)
    assert math.isnan(found["dcctl_connector_running a"])
    assert math.isnan(found["dcctl_mirror_lag_records orders 0"])
    assert math.isnan(found["dcctl_mirror_gap_partitions"])
    assert found["dcctl_mirror_look_age_seconds"] == 7
    assert math.isnan(scraped(steady_history(), None, monkeypatch)["dcctl_mirror_look_age_seconds"])


def test_what_lies_in_the_future_has_no_age(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two clocks differ: nobody knows how old it is, and 0 would be the most reassuring of all answers."""
    history = steady_history()
    history.add(Round(watcher="w", begun_at_s=NOW_S + 3600, ended_at_s=NOW_S + 3600, outcome="good"))
    found = scraped(history, None, monkeypatch)
    assert math.isnan(found["dcctl_watch_round_age_seconds"])
    assert math.isnan(found["dcctl_watch_good_round_age_seconds"])
    assert math.isnan(found["dcctl_group_position_age_seconds g"])


def test_a_lost_source_is_judged_at_its_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ages stop growing when the site is gone: they tell what a failover has to work with."""
    history = steady_history()
    history.add(
        Round(watcher="w", begun_at_s=NOW_S - 0.2, ended_at_s=NOW_S - 0.1, outcome="failed", cause="refused")
    )
    found = scraped(history, None, monkeypatch)
    assert found["dcctl_source_up"] == 0
    assert found["dcctl_group_position_age_seconds g"] == pytest.approx(0.4)


def test_the_newest_heartbeat_of_a_lost_source_goes_on_ageing(monkeypatch: pytest.MonkeyPatch) -> None:
    """It tells of now, and an alert waits for it: judged at the loss it would stay young for ever."""
    history = steady_history()
    history.add(
        Round(watcher="w", begun_at_s=NOW_S - 0.2, ended_at_s=NOW_S - 0.1, outcome="failed", cause="refused")
    )
    health = MirrorHealth(at_s=NOW_S, states={}, replicated={}, heartbeat_at_s=NOW_S - 90)
    assert scraped(history, health, monkeypatch)["dcctl_mirror_heartbeat_age_seconds"] == 90


def test_silent_gaps_are_found() -> None:
    """Purged before they were copied; or the source is shorter than what was copied from it."""
    health = MirrorHealth(at_s=100, replicated={ORDERS: 50})
    assert (
        "30 records were deleted by retention"
        in silent_gaps(health, {ORDERS: SampledEnd(LogEnd(80, 90), 101)}, ())[ORDERS]
    )
    assert "the mirror is at 50" in silent_gaps(health, {ORDERS: SampledEnd(LogEnd(0, 40), 101)}, ())[ORDERS]
    assert (
        "deleted and created again"
        in silent_gaps(health, {ORDERS: SampledEnd(LogEnd(0, 40), 101)}, {"orders"})[ORDERS]
    )
    assert silent_gaps(health, {ORDERS: SampledEnd(LogEnd(0, 40), 99)}, ()) == {}
    assert silent_gaps(health, {ORDERS: SampledEnd(LogEnd(0, 60), 101)}, {"orders"}) == {}
