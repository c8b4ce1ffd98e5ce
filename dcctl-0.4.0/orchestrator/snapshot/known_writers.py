"""Who writes the source's topics, from the records of all watchers: what was once seen stays seen."""

from __future__ import annotations

from orchestrator.replication.source_gaps import TopicWriters
from orchestrator.snapshot.sample_codec import WritersSeen


class KnownWriters:
    """Put together in any order. Of a topic that was made anew the newest record tells."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[int, TopicWriters]] = {}

    def add(self, sample: WritersSeen, order: int) -> None:
        """Take a record; `order`: its place among all records."""
        for name, seen in sample.topics.items():
            newest, known = self._seen.get(name, (order, seen))
            if known.topic_id == seen.topic_id:
                self._seen[name] = max(newest, order), known.seen_again(seen)
            elif order > newest:
                self._seen[name] = order, seen

    @property
    def told(self) -> dict[str, TopicWriters]:
        """By topic; one that nobody looked at is not in it."""
        return {name: seen for name, (_, seen) in self._seen.items()}

    def has_all_of(self, sample: WritersSeen) -> bool:
        """Whether a record tells nothing that is not known without it."""
        told = self.told
        return all(
            name in told
            and (told[name].topic_id != seen.topic_id or told[name] == told[name].seen_again(seen))
            for name, seen in sample.topics.items()
        )
