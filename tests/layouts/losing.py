"""Losing each site of a stretched cluster in turn, getting it back, and holding all that against `explain`."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from orchestrator.cli.main import run
from orchestrator.simulation.crew import Crew
from orchestrator.simulation.running import Simulation
from orchestrator.simulation.servers import INTERNAL_PARTITIONS
from orchestrator.topology.durability.analysis import explain_topology
from orchestrator.topology.durability.losses import loss_of
from orchestrator.topology.durability.shapes import OFFSETS_TOPIC
from orchestrator.topology.durability.values import ClusterFate
from orchestrator.values import TopicPartition
from tests.layouts.commits import Committers
from tests.layouts.leaders import await_leaders
from tests.layouts.observed import metadata_changes, records_read, topic_partitions
from tests.layouts.writes import Writer
from tests.topic_settings import set_topic_config

# What shall come is waited for as long as a busy machine may need: it ends the wait when it is there.
_COMES_WITHIN_S = 120.0
_RETURN_S = 180.0
# What shall not come is waited for in vain. A dead broker is noticed after six seconds, then leaders are
# elected: three times as long is enough to see that nothing goes on by itself.
_STAYS_AWAY_S = 20.0
_NOBODY_LEFT_S = 6.0
_NO_WRITE_S = 8.0
_WARM_UP_S = 3.0


@dataclass(slots=True)
class Rehearsal:
    """One stretched cluster under load, whose sites are lost one after the other."""

    simulation: Simulation
    cluster: str
    writer: Writer
    committers: Committers

    def lose_and_recover(self, dc: str) -> None:
        """Lose one site, compare what follows with the prediction, act where it says so, get the site back."""
        topology = self.simulation.topology
        fate = explain_topology(topology, [loss_of(topology, [dc])]).losses[0].clusters[self.cluster]
        survivors = [site for site in topology.clusters[self.cluster].datacenters if site != dc]
        replicas = self._replicas()
        self._tell(f"losing {dc}: predicted {fate.control_plane}, {_words(fate)}")
        time.sleep(_WARM_UP_S)
        self.simulation.site(dc).kill()
        lost_at_s = time.time()

        within_s = _STAYS_AWAY_S if survivors else _NOBODY_LEFT_S
        if fate.control_plane == "continues":
            within_s = _COMES_WITHIN_S
        changed_after_s = metadata_changes(self.simulation, self.cluster, lost_at_s, within_s)
        self._tell(f"metadata can be changed after {_seconds(changed_after_s)}")
        assert (changed_after_s is not None) == (fate.control_plane == "continues"), fate.reason
        if changed_after_s is not None:
            self._await_leaders(survivors)
        stalled = self._stalled_as_predicted(fate, lost_at_s if changed_after_s is None else time.time())
        groups = self._stalled_groups_as_predicted(fate)

        if survivors and fate.control_plane != "lost":
            waiting = {partition.topic for partition in stalled} | ({OFFSETS_TOPIC} if groups else set())
            self._act(dc, fate, survivors, replicas, waiting)
            self._assert_nothing_acknowledged_is_missing(fate)
        self._bring_back(dc, fate)

    def _stalled_as_predicted(self, fate: ClusterFate, since_s: float) -> set[TopicPartition]:
        """Partitions that take no writes: none of a topic that shall go on, some of each of the others."""
        going_on = {tp for tp in self.writer.partitions if fate.topics[tp.topic].writes == "continue"}
        late = self.writer.await_acks(since_s, _COMES_WITHIN_S, going_on)
        for tp in late:
            raise AssertionError(f"{tp} takes no writes: {fate.topics[tp.topic].reason}")
        others = self.writer.partitions - going_on
        stalled = self.writer.await_acks(since_s, _NO_WRITE_S, others)
        self._tell(f"{len(stalled)} of {len(self.writer.partitions)} partitions take no writes")
        for name in {tp.topic for tp in others} - {tp.topic for tp in stalled}:
            raise AssertionError(f"{name} is written: {fate.topics[name].writes}, {fate.topics[name].reason}")
        return stalled

    def _stalled_groups_as_predicted(self, fate: ClusterFate) -> list[str]:
        """Groups that cannot commit: none if the offsets topic shall go on, else some."""
        offsets = fate.topics[OFFSETS_TOPIC]
        goes_on = offsets.writes == "continue"
        groups = self.committers.stalled(_COMES_WITHIN_S if goes_on else _NO_WRITE_S)
        self._tell(f"{len(groups)} of {INTERNAL_PARTITIONS} groups cannot commit")
        assert (not groups) == goes_on, f"{groups} cannot commit: {offsets.writes}, {offsets.reason}"
        return groups

    def _act(
        self,
        lost: str,
        fate: ClusterFate,
        survivors: list[str],
        replicas: Mapping[TopicPartition, tuple[int, ...]],
        stalled: set[str],
    ) -> None:
        """What the plan for a lost site will do: a quorum first, then leaders, then min.insync.replicas."""
        if fate.control_plane == "needs-procedure":
            self._must("failover", "--attest-down", lost)
            changed = metadata_changes(self.simulation, self.cluster, time.time(), _COMES_WITHIN_S)
            self._tell(f"forced quorum: metadata can be changed after {_seconds(changed)}")
            assert changed is not None
        alive = {
            node.node_id for node in self.simulation.estate.brokers_of(self.cluster) if node.dc in survivors
        }
        for name in sorted(stalled):
            assert fate.topics[name].writes == "need-procedure", fate.topics[name].reason
            left = min(len(alive & set(ids)) for tp, ids in replicas.items() if tp.topic == name)
            self._set_min_insync(name, left)
        self._assert_all_is_written()

    def _bring_back(self, dc: str, fate: ClusterFate) -> None:
        started_s = time.monotonic()
        self.simulation.site(dc).restart()
        if fate.control_plane == "needs-procedure":
            self._must("failback")
        assert self.simulation.await_site(dc, self._progress, _RETURN_S) == {}
        for topic in self.simulation.topology.topics_of(self.cluster):
            self._set_min_insync(topic.name, topic.min_insync_replicas)
        offsets = self.simulation.topology.clusters[self.cluster].internal_topic(OFFSETS_TOPIC)
        self._set_min_insync(OFFSETS_TOPIC, offsets.min_insync_replicas)
        self._assert_all_is_written()
        self._tell(f"{dc} is back and in sync after {time.monotonic() - started_s:.1f} s")
        self._assert_nothing_acknowledged_is_missing(fate)

    def _assert_nothing_acknowledged_is_missing(self, fate: ClusterFate) -> None:
        acked = self.writer.ledger.numbers()
        found = records_read(self.simulation, self.cluster, acked)
        missing = {tp: sorted(numbers - found[tp]) for tp, numbers in acked.items() if numbers - found[tp]}
        known = self.writer.ledger.numbers()
        extra = sum(len(numbers - known[tp]) for tp, numbers in found.items())
        self._tell(
            f"{sum(map(len, acked.values()))} acknowledged, {sum(map(len, missing.values()))} missing, "
            f"{extra} more that were not acknowledged"
        )
        for tp, numbers in missing.items():
            assert fate.topics[tp.topic].acked_records == "at-risk", f"{tp}: {numbers[:5]} are gone"

    def _assert_all_is_written(self) -> None:
        stalled = self.writer.await_acks(time.time(), _COMES_WITHIN_S)
        assert not stalled, f"still no writes to {sorted(stalled)}"
        groups = self.committers.stalled(_COMES_WITHIN_S)
        assert not groups, f"groups still cannot commit: {groups}"

    def _await_leaders(self, survivors: list[str]) -> None:
        brokers = {
            node.node_id for node in self.simulation.estate.brokers_of(self.cluster) if node.dc in survivors
        }
        crew = Crew(self.cluster, self._progress, _COMES_WITHIN_S)
        crew.run([lambda: await_leaders(crew, self.simulation.cluster(self.cluster), brokers)])

    def _replicas(self) -> dict[TopicPartition, tuple[int, ...]]:
        topics = [topic.name for topic in self.simulation.topology.topics_of(self.cluster)]
        described = self.simulation.cluster(self.cluster).topics([*topics, OFFSETS_TOPIC])
        return {
            partition: replicas
            for topic in described.values()
            for partition, replicas in zip(topic.partitions, topic.replicas, strict=True)
        }

    def _set_min_insync(self, topic: str, wanted: int) -> None:
        self._tell(f"min.insync.replicas of {topic} is {wanted}")
        cluster = self.simulation.cluster(self.cluster)
        set_topic_config(cluster, topic, {"min.insync.replicas": str(wanted)})

    def _must(self, verb: str, *words: str) -> None:
        """As an operator would."""
        file = str(self.simulation.topology_path)
        assert run([verb, file, *words, "--yes"]) == 0, f"{verb} of {file} did not end well"

    def _progress(self, stage: str, detail: str) -> None:
        self._tell(f"{stage}: {detail}")

    def _tell(self, text: str) -> None:
        sys.stderr.write(f"{time.strftime('%H:%M:%S')} {self.simulation.name}: {text}\n")


def rehearse(simulation: Simulation, datacenters: Sequence[str] | None = None) -> None:
    """Lose these sites (default: each) of a stretched cluster in turn, under a load of acks=all."""
    (cluster,) = simulation.topology.clusters
    partitions = topic_partitions(simulation, cluster)
    operator = simulation.client_properties(cluster, "operator")
    topic = simulation.topology.topics_of(cluster)[0].name
    with Writer(operator, partitions) as writer, Committers(operator, topic) as committers:
        assert not writer.await_acks(time.time(), _COMES_WITHIN_S)
        assert not committers.stalled(_COMES_WITHIN_S)
        rehearsal = Rehearsal(simulation, cluster, writer, committers)
        for dc in datacenters or simulation.topology.clusters[cluster].datacenters:
            rehearsal.lose_and_recover(dc)


def _seconds(found: float | None) -> str:
    return "no time at all: it cannot" if found is None else f"{found:.1f} s"


def _words(fate: ClusterFate) -> str:
    return ", ".join(
        f"{name}: {topic.acked_records}/{topic.writes}" for name, topic in sorted(fate.topics.items())
    )
