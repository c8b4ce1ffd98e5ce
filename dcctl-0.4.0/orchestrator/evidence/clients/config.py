"""Configuration files of clients that keep ledgers: one JSON document each.

A client has one file at each of its places, and a life each time that it starts there after a move: 1, 3, …
where it was installed first, 2, 4, … at the other place. `later` is what differs from the third life on.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from orchestrator.errors import DcctlError


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerConfig:
    """One producer in one life. `properties` are librdkafka's, with the password in them.

    First `preload_records` are sent as fast as the cluster takes them. Then, once the file `go_on_when`
    exists (at once without one), `rate_records_per_s`. With `sabotage_every` N, each Nth record after
    the preload carries the header that a sabotaged mirror filters out. Every record has `headers`.
    `keep_bytes`: see `LedgerWriter`.

    With a `transactional_id` it writes in transactions of at most `transaction_records`, and aborts each
    `abort_every`-th of them (`transactional`).

    `message_timeout_s` is Kafka's own default (`delivery.timeout.ms`): it has to outlast the election of a
    leader. An idempotent producer that gives one record up begins a new epoch, in which the broker does not
    know what it has of the others: they may stand there twice, and the one comes behind them when it is sent
    again.
    """

    name: str
    life: int
    ledgers: str
    properties: dict[str, str]
    topics: list[str]
    acks: str = "all"
    headers: dict[str, str] = field(default_factory=dict)
    keys: int = 1000
    seed: int = 0
    rate_records_per_s: float = 100.0
    preload_records: int = 0
    go_on_when: str = ""
    max_records: int | None = None
    value_size_bytes: int = 100
    message_timeout_s: float = 120.0
    sabotage_every: int | None = None
    transactional_id: str = ""
    transaction_records: int = 100
    abort_every: int | None = 5
    keep_bytes: int | None = None
    later: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerConfig:
    """One member of a consumer group in one life. `group`: its id, the client's name where it is empty.

    Of `topics` those that begin with `^` are regular expressions over whole names.

    `hold_lag_records` keeps it so many records behind the end, over all its partitions together;
    `stop_after_records` makes it commit and end; `max_rate_records_per_s` slows it down. What it holds back
    is counted in offsets: where a log has gaps, records are fewer.
    """

    name: str
    life: int
    ledgers: str
    properties: dict[str, str]
    topics: list[str]
    group: str = ""
    offset_reset: str = "error"
    hold_lag_records: int = 0
    stop_after_records: int | None = None
    max_rate_records_per_s: float | None = None
    commit_interval_s: float = 0.5
    keep_bytes: int | None = None
    later: dict[str, Any] = field(default_factory=dict)


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
    later: dict[str, Any] = field(default_factory=dict)


Config = TypeVar("Config", ProducerConfig, ConsumerConfig, QueryConfig)

PLACES = 2
"""How many places a client has at most: at home, and at its standby."""


def config_text(config: ProducerConfig | ConsumerConfig | QueryConfig) -> str:
    """The text of a configuration file. It holds a password."""
    return json.dumps(asdict(config), indent=2)


def read_config(path: Path, kind: type[Config]) -> Config:
    """Read one configuration. Raises `DcctlError` when it is missing or not of this kind."""
    try:
        fields: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return kind(**fields)
    except (OSError, ValueError, TypeError) as error:
        raise DcctlError(str(path), f"not the configuration of this program: {error}") from None


def properties_text(properties: Mapping[str, str]) -> str:
    """librdkafka properties as `name=value` lines. They hold a password."""
    return "".join(f"{name}={value}\n" for name, value in properties.items())


def read_properties(path: Path) -> dict[str, str]:
    """Read `name=value` lines; empty ones and those that begin with `#` say nothing. Raises `DcctlError`."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise DcctlError(str(path), f"cannot be read: {error}", "check the path and its rights") from None
    found = {}
    for number, line in enumerate(map(str.strip, lines), 1):
        name, separator, value = line.partition("=")
        if line.startswith("#") or not line:
            continue
        if not separator or not name.strip():
            # What the line says may be a secret.
            raise DcctlError(f"{path}:{number}", "is no `name=value`", "one librdkafka property a line")
        found[name.strip()] = value.strip()
    return found


def in_its_life(config: Config, lived: Iterable[int]) -> Config:
    """The configuration for the life that a client lives when it starts now; `lived` are those it has had.

    A client that was stopped and starts again where it is goes on with its life; one that comes back from
    the other place begins a new one.
    """
    life = life_now(config.life, lived)
    return config if life == config.life else replace(config, life=life, **config.later)


def life_now(first: int, lived: Iterable[int]) -> int:
    """The number of the life that a client lives at the place where `first` is its first one."""
    last = max(lived, default=0)
    return max(first, last + (last - first) % PLACES)
