"""Places by content never refuse a move: what cannot be read leaves the map's own."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any, cast

from orchestrator.applications.by_content import with_places, with_places_read_now, with_sampled_places
from orchestrator.errors import ClusterError
from orchestrator.moves.ports import FinalMap
from orchestrator.ports.servers import Kafka
from orchestrator.replication.by_content import SearchBudget
from orchestrator.replication.content import Fingerprint
from orchestrator.replication.source_gaps import TopicWriters
from orchestrator.snapshot.samples import (
    FingerprintsSeen,
    GroupPositions,
    Round,
    SampledPosition,
    SampleHistory,
    TopicEnds,
    WritersSeen,
)
from orchestrator.topology.model import Replication
from orchestrator.values import LogEnd, ReadContent
from tests.replication.mirror_model import PARTITION, build
from tests.replication.test_by_content import COPY, SOURCE, Target, content, kept, mirror

MIRROR = Replication(source="west", target="east", topics=("orders",))
LOGS = {COPY: LogEnd(0, len(SOURCE))}
HISTORY = SampleHistory()
HISTORY.add(
    WritersSeen(watcher="w", block=0, at_s=5.0, topics={"orders": TopicWriters("id", 4, frozenset({3}))})
)


def kafka(contents: Any, **more: Any) -> Kafka:
    """A cluster of which only that is asked."""
    return cast(Kafka, SimpleNamespace(contents=lambda *_: contents, **more))


class Silent(Target):
    """A cluster that does not let its topics be read."""

    def read(self, ranges: Any, timeout_s: float) -> Any:  # noqa: ARG002
        raise ClusterError("cluster east", "reading records: Topic authorization failed")


def test_copies_that_cannot_be_read_leave_the_places_of_the_map_and_none_is_called_exact() -> None:
    """A move that would have gone on before goes on."""
    by_map = mirror(every=1, is_closed=False)
    at_sync = SOURCE[-1] + 1
    found = with_places(
        kafka(Silent()), MIRROR, by_map, {PARTITION: [at_sync]}, kept(at_sync), LOGS, history=HISTORY
    )
    place = found.translate(PARTITION, at_sync)
    assert place[:3] == (len(SOURCE), False, 0)
    assert "the copies cannot be read: reading records: Topic authorization failed" in place.reason


def test_in_a_planned_move_the_source_itself_gives_the_records() -> None:
    """No watcher has to have kept one."""

    class Source(Target):
        def read(self, ranges: Any, timeout_s: float) -> Any:  # noqa: ARG002

            return {
                tp: {
                    span: [
                        ReadContent(tp, at, 0, content(at)) for at in SOURCE if span.start <= at <= span.stop
                    ]
                    for span in spans
                }
                for tp, spans in ranges.items()
            }

    source = kafka(Source(), log_ends=lambda tps: {tp: LogEnd(0, 1000) for tp in tps})
    final, groups = FinalMap(mirror(), LOGS), {"billing": {PARTITION: SampledPosition(518, 0.0)}}
    found = with_places_read_now(
        source, kafka(Target()), MIRROR, final, groups, history=HISTORY, isolation_level="read_committed"
    )
    assert found.translate(PARTITION, 518)[:3] == (sum(at < 518 for at in SOURCE), True, 0)
    silent = kafka(Silent(), log_ends=lambda tps: {tp: LogEnd(0, 1000) for tp in tps})
    unread = with_places_read_now(
        silent, kafka(Target()), MIRROR, final, groups, history=HISTORY, isolation_level="read_committed"
    ).translate(PARTITION, 518)
    assert unread[:3] == final.offset_map.translate(PARTITION, 518)[:3]
    assert "no record that stands for the position is known" in unread.reason


def _history(*fingerprints: Fingerprint) -> SampleHistory:
    """What the watcher knows of the source, and of two groups that stand there."""
    found = SampleHistory()
    ends = {3: LogEnd(0, 1000, 1)}
    for sample in (
        WritersSeen(watcher="w", block=0, at_s=5.0, topics={"orders": TopicWriters("id", 4, frozenset({3}))}),
        TopicEnds(watcher="w", topic="orders", block=0, at_s=5.0, topic_id="id", ends=ends),
        GroupPositions(watcher="w", group="billing", topic="orders", block=0, at_s=5.0, offsets={3: 851}),
        GroupPositions(watcher="w", group="audit", topic="orders", block=0, at_s=5.0, offsets={3: 518}),
        Round(watcher="w", begun_at_s=5.0, ended_at_s=5.0, outcome="good", full_at_s=5.0),
        FingerprintsSeen(
            watcher="w",
            topic="orders",
            partition=3,
            at_s=5.0,
            topic_id="id",
            leader_epoch=1,
            is_compacted=False,
            fingerprints=fingerprints,
        ),
    ):
        found.add(sample)
    return found


def test_positions_of_groups_that_move_are_looked_for_first() -> None:
    """What may be read does not suffice for all."""
    found = with_sampled_places(
        kafka(Target(), topics=lambda _: {}),
        MIRROR,
        mirror(),
        _history(*kept(518, 851)[PARTITION]),
        LOGS,
        first=["billing"],
        budget=SearchBudget(records=40),
    )
    assert found.translate(PARTITION, 851).is_exact
    assert not found.translate(PARTITION, 518).is_exact


def test_what_was_found_exactly_is_not_looked_for_again_when_the_mirror_stands() -> None:
    """A source that is silent in a planned move takes no place back."""
    known = _history(*kept(518)[PARTITION])
    sampled = with_sampled_places(kafka(Target()), MIRROR, mirror(), known, LOGS)
    assert sampled.translate(PARTITION, 518).is_exact
    source, target = Silent(), Target()
    groups = {"audit": {PARTITION: SampledPosition(518, 0.0)}}
    found = with_places_read_now(
        kafka(source),
        kafka(target),
        MIRROR,
        FinalMap(sampled, LOGS),
        groups,
        history=known,
        isolation_level="read_committed",
    )
    assert found.translate(PARTITION, 518) == sampled.translate(PARTITION, 518)
    assert target.asked == []


def test_where_the_source_is_silent_in_a_planned_move_the_watchers_records_count() -> None:
    """They are searched with those that the source gives, at once."""
    found = with_places_read_now(
        kafka(Silent(), log_ends=lambda tps: {tp: LogEnd(0, 1000) for tp in tps}),
        kafka(Target()),
        MIRROR,
        FinalMap(mirror(), LOGS),
        {"audit": {PARTITION: SampledPosition(518, 0.0)}},
        history=_history(*kept(518)[PARTITION]),
        isolation_level="read_committed",
    )
    assert found.translate(PARTITION, 518).is_exact


def test_the_source_is_read_as_the_mirror_reads_it() -> None:
    """One that copies aborted records too has copies of them."""
    asked: list[str] = []

    def contents(level: str) -> Silent:
        asked.append(level)
        return Silent()

    with_places_read_now(
        cast(Kafka, SimpleNamespace(contents=contents, log_ends=lambda _: {})),
        kafka(Target()),
        MIRROR,
        FinalMap(mirror(), LOGS),
        {"audit": {PARTITION: SampledPosition(518, 0.0)}},
        history=HISTORY,
        isolation_level="read_uncommitted",
    )
    assert asked == ["read_uncommitted"]


def test_all_that_a_move_reads_shares_one_budget() -> None:
    """An early look takes no more than a half, and time counts as well."""
    budget = SearchBudget(now_s=time.monotonic)
    early = budget.half()
    assert (early.records, early.seconds, budget.records, budget.seconds) == (500_000, 5.0, 500_000, 5.0)

    class Slow(Target):
        def read(self, ranges: Any, timeout_s: float) -> Any:
            time.sleep(0.02)
            return super().read(ranges, timeout_s)

    with_places(
        kafka(Slow()), MIRROR, mirror(), {PARTITION: [518]}, kept(518), LOGS, history=HISTORY, budget=early
    )
    assert early.seconds < 4.99
    assert early.records < 500_000


def test_a_copy_counts_by_the_id_that_it_has_now() -> None:
    """What was seen of a copy of another id tells nothing of it."""
    by_map = build([(0, 0), (SOURCE[300], 300), (SOURCE[-1], 949)], (SOURCE[-1], 950), gaps="may")
    known = _history()
    for copy_id, is_exact in (("now", True), ("before", False)):
        known.add(
            FingerprintsSeen(
                watcher=copy_id,
                topic="orders",
                partition=3,
                at_s=5.0,
                topic_id="id",
                leader_epoch=1,
                is_compacted=False,
                fingerprints=(),
                copy_id="now",
                written_since=40,
            )
        )
        target = kafka(Target(), topics=lambda _, now=copy_id: {COPY.topic: SimpleNamespace(topic_id=now)})
        found = with_places(target, MIRROR, by_map, {PARTITION: [53]}, kept(53), LOGS, history=known)
        assert found.translate(PARTITION, 53).is_exact == is_exact
