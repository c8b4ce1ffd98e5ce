"""What logs of returned brokers hold beyond what is in force: Kafka cuts it off as they start.

A follower that starts asks its leader where the leader epoch of its own last record ends there, and cuts its
log off behind it (KIP-101). What lies beyond was taken by a leader that was none any more, or never reached
the others: acknowledged to whoever wrote with acks below all.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass as checked_dataclass

from orchestrator.errors import ClusterError, PlaybookError
from orchestrator.moves.within_cluster.writes import all_away
from orchestrator.ports.replica_logs import BrokerLogs, LogHosts, LogsSeen, ReplicaLog
from orchestrator.runs.effect import EFFECT_CONFIG, Done, Failed, Look, Outcome, Running
from orchestrator.runs.ports import Clusters
from orchestrator.values import EpochEnd, TopicPartition
from orchestrator.wording import listed, plural

_READ_S = 60.0
_KEEP_S = 600.0
_LED_WITHIN_S = 45.0
_NAMED = 8


@checked_dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
class Tail:
    """What one replica holds beyond its leader: `records` (offsets) from the offset `begin` on."""

    server: str
    broker: int
    topic: str
    partition: int
    begin: int
    records: int

    @property
    def of(self) -> TopicPartition:
        """Its partition."""
        return TopicPartition(self.topic, self.partition)


@checked_dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
class TailsCounted:
    """The tails of returned logs; `uncounted`: of which it is not known whether they have one, and why."""

    tails: tuple[Tail, ...]
    uncounted: tuple[str, ...] = ()


def begin_of_tail(log: ReplicaLog, at_leader: EpochEnd) -> int | None:
    """The offset from which on a returned log is cut off; its own end where nothing is, None if not known.

    `at_leader`: where the epoch of its last record ends in the leader's log. Where the leader knows only an
    earlier one, the log is cut to what both have of that.
    """
    own_end = log.end_of(at_leader.leader_epoch)
    return None if own_end is None else min(own_end, at_leader.end_offset)


def tails_of(
    brokers: Iterable[BrokerLogs], ends: Mapping[int, Mapping[TopicPartition, EpochEnd | ClusterError]]
) -> TailsCounted:
    """Of each log whose leader has said where its last epoch ends. `ends`: by broker, since epochs differ."""
    tails, uncounted = [], []
    for broker in brokers:
        for tp, log in sorted(broker.logs.items()):
            if log.leader_epoch < 0:
                continue
            said = ends.get(broker.number, {}).get(tp)
            begin, why = _begin_or_why(log, said)
            if begin is None:
                uncounted.append(f"{tp} of broker {broker.number}: {why}")
            elif begin < log.log_end:
                tails.append(
                    Tail(
                        server=broker.server,
                        broker=broker.number,
                        topic=tp.topic,
                        partition=tp.partition,
                        begin=begin,
                        records=log.log_end - begin,
                    )
                )
    return TailsCounted(tails=tuple(tails), uncounted=tuple(uncounted))


def _begin_or_why(log: ReplicaLog, said: EpochEnd | ClusterError | None) -> tuple[int | None, str]:
    """From where on it is cut off, or why that is not known."""
    if not isinstance(said, EpochEnd) or said.leader_epoch < 0:
        return None, said.problem if isinstance(said, ClusterError) else "its leader does not know its epoch"
    noted = f"its broker has not noted where epoch {log.leader_epoch} begins"
    return begin_of_tail(log, said), noted


@checked_dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class CountTails(
    Look[TailsCounted],
    name="count-tails",
    phase="prepare",
    expected_s=3.0,
    timeout_s=900.0,
):
    """Before a returned broker starts. `keep_in`: a folder for the batches that are cut off; none if empty.

    What cannot be counted is named, and keeps no site from coming back, unless it was to be kept.
    `is_quorum_new`: there was none until a moment ago, so leaders may still be elected.
    """

    cluster: str
    sites: tuple[str, ...]
    keep_in: str = ""
    is_quorum_new: bool = False

    @property
    def title(self) -> str:
        """See `Effect`."""
        kept = f", and keep it in {self.keep_in}" if self.keep_in else ""
        return (
            f"Count what logs of {self.cluster} at {listed(self.sites)} hold beyond those of their leaders"
            f"{kept}: Kafka cuts it off as their brokers start"
        )

    def perform(self, run: Running) -> Outcome[TailsCounted]:
        """See `Effect`."""
        found, problems = self._counted(run)
        said = _told(found)
        uncounted = [*problems, *found.uncounted]
        if uncounted:
            said += f"; not counted: {_first(uncounted)}"
        if not self.keep_in:
            return Done(found, said)
        if uncounted:
            return Failed(f"not everything can be kept, so no broker was started: {said}")
        into = Path(self.keep_in) / run.run_id
        beyond: dict[str, dict[TopicPartition, int]] = {}
        for tail in found.tails:
            beyond.setdefault(tail.server, {})[tail.of] = tail.begin
        left = run.port(LogHosts).keep(self.sites, beyond, into, timeout_s=_KEEP_S) if beyond else ()
        if left:
            return Failed(f"not kept, so no broker was started: {_first(left)}")
        return Done(found, f"{said}; kept in {into}" if beyond else said)

    def _counted(self, run: Running) -> tuple[TailsCounted, list[str]]:
        """What was counted, and in words why hosts or servers told nothing."""
        try:
            seen = run.port(LogHosts).read(self.sites, timeout_s=_READ_S)
        except PlaybookError as error:
            return TailsCounted(tails=()), [f"{error.subject}: {error.problem}"]
        found, problems = TailsCounted(tails=()), list[str]()

        def is_counted() -> bool:
            nonlocal found, problems
            try:
                found, problems = self._beyond(run, seen)
            except ClusterError as error:
                problems = [f"{error.subject}: {error.problem}"]
            return not (problems or found.uncounted)

        run.await_true(is_counted, _LED_WITHIN_S if self.is_quorum_new else 0.0, poll_s=1.0)
        return found, [
            *(f"{where}: {problem}" for where, problem in sorted(seen.problems.items())),
            *problems,
        ]

    def _beyond(self, run: Running, seen: LogsSeen) -> tuple[TailsCounted, list[str]]:
        """By what leaders say now. Raises `ClusterError`."""
        clusters = run.port(Clusters)
        kafka = clusters.cluster(self.cluster)
        addresses, placement = kafka.brokers(), kafka.placement()
        # As long as nobody has taken it for dead, a broker that is away counts as up.
        known = {addresses[number]: number for number in seen.brokers if number in addresses}
        away = {known[at] for at, answer in clusters.listening(sorted(known)).items() if answer == "refused"}
        addresses = {number: at for number, at in addresses.items() if number not in away}
        # Nobody else has these: nothing of them is cut off.
        alone = {*all_away(replace(placement, living=placement.living - away))}
        standing, up = _standing(_led(seen, placement.topics, alone), addresses)
        problems = [f"broker {number} is up, and has cut off what it held by now" for number in up]
        if not standing and not problems and not seen.problems:
            problems.append(f"no host at {listed(self.sites)} tells of a broker in `dcctl_servers`")
        with clusters.log_end_reader(self.cluster) as reader:
            ends = {
                broker.number: reader.epoch_ends(
                    addresses.values(),
                    {tp: log.leader_epoch for tp, log in broker.logs.items() if log.leader_epoch >= 0},
                )
                for broker in standing
            }
        return tails_of(standing, ends), problems


def _led(seen: LogsSeen, topics: Collection[str], alone: Collection[TopicPartition]) -> LogsSeen:
    """Logs of topics that there still are, and of partitions of which a replica is up elsewhere."""
    brokers = {
        number: replace(
            one, logs={tp: log for tp, log in one.logs.items() if tp.topic in topics and tp not in alone}
        )
        for number, one in seen.brokers.items()
    }
    return LogsSeen(brokers, seen.problems)


def _standing(seen: LogsSeen, up: Collection[int]) -> tuple[list[BrokerLogs], list[int]]:
    """Brokers that do not run, as the cluster sees it; the ids of the others."""
    brokers = [seen.brokers[number] for number in sorted(seen.brokers)]
    return [one for one in brokers if one.number not in up], [
        one.number for one in brokers if one.number in up
    ]


def _told(found: TailsCounted) -> str:
    if not found.tails:
        return "no log that was read holds anything beyond its leader's"
    total = sum(tail.records for tail in found.tails)
    rows = [
        f"{tail.of} of broker {tail.broker} {tail.records:,} from {tail.begin:,} on" for tail in found.tails
    ]
    return f"{plural(total, 'record')} beyond the leaders', to be cut off: {_first(rows)}"


def _first(rows: Collection[str]) -> str:
    return listed(rows, _NAMED, separator="; ")
