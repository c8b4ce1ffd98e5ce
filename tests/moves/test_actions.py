"""What the steps of a move do once their run was interrupted, and what they make of what they find."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.errors import ClusterError, ConnectError
from orchestrator.mirrors.mirrormaker2.offset_syncs import OffsetSyncs
from orchestrator.mirrors.mirrormaker2.standing import StopConnectors
from orchestrator.moves.clients import StartClients, StopClients
from orchestrator.moves.ends import RecordEarlyEnds, RecordLandingEnds
from orchestrator.moves.ports import FinalMap, Maps
from orchestrator.moves.results import MirrorEnd, SavedOffsets, TopicEnds, TranslatedPositions
from orchestrator.ports.servers import TopicDescription
from orchestrator.replication.mirror_ref import ref_to, source_partitions
from orchestrator.runs.registry import arguments_of
from orchestrator.values import LogEnd, TopicPartition
from orchestrator.verbs.live.move_session import MoveSession
from orchestrator.verbs.plans import plan_failover
from tests.applications.test_relocation import write_checkpoint_at
from tests.runs.memory_ensemble import MemoryEnsemble
from tests.verbs.pictures import (
    GROUPS,
    LOST_AT_S,
    MIRROR,
    REQUEST,
    host,
    observation,
    of,
    part,
    topology,
    with_parts,
)
from tests.verbs.some_moves import WithPorts, a_session, performed, undone
from tests.verbs.some_servers import Hosts, OneByOne, PassingClock, SomeServers

PLAN = plan_failover(topology(), observation(), REQUEST)
STEP = PLAN.step("write-offsets")
SOURCES = source_partitions(topology(), MIRROR)
NO_ENDS = TopicEnds(ends={}, seen_from={}, now={}, at_s=1.0)


class Target:
    """Takes offsets; the run is interrupted after the first group where there is one."""

    name = "east"

    def __init__(self) -> None:
        self.written: list[str] = []
        self.session: MoveSession | None = None

    def write_group_offsets(self, group: str, _offsets: Any, *, may_write: Callable[[], bool]) -> None:
        assert may_write()
        self.written.append(group)
        if self.session is not None:
            self.session.cancel()


class NoWorkers:
    """Connect, which nobody asks."""


def session_at(
    target: Target,
    folder: Path,
    *,
    workers: object = None,
    ensemble: MemoryEnsemble | None = None,
    **servers: Any,
) -> MoveSession:
    made = SomeServers(
        clusters={"east": target},
        workers={"east": workers or NoWorkers()},
        **{"clock": PassingClock(), **servers},
    )
    return a_session(folder, made, topology(), observation(), ensemble=ensemble)


def results() -> dict[str, Any]:
    ends = dict.fromkeys(SOURCES, 5)
    return {
        "translate-positions": TranslatedPositions(translations=[], landing={}),
        "record-landing-ends": TopicEnds(ends=ends, seen_from=ends, now=ends, at_s=1.0),
        "save-offsets": SavedOffsets(offsets={}),
    }


def test_an_interrupted_run_begins_no_step(tmp_path: Path) -> None:
    """Surely nothing was changed."""
    target = Target()
    session = session_at(target, tmp_path)
    session.cancel()
    assert performed(session, STEP, results()).outcome == "failed"
    assert target.written == []


def test_offsets_are_not_written_once_the_run_is_interrupted(tmp_path: Path) -> None:
    """Another may hold the lock by then; the groups that are left are named."""
    target = Target()
    target.session = session_at(target, tmp_path, threads=OneByOne())
    outcome = performed(target.session, STEP, results())
    assert outcome.outcome == "unknown"
    assert len(GROUPS) > 1
    assert len(target.written) == 1
    assert "not written: the run was interrupted" in outcome.message


def test_offsets_are_not_written_where_the_lock_is_gone_and_nobody_said_so(tmp_path: Path) -> None:
    """A process that slept through the loss of its lock asks before each try."""
    asked: list[bool] = []

    class Late(Target):
        def write_group_offsets(self, _group: str, _offsets: Any, *, may_write: Callable[[], bool]) -> None:
            asked.append(may_write())

    ensemble = MemoryEnsemble()
    session = session_at(Late(), tmp_path, ensemble=ensemble)
    ensemble.is_lock_held = False
    performed(session, STEP, results())
    assert asked == [False] * len(GROUPS)


def test_workers_that_rebalance_on_and_on_are_not_asked_for_ever(tmp_path: Path) -> None:
    """What they said for how long, and what was not asked."""

    class Workers:
        def stop(self, _connector: str) -> None:
            raise ConnectError("Connect at east", "answered 500: a rebalance is expected", is_passing=True)

    session = session_at(Target(), tmp_path, workers=Workers())
    found = performed(session, replace(PLAN.step("stop-mirror"), timeout_s=1.0))
    assert found.outcome == "unknown"
    assert (
        "for 0.5 s: answered 500: a rebalance is expected; still to be asked for: west-to-east"
        in found.message
    )


def test_an_interrupted_run_asks_workers_nothing_more(tmp_path: Path) -> None:
    """Neither again nor for the next connector."""
    asked: list[None] = []
    sessions: list[MoveSession] = []

    class Workers:
        def stop(self, _connector: str) -> None:
            asked.append(None)
            sessions[0].cancel()

    sessions.append(session_at(Target(), tmp_path, workers=Workers()))
    both = StopConnectors(connectors=("a", "b"), workers="east")
    found = performed(sessions[0], replace(PLAN.step("stop-mirror"), arguments=arguments_of(both)))
    assert (found.outcome, len(asked)) == ("unknown", 1)
    assert "before Connect was asked for b" in found.message


class Landed(Target):
    """Mirrored topics that end where they did when they were looked at before."""

    asked = 0

    def topics(self, names: Any) -> dict[str, Any]:
        return {name: TopicDescription(name, "id", (1,) * 9, ((1,),) * 9, ((1,),) * 9) for name in names}

    def end_offsets(self, partitions: Any) -> dict[TopicPartition, int]:
        self.asked += 1
        return {tp: (of(observation(), "earlier_ends").value or {}).get(tp, 0) for tp in partitions}


def test_a_standstill_that_observing_saw_is_not_waited_for_again(tmp_path: Path) -> None:
    """It was looked at twice before the decision; one more look is enough."""
    target = Landed()
    described = target.topics([MIRROR.mirrored_topic(name) for name in MIRROR.topics])
    ends = target.end_offsets([tp for topic in described.values() for tp in topic.partitions])
    seen = with_parts(
        observation(),
        earlier_ends=part(ends),
        log_ends=part({tp: LogEnd(0, end) for tp, end in ends.items()}),
    )
    servers = SomeServers(clusters={"east": target}, workers={"east": NoWorkers()})
    target.asked = 0
    assert performed(a_session(tmp_path, servers, topology(), seen), PLAN.step("let-land")).outcome == "ok"
    assert target.asked == 1


@pytest.mark.parametrize(
    ("at_work", "outcome", "message"),
    [
        ({"east-1", "east-2"}, "ok", "2 clients started on 2 hosts"),
        (
            {"east-1"},
            "partial",
            "no host has started producer-cashier; started on east-1: producer-checkout",
        ),
        ({"west-1"}, "unknown", "no host has started producer-checkout, producer-cashier"),
    ],
)
def test_a_client_is_started_only_if_its_host_did_something(
    tmp_path: Path, at_work: set[str], outcome: str, message: str
) -> None:
    """Another host's success says nothing of it. What was started is named; what hosts did that are not known
    to run any of them is not known.
    """
    servers = SomeServers(
        clusters={"east": Target()},
        workers={"east": NoWorkers()},
        playbooks=Hosts(lambda *_args, **_named: frozenset(at_work)),
    )
    hosts = part(
        (
            host("east-1", "east", clients=["producer-checkout"]),
            host("east-2", "east", clients=["producer-cashier"]),
        )
    )
    session = a_session(tmp_path, servers, topology(), replace(observation(), inventory=hosts))
    start = StartClients(cluster="east", clients=("producer-checkout", "producer-cashier"))
    found = performed(session, replace(PLAN.step("start-producers"), arguments=arguments_of(start)))
    assert found.outcome == outcome
    assert message in found.message


def test_of_clients_that_were_not_all_started_again_both_are_named(tmp_path: Path) -> None:
    """Taken back in part: who stands still is named beside who works again."""
    servers = SomeServers(
        clusters={"east": Target()},
        workers={"east": NoWorkers()},
        playbooks=Hosts(lambda *_args, **_named: frozenset({"east-1"})),
    )
    hosts = part(
        (
            host("east-1", "east", clients=["producer-checkout"]),
            host("east-2", "east", clients=["producer-cashier"]),
        )
    )
    session = a_session(tmp_path, servers, topology(), replace(observation(), inventory=hosts))
    stop = StopClients(cluster="east", clients=("producer-checkout", "producer-cashier"))
    step = replace(PLAN.step("start-producers"), action=stop.NAME, arguments=arguments_of(stop))
    assert performed(session, step).outcome == "partial"
    found = undone(session, step)
    assert found.outcome == "partial"
    assert found.message == "no host has started producer-cashier; started on east-1: producer-checkout"


class NothingIn:
    """An offset map and logs without anything in them."""

    def final(self, *_: object) -> FinalMap:
        return FinalMap(OffsetSyncs().build(), {})

    def kept(self, *_: object) -> None:
        """No failback was ever begun."""


class NoTopics(Target):
    """Nothing was ever brought back here."""

    def topics(self, _names: Any) -> dict[str, TopicDescription]:
        return {}


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
    servers = SomeServers(clusters={"east": NoTopics()}, workers={"east": NoWorkers()})
    session = a_session(tmp_path, servers, replace(file, consumers=consumers), observation())
    behind = {"record-mirrored-ends": MirrorEnd(ends={}, mirror_offsets={}), "record-landing-ends": NO_ENDS}
    found = performed(WithPorts(session, {Maps: NothingIn()}), PLAN.step("relocate-revenue"), behind)
    assert found.outcome == "failed"
    assert "the mirror west → east does not copy currency-rates" in found.message
    assert not standby.exists()


def test_topics_of_which_nobody_knows_since_when_begin_where_their_log_starts(tmp_path: Path) -> None:
    """A producer moved to the target long before a sick site was left: nothing of it is passed over."""
    decided_s = observation().at_s

    class Landing(Landed):
        def end_offsets(self, partitions: Any) -> dict[TopicPartition, int]:
            return dict.fromkeys(partitions, 900)

        def log_ends(self, partitions: Any) -> dict[TopicPartition, LogEnd]:
            return dict.fromkeys(partitions, LogEnd(40, 900))

        def offsets_for_times(self, times: Any) -> dict[TopicPartition, int]:
            assert set(times.values()) <= {decided_s - 120, LOST_AT_S - 0.5 - 120}
            return dict.fromkeys(times, 880)

    record = RecordLandingEnds(
        mirror=ref_to(MIRROR), topics=("orders", "returns"), early=("orders",), is_since_unknown=True
    )
    step = replace(PLAN.step("record-landing-ends"), arguments=arguments_of(record))
    found = performed(session_at(Landing(), tmp_path), step).result
    assert set(found["ends"]["orders"].values()) == {40}
    assert set(found["seen_from"]["orders"].values()) == {880}
    assert set(found["ends"]["returns"].values()) == {900}


@pytest.mark.parametrize(
    ("end", "words"),
    [(47, "orders: 14"), (40, "no record was written"), (None, "unknown: no broker answers")],
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

    record = RecordEarlyEnds(cluster="east", topics=("orders",))
    step = replace(
        PLAN.step("let-land"), id="before-roaming", action=record.NAME, arguments=arguments_of(record)
    )
    before = dict.fromkeys((TopicPartition("orders", 0), TopicPartition("orders", 1)), 40)
    recorded = {"before-roaming": TopicEnds(ends=before, seen_from=before, now=before, at_s=1.0)}
    found = undone(session_at(Written(), tmp_path), step, recorded)
    assert found.outcome == "ok"
    assert words in found.message
