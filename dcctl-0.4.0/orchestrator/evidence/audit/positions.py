"""What a consumer wrote down about its positions: starts, assignments, commits, errors."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from orchestrator.evidence.audit.clocks import ClockReading
from orchestrator.evidence.audit.ledgers import END_MARK, POSITIONS_COLUMNS
from orchestrator.values import TopicPartition

OUTSIDE = "_AUTO_OFFSET_RESET"
"""The error of a consumer that is to go on at given positions alone, and has none that is in the log."""


class PositionEvent(NamedTuple):
    """One line of a positions ledger. `place` and `offset` are None where the event has none."""

    event: str
    place: TopicPartition | None
    offset: int | None
    at_ms: int
    detail: str


@dataclass(frozen=True, slots=True)
class Positions:
    """One life of one consumer, by its positions ledger."""

    events: Sequence[PositionEvent]

    def committed(self) -> dict[TopicPartition, int]:
        """The newest committed offset of each partition."""
        return {e.place: e.offset for e in self._of("commit") if e.place is not None and e.offset is not None}

    def assigned(self) -> dict[TopicPartition, int]:
        """The position at which each partition was first assigned, where it had one."""
        found: dict[TopicPartition, int] = {}
        for event in self._of("assigned"):
            if event.place is not None and event.offset is not None:
                found.setdefault(event.place, event.offset)
        return found

    def last_ms(self, event: str) -> int | None:
        """When an event last happened."""
        return max((found.at_ms for found in self._of(event)), default=None)

    def first_ms(self, event: str) -> int | None:
        """When an event first happened."""
        return next((found.at_ms for found in self._of(event)), None)

    def batches(self) -> int:
        """How many batches a Spark query committed."""
        return len({event.detail for event in self._of("commit")})

    def errors(self) -> list[str]:
        """Errors by name, each once, in the order of their first time."""
        return list(dict.fromkeys(event.detail for event in self._of("error")))

    def without_position(self) -> list[TopicPartition]:
        """Partitions in which there was no position, or one outside the log."""
        found = [e.place for e in self._of("error") if e.detail == OUTSIDE and e.place is not None]
        return list(dict.fromkeys(found))

    def first_offset(self, event: str) -> int | None:
        """The number that the first such event carries."""
        return next((found.offset for found in self._of(event)), None)

    def clock_readings(self) -> list[ClockReading]:
        """How far the writer's clock was from the third place's; `detail` is the uncertainty."""
        return [
            ClockReading(found.at_ms, found.offset, int(found.detail))
            for found in self._of("clock")
            if found.offset is not None
        ]

    def _of(self, event: str) -> Iterator[PositionEvent]:
        return (found for found in self.events if found.event == event)


def read_positions(path: Path) -> Positions:
    """Read one positions ledger; torn lines are left out. Raises `OSError` where it cannot be read."""
    with path.open(newline="", encoding="utf-8") as file:
        return Positions(
            [
                PositionEvent(
                    event=event,
                    place=TopicPartition(topic, int(partition)) if topic else None,
                    offset=int(offset) if offset else None,
                    at_ms=int(at_ms),
                    detail=detail,
                )
                for event, topic, partition, offset, at_ms, detail, end in _whole(csv.reader(file))
                if end == END_MARK
            ]
        )


def _whole(lines: Iterator[list[str]]) -> Iterator[list[str]]:
    return (fields for fields in lines if len(fields) == len(POSITIONS_COLUMNS))
