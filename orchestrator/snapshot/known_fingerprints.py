"""The records that stand for positions, from the records of all watchers."""

from __future__ import annotations

from collections.abc import Mapping

from orchestrator.replication.content import Fingerprint
from orchestrator.replication.source_gaps import TopicWriters
from orchestrator.snapshot.sample_codec import FingerprintsSeen
from orchestrator.values import TopicPartition


class KnownFingerprints:
    """Put together in any order: what a watcher wrote last of a partition counts, beside that of others."""

    def __init__(self) -> None:
        self._seen: dict[tuple[TopicPartition, str], tuple[int, FingerprintsSeen]] = {}

    def add(self, sample: FingerprintsSeen, order: int) -> None:
        """Take a record; `order`: its place among all records."""
        key = TopicPartition(sample.topic, sample.partition), sample.watcher
        if order >= self._seen.get(key, (order, sample))[0]:
            self._seen[key] = order, sample

    def told(
        self, topic_ids: Mapping[str, str], writers: Mapping[str, TopicWriters]
    ) -> dict[TopicPartition, tuple[Fingerprint, ...]]:
        """Those of topics that still are what they were, by rising position.

        One of a topic that is compacted now and was not known to be when it was read does not count: the
        record may have been taken before the mirror came to it (see `replication.content`).
        """
        found: dict[TopicPartition, dict[int, Fingerprint]] = {}
        for (tp, _), (_, sample) in sorted(self._seen.items(), key=lambda item: item[1][0]):
            seen = writers.get(tp.topic)
            is_compacted = seen is None or seen.is_compacted
            if sample.topic_id != topic_ids.get(tp.topic) or (is_compacted and not sample.is_compacted):
                continue
            found.setdefault(tp, {}).update({one.position: one for one in sample.fingerprints})
        return {tp: tuple(one for _, one in sorted(kept.items())) for tp, kept in found.items()}
