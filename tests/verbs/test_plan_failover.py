"""The failover's plan: every gate in all its outcomes, the predictions, and the order of the steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import networkx as nx
import pytest

from orchestrator.applications.spark.checkpoints import SeenCheckpoint
from orchestrator.errors import UsageError
from orchestrator.guards.guarding import WAITED_FOR_S
from orchestrator.mirrors.mirrormaker2.formats import OffsetSync, encode_offset_sync
from orchestrator.mirrors.mirrormaker2.offset_syncs import OffsetSyncs
from orchestrator.moves.request import FailoverRequest
from orchestrator.replication.mirror_ref import source_partitions
from orchestrator.replication.recreated_topic import Recreation
from orchestrator.runs.coordination_state import CoordinationState, EarlierRun
from orchestrator.runs.guards import GuardSaid
from orchestrator.runs.plan import GateOutcome, Plan, plan_from_json, to_json
from orchestrator.snapshot.observation import SourceProbe
from orchestrator.snapshot.samples import CheckpointCopy, Round, SampleHistory
from orchestrator.snapshot.snapshot import Snapshot
from orchestrator.topology.model import Failover, MaxLoss
from orchestrator.values import LogEnd, TopicPartition
from orchestrator.verbs.plans import plan_failover
from orchestrator.verbs.registration import PARTICIPANTS
from tests.verbs.pictures import (
    ABSENT,
    LOST_AT_S,
    MIRROR,
    MIRRORED,
    NOW_S,
    PARTS,
    REQUEST,
    checkpoint_at,
    history,
    host,
    observation,
    of,
    offset_map,
    part,
    topology,
    with_parts,
    written,
)

HEALTHY = observation()
ORDERS, RATES = TopicPartition("orders", 0), TopicPartition("currency-rates", 0)
CLIENTS = [
    program
    for kind in PARTICIPANTS.kinds
    for program in kind.programs(topology(), kind.at(topology(), "west"))
]


def plan(
    picture: Snapshot = HEALTHY, request: FailoverRequest = REQUEST, max_loss: MaxLoss | None = None
) -> Plan:
    file = topology()
    if max_loss is not None:
        file = replace(file, failover=Failover(max_loss=max_loss))
    return plan_failover(file, picture, request)


def changed(**parts: Any) -> Snapshot:
    return with_parts(HEALTHY, **{name: part(value) for name, value in parts.items()})


def revenue(seen: SeenCheckpoint) -> dict[str, SeenCheckpoint]:
    """The copies of all queries."""
    return {"revenue": seen}


def of_version_2(seen: SeenCheckpoint) -> SeenCheckpoint:
    """As later versions of Spark write it."""
    assert seen.contents is not None
    offsets = dict.fromkeys(seen.contents.offsets, b"v2\n{}\n0:{}")
    return replace(seen, contents=replace(seen.contents, offsets=offsets))


def gate(of: Plan, gate_id: str) -> tuple[GateOutcome, str]:
    found = next(gate for gate in of.gates if gate.id == gate_id)
    return found.outcome, f"{found.reason} | {found.measured} | {found.hint}"


def test_a_lost_source_and_a_healthy_target_may_be_failed_over() -> None:
    """Every gate is ok, and the plan survives a file."""
    made = plan()
    assert [g.id for g in made.gates if g.outcome != "ok"] == []
    assert plan_from_json(to_json(made)) == made


def test_every_part_that_could_not_be_had_stops() -> None:
    """What cannot be measured is unknown, never assumed: no part may be missing unnoticed."""
    unused = {"by_time", "earlier_ends", "mirror_offsets"}
    for name in PARTS - unused:
        made = plan(with_parts(HEALTHY, **{name: ABSENT}))
        assert "unknown" in {g.outcome for g in made.gates}, name
        assert not made.is_allowed


def _silent() -> Snapshot:
    return with_parts(HEALTHY, samples=replace(of(HEALTHY, "samples"), at_s=NOW_S + 10))


def _cut_off() -> Snapshot:
    silent = history(silent_since_s=LOST_AT_S)
    silent.add(
        Round(
            watcher="w",
            begun_at_s=LOST_AT_S,
            ended_at_s=LOST_AT_S + 1,
            outcome="failed",
            cause="silent",
            failing_since_s=LOST_AT_S + 1,
        )
    )
    return changed(samples=silent)


def _source_still_sampled() -> SampleHistory:
    return history(silent_since_s=LOST_AT_S)


def _sick_topic(leader: int, isr: int) -> dict[str, Any]:
    topics = dict(of(HEALTHY, "topics").value or {})
    topics["orders"] = replace(topics["orders"], leaders=(1, leader, 1, 1), isr=(3, isr, 3, 3))
    return topics


def waits_for(graph: Any, step: str) -> set[str]:
    return set(nx.ancestors(graph, step))  # type: ignore[no-untyped-call]


def test_a_source_that_is_back_and_kept_closed_is_no_reason_to_stop() -> None:
    """A failover on its way is gone on with: its guards let no application in."""
    kept = replace(HEALTHY.coordination.value or CoordinationState(""), kept_closed="east takes over (run 1)")
    seen = changed(source=SourceProbe({"west:1": "yes"}, "", "id-west"), coordination=kept)
    gates = {gate.id: gate for gate in plan_failover(topology(), seen, REQUEST).gates}
    assert gates["source-unreachable"].outcome == "ok"
    assert "keeps applications out: east takes over (run 1)" in gates["source-unreachable"].reason


def said_by_guards(*words: GuardSaid) -> Snapshot:
    state = replace(HEALTHY.coordination.value or CoordinationState(""), guards=words)
    return changed(coordination=state)


def test_brokers_that_may_be_starting_open_are_waited_for() -> None:
    """It is said before anything is done, and costs its seconds; where nobody has let one start, nothing."""
    plain = plan(said_by_guards(GuardSaid(server="k1", state="open", at_s=LOST_AT_S - 3600)))
    assert plain.is_allowed
    assert plain.predicted.seconds == plan().predicted.seconds
    for word in (
        GuardSaid(server="k1", state="opening", at_s=LOST_AT_S - 3600),
        GuardSaid(server="k1", state="open", at_s=LOST_AT_S + 60, has_listened=True),
    ):
        made = plan(said_by_guards(word))
        gate = next(gate for gate in made.gates if gate.id == "source-unreachable")
        assert made.is_allowed
        assert "boot guards have let brokers start: k1 at" in gate.reason
        assert made.predicted.seconds > plain.predicted.seconds + WAITED_FOR_S - 5


def test_the_primary_is_recorded_behind_the_guards_and_a_last_look() -> None:
    """Whoever let a broker start open before the run began has been told otherwise by then."""
    step = plan().step("record-primary")
    assert "guards-closed" in step.depends_on
    assert step.action == "record-primary-unless-back"
    assert waits_for(plan().graph(), "guards-closed") == set()


REFUSALS: dict[str, tuple[str, GateOutcome, str, Callable[[], Snapshot]]] = {
    "the source answers": (
        "source-unreachable",
        "refused",
        "switchover",
        lambda: changed(source=SourceProbe({"west:1": "yes"}, "", "id-west")),
    ),
    "the source takes connections": (
        "source-unreachable",
        "unknown",
        "does not answer as Kafka",
        lambda: changed(source=SourceProbe({"west:1": "yes"}, "timed out")),
    ),
    "nobody was asked for the source": (
        "source-unreachable",
        "unknown",
        "names no address",
        lambda: changed(source=SourceProbe({}, "no address takes a connection")),
    ),
    "only we do not see the source": (
        "source-unreachable",
        "unknown",
        "watcher has not seen",
        lambda: changed(samples=_source_still_sampled()),
    ),
    "what a guard has said cannot be read": (
        "source-unreachable",
        "unknown",
        "what the guard of k1 has said cannot be read",
        lambda: said_by_guards(GuardSaid(server="k1")),
    ),
    "a guard of an earlier version has let its broker start": (
        "source-unreachable",
        "unknown",
        "which does not ask again",
        lambda: said_by_guards(GuardSaid(server="k1", state="open", at_s=LOST_AT_S + 60)),
    ),
    "no leader": (
        "target-healthy",
        "refused",
        "orders-1: no leader",
        lambda: changed(topics=_sick_topic(-1, 3)),
    ),
    "too few in sync": (
        "target-healthy",
        "refused",
        "orders-1: 1 replica in sync, min.insync.replicas is 2",
        lambda: changed(topics=_sick_topic(1, 1)),
    ),
    "a landing topic is missing": (
        "target-topics",
        "refused",
        "orders does not exist",
        lambda: changed(
            topics={n: t for n, t in (of(HEALTHY, "topics").value or {}).items() if n != "orders"}
        ),
    ),
    "an unknown mirror": (
        "mirror-controlled",
        "refused",
        "Connect has no connector",
        lambda: changed(connectors={}),
    ),
    "the watcher is dead": ("watcher-alive", "refused", "silent", _silent),
    "no watcher has ever run": (
        "watcher-alive",
        "refused",
        "no watcher has ever run",
        lambda: changed(samples=SampleHistory()),
    ),
    "a position is too old for the map": (
        "map-complete",
        "refused",
        "below the oldest offset sync",
        lambda: changed(offset_map=offset_map(oldest=98_500)),
    ),
    "a partition has no sync": (
        "map-complete",
        "refused",
        "no offset sync",
        lambda: changed(offset_map=offset_map(without=TopicPartition("orders", 2))),
    ),
    "positions in a topic that is no more": (
        "map-complete",
        "refused",
        "recorded before orders was deleted and created again at the source",
        lambda: changed(samples=history(recreated=Recreation(LOST_AT_S - 2, LOST_AT_S - 0.4))),
    ),
    "a checkpoint of a topic that is no more": (
        "checkpoints-copied",
        "refused",
        "revenue: its batch was committed before payments was deleted and created again at west",
        lambda: changed(samples=history(recreated=Recreation(LOST_AT_S - 2, LOST_AT_S - 0.4))),
    ),
    "a query that reads a topic that the mirror does not copy": (
        "checkpoints-copied",
        "refused",
        "the mirror west → east does not copy currency-rates",
        lambda: changed(checkpoints=revenue(checkpoint_at({ORDERS: 97_000, RATES: 7}))),
    ),
    "a checkpoint of a format that is not understood": (
        "checkpoints-copied",
        "refused",
        "revenue: has format v2, which Spark 4.2 and later write",
        lambda: changed(checkpoints=revenue(of_version_2(checkpoint_at({ORDERS: 97_000})))),
    ),
    "a checkpoint whose state lacks a file": (
        "checkpoints-copied",
        "refused",
        "revenue: its state is not complete: state/0/0 lacks 3.delta",
        lambda: changed(
            checkpoints=revenue(replace(checkpoint_at({ORDERS: 97_000}), broken=("state/0/0 lacks 3.delta",)))
        ),
    ),
    "a checkpoint with its state in RocksDB": (
        "checkpoints-copied",
        "unknown",
        "revenue: its state is in files as RocksDB's (state/0/0/8.zip), which dcctl cannot check",
        lambda: changed(
            checkpoints=revenue(replace(checkpoint_at({ORDERS: 97_000}), unjudged=("state/0/0/8.zip",)))
        ),
    ),
    "a copy that cannot be read from here": (
        "checkpoints-copied",
        "unknown",
        "revenue: cannot be read: Permission denied",
        lambda: changed(checkpoints=revenue(SeenCheckpoint(problem="cannot be read: Permission denied"))),
    ),
    "no copy of the checkpoint": (
        "checkpoints-copied",
        "refused",
        "revenue: the copy of its checkpoint is too old",
        lambda: changed(
            samples=history(
                CheckpointCopy(watcher="w", query="revenue", at_s=LOST_AT_S, batch=7, source_batch=90)
            )
        ),
    ),
    "a group runs at the target": (
        "groups-idle",
        "refused",
        "billing (2)",
        lambda: changed(members={"billing": 2}),
    ),
    "no host at the target": (
        "clients-startable",
        "refused",
        "no host is in east: the inventory knows none, west",
        lambda: changed(inventory=(host("a", "west"), host("b", ""))),
    ),
    "an empty inventory": (
        "clients-startable",
        "refused",
        "the inventory knows no host",
        lambda: changed(inventory=()),
    ),
    "nobody knows how to start there": (
        "clients-startable",
        "refused",
        "no known service_manager: b | 9 clients, 1 of 2 hosts | give each host its `service_manager`",
        lambda: changed(inventory=(host("a", "west"), host("b", "east", ""))),
    ),
    "a client without a host": (
        "clients-startable",
        "refused",
        "no host would run spark-revenue",
        lambda: changed(inventory=(host("b", "east", clients=[*CLIENTS[:-1]]), host("a", "west"))),
    ),
    "the inventory cannot be read": (
        "clients-startable",
        "unknown",
        "no answer within 10 s",
        lambda: with_parts(HEALTHY, inventory=ABSENT),
    ),
    "the lock is held": (
        "coordination",
        "refused",
        "bob on ops-2",
        lambda: changed(coordination=CoordinationState("bob on ops-2")),
    ),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_a_gate_refuses_with_its_reason(case: str) -> None:
    """One thing is wrong; the gate that stands for it says so, and the plan may not run."""
    gate_id, outcome, words, picture = REFUSALS[case]
    made = plan(picture())
    found = gate(made, gate_id)
    assert found[0] == outcome
    assert words in found[1]
    assert not made.is_allowed


def test_clients_may_be_spread_over_hosts() -> None:
    """Each needs one that runs it, not all of them."""
    spread = [host(f"east-{number}", "east", clients=[client]) for number, client in enumerate(CLIENTS)]
    assert gate(plan(changed(inventory=tuple(spread))), "clients-startable")[0] == "ok"


def test_without_clients_no_inventory_is_needed() -> None:
    """The file may name no application: others start them."""
    file = replace(topology(), producers=(), consumers=(), inventory=None)
    made = plan_failover(file, with_parts(HEALTHY, inventory=ABSENT), REQUEST)
    assert gate(made, "clients-startable") == ("ok", "no client is to be started | no client | ")
    named = plan_failover(replace(topology(), inventory=None), HEALTHY, REQUEST)
    assert gate(named, "clients-startable")[0] == "refused"


def test_nobody_attests() -> None:
    """The hint is the very option to type."""
    made = plan(request=replace(REQUEST, attested=()))
    outcome, words = gate(made, "attested")
    assert outcome == "refused"
    assert "--attest-down west" in words


def test_the_budget_of_the_file_counts_unless_a_person_accepts_more() -> None:
    """Refused with the number that would let it pass; that number lets it pass."""
    at_most = sum(loss["at_most"] for loss in plan().predicted.loss.values())
    tight = MaxLoss(records=0)
    outcome, words = gate(plan(max_loss=tight), "loss-within-budget")
    assert outcome == "refused"
    assert f"--accept-loss {at_most}" in words
    assert gate(plan(request=replace(REQUEST, accept_loss=at_most - 1)), "loss-within-budget")[0] == "refused"
    accepted = replace(REQUEST, accept_loss=at_most)
    assert gate(plan(request=accepted, max_loss=tight), "loss-within-budget")[0] == "ok"


def test_the_seconds_of_the_budget_count_too() -> None:
    """Ten seconds of records are missing at the target here."""
    assert gate(plan(max_loss=MaxLoss(seconds=5.0)), "loss-within-budget")[0] == "refused"
    assert gate(plan(max_loss=MaxLoss(seconds=15.0)), "loss-within-budget")[0] == "ok"


def test_the_predicted_loss_holds_the_truth() -> None:
    """Each partition lost what was written after the last mirrored record."""
    loss = plan().predicted.loss
    for topic, partitions in (("orders", 4), ("payments", 3)):
        truth = partitions * (written(LOST_AT_S) - MIRRORED)
        assert loss[topic]["at_least"] <= truth <= loss[topic]["at_most"]
        assert loss[topic]["at_most"] - truth <= partitions * 100 * 1.5


def _running(ends: int) -> Snapshot:
    """As if the mirrored topics had ended there a moment before."""
    return changed(earlier_ends=dict.fromkeys(of(HEALTHY, "earlier_ends").value or {}, ends))


def test_what_the_target_has_no_room_for_is_surely_lost() -> None:
    """Known to exist a while before the last sign of life, and not one slot for it at the target."""
    at_least = {name: loss["at_least"] for name, loss in plan().predicted.loss.items()}
    surely = written(LOST_AT_S - 1.5) - MIRRORED  # sampled twice a second, acknowledged within half of one
    assert at_least == {"orders": 4 * surely, "payments": 3 * surely}
    assert surely > 0


@pytest.mark.parametrize(
    "picture",
    [
        lambda: _running(MIRRORED - 1),
        lambda: with_parts(HEALTHY, earlier_ends=ABSENT),
        lambda: with_parts(HEALTHY, connectors=ABSENT),
        lambda: changed(offset_map=offset_map(gap_at=50_000)),
        _cut_off,
    ],
    ids=["records land", "never asked", "Connect is silent", "not each offset is a record", "cut off"],
)
def test_nothing_is_called_lost_that_may_have_arrived_or_never_was(
    picture: Callable[[], Snapshot],
) -> None:
    """Where the lower bound rests on sand it is 0."""
    assert {loss["at_least"] for loss in plan(picture()).predicted.loss.values()} == {0}


LONG_AGO = Recreation(LOST_AT_S - 25, LOST_AT_S - 20)


def test_a_topic_made_anew_may_be_failed_over_once_all_is_recorded_anew() -> None:
    """Copied from its very beginning: nothing was passed over, and the loss is what it would be."""
    made = plan(changed(samples=history(recreated=LONG_AGO)))
    # Ten seconds are the file's budget; here the newest offset sync alone, five seconds old, tells the end.
    assert {g.id for g in made.gates if g.outcome != "ok"} <= {"loss-within-budget"}
    assert made.predicted.loss["orders"]["at_most"] <= plan().predicted.loss["orders"]["at_most"] + 4 * 500
    assert made.facts["made_anew"]["orders"] == {"seen_at_s": LOST_AT_S - 20, "passed_over": 0}


def test_what_a_mirror_may_have_passed_over_counts_as_lost() -> None:
    """The new log had grown past the old position before the mirror looked: no copy of its beginning."""
    made = plan(changed(samples=history(recreated=LONG_AGO), offset_map=offset_map(oldest=97_500)))
    assert made.facts["made_anew"]["orders"]["passed_over"] == 4 * 97_500
    assert made.predicted.loss["orders"]["at_most"] > 4 * 97_500
    assert gate(made, "loss-within-budget")[0] == "refused"


def with_copies_made_anew(at: int, *, policy: str = "delete") -> tuple[Plan, int]:
    """A healthy mirror until its copies were deleted, and made anew with the source offset `at` first.

    Returns the plan, and how many partitions `orders` has.
    """
    builder = OffsetSyncs(gaps=dict.fromkeys(source_partitions(topology(), MIRROR), "no"))
    for tp in source_partitions(topology(), MIRROR):
        pairs = [(offset, offset) for offset in range(0, at, 500)]
        pairs += [(offset, offset - at) for offset in range(at, MIRRORED, 500)]
        syncs = [encode_offset_sync(OffsetSync(tp, up, down)) for up, down in pairs]
        builder.add_syncs([key for key, _ in syncs], [value for _, value in syncs])
    copies = {MIRROR.mirrored(tp): LogEnd(0, MIRRORED - at) for tp in source_partitions(topology(), MIRROR)}
    logs = {**(of(HEALTHY, "log_ends").value or {}), **copies}
    file = topology()
    topics = tuple(replace(topic, config={"cleanup.policy": policy}) for topic in file.topics)
    picture = changed(offset_map=builder.build(), log_ends=logs)
    made = plan_failover(replace(file, topics=topics), picture, REQUEST)
    return made, sum(tp.topic == "orders" for tp in source_partitions(file, MIRROR))


@pytest.mark.parametrize("at", [97_500, MIRRORED])
def test_what_was_deleted_with_a_copy_counts_as_lost(at: int) -> None:
    """The mirror goes on behind it; also while nothing has come to the new copy yet."""
    made, partitions = with_copies_made_anew(at)
    assert made.facts["not_copied"]["orders"] == partitions * at
    assert made.predicted.loss["orders"]["at_most"] > partitions * at
    outcome, said = gate(made, "loss-within-budget")
    assert outcome == "refused"
    assert "are missing among the copies at east" in said
    assert "docs/copies.md" in said


def test_the_beginning_of_a_compacted_topic_tells_nothing() -> None:
    """Its first record may stand anywhere."""
    assert with_copies_made_anew(97_500, policy="compact")[0].facts["not_copied"] == {}
    assert plan().facts["not_copied"] == {}


def test_connects_word_on_a_topic_that_is_no_more_is_not_believed() -> None:
    """It stands where the old log ended; nothing of the new one was copied yet."""
    nothing = dict.fromkeys(of(HEALTHY, "mirror_offsets").value or {}, 0)
    logs = {tp: LogEnd(0, 0) for tp in of(HEALTHY, "log_ends").value or {}}
    stale = changed(
        samples=history(recreated=LONG_AGO),
        offset_map=OffsetSyncs().build(),
        log_ends=logs,
        earlier_ends=nothing,
    )
    assert plan(stale).predicted.loss["orders"]["at_most"] >= 4 * written(LOST_AT_S - 0.5)


def test_silence_is_no_proof_of_death() -> None:
    """Behind a cut link producers may have gone on until now: the bound grows with the time since."""
    cut = plan(_cut_off()).predicted.loss["orders"]["at_most"]
    assert cut > plan().predicted.loss["orders"]["at_most"]


def test_every_consumer_has_a_predicted_price() -> None:
    """Where the map is exact the translation costs nothing."""
    reread = plan().predicted.reread
    assert set(reread) == {consumer.name for consumer in topology().consumers}
    assert {cost["map"] for cost in reread.values()} == {0}


def test_a_group_that_never_committed_starts_at_the_beginning() -> None:
    """It skips nothing, and nothing is left to auto.offset.reset."""
    samples = history()
    positions = samples.positions
    samples.positions = lambda group: {  # type: ignore[method-assign]
        tp: at for tp, at in positions(group).items() if not (group == "billing" and tp.partition == 1)
    }
    rows = plan(changed(samples=samples)).facts["translations"]
    (row,) = [r for r in rows if r["group"] == "billing" and r["partition"] == 1]
    assert (row["source_offset"], row["target_offset"]) == (None, 0)
    assert row["reason"].startswith("never committed")


def test_an_empty_mirrored_partition_needs_no_sync() -> None:
    """Nothing arrived, nothing can be skipped."""
    logs = dict(of(HEALTHY, "log_ends").value or {})
    logs[TopicPartition("west.orders", 2)] = LogEnd(0, 0)
    picture = changed(log_ends=logs, offset_map=offset_map(without=TopicPartition("orders", 2)))
    assert gate(plan(picture), "map-complete")[0] == "ok"


def test_a_consumer_may_be_placed_by_time() -> None:
    """Where its partition has no offset sync: by what was looked up, never called exact; else refused."""
    consumers = tuple(replace(c, on_untranslatable="timestamp") for c in topology().consumers)
    file = replace(topology(), consumers=consumers)
    nowhere = TopicPartition("orders", 2)
    picture = changed(offset_map=offset_map(without=nowhere))
    assert gate(plan_failover(file, picture, REQUEST), "map-complete")[0] == "refused"
    groups = [c.name for c in consumers if c.kind == "group" and "orders" in c.topics]
    found = with_parts(picture, by_time=part({group: {nowhere: 96_000} for group in groups}))
    made = plan_failover(file, found, REQUEST)
    assert gate(made, "map-complete")[0] == "ok"
    rows = [r for r in made.facts["translations"] if (r["topic"], r["partition"]) == nowhere]
    assert {(r["target_offset"], r["exact"], r["reread_at_most"]) for r in rows} == {(96_000, False, 3_000)}
    assert made.predicted.reread[groups[0]]["map"] == 3_000


def test_what_was_done_is_not_done_again() -> None:
    """A finished run leaves nothing to do; one that stopped on the way is resumed, not repeated."""

    def after(outcome: str, source: str = "west", target: str = "east") -> Plan:
        run = EarlierRun("r1", "failover", source, target, 5.0, outcome)
        return plan(changed(coordination=CoordinationState("", (run,))))

    assert after("ok").facts["done_by"] == "r1"
    assert gate(after("ok"), "needed")[0] == "refused"
    assert "dcctl resume r1" in gate(after("incomplete"), "needed")[1]
    assert gate(after("refused"), "needed")[0] == "ok"
    assert gate(after("not begun"), "needed")[0] == "ok"
    assert gate(after("ok", "east", "west"), "needed")[0] == "ok"


def test_what_a_person_let_stand_is_known_to_the_next_move() -> None:
    """A run that was taken back but for its producers cannot be gone on with; somebody has to answer for it."""
    run = EarlierRun("r1", "failover", "west", "east", 5.0, "incomplete", let_stand=("start-producers",))
    there = changed(coordination=CoordinationState("", (run,)))
    outcome, hint = gate(plan(there), "needed")
    assert (outcome, "--acknowledge" in hint, "resume" in hint) == ("refused", True, False)
    eve = replace(REQUEST, acknowledge="eve: they are stopped")
    assert gate(plan(there, eve), "needed")[0] == "ok"


def test_producers_wait_for_nothing_but_the_ends_of_their_topics() -> None:
    """And for what is only noted. Under the identity policy the mirror writes there, until it is stopped."""
    graph = plan().graph()
    needed = {"guards-closed", "record-landing-ends", "record-left", "record-primary"}
    assert waits_for(graph, "start-producers") == needed
    same_names = replace(topology(), replication=(replace(MIRROR, policy="identity"),))
    needed = waits_for(plan_failover(same_names, HEALTHY, REQUEST).graph(), "start-producers")
    assert "stop-mirror" in needed


def test_consumers_start_only_behind_their_written_offsets() -> None:
    """And offsets are written only after the mirror has stopped and what stood there is saved."""
    graph = plan().graph()
    assert {
        "write-offsets",
        "save-offsets",
        "translate-positions",
        "stop-mirror",
        "let-land",
    } <= waits_for(graph, "start-consumers")
    assert "relocate-revenue" in waits_for(graph, "start-queries")
    assert "start-consumers" not in waits_for(graph, "start-queries")


def test_what_moved_is_named() -> None:
    """A plan becomes stale by what it relies on, not by log ends that grow."""
    digests = HEALTHY.digests()
    assert changed(log_ends={}).moved_since(digests) == ()
    moved = changed(members={"billing": 1}, connectors={}).moved_since(digests)
    assert moved == ("members of east", "states of west → east")


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (FailoverRequest(attested=("wset",)), "west, east"),
        (FailoverRequest(attested=("west",), to="nowhere"), "there is no such cluster"),
        (FailoverRequest(attested=("east",), to="west"), "no mirror into west"),
    ],
)
def test_a_request_that_fits_nothing_names_the_choices(request_: FailoverRequest, words: str) -> None:
    """Exit status 2, before anything is asked."""
    with pytest.raises(UsageError, match=words):
        plan(request=request_)
