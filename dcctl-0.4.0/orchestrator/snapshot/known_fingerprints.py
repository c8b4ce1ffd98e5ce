"""The records that stand for positions, from the records of all watchers."""

from __future__ import annotations

from collections.abc import Mapping

from orchestrator.replication.content import Fingerprint
from orchestrator.replication.source_gaps import TopicWriters
from orchestrator.snapshot.sample_codec import FingerprintsSeen
from orchestrator.values import LogEnd, TopicPartition


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
        self,
        topic_ids: Mapping[str, str],
        writers: Mapping[str, TopicWriters],
        ends: Mapping[TopicPartition, LogEnd],
    ) -> dict[TopicPartition, tuple[Fingerprint, ...]]:
        """Those of logs that still are what they were, by rising position.

        `ends`: the source's logs, as they were seen last. One of another leader epoch does not count: an
        unclean election may have put another record in its place. One of a topic that is compacted now and
        was not known to be when it was read does not either, nor one that retention may have taken: the
        mirror may not have come to the record before (see `replication.content`).
        """
        found: dict[TopicPartition, dict[int, Fingerprint]] = {}
        for (tp, _), (_, sample) in sorted(self._seen.items(), key=lambda item: item[1][0]):
            seen, log = writers.get(tp.topic), ends.get(tp)
            is_compacted = seen is None or seen.is_compacted
            if sample.topic_id != topic_ids.get(tp.topic) or (is_compacted and not sample.is_compacted):
                continue
            if log is None or log.leader_epoch < 0 or log.leader_epoch != sample.leader_epoch:
                continue
            good = (one for one in sample.fingerprints if one.has_a_copy(log.start_offset))
            found.setdefault(tp, {}).update({one.position: one for one in good})
        return {tp: tuple(one for _, one in sorted(kept.items())) for tp, kept in found.items() if kept}

    def written_since(self, topic_ids: Mapping[str, str]) -> dict[tuple[TopicPartition, str], int]:
        """By partition and id of its copy: from which offset on records were written since it had that id."""
        found: dict[tuple[TopicPartition, str], int] = {}
        for (tp, _), (_, sample) in self._seen.items():
            if sample.copy_id and sample.written_since >= 0 and sample.topic_id == topic_ids.get(tp.topic):
                key = tp, sample.copy_id
                found[key] = min(found.get(key, sample.written_since), sample.written_since)
        return found
