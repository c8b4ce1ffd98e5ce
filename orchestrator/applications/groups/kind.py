"""Consumer groups: their positions are offsets that Kafka keeps for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from orchestrator.applications.groups.along import TranslateAlong
from orchestrator.applications.groups.foretold import groups_foretold
from orchestrator.applications.groups.gates import (
    groups_idle,
    groups_reread,
    map_complete,
    positions,
    positions_fresh,
    positions_known,
)
from orchestrator.applications.groups.groups import (
    AwaitGroupProgress,
    AwaitGroupsCaughtUp,
    AwaitRead,
    RecordPositions,
    SaveOffsets,
    TakeSampledPositions,
)
from orchestrator.applications.groups.partial_positions import RecordPartialPositions
from orchestrator.applications.groups.pausing import PauseMembers, ResumeMembers, SeeMembers
from orchestrator.applications.groups.sharing import (
    Kept,
    groups_apart,
    kept_at,
    pauses_foretold,
    write_beside,
)
from orchestrator.applications.groups.writing import WriteBack, WriteOffsets
from orchestrator.applications.on_hosts import HOST_EFFECTS, ReadersOnHosts
from orchestrator.applications.translating import TranslateBack, TranslatePositions
from orchestrator.errors import DcctlError
from orchestrator.moves.ends import RecordTopicEnds
from orchestrator.moves.foretold import Foretold
from orchestrator.moves.participants import Ground, Left, Reread, Stand
from orchestrator.moves.results import (
    PAUSES,
    SAVED,
    TRANSLATIONS,
    WRITTEN,
    Pause,
    RecordedPositions,
    SavedOffsets,
    Stopped,
    WrittenOffsets,
)
from orchestrator.moves.routes import in_words, landed_at_left, moving_consumers, read_along
from orchestrator.moves.situation import Situation
from orchestrator.moves.way import Way
from orchestrator.replication.engine import engine_of
from orchestrator.replication.mirror_ref import MirrorRef
from orchestrator.runs.effect import Effect, Handle, Nothing
from orchestrator.runs.plan import GateResult
from orchestrator.runs.runbook import After, Runbook, behind

_PASSED_WITHIN_S = 60.0
_SETTLED_S = 2.0
"""Behind two flushes of a mirror's offsets its newest pair is written, if it is at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """Groups of a way that are placed alike. `feed`: by the map of that mirror, which has drained;
    `is_along`: by others; neither: they stay where they stand. `mark` is in the ids of their steps.
    """

    groups: tuple[str, ...]
    feed: MirrorRef | None = None
    is_along: bool = False
    mark: str = ""

    def of(self, kept: Kept) -> Kept:
        """What is kept of these groups."""
        return {name: topics for name, topics in kept.items() if name in self.groups}


class ConsumerGroups(ReadersOnHosts):
    """See `moves.participants.Kind`."""

    NAME, STEP, TITLE = "group", "consumers", "consumers"
    effects: Sequence[type[Effect[Any]]] = (
        *HOST_EFFECTS,
        AwaitGroupsCaughtUp,
        AwaitGroupProgress,
        AwaitRead,
        PauseMembers,
        RecordPartialPositions,
        RecordPositions,
        ResumeMembers,
        SaveOffsets,
        SeeMembers,
        TakeSampledPositions,
        TranslateAlong,
        TranslateBack,
        TranslatePositions,
        WriteBack,
        WriteOffsets,
    )

    def gates(self, s: Situation) -> tuple[GateResult, ...]:
        """See `Kind`. On the way back they are judged once the place entered has rejoined."""
        shared = groups_apart(s)
        if s.case == "back":
            return (positions_known(s), *shared)
        if s.case == "planned":
            is_home = s.entered == s.way.home  # who came up there by itself is stopped first
            return (positions_known(s), *shared) if is_home else (positions_known(s), groups_idle(s), *shared)
        return (positions_fresh(s), map_complete(s), groups_idle(s), *shared)

    def reread(self, s: Situation) -> Reread:
        """See `Kind`."""
        return groups_reread(s)

    def foretold(self, s: Situation) -> Mapping[str, Foretold]:
        """See `Kind`."""
        return groups_foretold(s)

    def facts(self, s: Situation) -> Mapping[str, Any]:
        """See `Kind`."""
        pauses = pauses_foretold(s)
        if s.way.reach == "whole":
            return pauses
        return {"translations": [position.as_json() for position in s.once(positions)], **pauses}

    def catch_up(self, book: Runbook, way: Way, timeout_s: float) -> Handle[Nothing] | None:
        """See `Kind`."""
        groups = self._finishing(way)
        if not groups:
            return None
        near = AwaitGroupsCaughtUp(cluster=way.left.cluster, groups=groups, limit_s=timeout_s)
        return book.add(near, id=way.id("landing-caught-up"))

    def stop(self, book: Runbook, way: Way, after: Sequence[After]) -> Handle[Stopped] | None:
        """See `Kind`."""
        groups = self._finishing(way)
        if groups:
            topics = tuple(dict.fromkeys(topic for names in groups.values() for topic in names))
            ends = RecordTopicEnds(cluster=way.left.cluster, topics=topics)
            title = f"Record the end offsets at {way.left} of the topics that producers have left"
            recorded = book.add(ends, id=way.id("fenced-ends"), title=title, after=after)
            read = AwaitRead(cluster=way.left.cluster, groups=groups, ends=recorded)
            done = book.add(read, id=way.id("landing-read"))
            after = [*after, behind(done, because="at home they do not see what they have left unread here")]
        return super().stop(book, way, after)

    def record(
        self, book: Runbook, way: Way, left: Left, after: Sequence[After]
    ) -> Handle[RecordedPositions] | None:
        """See `Kind`. Of a place that is gone there is what the watcher has seen."""
        groups = tuple(name for name in way.named(self.NAME) if not way.stays(name))
        if not groups or way.reach == "gone":
            return None
        legs = (leg.mirror for name in groups for route in way.routes(name) for leg in route)
        watched = next((mirror for mirror in legs if mirror.source == way.left.cluster), None)
        if way.reach == "partial" and watched is not None:
            max_age_s = way.topology.failover.max_position_age_s
            found = RecordPartialPositions(mirror=watched, groups=groups, max_age_s=max_age_s)
            return book.add(found, id=way.id("record-positions"), after=after)
        if left.stopped is not None:
            last = "a position is final once its group has committed for the last time"
            after = [behind(left.stopped, because=last)]
        kept = kept_at(way, way.left.cluster)
        recorded = RecordPositions(cluster=way.left.cluster, groups=groups, kept=kept)
        return book.add(recorded, id=way.id("record-positions"), after=after)

    def place(self, book: Runbook, way: Way, ground: Ground, left: Left) -> tuple[Handle[Any], ...]:
        """See `Kind`. In the same log what they have committed stands."""
        ready: list[Handle[Any]] = []
        resumed: list[Handle[Pause]] = []
        for part in self._parts(way):
            if part.feed is not None:
                ready += self._place_fed(book, way, ground, left, part, resumed)
            elif part.is_along:
                ready.append(self._place_along(book, way, ground, left, part, resumed))
        if resumed:
            book.tell(PAUSES, *resumed)
        return tuple(ready)

    def see(  # noqa: PLR0917
        self,
        book: Runbook,
        way: Way,
        ready: Sequence[Handle[Any]],
        started: Handle[Nothing] | None,
        ground: Ground,
        after: Sequence[After],
    ) -> Handle[Any] | None:
        """See `Kind`."""
        if started is None:
            return None
        looks = []
        kept = kept_at(way, way.entered.cluster)
        for part, written in zip_longest(self._parts(way), ready):
            look = AwaitGroupProgress(
                cluster=way.entered.cluster,
                groups=part.groups,
                started=started,
                written=written,
                kept=part.of(kept),
            )
            looks.append(book.add(look, id=way.id(f"consumers-progress{part.mark}")))
        return looks[0]

    def _finishing(self, way: Way) -> dict[str, tuple[str, ...]]:
        """Groups that have to finish topics at the place left before they go home, with these topics."""
        if not way.is_shared:
            return {}
        groups = (c for c in moving_consumers(way) if c.kind == self.NAME)
        kept = kept_at(way, way.left.cluster)  # who stays reads these to their ends, in the same group
        landed = {
            c.name: tuple(topic for topic in landed_at_left(way, c) if topic not in kept.get(c.name, ()))
            for c in groups
        }
        return {name: topics for name, topics in landed.items() if topics}

    def _parts(self, way: Way) -> list[_Part]:
        """The groups of a way by how they are placed: those that are written first, in order."""
        feeds: dict[MirrorRef, list[str]] = {}
        along, staying = [], []
        for name in way.named(self.NAME):
            feed = way.feed(name)
            if feed is not None:
                feeds.setdefault(feed, []).append(name)
            elif way.stays(name):
                staying.append(name)
            else:
                along.append(name)
        parts = [
            _Part(groups=tuple(names), feed=feed, mark=f"-{feed.source}" if number else "")
            for number, (feed, names) in enumerate(feeds.items())
        ]
        parts += [_Part(groups=tuple(along), is_along=True, mark="-along")] if along else []
        return [*parts, *([_Part(groups=tuple(staying), mark="-stay" if parts else "")] if staying else [])]

    def _place_fed(  # noqa: PLR0917 - where they are placed, and what they go on from
        self, book: Runbook, way: Way, ground: Ground, left: Left, part: _Part, resumed: list[Handle[Pause]]
    ) -> tuple[Handle[Any], ...]:
        """Through the map of a mirror that stands, at its end."""
        groups, landing = part.groups, ground.landing
        feed = next((stand for stand in ground.drained if stand.mirror == part.feed), None)
        if feed is None or landing is None:
            raise DcctlError(
                f"groups {', '.join(groups)}",
                f"read copies of the mirror {part.feed}, which copies no topic of this move",
            )
        last = behind(
            feed.stopped, because="the offsets that the mirror writes for groups change as long as it copies"
        )
        saved = self._save(book, way, part, last)
        if ground.rejoined is not None:
            return self._place_back(book, way, ground, left, saved, part, feed)
        translate = TranslatePositions(
            mirror=feed.mirror,
            groups=groups,
            end=feed.end,
            recorded=left.recorded,
            standing=ground.standing,
            accept_reread=ground.accepted.reread,
        )
        kept_as = engine_of(feed.mirror.of(way.topology)).kept_as
        title = f"Read {kept_as} to their end and translate each position to {way.entered}"
        step = way.id(f"translate-positions{part.mark}")
        translated = book.add(translate, id=step, title=title, after=ground.arrived)
        write = WriteOffsets(
            mirror=feed.mirror,
            groups=groups,
            kept=part.of(kept_at(way, way.entered.cluster)),
            saved=saved,
            translated=translated,
            landing=landing,
            end=feed.end,
            offset_shift=ground.accepted.offset_shift,
        )
        written = write_beside(book, way, part.groups, part.mark, write, [saved, translated], resumed)
        book.tell(TRANSLATIONS, translated)
        book.tell(WRITTEN, written)
        return (written,)

    def _place_along(  # noqa: PLR0917 - the same
        self, book: Runbook, way: Way, ground: Ground, left: Left, part: _Part, resumed: list[Handle[Pause]]
    ) -> Handle[WrittenOffsets]:
        """Through maps of mirrors that run, or that another way lets stand."""
        routes = {name: way.routes(name) for name in part.groups}
        for consumer in way.topology.consumers:
            if consumer.name in routes:  # refuses what nothing leads there
                read_along(
                    way.topology, consumer, routes[consumer.name], way.left.cluster, way.entered.cluster
                )
        recorded = left.recorded
        if way.reach == "gone":
            take = TakeSampledPositions(cluster=way.left.cluster, groups=part.groups)
            recorded = book.add(take, id=way.id(f"record-positions{part.mark}"))
        if recorded is None:
            ways = "; ".join(f"{name}: {in_words(route)}" for name in routes for route in routes[name])
            raise DcctlError(
                f"groups {', '.join(part.groups)}",
                f"their positions at {way.left} are recorded nowhere else, and cannot be translated ({ways})",
                f"for the next time: a mirror from {way.left} with a watcher keeps such positions",
            )
        legs = [leg for route in routes.values() for one in route for leg in one]
        mirrors = dict.fromkeys(leg.mirror for leg in legs)
        stands = [stand for stand in (*ground.drained, *ground.paused) if stand.mirror in mirrors]
        translate = TranslateAlong(
            left=way.left.cluster,
            entered=way.entered.cluster,
            routes=routes,
            recorded=recorded,
            is_left_gone=way.reach == "gone",
            kept=part.of(kept_at(way, way.left.cluster)),
            settle_s=(
                settle_s := _SETTLED_S + 2 * max(m.of(way.topology).offset_flush_interval_s for m in mirrors)
            ),
            # Connect's own word of how far a mirror has come is as old as a flush.
            limit_s=_PASSED_WITHIN_S + 2 * settle_s,
            ends=tuple((stand.mirror, stand.end) for stand in stands),
            passed=tuple((mirror, end) for mirror, end in ground.passed if mirror in mirrors),
            landing=ground.landing,
            accept_reread=ground.accepted.reread,
        )
        step = way.id(f"translate-positions{part.mark}")
        translated = book.add(translate, id=step, after=ground.arrived)
        moved = behind(translated, because="the group sync of a running mirror writes offsets until then")
        saved = self._save(book, way, part, moved)
        into = [leg.mirror for route in routes.values() for *_, leg in route if not leg.is_inverse]
        write = WriteBack(
            cluster=way.entered.cluster,
            groups=part.groups,
            kept=part.of(kept_at(way, way.entered.cluster)),
            saved=saved,
            translated=translated,
            synced_by=tuple(m for m in dict.fromkeys(into) if not m.is_back and m not in way.drains),
            stopped=tuple(m for m in dict.fromkeys(into) if m in way.drains),
        )
        written = write_beside(book, way, part.groups, part.mark, write, [saved], resumed)
        book.tell(TRANSLATIONS, translated)
        book.tell(WRITTEN, written)
        return written

    @staticmethod
    def _save(book: Runbook, way: Way, part: _Part, after: After) -> Handle[SavedOffsets]:
        """What MirrorMaker has written for the groups, to put it back."""
        kept = part.of(kept_at(way, way.entered.cluster))
        save = SaveOffsets(cluster=way.entered.cluster, groups=part.groups, kept=kept)
        saved = book.add(save, id=way.id(f"save-offsets{part.mark}"), after=[after])
        book.tell(SAVED, saved)
        return saved

    @staticmethod
    def _place_back(  # noqa: PLR0917 - what positions on the way back are made of
        book: Runbook,
        way: Way,
        ground: Ground,
        left: Left,
        saved: Handle[SavedOffsets],
        part: _Part,
        feed: Stand,
    ) -> tuple[Handle[Any], ...]:
        """Through the map of the way back, and against that of the file's mirror."""
        (paused,) = (stand for stand in ground.paused if stand.mirror == feed.mirror.other_way)
        groups = part.groups
        rejoined, landing, standing = ground.rejoined, ground.landing, ground.standing
        if rejoined is None or landing is None or standing is None or left.recorded is None:
            return ()
        if rejoined.starts is None:
            raise DcctlError(
                f"groups {', '.join(groups)}", f"no mirror back to {way.entered} was made for them"
            )
        translate = TranslateBack(
            mirror=paused.mirror,
            groups=groups,
            recorded=left.recorded,
            standing=standing,
            end=feed.end,
            forward_end=paused.end,
            home_ends=landing,
            rejoining=rejoined.rejoining,
            starts=rejoined.starts,
            accept_reread=ground.accepted.reread or 0,
        )
        step = way.id(f"translate-positions{part.mark}")
        translated = book.add(translate, id=step, after=ground.arrived)
        write = WriteBack(cluster=way.entered.cluster, groups=groups, saved=saved, translated=translated)
        written = book.add(write, id=way.id(f"write-offsets{part.mark}"))
        book.tell(TRANSLATIONS, translated)
        book.tell(WRITTEN, written)
        return (written,)
