"""The watcher of one cluster at one of its sites: it reads, tells what has happened, and changes nothing.

Nothing fails over by what it sees. It survives whatever cluster and ensemble do; what it has seen is kept at
its host for an hour, and its newest reading with the events in the ensemble.
"""

from __future__ import annotations

import secrets
import socket
import threading
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from orchestrator.adapters.ensemble import client_addresses, describe_ensemble, server_mode
from orchestrator.adapters.kafka import KafkaCluster
from orchestrator.adapters.kafka.told_metadata import MetadataReader
from orchestrator.adapters.probe import listening
from orchestrator.errors import DcctlError
from orchestrator.estate.live.connections import kafka_cluster
from orchestrator.estate.live.observe import zookeeper_hosts
from orchestrator.ports.hosts import Listening
from orchestrator.topology.model import Topology
from orchestrator.watch.within_cluster.looking import ANSWER_WITHIN_S, Looking
from orchestrator.watch.within_cluster.reading import Reading
from orchestrator.watch.within_cluster.readings_file import ReadingsFile
from orchestrator.watch.within_cluster.said import in_words, resumed, said_of
from orchestrator.watch.within_cluster.saying import Saying
from orchestrator.watch.within_cluster.story import Event, Story, after_reading

_CLOCK_STEP_S = 1.0
_WARM_UP_S = 20.0


class SteadyTime:
    """Wall time that goes on as monotonic time does, so that durations are right, until the clock is set."""

    def __init__(self, log: Any) -> None:
        self._log = log
        self._offset_s = time.time() - time.monotonic()

    def now_s(self) -> float:
        """Unix epoch seconds."""
        now_s = time.monotonic() + self._offset_s
        step_s = time.time() - now_s
        if abs(step_s) < _CLOCK_STEP_S:
            return now_s
        self._log.warning(
            "the clock was set: an event that goes on has a wrong duration", by_s=round(step_s, 1)
        )
        self._offset_s += step_s
        return now_s + step_s


class RealServers:
    """See `looking.Servers`."""

    def __init__(self, cluster: KafkaCluster) -> None:
        self._cluster = cluster

    def listening(self, addresses: Iterable[str], timeout_s: float) -> Mapping[str, Listening]:
        """See `Servers`."""
        return listening(tuple(addresses), timeout_s)

    def zookeepers(self) -> Mapping[int, str]:
        """See `Servers`."""
        hosts = zookeeper_hosts(self._cluster)
        return client_addresses(describe_ensemble(hosts), hosts.split(","), ANSWER_WITHIN_S)

    def zookeeper_mode(self, address: str, timeout_s: float) -> str | None:
        """See `Servers`."""
        return server_mode(address, timeout_s)


def next_due(due: float, interval_s: float, now: float, worked_s: float) -> float:
    """When the next round begins, after one that was due at `due` (monotonic): at the next beat.

    A late round is not made up for; and the watcher rests as long as the round kept a processor busy
    (`worked_s`), so that very many partitions take half of one at most.
    """
    return max(due + interval_s, now + worked_s)


class ClusterWatcher:
    """Watches until `stop`. `story` and `newest` (None before the first reading) are for metrics."""

    def __init__(
        self, topology: Topology, cluster: str, site: str, log: Any, *, interval_s: float, folder: Path
    ) -> None:
        self.cluster, self.site, self.interval_s = cluster, site, interval_s
        self.name = f"{socket.gethostname()}-{secrets.token_hex(4)}"
        self._log = log.bind(cluster=cluster, site=site, watcher=self.name)
        described = topology.clusters[cluster]
        self._time = SteadyTime(self._log)
        self._kafka = kafka_cluster(topology, cluster)
        self._looking = Looking(
            MetadataReader(cluster, described.client, ANSWER_WITHIN_S),
            RealServers(self._kafka),
            described.bootstrap,
            described.metadata,
            self._time.now_s,
            site_of=described.site_of,
        )
        self._file = ReadingsFile(folder)
        self._saying = Saying(topology, cluster, site, self._log) if topology.coordination else None
        self._stopped = threading.Event()
        self._said_problem = self._said_unkept = ""
        self.story = Story()
        self.newest: Reading | None = None

    def stop(self) -> None:
        """End after the round under way, or the question with which it connects."""
        self._stopped.set()

    def run(self) -> None:
        """Watch until stopped."""
        self._log.info("watching", interval_s=self.interval_s)
        self._resume()
        if self._saying is not None:
            self._saying.start()
        try:
            if not self._looking.warm_up(_WARM_UP_S, self._stopped.is_set) and not self._stopped.is_set():
                self._log.warning("no broker has answered yet", within_s=_WARM_UP_S)
            self._rounds()
        finally:
            if self._saying is not None:
                self._saying.stop()
            self._looking.close()
            self._kafka.close()
            self._log.info("stopped")

    def _resume(self) -> None:
        """Go on with the events of whoever watched here before; without the ensemble they are not known."""
        if self._saying is None:
            return
        try:
            before = self._saying.before()
        except DcctlError as error:
            self._log.warning(
                "what was seen before is not known", problem=f"{error.subject}: {error.problem}"
            )
            return
        if before is not None:
            self.story = resumed(before)
            self._looking.remember({int(number): site for number, site in before.seen.sites.items()})

    def _rounds(self) -> None:
        due = time.monotonic()
        while not self._stopped.is_set():
            worked_s = -time.process_time()
            try:
                self._round()
            except Exception:  # noqa: BLE001 - whoever watches goes on
                self._log.exception("bug: the round was lost, the next one follows")
            worked_s += time.process_time()
            due = next_due(due, self.interval_s, time.monotonic(), worked_s)
            self._stopped.wait(due - time.monotonic())

    def _round(self) -> None:
        reading = self._looking.look()
        before = self.story
        self.story, self.newest = after_reading(before, reading), reading
        self._tell(before)
        self._file.keep(reading)
        if self._file.problem != self._said_unkept:
            self._said_unkept = self._file.problem
            if self._said_unkept:
                self._log.warning("readings are not kept at this host", problem=self._said_unkept)
        if self._saying is not None:
            self._saying.say(
                said_of(self.story, reading, site=self.site, host=socket.gethostname(), watcher=self.name)
            )

    def _tell(self, before: Story) -> None:
        """In the log: what has begun, what has ended, and what cannot be asked."""
        now_s = self.newest.ended_at_s if self.newest is not None else 0.0
        for key, event in self.story.going_on.items():
            if key not in before.going_on:
                self._say("begins", event, now_s)
        known = set(map(id, before.ended))
        for event in self.story.ended:
            if id(event) not in known:
                self._say("event", event, now_s)
        problem = (
            "" if self.newest is None else "; ".join([self.newest.problem, *self.newest.unasked]).strip("; ")
        )
        if problem != self._said_problem:
            self._said_problem = problem
            if problem:
                self._log.warning("not told", problem=problem)

    def _say(self, what: str, event: Event, now_s: float) -> None:
        self._log.info(what, kind=event.kind, subject=event.subject, said=in_words(event, now_s))
