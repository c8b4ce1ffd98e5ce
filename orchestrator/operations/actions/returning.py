"""The first two stages of a failback: the mirror goes on, and the reverse mirror brings back what is new."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from orchestrator.engine import Results, StepOutcome
from orchestrator.errors import ClusterError
from orchestrator.moves.last_copied import read_last_copied
from orchestrator.moves.topic_states import topic_states
from orchestrator.operations.actions.asking import ask_connect
from orchestrator.operations.actions.declaring import look
from orchestrator.operations.actions.draining import await_drained
from orchestrator.operations.actions.facts import record_of
from orchestrator.operations.actions.mirror import is_stopped_in_time
from orchestrator.operations.failback_session import FailbackSession
from orchestrator.operations.guard_words import guards_path, guards_said
from orchestrator.planning.estate_record import LogsCut, ReverseStarts, cut_rows, rows
from orchestrator.planning.gates import sick_partitions
from orchestrator.planning.guards import OPENS_WITHIN_S, GuardSaid, concerning, waited_for
from orchestrator.planning.layout.desired_acls import desired_acls
from orchestrator.planning.layout.desired_topics import desired_topics
from orchestrator.planning.offsets_json import offsets_from_json, offsets_to_json
from orchestrator.planning.plan import Step
from orchestrator.planning.positions import source_partitions
from orchestrator.planning.returned import returned_side
from orchestrator.ports.clock import Clock, utc_text
from orchestrator.replication.cuts import cuts_to_json
from orchestrator.replication.reverse_connector import reverse_connector
from orchestrator.values import TopicPartition

_REPLICAS = 3
# As for the mirror's own syncs: kept longer than any topic's usual retention.
_SYNCS = {"cleanup.policy": "delete", "retention.ms": str(30 * 24 * 3600 * 1000)}


@look
def await_open(session: FailbackSession, step: Step, _results: Results) -> StepOutcome:
    """Wait until every guarded broker is open: from here on access rules keep applications off.

    Guards that never said anything keep nothing closed. A machine that has not come back is not waited
    for: whenever it does, its guard asks, and is told that it may open. So does one that nobody knows the
    broker of: once as many as the cluster has brokers are open, and it has not said anything for long.
    """
    estate, name = session.estate, str(step.arguments["cluster"])
    coordination = estate.coordination
    if coordination is None:
        return StepOutcome("unknown", estate.coordination_problem)
    brokers, topics = set(estate.target.brokers()), list(session.mirror.topics)
    waiting: list[str] = []
    had_to_wait = False
    silence = _Silence(guards_path(session.topology.name, name), session.clock)
    count = session.topology.clusters[name].brokers

    def are_open() -> bool:
        nonlocal waiting, had_to_wait
        said = concerning(
            guards_said(coordination, session.topology.name, name), brokers, session.clock.now_s()
        )
        silent = silence.of(said)
        waiting = [silence.told(word) for word in waited_for(said, count, silent)]
        had_to_wait = had_to_wait or bool(waiting)
        if waiting or not had_to_wait:
            return not waiting
        try:
            away = sorted(brokers - set(estate.target.brokers()))
            waiting = [f"broker {number} does not answer yet" for number in away]
            waiting += sick_partitions(topic_states(estate.target, topics))
        except ClusterError as error:
            waiting = [error.problem]
            # A new connection is answered where one to the broker that was stopped may wait for minutes.
            estate.target.reconnect()
        return not waiting

    if session.await_true(are_open, step.timeout_s, poll_s=0.5):
        if had_to_wait:
            estate.target.reconnect()
        return StepOutcome("ok", "they have opened" if had_to_wait else "none was closed")
    return StepOutcome("failed", f"not open: {'; '.join(waiting[:3])}")


class _Silence:
    """Guards that say nothing any more, by whether their word changes: clocks of machines may differ."""

    def __init__(self, path: str, clock: Clock) -> None:
        self._path, self._clock = path, clock
        self._newest: dict[str, tuple[GuardSaid, float]] = {}
        self._silent: frozenset[str] = frozenset()

    def of(self, said: Iterable[GuardSaid]) -> frozenset[str]:
        """The servers whose words have not changed for as long as one may take to open."""
        now_s, before = self._clock.monotonic_s(), self._newest
        self._newest = {}
        for word in said:
            known, since_s = before.get(word.server, (word, now_s))
            self._newest[word.server] = (word, since_s if known == word else now_s)
        self._silent = frozenset(
            server for server, (_, since_s) in self._newest.items() if now_s - since_s >= OPENS_WITHIN_S
        )
        return self._silent

    def told(self, word: GuardSaid) -> str:
        """Why one is not open, in words."""
        said = f"{word.server}: {word.reason or 'its guard has not said anything that can be read'}"
        if word.server not in self._silent:
            return said
        place = f" on {word.host}" if word.host else ""
        last = f" (the last word is of {utc_text(word.at_s)})" if word.at_s else ""
        said = f"{said}; and its guard{place} says nothing more{last}: start that broker's service anew"
        if word.broker_id is not None:
            return said
        return f"{said}; if that server is gone for good, remove {self._path}/{word.server} in the ensemble"


def compare_returned_logs(session: FailbackSession, step: Step, _results: Results) -> StepOutcome:
    """The primary's logs as they stand now, held: against the mirror's position and the samples."""
    mirror, picture = session.mirror, session.picture
    own = source_partitions(session.file, mirror)
    home = session.estate.target.log_ends(own)
    copied = session.forward.estate.target.log_ends([mirror.mirrored(tp) for tp in own])
    read = read_last_copied(
        session.file,
        mirror,
        session.forward.estate.target,
        session.estate.connect.source_offsets(str(step.arguments["connector"])),
        samples=picture.samples.value,
        past=picture.past.value,
    )
    past = picture.past
    if past.value is None:
        return StepOutcome("unknown", f"what earlier runs have recorded cannot be read: {past.problem}")
    found = returned_side(session.file, mirror, home=home, copied=copied, last_read=read, past=past.value)
    if found.unrecorded and not session.request.accept_unrecorded:
        said = f"of {len(found.unrecorded)} partitions it is not recorded how their logs stood"
        return StepOutcome("unknown", f"{said}: nothing tells what is missing there")
    if found.cuts:
        cut = LogsCut(home=mirror.source, standby=mirror.target, cuts=cut_rows(found.cuts))
        record_of(session, step).write(cut)
    result: dict[str, Any] = {
        "set": [[tp.topic, tp.partition, offset] for tp, offset in sorted(found.set_offsets.items())],
        "cuts": cuts_to_json(found.cuts),
        "tail": offsets_to_json(found.tail),
        "missing": offsets_to_json(found.missing),
        "orphans": offsets_to_json(found.orphans),
        "copied": offsets_to_json({tp: log.end_offset for tp, log in copied.items()}),
    }
    if found.problems:
        return StepOutcome("failed", "; ".join(found.problems), result)
    if found.lost_records > session.request.accept_loss:
        accepted = session.request.accept_loss
        said = f"{found.lost_records:,} records are missing ({accepted:,} accepted)"
        return StepOutcome("failed", said, result)
    late = sum(found.tail.values())
    return StepOutcome(
        "ok", f"{late:,} records are late, {len(found.set_offsets)} positions do not fit", result
    )


def set_mirror_offsets(session: FailbackSession, step: Step, results: Results) -> StepOutcome:
    """Where the log is shorter than the mirror's position, it goes on from the log's end."""
    wanted = _rows(results["compare-returned"]["set"])
    if not wanted:
        return StepOutcome("ok")
    return _set_offsets(session, step, session.mirror.source, wanted)


def mirror_offsets_are_set(session: FailbackSession, step: Step, results: Results) -> StepOutcome:
    """Connect has what was set. While nothing is written at the primary it cannot have moved beyond."""
    return _are_set(session, step, _rows(results["compare-returned"]["set"]))


@look
def await_tail(session: FailbackSession, step: Step, results: Results) -> StepOutcome:
    """Wait until everything that the primary holds has been copied; count what came late."""
    standing = {"stands-still": results["returned-stands-still"]}
    outcome = await_drained(session.forward, step, standing)
    if outcome.outcome != "ok":
        return outcome
    before = offsets_from_json(results["compare-returned"]["copied"])
    ends = session.forward.estate.target.end_offsets(before)
    late = {tp: ends[tp] - at for tp, at in before.items() if ends[tp] > at}
    return StepOutcome(
        "ok", f"{sum(late.values()):,} records arrived late", {"late_records": offsets_to_json(late)}
    )


def prepare_reverse(session: FailbackSession, _step: Step, _results: Results) -> StepOutcome:
    """Topics as durable as those at the standby, and rights for the mirror and for those who will read."""
    estate, home, standby = session.estate, session.mirror.source, session.mirror.target
    wanted = desired_topics(estate.topology, home)
    copies = {estate.mirror.mirrored_topic(name) for name in estate.mirror.topics}
    estate.target.create_topics(
        {
            name: (topic.partitions or 1, topic.replicas, topic.config)
            for name, topic in wanted.items()
            if name in copies
        }
    )
    brokers = len(session.cluster(standby).brokers())
    session.cluster(standby).create_topics(
        {estate.mirror.offset_syncs_topic: (1, min(_REPLICAS, brokers), _SYNCS)}
    )
    count = 0
    for name in (home, standby):
        if session.access(name).authorization(sorted(session.cluster(name).brokers())).authorizer:
            rules = desired_acls(estate.topology, name)
            there = session.access(name).rules({rule.principal for rule in rules})
            session.access(name).add(rules - there)
            count += len(rules - there)
    return StepOutcome("ok", f"{len(copies)} topics, {count} rules more")


def create_reverse(session: FailbackSession, step: Step, _results: Results) -> StepOutcome:
    """Made of the mirror's own connector; one that is there already is left to what it was told."""
    connect, name = session.estate.connect, str(step.arguments["connector"])
    if name not in connect.names():
        forward = connect.configuration(str(step.arguments["from"]))
        brokers = len(session.estate.target.brokers())
        alias = session.estate.mirror.target_alias
        config = reverse_connector(name, forward, min(_REPLICAS, brokers), alias)

        def create(asked: str) -> None:
            # Where the answer to the first request was lost, the second would be refused for ever.
            if asked not in connect.names():
                connect.create_stopped(asked, config)

        return ask_connect(session, [name], create, step.timeout_s / 2)
    return StepOutcome("ok")


def reverse_exists(session: FailbackSession, step: Step, _results: Results) -> StepOutcome:
    """Connect knows it."""
    is_there = str(step.arguments["connector"]) in session.estate.connect.names()
    return StepOutcome("ok" if is_there else "failed", "" if is_there else "Connect does not know it")


def set_reverse_offsets(session: FailbackSession, step: Step, _results: Results) -> StepOutcome:
    """Only where it has none of its own: what it has copied it does not copy again."""
    starts = {TopicPartition(t, p): n for t, p, n in step.arguments["starts"]}
    mirror = session.mirror
    told = ReverseStarts(home=mirror.source, standby=mirror.target, starts=rows(starts), is_set=True)
    record_of(session, step).write(told)
    wanted = _starts(session, step)
    if not wanted:
        return StepOutcome("ok")
    return _set_offsets(session, step, session.mirror.target, wanted)


def reverse_offsets_are_set(session: FailbackSession, step: Step, _results: Results) -> StepOutcome:
    """Each partition that does not start at its beginning has an offset."""
    left = _starts(session, step)
    starts = {TopicPartition(t, p): n for t, p, n in step.arguments["starts"]}
    result = {"starts": offsets_to_json(starts)}
    if left:
        return StepOutcome("failed", f"no offset for {', '.join(map(str, sorted(left)))}", result)
    return StepOutcome("ok", f"{len(starts)} partitions", result)


@look
def await_caught_up(session: FailbackSession, step: Step, _results: Results) -> StepOutcome:
    """Wait until what had been written at the standby when this was asked has come to the primary."""
    standby = session.cluster(session.mirror.target)
    logs = standby.log_ends(source_partitions(session.file, session.mirror))
    standing = {
        "stands-still": {
            "ends": offsets_to_json({tp: log.end_offset for tp, log in logs.items()}),
            "starts": offsets_to_json({tp: log.start_offset for tp, log in logs.items()}),
        }
    }
    return await_drained(session, step, standing)


def _starts(session: FailbackSession, step: Step) -> dict[TopicPartition, int | None]:
    """What still has to be set: partitions that do not start at their beginning, and have no offset yet."""
    there = session.estate.connect.source_offsets(str(step.arguments["connector"]))
    wanted = {TopicPartition(t, int(p)): int(n) for t, p, n in step.arguments["starts"]}
    return {tp: start - 1 for tp, start in wanted.items() if start > 0 and tp not in there}


def _set_offsets(
    session: FailbackSession, step: Step, alias: str, wanted: dict[TopicPartition, int | None]
) -> StepOutcome:
    """Connect takes offsets of a stopped connector only."""
    connect, connector = session.estate.connect, str(step.arguments["connector"])
    asked = ask_connect(session, [connector], connect.stop, step.timeout_s / 4)
    if asked.outcome != "ok":
        return asked
    if not is_stopped_in_time(session, connector, step.timeout_s / 2):
        return StepOutcome("unknown", f"{connector} was told to stop, and runs on")
    return ask_connect(
        session,
        [connector],
        lambda name: connect.set_source_offsets(name, alias, wanted),
        step.timeout_s / 4,
    )


def _are_set(session: FailbackSession, step: Step, wanted: dict[TopicPartition, int | None]) -> StepOutcome:
    there = session.estate.connect.source_offsets(str(step.arguments["connector"])) if wanted else {}
    wrong = [
        f"{tp}: {there.get(tp)}, not {offset}" for tp, offset in wanted.items() if there.get(tp) != offset
    ]
    return StepOutcome("failed" if wrong else "ok", "; ".join(wrong) or f"{len(wanted)} set")


def _rows(rows: list[list[Any]]) -> dict[TopicPartition, int | None]:
    return {TopicPartition(t, int(p)): None if offset is None else int(offset) for t, p, offset in rows}
