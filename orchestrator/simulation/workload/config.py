"""Configuration files of the workload's programs: one JSON document each, written by `install`."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from orchestrator.errors import SimulationError


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerConfig:
    """One producer in one life. `properties` are librdkafka's, with the password in them.

    First `preload_records` are sent as fast as the cluster takes them. Then, once the file `go_on_when`
    exists (at once without one), `rate_records_per_s`. With `sabotage_every` N, each Nth record after
    the preload carries the header that a sabotaged mirror filters out.
    """

    name: str
    life: int
    ledgers: str
    properties: dict[str, str]
    topics: list[str]
    acks: str = "all"
    keys: int = 1000
    seed: int = 0
    rate_records_per_s: float = 100.0
    preload_records: int = 0
    go_on_when: str = ""
    max_records: int | None = None
    value_size_bytes: int = 100
    message_timeout_s: float = 10.0
    sabotage_every: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerConfig:
    """One member of a consumer group in one life.

    `hold_lag_records` keeps it so many records behind the end, over all its partitions together;
    `stop_after_records` makes it commit and end; `max_rate_records_per_s` slows it down.
    """

    name: str
    life: int
    ledgers: str
    properties: dict[str, str]
    topics: list[str]
    offset_reset: str = "error"
    hold_lag_records: int = 0
    stop_after_records: int | None = None
    max_rate_records_per_s: float | None = None
    commit_interval_s: float = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryConfig:
    """One Spark query in one life. `jars` are those of Spark's Kafka connector."""

    name: str
    life: int
    ledgers: str
    properties: dict[str, str]
    topics: list[str]
    checkpoint: str
    jars: list[str]
    starting_offsets: str = "earliest"
    trigger_s: float = 2.0
    shuffle_partitions: int = 2
    master: str = "local[2]"
    driver_memory_mb: int = 512
    max_offsets_per_trigger: int = 50_000
    scratch: str = ""
    class_archive: str = ""
    conf: dict[str, str] = field(default_factory=dict)


Config = TypeVar("Config", ProducerConfig, ConsumerConfig, QueryConfig)


def write_config(path: Path, config: ProducerConfig | ConsumerConfig | QueryConfig) -> None:
    """Write one configuration, readable by its owner alone: it holds a password."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", encoding="utf-8", opener=_private) as file:
        json.dump(asdict(config), file, indent=2)


def read_config(path: Path, kind: type[Config]) -> Config:
    """Read one configuration. Raises `SimulationError` when it is missing or not of this kind."""
    try:
        fields: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return kind(**fields)
    except (OSError, ValueError, TypeError) as error:
        raise SimulationError(str(path), f"not the configuration of a workload program: {error}") from None


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
