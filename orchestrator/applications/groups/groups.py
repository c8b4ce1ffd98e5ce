"""Groups: what they have committed, and seeing them at work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from pydantic.dataclasses import dataclass

from orchestrator.applications.consumers import consumers_named, groups_named
from orchestrator.moves.ends import ends_told, partitions_at
from orchestrator.moves.ports import Seen
from orchestrator.moves.results import RecordedPositions, SavedOffsets, TopicEnds, WrittenOffsets
from orchestrator.ports.clock import Clock
from orchestrator.runs.effect import (
    EFFECT_CONFIG,
    Done,
    Failed,
    Handle,
    Limited,
    Look,
    Nothing,
    Outcome,
    Running,
    Unknown,
)
from orchestrator.runs.ports import Clusters
from orchestrator.values import TopicPartition
from orchestrator.wording import listed, plural

_POLL_S = 0.3
_NEAR_S = 5.0
"""A group has caught up that needs no longer than this for what it has not read."""


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class SaveOffsets(
    Look[SavedOffsets],
    name="save-offsets",
    phase="translate",
    title="Save the offsets that the groups have committed at {cluster}",
):
    """What the groups have committed at a cluster before the run writes there: MirrorMaker's own synced
    offsets, for undo.

    `groups`: consumers of the file, by their names. `kept`: topics in which their groups' positions are those
    of others that stay there (`sharing.Kept`).
    """

    cluster: str
    groups: tuple[str, ...]
    kept: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def perform(self, run: Running) -> Outcome[SavedOffsets]:
        """See `Effect`."""
        found = run.port(Clusters).cluster(self.cluster).committed(groups_named(run, self.groups))
        committed = without_kept(run, found, self.kept)
        count = sum(len(offsets) for offsets in committed.values())
        return Done(
            SavedOffsets(offsets=committed), f"{plural(count, 'offset')} of {plural(len(committed), 'group')}"
        )


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class RecordPositions(
    Look[RecordedPositions],
    name="record-positions",
    phase="translate",
    title="Record the final positions of the groups at {cluster}",
    expected_s=0.2,
):
    """What the groups have committed at the source, now that they are stopped: these positions are final.

    A group that still has members may commit more: it would be processed here and again at the target.
    `groups`: consumers of the file, by their names. `kept`: topics in which their groups' positions are those
    of others that stay there, and go on reading.
    """

    cluster: str
    groups: tuple[str, ...]
    kept: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def perform(self, run: Running) -> Outcome[RecordedPositions]:
        """See `Effect`."""
        source, groups = run.port(Clusters).cluster(self.cluster), groups_named(run, self.groups)
        members: Mapping[str, int] = {}

        kept = kept_by_group(run, self.kept)

        def are_empty() -> bool:
            nonlocal members
            members = {group: count for group, count in source.group_members(groups).items() if count}
            shared = [group for group in members if group in kept]
            if shared:
                given = source.group_assignments(shared)
                members = {
                    group: count
                    for group, count in members.items()
                    if group not in shared or not _is_of_others(given[group], kept[group])
                }
            return not members

        if not run.await_true(are_empty, run.timeout_s / 2):
            running = ", ".join(f"{groups[group]} ({count})" for group, count in sorted(members.items()))
            return Failed(f"groups that still have members at {source.name}: {running}")
        committed = without_kept(run, source.committed(groups), self.kept)
        count = sum(len(offsets) for offsets in committed.values())
        found = RecordedPositions(positions=committed, at_s={})
        return Done(found, f"{plural(count, 'position')} of {plural(len(self.groups), 'group')}")


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class TakeSampledPositions(
    Look[RecordedPositions],
    name="take-sampled-positions",
    phase="translate",
    title="Read the positions of the groups at {cluster} that the watcher has recorded",
    expected_s=0.1,
):
    """What the groups had committed at a cluster that is gone, by the samples of a watcher elsewhere."""

    cluster: str
    groups: tuple[str, ...]

    def perform(self, run: Running) -> Outcome[RecordedPositions]:
        """See `Effect`."""
        history = run.port(Seen).watched(self.cluster)
        groups = groups_named(run, self.groups)
        known = {group: dict(history.positions(group)) for group in groups}
        missing = [groups[group] for group, positions in known.items() if not positions]
        if missing:
            return Failed(f"the watcher has never recorded a position of {listed(missing)} at {self.cluster}")
        found = RecordedPositions(
            positions={
                group: {tp: position.offset for tp, position in positions.items()}
                for group, positions in known.items()
            },
            at_s={
                group: min(position.sampled_at_s for position in positions.values())
                for group, positions in known.items()
            },
            sampled=tuple(groups),
        )
        count = sum(map(len, known.values()))
        return Done(found, f"{plural(count, 'position')} of {plural(len(self.groups), 'group')}")


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class AwaitRead(
    Look[Nothing],
    name="await-read",
    phase="drain",
    title="Wait until groups have read at {cluster} all that producers wrote before they were stopped",
    expected_s=2.0,
    timeout_s=60.0,
):
    """Wait until each group has committed up to the ends that were recorded, in the topics that are listed
    for it.
    """

    cluster: str
    groups: dict[str, tuple[str, ...]]
    ends: Handle[TopicEnds]

    def perform(self, run: Running) -> Outcome[Nothing]:
        """See `Effect`."""
        cluster, ends = run.port(Clusters).cluster(self.cluster), run.of(self.ends).now
        consumers = consumers_named(run, self.groups)
        starts = {tp: log.start_offset for tp, log in cluster.log_ends(ends).items()}
        unread: dict[str, int] = {}

        def is_read() -> bool:
            nonlocal unread
            committed = cluster.committed([consumer.group_id for consumer in consumers])
            unread = {
                one.called: _unread(self.groups[one.name], committed[one.group_id], starts, ends)
                for one in consumers
            }
            return not any(unread.values())

        if run.await_true(is_read, run.timeout_s / 2, poll_s=_POLL_S):
            return Done(Nothing(), f"{plural(len(self.groups), 'group')} have read all of it")
        behind = listed(f"{group} {count:,} records" for group, count in unread.items() if count)
        return Failed(f"not read at {self.cluster} within {run.timeout_s / 2:g} s: {behind}")


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class AwaitGroupsCaughtUp(
    Limited[Nothing],
    Look[Nothing],
    name="await-groups-caught-up",
    phase="drain",
    title="Wait until groups have caught up at {cluster}, while producers go on",
    expected_s=2.0,
):
    """Wait until no group has more unread than it reads in a few seconds, in the topics listed for it.

    Once producers are stopped each group has to finish these topics, so what it has to read by then is how
    long they stand still. How fast a group reads is what it has committed since this step began.
    """

    cluster: str
    groups: dict[str, tuple[str, ...]]
    limit_s: float

    def perform(self, run: Running) -> Outcome[Nothing]:
        """See `Effect`."""
        cluster, clock = run.port(Clusters).cluster(self.cluster), run.port(Clock)
        logs = partitions_at(cluster, {topic for topics in self.groups.values() for topic in topics})
        starts = {tp: log.start_offset for tp, log in cluster.log_ends(logs).items()}
        consumers = consumers_named(run, self.groups)
        ids = [consumer.group_id for consumer in consumers]
        since_s, first = clock.now_s(), cluster.committed(ids)
        far: list[str] = []

        def is_near() -> bool:
            far.clear()
            committed, ends = cluster.committed(ids), cluster.end_offsets(logs)
            seconds = max(clock.now_s() - since_s, _POLL_S)
            for one in consumers:
                group, topics = one.group_id, self.groups[one.name]
                unread = _unread(topics, committed[group], starts, ends)
                now = {tp: offset for tp, offset in committed[group].items() if tp in starts}
                a_second = _unread(topics, first[group], starts, now) / seconds
                if unread > a_second * _NEAR_S:
                    far.append(
                        f"{one.called} has {unread:,} records unread and reads {a_second:,.0f} a second"
                    )
            return not far

        if run.await_true(is_near, self.limit_s, poll_s=_POLL_S):
            return Done(Nothing(), f"{plural(len(self.groups), 'group')} have caught up at {self.cluster}")
        return Failed(f"not caught up at {self.cluster} within {self.limit_s:g} s: {listed(far)}")


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class AwaitGroupProgress(
    Look[Nothing],
    name="await-group-progress",
    phase="verify",
    title="Verify that every group at {cluster} has members and makes progress",
    expected_s=3.0,
    timeout_s=60.0,
):
    """Wait until each group has members, and has committed anew or has nothing left to read.

    `groups`: consumers of the file, by their names. `written`: what was committed for them before; without
    it, what is committed when this is asked. `kept`: topics in which their groups' positions are those of
    others that stay there: these are members as well, and do not count.
    """

    cluster: str
    groups: tuple[str, ...]
    started: Handle[Nothing]
    written: Handle[WrittenOffsets] | None = None
    kept: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def perform(self, run: Running) -> Outcome[Nothing]:
        """See `Effect`."""
        target, groups = run.port(Clusters).cluster(self.cluster), groups_named(run, self.groups)
        written = target.committed(groups) if self.written is None else run.of(self.written).written
        waiting, kept = set(written), kept_by_group(run, self.kept)

        def has_all_moved() -> bool:
            members = target.group_members(waiting)
            staffed = {group for group in waiting if members[group]}
            shared = [group for group in staffed if group in kept]
            for group, given in (target.group_assignments(shared) if shared else {}).items():
                if given is None or not written[group].keys() <= given:
                    staffed.discard(group)
            committed = target.committed(staffed)
            read = {tp for group in staffed for tp in written[group]}
            ends = ends_told(run.port(Clusters), self.cluster, read)
            waiting.difference_update(
                group
                for group in staffed
                if any(committed[group].get(tp, offset) != offset for tp, offset in written[group].items())
                or all(offset >= ends[tp] for tp, offset in written[group].items())
            )
            return not waiting

        if run.await_true(has_all_moved, run.timeout_s, poll_s=_POLL_S):
            return Done(
                Nothing(), f"{plural(len(written), 'group')} with members and progress at {self.cluster}"
            )
        silent = sorted(groups[group] for group in waiting)
        said = f"groups without members or progress within {run.timeout_s:g} s: {', '.join(silent)}"
        return Unknown(said, {"not_seen": silent})


def kept_by_group(run: Running, kept: Mapping[str, Sequence[str]]) -> dict[str, frozenset[str]]:
    """What is kept by names of consumers, by their group ids."""
    return {one.group_id: frozenset(kept[one.name]) for one in consumers_named(run, kept)}


def without_kept(
    run: Running, offsets: Mapping[str, Mapping[TopicPartition, int]], kept: Mapping[str, Sequence[str]]
) -> dict[str, dict[TopicPartition, int]]:
    """Offsets of groups, but those that others who stay have there."""
    topics = kept_by_group(run, kept)
    return {
        group: {tp: at for tp, at in found.items() if tp.topic not in topics.get(group, ())}
        for group, found in offsets.items()
    }


def _is_of_others(given: frozenset[TopicPartition] | None, kept: frozenset[str]) -> bool:
    """Whether what a group has given its members is nothing but what others read who stay."""
    return given is not None and {tp.topic for tp in given} <= kept


def _unread(
    topics: Sequence[str],
    committed: Mapping[TopicPartition, int],
    starts: Mapping[TopicPartition, int],
    ends: Mapping[TopicPartition, int],
) -> int:
    """How many offsets of some topics lie between what one group has committed and some ends.

    `starts`: where logs begin; what lies before that is there for nobody.
    """
    return sum(
        max(0, end - max(committed.get(tp, 0), starts[tp])) for tp, end in ends.items() if tp.topic in topics
    )
