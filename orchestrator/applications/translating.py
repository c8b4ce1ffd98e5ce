"""Groups: where they have to stand at the other side, by what they had committed at this one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from pydantic.dataclasses import dataclass

from orchestrator.applications.brought_back import landing_offsets
from orchestrator.applications.by_content import with_places_read_now
from orchestrator.applications.by_counting import with_counted_places
from orchestrator.applications.by_time import offsets_by_time
from orchestrator.applications.consumers import consumers_named, groups_named
from orchestrator.moves.ports import FinalMap, Maps, Seen
from orchestrator.moves.positions import TargetPosition, target_positions
from orchestrator.moves.results import (
    MirrorEnd,
    MirrorStarts,
    RecordedPositions,
    RejoiningLogs,
    StandingLogs,
    TopicEnds,
    TranslatedPositions,
)
from orchestrator.ports.clock import Clock
from orchestrator.replication.mirror_ref import MirrorRef, source_partitions
from orchestrator.replication.offsets_json import offsets_to_json
from orchestrator.replication.positions_back import BackPosition, BothMaps, own_partitions, positions_back
from orchestrator.replication.translation import source_partition
from orchestrator.replication.truncations import truncations_from_json
from orchestrator.runs.effect import EFFECT_CONFIG, Done, Failed, Handle, Look, Outcome, Running
from orchestrator.runs.ports import Clusters
from orchestrator.runs.stored import stored_as
from orchestrator.snapshot.samples import SampledPosition, SampleHistory
from orchestrator.topology.model import Topology
from orchestrator.values import LogEnd, TopicPartition
from orchestrator.wording import plural

HOW_TO_PLACE = (
    "set on_untranslatable for the consumer: timestamp reads some "
    "records again, earliest reads the whole topic"
)
_NOBODY: Mapping[str, Mapping[TopicPartition, int]] = MappingProxyType({})
PLACED_LATER = "will be translated once nothing is written any more"


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class ThroughBothMaps:
    """The arguments of an effect that leads positions back through both maps.

    `mirror` is the file's, `forward_end` where it was paused, `end` where the way back has come to.
    `standing`: the logs of the landing topics at the standby. `home_ends`: where the primary's own topics
    end, `rejoining`: with the cuts of their logs. `starts`: from where on the way back has copied.
    """

    mirror: MirrorRef
    standing: Handle[StandingLogs]
    end: Handle[MirrorEnd]
    forward_end: Handle[MirrorEnd]
    home_ends: Handle[TopicEnds]
    rejoining: Handle[RejoiningLogs] = stored_as("returned", now="rejoining")
    starts: Handle[MirrorStarts]

    def both_maps(
        self, run: Running, positions: Mapping[str, Mapping[TopicPartition, int]] = _NOBODY
    ) -> BothMaps:
        """Both maps with their very last pairs: both mirrors stand. Raises `DcctlError`.

        `positions`, by group: of these the places are found by counting where the maps leave them open.
        """
        forward = run.port(Maps).final(self.mirror, run.of(self.forward_end))
        reverse = run.port(Maps).final(self.mirror.other_way, run.of(self.end))
        copies, own = self._by_source(run, positions)
        standing = run.of(self.standing)
        landing = {tp: LogEnd(standing.starts[tp], end) for tp, end in standing.ends.items()}
        ends, topology = run.of(self.home_ends).ends, run.port(Topology)
        moved = {tp.topic for tp in ends}
        # Who reads what has moved may read what has not, too: copies of that.
        others = [tp for tp in source_partitions(topology, self.mirror.of(topology)) if tp.topic not in moved]
        home = run.port(Clusters).cluster(self.mirror.source).log_ends([*ends, *others])
        return BothMaps(
            forward=with_counted_places(run, self.mirror, forward.offset_map, behind=copies),
            reverse=with_counted_places(run, self.mirror.other_way, reverse.offset_map, ahead=own),
            standby={**forward.logs, **landing},
            primary={**home, **reverse.logs},
            truncations=truncations_from_json(run.of(self.rejoining).truncations),
            reverse_starts=run.of(self.starts).starts,
        )

    def _by_source(
        self, run: Running, positions: Mapping[str, Mapping[TopicPartition, int]]
    ) -> tuple[dict[TopicPartition, set[int]], dict[TopicPartition, set[int]]]:
        """Where groups stand in copies, by the partition that is copied, and in landing topics."""
        mirror = self.mirror.of(run.port(Topology))
        copies: dict[TopicPartition, set[int]] = {}
        own: dict[TopicPartition, set[int]] = {}
        for tp, offset in (item for offsets in positions.values() for item in offsets.items()):
            source = source_partition(mirror, tp)
            if source is not None:
                copies.setdefault(source, set()).add(offset)
            elif tp.topic in mirror.topics:
                own.setdefault(tp, set()).add(offset)
        return copies, own


_LISTED = 5


class _Recorded(NamedTuple):
    """What groups had committed, and where the source's logs are; ages are judged at `lost_at_s`."""

    positions: Mapping[str, Mapping[TopicPartition, SampledPosition]]
    ends: Mapping[TopicPartition, LogEnd]
    lost_at_s: float


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class TranslatePositions(
    Look[TranslatedPositions],
    name="translate-positions",
    phase="translate",
    title="Translate each position to {mirror.target} by the final offset map",
    expected_s=0.5,
):
    """Each group's positions through the final map.

    They are those that were `recorded` at the source, or, without that, those that the watcher has sampled.
    `standing`: the source's logs, as far as they were seen to stand still. `accept_reread`: more records than
    so many are not read again (None: as many as it takes, which the gates have judged).
    """

    mirror: MirrorRef
    groups: tuple[str, ...]
    end: Handle[MirrorEnd]
    recorded: Handle[RecordedPositions] | None = None
    standing: Handle[StandingLogs] | None = None
    accept_reread: int | None = None

    def perform(self, run: Running) -> Outcome[TranslatedPositions]:
        """See `Effect`."""
        history = run.port(Seen).samples(self.mirror)
        recorded = self._recorded(run, history)
        rows = self._rows(run, history, recorded)
        consumers = consumers_named(run, self.groups)
        landing = landing_offsets(run, self.mirror, consumers, recorded.positions)
        return outcome_of_rows(rows, landing, "no translation for", self.accept_reread)

    def _recorded(self, run: Running, history: SampleHistory) -> _Recorded:
        if self.recorded is None:
            return _Recorded(
                positions={group: history.positions(group) for group in groups_named(run, self.groups)},
                ends=history.newest_ends(),
                lost_at_s=history.ages_at_s(run.port(Seen).at_s),
            )
        said, now_s = run.of(self.recorded), run.port(Clock).now_s()
        standing = StandingLogs({}, {}) if self.standing is None else run.of(self.standing)
        read = {tp: LogEnd(standing.starts[tp], end) for tp, end in standing.ends.items()}
        return _Recorded(
            positions={
                group: {tp: SampledPosition(at, said.at_s.get(group, now_s)) for tp, at in offsets.items()}
                for group, offsets in said.positions.items()
            },
            # Where a time is said of positions, only a part of the logs could be read.
            ends={**history.newest_ends(), **read} if said.at_s else read,
            lost_at_s=now_s,
        )

    def _rows(self, run: Running, history: SampleHistory, recorded: _Recorded) -> list[TargetPosition]:
        topology, target = run.port(Topology), run.port(Clusters).cluster(self.mirror.target)
        mirror, final = self.mirror.of(topology), run.port(Maps).final(self.mirror, run.of(self.end))
        if self.recorded is not None and not run.of(self.recorded).at_s:
            # The source answers, all of it: whatever is wanted of its records is there.
            source = run.port(Clusters).cluster(self.mirror.source)
            final = FinalMap(
                with_places_read_now(
                    source,
                    target,
                    mirror,
                    final,
                    recorded.positions,
                    history=history,
                    isolation_level=run.port(Maps).isolation_level(self.mirror),
                    budget=run.port(Maps).search,
                ),
                final.logs,
            )
        rows: list[TargetPosition] = []
        for consumer in consumers_named(run, self.groups):
            positions = recorded.positions[consumer.group_id]
            rows += target_positions(
                topology,
                mirror,
                consumer,
                recorded=positions,
                sampled_ends=recorded.ends,
                offset_map=final.offset_map,
                recreated=history.recreated,
                target_logs=final.logs,
                by_time=offsets_by_time(
                    target, mirror, consumer, positions, history=history, offset_map=final.offset_map
                ),
                lost_at_s=recorded.lost_at_s,
            )
        return rows


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class TranslateBack(
    ThroughBothMaps,
    Look[TranslatedPositions],
    name="translate-back",
    phase="translate",
    title="Translate each position back to {mirror.source} by the offset maps of both mirrors",
    expected_s=0.5,
):
    """Each group's committed offsets at the standby to places at the primary: exactly, or as accepted."""

    groups: tuple[str, ...]
    recorded: Handle[RecordedPositions]
    accept_reread: int

    def perform(self, run: Running) -> Outcome[TranslatedPositions]:
        """See `Effect`."""
        topology, recorded = run.port(Topology), run.of(self.recorded).positions
        mirror = self.mirror.of(topology)
        maps = self.both_maps(run, {group: recorded.get(group, {}) for group in self.groups})
        rows: list[BackPosition] = []
        for consumer in consumers_named(run, self.groups):
            own = own_partitions(topology, mirror, consumer)
            rows += positions_back(mirror, consumer, own, recorded.get(consumer.group_id, {}), maps)
        return outcome_of_rows(rows, {}, "no translation for", self.accept_reread)


def outcome_of_rows(
    rows: Sequence[TargetPosition] | Sequence[BackPosition],
    landing: Mapping[str, Mapping[TopicPartition, int]],
    none_for: str,
    accept_reread: int | None,
) -> Outcome[TranslatedPositions]:
    """What came of it; a failure's detail has the rows as well. `none_for` begins what has no place."""
    translations = [row.as_json() for row in rows]
    detail: dict[str, Any] = {
        "translations": translations,
        "landing": {group: offsets_to_json(offsets) for group, offsets in landing.items()},
    }
    without = [row for row in rows if row.target_offset is None]
    if without:
        return Failed(f"{none_for} {_listed(without)}", detail)
    inexact = [row for row in rows if not row.exact]
    costs = [row.reread_at_most for row in inexact]
    cost = None if None in costs else sum(filter(None, costs))
    if accept_reread is not None and (cost is None or cost > accept_reread):
        said = "an unknown number of" if cost is None else f"up to {cost:,}"
        problem = f"{said} records would be read again, {accept_reread:,} are accepted: {_listed(inexact)}"
        return Failed(problem, detail)
    found = TranslatedPositions(
        translations=translations, landing={group: dict(offsets) for group, offsets in landing.items()}
    )
    return Done(found, f"{plural(len(rows), 'position')}, {len(rows) - len(inexact)} of them exact")


def _listed(rows: Sequence[TargetPosition | BackPosition]) -> str:
    return "; ".join(f"{row.group} {row.topic}-{row.partition}: {row.reason}" for row in rows[:_LISTED])
