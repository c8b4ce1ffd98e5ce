"""The copy of the estate record in a samples topic, for a place that may have to act without the ensemble.

The watcher's host keeps it: each fact that is in the ensemble is written there once, under its number. What
the record says of the clusters' ids it tells the watcher as well (`known`).
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from time import monotonic
from typing import Any

from orchestrator.adapters.kafka import KafkaCluster
from orchestrator.errors import ClusterError, DcctlError
from orchestrator.estate.live.connections import kafka_cluster
from orchestrator.ports.part import Part
from orchestrator.runs.estate_record import ClusterIds, Fact, Withdrawn, cluster_ids, life_of
from orchestrator.runs.fact_copy import encode_copy
from orchestrator.runs.live.coordination import coordination_connection
from orchestrator.runs.live.estate_record import FIRST, FactName, fact_names, is_known, read_fact
from orchestrator.snapshot.live.asking import asked
from orchestrator.snapshot.live.fact_copy import read_fact_copies
from orchestrator.snapshot.live.identity import ClusterCheck, KnownClusters
from orchestrator.snapshot.live.tidying import create_samples_topic
from orchestrator.snapshot.watched import Watched
from orchestrator.topology.model import Topology
from orchestrator.verbs.live.move_estate import Estate

_EVERY_S = 5.0
_ANEW_EVERY_S = 600.0
_WRITE_TIMEOUT_S = 10.0


class FactCopier:
    """Copies facts from the ensemble to where a watcher keeps what it sees. `run` returns after `stop`."""

    def __init__(
        self, topology: Topology, watched: Watched, log: Any, known: KnownClusters | None = None
    ) -> None:
        self._topology, self._watched = topology, watched
        self._known = known or KnownClusters()
        self._ids: dict[FactName, Fact] = {}
        self._log = log.bind(mirror=watched.label)
        self._stopped = threading.Event()
        self._copied: set[FactName] = set()
        self._made_at: str | None = None
        self._life = ""
        self._said = ""
        self._recreated_at_s = monotonic()

    def stop(self) -> None:
        """End after the look under way."""
        self._stopped.set()

    def run(self) -> None:
        """Copy until stopped. An ensemble or a target that is away is waited for."""
        while not self._stopped.is_set():
            try:
                count, problem = self.copy_once(), ""
            except DcctlError as error:
                count, problem = 0, f"{error.subject}: {error.problem}"
            except Exception as error:  # noqa: BLE001 - the copy is kept as long as the watcher lives
                count, problem = 0, f"bug: {type(error).__name__} {error}"
            if count:
                self._log.info("facts of the estate record copied", facts=count)
            if problem and problem != self._said:
                self._log.warning("the estate record is not copied", problem=problem)
            self._said = problem
            self._stopped.wait(_EVERY_S)

    def copy_once(self) -> int:
        """Write what is not there yet; returns how many. Raises `DcctlError`."""
        if monotonic() - self._recreated_at_s >= _ANEW_EVERY_S:
            # The topic may have been made anew; a copy that is there already is compacted away.
            self._copied.clear()
            self._recreated_at_s = monotonic()
        coordination = coordination_connection(self._topology)
        coordination.open()
        try:
            name = self._topology.name
            known = fact_names(coordination, name)
            life = life_of(read_fact(coordination, name, n) for n in known if n.number == FIRST)
            if life != self._life:
                # The numbers of a record that was made anew say nothing of those before.
                self._life = life
                self._copied.clear()
                self._ids.clear()
            new = [found for found in known if found not in self._copied and is_known(found)]
            facts = {found: read_fact(coordination, name, found) for found in new}
        finally:
            coordination.close()
        self._ids |= {
            found: fact for found, fact in facts.items() if isinstance(fact.body, ClusterIds | Withdrawn)
        }
        if known:
            self._known.learn(cluster_ids(self._ids.values()))
        if facts:
            self._write(life, facts)
        return len(facts)

    def _write(self, life: str, facts: Mapping[FactName, Fact]) -> None:
        """One by one: what cannot be written keeps no other from being there."""
        target = kafka_cluster(self._topology, self._watched.kept_at)
        target.brokers(_WRITE_TIMEOUT_S)
        ClusterCheck(self._watched, self._known).refuse_others(target=target.cluster_id)
        self._see_topic(target)
        writer = target.writer(self._watched.samples_topic)
        failed: ClusterError | None = None
        try:
            for name, fact in facts.items():
                try:
                    writer.write([encode_copy(life, fact)], _WRITE_TIMEOUT_S)
                except ClusterError as error:
                    failed = error
                else:
                    self._copied.add(name)
        finally:
            writer.close()
        if failed is not None:
            raise failed

    def _see_topic(self, target: KafkaCluster) -> None:
        """Make the samples topic, once at each cluster: one that is gone later was deleted by somebody.

        That may be an apply of a file without the mirror, and the facts of that very apply are to be copied.
        Raises `ClusterError` while it is gone; one that is made anew gets every fact.
        """
        topic = self._watched.samples_topic
        if target.cluster_id != self._made_at:
            create_samples_topic(target, topic)
            self._made_at = target.cluster_id
        elif topic not in target.topics([topic], _WRITE_TIMEOUT_S):
            self._copied.clear()
            raise ClusterError(
                f"{target.subject}, topic {topic}",
                "it was deleted: an apply of a file with the mirror creates "
                "it, and so does a watcher that starts",
            )


def copied_facts(estate: Estate) -> Part[Sequence[Fact]]:
    """The facts whose copies are at the target of a move, as a part of its picture."""
    target, topic = estate.target, estate.mirror.samples_topic
    subject = f"copy of the estate record at {target.name}"
    return asked(subject, lambda: read_fact_copies(target, topic), estate.servers.clock)
