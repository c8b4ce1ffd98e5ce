"""Offsets by partition as JSON: {topic: {"0": offset}}."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer

from orchestrator.values import TopicPartition

OffsetsJson = dict[str, dict[str, int]]


def offsets_to_json(offsets: Mapping[TopicPartition, int]) -> OffsetsJson:
    """Sorted by topic and partition."""
    found: OffsetsJson = {}
    for tp, offset in sorted(offsets.items()):
        found.setdefault(tp.topic, {})[str(tp.partition)] = offset
    return found


def offsets_from_json(data: Mapping[str, Mapping[str, int]]) -> dict[TopicPartition, int]:
    """The same, read back."""
    return {
        TopicPartition(topic, int(number)): offset
        for topic, numbers in data.items()
        for number, offset in numbers.items()
    }


def _read(value: Any) -> Any:
    is_json = isinstance(value, Mapping) and all(isinstance(key, str) for key in value)
    return offsets_from_json(value) if is_json else value


Offsets = Annotated[dict[TopicPartition, int], BeforeValidator(_read), PlainSerializer(offsets_to_json)]
"""A field of offsets by partition, which is JSON in that form in plans and journals."""
