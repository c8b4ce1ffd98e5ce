"""MirrorMaker's record formats: there and back, all at once as one by one, and errors that say why."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.errors import FormatError
from orchestrator.mirrors.mirrormaker2.formats import (
    Checkpoint,
    Heartbeat,
    OffsetSync,
    decode_checkpoint,
    decode_heartbeat,
    decode_offset_sync,
    decode_sync_values,
    encode_offset_sync,
)
from orchestrator.values import TopicPartition
from tests.replication.mirror_records import encode_checkpoint, encode_heartbeat

_OFFSETS = st.integers(0, 2**63 - 1)
_TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
_PARTITIONS = st.builds(TopicPartition, _TEXTS, st.integers(0, 2**31 - 1))


def test_an_offset_sync_has_the_bytes_of_kafka() -> None:
    """orders-3, upstream 1000, downstream 995."""
    key, value = encode_offset_sync(OffsetSync(TopicPartition("orders", 3), 1000, 995))
    assert key == bytes.fromhex("00 06 6f 72 64 65 72 73 00 00 00 03")
    assert value == bytes.fromhex("00 00 00 00 00 00 03 e8 00 00 00 00 00 00 03 e3")


@given(st.builds(OffsetSync, _PARTITIONS, _OFFSETS, _OFFSETS))
def test_offset_syncs_come_back(sync: OffsetSync) -> None:
    """What was encoded is decoded."""
    assert decode_offset_sync(*encode_offset_sync(sync)) == sync


@given(st.builds(Checkpoint, _TEXTS, _PARTITIONS, _OFFSETS, _OFFSETS, _TEXTS))
def test_checkpoints_come_back(checkpoint: Checkpoint) -> None:
    """What was encoded is decoded."""
    assert decode_checkpoint(*encode_checkpoint(checkpoint)) == checkpoint


@given(st.builds(Heartbeat, _TEXTS, _TEXTS, _OFFSETS))
def test_heartbeats_come_back(heartbeat: Heartbeat) -> None:
    """What was encoded is decoded."""
    assert decode_heartbeat(*encode_heartbeat(heartbeat)) == heartbeat


@given(st.lists(st.tuples(_OFFSETS, _OFFSETS), max_size=20))
def test_many_values_are_decoded_as_one_by_one(pairs: list[tuple[int, int]]) -> None:
    """The vectorised decoder tells the same as the scalar one."""
    records = [encode_offset_sync(OffsetSync(TopicPartition("t", 0), *pair)) for pair in pairs]
    upstream, downstream = decode_sync_values([value for _, value in records])
    decoded = [decode_offset_sync(*record) for record in records]
    assert list(zip(upstream.tolist(), downstream.tolist(), strict=True)) == [sync[1:] for sync in decoded]


@given(st.binary(max_size=40), st.binary(max_size=40))
def test_any_other_bytes_are_an_error_for_a_user(key: bytes, value: bytes) -> None:
    """Bytes that are no such record end in a `FormatError`, never in an exception of Python's own."""
    for decode in (decode_offset_sync, decode_checkpoint, decode_heartbeat):
        try:
            decode(key, value)
        except FormatError as error:
            assert "expected" in str(error)  # noqa: PT017 - some random bytes are a valid record


def test_an_error_says_what_was_expected() -> None:
    """Too short, too long, another version, a string beyond the end, an offset below 0."""
    key, value = encode_checkpoint(Checkpoint("billing", TopicPartition("west.orders", 0), 5, 4))
    with pytest.raises(FormatError, match=r"value of a checkpoint: 10 bytes .* expected 18 more bytes"):
        decode_checkpoint(key, value[:10])
    with pytest.raises(FormatError, match=r"expected its end at byte 20"):
        decode_checkpoint(key, value + b"x")
    with pytest.raises(FormatError, match=r"format version 1, expected 0"):
        decode_checkpoint(key, b"\x00\x01" + value[2:])
    with pytest.raises(FormatError, match=r"expected 7 bytes of group from byte 2 on"):
        decode_checkpoint(key[:6], value)
    with pytest.raises(FormatError, match=r"offsets -1 and 0, expected none below 0"):
        decode_offset_sync(b"\x00\x00\x00\x00\x00\x00", b"\xff" * 8 + b"\x00" * 8)


def test_a_broken_value_among_many_is_named() -> None:
    """The position counts from the first record read."""
    good = b"\x00" * 16
    with pytest.raises(FormatError, match=r"number 12: 3 bytes"):
        decode_sync_values([good, good, b"abc"], first=10)
    with pytest.raises(FormatError, match=r"number 1: offsets -1 and 0"):
        decode_sync_values([good, b"\xff" * 8 + b"\x00" * 8])


def test_text_that_kafka_cannot_hold_is_refused() -> None:
    """A STRING has at most 32,767 bytes."""
    with pytest.raises(FormatError, match="at most 32767 bytes"):
        encode_offset_sync(OffsetSync(TopicPartition("x" * 32_768, 0), 0, 0))
