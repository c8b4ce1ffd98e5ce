"""What a topic and its copy must agree on: settings with which a copy takes each record and keeps it as long.

Each check compares settings in force. One that a side does not tell has Kafka's default there.
Sources: `LogConfig`, `ServerLogConfigs` and `LogValidator` in Kafka; `KafkaProducer.ensureValidRecordSize`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from orchestrator.topology.topic_settings import meaning

MAX_MESSAGE = "max.message.bytes"
MAX_REQUEST = "producer.override.max.request.size"
"""The setting of a mirror's connector that bounds the records which its producer sends."""
BUFFER = "producer.override.buffer.memory"
"""The one that bounds what its producer holds; a record has to fit into that as well."""

DEFAULT_MAX_MESSAGE = 1_048_588
_DEFAULT_MAX_REQUEST = 1_048_576
_DEFAULT_BUFFER = 33_554_432
_NO_LIMIT = 2**63 - 1
_HOUR_MS = 3_600_000
# The producer's estimate of a batch with one record takes each length for as long as it can be: 21 bytes more
# than the broker counts (`DefaultRecord.MAX_RECORD_OVERHEAD`), and a few for each header.
_ESTIMATED_MORE = 1_024
# Kafka's defaults of both limits differ by what stands before each batch in a log (`Records.LOG_OVERHEAD`).
_LOG_OVERHEAD = 12

_BEFORE, _AFTER = "message.timestamp.before.max.ms", "message.timestamp.after.max.ms"
_TIMESTAMP = "message.timestamp.type"
DEFAULTS: Mapping[str, str] = {
    MAX_MESSAGE: str(DEFAULT_MAX_MESSAGE),
    "retention.ms": "604800000",
    "retention.bytes": "-1",
    "cleanup.policy": "delete",
    _TIMESTAMP: "CreateTime",
    _BEFORE: str(_NO_LIMIT),
    _AFTER: str(_NO_LIMIT),
    "compression.type": "producer",
}
"""Kafka's own, of every setting that is compared; `message.timestamp.after.max.ms` is an hour from 4.0 on."""


@dataclass(frozen=True, slots=True)
class Disagreement:
    """One setting that a copy has otherwise than its origin, and what comes of it."""

    key: str
    at_source: str
    at_copy: str
    effect: str


def defaults_of(kafka: str) -> dict[str, str]:
    """Kafka's defaults in a version, as a file names it (`4.3.1`)."""
    major = kafka.partition(".")[0]
    later = {_AFTER: str(_HOUR_MS)} if major.isdecimal() and int(major) >= 4 else {}
    return {**DEFAULTS, **later}


def in_force(*settings: Mapping[str, str]) -> dict[str, str]:
    """The settings in force of what is compared: the last mapping that has one wins, then Kafka's default."""
    found = dict(DEFAULTS)
    for each in settings:
        found |= {key: value for key, value in each.items() if key in DEFAULTS}
    return found


def disagreements(source: Mapping[str, str], copy: Mapping[str, str]) -> Iterator[Disagreement]:
    """In which of the settings in force of a topic and of its copy the copy takes or keeps less.

    A copy may do more: larger records, a longer retention, a wider range of timestamps.
    """
    one, other = in_force(source), in_force(copy)
    for key, check in _CHECKS.items():
        effect = check(one, other)
        if effect:
            yield Disagreement(key, one[key], other[key], effect)


def request_size(limits: Iterable[int]) -> int:
    """The least `max.request.size` with which the largest record of topics with these limits is sent on."""
    return max(limits, default=DEFAULT_MAX_MESSAGE) + _ESTIMATED_MORE


def sending(limits: Iterable[int]) -> dict[str, str]:
    """Settings of the producer of a mirror with which it sends on all records within these limits."""
    size = request_size(limits)
    return {MAX_REQUEST: str(size), **({BUFFER: str(size)} if size > _DEFAULT_BUFFER else {})}


def too_small_to_send(connector: Mapping[str, str], limit: int) -> tuple[str, str] | None:
    """The setting of a mirror's connector, and its value, with which a record of `limit` is not sent on."""
    for key, default in ((MAX_REQUEST, _DEFAULT_MAX_REQUEST), (BUFFER, _DEFAULT_BUFFER)):
        value = connector.get(key, str(default)).strip()
        if value.isdecimal() and int(value) + _LOG_OVERHEAD < limit:
            return key, value
    return None


def largest_record(settings: Mapping[str, str]) -> int:
    """`max.message.bytes` in force; Kafka's default where it is no number."""
    value = meaning(MAX_MESSAGE, settings.get(MAX_MESSAGE, DEFAULTS[MAX_MESSAGE]))
    return value if isinstance(value, int) else DEFAULT_MAX_MESSAGE


Settings = Mapping[str, str]


def _limits(key: str, one: Settings, other: Settings) -> tuple[int, int] | None:
    """Two limits, below 0 none at all; None where one is no number: Kafka refuses such a value."""
    found = meaning(key, one[key]), meaning(key, other[key])
    if not all(isinstance(value, int) for value in found):
        return None
    source, copy = (_NO_LIMIT if int(value) < 0 else int(value) for value in found)  # type: ignore[arg-type]
    return source, copy


def _is_lower(key: str, one: Settings, other: Settings) -> bool:
    limits = _limits(key, one, other)
    return limits is not None and limits[1] < limits[0]


def _policies(settings: Settings) -> set[str]:
    return {part.strip() for part in settings["cleanup.policy"].split(",") if part.strip()}


def _size(one: Settings, other: Settings) -> str:
    return "a larger record stops the mirror" if _is_lower(MAX_MESSAGE, one, other) else ""


def _cleanup(one: Settings, other: Settings) -> str:
    source, copy = _policies(one), _policies(other)
    lost = []
    if "compact" in copy - source:
        lost.append("the copy is compacted, and of each key keeps the last record alone")
    if "delete" in copy - source:
        lost.append("the copy deletes records that the source keeps")
    return "; ".join(lost)


def _kept(key: str) -> Callable[[Settings, Settings], str]:
    def shorter(one: Settings, other: Settings) -> str:
        deletes = "delete" in _policies(one) & _policies(other)
        return "the copy deletes records sooner" if deletes and _is_lower(key, one, other) else ""

    return shorter


def _stamped(one: Settings, other: Settings) -> str:
    """A copy with CreateTime keeps the times of a source that stamps them itself."""
    is_otherwise = (one[_TIMESTAMP], other[_TIMESTAMP]) == ("CreateTime", "LogAppendTime")
    return "the copy replaces the time of each record by the time of its copying" if is_otherwise else ""


def _in_range(key: str, when: str) -> Callable[[Settings, Settings], str]:
    def narrower(one: Settings, other: Settings) -> str:
        # A broker looks at these where producers set the time. Its own clock is never ahead of itself.
        if other[_TIMESTAMP] != "CreateTime" or (key == _AFTER and one[_TIMESTAMP] != "CreateTime"):
            return ""
        return f"a record with a time further {when} stops the mirror" if _is_lower(key, one, other) else ""

    return narrower


def _compressed(one: Settings, other: Settings) -> str:
    """Another codec costs other space alone; without one the broker measures what it has unpacked."""
    is_unpacked = other["compression.type"] == "uncompressed" != one["compression.type"]
    return "a record that is too large once it is unpacked stops the mirror" if is_unpacked else ""


_CHECKS: Mapping[str, Callable[[Settings, Settings], str]] = {
    MAX_MESSAGE: _size,
    "cleanup.policy": _cleanup,
    "retention.ms": _kept("retention.ms"),
    "retention.bytes": _kept("retention.bytes"),
    _TIMESTAMP: _stamped,
    _BEFORE: _in_range(_BEFORE, "back"),
    _AFTER: _in_range(_AFTER, "ahead"),
    "compression.type": _compressed,
}
