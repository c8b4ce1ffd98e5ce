"""What leaving a sick site costs, counted before anybody is started at the target."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from pydantic.dataclasses import dataclass

from orchestrator.errors import ClusterError, ConnectError
from orchestrator.mirrors.mirrormaker2.draining import Ranges, with_records
from orchestrator.moves.losses import PartitionAccount, account_loss, losses_to_json
from orchestrator.moves.not_copied import COPY_AGAIN, passed_over
from orchestrator.moves.ports import Maps, PartialClusters, Seen
from orchestrator.moves.results import LossCounted, MirrorEnd, PartlyStanding, RulesHeard
from orchestrator.replication.mirror_ref import MirrorRef
from orchestrator.runs.effect import (
    EFFECT_CONFIG,
    Done,
    Failed,
    Handle,
    Look,
    Outcome,
    Running,
    Unknown,
)
from orchestrator.snapshot.partial_view import named
from orchestrator.topology.model import Topology
from orchestrator.values import LogReach, TopicPartition
from orchestrator.wording import plural

_LOOK_TIMEOUT_S = 5.0
_SEEN_AGAIN_S = 20.0
_POLL_S = 0.3
Counts = dict[TopicPartition, int]
Gone = Mapping[TopicPartition, tuple[tuple[int, int], ...]]


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class AccountPartial(
    Look[LossCounted],
    name="account-left",
    phase="drain",
    title="Count the records lost at {mirror.source}, partition by partition",
    expected_s=1.5,
    timeout_s=45.0,
):
    """For each partition of the source: what is lost, or why nobody can say it.

    The logs are looked at once more: a leader that loses a follower lets records through that had waited for
    it. What a leader holds and nobody can read yet is none of what was lost, and none of what was not: it is
    unknown, as is a log of which nobody tells the end. Where nobody is kept from writing, and somebody has
    written since, it fails; so it does beyond what is allowed. A log that is not seen again, or not to its
    end, makes it unknown where a number is allowed.

    `heard`: who has heard of the rules that deny there; none where there are none. `allowed_records`: so many
    may be lost; None for any number.
    """

    mirror: MirrorRef
    standing: Handle[PartlyStanding]
    end: Handle[MirrorEnd]
    heard: Handle[RulesHeard] | None = None
    allowed_records: int | None

    def perform(self, run: Running) -> Outcome[LossCounted]:
        """See `Effect`."""
        standing = run.of(self.standing)
        seen = _seen_again(run, self.mirror.source, standing)
        return self._not_known(standing, seen) or self._counted(run, standing, seen)

    def _not_known(self, standing: PartlyStanding, seen: _Seen) -> Failed | Unknown | None:
        """Why what was seen again is too little for an account; None where it is not."""
        if seen.advanced and not standing.is_fenced:
            written = {tp: f"{records:,} records so far" for tp, records in seen.advanced.items()}
            return Failed(
                f"records were written at {self.mirror.source} after its logs "
                "had stood still, and no producer is "
                f"denied there: {named(written)}. Stop these producers, or the brokers",
                {"still_written": {str(tp): said for tp, said in written.items()}},
            )
        allowed, untold = self.allowed_records, seen.endless | seen.unseen
        if untold and (allowed is not None or not standing.is_fenced):
            why = "no producer is denied" if allowed is None else f"only {allowed:,} records may be lost"
            return Unknown(f"the loss of some partitions is unknown, and {why}: {named(untold)}")
        return None

    def _counted(self, run: Running, standing: PartlyStanding, seen: _Seen) -> Outcome[LossCounted]:
        behind, gone = self._without_copy(run, standing, seen.ends)
        problem = ""
        try:
            behind = with_records(run, self.mirror, behind) if behind else {}
            gone = _with_records(run, self.mirror, gone)
        except (ClusterError, ConnectError) as error:
            problem = f"the records that are not copied could not be read: {error.problem}"
        not_copied: Counts = dict.fromkeys(seen.ends, 0)
        for tp, (first, end) in behind.items():
            not_copied[tp] += end - first
        for tp, ranges in gone.items():
            not_copied[tp] += sum(end - first for first, end in ranges)
        unknown = standing.unread | {
            str(tp): f"{said}; {not_copied[tp]:,} earlier records are not copied"
            for tp, said in (seen.endless | seen.hidden_in_words()).items()
        }
        unknown |= {str(tp): said for tp, said in seen.unseen.items()}
        topology = run.port(Topology)
        accounts = account_loss(
            topology,
            self.mirror.of(topology),
            not_copied={tp: records for tp, records in not_copied.items() if str(tp) not in unknown},
            unread=unknown,
            is_whole=not standing.silent and (self.heard is None or bool(run.of(self.heard).heard)),
            problem=problem,
        )
        loss = losses_to_json(accounts)
        allowed = self.allowed_records
        lost = sum(not_copied.values()) + sum(seen.late.values()) + sum(seen.beyond.values())
        if allowed is not None and lost > allowed:
            said = f"{lost:,} records are not copied, but only {allowed:,} may be lost"
            return Failed(f"{said}: {_in_words(accounts, gone)}", {"loss": loss})
        return Done(LossCounted(loss=loss), _in_words(accounts, gone))

    def _without_copy(
        self, run: Running, standing: PartlyStanding, ends: Mapping[TopicPartition, int]
    ) -> tuple[Ranges, Gone]:
        """Source offsets of which there is no copy: behind the mirror, and passed over by it."""
        topology, recreation = run.port(Topology), run.port(Seen).samples(self.mirror).recreated
        mirror_end, starts = run.of(self.end), standing.starts
        final = run.port(Maps).final(self.mirror, mirror_end)
        stored = mirror_end.mirror_offsets
        # Connect may still have the offset of a topic that is no more.
        read = {
            tp: max(
                final.offset_map.mirrored_end(tp) or 0,
                0 if tp.topic in recreation else stored.get(tp, -1) + 1,
            )
            for tp in ends
        }
        gone = passed_over(
            topology,
            self.mirror.of(topology),
            {tp: starts[tp] for tp in ends},
            replicated={tp: min(read[tp], end) for tp, end in ends.items()},
            copies=final.logs,
            offset_map=final.offset_map,
            recreated=recreation,
        )
        behind = {tp: (max(starts[tp], read[tp]), end) for tp, end in ends.items()}
        return {tp: (first, end) for tp, (first, end) in behind.items() if first < end}, gone


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """What has become of logs that stood still.

    `ends`: how far each is counted; `advanced`: records that somebody can have written since; `late`: those
    that came to light beyond `ends`, of which more may come; `beyond`: what leaders hold and nobody can read
    yet; `endless`: why nobody can tell where a log ends; `unseen`: why a log is not seen at all.
    """

    ends: Counts
    advanced: Counts
    late: Counts
    beyond: Counts
    endless: dict[TopicPartition, str]
    unseen: dict[TopicPartition, str]

    def hidden_in_words(self) -> dict[TopicPartition, str]:
        """Each log of which more may come to light, and how much of it is known."""
        late = {
            tp: f"{records:,} records became readable after the log had stood still, and more may"
            for tp, records in self.late.items()
        }
        return late | {
            tp: f"its leader holds {records:,} more records that an in-sync replica does not have yet: "
            "they cannot be read, and may still be acknowledged"
            for tp, records in self.beyond.items()
        }


def _seen_again(run: Running, cluster: str, standing: PartlyStanding) -> _Seen:
    """Look once more at logs that stood still.

    One that is not seen is looked for again: it may have another leader in a moment.
    """
    ends, log_ends = standing.ends, standing.log_ends
    reaches: dict[TopicPartition, LogReach] = {}
    endless: dict[TopicPartition, str] = {}
    unseen: dict[TopicPartition, str] = {}

    def are_seen() -> bool:
        # On new connections each time: an old one may wait on a broker that was silent for a moment.
        with run.port(PartialClusters).left(cluster, _LOOK_TIMEOUT_S) as reader:
            found = reader.partitions(ends)
            told = reader.reaches(tp for tp, place in found.items() if place.log is not None)
        for problems in (unseen, endless):
            problems.clear()
        for tp, place in found.items():
            if place.log is None:
                unseen[tp] = f"not readable since its log stood still: {place.problem}"
                continue
            said = told[tp]
            if isinstance(said, ClusterError):
                endless[tp] = f"its log end offset is unknown ({said.problem})"
                reaches[tp] = LogReach(place.log.end_offset)
            else:
                reaches[tp] = said
        return not unseen and not endless

    run.await_true(are_seen, _SEEN_AGAIN_S, poll_s=_POLL_S)
    # What had been written when it stood still has come to light, and nothing more can.
    settled = {tp for tp, reach in reaches.items() if reach.is_in_sync and reach.log_end == log_ends.get(tp)}
    moved = {tp: reach.high_watermark - ends[tp] for tp, reach in reaches.items()}
    written = {
        tp: moved[tp] if tp not in log_ends or reach.log_end is None else reach.log_end - log_ends[tp]
        for tp, reach in reaches.items()
    }
    return _Seen(
        ends={tp: reaches[tp].high_watermark if tp in settled else end for tp, end in ends.items()},
        advanced={tp: records for tp, records in written.items() if records > 0},
        late={tp: records for tp, records in moved.items() if records > 0 and tp not in settled},
        beyond={
            tp: reach.log_end - reach.high_watermark
            for tp, reach in reaches.items()
            if reach.log_end is not None and not reach.is_in_sync
        },
        endless=endless,
        unseen=unseen,
    )


def _with_records(run: Running, mirror: MirrorRef, gone: Gone) -> Gone:
    """Those ranges in which there is a record; of each partition they are looked at one by one."""
    found: dict[TopicPartition, tuple[tuple[int, int], ...]] = {}
    for turn in range(max((len(ranges) for ranges in gone.values()), default=0)):
        asked = {tp: ranges[turn] for tp, ranges in gone.items() if turn < len(ranges)}
        for tp, span in with_records(run, mirror, asked).items():
            found[tp] = (*found.get(tp, ()), span)
    return found


def _in_words(accounts: Mapping[TopicPartition, PartitionAccount], gone: Gone) -> str:
    known = [found.lost for found in accounts.values() if found.lost is not None]
    unknown: dict[TopicPartition, Any] = {
        tp: found.reason for tp, found in accounts.items() if found.lost is None
    }
    said = f"{plural(sum(known), 'record')} lost in {plural(len(known), 'partition')}"
    if gone:
        records = sum(end - first for ranges in gone.values() for first, end in ranges)
        said += f"; {records:,} of them were skipped by the mirror, {COPY_AGAIN}"
    return said + (f"; unknown in {len(unknown)}: {named(unknown)}" if unknown else "")
