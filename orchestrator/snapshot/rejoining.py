"""What a primary that was lost holds when it is back, against what had been copied of it.

The mirror goes on from its own stored position. That is right only if the log still reaches there and
belongs to the same topic: after a power loss the log may be shorter, and the mirror would start from the
earliest offset, or pass over new records once they have grown beyond its position (facts: MirrorMaker 2).

A log that was cut and has grown again is told by its leader epochs (KIP-101): the one in which it was left
ends at the cut, wherever the log ends by now. That needs a newer epoch, which Kafka does not always begin for
a broker that returns; where there is none, nothing but the end tells of a cut.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from orchestrator.errors import ClusterError, DcctlError
from orchestrator.ports.servers import LogEnds
from orchestrator.replication.engine import Asked, Engine
from orchestrator.replication.mirror_ref import MirrorRef, source_partitions
from orchestrator.replication.offset_map import OffsetMap
from orchestrator.replication.truncations import Truncation, Truncations
from orchestrator.runs.estate_record import (
    Fact,
    JournalUnread,
    LogsAtDeparture,
    LogsTruncated,
    ReverseStarts,
    RunEnded,
    bodies,
    journals_unread,
    logs_at_departure,
    standing,
    undone_runs,
)
from orchestrator.snapshot.back_starts import BackStarts, back_starts
from orchestrator.snapshot.known_gaps import sampled_gaps
from orchestrator.snapshot.samples import SampleHistory
from orchestrator.topology.model import Replication, Topology
from orchestrator.values import EpochEnd, LogEnd, TopicPartition


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """What earlier runs have recorded: the landing offsets at which the reverse mirror begins (first of
    all, whenever that was), every cut of the primary's logs, those of them that were found since applications
    left it, and how its logs stood then (None where nobody has recorded that). `left_standby`: likewise of
    the other cluster, when its own applications left it last.
    """

    starts: BackStarts = field(default_factory=BackStarts)
    truncations: Truncations = field(default_factory=dict)
    truncations_since_departure: Truncations = field(default_factory=dict)
    left: LogsAtDeparture | None = None
    left_standby: LogsAtDeparture | None = None


PAST_KINDS = (RunEnded, ReverseStarts, LogsTruncated, LogsAtDeparture, JournalUnread)
"""The facts that `past_of` wants."""


def past_of(facts: Sequence[Fact], home: str, standby: str) -> Past:
    """What the estate record tells of two clusters.

    Raises `DcctlError` where the journal of a run between them could not be read for it.
    """
    unread = journals_unread(facts, home, standby)
    if unread:
        raise DcctlError(
            f"journal of run {unread[0].run_id}", "could not be read, so the estate record is incomplete"
        )
    return Past(
        starts=back_starts(facts, home, standby),
        truncations=log_truncations(facts, home, standby),
        truncations_since_departure=truncations_since_departure(facts, home, standby),
        left=logs_at_departure(facts, home),
        left_standby=logs_at_departure(facts, standby),
    )


def log_truncations(facts: Iterable[Fact], home: str, standby: str) -> Truncations:
    """Every cut of the logs of `home`. Each fact names all; a log stays cut, whatever became of the run."""
    found = [
        body
        for body in bodies(standing(facts), LogsTruncated)
        if (body.home, body.standby) == (home, standby)
    ]
    return _truncations(found[-1]) if found else {}


def truncations_since_departure(facts: Iterable[Fact], home: str, standby: str) -> Truncations:
    """Cuts that were found since applications last left `home`; all of them where that is not recorded."""
    facts = standing(facts)
    undone = undone_runs(facts)
    left = [
        at
        for at, fact in enumerate(facts)
        if isinstance(fact.body, LogsAtDeparture) and fact.body.cluster == home and fact.run_id not in undone
    ]
    before = log_truncations(facts[: left[-1]], home, standby) if left else {}
    found = {
        tp: truncations[len(before.get(tp, ())) :]
        for tp, truncations in log_truncations(facts, home, standby).items()
    }
    return {tp: truncations for tp, truncations in found.items() if truncations}


def _truncations(fact: LogsTruncated) -> dict[TopicPartition, tuple[Truncation, ...]]:
    return {
        TopicPartition(t, p): tuple(Truncation(*truncation) for truncation in truncations)
        for t, p, truncations in fact.truncations
    }


def truncation_rows(truncations: Truncations) -> tuple[tuple[str, int, tuple[tuple[int, int], ...]], ...]:
    """Cuts as a fact holds them."""
    return tuple(
        (tp.topic, tp.partition, tuple((truncation.upstream, truncation.downstream) for truncation in found))
        for tp, found in sorted(truncations.items())
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejoining:
    """The comparison, by the primary's partitions.

    `tail`: records that had not been copied and still arrive: late, not lost. `missing`: records that were
    seen in the log before the loss, were never copied, and are gone. `gap`: records that were not copied and
    have expired since. `set_offsets`: where the mirror's position must be set, the last offset read (None:
    none at all). `truncations` are all cuts of each log, the new ones last. `unrecorded`: nobody recorded how
    these logs stood, so that nothing tells what is missing from them. `unsure`: behind the recorded end, and
    before what the mirror had read, begins a newer leader epoch: the log was cut there, or its leader changed
    after it was last seen. `by_end_alone`: no newer epoch has begun since these logs were left, or it is not
    recorded in which they were; that they were cut and have grown beyond their old end would not be seen.
    """

    tail: Mapping[TopicPartition, int]
    missing: Mapping[TopicPartition, int]
    gap: Mapping[TopicPartition, int]
    target_only: Mapping[TopicPartition, int]
    set_offsets: Mapping[TopicPartition, int | None]
    truncations: Truncations
    unrecorded: tuple[TopicPartition, ...] = ()
    unsure: tuple[TopicPartition, ...] = ()
    by_end_alone: tuple[TopicPartition, ...] = ()
    problems: tuple[str, ...] = field(default=())

    @property
    def lost_records(self) -> int:
        """What the primary will not have: gone altogether, or at the standby only."""
        return sum(sum(part.values()) for part in (self.missing, self.gap, self.target_only))


def last_copied(
    partitions: Iterable[TopicPartition],
    *,
    stored: Mapping[TopicPartition, int],
    offset_map: OffsetMap,
    known_truncations: Truncations,
) -> dict[TopicPartition, int]:
    """The last source offset of each partition that the mirror surely has read; none of one that it has not.

    `stored`: the source connector's positions in Connect. They lag behind what was copied where the mirror
    was not stopped in order; the offset syncs tell of more. What was copied before the log was cut
    (`known_truncations`) tells nothing of the log as it is since.
    """
    found = {}
    for tp in partitions:
        since = max((truncation.downstream for truncation in known_truncations.get(tp, ())), default=0)
        last = max(stored.get(tp, -1), (offset_map.mirrored_end(tp, since=since) or 0) - 1)
        if last >= 0:
            found[tp] = last
    return found


def rejoining_side(
    topology: Topology,
    mirror: Replication,
    *,
    home: Mapping[TopicPartition, LogEnd],
    copied: Mapping[TopicPartition, LogEnd],
    last_read: Mapping[TopicPartition, int],
    epoch_ends: Mapping[TopicPartition, EpochEnd],
    past: Past,
) -> Rejoining:
    """The returned primary against what was recorded.

    `home`: its logs now. `copied`: logs at the standby, as they are named there. `last_read`: see
    `last_copied`. `epoch_ends`: see `epochs_at_departure`.
    """
    # Not the samples: the watcher samples what has returned as well, and forgets what was before.
    left = past.left.log_ends() if past.left is not None else {}
    partitions = source_partitions(topology, mirror)
    return compare_rejoining(
        partitions,
        home=home,
        copied={tp: copied[mirror.mirrored(tp)] for tp in partitions if mirror.mirrored(tp) in copied},
        last_read=last_read,
        left=left,
        epoch_ends=epoch_ends,
        known_truncations=past.truncations,
        truncations_since_departure=past.truncations_since_departure,
    )


def epochs_at_departure(topology: Topology, mirror: Replication, past: Past) -> dict[TopicPartition, int]:
    """The leader epochs in which the primary's logs were left, as far as they are recorded.

    Where they end in the logs as they are now has to be asked for.
    """
    left = past.left.log_ends() if past.left is not None else {}
    return {
        tp: left[tp].leader_epoch
        for tp in source_partitions(topology, mirror)
        if tp in left and left[tp].leader_epoch >= 0
    }


def compare_rejoining(
    partitions: Collection[TopicPartition],
    *,
    home: Mapping[TopicPartition, LogEnd],
    copied: Mapping[TopicPartition, LogEnd],
    last_read: Mapping[TopicPartition, int],
    left: Mapping[TopicPartition, LogEnd],
    epoch_ends: Mapping[TopicPartition, EpochEnd],
    known_truncations: Truncations,
    truncations_since_departure: Truncations,
) -> Rejoining:
    """Judge each partition; all are named as the primary names them.

    `home`: its logs now. `copied`: the logs of their copies at the standby. `last_read`: the last source
    offsets that the mirror surely has read, see `last_copied`. `left`: its logs as they stood when
    applications left. `epoch_ends`: where the leader epochs of `left` end in them now.
    `truncations_since_departure`: those of `known_truncations` that were found since then.
    """
    tail: dict[TopicPartition, int] = {}
    missing: dict[TopicPartition, int] = {}
    gap: dict[TopicPartition, int] = {}
    target_only: dict[TopicPartition, int] = {}
    set_offsets: dict[TopicPartition, int | None] = {}
    truncations = dict(known_truncations)
    judged: dict[TopicPartition, _Old] = {}
    problems = []
    for tp in partitions:
        log, copy, seen = home.get(tp), copied.get(tp), left.get(tp)
        if log is None or copy is None:
            problems.append(f"{tp}: there is no log of it at {'either side' if log is copy else 'one side'}")
            continue
        read = last_read.get(tp, -1) + 1
        old = _Old(log.end_offset)
        if seen is not None:
            is_followed = _is_followed(truncations_since_departure.get(tp, ()), copy, epoch_ends.get(tp))
            old = judged[tp] = _old(log, seen, epoch_ends.get(tp), read=read, is_followed=is_followed)
            if seen.end_offset > max(old.end, read):
                missing[tp] = seen.end_offset - max(old.end, read)
        if old.problem:
            problems.append(f"{tp}: {old.problem}")
        if old.end < read:
            set_offsets[tp] = old.end - 1 if old.end else None
            truncation = Truncation(old.end, copy.end_offset)
            if truncation not in truncations.get(tp, ()):
                truncations[tp] = (*truncations.get(tp, ()), truncation)
            target_only[tp] = min(read - old.end, copy.end_offset - copy.start_offset)
        begins = min(old.end, read)
        if log.start_offset > begins:
            gap[tp] = log.start_offset - begins
        if log.end_offset > max(begins, log.start_offset):
            tail[tp] = log.end_offset - max(begins, log.start_offset)
    return Rejoining(
        tail=tail,
        missing=missing,
        gap=gap,
        target_only=target_only,
        set_offsets=set_offsets,
        truncations=truncations,
        unrecorded=tuple(tp for tp in partitions if tp not in left),
        unsure=tuple(tp for tp, old in judged.items() if old.is_unsure),
        by_end_alone=tuple(tp for tp, old in judged.items() if old.is_by_end_alone),
        problems=tuple(problems),
    )


class _Old(NamedTuple):
    """How far a log is the one that was left, and what is to be said of that; see `Rejoining`."""

    end: int
    problem: str = ""
    is_unsure: bool = False
    is_by_end_alone: bool = False


def _old(log: LogEnd, seen: LogEnd, old_end: EpochEnd | None, *, read: int, is_followed: bool) -> _Old:
    """`seen` is the log as it was left, `old_end` where its epoch of then ends now.

    `is_followed`: a cut there is known, and what the mirror has read was written since.
    """
    end = log.end_offset
    if -1 < log.leader_epoch < seen.leader_epoch or (old_end is not None and old_end.end_offset < 0):
        return _Old(end, f"leader epoch {log.leader_epoch}, but {seen.leader_epoch} was seen before")
    if is_followed:
        return _Old(end)
    if old_end is None:
        return _Old(end, is_by_end_alone=True)
    if old_end.end_offset < seen.end_offset:
        return _Old(min(end, old_end.end_offset))
    if log.leader_epoch <= seen.leader_epoch:
        return _Old(end, is_by_end_alone=True)
    return _Old(end, is_unsure=old_end.end_offset < min(read, end))


def _is_followed(truncations: Collection[Truncation], copy: LogEnd, old_end: EpochEnd | None) -> bool:
    """Whether this very cut was found before, and the mirror, set behind it, has copied since.

    It is let go on only by a run in which a person had accepted what is lost.
    """
    return old_end is not None and any(
        truncation.upstream == old_end.end_offset and truncation.downstream < copy.end_offset
        for truncation in truncations
    )


def read_epoch_ends(
    reader: LogEnds, addresses: Iterable[str], epochs: Mapping[TopicPartition, int]
) -> dict[TopicPartition, EpochEnd]:
    """All of them, from the leaders; `addresses` are those of brokers that may be asked who leads.

    Raises `ClusterError` where one cannot be had, which is named.
    """
    found: dict[TopicPartition, EpochEnd] = {}
    for tp, said in reader.epoch_ends(addresses, epochs).items():
        if isinstance(said, ClusterError):
            asked = f"where leader epoch {epochs[tp]} of {tp} ends"
            raise ClusterError(said.subject, f"{asked}: {said.problem}", said.hint)
        found[tp] = said
    return found


def copied_up_to(
    engine: Engine,
    asked: Asked,
    topology: Topology,
    mirror: MirrorRef,
    *,
    samples: SampleHistory | None,
    past: Past | None,
) -> dict[TopicPartition, int]:
    """See `last_copied`: by what a mirror has stored of its position, and by its map. Raises `DcctlError`."""
    own, stored = mirror.of(topology), engine.read_up_to(asked, topology, mirror)
    offset_map = engine.offset_map(
        asked,
        own,
        recreated={} if samples is None else samples.recreated,
        gaps=sampled_gaps(topology, own, samples),
    )
    return last_copied(
        source_partitions(topology, own),
        stored=stored,
        offset_map=offset_map,
        known_truncations={} if past is None else past.truncations,
    )
