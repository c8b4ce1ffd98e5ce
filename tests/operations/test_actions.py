"""What the steps do once their run was interrupted: they write no more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from orchestrator.operations.actions import MOVE_TABLE, TableActions, mirror
from orchestrator.operations.session import Session

from orchestrator.errors import ClusterError, ConnectError
from orchestrator.moves.plans import plan_failover
from orchestrator.operations.observe import Estate
from orchestrator.planning.offsets_json import offsets_to_json
from orchestrator.planning.positions import source_partitions
from orchestrator.ports.kafka_values import TopicDescription
from orchestrator.replication.offset_map import OffsetMapBuilder
from orchestrator.values import LogEnd, TopicPartition
from tests.operations.some_servers import hosts_that
from tests.operations.test_relocation import write_checkpoint_at
from tests.planning.pictures import GROUPS, LOST_AT_S, MIRROR, REQUEST, host, observation, part, topology

MIRRORED = [MIRROR.mirrored_topic(name) for name in MIRROR.topics]
PLAN = plan_failover(topology(), observation(), REQUEST)
STEP = PLAN.step("write-offsets")
STARTING = PLAN.step("start-producers")


class Target:
    """Takes offsets; the run's lock is lost after the first group."""

    def __init__(self) -> None:
        self.written: list[str] = []
        self.session: Session | None = None

    def write_group_offsets(self, group: str, _offsets: Any, *, may_write: Callable[[], bool]) -> None:
        assert may_write()
        self.written.append(group)
        if self.session is not None:
            self.session.cancel()


def a_session(target: Target, folder: Path) -> Session:
    estate = Estate(topology(), MIRROR, target, None, None)  # type: ignore[arg-type]
    return Session(estate, observation(), folder, run_id="r")


def results() -> dict[str, dict[str, Any]]:
    ends = offsets_to_json(dict.fromkeys(source_partitions(topology(), MIRROR), 5))
    return {
        "translate-positions": {"translations": []},
        "record-landing-ends": {"ends": ends},
        "save-offsets": {"offsets": {}},
    }


def test_an_interrupted_run_begins_no_step(tmp_path: Path) -> None:
    """Surely nothing was changed."""
    target = Target()
    session = a_session(target, tmp_path)
    session.cancel()
    outcome = TableActions(session, MOVE_TABLE).perform(STEP, results())
    assert outcome.outcome == "failed"
    assert target.written == []


def test_offsets_are_not_written_once_the_run_is_interrupted(tmp_path: Path, monkeypatch: Any) -> None:
    """Another may hold the lock by then; the groups that are left are named."""
    from orchestrator.operations.actions import committing  # noqa: PLC0415

    monkeypatch.setattr(committing, "_GROUPS_AT_ONCE", 1)
    target = Target()
    target.session = a_session(target, tmp_path)
    outcome = TableActions(target.session, MOVE_TABLE).perform(STEP, results())
    assert outcome.outcome == "unknown"
    assert len(GROUPS) > 1
    assert len(target.written) == 1
    assert "not written, the run was interrupted" in outcome.message


def test_offsets_are_not_written_where_the_lock_is_gone_and_nobody_said_so(tmp_path: Path) -> None:
    """A process that slept through the loss of its lock asks before each try."""
    asked: list[bool] = []

    class Late(Target):
        def write_group_offsets(self, _group: str, _offsets: Any, *, may_write: Callable[[], bool]) -> None:
            asked.append(may_write())

    estate = Estate(topology(), MIRROR, Late(), None, None)  # type: ignore[arg-type]
    session = Session(estate, observation(), tmp_path, run_id="r", holds_lock=lambda: False)
    TableActions(session, MOVE_TABLE).perform(STEP, results())
    assert asked == [False] * len(GROUPS)


def test_workers_that_rebalance_on_and_on_are_not_asked_for_ever(tmp_path: Path) -> None:
    """What they said for how long, and what was not asked."""

    class Workers:
        def stop(self, _connector: str) -> None:
            raise ConnectError("Connect at east", "answered 500: a rebalance is expected", is_passing=True)

    session = a_session(Target(), tmp_path)
    session.estate = replace(session.estate, connect=Workers())  # type: ignore[arg-type]
    found = mirror.stop_connectors(session, replace(PLAN.step("stop-mirror"), timeout_s=1.0), {})
    assert found.outcome == "unknown"
    assert "for 0.5 s: answered 500: a rebalance is expected; not asked yet: west-to-east" in found.message


def test_an_interrupted_run_asks_workers_nothing_more(tmp_path: Path) -> None:
    """Neither again nor for the next connector."""
    asked: list[None] = []
    sessions: list[Session] = []

    class Workers:
        def stop(self, _connector: str) -> None:
            asked.append(None)
            sessions[0].cancel()

    sessions.append(a_session(Target(), tmp_path))
    sessions[0].estate = replace(sessions[0].estate, connect=Workers())  # type: ignore[arg-type]
    step = replace(PLAN.step("stop-mirror"), arguments={"connectors": ["a", "b"]})
    found = mirror.stop_connectors(sessions[0], step, {})
    assert (found.outcome, len(asked)) == ("unknown", 1)
    assert "not asked: b" in found.message


class Landed(Target):
    """Mirrored topics that end where they did when they were looked at before."""

    asked = 0

    def topics(self, names: Any) -> dict[str, Any]:
        return {name: TopicDescription(name, "id", (1,) * 9, ((1,),) * 9, ((1,),) * 9) for name in names}

    def end_offsets(self, partitions: Any) -> dict[TopicPartition, int]:
        self.asked += 1
        return {tp: (observation().earlier_ends.value or {}).get(tp, 0) for tp in partitions}


def test_a_standstill_that_observing_saw_is_not_waited_for_again(tmp_path: Path) -> None:
    """It was looked at twice before the decision; one more look is enough."""
    target = Landed()
    session = a_session(target, tmp_path)
    mirrored = {tp: LogEnd(0, end) for tp, end in target.end_offsets(session.partitions(MIRRORED)).items()}
    seen = replace(
        observation(),
        earlier_ends=part({tp: log.end_offset for tp, log in mirrored.items()}),
        log_ends=part(mirrored),
    )
    session = Session(session.estate, seen, tmp_path, run_id="r")
    target.asked = 0
    step = plan_failover(topology(), observation(), REQUEST).step("let-land")
    assert TableActions(session, MOVE_TABLE).perform(step, {}).outcome == "ok"
    assert target.asked == 1


@pytest.mark.parametrize(
    ("at_work", "outcome", "message"),
    [
        ({"east-1", "east-2"}, "ok", "2 started on 2 hosts"),
        (
            {"east-1"},
            "unknown",
            "no host has started producer-cashier; started on east-1: producer-checkout",
        ),
    ],
)
def test_a_client_is_started_only_if_its_host_did_something(
    tmp_path: Path, at_work: set[str], outcome: str, message: str
) -> None:
    """Another host's success says nothing of it. What was started is named, and is never nothing."""
    servers = hosts_that(lambda *_args, **_named: frozenset(at_work))
    hosts = part(
        (
            host("east-1", "east", clients=["producer-checkout"]),
            host("east-2", "east", clients=["producer-cashier"]),
        )
    )
    estate = replace(a_session(Target(), tmp_path).estate, servers=servers)
    session = Session(estate, replace(observation(), inventory=hosts), tmp_path, run_id="r")
    step = replace(STARTING, arguments={"clients": ["producer-checkout", "producer-cashier"]})
    found = TableActions(session, MOVE_TABLE).perform(step, {})
    assert found.outcome == outcome
    assert message in found.message


def test_a_topic_that_the_mirror_does_not_copy_refuses_its_query_and_no_more(tmp_path: Path) -> None:
    """A query may read what only the lost side has: surely nothing is changed, and the refusal names it."""
    standby = tmp_path / "revenue"
    write_checkpoint_at(tmp_path / "revenue.copy", 7, 100)
    for number in (6, 7):
        offsets = '{"orders":{"0":90},"currency-rates":{"0":7}}'
        (tmp_path / f"revenue.copy/offsets/{number}").write_text(f"v1\n{{}}\n{offsets}")
    file = topology()
    consumers = tuple(
        replace(c, standby_checkpoint=str(standby)) if c.name == "revenue" else c for c in file.consumers
    )
    estate = Estate(replace(file, consumers=consumers), MIRROR, NoTopics(), None, None)  # type: ignore[arg-type]
    session = Session(estate, observation(), tmp_path, run_id="r")
    found_map = OffsetMapBuilder().build()
    session.final_map = lambda _: (found_map, {})  # type: ignore[method-assign]
    results = {"record-mirrored-ends": {}, "record-landing-ends": {"ends": {}}}
    found = TableActions(session, MOVE_TABLE).perform(PLAN.step("relocate-revenue"), results)
    assert found.outcome == "failed"
    assert "the mirror west → east does not copy currency-rates" in found.message
    assert not standby.exists()


class NoTopics(Target):
    """Nothing was ever brought back here."""

    def topics(self, _names: Any) -> dict[str, TopicDescription]:
        return {}


def test_topics_of_which_nobody_knows_since_when_begin_where_their_log_starts(tmp_path: Path) -> None:
    """A producer moved to the target long before a sick site was left: nothing of it is passed over."""
    decided_s = observation().at_s

    class Landing(Landed):
        asked_since_s = 0.0

        def end_offsets(self, partitions: Any) -> dict[TopicPartition, int]:
            return dict.fromkeys(partitions, 900)

        def log_ends(self, partitions: Any) -> dict[TopicPartition, LogEnd]:
            return dict.fromkeys(partitions, LogEnd(40, 900))

        def offsets_for_times(self, times: Any) -> dict[TopicPartition, int]:
            assert set(times.values()) <= {decided_s - 120, LOST_AT_S - 0.5 - 120}
            return dict.fromkeys(times, 880)

    session = a_session(Landing(), tmp_path)
    step = replace(
        PLAN.step("record-landing-ends"),
        arguments={"topics": ["orders", "returns"], "or_since_loss": ["orders"], "from_start": ["orders"]},
    )
    found = mirror.record_ends(session, step, {}).result
    assert set(found["ends"]["orders"].values()) == {40}
    assert set(found["seen_from"]["orders"].values()) == {880}
    assert set(found["ends"]["returns"].values()) == {900}


@pytest.mark.parametrize(
    ("end", "words"),
    [(47, "orders: 14"), (40, "nothing was written"), (None, "not known: no broker answers")],
)
def test_taken_back_what_was_written_at_the_target_is_named(
    tmp_path: Path, end: int | None, words: str
) -> None:
    """It stays there; and a target that does not answer keeps nothing from being taken back."""

    class Written(Target):
        def end_offsets(self, partitions: Any) -> dict[TopicPartition, int]:
            if end is None:
                raise ClusterError("cluster east", "no broker answers")
            return dict.fromkeys(partitions, end)

    step = replace(PLAN.step("let-land"), id="before-roaming")
    recorded = {"before-roaming": {"now": {"orders": {"0": 40, "1": 40}}}}
    found = mirror.name_written_early(a_session(Written(), tmp_path), step, recorded)
    assert found.outcome == "ok"
    assert words in found.message
