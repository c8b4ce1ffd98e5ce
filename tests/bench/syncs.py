"""Offset syncs by the million, as the bytes that a consumer of their topic hands out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from orchestrator.mirrors.mirrormaker2.formats import Offsets, encode_sync_key
from orchestrator.values import TopicPartition

CHUNK = 200_000


class Case(NamedTuple):
    """How often a sync does not continue the one before it (ΔU ≠ ΔD), and after how many the mirror
    steps back by 300 records and copies them again (0: never).
    """

    breaks: float
    steps_back_after: int = 0


CASES = {
    "smooth": Case(0.001),  # a mirror as it should be: a transaction or a gap now and then
    "half folds": Case(0.5),
    "restarts": Case(0.5, steps_back_after=10_000),
    "nothing folds": Case(1.0),
}


def sync_chunks(
    count: int, case: Case, partitions: list[TopicPartition], seed: int = 1
) -> Iterator[tuple[list[bytes], list[bytes]]]:
    """Keys and values of `count` syncs in topic order, 100 source records apart, in chunks.

    Each key and value is an object of its own, as it is when it comes from a consumer. The chunks are
    made when they are asked for, so that only one of them takes memory.
    """
    rng = np.random.default_rng(seed)
    keys = [encode_sync_key(partition) for partition in partitions]
    sources = np.zeros(len(partitions), np.int64)
    targets = np.zeros(len(partitions), np.int64)
    for start in range(0, count, CHUNK):
        size = min(CHUNK, count - start)
        numbers = (np.arange(size) + start) % len(partitions)
        upstream, downstream = np.empty(size, np.int64), np.empty(size, np.int64)
        extra = np.where(rng.random(size) < case.breaks, rng.integers(1, 4, size), 0)
        for number in range(len(partitions)) if len(partitions) <= size else np.unique(numbers).tolist():
            at = np.flatnonzero(numbers == number)
            upstream[at] = sources[number] + 100 * np.arange(len(at))
            if case.steps_back_after:
                upstream[at] -= 300 * (np.arange(len(at)) // case.steps_back_after)
            downstream[at] = targets[number] + np.cumsum(100 + extra[at]) - 100
            if len(at):
                sources[number] = upstream[at[-1]] + 100
                targets[number] = downstream[at[-1]] + 100
        yield [bytes(bytearray(keys[n])) for n in numbers.tolist()], _values(upstream, downstream)


def _values(upstream: Offsets, downstream: Offsets) -> list[bytes]:
    blob = np.column_stack((upstream, downstream)).astype(">i8").tobytes()
    return [blob[at : at + 16] for at in range(0, len(blob), 16)]
