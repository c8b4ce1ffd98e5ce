"""A real Spark session for the audit's tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from orchestrator.adapters.java.runtime import spark_connector_jars
from orchestrator.adapters.spark import spark_session
from orchestrator.adapters.spark_archive import spark_class_archive


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A local session that can read Kafka."""
    scratch: Path = tmp_path_factory.mktemp("spark")
    session = spark_session(
        "tests",
        master="local[2]",
        jars=spark_connector_jars(),
        shuffle_partitions=1,
        driver_memory_mb=768,
        scratch=scratch,
        class_archive=spark_class_archive(),
    )
    yield session
    session.stop()
