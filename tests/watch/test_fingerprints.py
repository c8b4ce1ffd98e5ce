"""The records that stand for positions: which are read, what is recorded, and what makes them void."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import pytest
import structlog

from orchestrator.errors import ClusterError
from orchestrator.replication.source_gaps import TopicWriters
from orchestrator.values import Content, LogEnd, ReadContent, TopicPartition
from orchestrator.watch import fingerprints
from orchestrator.watch.fingerprints import FingerprintKeeper
from orchestrator.watch.recorder import SourceReading
from tests.opened import Opened

ORDERS = TopicPartition("orders", 0)
MARKED = {"orders": TopicWriters("id", 1, frozenset({0}))}
COMPACTED = {"orders": TopicWriters("id", 1, frozenset(), is_compacted=True)}


@dataclass
class Log(Opened):
    """One partition's log, as a reader gets it: offset -> value."""

    records: dict[int, bytes] = field(default_factory=dict)
    asked: list[range] = field(default_factory=list)
    is_away: bool = False
    refused: dict[str, str] = field(default_factory=dict)
    fetched_bytes: int = 0

    def read(
        self, ranges: Mapping[TopicPartition, Sequence[range]], timeout_s: float
    ) -> dict[TopicPartition, dict[range, list[ReadContent]]]:
        if self.is_away:
            raise ClusterError("cluster west", f"no answer within {timeout_s:g} s")
        spans = [span for spans in ranges.values() for span in spans]
        self.asked += spans
        self.fetched_bytes += 65_536 * len(spans)
        return {tp: {span: self._within(tp, span) for span in spans} for tp, spans in ranges.items()}

    def _within(self, tp: TopicPartition, span: range) -> list[ReadContent]:
        there = [offset for offset in sorted(self.records) if offset >= span.start]
        inside = [offset for offset in there if offset < span.stop]
        return [
            ReadContent(tp, offset, 0, Content.of(None, self.records[offset]))
            for offset in there[: len(inside) + 1]
        ]


def keeper(
    log: Log,
    bytes_per_round: int = 1 << 22,
    passed: Mapping[TopicPartition, int] = MappingProxyType({}),
    topics: Sequence[str] = ("orders",),
) -> FingerprintKeeper:
    """One that is asked to look by hand."""
    return FingerprintKeeper(
        lambda: log,
        topics,
        "w",
        structlog.get_logger(),
        bytes_per_round=bytes_per_round,
        passed=lambda: dict(passed),
        copies={"orders": "west.orders"},
        now_s=lambda: 7.0,
    )


def reading(*positions: int, end: int = 100, epoch: int = 1, topic_id: str = "id") -> SourceReading:
    """A round in which groups stand at these positions."""
    return SourceReading(
        begun_at_s=1.0,
        ended_at_s=2.0,
        outcome="good",
        ends={ORDERS: LogEnd(0, end, epoch)},
        topic_ids={"orders": topic_id},
        positions={f"group-{number}": {ORDERS: at} for number, at in enumerate(positions)},
    )


def kept(watching: FingerprintKeeper) -> dict[int, int]:
    """Position -> offset of the record that stands for it, as it is to be recorded now."""
    return {one.position: one.offset for sample in watching.due() for one in sample.fingerprints}


def test_of_each_position_the_record_before_it_is_kept_or_the_nearest_that_there_is() -> None:
    """At a record, behind a marker with records from there on, and behind the markers at the log's end."""
    log = Log({4: b"a", 9: b"b", 60: b"c"})
    watching = keeper(log)
    watching.offer(reading(5, 8, 64), MARKED)
    assert watching.look() == ""
    assert kept(watching) == {5: 4, 8: 9, 64: 60}


def test_a_position_is_read_once_and_recorded_again_when_there_is_more() -> None:
    """What stands before it does not change."""
    log = Log({4: b"a", 5: b"b"})
    watching = keeper(log)
    watching.offer(reading(5), MARKED)
    watching.look()
    assert kept(watching) == {5: 4}
    assert watching.due() == []
    asked = len(log.asked)
    watching.offer(reading(5), MARKED)
    watching.look()
    assert len(log.asked) == asked
    watching.offer(reading(5, 6), MARKED)
    watching.look()
    assert kept(watching) == {5: 4, 6: 5}
    watching.forget()
    assert kept(watching) == {5: 4, 6: 5}


def test_the_newest_position_before_one_that_moves_stays() -> None:
    """Its place is better than none when the group has moved on since."""
    log = Log({at: b"%d" % at for at in range(100)})
    watching = keeper(log)
    watching.offer(reading(5), MARKED)
    watching.look()
    for at in range(20, 60):
        watching.offer(reading(at), MARKED)
    watching.forget()
    assert kept(watching) == {5: 4}


def test_another_topic_leader_or_cleanup_makes_what_was_read_void() -> None:
    """The offsets may stand for other records since."""
    log = Log({at: b"%d" % at for at in range(100)})
    for changed, writers in (
        (reading(5, topic_id="other"), MARKED),
        (reading(5, epoch=2), MARKED),
        (reading(5), COMPACTED),
    ):
        watching = keeper(log)
        watching.offer(reading(5), MARKED)
        watching.look()
        assert kept(watching) == {5: 4}
        watching.offer(changed, writers)
        watching.forget()
        assert kept(watching) == {}


def test_where_the_source_is_compacted_the_mirror_has_to_have_passed() -> None:
    """A record that compaction takes before that has no copy, and one that is alike may have."""
    log = Log({4: b"a", 9: b"b"})
    watching = keeper(log, passed={ORDERS: 5})
    watching.offer(reading(5, 10), COMPACTED)
    watching.look()
    assert kept(watching) == {5: 4}


def test_a_partition_without_gaps_needs_none() -> None:
    """Nor one that nobody has looked at yet, nor anything where the file says 0."""
    log = Log({4: b"a"})
    for watching, writers in (
        (keeper(log), {"orders": TopicWriters("id", 1)}),
        (keeper(log), {}),
        (keeper(log, bytes_per_round=0), MARKED),
    ):
        watching.offer(reading(5), writers)
        watching.look()
        assert watching.due() == []
    assert log.asked == []


def test_a_round_reads_no_more_than_it_may_and_those_first_that_stand_still() -> None:
    """Two that lie side by side come with one fetch, and leave room for another one."""
    log = Log({at: b"%d" % at for at in range(100)})
    watching = keeper(log, bytes_per_round=2 * 65_536)
    watching.offer(reading(50, 51), MARKED)
    watching.offer(reading(50, 51, 10, 11, 12), MARKED)
    watching.look()
    assert kept(watching).keys() == {10, 50, 51}
    assert log.fetched_bytes == 2 * 65_536


def test_a_source_that_cannot_be_read_is_named_and_takes_nothing_back() -> None:
    """The next look may do better."""
    log = Log({4: b"a", 5: b"b"})
    watching = keeper(log)
    watching.offer(reading(5), MARKED)
    watching.look()
    log.is_away = True
    watching.offer(reading(5, 6), MARKED)
    assert watching.look() == "cluster west: no answer within 2 s"
    watching.forget()
    assert kept(watching) == {5: 4}


def test_a_group_whose_coordinator_is_silent_stands_where_it_was_seen_last() -> None:
    """Its position may be all that is known of it when the source is lost some rounds later."""
    log = Log({4: b"a", 9: b"b"})
    watching = keeper(log)
    watching.offer(reading(5, 10), MARKED)
    watching.look()
    for _ in range(12):
        silent = replace(reading(5), outcome="partial", missed=frozenset({"group group-1"}))
        watching.offer(silent, MARKED)
        watching.look()
    watching.forget()
    assert kept(watching) == {5: 4, 10: 9}
    for _ in range(12):
        watching.offer(reading(5), MARKED)
    watching.forget()
    assert kept(watching) == {5: 4}


def test_what_is_void_is_withdrawn_once() -> None:
    """The record at the target would outlive the log in which it stood."""
    log = Log({4: b"a"})
    watching = keeper(log)
    watching.offer(reading(5), MARKED)
    watching.look()
    assert kept(watching) == {5: 4}
    watching.offer(reading(5, epoch=2, end=3), MARKED)
    watching.forget()
    (withdrawn,) = watching.due()
    assert (withdrawn.fingerprints, withdrawn.leader_epoch) == ((), 2)
    assert watching.due() == []


def test_a_topic_that_may_not_be_read_is_named_and_takes_no_other_along() -> None:
    """The right is missing for one of them."""
    secret = TopicPartition("secret", 0)

    class OneDenied(Log):
        def read(self, ranges: Any, timeout_s: float) -> Any:
            self.refused = {"secret": "denied"} if secret in ranges else {}
            return super().read({tp: spans for tp, spans in ranges.items() if tp != secret}, timeout_s)

    watching = keeper(OneDenied({4: b"a"}), topics=("orders", "secret"))
    seen = reading(5)
    seen = replace(
        seen,
        ends={**seen.ends, secret: LogEnd(0, 10, 1)},
        topic_ids={"orders": "id", "secret": "id"},
        positions={**seen.positions, "other": {secret: 5}},
    )
    for _ in range(3):
        watching.offer(seen, {**MARKED, "secret": MARKED["orders"]})
        assert watching.look() == "topic secret cannot be read: denied"
    assert kept(watching) == {5: 4}


def test_a_record_that_stood_at_the_source_behind_the_mirror_is_told_to_be_copied() -> None:
    """Retention takes it too late to matter from then on."""
    log, passed = Log({4: b"a", 9: b"b"}), {ORDERS: 5}
    watching = keeper(log, passed=passed)

    def copied() -> dict[int, bool]:
        watching.forget()
        return {one.position: one.is_copied for sample in watching.due() for one in sample.fingerprints}

    watching.offer(reading(5, 10), MARKED)
    watching.look()
    assert copied() == {5: True, 10: False}
    passed[ORDERS] = 10
    watching.offer(reading(5, 10), MARKED)
    assert copied() == {5: True, 10: False}
    watching.offer(replace(reading(5, 10), ends={ORDERS: LogEnd(10, 100, 1)}), MARKED)
    assert copied() == {5: True, 10: False}
    watching.offer(reading(5, 10), MARKED)
    assert copied() == {5: True, 10: True}


def test_records_written_since_the_copy_was_seen_with_its_id_are_told_apart() -> None:
    """What a round reads after that; what an earlier watcher saw of the same id reaches further back."""
    writers = {**MARKED, "west.orders": TopicWriters("copy", 1)}
    for taken_over, since in (({}, 120), ({(ORDERS, "copy"): 70}, 70), ({(ORDERS, "former"): 70}, 120)):
        watching = keeper(Log({4: b"a"}))
        watching.take_over(taken_over)
        watching.offer(reading(5, end=100), writers)
        watching.look()
        assert [(sample.copy_id, sample.written_since) for sample in watching.due()] == [("", -1)]
        watching.offer(reading(5, end=120), writers)
        watching.offer(reading(5, end=150), writers)
        watching.forget()
        assert [(sample.copy_id, sample.written_since) for sample in watching.due()] == [("copy", since)]


def test_a_round_writes_a_part_of_what_is_known_and_the_next_ones_the_rest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Many groups at many partitions must not be written at once."""
    monkeypatch.setattr(fingerprints, "_WRITTEN_AT_ONCE", 6)
    partitions = [TopicPartition("orders", number) for number in range(5)]
    watching = keeper(Log({at: b"%d" % at for at in range(100)}))
    seen = replace(
        reading(),
        ends=dict.fromkeys(partitions, LogEnd(0, 100, 1)),
        positions={f"g{at}": dict.fromkeys(partitions, at) for at in (5, 50, 90)},
    )
    watching.offer(seen, {"orders": TopicWriters("id", 5, frozenset(range(5)))})
    watching.look()
    rounds = [[sample.partition for sample in watching.due()] for _ in range(4)]
    assert [len(written) for written in rounds] == [2, 2, 1, 0]
    assert sorted(number for written in rounds for number in written) == [0, 1, 2, 3, 4]
