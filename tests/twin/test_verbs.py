"""The other verbs on an estate in memory, each to its end, killed on its way, gone on with and taken back."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from orchestrator.errors import GateRefusedError, NoAnswerError
from orchestrator.topology.model import Topology
from orchestrator.values import Acl
from orchestrator.verbs.live.standing_denials import denied_rules, fence_rows
from orchestrator.watch.status import mirror_status
from tests.twin import truths
from tests.twin.clusters import TwinRecord
from tests.twin.conftest import Estates
from tests.twin.crew import ProcessDied
from tests.twin.killing import Check, Story, gone_on_with, sampled, taken_back
from tests.twin.operator import Operator
from tests.twin.record import Harm

ACTIVE_PASSIVE = "topologies/active-passive.yaml"
DEGRADED = "tests/faults/sick.yaml"
THERE, BACK = ["west", "east"], ["west", "east", "west"]


def at_work(estates: Estates) -> Operator:
    """Nothing is wrong."""
    return estates.at_work(DEGRADED)


def sick(estates: Estates) -> Operator:
    """One broker of west is gone, and leads no more."""
    operator = estates.at_work(DEGRADED)
    operator.estate.clusters["west"].set_brokers("gone", 1)
    operator.estate.live(3)
    return operator


def rejoining(estates: Estates, file: str = DEGRADED) -> Operator:
    """West was lost, applications moved east, and west is back with its disks."""
    operator = estates.at_work(file)
    operator.estate.lose("west")
    operator.estate.live(5)
    assert operator.failover().outcome == "ok"
    operator.estate.live(10)
    operator.estate.bring_back("west")
    operator.estate.live(10)
    return operator


def holds(operator: Operator, primary: str, turns: list[str]) -> None:
    """After a moment: nobody skips anything, and each topic was written at one side after the other."""
    operator.estate.live(6)
    assert truths.skipped(operator.estate, primary) == {}
    assert {tuple(found) for found in truths.written_at(operator.estate).values()} == {tuple(turns)}


def gates(operator: Operator) -> dict[str, str]:
    """Outcomes of the newest plan."""
    assert operator.plan is not None
    return {gate.id: gate.outcome for gate in operator.plan.gates}


def test_a_planned_move_loses_nothing_there_and_back(estates: Estates) -> None:
    """Neither a record nor a moment in which both sides are written, nor one that is read again."""
    operator = estates.at_work(ACTIVE_PASSIVE)
    assert operator.switchover().outcome == "ok"
    holds(operator, "east", THERE)
    assert truths.lost_at(operator.estate, "east") == set()
    assert operator.failback().outcome == "ok"
    holds(operator, "west", BACK)
    assert truths.lost_at(operator.estate, "west") == set()
    names = [consumer.name for consumer in operator.estate.topology.consumers]
    assert set(truths.processed_twice(operator.estate, names).values()) == {0}


def test_a_lost_site_that_comes_back_is_primary_again(estates: Estates) -> None:
    """What had not been copied is late, not lost."""
    operator = rejoining(estates, ACTIVE_PASSIVE)
    assert operator.failback().outcome == "ok"
    holds(operator, "west", BACK)
    assert truths.lost_at(operator.estate, "west") == set()


def test_the_way_home_gives_no_producer_a_right_that_somebody_has_taken(estates: Estates) -> None:
    """It makes rights for its mirror and for those who read copies; who may write is not its to say."""
    operator = rejoining(estates, ACTIVE_PASSIVE)
    producer = operator.estate.topology.producers[0]
    acls = operator.estate.clusters["west"].acls
    taken = {
        rule
        for rule in acls
        if (rule.principal, rule.operation, rule.permission) == (producer.principal, "WRITE", "ALLOW")
    }
    assert taken
    acls -= taken
    operator.failback()
    said = {event.step: event.message for event in operator.events if event.kind == "step-outcome"}
    assert "added" in said["prepare-reverse"]
    assert not taken & operator.estate.clusters["west"].acls


def test_a_topic_that_was_made_anew_long_before_its_site_was_lost_comes_back(estates: Estates) -> None:
    """The topic that applications left is the one that returns, whatever had become of an earlier one."""
    operator = estates.at_work(DEGRADED)
    operator.estate.make_anew("west", "orders")
    operator.estate.live(20)
    operator.estate.lose("west")
    operator.estate.live(5)
    assert operator.failover().outcome == "ok"
    operator.estate.live(10)
    operator.estate.bring_back("west")
    operator.estate.live(10)
    assert operator.failback().outcome == "ok"
    holds(operator, "west", BACK)
    assert gates(operator)["same-topics"] == "ok"


def test_a_topic_that_was_made_anew_after_its_site_was_lost_is_another_one(estates: Estates) -> None:
    """What was copied of the earlier one does not continue in it."""
    operator = rejoining(estates)
    operator.estate.make_anew("west", "orders")
    with pytest.raises(GateRefusedError, match="orders was deleted and created again"):
        operator.failback()


def test_a_guarded_site_comes_back_closed_and_is_held_before_it_opens(estates: Estates) -> None:
    """Its applications run again as soon as their hosts do, and nobody writes there before it is primary."""
    operator = estates.at_work(DEGRADED)
    estate = operator.estate
    estate.guard("west")
    estate.lose("west")
    estate.live(5)
    assert operator.failover().outcome == "ok"
    estate.bring_back("west", applications=True)
    estate.live(20)
    assert truths.written_at(estate) == {"orders": THERE, "payments": THERE}
    result = operator.failback()
    assert result.outcome == "ok"
    assert {"returned-opens": "the brokers of west have opened"}.items() <= {
        s["id"]: s["message"] for s in result.steps
    }.items()
    holds(operator, "west", BACK)


def test_a_log_that_came_back_shorter_is_told(estates: Estates) -> None:
    """A power loss cut off what was acknowledged: a person decides whether that is accepted."""
    operator = rejoining(estates)
    west = operator.estate.clusters["west"]
    (first, *_) = west.partitions(["orders"])
    west.cut(first, west.topics["orders"].logs[0].end - 40)
    with pytest.raises(GateRefusedError, match="orders-0"):
        operator.failback()


@pytest.mark.parametrize("state", ["gone", "silent"])
def test_a_sick_site_is_left(estates: Estates, state: str) -> None:
    """What still answers is fenced and drained: nothing is lost."""
    operator = estates.at_work(DEGRADED)
    operator.estate.clusters["west"].set_brokers("gone" if state == "gone" else "silent", 1)
    operator.estate.live(3)
    assert operator.leave().outcome == "ok"
    holds(operator, "east", THERE)
    assert truths.lost_at(operator.estate, "east") == set()


def test_a_fence_keeps_producers_off_until_it_is_lifted(estates: Estates) -> None:
    """Nothing is written in between, and they go on by themselves."""
    operator = at_work(estates)
    estate = operator.estate
    assert operator.fence("west").outcome == "ok"
    assert ("deny", "west", "User:checkout WRITE topic *") in estate.record.done
    written = len(estate.applications.ledger.acknowledged)
    estate.live(5)
    assert len(estate.applications.ledger.acknowledged) == written
    assert operator.unfence("west").outcome == "ok"
    assert ("lift denial", "west", "User:checkout WRITE topic *") in estate.record.done
    holds(operator, "west", ["west"])
    assert len(estate.applications.ledger.acknowledged) > written


def fences(operator: Operator) -> list[tuple[str, list[str], list[str], bool]]:
    """What `status` tells of fences."""
    rows = fence_rows(operator.estate.ensemble, operator.estate.topology.name)  # type: ignore[arg-type]
    return [(row["cluster"], row["writing"], row["reading"], row["surely"]) for row in rows]


def test_a_fence_is_told_until_it_is_lifted(estates: Estates) -> None:
    """What is left of it where some were let in; no more once all are, or where it was taken back."""
    operator = at_work(estates)
    everybody = ["User:checkout", "User:settlement"]
    assert fences(operator) == []
    begun_s = operator.estate.servers.clock.now_s()
    operator.fence("west")
    assert fences(operator) == [("west", everybody, [], True)]
    (row,) = fence_rows(operator.estate.ensemble, operator.estate.topology.name)  # type: ignore[arg-type]
    assert row["run_id"] == operator.run_id
    assert begun_s <= row["since_s"] <= operator.estate.servers.clock.now_s()
    operator.unfence("west", principals=["User:checkout"])
    assert fences(operator) == [("west", ["User:settlement"], [], True)]
    operator.unfence("west")
    assert fences(operator) == []
    assert operator.fence("west", principals=["User:checkout"]).outcome == "ok", (
        "settlement writes on elsewhere"
    )
    assert fences(operator) == [("west", ["User:checkout"], [], True)]


def test_who_has_left_the_file_before_the_unfence_is_denied_on(estates: Estates) -> None:
    """The file at the unfence does not say whom an earlier fence has denied; the fence's own record does."""
    operator = at_work(estates)
    estate = operator.estate
    operator.fence("west")
    full = estate.topology
    estate.topology = replace(full, producers=tuple(p for p in full.producers if p.name != "checkout"))
    operator.unfence("west")
    assert fences(operator) == [("west", ["User:checkout"], [], True)]
    operator.fence("west")
    operator.unfence("west")
    assert fences(operator) == [("west", ["User:checkout"], [], True)]
    estate.topology = full
    operator.unfence("west")
    assert fences(operator) == []
    assert not [rule for rule in estate.clusters["west"].acls if rule.permission == "DENY"]


def unreadable(operator: Operator) -> str:
    """The newest run's journal holds what nobody wrote; its id."""
    nodes = operator.estate.ensemble.nodes
    nodes[next(path for path in sorted(nodes) if f"/runs/{operator.run_id}/" in path)] = b"{broken"
    return operator.run_id


def test_a_journal_that_cannot_be_read_hides_no_other_fence(estates: Estates) -> None:
    """Of that fence it is told that nobody knows; who was let in by such a run is maybe denied."""
    operator = at_work(estates)
    everybody = ["User:checkout", "User:settlement"]
    operator.fence("west")
    operator.fence("west", consumers=True)
    assert len(fences(operator)) == 2
    broken = unreadable(operator)
    rows = fence_rows(operator.estate.ensemble, operator.estate.topology.name)  # type: ignore[arg-type]
    assert [(row["run_id"] == broken, row["writing"], row["surely"]) for row in rows] == [
        (False, everybody, True),
        (True, None, False),
    ]
    assert [bool(row["problem"]) for row in rows] == [False, True]
    assert "is no JSON that dcctl writes" in rows[1]["problem"]
    operator.unfence("west", principals=["User:checkout"])
    unreadable(operator)
    assert fences(operator) == [("west", everybody, [], False), ("west", None, None, False)]
    operator.unfence("west")
    assert fences(operator) == []


def test_an_ensemble_that_falls_silent_is_not_waited_for_once_a_journal(
    estates: Estates, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is no journal that cannot be read: what stands is not known at all."""
    operator = at_work(estates)
    operator.fence("west")
    operator.fence("west", consumers=True)
    ensemble, begun_s = operator.estate.ensemble, operator.estate.servers.clock.now_s()
    real = ensemble.read_children

    def falls_silent(path: str) -> dict[str, bytes]:
        ensemble.is_gone = True
        return real(path)

    monkeypatch.setattr(ensemble, "read_children", falls_silent)
    with pytest.raises(NoAnswerError):
        fences(operator)
    assert operator.estate.servers.clock.now_s() - begun_s < 12


def test_a_fence_is_not_gone_on_with_behind_a_later_unfence(estates: Estates) -> None:
    """Who was let in since would be denied again, and nobody told of it."""
    operator = at_work(estates)
    operator.estate.record.harm_where(lambda entry: entry.verb == "deny", "dies before")
    with pytest.raises(ProcessDied):
        operator.fence("west")
    operator.estate.record.heal()
    operator.estate.restart_dcctl()
    fence = operator.run_id
    assert operator.unfence("west").outcome == "ok"
    with pytest.raises(GateRefusedError, match="was overtaken: unfence west"):
        operator.resume(fence)
    assert not [rule for rule in operator.estate.clusters["west"].acls if rule.permission == "DENY"]


def test_a_fence_under_a_move_is_told_until_the_way_back_has_lifted_it(estates: Estates) -> None:
    """A fence that stopped on its way denies perhaps; a failback lets in whoever was denied."""
    operator = at_work(estates)
    operator.estate.record.harm_where(lambda entry: entry.verb == "deny", "dies before")
    with pytest.raises(ProcessDied):
        operator.fence("west")
    operator.estate.record.heal()
    operator.estate.restart_dcctl()
    fence = operator.run_id
    assert fences(operator) == [("west", ["User:checkout", "User:settlement"], [], False)]
    assert operator.resume(fence).outcome == "ok"
    assert operator.switchover().outcome == "ok"
    assert fences(operator) == [("west", ["User:checkout", "User:settlement"], [], True)]
    assert operator.failback(acknowledge="eve: a rehearsal").outcome == "ok"
    assert fences(operator) == []
    operator.fence("west", consumers=True)
    ((_, _, reading, _),) = fences(operator)
    assert len(reading) > 1
    operator.unfence("west")
    assert fences(operator) == []


def test_the_rules_that_moves_have_made_are_known_to_be_theirs(estates: Estates) -> None:
    """All that denies at any cluster, at each stop of the way there and back: a comparison takes none for drift."""
    operator = at_work(estates)
    estate = operator.estate

    def denied() -> set[tuple[str, Acl]]:
        return {(n, rule) for n, c in estate.clusters.items() for rule in c.acls if rule.permission == "DENY"}

    def by_runs() -> set[tuple[str, Acl]]:
        found = denied_rules(estate.ensemble, estate.topology.name)  # type: ignore[arg-type]
        return {(name, rule) for name, rules in found.items() for rule in rules}

    assert operator.switchover().outcome == "ok"
    assert denied() == by_runs() != set()
    assert operator.failback(acknowledge="eve: a rehearsal").outcome == "ok"
    assert denied() == by_runs()
    estate.live(3)
    assert operator.fence("west").outcome == "ok"
    assert denied() == by_runs() != set()


def told_of_primary(operator: Operator) -> tuple[list[str], list[str]]:
    """What `status` says right now of where record and world disagree, and of what it cannot tell."""
    estate = operator.estate
    found = mirror_status(estate.topology, operator.mirror, servers=estate.servers)
    return found["primary_drift"], found["primary_unseen"]


@pytest.mark.parametrize("make", ["at_work", "sick"])
def test_what_was_written_before_a_move_is_not_told_as_written_since(estates: Estates, make: str) -> None:
    """At no moment after it; what is written at the side that was left is told as ever."""
    operator = sick(estates) if make == "sick" else at_work(estates)
    estate = operator.estate
    assert (operator.leave() if make == "sick" else operator.switchover()).outcome == "ok"
    for _ in range(24):
        assert told_of_primary(operator)[0] == []
        estate.live(0.5)
    assert told_of_primary(operator) == ([], [])
    west = estate.clusters["west"]
    for _ in range(4):
        (first, *_) = west.partitions(["orders"])
        west.append(first, TwinRecord(0.0, b"k", b"v"))
        estate.live(1)
    (said,) = told_of_primary(operator)[0]
    assert said == "records are written to orders at west, which is not primary for it"


def test_right_after_a_move_it_is_not_known_whether_the_side_left_is_written(estates: Estates) -> None:
    """As long as the watcher has not read it twice since; that is said, and is no drift."""
    operator = at_work(estates)
    for watcher in operator.estate.watchers:
        watcher.is_running = False
    assert operator.switchover(accept_reread=10_000).outcome == "ok"
    drift, unseen = told_of_primary(operator)
    assert drift == []
    assert unseen == [
        "whether anybody still writes orders, payments at west is unknown: "
        "the watcher has not read their end offsets twice since applications left"
    ]


def test_what_a_dead_watcher_has_read_of_a_side_that_was_left_is_not_known_of_now(estates: Estates) -> None:
    """The age of its last reading is told; what is written there later goes unseen."""
    operator = at_work(estates)
    estate = operator.estate
    assert operator.switchover().outcome == "ok"
    estate.live(12)
    assert told_of_primary(operator) == ([], [])
    for watcher in estate.watchers:
        watcher.is_running = False
    west = estate.clusters["west"]
    west.append(west.partitions(["orders"])[0], TwinRecord(0.0, b"k", b"v"))
    estate.live(300)
    drift, (unseen,) = told_of_primary(operator)
    assert drift == []
    assert re.fullmatch(
        "whether anybody still writes orders, payments at west is unknown: "
        "the watcher has last read their end offsets 30[01] s ago",
        unseen,
    )


def test_without_the_ensemble_a_lost_site_is_left_by_a_person_s_word(estates: Estates) -> None:
    """The journal is then one of this machine."""
    operator = estates.at_work(DEGRADED)
    operator.estate.lose("west")
    operator.estate.ensemble.is_gone = True
    operator.estate.live(5)
    with pytest.raises(GateRefusedError, match="coordination"):
        operator.failover()
    assert operator.failover(without_coordination=True).outcome == "ok"
    holds(operator, "east", THERE)
    assert {verb for verb, *_ in operator.estate.record.done} == {
        "stop connector",
        "commit offset",
        "start client",
    }


def test_markers_of_transactions_are_no_records(estates: Estates) -> None:
    """Logs end in one, and the offsets of copies have none; still nothing is lost or skipped."""

    def in_transactions(file: Topology) -> Topology:
        producers = (replace(producer, transactional_ids=(producer.name,)) for producer in file.producers)
        return replace(file, producers=tuple(producers))

    operator = estates.at_work(DEGRADED, change=in_transactions)
    assert operator.switchover(accept_reread=100).outcome == "ok"
    holds(operator, "east", THERE)
    assert truths.lost_at(operator.estate, "east") == set()


def test_a_hold_stops_a_run_before_it_begins(estates: Estates) -> None:
    """Of a person who works at the site."""
    operator = at_work(estates)
    operator.estate.hold("dc:east", "a new switch")
    with pytest.raises(GateRefusedError, match="a new switch"):
        operator.switchover()
    assert operator.estate.record.done == []


def test_what_is_refused_or_unheard_takes_a_move_back(estates: Estates) -> None:
    """Whether Connect has done what it did not answer to is looked at; what it refuses is taken back."""
    operator = at_work(estates)
    record = operator.estate.record
    record.harm_where(lambda entry: entry.verb == "stop connector", "is done unheard")
    assert operator.switchover().outcome == "ok"
    operator = at_work(estates)
    operator.estate.record.harm_where(lambda entry: entry.verb == "commit offset", "fails")
    assert operator.switchover().outcome == "undone"
    holds(operator, "west", ["west"])


def written(primary: str, turns: list[str]) -> Check:
    """Where topics are primary, and where they were written, in turns."""
    return lambda operator: holds(operator, primary, turns)


BEFORE: tuple[Harm, ...] = ("dies before",)
STORIES = {
    "switchover": Story(
        at_work, Operator.switchover, written("east", THERE), written("west", ["west"]), BEFORE
    ),
    "leave": Story(sick, Operator.leave, written("east", THERE), written("west", ["west"]), BEFORE),
    "failback": Story(rejoining, Operator.failback, written("west", BACK), written(THERE[-1], THERE), BEFORE),
    "fence": Story(
        at_work, lambda o: o.fence("west"), written("west", ["west"]), written("west", ["west"]), BEFORE
    ),
}


@pytest.mark.parametrize("name", STORIES)
def test_a_killed_run_is_gone_on_with(estates: Estates, name: str) -> None:
    """To the same end."""
    for number, harm in sampled(estates, STORIES[name], 23):
        gone_on_with(estates, STORIES[name], number, harm)


@pytest.mark.parametrize("name", STORIES)
def test_a_killed_run_is_taken_back_unless_applications_may_work_at_the_other_side(
    estates: Estates, name: str
) -> None:
    """Then all is as it was; afterwards it is refused, and gone on with."""
    for number, harm in sampled(estates, STORIES[name], 29):
        taken_back(estates, STORIES[name], number, harm)


def test_a_fence_is_not_taken_back_from_under_a_move_that_rests_on_it(estates: Estates) -> None:
    """Left on its way, it still denies what a later move keeps off: two sides would take writes."""
    operator = at_work(estates)
    estate = operator.estate
    estate.record.harm_where(lambda entry: entry.verb == "deny", "dies after")
    with pytest.raises(ProcessDied):
        operator.fence("west")
    fence = operator.run_id
    estate.record.heal()
    estate.restart_dcctl()
    assert operator.switchover().outcome == "ok"
    estate.live(5)
    for _ in range(2):
        with pytest.raises(GateRefusedError, match="primary-here refused: topics that the file gives west"):
            operator.abort(fence)
    assert any(rule.permission == "DENY" for rule in estate.clusters["west"].acls)
    assert operator.failback(acknowledge="eve: a rehearsal").outcome == "ok"
    assert operator.abort(fence).outcome == "undone"
    holds(operator, "west", BACK)
