"""Whether logs stand still: nothing is written any more, and nothing is left to come to light. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from orchestrator.values import LogReach, TopicPartition
from orchestrator.wording import listed


class Standstill:
    """Logs of one cluster, look by look; times are those of one monotonic clock, in seconds.

    A log stands still once its high watermark and its end have not moved for `standstill_s`, and are the
    same. A high watermark alone proves nothing: it stands still as well while a replica in sync hangs, and
    what the leader has taken beyond it is acknowledged at once or later, to producers denied by then, too.
    """

    def __init__(self, standstill_s: float) -> None:
        self._standstill_s = standstill_s
        self._reaches: dict[TopicPartition, LogReach] = {}
        self._moved_s: dict[TopicPartition, float] = {}
        self._written_s: dict[TopicPartition, float] = {}

    def look(self, reaches: Mapping[TopicPartition, LogReach], now_s: float) -> None:
        """Take one look, which was over by `now_s`; the questions below are asked as of its beginning.

        Partitions that it lacks are forgotten, and start anew once they are seen again.
        """
        for tp, reach in reaches.items():
            before = self._reaches.get(tp)
            if before != reach:
                self._moved_s[tp] = now_s
            if before is not None and _written_to(before) != _written_to(reach):
                self._written_s[tp] = now_s
        self._reaches = dict(reaches)

    @property
    def ends(self) -> dict[TopicPartition, int]:
        """How far each log could be read at the last look."""
        return {tp: reach.high_watermark for tp, reach in sorted(self._reaches.items())}

    @property
    def log_ends(self) -> dict[TopicPartition, int]:
        """Where each log ended at the last look, as far as it was told."""
        return {tp: reach.log_end for tp, reach in sorted(self._reaches.items()) if reach.log_end is not None}

    @property
    def beyond(self) -> dict[TopicPartition, int]:
        """Records that leaders held at the last look and not every replica in sync: nobody can read them."""
        return {
            tp: end - self._reaches[tp].high_watermark
            for tp, end in self.log_ends.items()
            if not self._reaches[tp].is_in_sync
        }

    def written(self, now_s: float) -> list[TopicPartition]:
        """Logs that were seen to grow within the last `standstill_s`."""
        return self._since(self._written_s, now_s)

    def is_at_rest(self, now_s: float) -> bool:
        """Whether nothing has moved for `standstill_s`. What moves no more may still be behind."""
        return not self._since(self._moved_s, now_s)

    def is_reached(self, now_s: float) -> bool:
        """Whether every log of the last look stands still, with its end known and in sync."""
        return self.is_at_rest(now_s) and all(reach.is_in_sync for reach in self._reaches.values())

    def _since(self, moments: Mapping[TopicPartition, float], now_s: float) -> list[TopicPartition]:
        return sorted(
            tp for tp in self._reaches if tp in moments and now_s - moments[tp] < self._standstill_s
        )


def beyond_in_words(beyond: Mapping[TopicPartition, int], at_most: int) -> str:
    """The first few partitions whose leaders hold more than can be read, and how many more there are."""
    told = (f"{tp} {records:,}" for tp, records in sorted(beyond.items()))
    return listed(told, at_most, "partitions more")


def _written_to(reach: LogReach) -> int:
    return reach.high_watermark if reach.log_end is None else reach.log_end
