"""A map that watchers keep elsewhere is read as it was written, whoever copied it, and however often."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.ports.servers import Record
from orchestrator.replication.kept_map import Kept, decode_kept, encode_kept, newest_kept

WHOSE = ("east", "west")
TOPIC = "mm2-offset-syncs.east.internal"


def original(offset: int, topic_id: str = "one") -> Kept:
    return Kept(WHOSE, topic_id, Record(TOPIC, 0, offset, 1_000 + offset, b"k%d" % offset, b"v%d" % offset))


def copied(*kept: Kept) -> list[Record]:
    """As they lie in the copy: with offsets and times of its own."""
    return [
        Record("dcctl-map.east-west.internal", 0, at, 9_000 + at, *encode_kept(one))
        for at, one in enumerate(kept)
    ]


@given(st.binary(max_size=40) | st.none(), st.binary(max_size=40) | st.none(), st.integers(0, 2**62))
def test_a_record_comes_back_as_it_was(key: bytes | None, value: bytes | None, offset: int) -> None:
    """Key, value, offset and time; a record without a key has an empty one."""
    record = Record(TOPIC, 0, offset, offset // 2, key, value)
    (lying,) = copied(Kept(WHOSE, "id", record))
    assert decode_kept(lying, TOPIC) == Kept(WHOSE, "id", record._replace(key=key or b""))


@given(st.integers(0, 30), st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=6))
def test_copiers_side_by_side_and_begun_again_change_nothing(
    count: int, turns: list[tuple[int, int]]
) -> None:
    """Each copies some stretch, in any order: what was copied comes once, in its order."""
    stretches = [range(min(a, b), min(max(a, b), count)) for a, b in turns]
    lying = copied(*(original(offset) for stretch in stretches for offset in stretch))
    _, found = newest_kept([lying], TOPIC, WHOSE)
    assert [record.offset for record in found] == sorted({at for stretch in stretches for at in stretch})
    assert all(record == original(record.offset).record for record in found)


def test_of_a_topic_that_was_made_anew_only_the_newest_counts() -> None:
    """And what was copied of another one by mistake, on a wrong address, counts no more once it was right."""
    lying = copied(original(0), original(7, "wrong"), original(1), original(0, "two"), original(1, "two"))
    topic_id, found = newest_kept([lying[:2], lying[2:]], TOPIC, WHOSE)
    assert (topic_id, [record.offset for record in found]) == ("two", [0, 1])
    topic_id, found = newest_kept([lying[:3]], TOPIC, WHOSE)
    assert (topic_id, [record.offset for record in found]) == ("one", [0, 1])


def test_what_is_of_another_mirror_or_no_record_of_a_map_is_passed_over() -> None:
    """`a-b` to `c` and `a` to `b-c` share the name of a topic, and nothing else."""
    other = Kept(("east", "north"), "other", original(7).record)
    strange = [
        Record("x", 0, 9, 0, b"", b""),
        Record("x", 0, 10, 0, b"\xff" * 40, None),
        Record("x", 0, 11, 0, None, b""),
    ]
    topic_id, found = newest_kept([[*copied(original(3), other), *strange]], TOPIC, WHOSE)
    assert (topic_id, [record.offset for record in found]) == ("one", [3])
    assert newest_kept([strange], TOPIC, WHOSE) == ("", [])
