"""The audit on Spark against a brute-force audit, on histories drawn at random."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from orchestrator.evidence.audit.run import audit_tables
from tests.evidence.audit.histories import (
    CONSUMERS,
    TOPICS,
    History,
    brute_reading,
    brute_topics,
    counted,
    draw_history,
    inputs_of,
    is_query,
    notes_of,
    tables_of,
)

# A whole Spark session is no unit.
pytestmark = pytest.mark.integration


@pytest.mark.parametrize("seed", [1, 2])
def test_random_history(spark: SparkSession, seed: int) -> None:
    """Every figure equals the one counted by hand."""
    history = draw_history(seed)
    result = audit_tables(spark, inputs_of(history), tables_of(spark, history), notes_of(history))
    for index, name in enumerate(TOPICS):
        expected = brute_topics(history, index)
        mirrored, landing = (result.clusters[cluster]["topics"][name] for cluster in ("west", "east"))
        assert _flat(mirrored) == expected["mirrored"]
        landed = _flat(landing)
        assert {key: landed[key] for key in ("acked", "present", "hole", "duplicates", "reordered")} == {
            key: expected["landing"][key] for key in ("acked", "present", "hole", "duplicates", "reordered")
        }
        assert landing["resent_copies"] == expected["landing"]["resent_copies"]
    _compare_readings(history, result.consumers)
    matches = {query["query"]: query["counts_match"] for query in result.spark}
    queries = [number for number in range(len(CONSUMERS)) if is_query(number)]
    assert matches == {CONSUMERS[query].name: _is_countable(history, query) for query in queries}


def _flat(topic: dict) -> dict:
    return {
        **{key: topic[key] for key in ("acked", "present", "duplicates", "reordered")},
        **topic["lost"],
        **{f"open_{key}": value for key, value in topic["indeterminate"].items()},
    }


def _compare_readings(history: History, rows: list) -> None:
    measured = {(r["name"], r["source"], r["topic"], r["partition"]): r for r in rows}
    for (consumer, topic, partition), read in history.reads.items():
        row = measured[CONSUMERS[consumer].name, "west", TOPICS[topic], partition]
        expected = brute_reading(history, consumer, topic, partition)
        figures = {
            **row["reread"],
            **{key: row[key] for key in ("skipped", "processed_but_lost")},
            "mirrormaker": row["mirrormaker_reread"],
        }
        assert figures == {key: expected[key] for key in figures}
        landed = measured[CONSUMERS[consumer].name, "east", TOPICS[topic], partition]
        log = history.landing[topic, partition]
        seen = {log[offset].sequence for offset in read.landing}
        passed = {record.sequence for record in log[: max(read.landing, default=-1) + 1]}
        assert landed["skipped"] == len(passed - seen)


def _is_countable(history: History, query: int) -> bool | None:
    """Whether the query counted each key as often as its records, re-reads and losses say.

    None while it has not read everything: what is not drained is not compared.
    """
    for (consumer, topic, partition), read in history.reads.items():
        end = max(read.landing, default=-1) + 1
        if consumer == query and end < len(history.landing[topic, partition]):
            return None
    expected: dict[str, int] = {}
    for topic, partition in ((t, p) for c, t, p in history.reads if c == query):
        read = history.reads[query, topic, partition]
        kept = [history.source[topic, partition][n] for n in range(read.recorded)]
        mirrored = [record for record, _ in history.mirrored[topic, partition]]
        again = [mirrored[n] for n in read.again]
        for record in [*mirrored, *history.landing[topic, partition]]:
            expected[record.key] = expected.get(record.key, 0) + 1
        for record in kept:
            if record not in mirrored:
                expected[record.key] = expected.get(record.key, 0) + 1
            else:
                twice = max(0, 1 + again.count(record) - mirrored.count(record))
                expected[record.key] = expected.get(record.key, 0) + twice
    return {key: n for key, n in expected.items() if n} == dict(counted(history, query))
