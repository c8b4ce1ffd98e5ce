"""Offsets by partition as JSON: {topic: {"0": offset}}."""

from __future__ import annotations

from collections.abc import Mapping

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
