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
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from orchestrator.adapters.kafka.contents import FETCHED_BYTES
from orchestrator.errors import DcctlError
from orchestrator.ports.servers import Contents
from orchestrator.replication.by_content import fingerprints_read
from orchestrator.replication.content import Fingerprint
from orchestrator.replication.source_gaps import TopicWriters
from orchestrator.snapshot.samples import FingerprintsSeen, group_subject, topic_subject
from orchestrator.values import LogEnd, TopicPartition
from orchestrator.watch.recorder import SourceReading

_READ_TIMEOUT_S = 2.0
# What a reader of the samples topic goes back by holds all of it: see `writers.py`.
_RECORD_EVERY_S = 10.0
_AGAIN_AFTER_S = 1.0
_REMEMBERED_ROUNDS = 8
_FORGOTTEN_EVERY = 4
# About 100 bytes each: 20 rounds, in which all is written once, hold some ten thousands.
_WRITTEN_AT_ONCE = 2_500
# No record nears Kafka's limit of 1 MB.
_OF_A_PARTITION = 2_500


@dataclass(slots=True)
class _Partition:
    """What is known of one partition.

    `identity`: topic id, leader epoch, and whether it is compacted; what was read under another one is void.
    `wanted`: position -> the last round in which a group stood there, and the first. `without`: positions for
    which no record stands, in the log as it is. `copy`: id of the copy, and where the log ended in a round
    after that was seen. `is_told`: something was written of it that has to be withdrawn when it is void.
    """

    identity: tuple[str, int, bool] = ("", -1, False)
    log: LogEnd = field(default_factory=lambda: LogEnd(0, 0))
    wanted: dict[int, tuple[int, int]] = field(default_factory=dict)
    known: dict[int, Fingerprint] = field(default_factory=dict)
    without: set[int] = field(default_factory=set)
    copy: tuple[str, int] = ("", -1)
    is_told: bool = False
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
    read). `passed`: the next source offset that the mirror has not copied, by partition. `copies`: what the
    topics' copies are called at the target, where anybody looks at them.
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
        copies: Mapping[str, str] | None = None,
        now_s: Callable[[], float] = time.time,
    ) -> None:
        self._connect, self._topics, self._watcher = connect, frozenset(topics), watcher
        self._log, self._now_s, self._passed = log, now_s, passed
        self._bytes_per_round, self._copies = bytes_per_round, dict(copies or {})
        self._positions: dict[str, Mapping[TopicPartition, int]] = {}
        self._passed_before: Mapping[TopicPartition, int] = {}
        self._copies_before: Mapping[str, str] = {}
        self._guard, self._wake, self._stopped = threading.Lock(), threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="fingerprints", daemon=True)
        self._partitions: dict[TopicPartition, _Partition] = {}
        self._copies_known: dict[tuple[TopicPartition, str], int] = {}
        self._round = 0
        self._reader: Contents | None = None
        self._is_lost = False
        self._said = ""

    def start(self) -> None:
        """Begin to read."""
        if self._bytes_per_round:
            self._thread.start()

    def stop(self) -> None:
        """End; what is under way is not waited for."""
        self._stopped.set()
        self._wake.set()

    def take_over(self, known: Mapping[tuple[TopicPartition, str], int]) -> None:
        """Since when copies have the ids that they have, as earlier watchers saw it."""
        with self._guard:
            self._copies_known = dict(known)

    def offer(self, reading: SourceReading, writers: Mapping[str, TopicWriters]) -> None:
        """Take the positions of a round, in partitions that may have gaps by what is known of `writers`.

        `writers`: of the source's topics and of their copies. A group of which this round could not ask
        stands where it was seen last.
        """
        if not self._bytes_per_round:
            return
        self._is_lost = reading.outcome == "failed"
        if self._is_lost:
            self._wake.set()
            return
        self._positions = self._with_silent(reading)
        with self._guard:
            self._round += 1
            for tp, log in reading.ends.items():
                seen = writers.get(tp.topic)
                if tp.topic in self._topics and seen is not None and seen.gaps(tp.partition) != "no":
                    self._see(tp, log, reading.topic_ids.get(tp.topic, ""), seen.is_compacted)
                    if topic_subject(tp.topic) not in reading.late:
                        self._note_copy(tp)
                elif tp in self._partitions:
                    self._partitions[tp].known.clear()
                    self._partitions[tp].wanted.clear()
            for positions in self._positions.values():
                self._want(positions)
            for tp, partition in self._partitions.items():
                # Not all in one round: of many positions it takes longer than anything else here.
                if tp.partition % _FORGOTTEN_EVERY == self._round % _FORGOTTEN_EVERY:
                    self._forget_old(partition)
        # What is known before a round's ends are read holds when they are.
        self._passed_before = self._passed()
        self._copies_before = {
            name: writers[copy].topic_id for name, copy in self._copies.items() if copy in writers
        }
        self._wake.set()

    def _with_silent(self, reading: SourceReading) -> dict[str, Mapping[TopicPartition, int]]:
        silent = {
            group: positions
            for group, positions in self._positions.items()
            if group not in reading.positions and group_subject(group) in reading.missed
        }
        return {**silent, **reading.positions}

    def _see(self, tp: TopicPartition, log: LogEnd, topic_id: str, is_compacted: bool) -> None:
        partition = self._partitions.setdefault(tp, _Partition())
        identity = (topic_id, log.leader_epoch, is_compacted)
        if partition.identity != identity:
            if partition.identity[0] != topic_id:
                partition.copy = "", -1
            partition.identity = identity
            partition.known.clear()
        if partition.log != log:
            partition.without.clear()
        partition.log = log

    def _note_copy(self, tp: TopicPartition) -> None:
        """What was known of the mirror and the copy before the log was read holds beside what that tells."""
        partition, copy_id = self._partitions[tp], self._copies_before.get(tp.topic, "")
        log = partition.log
        if copy_id and copy_id != partition.copy[0]:
            since = self._copies_known.get((tp, copy_id), log.end_offset)
            partition.copy = copy_id, min(log.end_offset, since)
        passed = self._passed_before.get(tp, 0)
        for position, one in partition.known.items():
            # It still stands there, and the mirror is beyond it: retention takes it too late to matter.
            if not one.is_copied and log.start_offset <= one.offset < passed:
                partition.known[position] = one._replace(is_copied=True)
                partition.written_s = None

    def _want(self, positions: Mapping[TopicPartition, int]) -> None:
        for tp, position in positions.items():
            partition = self._partitions.get(tp)
            if partition is not None and position in partition.readable:
                since = partition.wanted.get(position, (0, self._round))[1]
                partition.wanted[position] = self._round, since

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
        """What is to be recorded (again) now; call `forget` if that failed.

        No more than a part of all at once: what has waited longest comes first.
        """
        now = time.monotonic()
        found: list[FingerprintsSeen] = []
        left = _WRITTEN_AT_ONCE
        with self._guard:
            waiting = sorted(
                (
                    (partition.written_s is not None, partition.written_s or 0.0, tp)
                    for tp, partition in self._partitions.items()
                    if (partition.known or partition.is_told)
                    and (partition.written_s is None or now - partition.written_s >= _RECORD_EVERY_S)
                ),
            )
            for _, _, tp in waiting:
                partition = self._partitions[tp]
                sample = self._sample(tp, partition)
                if found and len(sample.fingerprints) > left:
                    break
                left -= len(sample.fingerprints)
                partition.written_s, partition.is_told = now, bool(sample.fingerprints)
                found.append(sample)
        return found

    def _sample(self, tp: TopicPartition, partition: _Partition) -> FingerprintsSeen:
        topic_id, leader_epoch, is_compacted = partition.identity
        known = partition.known
        # Where there are too many, those where groups have stood longest.
        kept = sorted(known, key=lambda at: partition.wanted.get(at, (0, 0))[1])[:_OF_A_PARTITION]
        return FingerprintsSeen(
            watcher=self._watcher,
            topic=tp.topic,
            partition=tp.partition,
            at_s=self._now_s(),
            topic_id=topic_id,
            leader_epoch=leader_epoch,
            is_compacted=is_compacted,
            fingerprints=tuple(known[at] for at in sorted(kept)),
            copy_id=partition.copy[0],
            written_since=partition.copy[1],
        )

    def forget(self) -> None:
        """It is not known whether the records are at the target: they are due again."""
        with self._guard:
            for partition in self._partitions.values():
                partition.written_s, partition.is_told = None, True

    def look(self) -> str:
        """Read what is wanted and not known, as much as a round may; returns why that failed."""
        if self._is_lost:
            # A client of a cluster that has died would turn in circles.
            self._close()
            return ""
        try:
            return self._read_chosen()
        except DcctlError as error:
            self._close()
            return f"{error.subject}: {error.problem}"
        except Exception as error:  # noqa: BLE001 - a bug here must not end the watcher's thread
            self._close()
            return f"bug: {error!r}"

    def _read_chosen(self) -> str:
        """As many positions as fit into what a round may fetch, each reckoned with a fetch beforehand."""
        left, deadline = self._bytes_per_round, time.monotonic() + _READ_TIMEOUT_S
        refused: dict[str, str] = {}
        while not self._stopped.is_set() and (timeout_s := deadline - time.monotonic()) > 0:
            passed = self._passed()
            wanted = self._chosen(left // FETCHED_BYTES, passed, refused)
            if not wanted:
                break
            reader = self._reader = self._reader or self._connect()
            before = reader.fetched_bytes
            is_all = self._take(reader, wanted, passed, timeout_s)
            refused |= reader.refused
            left -= max(reader.fetched_bytes - before, sum(map(len, wanted.values())))
            if not is_all:
                break
        return "; ".join(f"topic {topic} cannot be read: {why}" for topic, why in sorted(refused.items()))

    def _chosen(
        self, at_once: int, passed: Mapping[TopicPartition, int], refused: Collection[str]
    ) -> dict[TopicPartition, list[int]]:
        with self._guard:
            choice = sorted(
                (since == self._round, -last, since, tp, position)
                for tp, partition in self._partitions.items()
                if tp.topic not in refused
                for position, (last, since) in partition.wanted.items()
                if position not in partition.known
                and position not in partition.without
                and (not partition.is_compacted or position <= passed.get(tp, 0))
            )
        found: dict[TopicPartition, list[int]] = {}
        for _, _, _, tp, position in choice[:at_once]:
            found.setdefault(tp, []).append(position)
        return {tp: sorted(positions) for tp, positions in found.items()}

    def _take(
        self,
        reader: Contents,
        wanted: Mapping[TopicPartition, list[int]],
        passed: Mapping[TopicPartition, int],
        timeout_s: float,
    ) -> bool:
        """Read these positions; whether all were read. `passed`: what the mirror had passed before."""
        with self._guard:
            seen = {tp: replace(self._partitions[tp]) for tp in wanted if tp in self._partitions}
        found = fingerprints_read(
            reader,
            {tp: positions for tp, positions in wanted.items() if tp in seen},
            starts={tp: before.log.start_offset for tp, before in seen.items()},
            compacted={tp.topic for tp, before in seen.items() if before.is_compacted},
            timeout_s=timeout_s,
        )
        is_all = True
        with self._guard:
            for tp, by_position in found.items():
                partition = self._partitions.get(tp)
                if partition is None or partition.identity != seen[tp].identity:
                    is_all = False
                    continue
                for position in wanted[tp]:
                    if position not in by_position and position in partition.wanted:
                        # Not read in time: others come first the next time.
                        partition.wanted[position] = partition.wanted[position][0], self._round
                        is_all = is_all and tp.topic in reader.refused
                for position, one in by_position.items():
                    if one is None:
                        partition.without.add(position)
                    else:
                        partition.known[position] = one._replace(is_copied=one.offset < passed.get(tp, 0))
                        partition.written_s = None
        return is_all

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
