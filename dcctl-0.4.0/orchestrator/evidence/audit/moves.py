"""Several moves to and fro: from the small tables that Spark returns to parts of a report, and findings.
Pure.

What was acknowledged in any life has to be at each place in the end, in its own topic or in the copy of what
another place had taken. A position is right when what lies before it at one side is what lies before it at
the other. The rules are those of `docs/evidence.md`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from orchestrator.evidence.audit.clocks import Clocks
from orchestrator.evidence.audit.figures import (
    Row,
    Unmeasured,
    anomalies,
    rows_of,
    strange_records,
    unmeasured_topic,
)
from orchestrator.evidence.audit.inputs import AuditedMove, AuditInputs, Position
from orchestrator.evidence.audit.positions import Positions
from orchestrator.evidence.audit.result import AuditResult, Finding
from orchestrator.evidence.audit.sides import Sides, log_name, named_at
from orchestrator.evidence.audit.timing import Change, Pause, out_of_service


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveFigures:
    """What one move came to. Records, except `positions`, `exact`, `wrong` (positions), and times; None where
    something could not be read.

    `late`: had not been copied when the source was lost, and arrived after its return. `read_again_late`:
    those of them that a consumer had processed before the loss. `read_again`: all others.
    """

    verb: str
    run_id: str
    source: str
    target: str
    outcome: str
    seconds: float
    pause_s: float | None
    consumer_pause_s: float | None
    late: int | None
    positions: int
    exact: int
    wrong: int | None
    skipped: int | None
    read_again: int | None
    read_again_at_most: int | None
    read_again_late: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """The collected tables, and what the clients themselves wrote down.

    `places`: by place, rows of `place_figures`. `late`: the row of `late_figures`. `acks` and `processed` are
    rows a second (see `seconds`), `notes` and `clocks` as in `Soundness`.
    """

    places: Mapping[int, Sequence[Row]]
    reordered: Sequence[Row] = ()
    late: Row = field(default_factory=dict)
    positions: Sequence[Row] = ()
    readings: Sequence[Row] = ()
    acks: Sequence[Row] = ()
    processed: Sequence[Row] = ()
    notes: Mapping[tuple[int, int], Positions] = field(default_factory=dict)
    clocks: Clocks = field(default_factory=dict)
    unmeasured: Unmeasured = field(default_factory=Unmeasured)


@dataclass(frozen=True, slots=True)
class Returned:
    """Rows of what was moved to and fro, as they are asked for."""

    inputs: AuditInputs
    sides: Sides
    moved: Moved

    def result(self) -> AuditResult:
        """The parts of the report and the findings."""
        moves = self.moves()
        pauses = [pause for move in moves for pause in (move.pause_s, move.consumer_pause_s)]
        longest = None if None in pauses else max((p for p in pauses if p is not None), default=None)
        return AuditResult(
            clusters=self.clusters(),
            rto={"seconds": longest, "limit_s": self.inputs.seen_within_s},
            moves=moves,
            findings=tuple(self.findings()),
        )

    def clusters(self) -> dict[str, Any]:
        """`clusters` of the report: every topic at every place, over all lives."""
        return {
            self.sides.places[cluster]: {
                "topics": {
                    topic.name: self._topic(cluster, index) for index, topic in enumerate(self.inputs.topics)
                }
            }
            for cluster in sorted(self.moved.places)
        }

    def moves(self) -> list[MoveFigures]:
        """`moves` of the report, in their order."""
        return [self._move(life, move) for life, move in enumerate(self.inputs.moves, 2)]

    def findings(self) -> Iterator[Finding]:
        """What forbids a valid verdict beside what stands in `clusters`."""
        for number, move in enumerate(self.moves(), 1):
            found = (
                *self._of_move(number + 1, move),
                *self._of_pauses(number + 1),
                *self._of_topics(number + 1),
            )
            for verdict, text in found:
                yield Finding(verdict, f"move {number} ({move.verb}): {text}")
        for cluster in sorted(self.moved.places):
            yield from self._of_logs(cluster)
        for index, consumer in enumerate(self.inputs.consumers):
            rows = [row for row in rows_of(self.moved.readings, "consumer", index) if row["never"]]
            if rows and self._is_read(index):
                cluster = self.sides.places.index(self.inputs.moves[-1].target)
                places = self._places((self._lane(row, cluster), row["never"]) for row in rows)
                left = sum(row["never"] for row in rows)
                yield Finding("invalid", f"{consumer.name}: {left:,} records were never processed ({places})")

    def _topic(self, cluster: int, index: int) -> dict[str, Any]:
        if index in self._unmeasured_topics(cluster):
            return unmeasured_topic()
        rows = rows_of(self.moved.places[cluster], "topic", index)
        late = rows_of(self.moved.reordered, "topic", index)
        sides = self.sides.at(cluster)
        acked, hole = (sum(row[key] for row in rows) for key in ("acked", "hole"))
        return {
            "acked": acked,
            "present": acked - hole,
            "lost": {"tail": 0, "hole": hole},
            "quarantined": None,
            "duplicates": sum(row["duplicates"] for row in rows),
            "reordered": sum(row["reordered"] for row in late if row["side"] in sides),
            "indeterminate": {"present": None, "absent": None},
            "resent_copies": sum(row["resent_copies"] for row in rows),
            "partitions": [
                anomaly
                for side in sides
                for anomaly in anomalies(
                    rows_of(rows, "side", side),
                    rows_of(late, "side", side),
                    log_name(self.inputs, self.sides, side, index) or "",
                )
            ],
        }

    def _unmeasured_topics(self, cluster: int) -> set[int]:
        unmeasured = self.moved.unmeasured
        return {topic for side in self.sides.at(cluster) for topic in unmeasured.topics(self.inputs, side)}

    def _is_read(self, consumer: int | None = None) -> bool:
        """Whether what rests on the records, and on one consumer's ledgers, or all of them, is known."""
        unmeasured = self.moved.unmeasured
        silent = consumer in unmeasured.consumers if consumer is not None else bool(unmeasured.consumers)
        return not (silent or unmeasured.partitions or unmeasured.producers)

    def _move(self, life: int, move: AuditedMove) -> MoveFigures:
        wrong = list(self._wrong(life, move))
        unmeasured, is_read = self.moved.unmeasured, self._is_read()
        is_looked_at = not unmeasured.partitions
        readings = self.moved.readings
        stated = [move.reread_at_most.get(consumer.name) for consumer in self.inputs.consumers]
        return MoveFigures(
            verb=move.verb,
            run_id=move.run_id,
            source=move.source,
            target=move.target,
            outcome=move.outcome,
            seconds=move.seconds,
            pause_s=_longest(self._producer_pauses(life), len(unmeasured.producers)),
            consumer_pause_s=_longest(self._consumer_pauses(life), len(unmeasured.consumers)),
            late=self.moved.late[f"late_{life}"] if is_read else None,
            positions=len(move.positions),
            exact=sum(position.exact for position in move.positions),
            wrong=len(wrong) if is_looked_at else None,
            skipped=sum(row["skipped"] for _, row in wrong) if is_looked_at else None,
            read_again=sum(row[f"again_{life}"] for row in readings) if is_read else None,
            read_again_at_most=None if None in stated else sum(filter(None, stated)),
            read_again_late=sum(row[f"late_{life}"] for row in readings) if is_read else None,
        )

    def _wrong(self, life: int, move: AuditedMove) -> Iterator[tuple[Position, Row]]:
        """Positions that are not where they were said to be, with what was found of them."""
        rows = {
            (row["consumer"], row["origin"], row["topic"], row["partition"]): row
            for row in rows_of(self.moved.positions, "life", life)
        }
        consumers = {consumer.name: index for index, consumer in enumerate(self.inputs.consumers)}
        topics = {topic.name: index for index, topic in enumerate(self.inputs.topics)}
        for position in move.positions:
            origin = self.sides.places.index(position.origin or move.source)
            key = (consumers.get(position.consumer), origin, topics.get(position.topic), position.partition)
            row = rows.get(key)
            if row is not None and (row["skipped"] or (position.exact and row["again"])):
                yield position, row

    def _of_logs(self, cluster: int) -> Iterator[Finding]:
        """Records at a place that no ledger explains, of topics whose ledgers and logs are all known."""
        unmeasured = self._unmeasured_topics(cluster)
        for side in self.sides.at(cluster):
            rows = rows_of(self.moved.places[cluster], "side", side)
            for index, topic in enumerate(self.inputs.topics):
                if index not in unmeasured:
                    name = log_name(self.inputs, self.sides, side, index) or topic.name
                    at = f" at {self.sides.places[cluster]}"
                    yield from strange_records(rows_of(rows, "topic", index), name, at)

    def _of_move(self, life: int, move: MoveFigures) -> Iterator[Finding]:
        made = self.inputs.moves[life - 2]
        if move.outcome != "ok":
            yield Finding("unknown", f"it ended {move.outcome}")
        if not move.positions:
            yield Finding("unknown", "it placed no group")
        if unwritten := [one for one in made.positions if one.target_offset is None]:
            listed = ", ".join(f"{one.consumer} at {one.topic}-{one.partition}" for one in unwritten)
            yield Finding("unknown", f"no position was written for {listed}")
        target = self.sides.places.index(move.target)
        wrong = [(self._reader(row, target), row) for _, row in self._wrong(life, made)]
        if move.wrong:
            places = self._places((who, row["skipped"] + row["again"]) for who, row in wrong)
            yield Finding(
                "invalid", f"{move.wrong} positions are not where they were said to be (records: {places})"
            )
        if move.skipped:
            places = self._places((who, row["skipped"]) for who, row in wrong)
            yield Finding("invalid", f"{move.skipped:,} records lie before a position, unread ({places})")
        if move.read_again is None:
            yield Finding("unknown", "how much was read again could not be counted")
        elif move.read_again_at_most is None:
            yield Finding("unknown", "it was not stated how much would be read again")
        elif move.read_again > move.read_again_at_most:
            rows = [(self._reader(row, target), row[f"again_{life}"]) for row in self.moved.readings]
            text = f"{move.read_again:,} records read again, {move.read_again_at_most:,} at most were stated"
            yield Finding("invalid", f"{text} ({self._places(rows)})")

    def _of_pauses(self, life: int) -> Iterator[Finding]:
        limit = self.inputs.seen_within_s
        for name, pause in (self._producer_pauses(life) | self._consumer_pauses(life)).items():
            if pause.seconds is None:
                yield Finding("invalid", f"{name} was not seen both before it and after it")
            elif pause.is_disagreeing:
                text = f"{name} was seen {-pause.seconds:.3f} s too early: do the clocks disagree?"
                yield Finding("unknown", text)
            elif pause.seconds > limit:
                text = f"{name} was seen again only after {pause.seconds:.1f} s (limit {limit:g} s)"
                yield Finding("invalid", text)
        for index, consumer in enumerate(self.inputs.consumers):
            notes = self.moved.notes.get((index, life))
            places = notes.without_position() if notes is not None else []
            if places:
                listed = ", ".join(str(place) for place in places)
                yield Finding(
                    "invalid", f"{consumer.name}: a position was missing or outside the log ({listed})"
                )

    def _of_topics(self, life: int) -> Iterator[Finding]:
        """Topics that took nothing in the life after a move, or not all."""
        for index, topic in enumerate(self.inputs.topics):
            if index in Unmeasured(producers=self.moved.unmeasured.producers).topics(self.inputs, 0):
                continue
            rows = [row for row in rows_of(self.moved.acks, "topic", index) if row["life"] == life]
            if not any(row["count"] for row in rows):
                text = f"in {topic.name} no record was acknowledged after it: nothing is shown of it"
                yield Finding("unknown", text)
            if count := sum(row["unserved"] for row in rows):
                text = (
                    f"{count:,} sends to {topic.name} were refused or timed out after their producer was back"
                )
                yield Finding("invalid", text)

    def _producer_pauses(self, life: int) -> dict[str, Pause]:
        """Per producer and topic, from the last acknowledgement before a move to the first one after it."""
        change, found = Change(life - 1, life, None), {}
        for index, producer in enumerate(self.inputs.producers):
            if index in self.moved.unmeasured.producers:
                continue
            rows = [row for row in rows_of(self.moved.acks, "producer", index) if row["count"]]
            for number, topic in enumerate(self.inputs.topics):
                if topic.name in producer.topics:
                    own = rows_of(rows, "topic", number)
                    client = ("producer", index)
                    found[f"{producer.name} in {topic.name}"] = out_of_service(
                        own, client, self.moved.clocks, change
                    )
        return found

    def _consumer_pauses(self, life: int) -> dict[str, Pause]:
        """Per consumer, from its last processed record before a move to its first one after it.

        One that had ended by itself before the move, or had processed nothing, counts from its command on.
        """
        change, found = Change(life - 1, life, self.inputs.moves[life - 2].started_at_s * 1000), {}
        for index, consumer in enumerate(self.inputs.consumers):
            if index in self.moved.unmeasured.consumers:
                continue
            notes = self.moved.notes.get((index, life - 1))
            rows = rows_of(self.moved.processed, "consumer", index)
            ended_ms = notes.last_ms("stop") if notes is not None else None
            found[consumer.name] = out_of_service(
                rows, ("consumer", index), self.moved.clocks, change, ended_ms=ended_ms
            )
        return found

    def _reader(self, row: Row, cluster: int) -> str:
        return f"{self.inputs.consumers[row['consumer']].name} at {self._lane(row, cluster)}"

    def _lane(self, row: Row, cluster: int) -> str:
        """The partition at a place that holds records of a row's origin and topic."""
        names = named_at(self.inputs, self.sides, cluster)
        key = (row["origin"], row["topic"])
        name = next((name for name, found in names.items() if key in found), None)
        return f"{name or self.inputs.topics[row['topic']].name}-{row['partition']}"

    @staticmethod
    def _places(counts: Iterable[tuple[str, int]]) -> str:
        return "; ".join(f"{place}: {count:,}" for place, count in sorted(counts) if count)


def _longest(pauses: Mapping[str, Pause], unmeasured: int) -> float | None:
    """None where one is not known, or is none, or where some clients are not measured."""
    known = [pause.seconds for pause in pauses.values() if pause.seconds is not None and pause.seconds >= 0]
    return max(known, default=None) if len(known) == len(pauses) and not unmeasured else None
