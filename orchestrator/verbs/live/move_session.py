"""One move's connections and knowledge: what `moves.ports` are to its effects."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from orchestrator.adapters.checkpoint_copy import copy_of
from orchestrator.adapters.checkpoint_files import local_checkpoint, numbered
from orchestrator.applications.by_content import with_sampled_places
from orchestrator.applications.spark.live.relocation import checkpoint_positions, copy_folder, is_relocated_by
from orchestrator.applications.spark.ports import CheckpointFolders, CopiedCheckpoint, QueryCheckpoints
from orchestrator.errors import ConnectError, DcctlError
from orchestrator.guards.live.guard_reading import guards_path, guards_said
from orchestrator.mirrors.connect import Workers
from orchestrator.moves.participants import MirrorEngine, Participants
from orchestrator.moves.ports import (
    BootGuards,
    FinalMap,
    Hosts,
    Maps,
    PartialClusters,
    PartialLook,
    Seen,
)
from orchestrator.moves.results import MirrorEnd, RelocatedQuery
from orchestrator.moves.way import Way
from orchestrator.ports.part import Part
from orchestrator.ports.servers import Access, Connect
from orchestrator.replication.by_content import SearchBudget
from orchestrator.replication.engine import Asked
from orchestrator.replication.mirror_ref import MirrorRef
from orchestrator.replication.offset_map import OffsetMap, Translated
from orchestrator.replication.source_gaps import SourceGaps
from orchestrator.replication.truncations import Truncations
from orchestrator.runs.estate_record import JournalUnread, LogsTruncated, journals_unread
from orchestrator.runs.guards import GuardSaid
from orchestrator.runs.live.estate_facts import read_facts
from orchestrator.runs.live.run import Run
from orchestrator.runs.live.run_session import RunSession
from orchestrator.snapshot.clients import ClientHost
from orchestrator.snapshot.known_gaps import sampled_gaps
from orchestrator.snapshot.live.asking import boot_guard_statuses, probe_source
from orchestrator.snapshot.live.gaps_now import gaps_now
from orchestrator.snapshot.live.partial_view import ANSWER_TIMEOUT_S, PartialReader
from orchestrator.snapshot.live.reader import samples_for
from orchestrator.snapshot.observation import SourceProbe
from orchestrator.snapshot.rejoining import Past, log_truncations
from orchestrator.snapshot.samples import SampleHistory
from orchestrator.snapshot.snapshot import Snapshot
from orchestrator.topology.model import Topology
from orchestrator.topology.spark import SparkQuery, queries_of
from orchestrator.values import LogEnd, TopicPartition
from orchestrator.verbs.live.client_hosts import ClientsOnHosts
from orchestrator.verbs.live.coordination_state import no_ensemble
from orchestrator.verbs.live.maps_along import map_along
from orchestrator.verbs.live.move_estate import Estate
from orchestrator.verbs.registration import PARTICIPANTS

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatWasSeen:
    """See `moves.ports.Seen`."""

    snapshot: Snapshot
    way: Way
    session: RunSession

    @property
    def at_s(self) -> float:
        return self.snapshot.at_s

    def samples(self, mirror: MirrorRef) -> SampleHistory:
        return _had(self.snapshot.mirror(mirror).samples)

    def samples_at_s(self, mirror: MirrorRef) -> float:
        return self.snapshot.mirror(mirror).samples.at_s

    def samples_now(self, mirror: MirrorRef) -> SampleHistory:
        return samples_for(self.session.topology, mirror, self.session.cluster(mirror.target))

    def lost_at_s(self, mirror: MirrorRef) -> float:
        window = self.samples(mirror).loss_window()
        return window.first_failed_at_s if window else self.at_s

    def watched(self, cluster: str) -> SampleHistory:
        feed = next((mirror for mirror in self.way.feeds if mirror.source == cluster), None)
        return _had(self.snapshot.cluster(cluster).samples) if feed is None else self.samples(feed)

    def left_at_s(self, cluster: str) -> float:
        window = self.watched(cluster).loss_window()
        return window.first_failed_at_s if window else self.at_s

    def has_stood_still(self, ends: Mapping[TopicPartition, int]) -> bool:
        entered = self.snapshot.cluster(self.way.entered.cluster)
        logs = entered.log_ends.value or {}
        return entered.stands_still(ends) and all(logs[tp].end_offset == end for tp, end in ends.items())

    def hosts(self) -> tuple[ClientHost, ...] | None:
        return self.snapshot.inventory.value

    def past(self) -> Past:
        return _had(self.snapshot.past)


def _had(part: Part[T]) -> T:
    if part.value is None:
        raise DcctlError(part.source, part.problem)
    return part.value


class MoveSession(RunSession):
    """One move's connections and knowledge. `them`: who takes part, and may bring ports of their own."""

    def __init__(
        self,
        topology: Topology,
        run: Run[Estate],
        seen: Snapshot,
        way: Way,
        *,
        them: Participants = PARTICIPANTS,
    ) -> None:
        super().__init__(
            topology,
            run.folder,
            run_id=run.run_id,
            estate_record=run.estate_record,
            holds_lock=run.holds_lock,
            records=run.events,
            servers=run.estate.servers,
        )
        self._clusters[run.estate.target.name] = run.estate.target
        self._coordination = run.estate.coordination
        self._coordination_problem = run.estate.coordination_problem
        self._way, self._seen = way, WhatWasSeen(snapshot=seen, way=way, session=self)
        self._them, self._own_ports = them, them.ports(self)
        self._connects: dict[str, Connect] = {}
        self._map_guard = threading.Lock()
        self._final: dict[MirrorRef, FinalMap] = {}
        self._estate = run.estate

    def _ports(self) -> dict[type[Any], Any]:
        own = (Workers, Maps, QueryCheckpoints, PartialClusters, BootGuards)
        return {
            **self._own_ports,
            **super()._ports(),
            **dict.fromkeys(own, self),
            Hosts: ClientsOnHosts(self, self._seen.hosts()),
            Participants: self._them,
            Seen: self._seen,
        }

    def connect(self, cluster: str) -> Connect:
        """See `mirrors.connect.Workers`."""
        with self._guard:
            if cluster not in self._connects:
                self._connects[cluster] = self.servers.connect(self.topology, cluster)
            return self._connects[cluster]

    def final(self, mirror: MirrorRef, end: MirrorEnd) -> FinalMap:
        """See `moves.ports.Maps`."""
        with self._map_guard:
            if mirror not in self._final:
                self._final[mirror] = self._read_final(mirror, end)
            return self._final[mirror]

    def _read_final(self, mirror: MirrorRef, end: MirrorEnd) -> FinalMap:
        history = None if mirror.is_back else self._seen.snapshot.mirror(mirror).samples.value
        if history is None and not mirror.is_back and mirror in self._way.drains:
            # A map is closed only beside what the watcher has recorded of topics made anew: says why not.
            history = self._seen.samples(mirror)
        replication, target = mirror.of(self.topology), self.cluster(mirror.target)
        gaps = self.gaps_now(mirror) if mirror.is_back else sampled_gaps(self.topology, replication, history)
        logs = {tp: log._replace(end_offset=end.ends[tp]) for tp, log in target.log_ends(end.ends).items()}
        found = self._engine(mirror).offset_map(
            self._asked(),
            replication,
            recreated={} if history is None else history.recreated,
            gaps=gaps,
            stopped_at=end.mirror_offsets,
            logs=logs,
        )
        if history is not None:
            found = with_sampled_places(
                target,
                replication,
                found,
                history,
                logs,
                first=self._estate.groups,
                budget=self.search,
            )
        return FinalMap(found, logs)

    def passed(self, mirror: MirrorRef, end: MirrorEnd) -> FinalMap:
        """See `moves.ports.Maps`."""
        replication, history = mirror.of(self.topology), self._seen.samples(mirror)
        logs, read = self._copies(mirror), end.mirror_offsets
        closed = {tp: logs[tp]._replace(end_offset=at) for tp, at in end.ends.items()}
        gaps, anew = sampled_gaps(self.topology, replication, history), history.recreated
        engine, asked = self._engine(mirror), self._asked()
        found = engine.offset_map(asked, replication, recreated=anew, gaps=gaps, stopped_at=read, logs=closed)
        return FinalMap(found, logs)

    def current(self, mirror: MirrorRef) -> FinalMap:
        """See `moves.ports.Maps`. Copies that are there stand before the logs' ends, which are read last."""
        found = map_along(self.servers, self.topology, self._way, mirror, self._engine(mirror), self._asked())
        if self._way.reach == "gone" and mirror.target == self._way.left.cluster:
            return FinalMap(found, {})
        return FinalMap(found, self._copies(mirror))

    def _copies(self, mirror: MirrorRef) -> dict[TopicPartition, LogEnd]:
        replication, target = mirror.of(self.topology), self.cluster(mirror.target)
        copies = target.topics(map(replication.mirrored_topic, replication.topics))
        return target.log_ends(tp for topic in copies.values() for tp in topic.partitions)

    def kept(self, mirror: MirrorRef) -> OffsetMap | None:
        """See `moves.ports.Maps`."""
        replication, engine, asked = mirror.of(self.topology), self._engine(mirror), self._asked()
        if not engine.has_map(asked, replication):
            return None
        return engine.offset_map(asked, replication, recreated={}, gaps=self.gaps_now(mirror))

    def _engine(self, mirror: MirrorRef) -> MirrorEngine:
        return self._them.engine(self.topology, mirror)

    def _asked(self) -> Asked:
        return Asked(self.cluster, self.connect)

    def truncations(self, mirror: MirrorRef) -> Truncations:
        """See `moves.ports.Maps`. Of what a standby was written nothing is ever taken back."""
        if mirror.is_back:
            return {}
        if self._coordination is None:
            raise no_ensemble(self.topology, self._coordination_problem)
        facts = read_facts(self._coordination, self.topology.name, (LogsTruncated, JournalUnread))
        unread = journals_unread(facts, mirror.source, mirror.target)
        if unread:
            raise DcctlError(
                f"journal of run {unread[0].run_id}", "could not be read, so the estate record is incomplete"
            )
        return log_truncations(facts, mirror.source, mirror.target)

    def isolation_level(self, mirror: MirrorRef) -> str:
        """See `moves.ports.Maps`."""
        engine = self._engine(mirror)
        try:
            return engine.isolation_level(self._asked(), mirror.of(self.topology))
        except ConnectError:
            return "read_committed"

    def copies_all(self, mirror: MirrorRef) -> bool:
        """See `moves.ports.Maps`."""
        return self._engine(mirror).copies_all(self._asked(), mirror.of(self.topology))

    @property
    def search(self) -> SearchBudget:
        """See `moves.ports.Maps`."""
        return self._estate.search

    def gaps_now(self, mirror: MirrorRef) -> dict[TopicPartition, SourceGaps]:
        """See `moves.ports.Maps`."""
        return gaps_now(self.servers, self.topology, mirror.of(self.topology))

    def bring_over(
        self, query: str, to: str, *, is_apart: bool, is_stopped: bool, timeout_s: float
    ) -> CopiedCheckpoint:
        """See `applications.spark.ports.QueryCheckpoints`."""
        bound = self._bound_for(query, to)
        original = local_checkpoint(f"consumer {query}", bound.checkpoint or "")
        copy, stopped_by = copy_of(_folder(bound)), self.run_id if is_stopped else ""
        folders = self.servers.of_kind(CheckpointFolders)
        found = (
            folders.copy_apart(original, copy, self.await_true, stopped_by=stopped_by, timeout_s=timeout_s)
            if is_apart
            else folders.copy(
                original,
                copy,
                lambda is_whole: self.await_true(is_whole, timeout_s),
                stopped_by=stopped_by,
            )
        )
        return CopiedCheckpoint(found.outcome == "ok", found.message)

    def copied_positions(self, query: str, to: str) -> dict[TopicPartition, int]:
        """See `applications.spark.ports.QueryCheckpoints`."""
        return checkpoint_positions(copy_folder(self._bound_for(query, to)))

    def relocate(
        self,
        query: str,
        to: str,
        translate: Callable[[TopicPartition, int], Translated],
        named: Callable[[str], str],
        starts: Mapping[TopicPartition, int],
    ) -> RelocatedQuery:
        """See `applications.spark.ports.QueryCheckpoints`."""
        bound = self._bound_for(query, to)
        report = self.servers.of_kind(CheckpointFolders).relocate(
            copy_folder(bound),
            _folder(bound),
            translate,
            named,
            starts,
            query=query,
            sink=bound.sink,
            run_id=self.run_id,
        )
        return RelocatedQuery(query=query, from_batch=report.from_batch, report=dict(report.data))

    def undo_relocation(self, query: str, to: str) -> str:
        """See `applications.spark.ports.QueryCheckpoints`."""
        destination = _folder(self._bound_for(query, to))
        if not is_relocated_by(destination, self.run_id):
            return "no checkpoint was relocated"
        taken = self.servers.of_kind(CheckpointFolders).undo(destination)
        return (
            f"the relocated checkpoint was moved to {taken}"
            if taken is not None
            else "the relocated checkpoint had not been put in place"
        )

    def newest_batch(self, query: str, to: str) -> int | None:
        """See `applications.spark.ports.QueryCheckpoints`."""
        found = numbered(_folder(self._bound_for(query, to)) / "commits")
        return found[-1] if found else None

    def _bound_for(self, name: str, to: str) -> SparkQuery:
        """The query with `checkpoint` where it is left, and `standby_checkpoint` where it goes to."""
        (query,) = (query for _, query in queries_of(self.topology) if query.name == name)
        return query if to != query.cluster else query.moved_to(to)

    def left(self, cluster: str, timeout_s: float | None = None) -> PartialLook:
        """See `moves.ports.LeftClusters`."""
        return PartialReader(self.servers, self.topology, cluster, timeout_s or ANSWER_TIMEOUT_S)

    def access_by(self, cluster: str, addresses: Iterable[str], timeout_s: float) -> Access:
        """See `moves.ports.LeftClusters`."""
        return self.servers.access(self.topology, cluster, addresses=addresses, timeout_s=timeout_s)

    def said(self, cluster: str) -> tuple[GuardSaid, ...] | None:
        """See `moves.ports.BootGuards`."""
        if self._coordination is None:
            return None
        return guards_said(self._coordination, self.topology.name, cluster)

    def why_not(self) -> str:
        """See `moves.ports.BootGuards`."""
        return self._coordination_problem

    def path(self, cluster: str) -> str:
        """See `moves.ports.BootGuards`."""
        return guards_path(self.topology.name, cluster)

    def look_at(self, cluster: str) -> tuple[SourceProbe, str]:
        """See `moves.ports.BootGuards`."""
        probe, closed = probe_source(self.servers, self.topology, cluster), ""
        if probe.listening and self._coordination is not None:
            _, closed = boot_guard_statuses(self.servers, self._coordination, self.topology, cluster)
        return probe, closed


def _folder(bound: SparkQuery) -> Path:
    subject = f"consumer {bound.name}"
    if bound.standby_checkpoint is None:
        raise DcctlError(subject, "has no standby_checkpoint", "name it in the topology file")
    return local_checkpoint(subject, bound.standby_checkpoint)
