"""A toy mirror engine: what it copies stands at the same offsets at the other side, and so needs no map."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from pydantic.dataclasses import dataclass as checked_dataclass

from orchestrator.errors import DcctlError
from orchestrator.estate.desired_acls import allowed
from orchestrator.moves.participants import Accepted, MirrorEngine, Ports, Rejoined, Stand
from orchestrator.moves.results import (
    LOSS,
    MIRRORED,
    LossCounted,
    MirrorEnd,
    MirrorStarts,
    PartlyStanding,
    RejoiningLogs,
    RulesHeard,
    StandingLogs,
)
from orchestrator.moves.situation import Situation
from orchestrator.moves.way import Way
from orchestrator.replication.engine import Asked, MirrorHealth, OwnTopic
from orchestrator.replication.mirror_ref import MirrorRef
from orchestrator.replication.offsets_json import Offsets
from orchestrator.runs.acting import World
from orchestrator.runs.effect import (
    EFFECT_CONFIG,
    Done,
    Effect,
    Failed,
    Handle,
    Held,
    Look,
    Nothing,
    Outcome,
    Reversible,
    Running,
    Verified,
    VerifiedUndo,
)
from orchestrator.runs.plan import GateResult
from orchestrator.runs.ports import Clusters
from orchestrator.runs.runbook import After, Runbook, behind
from orchestrator.snapshot.back_starts import BackStarts
from orchestrator.topology.kinds import STRICT, Seconds
from orchestrator.topology.mirror_engines import DeclaredEngine
from orchestrator.topology.model import Replication, Topology
from orchestrator.topology.rules.rule import Finding, rule
from orchestrator.values import Acl, TopicPartition
from tests.twin.clusters import TwinCluster
from tests.twin.record import Record

_BEHIND_S = 0.4


@dataclass
class Copiers:
    """The port: which copiers run, and the next offset of each partition. `ended`: where they came to, once."""

    topology: Topology
    clusters: Mapping[str, TwinCluster]
    record: Record
    running: set[MirrorRef] = field(default_factory=set)
    at: dict[MirrorRef, dict[TopicPartition, int]] = field(default_factory=dict)
    ended: dict[MirrorRef, dict[TopicPartition, int]] = field(default_factory=dict)

    def begin(self, mirror: MirrorRef, starts: Mapping[TopicPartition, int]) -> None:
        """Make the copies, empty up to `starts` (none: from the beginning), unless that was done before."""
        if mirror in self.at:
            return
        named, source, target = self._sides(mirror)
        for name, copy in named.items():
            known = source.topics[name].logs
            target.create_topic(copy, len(known), 1, {})
            for number, log in enumerate(target.topics[copy].logs):
                log.start = starts.get(TopicPartition(name, number), 0)
                log.records = [None] * log.start
        self.at[mirror] = {tp: starts.get(tp, 0) for tp in source.partitions(named)}

    def run(self, mirror: MirrorRef) -> None:
        """Twice is once."""
        if mirror not in self.running:
            self._do("run copier", mirror, lambda: self.running.add(mirror))

    def stop(self, mirror: MirrorRef) -> None:
        """Twice is once."""
        if mirror in self.running:
            self._do("stop copier", mirror, lambda: self.running.discard(mirror))

    def keep_end(self, mirror: MirrorRef, end: dict[TopicPartition, int] | None) -> None:
        """None forgets it."""
        if end is None:
            self._do("forget end of copier", mirror, lambda: self.ended.pop(mirror, None))
        else:
            self._do("keep end of copier", mirror, lambda: self.ended.update({mirror: end}))

    def live(self, now_s: float) -> None:
        """Those that run copy, a moment later, as far as both sides are there."""
        until_s = now_s - _BEHIND_S
        for mirror in self.running:
            named, source, target = self._sides(mirror)
            for tp, at in self.at[mirror].items():
                log, copy = source.log(tp), target.log(TopicPartition(named[tp.topic], tp.partition))
                if log is None or copy is None or not (source.is_led(log) and target.is_led(copy)):
                    continue
                assert copy.end == at, f"{mirror}, {tp}: {at} would not stand at the same offset"
                found = [r for r in log.records[at : log.readable_end] if r is None or r.at_s <= until_s]
                copy.records += found
                self.at[mirror][tp] = at + len(found)

    def copied(self, run: Running, mirror: MirrorRef) -> dict[TopicPartition, int]:
        """Where the copies end, as the target says it, by the partition that they are copies of."""
        named, _, _ = self._sides(mirror)
        copies = {TopicPartition(named[tp.topic], tp.partition): tp for tp in self.at[mirror]}
        ends = run.port(Clusters).cluster(mirror.target).end_offsets(copies)
        return {copies[copy]: end for copy, end in ends.items()}

    def copies(self, mirror: MirrorRef, ends: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """The same by the names of the copies."""
        named, _, _ = self._sides(mirror)
        return {TopicPartition(named[tp.topic], tp.partition): end for tp, end in ends.items()}

    def _sides(self, mirror: MirrorRef) -> tuple[dict[str, str], TwinCluster, TwinCluster]:
        found = mirror.of(self.topology)
        named = {name: found.mirrored_topic(name) for name in found.topics}
        return named, self.clusters[mirror.source], self.clusters[mirror.target]

    def _do(self, verb: str, mirror: MirrorRef, effect: Callable[[], object]) -> None:
        self.record.do(
            verb, mirror.target, str(mirror), effect, failed=lambda why: DcctlError(f"copier {mirror}", why)
        )


@checked_dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class AwaitCopied(
    Look[Nothing],
    name="toy-await-copied",
    phase="drain",
    title="Wait until the copier {mirror} has copied everything",
):
    """All of these logs is copied."""

    mirror: MirrorRef
    standing: Handle[StandingLogs]
    limit_s: float

    @property
    def timeout_s(self) -> float:
        return self.limit_s

    def perform(self, run: Running) -> Outcome[Nothing]:
        missing = _missing(run, self.mirror, run.of(self.standing).ends, self.limit_s)
        return Failed(f"{missing} records are not copied") if missing else Done(Nothing(), "all is copied")


@checked_dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class CopyRest(
    Look[Nothing],
    name="toy-copy-rest",
    phase="drain",
    title="Let the copier {mirror} copy what can be read",
):
    """What can be read of a place that answers in part is copied."""

    mirror: MirrorRef
    standing: Handle[PartlyStanding]
    allowed_records: int | None

    def perform(self, run: Running) -> Outcome[Nothing]:
        missing = _missing(run, self.mirror, run.of(self.standing).ends, run.timeout_s)
        if self.allowed_records is not None and missing > self.allowed_records:
            return Failed(f"{missing} records are not copied ({self.allowed_records} accepted)")
        return Done(Nothing(), f"{missing} records are not copied")


@checked_dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class StopCopier(
    Verified[Nothing],
    Reversible,
    VerifiedUndo,
    Effect[Nothing],
    name="toy-stop-copier",
    phase="fence",
    title="Stop the copier {mirror}",
):
    """It copies nothing any more."""

    mirror: MirrorRef

    def holds(self) -> Iterable[Held]:
        return (_copying(self.mirror),)

    def perform(self, run: Running) -> Outcome[Nothing]:
        run.port(Copiers).stop(self.mirror)
        return Done(Nothing())

    def verify(self, run: Running) -> Outcome[Nothing]:
        does_run = self.mirror in run.port(Copiers).running
        return Failed("it runs") if does_run else Done(Nothing(), "stopped")

    def undo(self, run: Running) -> Outcome[Nothing]:
        run.port(Copiers).run(self.mirror)
        return Done(Nothing())

    def verify_undone(self, run: Running) -> Outcome[Nothing]:
        does_run = self.mirror in run.port(Copiers).running
        return Done(Nothing(), "it runs") if does_run else Failed("it does not run")


@checked_dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class RecordEnd(
    Look[MirrorEnd],
    name="toy-record-end",
    phase="fence",
    title="Record where the copier {mirror} has come to",
):
    """Where a copier that was stopped has come to."""

    mirror: MirrorRef
    stopped: Handle[Nothing]

    def perform(self, run: Running) -> Outcome[MirrorEnd]:
        copiers = run.port(Copiers)
        ends = copiers.copied(run, self.mirror)
        read = {tp: end - 1 for tp, end in ends.items() if end}
        found = MirrorEnd(ends=copiers.copies(self.mirror, ends), mirror_offsets=read)
        return Done(found, f"{sum(ends.values())} records")


@checked_dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class CountLost(
    Look[LossCounted],
    name="toy-count-lost",
    phase="fence",
    title="Count what the copier {mirror} has not copied",
):
    """What stands at a place that answered in part and is not copied; of what nobody can read, nothing is known."""

    mirror: MirrorRef
    standing: Handle[PartlyStanding]
    end: Handle[MirrorEnd]

    def perform(self, run: Running) -> Outcome[LossCounted]:
        standing, ends = run.of(self.standing), run.port(Copiers).copied(run, self.mirror)
        loss: dict[str, dict[str, Any]] = {}
        for tp, end in standing.ends.items():
            lost = max(0, end - ends[tp])
            loss.setdefault(tp.topic, {})[str(tp.partition)] = {"lost": lost, "reason": "counted"}
        for subject, why in standing.unread.items():
            topic, _, number = subject.rpartition("-")
            loss.setdefault(topic, {})[number] = {"lost": None, "reason": why}
        return Done(LossCounted(loss=loss))


@checked_dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class CompareCopies(
    Look[RejoiningLogs],
    name="toy-compare",
    phase="detect",
    title="Compare the logs at {mirror.source} with what the copier {mirror} has copied",
):
    """A log that has returned may be longer than its copy, and not shorter."""

    mirror: MirrorRef
    standing: Handle[StandingLogs]

    def perform(self, run: Running) -> Outcome[RejoiningLogs]:
        copied, ends = run.port(Copiers).copied(run, self.mirror), run.of(self.standing).ends
        shorter = [str(tp) for tp, end in copied.items() if ends[tp] < end]
        if shorter:
            return Failed(f"shorter than their copies: {', '.join(shorter)}")
        tail = {tp: ends[tp] - end for tp, end in copied.items() if ends[tp] > end}
        copies = run.port(Copiers).copies(self.mirror, copied)
        found = RejoiningLogs(
            set_offsets=(), truncations=[], tail=tail, missing={}, target_only={}, copied=copies
        )
        return Done(found, f"{sum(tail.values())} records are late")


@checked_dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class GoOnCopying(
    Verified[Nothing],
    Effect[Nothing],
    name="toy-go-on",
    phase="drain",
    title="Let the copier {mirror} go on",
    stays="what it has copied stays",
):
    """It copies again, from where it was."""

    mirror: MirrorRef

    def frees(self) -> Iterable[Held]:
        return (_copying(self.mirror),)

    def perform(self, run: Running) -> Outcome[Nothing]:
        run.port(Copiers).run(self.mirror)
        return Done(Nothing())

    def verify(self, run: Running) -> Outcome[Nothing]:
        does_run = self.mirror in run.port(Copiers).running
        return Done(Nothing(), "it runs") if does_run else Failed("it does not run")


@checked_dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class CopyBack(
    Verified[MirrorStarts],
    Effect[MirrorStarts],
    name="toy-copy-back",
    phase="drain",
    title="Begin the copier {mirror}",
    stays="what it has copied stays",
):
    """A copier the other way, from the first record that was written over there."""

    mirror: MirrorRef
    starts: Offsets

    def perform(self, run: Running) -> Outcome[MirrorStarts]:
        copiers = run.port(Copiers)
        copiers.begin(self.mirror, self.starts)
        copiers.run(self.mirror)
        return Done(MirrorStarts(starts=self.starts))

    def verify(self, run: Running) -> Outcome[MirrorStarts]:
        if self.mirror not in run.port(Copiers).running:
            return Failed("it does not run")
        return Done(MirrorStarts(starts=self.starts), "it runs")


@checked_dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class AwaitCaughtUp(
    Look[Nothing],
    name="toy-caught-up",
    phase="drain",
    title="Wait until the copier {mirror} has caught up",
):
    """The copier is behind by no more than what was written a moment ago."""

    mirror: MirrorRef
    limit_s: float

    @property
    def timeout_s(self) -> float:
        return self.limit_s

    def perform(self, run: Running) -> Outcome[Nothing]:
        copiers, source = run.port(Copiers), run.port(Clusters).cluster(self.mirror.source)
        missing = _missing(run, self.mirror, source.end_offsets(copiers.at[self.mirror]), self.limit_s)
        return Failed(f"it is {missing} records behind") if missing else Done(Nothing(), "it has caught up")


@checked_dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class KeepEnd(
    Verified[Nothing],
    Reversible,
    VerifiedUndo,
    Effect[Nothing],
    name="toy-keep-end",
    phase="translate",
    title="Keep where the copier {mirror} has ended",
):
    """Where a copier has ended stays known."""

    mirror: MirrorRef
    end: Handle[MirrorEnd]

    def perform(self, run: Running) -> Outcome[Nothing]:
        run.port(Copiers).keep_end(self.mirror, dict(run.of(self.end).ends))
        return Done(Nothing())

    def verify(self, run: Running) -> Outcome[Nothing]:
        is_kept = run.port(Copiers).ended.get(self.mirror) == run.of(self.end).ends
        return Done(Nothing(), "kept") if is_kept else Failed("not kept")

    def undo(self, run: Running) -> Outcome[Nothing]:
        run.port(Copiers).keep_end(self.mirror, None)
        return Done(Nothing())

    def verify_undone(self, run: Running) -> Outcome[Nothing]:
        is_kept = self.mirror in run.port(Copiers).ended
        return Failed("it is kept") if is_kept else Done(Nothing(), "forgotten")


class ToyEngine(MirrorEngine):
    """See `moves.participants.MirrorEngine`. It reads a lost source no more at once, and runs nothing beside."""

    name = "toy"
    title = "the toy"
    effects: Sequence[type[Effect[Any]]] = (
        AwaitCaughtUp,
        AwaitCopied,
        CompareCopies,
        CopyBack,
        CopyRest,
        CountLost,
        GoOnCopying,
        KeepEnd,
        RecordEnd,
        StopCopier,
    )

    def __init__(self, copiers: Copiers | None = None) -> None:
        """Without `copiers` it is the engine that a file names: it knows of none that runs."""
        self._known = copiers

    @property
    def _copiers(self) -> Copiers:
        assert self._known is not None
        return self._known

    def ports(self, world: World) -> Ports:
        return {Copiers: self._copiers} if self._known is not None else {}

    def topics(self, topology: Topology, mirror: Replication) -> Iterable[OwnTopic]:
        return (OwnTopic(name=f"copier-{mirror.source}", config={"cleanup.policy": "compact"}),)

    def acls(self, topology: Topology, mirror: Replication, cluster: str) -> Iterable[Acl]:
        who = topology.clusters[cluster].mirror_principal
        if cluster == mirror.source:
            return [
                rule for name in mirror.topics for rule in allowed(who, "TOPIC", name, ("READ", "DESCRIBE"))
            ]
        written = [*map(mirror.mirrored_topic, mirror.topics), f"copier-{mirror.source}"]
        return [rule for name in written for rule in allowed(who, "TOPIC", name, ("WRITE", "DESCRIBE"))]

    def health(self, asked: Asked, mirror: Replication, at_s: float) -> MirrorHealth:
        return MirrorHealth(at_s=at_s, states={f"copier-{mirror.source}": "RUNNING"})

    def why_not(self, topology: Topology, mirror: MirrorRef) -> str:
        if self._known is None:
            return f"no copier {mirror} has begun"
        has_begun = {mirror, mirror.other_way} & self._copiers.at.keys()
        return "" if has_begun else f"no copier {mirror} has begun"

    def gates(self, s: Situation) -> tuple[GateResult, ...]:
        """A copier at work, or one that has been; nobody asks Connect, or where a map leads."""
        is_known = s.feed in self._copiers.at or s.case == "back"
        is_running = s.feed in self._copiers.running or s.case != "planned"
        return (
            GateResult(
                id="copier-known",
                outcome="ok" if is_known and is_running else "refused",
                measured=f"{len(self._copiers.at)} copiers",
                limit=f"a copier {s.feed}, at work while both sides are there",
                reason="it is" if is_known and is_running else "it is not",
            ),
        )

    def loss(self, s: Situation) -> Mapping[str, Mapping[str, int]]:
        """What is not copied of a lost place nobody knows."""
        return {} if s.case == "gone" else {name: {"at_most": 0} for name in s.way.topics}

    def facts(self, s: Situation) -> Mapping[str, Any]:
        return {"copied": {str(tp): offset for tp, offset in self._copiers.at.get(s.feed, {}).items()}}

    def let_land(
        self, book: Runbook, way: Way, mirror: MirrorRef, after: Sequence[After]
    ) -> Handle[Nothing] | None:
        return None

    def drain(
        self, book: Runbook, way: Way, mirror: MirrorRef, standing: Handle[StandingLogs], timeout_s: float
    ) -> Handle[Nothing]:
        drain = AwaitCopied(mirror=mirror, standing=standing, limit_s=timeout_s)
        return book.add(drain, id=way.id("copied", mirror))

    def drain_partial(
        self, book: Runbook, way: Way, mirror: MirrorRef, standing: Handle[PartlyStanding], accepted: Accepted
    ) -> Handle[Nothing]:
        rest = CopyRest(mirror=mirror, standing=standing, allowed_records=accepted.loss)
        return book.add(rest, id=way.id("copied", mirror))

    def stop(self, book: Runbook, way: Way, mirror: MirrorRef, after: Sequence[After]) -> Stand:
        stopped = book.add(StopCopier(mirror=mirror), id=way.id("stop-copier", mirror), after=after)
        end = book.add(RecordEnd(mirror=mirror, stopped=stopped), id=way.id("copier-end", mirror))
        book.tell(MIRRORED, end)
        return Stand(mirror=mirror, stopped=stopped, end=end)

    def see_arrived(
        self, book: Runbook, way: Way, stand: Stand, standing: Handle[StandingLogs]
    ) -> Handle[Nothing] | None:
        return None

    def stop_beside(self, book: Runbook, way: Way, stand: Stand) -> Handle[Nothing] | None:
        return None

    def account(  # noqa: PLR0917 - what a loss is counted from
        self,
        book: Runbook,
        way: Way,
        stand: Stand,
        standing: Handle[PartlyStanding],
        heard: Handle[RulesHeard] | None,
        accepted: Accepted,
    ) -> Handle[LossCounted]:
        count = CountLost(mirror=stand.mirror, standing=standing, end=stand.end)
        counted = book.add(count, id=way.id("count-lost", stand.mirror))
        book.tell(LOSS, counted)
        return counted

    def rejoin(  # noqa: PLR0917 - what a standby is made from
        self,
        book: Runbook,
        way: Way,
        mirror: MirrorRef,
        standing: Handle[StandingLogs],
        starts: BackStarts,
        accepted: Accepted,
        timeout_s: float,
    ) -> Rejoined:
        ahead = mirror.other_way
        rejoining = book.add(CompareCopies(mirror=ahead, standing=standing), id=way.id("compare", mirror))
        fits = behind(rejoining, because="what is shorter than its copy cannot be copied on")
        goes_on = book.add(GoOnCopying(mirror=ahead), id=way.id("copier-goes-on", mirror), after=[fits])
        runs = behind(goes_on, because="nothing arrives before")
        tail = AwaitCopied(mirror=ahead, standing=standing, limit_s=timeout_s)
        arrived = book.add(tail, id=way.id("tail-copied", mirror), after=[runs])
        back = book.add(
            CopyBack(mirror=mirror, starts=dict(starts.recorded)),
            id=way.id("copy-back", mirror),
            after=[fits],
        )
        begun = behind(back, because="nothing is brought back before")
        caught_up = AwaitCaughtUp(mirror=mirror, limit_s=timeout_s)
        is_near = book.add(caught_up, id=way.id("copier-caught-up", mirror), after=[begun])
        return Rejoined(rejoining=rejoining, starts=back, caught_up=(arrived, is_near))

    def pause(self, book: Runbook, way: Way, mirror: MirrorRef, after: Sequence[After]) -> Stand:
        paused = book.add(StopCopier(mirror=mirror), id=way.id("pause-copier", mirror), after=after)
        end = book.add(RecordEnd(mirror=mirror, stopped=paused), id=way.id("paused-copier-end", mirror))
        return Stand(mirror=mirror, stopped=paused, end=end)

    def close(self, book: Runbook, way: Way, stand: Stand, after: Sequence[After]) -> Handle[Nothing] | None:
        keep = KeepEnd(mirror=stand.mirror, end=stand.end)
        return book.add(keep, id=way.id("keep-end", stand.mirror), after=after)

    def go_on(self, book: Runbook, way: Way, mirror: MirrorRef, after: Sequence[After]) -> Handle[Nothing]:
        step = way.id("paused-copier-goes-on", mirror)
        return book.add(GoOnCopying(mirror=mirror), id=step, phase="redirect", after=after)


TOY = ToyEngine()


@checked_dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class Copied(Replication):
    """A mirror of the toy: every record is copied within `every_s` seconds."""

    needs_connect: ClassVar[bool] = False

    every_s: Seconds = 1.0


@rule("toy-every", "error", "A copier of the toy copies at least each minute", "Nobody waits for longer.")
def toy_every(topology: Topology) -> Iterator[Finding]:
    """Mirrors of the toy that are slower."""
    for index, mirror in enumerate(topology.replication):
        if isinstance(mirror, Copied) and mirror.every_s > 60:
            yield Finding(
                ("replication", index, "every_s"), "the copier sleeps for too long", "take 60 or less"
            )


DECLARED = DeclaredEngine(name="toy", entry=Copied, rules=(toy_every,), engine="tests.moves.toy_engine:TOY")


def _missing(run: Running, mirror: MirrorRef, ends: Mapping[TopicPartition, int], timeout_s: float) -> int:
    """How many records before these ends are not copied when the time is over, or nothing is missing."""
    copiers = run.port(Copiers)

    def missing() -> int:
        copied = copiers.copied(run, mirror)
        return sum(max(0, ends.get(tp, 0) - at) for tp, at in copied.items())

    run.await_true(lambda: not missing(), timeout_s)
    return missing()


def _copying(mirror: MirrorRef) -> Held:
    return Held(f"copying {mirror}", "paused")
