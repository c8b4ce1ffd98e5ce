"""Producers: their topics have another primary, and they write there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from orchestrator.applications.on_hosts import HOST_EFFECTS, OnHosts
from orchestrator.applications.producers.confirmations import AwaitConfirmations
from orchestrator.applications.producers.record_writers import first_records_wanted, landing_writers
from orchestrator.moves.ends import RecordTopicEnds
from orchestrator.moves.participants import Ground, Left
from orchestrator.moves.results import RecordedPositions
from orchestrator.moves.way import Way
from orchestrator.runs.effect import Effect, Handle, Nothing
from orchestrator.runs.runbook import After, Runbook
from orchestrator.snapshot.clients import producer_client
from orchestrator.topology.model import Topology


class Producers(OnHosts):
    """See `moves.participants.Kind`. Those that move themselves are neither stopped nor started, but seen."""

    NAME, STEP, TITLE = "producer", "producers", "producers"
    writes = True
    effects: Sequence[type[Effect[Any]]] = (*HOST_EFFECTS, AwaitConfirmations, RecordTopicEnds)

    def at(self, topology: Topology, cluster: str) -> tuple[str, ...]:
        """See `Kind`."""
        return tuple(producer.name for producer in topology.producers_of(cluster))

    def programs(self, topology: Topology, names: Iterable[str]) -> tuple[str, ...]:
        """See `Kind`."""
        wanted = set(names)
        known = (p for p in topology.producers if p.name in wanted and p.moved_by == "dcctl")
        return tuple(producer_client(producer.name) for producer in known)

    def record(
        self,
        book: Runbook,
        way: Way,
        left: Left,
        after: Sequence[After],
    ) -> Handle[RecordedPositions] | None:
        """See `Kind`."""
        return None

    def place(
        self,
        book: Runbook,
        way: Way,
        ground: Ground,
        left: Left,
    ) -> tuple[Handle[Any], ...]:
        """See `Kind`. Where no topic moves they write on in the same logs: their next records count."""
        if not way.named(self.NAME) or ground.landing is not None:
            return ()
        ends = RecordTopicEnds(cluster=way.entered.cluster, topics=self._topics(way))
        title = f"Record the end offsets at {way.entered} of the topics that producers write to"
        return (book.add(ends, id=way.id("record-ends"), title=title, after=ground.arrived),)

    def see(  # noqa: PLR0917
        self,
        book: Runbook,
        way: Way,
        ready: Sequence[Handle[Any]],
        started: Handle[Nothing] | None,
        ground: Ground,
        after: Sequence[After],
    ) -> Handle[Any] | None:
        """See `Kind`. One that moves itself may have written before: its next record counts."""
        names = way.named(self.NAME)
        landing = ground.landing if ground.landing is not None else next(iter(ready), None)
        if not names or landing is None:
            return None
        topics = way.topics or self._topics(way)
        left, entered = way.left.cluster, way.entered.cluster
        look = AwaitConfirmations(
            left=left,
            entered=entered,
            topics=topics,
            producers=names,
            landing=landing,
            lost=way.drains[0] if way.drains and way.written_early else None,
            started=started,
        )
        writers = landing_writers(way.topology, left, entered, topics)
        title = first_records_wanted(writers, names)
        return book.add(look, id=way.id("producers-write"), title=title, after=after)

    def _topics(self, way: Way) -> tuple[str, ...]:
        """Those that the producers of a way write."""
        names = way.named(self.NAME)
        theirs = (p.topics for p in way.topology.producers if p.name in names)
        return tuple(dict.fromkeys(topic for topics in theirs for topic in topics))
