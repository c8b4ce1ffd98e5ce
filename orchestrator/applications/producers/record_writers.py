"""Whose record is it? Kafka does not say; the topology file does, or a mark that the records carry. Pure.

A record with a producer's mark is that producer's. One without any is of the only producer of its topic
that has no mark; where several have none, nobody can tell, and each of them stays unknown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from orchestrator.topology.model import Producer, Topology
from orchestrator.values import WrittenRecord
from orchestrator.wording import listed

Headers = Sequence[tuple[str, bytes | None]]

_LISTED = 4
_RESTART = "does it still have the old bootstrap servers? Restart it, then resume the run"
ConfirmationOutcome = Literal["seen", "attested", "not-seen", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmation:
    """What is known of one producer's first record at the target.

    `at_s` is the record's timestamp, None where it was not read; `clock` says whose clock that is. `by` is
    what tells that the record is its own, `reason` why nothing does. `unknown`: there may be a record.
    """

    producer: str
    outcome: ConfirmationOutcome
    at_s: float | None = None
    clock: Literal["producer", "broker", ""] = ""
    place: str = ""
    by: str = ""
    reason: str = ""
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Writers:
    """All that write each landing topic, by the file."""

    by_topic: Mapping[str, tuple[Producer, ...]]

    @property
    def producers(self) -> tuple[Producer, ...]:
        """Each of them once, in file order."""
        found = {producer.name: producer for known in self.by_topic.values() for producer in known}
        return tuple(found.values())

    def author(self, topic: str, headers: Headers) -> Producer | None:
        """Who surely wrote a record; None where that cannot be told."""
        known = self.by_topic.get(topic, ())
        marked = [producer for producer in known if is_marked(producer, headers)]
        if marked:
            return marked[0] if len(marked) == 1 else None
        return self._unmarked(topic)

    def topics_that_tell(self, name: str) -> tuple[str, ...]:
        """Topics in which a record of this producer can be told from others'."""
        return tuple(
            topic
            for topic, known in self.by_topic.items()
            for producer in known
            if producer.name == name
            and (producer.identified_by is not None or self._unmarked(topic) is producer)
        )

    def alone_in(self, topic: str) -> Producer | None:
        """The only producer of a topic: that it grows is enough."""
        known = self.by_topic.get(topic, ())
        return known[0] if len(known) == 1 else None

    def sharing(self, name: str) -> dict[str, tuple[str, ...]]:
        """Each topic of this producer, with the others from which nothing tells it apart."""
        return {
            topic: tuple(other.name for other in known if other.name != name and not other.identified_by)
            for topic, known in self.by_topic.items()
            if any(producer.name == name for producer in known)
        }

    def _unmarked(self, topic: str) -> Producer | None:
        found = [producer for producer in self.by_topic.get(topic, ()) if producer.identified_by is None]
        return found[0] if len(found) == 1 else None


def is_marked(producer: Producer, headers: Headers) -> bool:
    """Whether a record carries this producer's mark."""
    mark = producer.identified_by
    return mark is not None and any(
        name == mark.header and value == mark.value.encode() for name, value in headers
    )


def landing_writers(topology: Topology, left: str, entered: str, topics: Iterable[str]) -> Writers:
    """The producers that a move from `left` lets write at `entered`, by topic.

    Who works there already, or was moved there along another mirror, writes there as well. Of an
    aggregation's sources one at a time is at a centre: the gate `landing-alone` sees to that.
    """
    others = () if topology.is_laid_out({"aggregation"}) else topology.replication
    at_target = {left, entered, *(m.source for m in others if m.target == entered)}
    by_topic: dict[str, list[Producer]] = {topic: [] for topic in topics}
    for producer in topology.producers:
        for topic in producer.topics if producer.cluster in at_target else ():
            if topic in by_topic:
                by_topic[topic].append(producer)
    return Writers({topic: tuple(known) for topic, known in by_topic.items()})


def first_records_wanted(writers: Writers, producers: Sequence[str]) -> str:
    """Who is to be seen; that nothing tells some of them apart is said before anything is done."""
    indistinct = [name for name in producers if not writers.topics_that_tell(name)]
    but = f" (except {', '.join(indistinct)}, whose records look like those of others)" if indistinct else ""
    return f"Verify that every producer writes: wait for its first record{but}"


class Watch:
    """What is seen while following the landing topics; `attested` are taken at a person's word.

    `waiting`: producers that can be told apart and were not seen yet. `grown`: topics with any new record.
    `unclaimed`: records of each topic that nobody can be said to have written.
    """

    def __init__(self, writers: Writers, moved: Iterable[str], attested: Collection[str] = ()) -> None:
        self._writers = writers
        self._moved = tuple(moved)
        self._attested = frozenset(attested)
        self._seen: dict[str, Confirmation] = {}
        wanted = [name for name in self._moved if name not in self._attested]
        self.waiting = {name for name in wanted if writers.topics_that_tell(name)}
        self.indistinct = tuple(name for name in wanted if name not in self.waiting)
        self.grown: set[str] = set()
        self.unclaimed: Counter[str] = Counter()

    @property
    def topics(self) -> frozenset[str]:
        """Where something is still to be seen."""
        telling = {topic for name in self.waiting for topic in self._writers.topics_that_tell(name)}
        return frozenset(telling) | self._shared().difference(self.grown)

    @property
    def shared(self) -> frozenset[str]:
        """Topics in which records were seen of which nobody can say whose they are."""
        return self._shared() & self.grown

    def take(self, records: Iterable[WrittenRecord]) -> None:
        """Records from above where the topics ended. Of those at hand the oldest is a producer's first."""
        first: dict[str, WrittenRecord] = {}
        for record in records:
            topic = record.partition.topic
            self.grown.add(topic)
            author = self._writers.author(topic, record.headers)
            if author is None:
                self.unclaimed[topic] += 1
            elif author.name in self.waiting:
                known = first.setdefault(author.name, record)
                if record.timestamp_ms < known.timestamp_ms:
                    first[author.name] = record
        for name, record in first.items():
            self.waiting.discard(name)
            self._seen[name] = self._confirmation(name, record)

    def has_grown(self, topics: Iterable[str]) -> None:
        """These topics have grown, and nobody can read by how much or by whom."""
        for topic in topics:
            self.grown.add(topic)
            producer = self._writers.alone_in(topic)
            if producer is not None and producer.name in self.waiting:
                self.waiting.discard(producer.name)
                by = f"only producer of {topic}, which has grown"
                self._seen[producer.name] = Confirmation(producer=producer.name, outcome="seen", by=by)

    def rows(
        self, ids: Mapping[str, int | None], problem: str = "", hint: str = ""
    ) -> tuple[Confirmation, ...]:
        """What became of each producer, in file order.

        `ids`: how many producer ids have written to a topic since, where that could be asked; `problem`:
        why records could not be read, `hint` what may help.
        """
        return tuple(self._row(name, ids, problem, hint) for name in self._moved)

    def _row(self, name: str, ids: Mapping[str, int | None], problem: str, hint: str) -> Confirmation:
        if name in self._seen:
            return self._seen[name]
        if name in self._attested:
            return Confirmation(producer=name, outcome="attested", by="a person attests that it writes")
        topics = self._writers.sharing(name)
        if topics and not self.grown.intersection(topics):
            reason = f"no record was written to {', '.join(topics)}"
            return Confirmation(producer=name, outcome="not-seen", reason=reason, hint=_RESTART)
        if name in self.indistinct:
            return cannot_be_told(self._writers, name, ids)
        telling = self._writers.topics_that_tell(name)
        if problem:
            return Confirmation(producer=name, outcome="unknown", reason=problem, hint=hint)
        nobody = sum(self.unclaimed[topic] for topic in telling)
        reason = f"no record of its own in {', '.join(telling)}"
        reason += f"; {nobody:,} records there carry no producer's mark" if nobody else ""
        return Confirmation(producer=name, outcome="not-seen", reason=reason, hint=_RESTART)

    def _confirmation(self, name: str, record: WrittenRecord) -> Confirmation:
        producer = next(known for known in self._writers.producers if known.name == name)
        topic, mark = record.partition.topic, producer.identified_by
        if mark is not None and is_marked(producer, record.headers):
            by = f"header {mark.header}"
        elif self._writers.alone_in(topic) is producer:
            by = f"only producer of {topic}"
        else:
            by = f"only producer of {topic} without a mark"
        return Confirmation(
            producer=name,
            outcome="seen",
            at_s=None if record.timestamp_ms < 0 else record.timestamp_ms / 1000,
            clock="broker" if record.is_broker_time else "producer",
            place=f"{record.partition} at {record.offset}",
            by=by,
        )

    def _shared(self) -> frozenset[str]:
        return frozenset(topic for name in self.indistinct for topic in self._writers.sharing(name))


def cannot_be_told(writers: Writers, name: str, ids: Mapping[str, int | None]) -> Confirmation:
    """A producer whose records nothing tells from others'. `ids`: producer ids seen writing, by topic.

    Their number is no proof: one application may have several, and one that is not idempotent has none.
    """
    shared = writers.sharing(name)
    if not shared:
        return Confirmation(
            producer=name,
            outcome="unknown",
            reason="writes to none of the mirrored topics",
        )
    told = []
    for topic, others in shared.items():
        count = ids.get(topic)
        known = "" if count is None else f" ({count} producer ids have written there since the move)"
        told.append(f"{topic} with {', '.join(others)}{known}")
    return Confirmation(
        producer=name,
        outcome="unknown",
        reason=f"shares {'; '.join(told)}: its records cannot be told from those of the others",
        hint="for the next move give it an `identified_by`: a header that all its records carry",
    )


def told(rows: Iterable[Confirmation], timeout_s: float) -> str:
    """All of them in one line, for console and journal."""
    rows = tuple(rows)
    parts = []
    seen = [f"{row.producer}{_when(row)}" for row in rows if row.outcome == "seen"]
    if seen:
        parts.append(f"first records: {listed(seen, _LISTED)}")
    attested = [row.producer for row in rows if row.outcome == "attested"]
    if attested:
        parts.append(f"attested to write by a person: {', '.join(attested)}")
    missing = [row.producer for row in rows if row.outcome == "not-seen"]
    if missing:
        parts.append(f"producers without a record within {timeout_s:g} s: {', '.join(missing)}")
    parts += [
        f"unknown whether {row.producer} writes: it {row.reason}" for row in rows if row.outcome == "unknown"
    ]
    return "; ".join(parts)


def _when(row: Confirmation) -> str:
    return "" if row.at_s is None else f" {datetime.fromtimestamp(row.at_s, UTC):%H:%M:%S.%f}"[:-3]


def not_seen(rows: Iterable[Confirmation]) -> list[str]:
    """Names of those of which nobody can say that they write."""
    return [row.producer for row in rows if row.outcome in ("not-seen", "unknown")]
