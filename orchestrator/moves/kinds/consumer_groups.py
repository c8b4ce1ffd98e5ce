"""Consumer groups: their positions are offsets that Kafka keeps for them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from orchestrator.moves.effect import Effect, Handle, Nothing
from orchestrator.moves.groups import AwaitGroupProgress, RecordPositions, SaveOffsets
from orchestrator.moves.kinds.on_hosts import HOST_EFFECTS, OnHosts
from orchestrator.moves.left_drain import RecordLeftPositions
from orchestrator.moves.participants import Ground, Left
from orchestrator.moves.results import RecordedPositions, SavedOffsets
from orchestrator.moves.runbook import After, Runbook, behind
from orchestrator.moves.translating import TranslateBack, TranslatePositions
from orchestrator.moves.way import Way
from orchestrator.moves.writing import WriteBack, WriteOffsets
from orchestrator.planning.clients import group_client
from orchestrator.topology.model import Topology


class ConsumerGroups(OnHosts):
    """See `moves.participants.Kind`."""

    NAME, STEP, TITLE = "group", "consumers", "consumers"
    writes = False
    effects: Sequence[type[Effect[Any]]] = (
        *HOST_EFFECTS,
        AwaitGroupProgress,
        RecordLeftPositions,
        RecordPositions,
        SaveOffsets,
        TranslateBack,
        TranslatePositions,
        WriteBack,
        WriteOffsets,
    )

    def at(self, topology: Topology, cluster: str) -> tuple[str, ...]:
        """See `Kind`."""
        return tuple(c.name for c in topology.consumers_of(cluster) if c.kind == "group")

    def programs(self, topology: Topology, names: Iterable[str]) -> tuple[str, ...]:
        """See `Kind`."""
        return tuple(map(group_client, names))

    def record(
        self, book: Runbook, way: Way, left: Left, after: Sequence[After]
    ) -> Handle[RecordedPositions] | None:
        """See `Kind`. Of a place that is gone there is what the watcher has seen."""
        groups = way.named(self.NAME)
        if not groups or not way.drains or way.reach == "gone":
            return None
        if way.reach == "partial":
            mirror, max_age_s = way.drains[0], way.topology.failover.max_position_age_s
            found = RecordLeftPositions(mirror=mirror, groups=groups, max_age_s=max_age_s)
            return book.add(found, id=way.id("record-positions"), after=after)
        if left.stopped is not None:
            last = "a position counts once its group has committed for the last time"
            after = [behind(left.stopped, because=last)]
        recorded = RecordPositions(cluster=way.left.cluster, groups=groups)
        return book.add(recorded, id=way.id("record-positions"), after=after)

    def place(self, book: Runbook, way: Way, ground: Ground, left: Left) -> tuple[Handle[Any], ...]:
        """See `Kind`. In the same cluster what they have committed stands."""
        groups = way.named(self.NAME)
        if not groups or not ground.drained or ground.landing is None:
            return ()
        (feed,) = ground.drained
        saved = self._save(book, way, groups, feed.stopped)
        if ground.rejoined is not None:
            return self._place_back(book, way, ground, left, saved)
        translate = TranslatePositions(
            mirror=feed.mirror,
            groups=groups,
            end=feed.end,
            recorded=left.recorded,
            standing=ground.standing,
            accept_reread=ground.accepted.reread,
        )
        translated = book.add(translate, id=way.id("translate-positions"), after=ground.arrived)
        write = WriteOffsets(
            mirror=feed.mirror,
            groups=groups,
            saved=saved,
            translated=translated,
            landing=ground.landing,
            end=feed.end,
            offset_shift=ground.accepted.offset_shift,
        )
        written = book.add(write, id=way.id("write-offsets"))
        book.tell("translations", translated)
        book.tell("written", written)
        return (written,)

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
        look = AwaitGroupProgress(
            cluster=way.entered.cluster,
            groups=way.named(self.NAME),
            started=started,
            written=ready[0] if ready else None,
        )
        return book.add(look, id=way.id("consumers-progress"))

    @staticmethod
    def _save(
        book: Runbook, way: Way, groups: tuple[str, ...], stopped: Handle[Nothing]
    ) -> Handle[SavedOffsets]:
        """What MirrorMaker has written for the groups, to put it back."""
        save = SaveOffsets(cluster=way.entered.cluster, groups=groups)
        last = behind(stopped, because="the mirror's own offsets move as long as it copies")
        saved = book.add(save, id=way.id("save-offsets"), after=[last])
        book.tell("saved", saved)
        return saved

    def _place_back(
        self, book: Runbook, way: Way, ground: Ground, left: Left, saved: Handle[SavedOffsets]
    ) -> tuple[Handle[Any], ...]:
        """Through the map of the way back, and against that of the file's mirror."""
        (feed,), (paused,), groups = ground.drained, ground.paused, way.named(self.NAME)
        rejoined, landing, standing = ground.rejoined, ground.landing, ground.standing
        if rejoined is None or landing is None or standing is None or left.recorded is None:
            return ()
        translate = TranslateBack(
            mirror=paused.mirror,
            groups=groups,
            recorded=left.recorded,
            standing=standing,
            end=feed.end,
            forward_end=paused.end,
            home_ends=landing,
            returned=rejoined.returned,
            starts=rejoined.starts,
            accept_reread=ground.accepted.reread or 0,
        )
        title = "Translate each position back, through both maps"
        translated = book.add(translate, id=way.id("translate-positions"), title=title, after=ground.arrived)
        write = WriteBack(cluster=way.entered.cluster, groups=groups, saved=saved, translated=translated)
        written = book.add(write, id=way.id("write-offsets"))
        book.tell("translations", translated)
        book.tell("written", written)
        return (written,)
