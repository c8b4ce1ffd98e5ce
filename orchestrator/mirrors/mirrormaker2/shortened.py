"""A mirror whose source gives up records that it has copied: it stands meanwhile, and goes on behind the cut.

Where its position lies beyond the end of a log, MirrorMaker begins anew at the log's earliest offset
(`auto.offset.reset`), or skips what is written up to there, and says neither.
"""

from __future__ import annotations

from collections.abc import Mapping

from pydantic.dataclasses import dataclass

from orchestrator.mirrors.mirrormaker2.position import mirror_position, set_mirror_position
from orchestrator.moves.results import LeadersChosen
from orchestrator.replication.mirror_ref import MirrorRef, source_partitions
from orchestrator.replication.truncations import Truncation, Truncations
from orchestrator.runs.effect import (
    EFFECT_CONFIG,
    Done,
    Effect,
    Failed,
    Handle,
    Nothing,
    Outcome,
    Running,
    Verified,
)
from orchestrator.runs.estate_record import Cuts, LogsTruncated
from orchestrator.runs.ports import Clusters, EstateRecord
from orchestrator.snapshot.rejoining import truncation_rows
from orchestrator.topology.model import Topology
from orchestrator.values import TopicPartition
from orchestrator.wording import listed, plural


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class SetBehindElection(
    Verified[Nothing],
    Effect[Nothing],
    name="set-mirror-behind-election",
    phase="leaders",
    title="Set the mirror {mirror} behind the logs whose leaders lack records that it has copied",
    expected_s=0.5,
    timeout_s=60.0,
    stays="the mirror could not go on from its earlier position",
):
    """Where it has read beyond what the new leader has. `chosen`: who leads now, and where its log ended.

    `earlier`: all that is recorded of cuts before. What the target alone has stays there, and is recorded:
    the mirror's map tells by it which of two records of one offset is meant.
    """

    mirror: MirrorRef
    chosen: Handle[LeadersChosen]
    earlier: Cuts = ()

    def perform(self, run: Running) -> Outcome[Nothing]:
        """See `Effect`."""
        beyond = self._beyond(run)
        if not beyond:
            return Done(Nothing(), "it has read no further than the new leaders have")
        run.port(EstateRecord).write(self._cut(run, beyond))
        wanted = {tp: end - 1 if end else None for tp, (end, _) in beyond.items()}
        asked = set_mirror_position(run, self.mirror, wanted)
        if not isinstance(asked, Done):
            return asked
        count = sum(read - end for end, read in beyond.values())
        which = listed(map(str, sorted(beyond)))
        return Done(Nothing(), f"{plural(count, 'record')} of {which} are at {self.mirror.target} alone")

    def verify(self, run: Running) -> Outcome[Nothing]:
        """Connect has no position beyond them. The mirror stands, and cannot have moved on."""
        beyond = self._beyond(run)
        said = listed(f"{tp} read to {read:,} of {end:,}" for tp, (end, read) in sorted(beyond.items()))
        return Failed(f"the mirror {self.mirror} is still beyond: {said}") if beyond else Done(Nothing())

    def _beyond(self, run: Running) -> dict[TopicPartition, tuple[int, int]]:
        """By partition where the log ends, and the offset behind the last one that the mirror has read."""
        topology = run.port(Topology)
        own = set(source_partitions(topology, self.mirror.of(topology)))
        read = mirror_position(run, self.mirror)
        return {
            tp: (end, read[tp] + 1)
            for tp, end in run.of(self.chosen).ends.items()
            if tp in own and read.get(tp, -1) >= end
        }

    def _cut(self, run: Running, beyond: Mapping[TopicPartition, tuple[int, int]]) -> LogsTruncated:
        mirror = self.mirror.of(run.port(Topology))
        copies = run.port(Clusters).cluster(self.mirror.target).end_offsets(map(mirror.mirrored, beyond))
        found: dict[TopicPartition, tuple[Truncation, ...]] = {
            TopicPartition(topic, number): tuple(Truncation(*cut) for cut in cuts)
            for topic, number, cuts in self.earlier
        }
        for tp, (end, _) in beyond.items():
            found[tp] = (*found.get(tp, ()), Truncation(end, copies[mirror.mirrored(tp)]))
        cuts: Truncations = found
        return LogsTruncated(
            home=self.mirror.source, standby=self.mirror.target, truncations=truncation_rows(cuts)
        )
