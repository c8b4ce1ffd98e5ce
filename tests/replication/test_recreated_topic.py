"""Topics that were deleted and made again: which syncs still count, and what the map makes of them."""

from __future__ import annotations

from orchestrator.mirrors.mirrormaker2.formats import OffsetSync, encode_offset_sync
from orchestrator.mirrors.mirrormaker2.offset_syncs import OffsetSyncs
from orchestrator.replication.recreated_topic import Recreation, first_sync_of_recreated
from tests.replication.mirror_model import PARTITION, build

ANEW = Recreation(before_s=100.0, seen_s=110.0)


def test_the_step_back_is_the_beginning_of_the_new_topic() -> None:
    """Seen in the window or later: the mirror may take its time until it looks."""
    upstream = [4_800, 4_900, 0, 100, 200]
    assert first_sync_of_recreated(upstream, [90, 99, 105, 106, 107], ANEW) == 2
    assert first_sync_of_recreated(upstream, [90, 112, 900, 901, 902], ANEW) == 2


def test_a_step_back_of_the_old_topic_is_none() -> None:
    """A restart of the mirror, long before."""
    assert first_sync_of_recreated([300, 200, 400, 0], [80, 81, 99, 120], ANEW) == 3


def test_without_a_step_back_only_what_was_written_since_counts() -> None:
    """The new log had grown past the old position: the mirror went on without a word."""
    assert first_sync_of_recreated([4_900, 5_000, 5_100], [99, 108, 111], ANEW) == 2
    assert first_sync_of_recreated([4_900, 5_000], [99, 108], ANEW) == 2
    assert first_sync_of_recreated([], [], ANEW) == 0


def test_equal_offsets_prove_no_beginning_in_common() -> None:
    """The old topic's records stand before them at the target, not the new one's."""
    key, value = encode_offset_sync(OffsetSync(PARTITION, 5_100, 5_100))
    builder = OffsetSyncs(recreated={PARTITION.topic})
    builder.add_syncs([key], [value])
    anew = builder.build()
    assert build([(5_100, 5_100)]).translate(PARTITION, 40)[:2] == (40, True)
    assert anew.translate(PARTITION, 40).offset is None
    assert anew.translate(PARTITION, 5_100)[:2] == (5_100, True)
    assert anew.first_copied(PARTITION) == 5_100
    assert build([(5_100, 5_100)]).first_copied(PARTITION) == 0
