"""The committed lists are complete, pinned and free of addresses."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from orchestrator.adapters.java.parts import dump_set, kafka_set, known_sets, load_set, spark_set
from orchestrator.errors import JavaError


def test_both_kafkas_zookeeper_and_the_connector_are_known() -> None:
    """KRaft, ZooKeeper mode, the operator's own ZooKeeper, and Spark."""
    assert known_sets() == ("kafka-3.9.1", "kafka-4.3.1", "spark-connector-4.0.0", "zookeeper-3.8.4")


@pytest.mark.parametrize("name", known_sets())
def test_every_part_is_pinned(name: str) -> None:
    """Checksum and size of each, no part twice."""
    parts = load_set(name).parts
    assert all(re.fullmatch(r"[0-9a-f]{64}", part.sha256) and part.size_bytes > 0 for part in parts)
    assert len({(part.group, part.artifact) for part in parts}) == len(parts)


def test_equal_coordinates_have_equal_checksums_in_all_sets() -> None:
    """Sets share jars in the cache by their coordinates."""
    sums: dict[str, set[str]] = {}
    for name in known_sets():
        for part in load_set(name).parts:
            sums.setdefault(part.coordinates, set()).add(part.sha256)
    assert all(len(found) == 1 for found in sums.values())


@pytest.mark.parametrize("name", known_sets())
def test_no_list_names_a_server(name: str) -> None:
    """Any Maven repository will do."""
    text = files("orchestrator.adapters.java").joinpath(f"{name}.lock").read_text()
    assert "://" not in text


def test_kafka_4_can_log() -> None:
    """Its own dependencies bring log4j2 and SLF4J, but nothing between them: that has to be added, same version."""
    versions = {part.artifact: part.version for part in load_set(kafka_set("4.3.1")).parts}
    assert versions["log4j-slf4j-impl"] == versions["log4j-core"] == versions["log4j-api"]


def test_the_connector_brings_nothing_that_pyspark_ships() -> None:
    """Two versions of one library on a class path are a lottery."""
    artifacts = {part.artifact for part in load_set(spark_set("4.0.0")).parts}
    assert artifacts == {
        "commons-pool2",
        "kafka-clients",
        "spark-sql-kafka-0-10_2.13",
        "spark-token-provider-kafka-0-10_2.13",
    }


def test_what_is_written_is_what_is_read() -> None:
    """`make java-lock` and the reader agree."""
    name = spark_set("4.0.0")
    committed = files("orchestrator.adapters.java").joinpath(f"{name}.lock").read_text()
    comment = "\n".join(line[2:] for line in committed.splitlines() if line.startswith("#"))
    assert dump_set(load_set(name), comment) == committed


def test_an_unknown_set_is_refused_with_the_known_ones() -> None:
    """The error says what would have been right."""
    with pytest.raises(JavaError, match=r"kafka-1\.0\.0: no list.*\n.*kafka-4\.3\.1"):
        load_set("kafka-1.0.0")
