"""What really happened, by the ledgers of the applications: whether records are lost, skipped, or forked."""

from __future__ import annotations

from collections.abc import Iterable

from tests.twin.crew import EPOCH_S
from tests.twin.estate import TwinEstate

Written = tuple[str, int]
_READ_AFTER_S = 3.0


def written_at(estate: TwinEstate) -> dict[str, list[str]]:
    """For each topic the clusters at which it was written, in turns: ["west", "east"] after one move."""
    topics = {producer.name: producer.topics for producer in estate.topology.producers}
    found: dict[str, list[str]] = {}
    for _, producer, cluster in estate.applications.ledger.written_at:
        for topic in topics[producer]:
            turns = found.setdefault(topic, [])
            if turns[-1:] != [cluster]:
                turns.append(cluster)
    return found


def present_at(estate: TwinEstate, cluster: str) -> set[Written]:
    """Records of applications in any log of a cluster."""
    found = set()
    for topic in estate.clusters[cluster].topics.values():
        for log in topic.logs:
            found |= {named(r.value) for r in log.records if r is not None and _is_application(r.value)}
    return found


def lost_at(estate: TwinEstate, cluster: str) -> set[Written]:
    """Acknowledged records of which a cluster has none."""
    return set(estate.applications.ledger.acknowledged) - present_at(estate, cluster)


def skipped(estate: TwinEstate, cluster: str) -> dict[str, list[bytes]]:
    """For each consumer that works at a cluster: records in what it reads there that it never processed.

    What was written in the last moments it may not have read yet.
    """
    found = {}
    seen_s = EPOCH_S + estate.crew.now_s - _READ_AFTER_S
    known, place = estate.applications, estate.clusters[cluster]
    for consumer in estate.topology.consumers:
        processed = known.ledger.processed.get(consumer.name, {})
        missing = [
            record.value
            for tp in place.partitions(known.topics_at(consumer, place))
            if (log := place.log(tp)) is not None
            for record in log.records[log.start : log.readable_end]
            if record is not None and record.value is not None
            if record.at_s <= seen_s and record.value not in processed
        ]
        if missing:
            found[consumer.name] = missing
    return found


def processed_twice(estate: TwinEstate, consumers: Iterable[str]) -> dict[str, int]:
    """For each consumer how many records it has processed more than once."""
    ledger = estate.applications.ledger.processed
    return {name: sum(count > 1 for count in ledger.get(name, {}).values()) for name in consumers}


def _is_application(value: bytes | None) -> bool:
    # Samples are compressed: one may happen to have a colon before its last bytes, and these be digits.
    return (
        value is not None
        and value.isascii()
        and value.count(b":") == 1
        and value.rpartition(b":")[2].isdigit()
    )


def named(value: bytes | None) -> Written:
    producer, _, number = (value or b"").decode().rpartition(":")
    return producer, int(number)
