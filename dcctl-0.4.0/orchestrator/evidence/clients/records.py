"""What the workload's records look like: `producer,sequence,life,sent_ms,resent,xxx…`.

Commas and no other structure: Spark's `split` reads it without a row function of our own. The key
follows from the sequence number and the seed of the scenario, so the same record sent again has the same
key and partition.
"""

from __future__ import annotations

from typing import NamedTuple

# Knuth's multiplicative hash: neighbouring sequence numbers get keys that look drawn at random.
_MULTIPLIER = 2_654_435_761
_MODULUS = 2**32


class RecordId(NamedTuple):
    """Which send a record is: the producer, its sequence number, and the life that sent it."""

    producer: str
    sequence: int
    life: int


def record_key(sequence: int, keys: int, seed: int) -> str:
    """Key of a sequence number, one of `keys` different ones; another seed gives other keys."""
    return f"k{((sequence + seed) * _MULTIPLIER % _MODULUS) % keys:05d}"


def record_value(record: RecordId, *, sent_ms: int, is_resent: bool, size_bytes: int) -> str:
    """Value of one record, padded to `size_bytes`."""
    return f"{record.producer},{record.sequence},{record.life},{sent_ms},{int(is_resent)},".ljust(
        size_bytes, "x"
    )


def decode_record_id(value: bytes) -> RecordId:
    """Which send a value belongs to. Raises `ValueError` for a record that is not the workload's."""
    producer, sequence, life, _rest = value.split(b",", 3)
    return RecordId(producer.decode(), int(sequence), int(life))
