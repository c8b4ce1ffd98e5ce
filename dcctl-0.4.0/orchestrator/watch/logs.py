"""The source's logs as a sampler knows them: which there are, who leads them, and where each ended when."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from orchestrator.ports.servers import TopicDescription
from orchestrator.snapshot.samples import topic_subject
from orchestrator.values import LogEnd, TopicPartition
from orchestrator.watch.asking import Asked
from orchestrator.watch.recorder import IDS_OLD_AT_MOST_S

_INVENTORY_EVERY_S = 5.0
_INVENTORY_AGAIN_S = 1.0


@dataclass(slots=True)
class LogsRead:
    """What a round may say of the logs. `late`: topics that were read for an earlier round, and when."""

    ends: dict[TopicPartition, LogEnd] = field(default_factory=dict)
    topic_ids: dict[str, str] = field(default_factory=dict)
    missed: set[str] = field(default_factory=set)
    late: dict[str, Asked] = field(default_factory=dict)

    @property
    def is_any_on_time(self) -> bool:
        """Whether any topic was read for this very round."""
        return any(topic_subject(name) not in self.late for name in self.topic_ids)


class Logs:
    """A topic is told as a whole, with the oldest of its partitions' times: a log that has grown since is
    told as if it had been as long before, which makes no loss smaller and no record younger.
    """

    def __init__(self, topics: Iterable[str], addresses: Iterable[str]) -> None:
        self.topics = frozenset(topics)
        self.addresses = tuple(addresses)
        self._described: Mapping[str, TopicDescription] = {}
        self._described_asked_s: float | None = None
        self._due_s = float("-inf")
        self._suspected_s: dict[str, float] = {}
        self._ends: dict[TopicPartition, tuple[LogEnd, Asked]] = {}
        self._told_s: dict[str, float] = {}

    @property
    def count(self) -> int:
        """How many partitions there are."""
        return sum(len(topic.leaders) for topic in self._described.values())

    @property
    def needs_inventory(self) -> bool:
        """Whether a round can say nothing, or not all, before it is known anew which topics there are."""
        return self._described_asked_s is None or bool(self._suspected_s)

    def is_inventory_due(self, now_s: float) -> bool:
        """By monotonic time."""
        return now_s >= self._due_s

    def by_leader(self) -> dict[int, list[TopicPartition]]:
        """Partitions by who led them when that was asked; -1 for those without a leader."""
        found: dict[int, list[TopicPartition]] = {}
        for topic in self._described.values():
            for tp, leader in zip(topic.partitions, topic.leaders, strict=True):
                found.setdefault(leader, []).append(tp)
        return found

    def take_inventory(
        self,
        topics: Mapping[str, TopicDescription],
        addresses: Iterable[str],
        asked: Asked,
    ) -> None:
        """Which topics there were when that was asked. Of one made anew nothing was read yet."""
        for name, topic in topics.items():
            known = self._described.get(name)
            if known is not None and known.topic_id != topic.topic_id:
                for tp in known.partitions:
                    self._ends.pop(tp, None)
        self._described, self._described_asked_s = topics, asked.steady_s
        self._suspected_s = {name: at_s for name, at_s in self._suspected_s.items() if at_s > asked.steady_s}
        # While some broker is away the others do not name it; it may well be back before they are gone.
        self.addresses = tuple(sorted(set(self.addresses) | set(addresses)))
        is_whole = topics.keys() == self.topics
        self._due_s = asked.steady_s + (_INVENTORY_EVERY_S if is_whole else _INVENTORY_AGAIN_S)
        if self._suspected_s:
            self.refresh()

    def refresh(self, after_s: float = float("-inf")) -> None:
        """Ask which topics there are at once, or after that monotonic time."""
        self._due_s = after_s

    def inventory_failed(self, asked: Asked) -> None:
        """It is asked for again in a moment."""
        self._due_s = asked.steady_s + _INVENTORY_AGAIN_S

    def take_ends(self, ends: Mapping[TopicPartition, LogEnd], asked: Asked, now_s: float) -> None:
        """Log ends of some partitions."""
        for tp, end in ends.items():
            known = self._ends.get(tp)
            if known is not None and end.end_offset < known[0].end_offset:
                # A log does not become shorter: is it another topic of the same name?
                self._suspected_s[tp.topic] = now_s
                self.refresh()
            self._ends[tp] = end, asked

    def read(self, round_: int, now_s: float) -> LogsRead:
        """What this round may say."""
        read = LogsRead()
        asked_s = self._described_asked_s
        if asked_s is None or now_s - asked_s > IDS_OLD_AT_MOST_S:
            read.missed = {topic_subject(name) for name in self.topics}
            return read
        for name, topic in self._described.items():
            subject = topic_subject(name)
            known = {tp: self._ends[tp] for tp in topic.partitions if tp in self._ends}
            oldest = min((asked for _, asked in known.values()), key=_steady_s, default=None)
            is_whole = len(known) == len(topic.leaders) and name not in self._suspected_s
            is_new = oldest is not None and oldest.steady_s > self._told_s.get(name, float("-inf"))
            if oldest is None or oldest.round != round_ or not is_whole:
                read.missed.add(subject)
            if oldest is not None and is_whole and is_new:
                self._told_s[name] = oldest.steady_s
                read.ends |= {tp: end for tp, (end, _) in known.items()}
                read.topic_ids[name] = topic.topic_id
                if subject in read.missed:
                    read.late[subject] = oldest
        return read


def _steady_s(asked: Asked) -> float:
    return asked.steady_s
