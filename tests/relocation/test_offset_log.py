"""Offset files of Spark checkpoints: read in full or refused, and written as Spark would."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.errors import DcctlError
from orchestrator.relocation.offset_log import (
    OffsetLog,
    encoded_initial_offsets,
    kafka_line,
    kafka_offsets,
    parse_initial_offsets,
    parse_offset_log,
)
from orchestrator.values import TopicPartition

offsets = st.dictionaries(
    st.builds(TopicPartition, st.from_regex(r"[A-Za-z0-9._-]{1,20}", fullmatch=True), st.integers(0, 999)),
    st.integers(0, 2**62),
    min_size=1,
)
lines = st.text(
    st.characters(blacklist_categories=["Cc", "Cs", "Zl", "Zp"], blacklist_characters="\x85"), min_size=1
)


@given(offsets)
def test_a_kafka_line_reads_back(found: dict[TopicPartition, int]) -> None:
    """Offsets to line and back, and the same through `sources/<i>/0`."""
    assert kafka_offsets(kafka_line(found)) == found
    assert parse_initial_offsets(encoded_initial_offsets(found)) == found


@given(lines, st.lists(lines, max_size=4))
def test_an_offset_log_reads_back(metadata: str, sources: list[str]) -> None:
    """Whatever the sources' lines hold, they come back byte for byte, without a newline at the end."""
    log = OffsetLog(metadata, tuple(sources))
    assert parse_offset_log(log.encoded(), "offsets/7") == log
    assert not log.encoded().endswith(b"\n")


def test_a_real_offset_file_is_understood() -> None:
    """As Spark 4.0 wrote it: metadata first, then a Kafka source and a rate source."""
    content = b'v1\n{"batchWatermarkMs":0}\n{"orders":{"2":7,"0":5}}\n12'
    log = parse_offset_log(content, "offsets/3")
    assert kafka_offsets(log.sources[0]) == {TopicPartition("orders", 2): 7, TopicPartition("orders", 0): 5}
    assert kafka_line({TopicPartition("b", 10): 1, TopicPartition("b", 9): 2}) == '{"b":{"9":2,"10":1}}'


@pytest.mark.parametrize(
    "line", ["-", "12", "{}", '{"logOffset":3}', '{"a":{"x":1}}', '{"a":{"0":true}}', '{"a":{"0":1.5}}', "["]
)
def test_other_sources_are_not_taken_for_kafka(line: str) -> None:
    """Rate, file and other sources keep their lines untouched."""
    assert kafka_offsets(line) is None


@pytest.mark.parametrize("content", [b"v2\n{}\n0:{}", b"v9\n{}", b"v1", b"", b"\xff\xfe"])
def test_an_unknown_format_is_refused_by_name(content: bytes) -> None:
    """Format v2 and anything else that is not understood in full."""
    with pytest.raises(DcctlError, match="offsets/3"):
        parse_offset_log(content, "offsets/3")
