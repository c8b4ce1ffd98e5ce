"""A real Spark session, shared by the audit's tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from orchestrator.adapters.spark import spark_session


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A local session, without Kafka's connector."""
    scratch: Path = tmp_path_factory.mktemp("spark")
    session = spark_session(
        "tests", master="local[2]", shuffle_partitions=1, driver_memory_mb=512, scratch=scratch
    )
    yield session
    session.stop()
