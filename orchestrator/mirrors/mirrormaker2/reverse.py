"""The mirror back: it is made, begins at exact offsets, catches up, and its end is kept for the next time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field

from pydantic.dataclasses import dataclass

from orchestrator.estate.desired_acls import desired_acls
from orchestrator.estate.desired_topics import desired_topics
from orchestrator.mirrors.connect import Workers, ask_connect, stopped
from orchestrator.mirrors.mirrormaker2.connectors import names_of, which_topics
from orchestrator.mirrors.mirrormaker2.draining import drained
from orchestrator.mirrors.mirrormaker2.formats import OffsetSync, encode_offset_sync
from orchestrator.mirrors.mirrormaker2.objects import SYNCS_CONFIG
from orchestrator.mirrors.mirrormaker2.position import mirror_position, set_mirror_position
from orchestrator.mirrors.mirrormaker2.reverse_connector import reverse_connector
from orchestrator.moves.after_move import after_move
from orchestrator.moves.ends import partitions_at
from orchestrator.moves.results import MirrorEnd, MirrorStarts, StandingLogs
from orchestrator.ports.admin_values import NewTopic
from orchestrator.replication.mirror_ref import MirrorRef, source_partitions
from orchestrator.replication.offsets_json import Offsets, offsets_to_json
from orchestrator.runs.effect import (
    EFFECT_CONFIG,
    Done,
    Effect,
    Failed,
    Handle,
    Limited,
    Look,
    Nothing,
    Outcome,
    Running,
    Verified,
)
from orchestrator.runs.estate_record import Body, ReverseStarts, offsets, rows
from orchestrator.runs.ports import Clusters, EstateRecord
from orchestrator.topology.model import Topology
from orchestrator.values import TopicPartition
from orchestrator.wording import listed, plural

_REPLICAS = 3
_WRITE_TIMEOUT_S = 10.0


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class PrepareReverse(
    Effect[Nothing],
    name="prepare-reverse",
    phase="relocate",
    title="Create topics and access rules at {mirror.target} for the records that are copied back",
    expected_s=1.0,
    timeout_s=60.0,
    stays="the next failback needs these topics and rights, too",
):
    """Topics as durable as those at the standby, and rights for the mirror and for those who will read.

    What a producer may not write any more stays so: who may write is for a plan, and for a person, to say.
    """

    mirror: MirrorRef

    def perform(self, run: Running) -> Outcome[Nothing]:
        """See `Effect`."""
        topology, clusters = run.port(Topology), run.port(Clusters)
        home, standby, mirror = self.mirror.target, self.mirror.source, self.mirror.of(topology)
        # A file in which applications work at the standby: by it the primary is the target of a mirror.
        back = after_move(topology, self.mirror.other_way.of(topology))
        wanted = desired_topics(back, home)
        copies = {mirror.mirrored_topic(name) for name in mirror.topics}
        clusters.cluster(home).create_topics(
            {
                name: NewTopic(partitions=topic.partitions or 1, replicas=topic.replicas, config=topic.config)
                for name, topic in wanted.items()
                if name in copies
            }
        )
        brokers = len(clusters.cluster(standby).brokers())
        clusters.cluster(standby).create_topics(
            {mirror.offset_syncs_topic: NewTopic(replicas=min(_REPLICAS, brokers), config=SYNCS_CONFIG)}
        )
        count, writing = 0, {(producer.principal, "WRITE") for producer in topology.producers}
        for name in (home, standby):
            access = clusters.access(name)
            if access.authorization(sorted(clusters.cluster(name).brokers())).authorizer:
                rules = {r for r in desired_acls(back, name) if (r.principal, r.operation) not in writing}
                there = access.rules({rule.principal for rule in rules})
                access.add(rules - there)
                count += len(rules - there)
        return Done(Nothing(), f"{plural(len(copies), 'topic')} there, {plural(count, 'access rule')} added")


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class CreateReverse(
    Verified[Nothing],
    Effect[Nothing],
    name="create-reverse",
    phase="relocate",
    title="Create the reverse mirror {mirror}, stopped",
    expected_s=0.5,
    timeout_s=60.0,
    stays="the next failback uses the same reverse mirror",
):
    """Made of the mirror's own connector as it is now; one that is there already is told what has changed.

    Topics, limits, addresses and credentials may be others than when it was made. Its offsets stay.
    """

    mirror: MirrorRef

    def perform(self, run: Running) -> Outcome[Nothing]:
        """See `Effect`."""
        topology, connect = run.port(Topology), run.port(Workers).connect(self.mirror.workers)
        name = names_of(topology, self.mirror).source
        config = self._config(run)
        if name in connect.names():
            return self._change(run, name, config)

        def create(asked: str) -> None:
            # Where the answer to the first request was lost, the second would be refused for ever.
            if asked not in connect.names():
                connect.create_stopped(asked, config)

        return ask_connect(run, [name], create, run.timeout_s / 2)

    def verify(self, run: Running) -> Outcome[Nothing]:
        """Connect knows it, with that configuration."""
        connect = run.port(Workers).connect(self.mirror.workers)
        name = names_of(run.port(Topology), self.mirror).source
        if name not in connect.names():
            return Failed(f"Connect has no connector {name}")
        other = _differing(connect.configuration(name), self._config(run))
        return (
            Failed(f"connector {name} differs from the mirror in {listed(other)}")
            if other
            else Done(Nothing())
        )

    def _config(self, run: Running) -> dict[str, str]:
        topology, connect = run.port(Topology), run.port(Workers).connect(self.mirror.workers)
        forward = connect.configuration(names_of(topology, self.mirror.other_way).source)
        brokers = len(run.port(Clusters).cluster(self.mirror.target).brokers())
        back = self.mirror.of(topology)
        name = names_of(topology, self.mirror).source
        config = reverse_connector(name, forward, min(_REPLICAS, brokers), back.target_alias)
        return config | which_topics(back) if self.mirror.other_way.of(topology).patterns else config

    def _change(self, run: Running, name: str, config: dict[str, str]) -> Outcome[Nothing]:
        """Stopped first: until starts are set a topic that is new to it begins at its beginning."""
        connect = run.port(Workers).connect(self.mirror.workers)
        other = _differing(connect.configuration(name), config)
        if not other:
            return Done(Nothing())
        asked = stopped(run, connect, name)
        if not isinstance(asked, Done):
            return asked
        told = ask_connect(run, [name], lambda one: connect.configure(one, config), run.timeout_s / 4)
        return Done(Nothing(), f"changed in {listed(other)}") if isinstance(told, Done) else told


def _differing(there: Mapping[str, str], wanted: Mapping[str, str]) -> list[str]:
    """Keys of two configurations that do not say the same. Values may be secrets."""
    return sorted(key for key in there.keys() | wanted.keys() if there.get(key) != wanted.get(key))


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class SetReverseStarts(
    Verified[MirrorStarts],
    Effect[MirrorStarts],
    name="set-reverse-offsets",
    phase="relocate",
    title="Set the reverse mirror {mirror} to begin where applications began to write at {mirror.source}, "
    "in each partition where it has no offset yet",
    expected_s=0.2,
    timeout_s=60.0,
    stays="the next failback goes on from these offsets",
):
    """Set the first offset that it copies, only where it has none of its own: what it has copied it does
    not copy again. `starts`: by partition of the topics at the standby (none: from its beginning).

    Topics of `unmoved` have never moved, and begin at their ends now. `provisional`: where such began by what
    earlier runs set; a start of `starts` that lies behind what was copied since comes before it.
    """

    mirror: MirrorRef
    starts: Offsets
    unmoved: tuple[str, ...] = ()
    provisional: Offsets = field(default_factory=dict)

    def perform(self, run: Running) -> Outcome[MirrorStarts]:
        """See `Effect`."""
        there = mirror_position(run, self.mirror)
        provisional = self._at_ends(run, there)
        run.port(EstateRecord).write(self._told(provisional))
        left = self._left(there, provisional)
        asked = set_mirror_position(run, self.mirror, left) if left else Done(Nothing())
        return Done(self._result(provisional)) if isinstance(asked, Done) else asked

    def verify(self, run: Running) -> Outcome[MirrorStarts]:
        """Each partition that does not start at its beginning has an offset."""
        told = self._told_before(run)
        if told is None and self.unmoved:
            return Failed(f"it is not recorded where the mirror {self.mirror} begins")
        known = self.provisional if told is None else offsets(told.provisional)
        provisional = {tp: at for tp, at in known.items() if tp not in self.starts}
        left = self._left(mirror_position(run, self.mirror), provisional)
        result = self._result(provisional)
        if left:
            said = f"the mirror {self.mirror} has no offset for {', '.join(map(str, sorted(left)))}"
            return Failed(said, {"starts": offsets_to_json(result.starts)})
        return Done(result, f"start offsets of {plural(len(result.starts), 'partition')}")

    def facts(self, result: MirrorStarts) -> Iterable[Body]:
        """See `Effect`."""
        return [self._told(result.provisional)]

    def _result(self, provisional: Offsets) -> MirrorStarts:
        return MirrorStarts(starts={**provisional, **self.starts}, provisional=provisional)

    def _told(self, provisional: Offsets) -> ReverseStarts:
        return ReverseStarts(
            home=self.mirror.target,
            standby=self.mirror.source,
            starts=rows(self.starts),
            is_set=True,
            provisional=rows(provisional),
        )

    def _told_before(self, run: Running) -> ReverseStarts | None:
        """What this run has recorded already."""
        return run.port(EstateRecord).find(ReverseStarts, like=self._told({}))

    def _at_ends(self, run: Running, there: Offsets) -> Offsets:
        """Where topics that have never moved begin: at their ends, where the mirror has no offset yet."""
        told = self._told_before(run)
        known = {**self.provisional, **({} if told is None else offsets(told.provisional))}
        standby = run.port(Clusters).cluster(self.mirror.source)
        partitions = partitions_at(standby, self.unmoved) if self.unmoved else []
        ends = standby.end_offsets([tp for tp in partitions if tp not in there])
        return {tp: at for tp, at in {**known, **ends}.items() if tp not in self.starts}

    def _left(self, there: Offsets, provisional: Offsets) -> dict[TopicPartition, int | None]:
        """What still has to be set: partitions that do not start at their beginning, and have no offset, or
        one from before their topic moved.
        """
        wanted = {tp: start - 1 for tp, start in {**provisional, **self.starts}.items() if start > 0}
        overruled = {tp for tp in self.provisional if tp in self.starts}
        return {
            tp: at for tp, at in wanted.items() if tp not in there or (tp in overruled and there[tp] < at)
        }


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class AwaitCaughtUp(
    Limited[Nothing],
    Look[Nothing],
    name="await-caught-up",
    phase="drain",
    title="Wait until the reverse mirror {mirror} has caught up",
    expected_s=5.0,
):
    """Wait until what had been written at the standby when this was asked has come to the primary."""

    mirror: MirrorRef

    def perform(self, run: Running) -> Outcome[Nothing]:
        """See `Effect`."""
        topology = run.port(Topology)
        landing = source_partitions(topology, self.mirror.other_way.of(topology))
        logs = run.port(Clusters).cluster(self.mirror.source).log_ends(landing)
        standing = StandingLogs(
            ends={tp: log.end_offset for tp, log in logs.items()},
            starts={tp: log.start_offset for tp, log in logs.items()},
        )
        return drained(run, self.mirror, standing, end=None, stalled_s=None, timeout_s=run.timeout_s)


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class CloseReverseMap(
    Effect[Nothing],
    name="close-reverse-map",
    phase="translate",
    title="Record where the reverse mirror {mirror} has ended, for the next failover",
    expected_s=0.2,
    stays="a record of where the copies ended stays true",
):
    """Write the last pair of the stopped mirror back beside its own. Written twice it says the same.

    A group back at the primary reads the rest of what the standby had taken from the copy there. When the
    group comes to the standby again, it goes on in the landing topic from the same record. The map for that
    stays at the standby, and nobody could tell later where the copy ended.
    """

    mirror: MirrorRef
    end: Handle[MirrorEnd]

    def perform(self, run: Running) -> Outcome[Nothing]:
        """See `Effect`."""
        end, mirror = run.of(self.end), self.mirror.of(run.port(Topology))
        pairs = [
            OffsetSync(tp, read, end.ends[mirror.mirrored(tp)] - 1)
            for tp, read in sorted(end.mirror_offsets.items())
            if end.ends.get(mirror.mirrored(tp), 0) > 0
        ]
        writer = run.port(Clusters).cluster(self.mirror.source).writer(mirror.offset_syncs_topic)
        try:
            writer.write([encode_offset_sync(pair) for pair in pairs], _WRITE_TIMEOUT_S)
        finally:
            writer.close()
        return Done(Nothing(), f"ends of {plural(len(pairs), 'partition')}")
