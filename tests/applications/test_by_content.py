"""Places by content never refuse a move: what cannot be read leaves the map's own."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from orchestrator.applications.by_content import with_places, with_places_read_now
from orchestrator.errors import ClusterError
from orchestrator.moves.ports import FinalMap
from orchestrator.ports.servers import Kafka
from orchestrator.replication.source_gaps import TopicWriters
from orchestrator.snapshot.samples import SampledPosition, SampleHistory, WritersSeen
from orchestrator.topology.model import Replication
from orchestrator.values import LogEnd, ReadContent
from tests.replication.mirror_model import PARTITION
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
