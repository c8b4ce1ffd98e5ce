"""Looking at a mirror goes on whatever Connect and the target say, and old words do not stay."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, cast

import httpx
import pytest

from orchestrator.adapters.connect import ConnectCluster
from orchestrator.adapters.kafka import KafkaCluster
from orchestrator.errors import ClusterError
from orchestrator.mirrors.mirrormaker2.connectors import connector_names
from orchestrator.mirrors.mirrormaker2.health import mirror_health
from orchestrator.replication.engine import MirrorHealth
from orchestrator.topology.model import Replication
from orchestrator.watch.health import HealthKeeper

MIRROR = Replication(source="west", target="east", topics=("orders",))
NAMES = connector_names(MIRROR)


class Target:
    """A cluster that answers with an error, or with something that cannot be read."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def topics(self, *_: object) -> object:
        raise self._error


class Log:
    """Keeps what was said."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def warning(self, _event: str, **fields: Any) -> None:
        self.said += fields["problems"]

    def info(self, event: str, **_fields: Any) -> None:
        self.said.append(event)


def connect(answer: Callable[[httpx.Request], httpx.Response]) -> ConnectCluster:
    """Workers that answer so."""
    cluster = ConnectCluster("east", ["http://w1:8083"], timeout_s=0.5)
    cluster._client = httpx.Client(transport=httpx.MockTransport(answer))
    return cluster


@pytest.mark.parametrize(
    "answer",
    [
        httpx.Response(200, text="<html>please log in</html>"),
        httpx.Response(200, json={NAMES.source: {"status": {}}}),
        httpx.Response(200, json=["not", "a", "mapping"]),
        httpx.Response(503, text="no healthy upstream"),
    ],
)
def test_an_answer_that_cannot_be_read_is_a_problem_in_words(answer: httpx.Response) -> None:
    """A proxy's page, another shape of the states: unknown, and the rest is asked all the same."""
    target = cast("KafkaCluster", Target(ClusterError("cluster east", "no answer within 5 s")))
    health = mirror_health(target, connect(lambda _: answer), MIRROR, 1.0)
    assert health.states == dict.fromkeys(NAMES, "UNKNOWN")
    assert health.replicated is None
    assert len(health.problems) == 2
    assert health.problems[1] == "heartbeats: no answer within 5 s"


def test_a_foreign_record_among_the_heartbeats_hides_no_connector() -> None:
    """Whatever lies in that topic."""
    states = {"status": {"connector": {"state": "RUNNING"}, "tasks": [{"id": 0, "state": "RUNNING"}]}}
    running = connect(
        lambda request: httpx.Response(
            200, json={"offsets": []} if "offsets" in request.url.path else dict.fromkeys(NAMES, states)
        )
    )
    health = mirror_health(cast("KafkaCluster", Target(KeyError("timestamp"))), running, MIRROR, 1.0)
    assert health.states == dict.fromkeys(NAMES, "RUNNING")
    (problem,) = health.problems
    assert "heartbeats" in problem


def test_a_look_that_fails_ends_no_looking_and_leaves_no_old_word() -> None:
    """RUNNING until a look raises, UNKNOWN after it, and RUNNING again after the next one."""
    well = MirrorHealth(at_s=1, states={"a": "RUNNING"}, replicated={})
    seen: list[MirrorHealth | None] = []
    done = threading.Event()

    def look() -> MirrorHealth:
        seen.append(keeper.newest)
        if len(seen) == 2:
            raise ValueError("whatever nobody thought of")
        if len(seen) == 4:
            done.set()
        return well

    log = Log()
    keeper = HealthKeeper(look, log, interval_s=0)
    keeper.start()
    assert done.wait(30)
    keeper.stop()
    unknown = seen[2]
    assert unknown is not None
    assert (unknown.states, unknown.replicated) == ({"a": "UNKNOWN"}, None)
    assert "whatever nobody thought of" in unknown.problems[0]
    assert seen[3] is well
    assert log.said[0] == unknown.problems[0]
