"""The records that stand for positions: which are read, what is recorded, and what makes them void."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import structlog

from orchestrator.errors import ClusterError
from orchestrator.replication.source_gaps import TopicWriters
from orchestrator.values import Content, LogEnd, ReadContent, TopicPartition
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

    def read(
        self, ranges: Mapping[TopicPartition, Sequence[range]], timeout_s: float
    ) -> dict[TopicPartition, dict[range, list[ReadContent]]]:
        if self.is_away:
            raise ClusterError("cluster west", f"no answer within {timeout_s:g} s")
        self.asked += [span for spans in ranges.values() for span in spans]
        return {tp: {span: self._within(tp, span) for span in spans} for tp, spans in ranges.items()}

    def _within(self, tp: TopicPartition, span: range) -> list[ReadContent]:
        there = [offset for offset in sorted(self.records) if offset >= span.start]
        inside = [offset for offset in there if offset < span.stop]
        return [
            ReadContent(tp, offset, 0, Content.of(None, self.records[offset]))
            for offset in there[: len(inside) + 1]
        ]


def keeper(log: Log, bytes_per_round: int = 1 << 22, passed: int = 0) -> FingerprintKeeper:
    """One that is asked to look by hand."""
    return FingerprintKeeper(
        lambda: log,
        ["orders"],
        "w",
        structlog.get_logger(),
        bytes_per_round=bytes_per_round,
        passed=lambda: {ORDERS: passed},
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
    watching = keeper(log, passed=5)
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
    """64 KiB a position are reckoned with."""
    log = Log({at: b"%d" % at for at in range(100)})
    watching = keeper(log, bytes_per_round=2 * 65_536)
    watching.offer(reading(50, 51), MARKED)
    watching.offer(reading(50, 51, 10, 11, 12), MARKED)
    watching.look()
    assert kept(watching).keys() == {50, 51}


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
