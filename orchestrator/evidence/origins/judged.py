"""The verdict of a rehearsal with several active clusters: what was measured, against what was stated. Pure.

Each acknowledged record has to be wherever something copies it, and to be processed once by each consumer
that should. What a loss may cost had been stated by the plan of the move, and by the file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from orchestrator.evidence.audit.inputs import seen_again_limit_s
from orchestrator.evidence.audit.result import Finding, Verdict
from orchestrator.evidence.audit.verdict import circumstances, losses_as_stated, verdict_of
from orchestrator.evidence.clients.records import RecordId
from orchestrator.evidence.origins.compared import Compared, Logs, compare_origins
from orchestrator.evidence.origins.compared import Window as StayWindow
from orchestrator.evidence.origins.fates import WAITS, WORKS_ON, Fate, Lost, fates
from orchestrator.evidence.origins.moved import MoveFound, Records, found_of, moves_of
from orchestrator.evidence.origins.names import name_at
from orchestrator.evidence.origins.pauses import Successes, Window, pause_s
from orchestrator.evidence.origins.replays import Replayed, replayed
from orchestrator.evidence.origins.stays import stays
from orchestrator.evidence.origins.told import Told
from orchestrator.evidence.origins.uncommitted import read_uncommitted
from orchestrator.topology.model import Consumer, Producer, Topology
from orchestrator.values import TopicPartition
from orchestrator.wording import listed

_NAMED = 3
OUTAGE_LIMIT_S = 10.0
"""For longer than that nobody who works on may get nothing done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsed:
    """What was done, by whoever did it. Times are Unix epoch seconds.

    `home`: the cluster that was left or lost. `results`: of the moves, as `result.json` has them.
    `work_ended_s`: when producers were told to end. `at_work`: by cluster that was lost and came back, where
    its logs ended when everything was at work again: what its workers copied again stands before that.
    `is_drained`, `stands_still`: everything was read and copied in the end, and no log grew any more.
    """

    topology: Topology
    home: str
    losses: tuple[Lost, ...] = ()
    results: tuple[Mapping[str, Any], ...] = ()
    work_ended_s: float
    at_work: Mapping[str, Mapping[TopicPartition, int]] = field(default_factory=dict)
    is_drained: bool | None
    stands_still: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurements:
    """Everything that was measured. `windows`: one for each loss and planned move, up to the next one.

    `unread`: a sentence for each log that has to be there by the file and was not looked at.
    """

    rehearsed: Rehearsed
    told: Told
    compared: Compared
    moves: tuple[MoveFound, ...]
    fates: tuple[Fate, ...]
    replays: tuple[Replayed, ...]
    uncommitted: Mapping[str, frozenset[RecordId]]
    successes: Successes
    windows: tuple[Window, ...]
    unread: tuple[str, ...] = ()

    def pauses(self, client: Consumer | Producer) -> list[float | None]:
        """A client's pause in each window: until it worked where a move took it, or the longest of one that
        stayed; None where it was not seen again.
        """
        topology, moves = self.rehearsed.topology, {window.begins_s: one for window, one in self._moves()}
        found = self.successes.every[client.name]
        return [
            self.successes.between_lives(client.name, one.move.number, window.begins_s)
            if (one := moves.get(window.begins_s)) is not None and one.move.moves(topology, client)
            else pause_s(found, window)
            for window in self.windows
        ]

    def _moves(self) -> Iterator[tuple[Window, MoveFound]]:
        """Every move is in the first windows: losses without one come behind, and there are none of both."""
        yield from zip(self.windows, self.moves, strict=False)

    @property
    def clients(self) -> Iterator[Consumer | Producer]:
        """Those whose ledgers could be read."""
        topology = self.rehearsed.topology
        yield from (one for one in topology.producers if one.name in self.successes.producers)
        yield from (one for one in topology.consumers if one.name in self.successes.consumers)


class Judged(NamedTuple):
    """The verdict, with its reasons, and what it rests on."""

    measured: Measurements
    verdict: Verdict
    reasons: tuple[str, ...]


def judge_origins(rehearsed: Rehearsed, told: Told, logs: Logs) -> Judged:
    """Compare everything and judge it. `logs`: of each cluster that is there in the end."""
    topology = rehearsed.topology
    moves = found_of(Records(topology, told, logs), moves_of(topology, rehearsed.results))
    found = compare_origins(topology, told, logs=logs, windows=_stays(rehearsed, told))
    successes = Successes.of(topology, told)
    twice = frozenset(record for copy in found.copies for record in (*copy.twice, *copy.resent))
    measured = Measurements(
        rehearsed=rehearsed,
        told=told,
        compared=found,
        moves=moves,
        fates=tuple(_fates(rehearsed, told, moves, successes)),
        replays=tuple(_replays(rehearsed, told, logs, found)),
        uncommitted={
            one.name: read_uncommitted(told, one, rehearsed.losses, twice) for one in topology.consumers
        },
        successes=successes,
        windows=tuple(_windows(rehearsed, moves)),
        unread=tuple(_unread(rehearsed, told, logs)),
    )
    verdict, reasons = verdict_of(*_findings(measured, told))
    return Judged(measured, verdict, tuple(reasons))


def _unread(rehearsed: Rehearsed, told: Told, logs: Logs) -> Iterator[str]:
    """Of what was acknowledged: where it is written and where the file's mirrors copy it, sites that stayed
    away left out.
    """
    topology = rehearsed.topology
    gone = {lost.cluster for lost in rehearsed.losses if lost.returned_at_s is None}
    for origin in sorted({ack.origin for ack in told.acked.values()}):
        for cluster in topology.clusters:
            is_copied = topology.is_mirrored(origin.topic, origin.cluster, cluster)
            name = name_at(topology, origin, cluster) if is_copied or cluster == origin.cluster else None
            if name is None or cluster in gone:
                continue
            if not any(tp.topic == name for tp in logs.get(cluster, {})):
                yield f"{name} at {cluster}: the log of {origin} there was not read, or is empty"


def _stays(rehearsed: Rehearsed, told: Told) -> dict[str, list[StayWindow]]:
    """From where to where each consumer has to read what it shares with others while it is away."""
    fences: dict[str, list[Mapping[TopicPartition, int]]] = {}
    for result in rehearsed.results:
        if result["plan"]["verb"] != "failback":
            fenced = {
                TopicPartition(topic, int(number)): end
                for topic, ends in result["fence_offsets"].get("landing", {}).items()
                for number, end in ends.items()
            }
            fences.setdefault(str(result["source"]), []).append(fenced)
    return {
        consumer.name: stays(rehearsed.topology, told, consumer, fences.get(consumer.cluster, []))
        for consumer in rehearsed.topology.consumers
    }


def _windows(rehearsed: Rehearsed, moves: Sequence[MoveFound]) -> Iterator[Window]:
    """One for each loss and each planned move, up to the next one."""
    lost = iter(rehearsed.losses)
    begins = [next(lost).at_s if one.move.is_of_a_loss else one.move.asked_at_s for one in moves]
    begins += [loss.at_s for loss in lost]
    for begin, end in zip(begins, [*begins[1:], rehearsed.work_ended_s], strict=True):
        yield Window(begin, end)


def _fates(
    rehearsed: Rehearsed, told: Told, moves: Sequence[MoveFound], successes: Successes
) -> Iterator[Fate]:
    of_losses = [one.move for one in moves if one.move.is_of_a_loss]
    for number, lost in enumerate(rehearsed.losses):
        yield from fates(
            rehearsed.topology,
            told,
            lost,
            left_by=of_losses[number] if number < len(of_losses) else None,
            successes=successes.every,
            until_s=lost.returned_at_s or rehearsed.work_ended_s,
            ended_s=rehearsed.work_ended_s,
        )


def _replays(rehearsed: Rehearsed, told: Told, logs: Logs, found: Compared) -> Iterator[Replayed]:
    for copy in found.copies:
        if copy.twice:
            yield replayed(rehearsed.topology, told, logs, copy, rehearsed.losses, rehearsed.at_work)


def _findings(judged: Measurements, told: Told) -> Iterator[Finding]:
    yield from (Finding("unknown", reason) for reason in (*told.unreadable.values(), *judged.unread))
    writers = {producer.name for producer in judged.rehearsed.topology.producers}
    # For want of a producer's ledger no record is called missing, lost or read again.
    is_known = writers.isdisjoint(told.unreadable)
    if is_known:
        yield from _of_copies(judged)
        yield from _of_losses(judged, told)
        yield from _of_readings(judged, told)
    for move in judged.moves:
        yield from _of_run(move)
        if is_known:
            yield from _of_positions(move)
    yield from _of_fates(judged)
    yield from _of_working_on(judged)
    yield from _of_pauses(judged)
    yield from _of_the_drill(judged)


def _of_copies(judged: Measurements) -> Iterator[Finding]:
    """What is missing or stands twice. The tail of a site that stayed away is judged by `_of_losses`."""
    explained = {(one.cluster, one.topic): one for one in judged.replays}
    for copy in judged.compared.copies:
        subject = f"{copy.origin} in {copy.topic} at {copy.cluster}"
        if copy.hole:
            yield invalid(subject, copy.hole, "acknowledged, missing before later ones")
        lost = frozenset[RecordId]().union(
            *(one.missing for one in judged.moves if one.move.target == copy.cluster)
        )
        if tail := [record for record in copy.tail if record not in lost]:
            yield invalid(subject, tail, "acknowledged, missing at the end")
        replay = explained.get((copy.cluster, copy.topic))
        if replay is not None and replay.unexplained:
            yield invalid(subject, replay.unexplained, "there more than once")
        if replay is not None and replay.explained > replay.at_most:
            said = f"{replay.explained:,} records were copied again by workers that were killed"
            yield Finding("invalid", f"{subject}: {said}, {replay.at_most:,} at most were to be expected")
        if copy.reordered:
            yield Finding("invalid", f"{subject}: {copy.reordered:,} records out of order")


def _of_losses(judged: Measurements, told: Told) -> Iterator[Finding]:
    """What a lost site had and its copies had not, against what the plan of its failover had stated."""
    topology = judged.rehearsed.topology
    for one in judged.moves:
        if not one.move.is_of_a_loss:
            continue
        move, subject = one.move, f"loss of {one.move.source}"
        origins = {ack.origin for ack in told.acked.values() if ack.origin.cluster == move.source}
        copied = {origin.topic: name_at(topology, origin, move.target) for origin in origins}
        counts = Counter(told.acked[record].origin.topic for record in (*one.late, *one.missing))
        topics_lost = {
            topic: {"lost": {"tail": counts[topic]}, "indeterminate": {"absent": None}}
            for topic in sorted({topic for topic, copy in copied.items() if copy} | {*move.loss})
        }
        for found in losses_as_stated(topics_lost, move.loss):
            yield Finding(found.verdict, f"{subject}: {found.reason}")
        ended = {at.topic for at in move.mirrored_ends}
        for copy in sorted({copy for copy in copied.values() if copy} - ended):
            yield Finding("unknown", f"{subject}: the run does not say where {copy} at {move.target} ended")


def _of_readings(judged: Measurements, told: Told) -> Iterator[Finding]:
    gone = frozenset[RecordId]().union(*(one.missing for one in judged.moves))
    by_move = {
        (again.consumer, record)
        for one in judged.moves
        for again in one.again
        for record in (*again.again, *again.late)
    }
    for one in judged.compared.readings:
        if one.consumer in told.unreadable:
            continue
        subject = f"{one.consumer}, {one.origin}"
        again = [
            record
            for record in one.again
            if (one.consumer, record) not in by_move and record not in judged.uncommitted[one.consumer]
        ]
        found = {
            "lost": [record for record in one.lost if record not in gone],
            "skipped": [record for record in one.skipped if record not in gone],
            "processed again": again,
            "processed that are not for it": one.uncalled,
            "processed of aborted transactions": one.aborted,
        }
        for what, records in found.items():
            if records:
                yield invalid(subject, records, what)
        if one.expected and not one.read:
            yield Finding("unknown", f"{subject}: none of {one.expected:,} records was processed")
    yield from _of_repeated(judged)
    for name in dict.fromkeys(one.consumer for one in judged.compared.readings):
        if not any(one.read for one in judged.compared.readings if one.consumer == name):
            yield Finding("unknown", f"{name}: it processed no record that it had to")


def _of_repeated(judged: Measurements) -> Iterator[Finding]:
    """Records that stand twice may be processed twice, and no others."""
    twice = {record for copy in judged.compared.copies for record in copy.twice}
    for one in judged.compared.readings:
        if records := [record for record in one.repeated if record not in twice]:
            yield invalid(f"{one.consumer}, {one.origin}", records, "processed at two places of one log")


def _of_run(one: MoveFound) -> Iterator[Finding]:
    move, subject = one.move, _named(one)
    if move.outcome != "ok":
        yield Finding("unknown", f"{subject}: it ended {move.outcome}: {move.reason}")
    if not move.positions:
        yield Finding("unknown", f"{subject}: it placed no group")
    if move.unwritten:
        yield Finding("unknown", f"{subject}: no position was written for {listed(move.unwritten)}")


def _named(one: MoveFound) -> str:
    return f"{one.move.verb} {one.move.source} → {one.move.target}"


def _of_positions(one: MoveFound) -> Iterator[Finding]:
    """Where positions led, and what was read again because of that."""
    subject = _named(one)
    for placed, shift in one.wrong:
        where = f"{placed.consumer} at {placed.entered}"
        if shift.skipped:
            yield invalid(f"{subject}: {where}", shift.skipped, "lie before its position, unread")
        elif wrong := [record for record in shift.again if record not in one.late]:
            yield invalid(f"{subject}: {where}", wrong, "come again, and the position was called exact")
    for again in one.again:
        at_most = one.at_most(again.consumer)
        if at_most is None:
            yield Finding(
                "unknown", f"{subject}: the plan does not say how much {again.consumer} reads again"
            )
        elif len(again.again) > at_most:
            said = f"{len(again.again):,} records read again, {at_most:,} at most were stated"
            yield Finding("invalid", f"{subject}: {again.consumer}: {said}")


def _of_fates(judged: Measurements) -> Iterator[Finding]:
    for fate in judged.fates:
        if fate.happened is None:
            continue
        if not fate.is_as_stated:
            yield Finding(
                "invalid",
                f"loss of {judged.rehearsed.home}: {fate.name} of {fate.cluster} {fate.happened}, and "
                f"dcctl explain FILE says that it {fate.stated}",
            )


def _of_working_on(judged: Measurements) -> Iterator[Finding]:
    """Who works on has no outage. Members that pause for who comes are held to what the plan says of that."""
    planned = dict[str, float]()
    for result in judged.rehearsed.results:
        for row in result["plan"]["facts"].get("pauses", ()):
            name = str(row["consumer"])
            planned[name] = max(planned.get(name, 0.0), float(row["expected_s"]))
    for fate in judged.fates:
        limit_s = max(OUTAGE_LIMIT_S, planned.get(fate.name, 0.0) if fate.kind != "producer" else 0.0)
        if fate.happened == WORKS_ON and fate.gap_s is not None and fate.gap_s > limit_s:
            said = f"works on, and got nothing done for {fate.gap_s:.1f} s (limit {limit_s:g} s)"
            yield Finding("invalid", f"loss of {judged.rehearsed.home}: {fate.name} of {fate.cluster} {said}")


def _of_pauses(judged: Measurements) -> Iterator[Finding]:
    """Who waits for a site, or for the records of one, is waited for from its return on."""
    staying = {fate.name for fate in judged.fates if fate.stated in {WAITS, WORKS_ON}}
    returns = [lost.returned_at_s - lost.at_s for lost in judged.rehearsed.losses if lost.returned_at_s]
    for client in judged.clients:
        limit_s = seen_again_limit_s(judged.rehearsed.topology) + (
            max(returns, default=0.0) if client.name in staying else 0.0
        )
        for pause in judged.pauses(client):
            if pause is None:
                yield Finding("invalid", f"{client.name}: not seen again after the loss or the move")
            elif pause > limit_s:
                said = f"seen again only after {pause:.1f} s (limit {limit_s:g} s)"
                yield Finding("invalid", f"{client.name}: {said}")


def _of_the_drill(judged: Measurements) -> Iterator[Finding]:
    rehearsed = judged.rehearsed
    is_verified = all(lost.is_verified for lost in rehearsed.losses) and bool(judged.windows)
    yield from circumstances(is_verified, rehearsed.is_drained)
    if rehearsed.stands_still is None:
        yield Finding("unknown", "it was not seen whether logs stood still once producers had ended")
    elif not rehearsed.stands_still:
        yield Finding("invalid", "logs grew after all producers had ended and everything had been copied")
    if not any(copy.acked for copy in judged.compared.copies):
        yield Finding("unknown", "nothing was acknowledged: an empty drill shows nothing")


def invalid(subject: str, records: Sequence[RecordId], what: str) -> Finding:
    """That these records are so, with the first of them."""
    named = ", ".join(f"{r.producer} {r.sequence} of life {r.life}" for r in records[:_NAMED])
    more = ", …" if len(records) > _NAMED else ""
    return Finding("invalid", f"{subject}: {len(records):,} records {what} ({named}{more})")
