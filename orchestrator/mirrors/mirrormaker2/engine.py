"""MirrorMaker 2 in a move: connectors that are stopped, offsets that Connect keeps, a group sync beside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from orchestrator.mirrors.connect import Workers, is_stopped_in_time
from orchestrator.mirrors.mirrormaker2.account import AccountPartial
from orchestrator.mirrors.mirrormaker2.connectors import ConnectorNames, names_of
from orchestrator.mirrors.mirrormaker2.copying import Copying
from orchestrator.mirrors.mirrormaker2.copying_time import catch_up_in_time, copying_times
from orchestrator.mirrors.mirrormaker2.draining import AwaitDrained, RecordPassed, SeeArrived, drained
from orchestrator.mirrors.mirrormaker2.gates import (
    loss_within_budget,
    mirror_controlled,
    mirror_lag,
    mirror_running,
    mirror_there,
    mirror_trusted,
    rejoining_log,
    target_topics,
    watcher_alive,
)
from orchestrator.mirrors.mirrormaker2.loss import facts_of_loss, late_by_topic, loss_by_topic
from orchestrator.mirrors.mirrormaker2.partial_drain import DrainPartial
from orchestrator.mirrors.mirrormaker2.rejoining import AwaitTail, CompareRejoining, SeeFits, SetMirrorOffsets
from orchestrator.mirrors.mirrormaker2.reverse import (
    AwaitCaughtUp,
    CloseReverseMap,
    CreateReverse,
    PrepareReverse,
    SetReverseStarts,
)
from orchestrator.mirrors.mirrormaker2.routes import routes_usable
from orchestrator.mirrors.mirrormaker2.shortened import SetBehindElection
from orchestrator.mirrors.mirrormaker2.sides import sides_agree
from orchestrator.mirrors.mirrormaker2.standing import (
    LetLand,
    RecordMirrorEnd,
    ResumeConnectors,
    StopConnectors,
)
from orchestrator.moves.participants import Accepted, MirrorEngine, Rejoined, Stand
from orchestrator.moves.results import (
    LOSS,
    MIRRORED,
    LeadersChosen,
    LossCounted,
    MirrorEnd,
    PartlyStanding,
    RulesHeard,
    StandingLogs,
)
from orchestrator.moves.situation import Situation
from orchestrator.moves.way import Leg, Way
from orchestrator.replication.mirror_ref import MirrorRef
from orchestrator.runs.effect import Effect, Handle, Nothing, Outcome, Running
from orchestrator.runs.estate_record import Cuts, Rows
from orchestrator.runs.plan import GateResult
from orchestrator.runs.runbook import After, Runbook, behind
from orchestrator.snapshot.back_starts import BackStarts
from orchestrator.topology.model import Topology

# A task of the group sync asks a lost source for one group after the other, each until a time-out.
_SYNC_STOPS_WITHIN_S = 120.0
DRAIN_TIMEOUT_S = 60.0
STALLED_S = 10.0
"""Behind the interval at which Connect tells how far the mirror is."""


class MirrorMaker2(Copying, MirrorEngine):
    """See `replication.engine.Engine`, and `moves.participants.MirrorEngine` for its steps."""

    effects: Sequence[type[Effect[Any]]] = (
        AccountPartial,
        AwaitCaughtUp,
        AwaitDrained,
        AwaitTail,
        CloseReverseMap,
        CompareRejoining,
        CreateReverse,
        DrainPartial,
        LetLand,
        PrepareReverse,
        RecordMirrorEnd,
        RecordPassed,
        ResumeConnectors,
        SeeArrived,
        SetBehindElection,
        SetMirrorOffsets,
        SeeFits,
        SetReverseStarts,
        StopConnectors,
    )

    def await_copied(
        self,
        run: Running,
        mirror: MirrorRef,
        standing: StandingLogs,
        *,
        end: MirrorEnd | None,
        stalled_s: float | None,
        timeout_s: float,
    ) -> Outcome[Nothing]:
        """See `MirrorEngine`."""
        return drained(run, mirror, standing, end=end, stalled_s=stalled_s, timeout_s=timeout_s)

    def syncs_positions(self, run: Running, mirror: MirrorRef, timeout_s: float) -> str:
        """Its group sync."""
        group_sync = names_of(run.port(Topology), mirror).checkpoint
        connect = run.port(Workers).connect(mirror.workers)
        return "" if is_stopped_in_time(run, connect, group_sync, timeout_s) else group_sync

    def gates(self, s: Situation) -> tuple[GateResult, ...]:
        """See `MirrorEngine`."""
        if s.case == "back":
            back = rejoining_log(s), mirror_there(s), mirror_trusted(s), sides_agree(s)
            return back if s.mirror.max_bytes_per_s is None else (*back, catch_up_in_time(s))
        usable = target_topics(s), mirror_controlled(s), mirror_trusted(s), watcher_alive(s)
        if s.case == "planned":
            return *usable, mirror_running(s), mirror_lag(s), sides_agree(s)
        return *usable, loss_within_budget(s)

    def route_gates(self, s: Situation, legs: Sequence[Leg]) -> tuple[GateResult, ...]:
        """See `MirrorEngine`."""
        usable = routes_usable(s, legs)
        return (usable,) if s.case == "planned" else (usable, watcher_alive(s))

    def loss(self, s: Situation) -> Mapping[str, Mapping[str, int]]:
        """See `MirrorEngine`."""
        return loss_by_topic(s)

    def late(self, s: Situation) -> Mapping[str, Mapping[str, int]]:
        """See `MirrorEngine`."""
        return late_by_topic(s)

    def facts(self, s: Situation) -> Mapping[str, Any]:
        """See `MirrorEngine`."""
        times = {step: time.as_json() for step, time in s.once(copying_times).items()}
        return {**facts_of_loss(s), **({"copying": times} if times else {})}

    def seconds(self, s: Situation) -> Mapping[str, float]:
        """See `MirrorEngine`."""
        return {
            step: time.seconds for step, time in s.once(copying_times).items() if time.seconds is not None
        }

    def let_land(
        self, book: Runbook, way: Way, mirror: MirrorRef, after: Sequence[After]
    ) -> Handle[Nothing] | None:
        """See `MirrorEngine`."""
        return book.add(LetLand(mirror=mirror), id=way.id("let-land", mirror), after=after)

    def drain(
        self, book: Runbook, way: Way, mirror: MirrorRef, standing: Handle[StandingLogs], timeout_s: float
    ) -> Handle[Nothing]:
        """See `MirrorEngine`."""
        drain = AwaitDrained(mirror=mirror, standing=standing, limit_s=timeout_s)
        return book.add(drain, id=way.id("drain", mirror))

    def record_passed(
        self,
        book: Runbook,
        way: Way,
        mirror: MirrorRef,
        standing: Handle[StandingLogs],
        drained: Handle[Nothing],
    ) -> Handle[MirrorEnd]:
        """See `MirrorEngine`."""
        passed = RecordPassed(mirror=mirror, standing=standing, drained=drained)
        recorded = book.add(passed, id=way.id("record-passed", mirror))
        book.tell(MIRRORED, recorded)
        return recorded

    def drain_partial(
        self,
        book: Runbook,
        way: Way,
        mirror: MirrorRef,
        standing: Handle[PartlyStanding],
        accepted: Accepted,
    ) -> Handle[Nothing]:
        """See `MirrorEngine`."""
        drain = DrainPartial(
            mirror=mirror,
            standing=standing,
            stalled_s=mirror.of(way.topology).offset_flush_interval_s + STALLED_S,
            allowed_records=accepted.loss,
            limit_s=DRAIN_TIMEOUT_S,
        )
        return book.add(drain, id=way.id("drain", mirror))

    def stop(self, book: Runbook, way: Way, mirror: MirrorRef, after: Sequence[After]) -> Stand:
        """See `MirrorEngine`."""
        stop = StopConnectors(connectors=(_names(way, mirror).source,), workers=mirror.workers)
        step = way.id("stop-mirror", mirror)
        stopped = book.add(
            stop, id=step, title=f"Stop the source connector of the mirror {mirror}", after=after
        )
        end = RecordMirrorEnd(mirror=mirror, stopped=stopped)
        recorded = book.add(end, id=way.id("record-mirrored-ends", mirror))
        book.tell(MIRRORED, recorded)
        return Stand(mirror=mirror, stopped=stopped, end=recorded)

    def see_arrived(
        self, book: Runbook, way: Way, stand: Stand, standing: Handle[StandingLogs]
    ) -> Handle[Nothing] | None:
        """See `MirrorEngine`."""
        arrived = SeeArrived(mirror=stand.mirror, standing=standing, end=stand.end)
        return book.add(arrived, id=way.id("all-arrived", stand.mirror))

    def stop_beside(self, book: Runbook, way: Way, stand: Stand) -> Handle[Nothing] | None:
        """Its group sync, which writes no more offsets then; the mirror back has none."""
        if stand.mirror.is_back:
            return None
        names = _names(way, stand.mirror)
        stop = StopConnectors(
            connectors=(names.checkpoint, names.heartbeat),
            workers=stand.mirror.workers,
            usual_s=5.0,
            limit_s=_SYNC_STOPS_WITHIN_S,
        )
        asked = behind(
            stand.end,
            because="Connect does not answer while a task of the group sync "
            "stops, so the mirror's end is read first",
        )
        title = f"Stop the group sync and heartbeats of the mirror {stand.mirror}"
        return book.add(stop, id=way.id("stop-group-sync", stand.mirror), title=title, after=[asked])

    def account(  # noqa: PLR0917
        self,
        book: Runbook,
        way: Way,
        stand: Stand,
        standing: Handle[PartlyStanding],
        heard: Handle[RulesHeard] | None,
        accepted: Accepted,
    ) -> Handle[LossCounted]:
        """See `MirrorEngine`."""
        account = AccountPartial(
            mirror=stand.mirror,
            standing=standing,
            end=stand.end,
            heard=heard,
            allowed_records=accepted.loss,
        )
        counted = book.add(account, id=way.id("account-loss", stand.mirror))
        book.tell(LOSS, counted)
        return counted

    def rejoin(  # noqa: PLR0917
        self,
        book: Runbook,
        way: Way,
        mirror: MirrorRef,
        standing: Handle[StandingLogs],
        starts: BackStarts,
        accepted: Accepted,
        timeout_s: float,
    ) -> Rejoined:
        """The file's mirror goes on where it fits the logs; the way back is made, and brings what is new."""
        ahead = self.go_on_behind(book, way, mirror.other_way, standing, accepted, timeout_s)
        stands = behind(standing, because="no application writes while topics and access rules are created")
        prepare = PrepareReverse(mirror=mirror)
        prepared = book.add(prepare, id=way.id("prepare-reverse", mirror), after=[stands])
        has_topics = behind(prepared, because="the reverse mirror needs its topics with their settings")
        created = book.add(
            CreateReverse(mirror=mirror), id=way.id("create-reverse", mirror), after=[has_topics]
        )
        is_there = behind(created, because="Connect takes offsets only for a connector that exists")
        begin = SetReverseStarts(
            mirror=mirror,
            starts=dict(starts.recorded),
            unmoved=starts.unmoved,
            provisional=dict(starts.provisional),
        )
        starts_set = book.add(begin, id=way.id("set-reverse-offsets", mirror), after=[is_there])
        resume = ResumeConnectors(connectors=(_names(way, mirror).source,), workers=mirror.workers)
        is_set = behind(
            starts_set,
            because="the reverse mirror begins at the first record that was written at the standby",
        )
        title = f"Start the reverse mirror {mirror}"
        resumed = book.add(
            resume, id=way.id("resume-reverse", mirror), title=title, phase="drain", after=[is_set]
        )
        runs = behind(resumed, because="no record is copied back before")
        catch_up = AwaitCaughtUp(mirror=mirror, limit_s=timeout_s)
        caught_up = book.add(catch_up, id=way.id("caught-up", mirror), after=[runs])
        return replace(ahead, starts=starts_set, caught_up=(*ahead.caught_up, caught_up))

    def go_on_behind(  # noqa: PLR0917
        self,
        book: Runbook,
        way: Way,
        mirror: MirrorRef,
        standing: Handle[StandingLogs],
        accepted: Accepted,
        timeout_s: float,
    ) -> Rejoined:
        """See `MirrorEngine`."""
        names, back = _names(way, mirror), mirror.other_way
        compare = CompareRejoining(
            mirror=mirror,
            standing=standing,
            accept_loss=accepted.loss or 0,
            accept_unrecorded=accepted.unrecorded,
            topics=way.topics if way.is_part else (),
        )
        rejoining = book.add(compare, id=way.id("compare-returned", back))
        offsets = SetMirrorOffsets(mirror=mirror, rejoining=rejoining)
        offsets_set = book.add(offsets, id=way.id("set-mirror-offsets", back))
        resume = ResumeConnectors(connectors=(names.source, names.heartbeat), workers=mirror.workers)
        fits = behind(
            offsets_set, because="a mirror whose position is beyond the log end would skip the next records"
        )
        title = f"Resume the mirror {mirror} where it stopped"
        resumed = book.add(resume, id=way.id("resume-mirror", back), title=title, phase="drain", after=[fits])
        runs = behind(resumed, because="no record arrives before")
        arrives = AwaitTail(mirror=mirror, standing=standing, rejoining=rejoining, limit_s=timeout_s)
        tail = book.add(arrives, id=way.id("tail-arrives", back), after=[runs])
        return Rejoined(rejoining=rejoining, caught_up=(tail,))

    def go_on_beside(
        self, book: Runbook, way: Way, mirror: MirrorRef, accepted: Accepted, after: Sequence[After]
    ) -> Handle[Nothing]:
        """See `MirrorEngine`."""
        names = _names(way, mirror)
        fit = SeeFits(mirror=mirror, accept_loss=accepted.loss or 0, accept_unrecorded=accepted.unrecorded)
        fits = book.add(fit, id=way.id("see-fits", mirror), after=after)
        resume = ResumeConnectors(connectors=(names.source, names.heartbeat), workers=mirror.workers)
        title = f"Resume the mirror {mirror}, which has stood since applications of {mirror.source} left"
        order = behind(fits, because="a mirror whose position is beyond a log would skip or repeat records")
        return book.add(resume, id=way.id("resume-beside", mirror), title=title, phase="drain", after=[order])

    def pause(self, book: Runbook, way: Way, mirror: MirrorRef, after: Sequence[After]) -> Stand:
        """See `MirrorEngine`."""
        pause = StopConnectors(connectors=(_names(way, mirror).source,), workers=mirror.workers)
        title = f"Stop the source connector of the mirror {mirror} to read its offset map to the end"
        paused = book.add(pause, id=way.id("pause-mirror", mirror), title=title, after=after)
        end = RecordMirrorEnd(mirror=mirror, stopped=paused)
        title = f"Record the position of the mirror {mirror} and the end offsets of its topics"
        return Stand(
            mirror=mirror,
            stopped=paused,
            end=book.add(end, id=way.id("record-mirror-end", mirror), title=title),
        )

    def close(self, book: Runbook, way: Way, stand: Stand, after: Sequence[After]) -> Handle[Nothing] | None:
        """The last pair of the way back: MirrorMaker has written none for what lies behind its last one."""
        if not stand.mirror.is_back:
            return None
        close = CloseReverseMap(mirror=stand.mirror, end=stand.end)
        return book.add(close, id=way.id("close-reverse-map", stand.mirror), after=after)

    def why_not_shortened(self) -> str:
        """It can."""
        return ""

    def halt(
        self, book: Runbook, topology: Topology, mirror: MirrorRef, after: Sequence[After]
    ) -> Handle[Nothing]:
        """See `MirrorEngine`."""
        stop = StopConnectors(connectors=(names_of(topology, mirror).source,), workers=mirror.workers)
        title = f"Stop the source connector of the mirror {mirror} until it is known where its logs end"
        return book.add(stop, id=f"stop-mirror-{mirror.target}", title=title, after=after)

    def set_behind(  # noqa: PLR0917 - what a mirror goes on from
        self,
        book: Runbook,
        topology: Topology,
        mirror: MirrorRef,
        chosen: Handle[LeadersChosen] | None,
        recorded: Rows,
        earlier: Cuts,
        after: Sequence[After],
    ) -> Handle[Nothing]:
        """See `MirrorEngine`."""
        fit = SetBehindElection(mirror=mirror, chosen=chosen, recorded=recorded, earlier=earlier)
        return book.add(fit, id=f"set-mirror-behind-election-{mirror.target}", after=after)

    def go_on_halted(
        self, book: Runbook, topology: Topology, mirror: MirrorRef, after: Sequence[After]
    ) -> Handle[Nothing]:
        """See `MirrorEngine`."""
        resume = ResumeConnectors(connectors=(names_of(topology, mirror).source,), workers=mirror.workers)
        title = f"Resume the mirror {mirror}, which stood while leaders were elected"
        return book.add(
            resume, id=f"mirror-goes-on-{mirror.target}", title=title, phase="leaders", after=after
        )

    def go_on(self, book: Runbook, way: Way, mirror: MirrorRef, after: Sequence[After]) -> Handle[Nothing]:
        """See `MirrorEngine`."""
        go_on = ResumeConnectors(connectors=tuple(_names(way, mirror)), workers=mirror.workers)
        title = f"Resume the mirror {mirror} and its group sync"
        return book.add(
            go_on, id=way.id("mirror-goes-on", mirror), title=title, phase="redirect", after=after
        )


def _names(way: Way, mirror: MirrorRef) -> ConnectorNames:
    return names_of(way.topology, mirror)


ENGINE = MirrorMaker2()
