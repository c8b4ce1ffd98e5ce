"""Copies the map of a mirror into a watched cluster to the place that needs it once that cluster is lost.

Record by record, as it is, in a thread of its own: no round waits for it. Where a copy ends stands in the
copy, so a watcher may be killed at any moment, and several may be at it (see `replication/kept_map.py`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from orchestrator.adapters.kafka.writer import UnacknowledgedError
from orchestrator.errors import ClusterError, DcctlError
from orchestrator.ports.servers import Kafka, Record
from orchestrator.replication.engine import Engine
from orchestrator.replication.kept_map import Kept, decode_kept, encode_kept
from orchestrator.topology.model import Replication
from orchestrator.values import TopicPartition

_LOOK_EVERY_S = 0.5
_WITHIN_S = 5.0
_AT_ONCE = 5_000
# The newest record of the copy is looked for among so many of its last ones.
_LAST = 100


class Writes(Protocol):
    """Who writes to the copy."""

    def write(self, records: Sequence[tuple[bytes, bytes | None]], timeout_s: float) -> None:
        """Write records and wait until all are acknowledged. Raises `UnacknowledgedError`."""

    def close(self) -> None:
        """End the connections."""


class MapCopier:
    """Copies one mirror's map. `start` begins, `stop` ends; `copy` is one turn.

    `refuse_others` is given the id of the watched cluster, and raises where it is another one than before.
    `lag_records`: how many records of the map were not copied when it was looked at last; None before.
    """

    def __init__(  # noqa: PLR0917 - from where to where, by whom
        self,
        mirror: Replication,
        engine: Engine,
        watched: Callable[[], Kafka],
        place: Callable[[], Kafka],
        writer: Writes,
        log: Any,
        refuse_others: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.mirror, self.lag_records = mirror, None if engine.map_topic(mirror) else 0
        self._from = TopicPartition(engine.map_topic(mirror), 0)
        self._to = TopicPartition(mirror.kept_map_topic, 0)
        self._watched, self._place, self._writer, self._log = watched, place, writer, log
        self._refuse_others = refuse_others
        self._of, self._topic_id, self._next = (mirror.source, mirror.target), "", 0
        self._is_known = False
        self._said = ""
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="map", daemon=True)

    def start(self) -> None:
        """Begin, where the engine keeps a map that can be copied."""
        if self._from.topic:
            self._thread.start()

    def stop(self) -> None:
        """End; a turn under way is not waited for."""
        self._stopped.set()

    def copy(self) -> int:
        """One turn: copy what is new, and acknowledge it. Returns how many records. Raises `ClusterError`."""
        if not self._is_known:
            self._topic_id, self._next = self._where_the_copy_ends()
            self._is_known = True
        watched = self._watched()
        watched.brokers(_WITHIN_S)
        # An address may lead to another cluster than before: what that has is no map of this one.
        self._refuse_others(watched.cluster_id or "")
        topic = watched.topics([self._from.topic], _WITHIN_S).get(self._from.topic)
        if topic is None:
            raise ClusterError(f"{watched.subject}, topic {self._from.topic}", "there is no such topic")
        log = watched.log_ends([self._from], _WITHIN_S)[self._from]
        if topic.topic_id != self._topic_id:
            self._topic_id, self._next = topic.topic_id, log.start_offset
        begin = max(self._next, log.start_offset)
        self.lag_records = max(0, log.end_offset - begin)
        copied = 0
        if log.end_offset <= begin:
            return copied
        for chunk in watched.read_records({self._from: (begin, log.end_offset)}):
            for first in range(0, len(chunk), _AT_ONCE):
                copied += self._write(chunk[first : first + _AT_ONCE])
        self._next = log.end_offset
        self.lag_records = 0
        return copied

    def _write(self, records: Sequence[Record]) -> int:
        try:
            self._writer.write(
                [encode_kept(Kept(self._of, self._topic_id, one)) for one in records], _WITHIN_S
            )
        except UnacknowledgedError:
            # What was taken and what was not is seen in the copy.
            self._is_known = False
            raise
        self._next = records[-1].offset + 1
        return len(records)

    def _where_the_copy_ends(self) -> tuple[str, int]:
        """The incarnation of the map's topic that is copied, and the next offset of it to copy."""
        place = self._place()
        if self._to.topic not in place.topics([self._to.topic], _WITHIN_S):
            raise ClusterError(
                f"{place.subject}, topic {self._to.topic}",
                "there is no such topic, so the map that positions need once "
                f"{self.mirror.target} is lost is kept nowhere",
                "dcctl apply FILE creates it",
            )
        log = place.log_ends([self._to], _WITHIN_S)[self._to]
        newest: Kept | None = None
        for chunk in place.read_records(
            {self._to: (max(log.start_offset, log.end_offset - _LAST), log.end_offset)}
        ):
            for record in chunk:
                found = decode_kept(record, self._from.topic)
                newest = found if found is not None and found.mirror == self._of else newest
        return ("", 0) if newest is None else (newest.topic_id, newest.record.offset + 1)

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                copied = self.copy()
            except DcctlError as error:
                self._say(f"{error.subject}: {error.problem}", error.hint)
            except Exception:  # noqa: BLE001 - the next turn may do better
                self._log.exception("bug: a turn of copying a map was lost")
                self._is_known = False
            else:
                if self._said or copied > _AT_ONCE:
                    self._log.info("map copied", map=self._to.topic, records=copied)
                self._said = ""
            self._stopped.wait(_LOOK_EVERY_S)
        self._writer.close()

    def _say(self, problem: str, hint: str) -> None:
        if problem != self._said:
            self._said = problem
            self._log.warning("map is not copied", map=self._to.topic, problem=problem, hint=hint)
