"""The map against a copy that is cut, deleted and made anew: never a skip, exact where true, losses counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from random import Random

import pytest

from orchestrator.replication.offset_map import OffsetMap, Translated
from orchestrator.replication.source_gaps import SourceGaps
from tests.replication.mirror_model import PARTITION
from tests.replication.truncation_model import World, world_of

_WORLDS = 1_500
_KINDS = pytest.mark.parametrize(
    ("has_gaps", "said"), [(False, "no"), (False, "unknown"), (True, "may"), (True, "unknown"), (True, "no")]
)


def _all_worlds(has_gaps: bool, said: SourceGaps) -> Iterator[tuple[int, World, OffsetMap]]:
    for seed in range(_WORLDS):
        world = world_of(Random(seed), has_gaps=has_gaps)  # noqa: S311 - cases, no secrets
        if not world.syncs:
            continue
        offset_map = world.build(said)
        if has_gaps and said == "no" and PARTITION not in world.shown_gaps:
            continue  # the word is wrong, and no sync shows it
        yield seed, world, offset_map


def _worlds(has_gaps: bool, said: SourceGaps) -> Iterator[tuple[int, World, OffsetMap]]:
    for seed, world, offset_map in _all_worlds(has_gaps, said):
        if not world.untold(offset_map):
            yield seed, world, offset_map


def _skips(world: World, offset_map: OffsetMap) -> list[Translated]:
    """Answers from which on a copy at or above the position that was asked for cannot be read."""
    answers = ((u, offset_map.translate(PARTITION, u)) for u in range(world.source[-1] + 3))
    return [
        found
        for upstream, found in answers
        if found.offset is not None
        and not {u for u in world.slots if u >= upstream} <= set(world.slots[found.offset :])
    ]


@_KINDS
def test_no_record_at_or_above_the_position_is_skipped(has_gaps: bool, said: SourceGaps) -> None:
    """Whatever the target's log lost: each copy at or above a position can be read from the answer on."""
    answered = 0
    for seed, world, offset_map in _worlds(has_gaps, said):
        assert not _skips(world, offset_map), seed
        asked = range(world.source[-1] + 3)
        answered += sum(offset_map.translate(PARTITION, upstream).offset is not None for upstream in asked)
    assert answered > 3_000


@_KINDS
def test_what_no_offset_tells_is_rare(has_gaps: bool, said: SourceGaps) -> None:
    """Worlds in which something was cut or copied again unseen: what `docs/copies.md` states of them holds."""
    of_all: Counter[bool] = Counter()
    untold: Counter[tuple[bool, str]] = Counter()
    skipping: Counter[tuple[bool, str]] = Counter()
    for _, world, offset_map in _all_worlds(has_gaps, said):
        kind = world.is_stopped, world.untold(offset_map)
        of_all[world.is_stopped] += 1
        if kind[1]:
            untold[kind] += 1
            skipping[kind] += bool(_skips(world, offset_map))
    for (is_stopped, what), count in sorted(untold.items()):
        how = "stopped" if is_stopped else "running"
        skips = skipping[is_stopped, what]
        print(f"{how}: {what}: {count} of {of_all[is_stopped]} worlds, {skips} skip")  # noqa: T201 - figures
    assert all(of_all[is_stopped] > 300 for is_stopped in (True, False))
    for is_stopped, one_in in ((True, 100), (False, 20)):
        skipped = sum(count for (was_stopped, _), count in skipping.items() if was_stopped is is_stopped)
        assert skipped * one_in <= of_all[is_stopped], skipping


@_KINDS
def test_exact_only_where_nothing_is_read_again_and_the_bound_holds(has_gaps: bool, said: SourceGaps) -> None:
    """With the mirror stopped, all of the log is known: the bounds hold to its end."""
    exact = 0
    for seed, world, offset_map in _worlds(has_gaps, said):
        if not world.is_stopped:
            continue
        for upstream in range(world.source[-1] + 3):
            found = offset_map.translate(PARTITION, upstream)
            if found.offset is None:
                continue
            again = sum(u < upstream for u in world.slots[found.offset :])
            assert not (found.is_exact and again), (seed, upstream, found)
            assert found.reread_at_most is None or again <= found.reread_at_most, (seed, upstream, found)
            exact += found.is_exact
    assert exact > 100


@pytest.mark.parametrize("said", ["no", "unknown"])
def test_what_the_target_lost_is_counted(said: SourceGaps) -> None:
    """Records without a copy are behind what is mirrored, or counted as lost: none is missing in the sum."""
    lost = 0
    for seed, world, offset_map in _worlds(has_gaps=False, said=said):
        if said == "unknown" and not world.shows_each_cut:
            continue  # it may as well be a gap of the source
        mirrored = max(offset_map.mirrored_end(PARTITION) or 0, world.stored + 1)
        waiting = len(world.source) - mirrored
        counted = offset_map.first_at_beginning(PARTITION)
        counted += sum(lost.records for lost in offset_map.lost_copies(PARTITION))
        counted = counted if world.slots else mirrored
        assert world.missing() <= waiting + counted, seed
        lost += counted
    assert lost > 300
