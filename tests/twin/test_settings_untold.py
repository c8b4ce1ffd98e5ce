"""Settings of a topic that no broker tells for a while, while a site of a stretched cluster is lost; in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from orchestrator.moves.within_cluster.min_insync import LowerMinInsync
from orchestrator.moves.within_cluster.serving import SeeWritable
from orchestrator.ports.admin_values import ConfigKind
from orchestrator.runs.effect import Nothing, Outcome, Running
from tests.twin.conftest import Estates
from tests.twin.crew import ProcessDied
from tests.twin.kafka import TwinKafka
from tests.twin.operator import Operator
from tests.twin.test_quorum import lost as lost_with_quorum
from tests.twin.test_site_loss import KEY, STRETCHED, lost, wanted

ALL = ("all",)
Changes = Mapping[str, Mapping[str, str | None]]


def leaves_out(
    question: Callable[..., dict[str, Any]], *topics: str, times: int
) -> Callable[..., dict[str, Any]]:
    """As a broker that has just started: the topics are answered with UNKNOWN_TOPIC_OR_PARTITION."""
    left = times

    def asked(*args: Any, **kwargs: Any) -> dict[str, Any]:
        nonlocal left
        found, left = question(*args, **kwargs), left - 1
        return {name: value for name, value in found.items() if left < 0 or name not in topics}

    return asked


def said(operator: Operator, step: str) -> str:
    """Of the last outcome of a step."""
    return [event.message for event in operator.events if event.step == step and event.outcome][-1]


def before(monkeypatch: pytest.MonkeyPatch, effect: type[Any], doing: Callable[[], None]) -> None:
    """Something happens just before the effect is carried out."""
    perform = effect.perform

    def performed(self: Any, run: Running) -> Outcome[Nothing]:
        doing()
        return perform(self, run)

    monkeypatch.setattr(effect, "perform", performed)


def test_what_topics_had_is_recorded_once_it_is_told(
    estates: Estates, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A first answer without them is not "nothing was set": failback would delete what was."""
    operator = lost_with_quorum(estates, "zookeeper")
    had = wanted(operator)

    def starts() -> None:
        monkeypatch.setattr(TwinKafka, "configs", leaves_out(TwinKafka.configs, *had, times=1))

    before(monkeypatch, LowerMinInsync, starts)
    assert operator.go_on_without("dc1", lower_min_insync=ALL).outcome == "ok"
    operator.estate.bring_back("dc1")
    operator.estate.live(12)
    assert operator.lead_as_before("main").outcome == "ok"
    assert wanted(operator) == had


def test_a_topic_without_told_settings_is_not_taken_for_writable(
    estates: Estates, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without an answer nobody knows how many replicas it wants."""
    operator = lost(estates)

    def restarts() -> None:
        monkeypatch.setattr(
            TwinKafka, "topic_config", leaves_out(TwinKafka.topic_config, "orders", times=999)
        )

    before(monkeypatch, SeeWritable, restarts)
    assert operator.go_on_without("dc1", lower_min_insync=ALL).outcome == "incomplete"
    assert "no settings were described of orders" in said(operator, "see-writable")


def test_a_topic_whose_last_replica_has_just_died_is_not_taken_for_writable(
    estates: Estates, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cluster takes that broker for living until its session has ended."""
    operator = estates.at_work(STRETCHED)
    main = operator.estate.clusters["main"]
    main.create_topic("audit", 2, 2, {KEY: "1"})
    for topic in main.topics:
        main.configure(topic, {KEY: "1"})
    operator.estate.lose("dc1")
    operator.estate.live(12)

    def dies() -> None:
        left = [
            [b for b in log.replicas if main.brokers[b].state == "up"] for log in main.topics["audit"].logs
        ]
        broker = main.brokers[next(alone for alone, *others in filter(None, left) if not others)]
        broker.state, broker.changed_at_s = "gone", main.now_s

    before(monkeypatch, SeeWritable, dies)
    operator.go_on_without("dc1", lower_min_insync=ALL)
    assert "partitions of audit have no replica that is up" in said(operator, "see-writable")


def test_a_topic_that_is_not_to_be_seen_stays_recorded_where_lowering_is_taken_back(
    estates: Estates,
) -> None:
    """A later failback puts it back."""
    operator = lost(estates)
    main, had = operator.estate.clusters["main"], wanted(operator)
    operator.estate.record.harm_where(lambda entry: "step-intent-see-writable" in entry.value, "dies before")
    with pytest.raises(ProcessDied):
        operator.go_on_without("dc1", lower_min_insync=ALL)
    operator.estate.record.heal()
    operator.estate.restart_dcctl()
    main.unseen.add("orders")
    assert operator.abort().outcome == "undone"
    told = " ".join(event.message for event in operator.events if event.step == "lower-min-insync")
    assert "stay recorded: orders" in told
    main.unseen.discard("orders")
    assert wanted(operator)["orders"] != had["orders"]
    operator.estate.bring_back("dc1")
    operator.estate.live(12)
    assert operator.lead_as_before("main").outcome == "ok"
    assert wanted(operator) == had


@pytest.mark.parametrize("times", [1, 2])
def test_what_another_writer_takes_back_at_the_same_moment_is_asked_for_once_more(
    estates: Estates, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    """In ZooKeeper mode a broker writes all settings of a topic, as it has read them before."""
    operator = lost_with_quorum(estates, "zookeeper")
    before, left = wanted(operator), 0
    alter = TwinKafka.alter_configs

    def taken_back(kafka: TwinKafka, kind: ConfigKind, changes: Changes, timeout_s: float = 30.0) -> None:
        nonlocal left
        had = wanted(operator)["orders"]
        alter(kafka, kind, changes, timeout_s)
        left -= 1
        if left >= 0:
            kafka.cluster.configure("orders", {KEY: had})

    monkeypatch.setattr(TwinKafka, "alter_configs", taken_back)
    left = times
    assert operator.go_on_without("dc1", lower_min_insync=ALL).outcome == "ok"
    assert wanted(operator)["orders"] == "2"
    operator.estate.bring_back("dc1")
    operator.estate.live(12)
    left = times
    assert operator.lead_as_before("main").outcome == "ok"
    assert wanted(operator) == before
