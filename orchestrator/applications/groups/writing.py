"""Groups: writing where they have to stand, and taking that back."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import field

from pydantic.dataclasses import dataclass

from orchestrator.applications.consumers import consumers_named, groups_named
from orchestrator.applications.groups.groups import without_kept
from orchestrator.errors import ClusterError, DcctlError
from orchestrator.moves.participants import Participants
from orchestrator.moves.positions import TargetPosition, offsets_to_write
from orchestrator.moves.results import (
    GroupOffsets,
    MirrorEnd,
    SavedOffsets,
    TopicEnds,
    TranslatedPositions,
    WrittenOffsets,
)
from orchestrator.ports.servers import Kafka
from orchestrator.replication.mirror_ref import MirrorRef
from orchestrator.runs.effect import (
    EFFECT_CONFIG,
    Done,
    Effect,
    Failed,
    Handle,
    Nothing,
    Outcome,
    Reversible,
    Running,
    Unknown,
    Verified,
    VerifiedUndo,
)
from orchestrator.runs.ports import Clusters, Pools
from orchestrator.topology.model import Topology
from orchestrator.values import TopicPartition
from orchestrator.wording import plural

_GROUPS_AT_ONCE = 8

Wanted = Mapping[str, Mapping[TopicPartition, int]]
"""The offsets of each group, by partition."""


def commit_offsets(run: Running, target: Kafka, wanted: Wanted) -> Outcome[Nothing]:
    """Several groups at a time. A group with members refuses by itself; an interrupted run begins no more."""

    def write(group: str) -> str:
        if run.is_cancelled():
            return f"offsets of group {group} not written: the run was interrupted"
        try:
            target.write_group_offsets(group, wanted[group], may_write=run.may_write)
        except ClusterError as error:
            return error.problem
        return ""

    with run.port(Pools).pool(_GROUPS_AT_ONCE) as pool:
        problems = [said for said in pool.map(write, wanted) if said]
    return Unknown("; ".join(problems)) if problems else Done(Nothing())


def not_committed(target: Kafka, wanted: Wanted) -> list[str]:
    """Which of the offsets are not what is committed now, in words. Raises `ClusterError`."""
    committed = target.committed(wanted)
    return [
        f"{group} {tp} at {committed[group].get(tp)} instead of {offset}"
        for group, offsets in wanted.items()
        for tp, offset in offsets.items()
        if committed[group].get(tp) != offset
    ]


_LISTED = 5


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class _Written(
    Verified[WrittenOffsets],
    Reversible,
    VerifiedUndo,
    Effect[WrittenOffsets],
    phase="translate",
    title="Write the translated offsets of every group",
    expected_s=0.3,
    timeout_s=60.0,
):
    """Offsets of groups that were `saved` before others are written.

    `groups`: consumers of the file, by their names. `kept`: topics in which their groups' positions are those
    of others that stay there: nothing is written in them.
    """

    groups: tuple[str, ...]
    kept: dict[str, tuple[str, ...]] = field(default_factory=dict)
    saved: Handle[SavedOffsets]
    translated: Handle[TranslatedPositions]

    @property
    @abstractmethod
    def _at(self) -> str:
        """The cluster at which they are written."""

    def undo(self, run: Running) -> Outcome[Nothing]:
        """Commit again what the groups had there before.

        A partition of which a group had nothing keeps what was written: Kafka's client cannot take it away,
        and a group sync moves it forward once it is behind.
        """
        target = run.port(Clusters).cluster(self._at)
        for group, offsets in self._saved_offsets(run).items():
            if run.is_cancelled():
                return Unknown(f"offsets of group {group} not restored: the run was interrupted")
            if offsets:
                target.write_group_offsets(group, offsets, may_write=run.may_write)
        return Done(Nothing())

    def verify_undone(self, run: Running) -> Outcome[Nothing]:
        """What stood there before is committed now."""
        saved = self._saved_offsets(run)
        committed = run.port(Clusters).cluster(self._at).committed(saved)
        wrong = [
            f"{group} {tp} at {committed[group].get(tp)} instead of {offset}"
            for group, offsets in saved.items()
            for tp, offset in offsets.items()
            # The group sync may be at work again, and only moves forward.
            if committed[group].get(tp, -1) < offset
        ]
        if wrong:
            return Failed("; ".join(wrong[:_LISTED]))
        count = sum(len(offsets) for offsets in saved.values())
        return Done(Nothing(), f"{plural(count, 'offset')} as before the run")

    def _saved_offsets(self, run: Running) -> GroupOffsets:
        saved = run.of(self.saved).offsets
        return {group: saved.get(group, {}) for group in groups_named(run, self.groups)}


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class WriteOffsets(
    _Written,
    name="write-offsets",
    title="Write the translated offsets of every group at {mirror.target}",
):
    """Commit each group's offsets, several groups at a time. A group with members refuses by itself.

    A group sync may still be at it: it moves an offset of an idle group forward to its own
    translation, never back. Where ours is not below what it had written, there is nothing to undo ours.
    `landing`: where groups begin in the landing topics. `offset_shift`: a rehearsal's sabotage, records.
    """

    mirror: MirrorRef
    landing: Handle[TopicEnds]
    end: Handle[MirrorEnd]
    offset_shift: int = 0

    @property
    def _at(self) -> str:
        return self.mirror.target

    def perform(self, run: Running) -> Outcome[WrittenOffsets]:
        """See `Effect`."""
        try:
            wanted = self._wanted(run)
        except DcctlError as error:
            return Failed(f"{error.subject}: {error.problem}")
        ahead = _ahead_of(wanted, run.of(self.saved).offsets)
        if ahead:
            engine = run.port(Participants).engine(run.port(Topology), self.mirror)
            if engine.syncs_positions(run, self.mirror, run.timeout_s / 2):
                listed = ", ".join(ahead[:_LISTED])
                return Failed(
                    "the mirror's group sync still runs, and would move "
                    f"these offsets forward again: {listed}"
                )
        found = commit_offsets(run, run.port(Clusters).cluster(self._at), wanted)
        return Done(self._written(wanted)) if isinstance(found, Done) else found

    def verify(self, run: Running) -> Outcome[WrittenOffsets]:
        """What was written is what is committed now."""
        wanted = self._wanted(run)
        wrong = not_committed(run.port(Clusters).cluster(self._at), wanted)
        if wrong:
            return Failed("; ".join(wrong[:_LISTED]))
        shift = self.offset_shift
        sabotage = f"; REHEARSAL'S SABOTAGE: shifted forward by {shift}" if shift else ""
        return Done(self._written(wanted), f"{_count(wanted)}{sabotage}")

    def _written(self, wanted: GroupOffsets) -> WrittenOffsets:
        return WrittenOffsets(written=wanted, sabotage_offset_shift=self.offset_shift)

    def _wanted(self, run: Running) -> GroupOffsets:
        """What has to be committed, from the results of the steps before. The same every time it is asked."""
        topology, translated = run.port(Topology), run.of(self.translated)
        positions = [TargetPosition(**row) for row in translated.translations]
        consumers = consumers_named(run, self.groups)
        landing = run.of(self.landing).ends
        wanted = offsets_to_write(topology, self.mirror.of(topology), consumers, positions, landing)
        for group, offsets in translated.landing.items():
            wanted[group] |= offsets
        wanted = without_kept(run, wanted, self.kept)
        if not self.offset_shift:
            return wanted
        ends = run.of(self.end).ends
        return {
            group: {
                tp: min(offset + self.offset_shift, ends.get(tp, offset)) for tp, offset in offsets.items()
            }
            for group, offsets in wanted.items()
        }


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class WriteBack(
    _Written, name="write-back", title="Write the translated offsets of every group at {cluster}"
):
    """Commit every partition that a group will read there, several groups at a time.

    `synced_by`: mirrors that go on running, and whose group sync moves an idle group forward to its own
    translation. Where that stands ahead of ours already, ours would not last. `stopped`: those of which the
    group sync was told to stop, which is waited for.
    """

    cluster: str
    synced_by: tuple[MirrorRef, ...] = ()
    stopped: tuple[MirrorRef, ...] = ()

    @property
    def _at(self) -> str:
        return self.cluster

    def perform(self, run: Running) -> Outcome[WrittenOffsets]:
        """See `Effect`."""
        wanted = self._wanted(run)
        saved = run.of(self.saved).offsets
        for mirror in (*self.stopped, *self.synced_by):
            copied = _copied(run, mirror, wanted)
            # The source of one that was told to stop may be gone: it is not asked.
            ahead = _ahead_of(copied if mirror in self.stopped else _synced(run, mirror, copied), saved)
            if not ahead:
                continue
            engine = run.port(Participants).engine(run.port(Topology), mirror)
            wait_s = run.timeout_s / 2 if mirror in self.stopped else 0.0
            if group_sync := engine.syncs_positions(run, mirror, wait_s):
                listed = ", ".join(ahead[:_LISTED])
                said = (
                    f"the group sync of the mirror {mirror} runs, and would move "
                    f"these offsets forward again: {listed}"
                )
                return Failed(f"{said}. Stop the connector {group_sync} for the duration of the move")
        found = commit_offsets(run, run.port(Clusters).cluster(self._at), wanted)
        return Done(WrittenOffsets(written=wanted)) if isinstance(found, Done) else found

    def verify(self, run: Running) -> Outcome[WrittenOffsets]:
        """What was translated is what is committed now."""
        wanted = self._wanted(run)
        wrong = not_committed(run.port(Clusters).cluster(self._at), wanted)
        if wrong:
            return Failed("; ".join(wrong[:_LISTED]))
        return Done(WrittenOffsets(written=wanted), _count(wanted))

    def _wanted(self, run: Running) -> GroupOffsets:
        wanted: GroupOffsets = {}
        for row in run.of(self.translated).translations:
            to = TopicPartition(row["target_topic"], int(row["partition"]))
            wanted.setdefault(row["group"], {})[to] = int(row["target_offset"])
        for group, offsets in run.of(self.translated).landing.items():
            wanted.setdefault(group, {}).update(offsets)
        return without_kept(run, wanted, self.kept)


def _copied(run: Running, mirror: MirrorRef, wanted: Wanted) -> Wanted:
    """Positions in a mirror's copies: its group sync writes no others."""
    one = mirror.of(run.port(Topology))
    copies = set(map(one.mirrored_topic, one.topics))
    return {
        group: {tp: at for tp, at in offsets.items() if tp.topic in copies}
        for group, offsets in wanted.items()
    }


def _synced(run: Running, mirror: MirrorRef, wanted: Wanted) -> Wanted:
    """Those groups that a mirror's group sync knows, by positions at its source; all where that is silent."""
    try:
        there = run.port(Clusters).cluster(mirror.source).committed(wanted)
    except ClusterError:
        return wanted
    return {group: offsets for group, offsets in wanted.items() if there.get(group)}


def _count(wanted: Wanted) -> str:
    count = sum(len(offsets) for offsets in wanted.values())
    return f"{plural(count, 'offset')} of {plural(len(wanted), 'group')}"


def _ahead_of(wanted: Wanted, saved: Mapping[str, Mapping[TopicPartition, int]]) -> list[str]:
    """Positions that stand further at the target already than they are to be written."""
    return [
        f"{group} {tp}"
        for group, offsets in wanted.items()
        for tp, offset in saved.get(group, {}).items()
        if tp in offsets and offset > offsets[tp]
    ]
