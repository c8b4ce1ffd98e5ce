"""The verdict of a rehearsal in which sites of one cluster were lost or left, and came back. Pure.

Each acknowledged record has to be there in the end, once and in order, and to be processed once by each
consumer that should. What takes writes after a loss, and what of it may be missing, `dcctl explain` had
stated, and the plans. In the end all has to be as it was.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from orchestrator.evidence.audit.inputs import seen_again_limit_s
from orchestrator.evidence.audit.result import Finding, Verdict
from orchestrator.evidence.audit.verdict import circumstances, verdict_of
from orchestrator.evidence.clients.places import LIFE_AT_SOURCE, places
from orchestrator.evidence.clients.records import RecordId
from orchestrator.evidence.origins.compared import Compared, Logs, compare_origins
from orchestrator.evidence.origins.fates import Lost
from orchestrator.evidence.origins.judged import invalid
from orchestrator.evidence.origins.pauses import Success, Successes, Window, longest, longest_gap_s, pause_s
from orchestrator.evidence.origins.told import UNTOLD, Ack, Told
from orchestrator.evidence.origins.uncommitted import read_uncommitted
from orchestrator.snapshot.clients import producer_client
from orchestrator.topology.durability.shapes import OFFSETS_TOPIC
from orchestrator.topology.durability.values import ClusterFate
from orchestrator.topology.model import Consumer, Producer, Topology
from orchestrator.values import TopicPartition

GOES_ON, STANDS = "goes on", "stands still"
_OUTAGE = {"continue": GOES_ON}
# How long a replica in sync may be behind (30 s, `replica.lag.time.max.ms`), looked at each 15 s.
_UNREPLICATED_S = 45.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteGone:
    """One time that a site was lost, or left by plan. Unix epoch seconds.

    `settled_s`: from when on Kafka had done all that it does by itself; `commanded_s`: when the command was
    given; `ended_s`: when it had ended; `restored_s`: when all was to be as before. `is_lost`: killed;
    otherwise its applications and leaders left it. `is_verified`: that was seen. `changes_metadata`: whether
    a topic could be made meanwhile (None: not asked). `waiting`: topics that were to wait for the site.
    `steps`: what the plan did; `foreseen`: what `dcctl explain` had said of that (None: nothing). `refused`:
    why nothing was done, empty where something was. `placed`: where plans said that applications go: program
    -> site.
    """

    site: str
    is_lost: bool
    at_s: float
    is_verified: bool
    settled_s: float
    commanded_s: float
    ended_s: float
    restored_s: float
    changes_metadata: bool | None = None
    waiting: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()
    foreseen: tuple[str, ...] | None = None
    refused: str = ""
    placed: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SitesRehearsed:
    """What was done to a cluster. `fates`: by site, what `dcctl explain` says of its loss.

    `differences`: what was not as before once a site was back, in words. `results`: of the runs, as
    `result.json` has them. `is_drained`, `stands_still`: everything was read in the end, and no log grew.
    """

    topology: Topology
    cluster: str
    fates: Mapping[str, ClusterFate]
    gone: tuple[SiteGone, ...]
    results: tuple[Mapping[str, Any], ...]
    work_ended_s: float
    differences: tuple[str, ...]
    is_drained: bool | None
    stands_still: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One thing that had been stated of a loss. `loss`: which one, from 1 on; `subject`: of what. `happened`:
    None where that could not be seen.
    """

    loss: int
    site: str
    subject: str
    stated: str
    happened: str | None
    reason: str = ""

    @property
    def is_as_stated(self) -> bool | None:
        """None where it could not be seen."""
        return None if self.happened is None else self.happened == self.stated


@dataclass(frozen=True, slots=True, kw_only=True)
class SitesMeasured:
    """Everything that was measured. `windows`: one for each time that a site was away."""

    rehearsed: SitesRehearsed
    told: Told
    compared: Compared
    uncommitted: Mapping[str, frozenset[RecordId]]
    successes: Successes
    windows: tuple[Window, ...]
    statements: tuple[Statement, ...] = ()
    logs: Logs = field(default_factory=dict)

    @property
    def clients(self) -> Iterator[Consumer | Producer]:
        """Those whose ledgers could be read."""
        topology = self.rehearsed.topology
        yield from (one for one in topology.producers if one.name in self.successes.producers)
        yield from (one for one in topology.consumers if one.name in self.successes.consumers)

    def pauses(self, client: Consumer | Producer) -> list[float | None]:
        """The longest that a client got nothing done in each window, up to its end; None: not seen again."""
        found = self._of(client)
        return [
            None if pause_s(found, window) is None else longest_gap_s(found, window)
            for window in self.windows
        ]

    def worked(self, client: Consumer | Producer, from_s: float, to_s: float) -> bool:
        """Whether it got anything done between two moments (Unix epoch seconds)."""
        return any(from_s < one.at_s < to_s for one in self._of(client))

    def lives(self, client: Consumer | Producer) -> dict[int, tuple[float, float]]:
        """When it got something done for the first and for the last time, in each of its lives."""
        found: dict[int, tuple[float, float]] = {}
        for one in self._of(client):
            first, last = found.get(one.life, (one.at_s, one.at_s))
            found[one.life] = min(first, one.at_s), max(last, one.at_s)
        return found

    def _of(self, client: Consumer | Producer) -> Sequence[Success]:
        named = self.successes.producers if isinstance(client, Producer) else self.successes.consumers
        return named[client.name]

    def missing(self, topic: str) -> tuple[RecordId, ...]:
        """Acknowledged records of a topic that are not there."""
        copies = [one for one in self.compared.copies if one.topic == topic]
        return tuple(record for one in copies for record in (*one.tail, *one.hole))

    def may_be_missing(self, record: RecordId) -> bool:
        """Whether only a leader that gave way had it: its producer asked for no more, nobody has processed
        it, and the next leader has given its offset to another record, or has not come so far.

        Rule (facts: Kafka, "Data rules"): acks=1 or 0, and each change of leader by loss or by plan.
        """
        acks = {one.name: one.acks for one in self.rehearsed.topology.producers}
        ack = self.told.acked[record]
        if acks.get(record.producer, "all") == "all" or any(
            record in processed for processed in self.told.processed.values()
        ):
            return False
        is_then = any(
            gone.at_s - _UNREPLICATED_S <= ack.at_ms / 1000 <= gone.restored_s for gone in self.rehearsed.gone
        )
        return is_then and (ack.offset == UNTOLD or self._is_given_away(ack))

    def _is_given_away(self, ack: Ack) -> bool:
        at = TopicPartition(ack.origin.topic, ack.partition)
        log = self.logs.get(self.rehearsed.cluster, {}).get(at, ())
        place = bisect_left(log, ack.offset, key=lambda row: row[0])
        return place == len(log) or log[place][0] == ack.offset


@dataclass(frozen=True, slots=True)
class SitesJudged:
    """The verdict, with its reasons, and what it rests on."""

    measured: SitesMeasured
    verdict: Verdict
    reasons: tuple[str, ...]


def judge_sites(rehearsed: SitesRehearsed, told: Told, logs: Logs) -> SitesJudged:
    """Compare everything and judge it. `logs`: of the cluster, as it is in the end."""
    topology = rehearsed.topology
    compared = compare_origins(topology, told, logs=logs)
    twice = frozenset(record for copy in compared.copies for record in (*copy.twice, *copy.resent))
    killed = [
        Lost(cluster=rehearsed.cluster, at_s=g.at_s, is_verified=g.is_verified)
        for g in rehearsed.gone
        if g.is_lost
    ]
    begins = [gone.at_s for gone in rehearsed.gone]
    measured = SitesMeasured(
        rehearsed=rehearsed,
        told=told,
        compared=compared,
        uncommitted={
            one.name: read_uncommitted(told, one, killed, twice, across_lives=True)
            for one in topology.consumers
        },
        successes=Successes.of(topology, told),
        windows=tuple(
            Window(begin, end)
            for begin, end in zip(begins, [*begins[1:], rehearsed.work_ended_s], strict=True)
        ),
        statements=tuple(_statements(rehearsed, told)),
        logs=logs,
    )
    verdict, reasons = verdict_of(*_findings(measured, logs))
    return SitesJudged(measured, verdict, tuple(reasons))


def _statements(rehearsed: SitesRehearsed, told: Told) -> Iterator[Statement]:
    for number, gone in enumerate(rehearsed.gone, 1):
        if not gone.is_lost:
            continue
        fate = rehearsed.fates[gone.site]
        stated = GOES_ON if fate.control_plane == "continues" else STANDS
        known = {True: GOES_ON, False: STANDS, None: None}[gone.changes_metadata]
        of = partial(Statement, loss=number, site=gone.site)
        yield of(subject="control plane", stated=stated, happened=known, reason=fate.reason)
        for name, topic in fate.topics.items():
            if rehearsed.topology.topic(name, rehearsed.cluster) is not None:
                stated = _OUTAGE.get(topic.writes, STANDS)
                happened = _written(rehearsed, told, gone, name)
                yield of(subject=f"writes to {name}", stated=stated, happened=happened, reason=topic.reason)
        stated = "refused" if fate.control_plane == "lost" else "done"
        happened = "refused" if gone.refused else "done"
        yield of(subject="failover", stated=stated, happened=happened, reason=gone.refused)
        if gone.foreseen is not None and not gone.refused:
            steps, foreseen = (", ".join(names) or "none" for names in (gone.steps, gone.foreseen))
            yield of(subject="steps of failover", stated=foreseen, happened=steps)


def _written(rehearsed: SitesRehearsed, told: Told, gone: SiteGone, topic: str) -> str | None:
    """Whether every partition was written between what Kafka does by itself and the command.

    None where nobody was there to write: who writes the topic was lost with the site.
    """
    acked = {
        ack.partition
        for ack in told.acked.values()
        if ack.origin.topic == topic and gone.settled_s <= ack.at_ms / 1000 < gone.commanded_s
    }
    described = rehearsed.topology.topic(topic, rehearsed.cluster)
    if described is not None and len(acked) == described.partitions:
        return GOES_ON
    writers = [one for one in rehearsed.topology.producers if topic in one.topics]
    is_tried = any(places(rehearsed.topology, one)[0].dc != gone.site for one in writers)
    return STANDS if is_tried else None


def _findings(found: SitesMeasured, logs: Logs) -> Iterator[Finding]:
    told = found.told
    yield from (Finding("unknown", reason) for reason in told.unreadable.values())
    if told.unreadable.keys().isdisjoint(one.name for one in found.rehearsed.topology.producers):
        yield from _of_records(found)
        yield from _of_readings(found)
    yield from _of_statements(found)
    yield from _of_runs(found)
    yield from _of_pauses(found)
    yield from _of_places(found)
    yield from (Finding("invalid", f"not as before: {one}") for one in found.rehearsed.differences)
    yield from _of_the_drill(found, logs)


def _of_records(found: SitesMeasured) -> Iterator[Finding]:
    rehearsed = found.rehearsed
    stated = _stated_missing(rehearsed)
    for copy in found.compared.copies:
        every = found.missing(copy.topic)
        missing = [record for record in every if not found.may_be_missing(record)]
        lost = [rehearsed.fates[gone.site].topics.get(copy.topic) for gone in rehearsed.gone if gone.is_lost]
        is_at_risk = any(fate is not None and fate.acked_records == "at-risk" for fate in lost)
        at_most = stated.get(copy.topic)
        if missing and not is_at_risk:
            yield invalid(copy.topic, missing, "acknowledged, and missing")
        elif missing and at_most is None:
            said = (
                f"{copy.topic}: {len(missing):,} acknowledged records are missing, and no plan had said how"
            )
            yield Finding("unknown", f"{said} many; by the file they were at risk")
        elif at_most is not None and len(every) > at_most:
            yield invalid(
                copy.topic, every, f"acknowledged, and missing; the plan had said {at_most:,} at most"
            )
        if copy.twice:
            yield invalid(copy.topic, copy.twice, "there more than once")
        if copy.reordered:
            yield Finding("invalid", f"{copy.topic}: {copy.reordered:,} records out of order")


def _stated_missing(rehearsed: SitesRehearsed) -> dict[str, int]:
    """By topic how many records plans had said that a chosen leader lacks."""
    found: dict[str, int] = {}
    for result in rehearsed.results:
        for topic, bounds in result["predicted"]["loss"].items():
            if bounds.get("at_most") is not None:
                found[topic] = found.get(topic, 0) + int(bounds["at_most"])
    return found


def _of_readings(found: SitesMeasured) -> Iterator[Finding]:
    for one in found.compared.readings:
        if one.consumer in found.told.unreadable:
            continue
        subject = f"{one.consumer}, {one.origin.topic}"
        again = [record for record in one.again if record not in found.uncommitted[one.consumer]]
        for what, records in {
            "skipped": one.skipped,
            "processed again": again,
            "processed at two places of one log": one.repeated,
            "processed that are not for it": one.uncalled,
            "processed of aborted transactions": one.aborted,
        }.items():
            if records:
                yield invalid(subject, records, what)
        if one.expected and not one.read:
            yield Finding("unknown", f"{subject}: none of {one.expected:,} records was processed")


def _of_statements(found: SitesMeasured) -> Iterator[Finding]:
    for one in found.statements:
        if one.is_as_stated is False:
            said = f"stated: {one.stated}; happened: {one.happened}"
            yield Finding("invalid", f"loss of {one.site}, {one.subject}: {said}")


def _of_runs(found: SitesMeasured) -> Iterator[Finding]:
    for result in found.rehearsed.results:
        if result["outcome"] not in {"ok", "nothing-to-do"}:
            yield Finding("unknown", f"{result['run_id']}: it ended {result['outcome']}: {result['reason']}")


def _of_pauses(found: SitesMeasured) -> Iterator[Finding]:
    """Who waits for a site is waited for until it is back; everybody else works without it, and after it."""
    limit_s = seen_again_limit_s(found.rehearsed.topology)
    for client in found.clients:
        for gone, pause in zip(found.rehearsed.gone, found.pauses(client), strict=True):
            waits = bool(gone.refused) or _waits(found.rehearsed.topology, client, gone.waiting)
            at_most_s = limit_s + (gone.restored_s - gone.at_s if waits else 0.0)
            if pause is None:
                yield Finding("invalid", f"{client.name}: not seen again after {gone.site} was lost or left")
            elif pause > at_most_s:
                said = f"got nothing done for {pause:.1f} s (limit {at_most_s:g} s)"
                yield Finding("invalid", f"{client.name}: {said}")
            elif not waits and not found.worked(client, gone.ended_s, gone.restored_s):
                said = f"got nothing done between the command and the return of {gone.site}"
                yield Finding("invalid", f"{client.name}: {said}")


def _waits(topology: Topology, client: Consumer | Producer, waiting: Sequence[str]) -> bool:
    """Whether what it writes, or what it reads and commits, waits for the site."""
    topics = client.topics if isinstance(client, Producer) else (*topology.topics_read(client), OFFSETS_TOPIC)
    return not set(topics).isdisjoint(waiting)


def _waits_for_all(topology: Topology, client: Consumer | Producer, waiting: Sequence[str]) -> bool:
    """Whether nothing of what it does can be done before the site is back."""
    if isinstance(client, Producer):
        return set(client.topics) <= set(waiting)
    return OFFSETS_TOPIC in waiting or set(topology.topics_read(client)) <= set(waiting)


def _of_places(found: SitesMeasured) -> Iterator[Finding]:
    """Each application has gone where plans said, and come home, and never worked at two sites at once."""
    for client in found.clients:
        program = producer_client(client.name) if isinstance(client, Producer) else client.program
        left = [gone for gone in found.rehearsed.gone if program in gone.placed]
        lives = found.lives(client)
        wanted = list(range(LIFE_AT_SOURCE, LIFE_AT_SOURCE + 2 * len(left) + 1))
        # Who waits for the site elsewhere may get nothing done there.
        waited = {
            wanted[2 * number + 1]
            for number, gone in enumerate(left)
            if _waits_for_all(found.rehearsed.topology, client, gone.waiting)
        }
        if not {*wanted} - waited <= lives.keys() <= {*wanted}:
            said = f"went elsewhere {len(left)} times by the plans, and home"
            yield Finding("invalid", f"{client.name}: {said}, and worked in lives {sorted(lives)}")
        for life in wanted[1:]:
            if life in lives and life - 1 in lives and lives[life][0] < lives[life - 1][1]:
                yield Finding("invalid", f"{client.name}: worked at two sites at once (life {life})")


def _of_the_drill(found: SitesMeasured, logs: Logs) -> Iterator[Finding]:
    rehearsed = found.rehearsed
    is_verified = bool(rehearsed.gone) and all(gone.is_verified for gone in rehearsed.gone)
    yield from circumstances(is_verified, rehearsed.is_drained)
    if rehearsed.stands_still is None:
        yield Finding("unknown", "it was not seen whether logs stood still once producers had ended")
    elif not rehearsed.stands_still:
        yield Finding("invalid", "logs grew after all producers had ended")
    if not any(copy.acked for copy in found.compared.copies):
        yield Finding("unknown", "nothing was acknowledged: an empty drill shows nothing")
    for topic in sorted({ack.origin.topic for ack in found.told.acked.values()}):
        if not any(at.topic == topic for at in logs.get(rehearsed.cluster, {})):
            yield Finding("unknown", f"{topic}: its log was not read, or is empty")


def pause_of(found: SitesMeasured, client: Consumer | Producer) -> float | None:
    """The longest of all windows; None where it was not seen again in one."""
    return longest(found.pauses(client))
