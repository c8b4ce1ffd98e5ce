"""Keeps, of each position in a partition that may have gaps, the record that stands for it.

Where nothing between two offset syncs can be interpolated, the copy of that record tells the place at the
target (see `replication/content.py`), and once the source is lost it is too late to read it. A position is
read once: what stands before it does not change, unless the topic is made anew, gets another leader or is
compacted. Positions that stand still come first; those that move are followed as far as a round's bytes do.
"""

from __future__ import annotations

import threading
import time
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from orchestrator.adapters.kafka.contents import FETCHED_BYTES
from orchestrator.errors import DcctlError
from orchestrator.ports.servers import Contents
from orchestrator.replication.by_content import fingerprints_read
from orchestrator.replication.content import Fingerprint
from orchestrator.replication.source_gaps import TopicWriters
from orchestrator.snapshot.samples import FingerprintsSeen
from orchestrator.values import LogEnd, TopicPartition
from orchestrator.watch.recorder import SourceReading

_READ_TIMEOUT_S = 2.0
# What a reader of the samples topic goes back by holds all of it: see `writers.py`.
_RECORD_EVERY_S = 10.0
_AGAIN_AFTER_S = 1.0
_REMEMBERED_ROUNDS = 8


@dataclass(slots=True)
class _Partition:
    """What is known of one partition.

    `identity`: topic id, leader epoch, and whether it is compacted; what was read under another one is void.
    `wanted`: position -> the last round in which a group stood there, and the first. `without`: positions for
    which no record stands, in the log as it is.
    """

    identity: tuple[str, int, bool] = ("", -1, False)
    log: LogEnd = field(default_factory=lambda: LogEnd(0, 0))
    wanted: dict[int, tuple[int, int]] = field(default_factory=dict)
    known: dict[int, Fingerprint] = field(default_factory=dict)
    without: set[int] = field(default_factory=set)
    written_s: float | None = None

    @property
    def readable(self) -> range:
        """Positions before which the log has something."""
        return range(self.log.start_offset + 1, self.log.end_offset + 1)

    @property
    def is_compacted(self) -> bool:
        """Whether the topic is."""
        return self.identity[2]


class FingerprintKeeper:
    """Reads in a thread of its own. `offer` tells it of a round, `due` gives the records to write.

    `connect` opens a reader at the watched cluster; `bytes_per_round`: so much may be fetched (0: nothing is
    read). `passed`: the next source offset that the mirror has not copied, by partition.
    """

    def __init__(
        self,
        connect: Callable[[], Contents],
        topics: Iterable[str],
        watcher: str,
        log: Any,
        *,
        bytes_per_round: int,
        passed: Callable[[], Mapping[TopicPartition, int]] = dict,
        now_s: Callable[[], float] = time.time,
    ) -> None:
        self._connect, self._topics, self._watcher = connect, frozenset(topics), watcher
        self._log, self._now_s, self._passed = log, now_s, passed
        self._at_once = bytes_per_round // FETCHED_BYTES
        self._guard, self._wake, self._stopped = threading.Lock(), threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="fingerprints", daemon=True)
        self._partitions: dict[TopicPartition, _Partition] = {}
        self._round = 0
        self._reader: Contents | None = None
        self._is_lost = False
        self._said = ""

    def start(self) -> None:
        """Begin to read."""
        if self._at_once:
            self._thread.start()

    def stop(self) -> None:
        """End; what is under way is not waited for."""
        self._stopped.set()
        self._wake.set()

    def offer(self, reading: SourceReading, writers: Mapping[str, TopicWriters]) -> None:
        """Take the positions of a round, in partitions that may have gaps by what is known of `writers`."""
        if not self._at_once:
            return
        self._is_lost = reading.outcome == "failed"
        if self._is_lost:
            self._wake.set()
            return
        with self._guard:
            self._round += 1
            for tp, log in reading.ends.items():
                seen = writers.get(tp.topic)
                if tp.topic in self._topics and seen is not None and seen.gaps(tp.partition) != "no":
                    self._see(tp, log, reading.topic_ids.get(tp.topic, ""), seen.is_compacted)
                else:
                    self._partitions.pop(tp, None)
            for positions in reading.positions.values():
                for tp, position in positions.items():
                    partition = self._partitions.get(tp)
                    if partition is not None and position in partition.readable:
                        since = partition.wanted.get(position, (0, self._round))[1]
                        partition.wanted[position] = self._round, since
            for partition in self._partitions.values():
                self._forget_old(partition)
        self._wake.set()

    def _see(self, tp: TopicPartition, log: LogEnd, topic_id: str, is_compacted: bool) -> None:
        partition = self._partitions.setdefault(tp, _Partition())
        identity = (topic_id, log.leader_epoch, is_compacted)
        if partition.identity != identity:
            partition.identity = identity
            partition.known.clear()
        if partition.log != log:
            partition.without.clear()
        partition.log = log

    def _forget_old(self, partition: _Partition) -> None:
        """Of positions that nobody stands at any more the newest before each current one stays."""
        current = [position for position, (last, _) in partition.wanted.items() if last == self._round]
        known = sorted(partition.known)
        before = {known[at - 1] for position in current if (at := bisect_right(known, position))}
        oldest = self._round - _REMEMBERED_ROUNDS
        partition.wanted = {at: rounds for at, rounds in partition.wanted.items() if rounds[0] > oldest}
        kept = partition.wanted.keys() | before
        for position in partition.known.keys() - kept:
            del partition.known[position]

    def due(self) -> list[FingerprintsSeen]:
        """What is to be recorded (again) now; call `forget` if that failed."""
        now = time.monotonic()
        found = []
        with self._guard:
            for tp, partition in self._partitions.items():
                since = partition.written_s
                if not partition.known or (since is not None and now - since < _RECORD_EVERY_S):
                    continue
                partition.written_s = now
                found.append(
                    FingerprintsSeen(
                        watcher=self._watcher,
                        topic=tp.topic,
                        partition=tp.partition,
                        at_s=self._now_s(),
                        topic_id=partition.identity[0],
                        is_compacted=partition.is_compacted,
                        fingerprints=tuple(known for _, known in sorted(partition.known.items())),
                    )
                )
        return found

    def forget(self) -> None:
        """It is not known whether the records are at the target: they are due again."""
        with self._guard:
            for partition in self._partitions.values():
                partition.written_s = None

    def look(self) -> str:
        """Read what is wanted and not known, as much as a round may; returns why that failed."""
        if self._is_lost:
            # A client of a cluster that has died would turn in circles.
            self._close()
            return ""
        try:
            wanted = self._chosen()
            if wanted:
                self._reader = self._reader or self._connect()
                self._take(self._reader, wanted)
        except DcctlError as error:
            self._close()
            return f"{error.subject}: {error.problem}"
        except Exception as error:  # noqa: BLE001 - a bug here must not end the watcher's thread
            self._close()
            return f"bug: {error!r}"
        return ""

    def _chosen(self) -> dict[TopicPartition, list[int]]:
        passed = self._passed()
        with self._guard:
            choice = sorted(
                (since == self._round, -last, since, tp, position)
                for tp, partition in self._partitions.items()
                for position, (last, since) in partition.wanted.items()
                if position not in partition.known
                and position not in partition.without
                and (not partition.is_compacted or position <= passed.get(tp, 0))
            )
        found: dict[TopicPartition, list[int]] = {}
        for _, _, _, tp, position in choice[: self._at_once]:
            found.setdefault(tp, []).append(position)
        return {tp: sorted(positions) for tp, positions in found.items()}

    def _take(self, reader: Contents, wanted: Mapping[TopicPartition, list[int]]) -> None:
        with self._guard:
            seen = {tp: replace(self._partitions[tp]) for tp in wanted if tp in self._partitions}
        found = fingerprints_read(
            reader,
            {tp: positions for tp, positions in wanted.items() if tp in seen},
            starts={tp: before.log.start_offset for tp, before in seen.items()},
            compacted={tp.topic for tp, before in seen.items() if before.is_compacted},
            timeout_s=_READ_TIMEOUT_S,
        )
        with self._guard:
            for tp, by_position in found.items():
                partition = self._partitions.get(tp)
                if partition is None or partition.identity != seen[tp].identity:
                    continue
                for position in wanted[tp]:
                    if position not in by_position and position in partition.wanted:
                        # Not read in time: others come first the next time.
                        partition.wanted[position] = partition.wanted[position][0], self._round
                for position, one in by_position.items():
                    if one is None:
                        partition.without.add(position)
                    else:
                        partition.known[position] = one
                        partition.written_s = None

    def _close(self) -> None:
        if self._reader is not None:
            self._reader.close()
            self._reader = None

    def _run(self) -> None:
        while not self._stopped.is_set():
            self._wake.wait()
            self._wake.clear()
            problem = "" if self._stopped.is_set() else self.look()
            if problem != self._said:
                self._said = problem
                if problem:
                    self._log.warning("records at positions cannot be read", problem=problem)
                else:
                    self._log.info("records at positions can be read again")
            if problem:
                self._stopped.wait(_AGAIN_AFTER_S)
        self._close()
