"""Rehearsals that were never played: ledgers as clients write them, and logs beside them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from orchestrator.evidence.audit.ledgers import (
    POSITIONS_COLUMNS,
    PROCESSED_COLUMNS,
    SENDS_COLUMNS,
    positions_path,
    processed_path,
    sends_path,
)
from orchestrator.evidence.clients.ledger import LedgerWriter
from orchestrator.evidence.clients.records import RecordId
from orchestrator.evidence.origins import Compared, Origin, OriginFigures, compare_origins, read_ledgers
from orchestrator.topology.loading import load_topology
from orchestrator.topology.model import Topology
from orchestrator.values import TopicPartition
from tests.drill.rehearsal import ROOT

SITES = load_topology(ROOT / "tests" / "layouts" / "two-sites.yaml")
CENTRES = load_topology(ROOT / "tests" / "layouts" / "two-centres.yaml")
WEST, EAST = Origin("west", "orders"), Origin("east", "orders")


@dataclass
class World:
    """Ledgers as clients write them, and logs beside them; partition 0 of everything."""

    topology: Topology
    ledgers: Path
    logs: dict[str, dict[TopicPartition, list[tuple[int, RecordId]]]] = field(default_factory=dict)

    def sent(
        self,
        producer: str,
        life: int,
        numbers: Iterable[int],
        event: str = "ack",
        *,
        at_s: float = 1.0,
        first: int | None = None,
    ) -> None:
        """A producer's numbers are answered; those acknowledged stand in the log in that order, at the offset
        of their number, or one behind the other from `first` on. One in each second from `at_s` on.
        """
        with LedgerWriter(sends_path(self.ledgers, producer, life), SENDS_COLUMNS) as ledger:
            for place, number in enumerate(numbers):
                offset = number if first is None else first + place
                where = ("orders", 0, offset) if event == "ack" else (None, None, None)
                at_ms = round((at_s + place) * 1000)
                ledger.add(event, number, None, *where, at_ms, at_ms + 1, 0, None)

    def read(
        self,
        consumer: str,
        life: int,
        topic: str,
        records: Iterable[RecordId],
        first: int = 0,
        *,
        at_s: float = 1.0,
    ) -> None:
        """A consumer processes records of a topic, one behind the other from an offset on, one a second."""
        positions = positions_path(self.ledgers, consumer, life)
        if not positions.exists():
            with LedgerWriter(positions, POSITIONS_COLUMNS) as notes:
                notes.add("start", None, None, None, 0, None)
        with LedgerWriter(processed_path(self.ledgers, consumer, life), PROCESSED_COLUMNS) as ledger:
            for place, record in enumerate(records):
                ledger.add(topic, 0, first + place, *record, round((at_s + place) * 1000) + 2)

    def stands(self, cluster: str, topic: str, records: Iterable[RecordId]) -> None:
        """What a log holds."""
        log = self.logs.setdefault(cluster, {}).setdefault(TopicPartition(topic, 0), [])
        log.extend(enumerate(records, len(log)))

    def compared(self, *, with_logs: bool = False, **words: object) -> Compared:
        told = read_ledgers(self.topology, self.ledgers)
        return compare_origins(self.topology, told, logs=self.logs if with_logs else None, **words)  # type: ignore[arg-type]

    def of(self, consumer: str, origin: Origin, **words: object) -> OriginFigures:
        found = self.compared(**words).readings  # type: ignore[arg-type]
        return next(one for one in found if (one.consumer, one.origin) == (consumer, origin))


def records(producer: str, life: int, numbers: Iterable[int]) -> list[RecordId]:
    return [RecordId(producer, number, life) for number in numbers]


def shop_east(count: int) -> list[RecordId]:
    return records("shop-east", 1, range(count))
