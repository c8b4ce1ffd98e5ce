"""Coordinators of a sick cluster: those that hang do not make the others silent, nor the whole slow."""

from __future__ import annotations

import threading
import time

import pytest

from orchestrator.adapters.kafka import isolated
from orchestrator.adapters.kafka.each_broker import EachBroker, each_in_time
from orchestrator.errors import ClusterError

_TIMEOUT_S = 2.0
_BUSY_S = 2.0


def asked(group: str, left_s: float) -> str:
    """One that hangs takes all the time it is given."""
    if group.startswith("hung"):
        threading.Event().wait(left_s)
        raise ClusterError(group, "no answer", code="_TIMED_OUT")
    return group


def test_all_groups_together_take_one_time_and_every_healthy_one_is_heard() -> None:
    """Hung ones are asked first, and are more than can be asked at once."""
    hung, healthy = [f"hung-{n}" for n in range(100)], [f"well-{n}" for n in range(20)]
    begun_s = time.monotonic()
    found = each_in_time([*hung, *healthy], asked, _TIMEOUT_S)
    assert time.monotonic() - begun_s < _TIMEOUT_S + _BUSY_S
    assert list(found) == [*hung, *healthy]
    assert {group: found[group] for group in healthy} == {group: group for group in healthy}
    assert all(isinstance(found[group], ClusterError) for group in hung)


def test_who_is_not_reached_in_time_is_silent() -> None:
    """Far more hang than the time allows to be asked: the last ones are not reached, and that is said."""
    hung = [f"hung-{n}" for n in range(700)]
    begun_s = time.monotonic()
    found = each_in_time(hung, asked, 0.4)
    assert time.monotonic() - begun_s < 0.4 + _BUSY_S
    assert "not asked: 0.4 s for all were over" in str(found["hung-699"])


def test_one_that_is_slow_gets_the_rest_of_the_time() -> None:
    """What a coordinator does not say at once it may say a moment later; a refusal is not asked again."""
    seen: list[tuple[str, float]] = []

    def slow(group: str, left_s: float) -> str:
        seen.append((group, left_s))
        if group == "denied":
            raise ClusterError(group, "not allowed", code="GROUP_AUTHORIZATION_FAILED")
        if left_s < _TIMEOUT_S / 2:
            raise ClusterError(group, "coordinator moves", code="NOT_COORDINATOR")
        return group

    found = each_in_time(["late", "denied"], slow, _TIMEOUT_S)
    assert found["late"] == "late"
    assert "not allowed" in str(found["denied"])
    assert sorted(group for group, _ in seen) == ["denied", "late", "late"]


def test_a_process_that_asks_and_does_not_start_is_no_answer_either(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every group is told with it; nothing is raised."""
    monkeypatch.setattr(isolated, "_START_S", 0.0)
    with EachBroker("west", {}) as each:
        found = each.committed(["127.0.0.1:9"], ["a", "b"], 1.0)
    assert {group: "did not start" in str(said) for group, said in found.items()} == {"a": True, "b": True}
