"""Looks now and then at who writes topics and their copies: in transactions or not, and are they compacted.

An exact translation rests on it (`replication/source_gaps.py`), and once the source is lost it is too late
to look. librdkafka cannot ask for producers: Kafka's own Admin does, in the Java process that a failover
needs as well. Where there is no Java, or no right to ask, nobody looked, and positions are translated less
exactly.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from orchestrator.errors import DcctlError
from orchestrator.estate.live.connections import kafka_cluster
from orchestrator.replication.source_gaps import TopicWriters
from orchestrator.snapshot.live.gaps_now import writers_told_by
from orchestrator.snapshot.samples import WritersSeen
from orchestrator.topology.model import Topology

_LOOK_EVERY_S = 20.0
_AGAIN_AFTER_S = 3.0
# The end of the samples topic has to tell it: a reader goes back some 20 s from the newest good round.
_RECORD_EVERY_S = 10.0
_BLOCK_TOPICS = 200


def look_at_writers(topology: Topology, cluster: str, topics: Iterable[str]) -> dict[str, TopicWriters]:
    """Who writes these topics at a cluster now. Raises `DcctlError` where it cannot be asked."""
    return writers_told_by(kafka_cluster(topology, cluster), topics)


class WritersKeeper:
    """Looks in a thread of its own, at one cluster after the other. `due` gives the records to write."""

    def __init__(
        self,
        looks: Sequence[Callable[[], Mapping[str, TopicWriters]]],
        watcher: str,
        log: Any,
        now_s: Callable[[], float] = time.time,
    ) -> None:
        self._looks, self._watcher, self._log, self._now_s = tuple(looks), watcher, log, now_s
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="writers", daemon=True)
        self._guard = threading.Lock()
        self._seen: dict[str, tuple[float, TopicWriters]] = {}
        self._written_s: float | None = None
        self._said = ""

    def take_over(self, known: Mapping[str, TopicWriters]) -> None:
        """Go on from what earlier watchers have seen, of the topics as they are."""
        mine = {name: seen.topic_id for name, (_, seen) in self._seen.items()}
        self._take(
            0.0,
            {name: seen for name, seen in known.items() if mine.get(name, seen.topic_id) == seen.topic_id},
        )

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def stop(self) -> None:
        """End; a look under way is not waited for."""
        self._stopped.set()

    def due(self) -> list[WritersSeen]:
        """All that was ever seen, if it is to be recorded (again) now; call `forget` if that failed."""
        now = time.monotonic()
        with self._guard:
            if not self._seen or (self._written_s is not None and now - self._written_s < _RECORD_EVERY_S):
                return []
            self._written_s = now
            names = sorted(self._seen)
            return [
                WritersSeen(
                    watcher=self._watcher,
                    block=start // _BLOCK_TOPICS,
                    at_s=max(self._seen[name][0] for name in names[start : start + _BLOCK_TOPICS]),
                    topics={name: self._seen[name][1] for name in names[start : start + _BLOCK_TOPICS]},
                )
                for start in range(0, len(names), _BLOCK_TOPICS)
            ]

    @property
    def seen(self) -> dict[str, TopicWriters]:
        """All that was ever seen, by topic."""
        with self._guard:
            return {name: seen for name, (_, seen) in self._seen.items()}

    def forget(self) -> None:
        """It is not known whether the records are at the target: they are due again."""
        self._written_s = None

    def look(self) -> str:
        """One look at each; returns why any of them brought nothing."""
        problems = []
        for look in self._looks:
            try:
                self._take(self._now_s(), look())
            except DcctlError as error:
                problems.append(f"{error.subject}: {error.problem}")
            except Exception as error:  # noqa: BLE001 - a bug here must not end the watcher's thread
                problems.append(f"bug: {error!r}")
        return "; ".join(problems)

    def _take(self, at_s: float, topics: Mapping[str, TopicWriters]) -> None:
        with self._guard:
            for name, seen in topics.items():
                _, known = self._seen.get(name, (at_s, None))
                now = known.seen_again(seen) if known and known.topic_id == seen.topic_id else seen
                if now != known:
                    self._written_s = None
                self._seen[name] = at_s, now

    def _run(self) -> None:
        while not self._stopped.is_set():
            problem = self.look()
            if problem != self._said:
                self._said = problem
                if problem:
                    self._log.warning("producers of the topics cannot be seen", problem=problem)
                else:
                    self._log.info("producers of the topics can be seen again")
            self._stopped.wait(_AGAIN_AFTER_S if problem else _LOOK_EVERY_S)
