"""Spark queries: their positions are in their checkpoints, which move with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from orchestrator.applications.on_hosts import HOST_EFFECTS, ReadersOnHosts
from orchestrator.applications.spark.gates import (
    checkpoints_copied,
    queries_back,
    queries_foretold,
    queries_ready,
    queries_reread,
)
from orchestrator.applications.spark.ports import CheckpointLooks
from orchestrator.applications.spark.queries import (
    AwaitQueryProgress,
    CopyCheckpoint,
    CopyPartialCheckpoint,
    NoteBatch,
    RelocateBack,
    RelocateQuery,
)
from orchestrator.errors import DcctlError
from orchestrator.moves.foretold import Foretold
from orchestrator.moves.participants import Ground, Left, Reread, Stand
from orchestrator.moves.ports import Looks
from orchestrator.moves.results import QUERIES, RecordedPositions, RelocatedQuery, TopicEnds
from orchestrator.moves.routes import in_words
from orchestrator.moves.situation import Situation
from orchestrator.moves.way import Way
from orchestrator.runs.effect import Effect, Handle, Nothing
from orchestrator.runs.plan import GateResult
from orchestrator.runs.runbook import After, Runbook
from orchestrator.topology.spark import queries_of


class SparkQueries(ReadersOnHosts):
    """See `moves.participants.Kind`."""

    NAME, STEP, TITLE = "spark", "queries", "Spark queries"
    effects: Sequence[type[Effect[Any]]] = (
        *HOST_EFFECTS,
        AwaitQueryProgress,
        CopyCheckpoint,
        CopyPartialCheckpoint,
        NoteBatch,
        RelocateBack,
        RelocateQuery,
    )

    def look(self, looks: Looks, way: Way) -> Any:
        """See `Kind`. The copies at the place entered; on the way back their checkpoints where they work."""
        moving = set(way.named(self.NAME))
        return {
            query.name: looks.port(CheckpointLooks).checkpoint(query, at_standby=way.case == "back")
            for _, query in queries_of(way.topology)
            if query.name in moving
        }

    def gates(self, s: Situation) -> tuple[GateResult, ...]:
        """See `Kind`. Along routes that no mirror feeds alone no query goes."""
        if s.way.main is None:
            return ()
        if s.case == "back":
            return (queries_back(s),)
        return queries_ready(s) if s.case == "planned" else (checkpoints_copied(s),)

    def reread(self, s: Situation) -> Reread:
        """See `Kind`."""
        return {} if s.way.main is None else queries_reread(s)

    def foretold(self, s: Situation) -> Mapping[str, Foretold]:
        """See `Kind`."""
        return queries_foretold(s)

    def record(
        self,
        book: Runbook,
        way: Way,
        left: Left,
        after: Sequence[After],
    ) -> Handle[RecordedPositions] | None:
        """See `Kind`."""
        return None

    def place(self, book: Runbook, way: Way, ground: Ground, left: Left) -> tuple[Handle[Any], ...]:
        """See `Kind`. In the same cluster a query goes on with the checkpoint that it has.

        Raises `DcctlError` for a query whose positions other maps lead than that of a mirror that drains: its
        checkpoint would have to be relocated by maps that go on changing.
        """
        noted, relocated = [], []
        for query in way.named(self.NAME):
            if way.stays(query):
                note = NoteBatch(query=query, to=way.entered.cluster)
                noted.append(book.add(note, id=way.id(f"note-{query}"), after=ground.arrived))
                continue
            feed = next((stand for stand in ground.drained if stand.mirror == way.feed(query)), None)
            if feed is None:
                routes = "; ".join(map(in_words, way.routes(query)))
                raise DcctlError(
                    f"query {query}",
                    f"cannot go from {way.left} to {way.entered} by {routes}: a checkpoint is relocated only "
                    "by the map of a mirror that stands behind everything",
                    "move it with all topics of the mirror, which stands then, or start it there with a new "
                    "checkpoint",
                )
            if ground.landing is not None:
                relocated.append(self._relocate(book, way, ground, ground.landing, left, query, feed))
        if relocated:
            book.tell(QUERIES, *relocated)
        return (*noted, *relocated)

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
        if started is None or not ready:
            return None
        commits = AwaitQueryProgress(to=way.entered.cluster, queries=tuple(ready), started=started)
        return book.add(commits, id=way.id("queries-progress"))

    def _relocate(  # noqa: PLR0917 - what a checkpoint is made from
        self,
        book: Runbook,
        way: Way,
        ground: Ground,
        landing: Handle[TopicEnds],
        left: Left,
        query: str,
        feed: Stand,
    ) -> Handle[RelocatedQuery]:
        copied, back = self._copy(book, way, left, query, feed), ground.rejoined
        step = way.id(f"relocate-{query}")
        if back is not None and ground.standing is not None and copied is not None:
            if back.starts is None:
                raise DcctlError(f"query {query}", f"no mirror back to {way.entered} was made for it")
            (paused,) = (stand for stand in ground.paused if stand.mirror == feed.mirror.other_way)
            relocate_back = RelocateBack(
                query=query,
                mirror=paused.mirror,
                standing=ground.standing,
                end=feed.end,
                forward_end=paused.end,
                home_ends=landing,
                rejoining=back.rejoining,
                starts=back.starts,
                copied=copied,
            )
            return book.add(relocate_back, id=step, after=ground.arrived)
        relocate = RelocateQuery(
            query=query, mirror=feed.mirror, end=feed.end, landing=landing, copied=copied
        )
        return book.add(relocate, id=step, after=ground.arrived)

    @staticmethod
    def _copy(book: Runbook, way: Way, left: Left, query: str, feed: Stand) -> Handle[Nothing] | None:
        """The checkpoint has to be at the place entered whole, its last batch included, as far as that can
        be.
        """
        if left.stopped is None:
            return None
        step, to = way.id(f"copy-{query}"), way.entered.cluster
        if way.reach == "partial":
            max_age_s = way.topology.failover.max_position_age_s
            copy = CopyPartialCheckpoint(
                query=query, to=to, mirror=feed.mirror, stopped=left.stopped, max_age_s=max_age_s
            )
            return book.add(copy, id=step)
        return book.add(CopyCheckpoint(query=query, to=to, stopped=left.stopped), id=step)
