"""A mirror whose source gives up records that it has copied: it stands meanwhile, and goes on behind the cut.

Where its position lies beyond the end of a log, MirrorMaker begins anew at the log's earliest offset
(`auto.offset.reset`), or skips what is written up to there, and says neither.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass as plain_dataclass

from pydantic.dataclasses import dataclass

from orchestrator.mirrors.connect import Workers, connector_state, stopped
from orchestrator.mirrors.mirrormaker2.connectors import names_of
from orchestrator.mirrors.mirrormaker2.formats import OffsetSync, decode_offset_sync
from orchestrator.mirrors.mirrormaker2.offset_syncs import read_syncs
from orchestrator.mirrors.mirrormaker2.position import mirror_position, set_mirror_position
from orchestrator.mirrors.mirrormaker2.standing import ends_at_rest
from orchestrator.moves.ends import nearest_ends, partitions_at
from orchestrator.moves.results import LeadersChosen
from orchestrator.replication.engine import NoMapError
from orchestrator.replication.mirror_ref import MirrorRef
from orchestrator.replication.truncations import Truncation
from orchestrator.runs.effect import (
    EFFECT_CONFIG,
    Done,
    Effect,
    Failed,
    Handle,
    Nothing,
    Outcome,
    Running,
    Unknown,
    Verified,
)
from orchestrator.runs.estate_record import Cuts, LogsTruncated, Rows
from orchestrator.runs.ports import Clusters, EstateRecord
from orchestrator.snapshot.observation import STANDSTILL_S
from orchestrator.snapshot.rejoining import truncation_rows
from orchestrator.topology.model import Replication, Topology
from orchestrator.values import TopicPartition
from orchestrator.wording import listed, plural


@plain_dataclass(frozen=True, slots=True, kw_only=True)
class _Passed:
    """How a mirror stands to logs that were shortened.

    `read`: by log that it would go on beyond, the offset behind the last record that it has read. `copied`:
    by log of which it has copied more than is left, where the copy ends.
    """

    read: Mapping[TopicPartition, int]
    copied: Mapping[TopicPartition, int]


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class SetBehindElection(
    Verified[Nothing],
    Effect[Nothing],
    name="set-mirror-behind-election",
    phase="leaders",
    title="Set the mirror {mirror} behind the logs whose leaders lack records that it has copied",
    expected_s=1.5,
    timeout_s=60.0,
    stays="the mirror could not go on from its earlier position",
):
    """Where it has read beyond what the new leader has. The mirror stands then.

    `chosen`: who was elected by this run, if anybody, and where its log ended; `recorded`: where logs ended
    at elections before, behind which it was not set. `earlier`: all that is recorded of cuts before. What the
    target alone has stays there, and is recorded: the mirror's map tells by it which of two records of one
    offset is meant.
    """

    mirror: MirrorRef
    chosen: Handle[LeadersChosen] | None = None
    recorded: Rows = ()
    earlier: Cuts = ()

    def perform(self, run: Running) -> Outcome[Nothing]:
        """See `Effect`."""
        connect = run.port(Workers).connect(self.mirror.workers)
        connector = names_of(run.port(Topology), self.mirror).source
        before = connector_state(connect.connectors().get(connector))
        asked = stopped(run, connect, connector)
        if not isinstance(asked, Done):
            return asked
        ends, passed = self._ends(run), self._passed(run, standstill_s=STANDSTILL_S)
        if passed is None:
            return self._grow()
        if passed.copied:
            run.port(EstateRecord).write(self._cut(ends, passed.copied))
        if passed.read:
            wanted = {tp: ends[tp] - 1 if ends[tp] else None for tp in passed.read}
            asked = set_mirror_position(run, self.mirror, wanted)
            if not isinstance(asked, Done):
                return asked
        return Done(Nothing(), _said(self.mirror, ends, passed, before))

    def verify(self, run: Running) -> Outcome[Nothing]:
        """Connect has no position beyond them, and cuts are recorded. A mirror that stands cannot move on."""
        ends, passed = self._ends(run), self._passed(run)
        if passed is None:
            return self._grow()
        if passed.read:
            said = listed(
                f"{tp} read to {read:,} of {ends[tp]:,}" for tp, read in sorted(passed.read.items())
            )
            return Failed(f"the mirror {self.mirror} is still beyond: {said}")
        own = run.port(EstateRecord).find(LogsTruncated, like=self._cut(ends, {}))
        cut = {TopicPartition(topic, number) for topic, number, _ in (own.truncations if own else ())}
        if unrecorded := sorted(passed.copied.keys() - cut):
            return Failed(
                f"what {self.mirror.target} alone has is not recorded: {listed(map(str, unrecorded))}"
            )
        return Done(Nothing())

    def _grow(self) -> Outcome[Nothing]:
        return Unknown(f"copies at {self.mirror.target} were not seen to stand still behind a stopped mirror")

    def _ends(self, run: Running) -> dict[TopicPartition, int]:
        return nearest_ends(self.recorded, run.of(self.chosen) if self.chosen is not None else None)

    def _passed(self, run: Running, *, standstill_s: float = 0.0) -> _Passed | None:
        """None where copies still grow. Of partitions that the mirror copies: it has a position in these.

        Connect hears now and then how far a mirror has read: behind a worker that was killed the copies
        reach further than it knows.
        """
        ends, read = self._ends(run), mirror_position(run, self.mirror)
        mirror = self.mirror.of(run.port(Topology))
        copies = {tp: mirror.mirrored(tp) for tp in ends if tp in read}
        target = run.port(Clusters).cluster(self.mirror.target)
        there = partitions_at(target, {copy.topic for copy in copies.values()})
        stands = ends_at_rest(run, target, there, standstill_s, run.timeout_s / 4)
        if stands is None:
            return None
        beyond = {tp: read[tp] + 1 for tp in copies if read[tp] >= ends[tp]}
        syncs = self._newest_syncs(run, mirror, copies.keys() - beyond.keys())
        copied = {
            tp: stands[copies[tp]]
            for tp in copies
            if copies[tp] in stands
            if tp in beyond
            or (tp in syncs and syncs[tp].upstream + stands[copies[tp]] - syncs[tp].downstream > ends[tp])
        }
        return _Passed(read=beyond, copied=copied)

    def _newest_syncs(
        self, run: Running, mirror: Replication, wanted: Collection[TopicPartition]
    ) -> dict[TopicPartition, OffsetSync]:
        """The last pair of offsets of each partition, behind its last cut."""
        if not wanted:
            return {}
        since = {TopicPartition(topic, number): cuts[-1][1] for topic, number, cuts in self.earlier if cuts}
        at = mirror.target if mirror.offset_syncs == "target" else mirror.source
        found: dict[TopicPartition, OffsetSync] = {}
        try:
            for chunk in read_syncs(run.port(Clusters).cluster(at), mirror):
                for record in chunk:
                    if record.key is None or record.value is None:
                        continue
                    sync = decode_offset_sync(record.key, record.value)
                    if sync.partition in wanted and sync.downstream >= since.get(sync.partition, 0):
                        found[sync.partition] = sync
        except NoMapError:
            return {}
        return found

    def _cut(self, ends: Mapping[TopicPartition, int], copied: Mapping[TopicPartition, int]) -> LogsTruncated:
        found = {
            TopicPartition(topic, number): tuple(Truncation(*cut) for cut in cuts)
            for topic, number, cuts in self.earlier
        }
        for tp, end in copied.items():
            found[tp] = (*found.get(tp, ()), Truncation(ends[tp], end))
        return LogsTruncated(
            home=self.mirror.source, standby=self.mirror.target, truncations=truncation_rows(found)
        )


def _said(mirror: MirrorRef, ends: Mapping[TopicPartition, int], passed: _Passed, before: str) -> str:
    count = sum(read - ends[tp] for tp, read in passed.read.items())
    which = listed(map(str, sorted(passed.read)))
    said = f"{plural(count, 'record')} of {which} are at {mirror.target} alone" if passed.read else ""
    if further := sorted(passed.copied.keys() - passed.read.keys()):
        said += "; " if said else ""
        said += (
            f"of {listed(map(str, further))} {mirror.target} has more than Connect's position tells: "
            "the mirror goes on from that position, and copies some records again"
        )
    said = said or "it has read no further than the new leaders have"
    return said + (f"; the mirror {mirror} was paused, and is stopped now" if before == "PAUSED" else "")
