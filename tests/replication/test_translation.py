"""Positions fitted to the target's log, MirrorMaker's checkpoints, and the mirror's lag."""

from __future__ import annotations

import pytest

from orchestrator.mirrors.mirrormaker2.checkpoints import kept, newest_checkpoints
from orchestrator.mirrors.mirrormaker2.formats import Checkpoint
from orchestrator.mirrors.mirrormaker2.offset_syncs import OffsetSyncs
from orchestrator.replication.offset_map import Translated
from orchestrator.replication.translation import (
    OnUntranslatable,
    fit_to_log,
    source_partition,
    translate_kept,
)
from orchestrator.topology.model import Replication
from orchestrator.values import LogEnd, TopicPartition
from tests.replication.mirror_model import PARTITION, build

_MIRRORED = TopicPartition("west.orders", 3)
_LOG = LogEnd(100, 200)


@pytest.mark.parametrize("offset", [100, 150, 200])
def test_a_position_in_the_log_stays(offset: int) -> None:
    """The end of the log is a position in it."""
    translated = Translated(offset, True, 0, "because")
    assert fit_to_log(translated, _LOG, "refuse") == (offset, True, 0, "because", "translation")


@pytest.mark.parametrize(
    ("offset", "problem"),
    [(None, "no translation: because"), (99, "99 is gone"), (201, "201 does not exist")],
)
@pytest.mark.parametrize(
    ("rule", "expected", "by"),
    [("refuse", None, "refused"), ("earliest", 100, "earliest")],
)
def test_outside_the_log_the_consumers_rule_decides(
    offset: int | None, problem: str, rule: OnUntranslatable, expected: int | None, by: str
) -> None:
    """Never auto.offset.reset: refused, or from the start on, and the reason is told."""
    fitted = fit_to_log(Translated(offset, offset is not None, 0, "because"), _LOG, rule)
    assert (fitted.offset, fitted.is_exact, fitted.by) == (expected, False, by)
    assert problem in fitted.reason


@pytest.mark.parametrize(
    ("offset", "by_time", "expected", "by", "words"),
    [
        (None, 150, 150, "timestamp", "no translation: because; translated by the time of the record"),
        (None, 50, 100, "timestamp", "by the time"),
        (201, 300, 200, "timestamp", "201 does not exist"),
        (99, None, 100, "timestamp", "99 is gone"),
        (None, None, None, "refused", "do not say when its record was written"),
    ],
)
def test_by_time_is_never_exact_and_never_outside_the_log(
    offset: int | None, by_time: int | None, expected: int | None, by: str, words: str
) -> None:
    """What retention took is gone for everyone: all that is left is read. Without a time it is refused."""
    fitted = fit_to_log(Translated(offset, offset is not None, 0, "because"), _LOG, "timestamp", by_time)
    assert (fitted.offset, fitted.is_exact, fitted.by) == (expected, False, by)
    assert words in fitted.reason


def test_the_newest_checkpoint_of_each_group_and_partition_counts() -> None:
    """In topic order, as Kafka's own client reads them, also where it went back."""
    other = TopicPartition("west.orders", 4)
    checkpoints = [
        Checkpoint("billing", _MIRRORED, 10, 10),
        Checkpoint("billing", other, 7, 5),
        Checkpoint("shipping", _MIRRORED, 99, 90),
        Checkpoint("billing", _MIRRORED, 8, 8),
    ]
    nothing = OffsetSyncs().build()
    found = {
        key: translate_kept(position, PARTITION, nothing)[:2]
        for key, position in newest_checkpoints(map(kept, checkpoints)).items()
    }
    assert found == {
        ("billing", _MIRRORED): (8, False),
        ("billing", other): (5, False),
        ("shipping", _MIRRORED): (90, False),
    }


def test_the_map_improves_on_a_checkpoint() -> None:
    """MirrorMaker went back to a sync; the map knows the record itself."""
    checkpoint = Checkpoint("billing", _MIRRORED, 150, 101)
    offset_map = build([(0, 0), (100, 100), (200, 200)])
    assert translate_kept(kept(checkpoint), PARTITION, offset_map)[:3] == (150, True, 0)


def test_without_syncs_the_checkpoint_stands() -> None:
    """Nothing else is known then."""
    checkpoint = Checkpoint("billing", _MIRRORED, 150, 101)
    assert translate_kept(kept(checkpoint), PARTITION, build([]))[:3] == (101, False, None)


def test_what_the_map_refuses_no_checkpoint_revives() -> None:
    """It may speak of a copy that is no more: 30,000 was deleted, the copy begins with record 50,000."""
    offset_map = build([(50_000 + k, k) for k in range(0, 40_001, 100)])
    checkpoint = Checkpoint("billing", _MIRRORED, 30_000, 30_000)
    assert translate_kept(kept(checkpoint), PARTITION, offset_map).offset is None
    known_before = build([(0, 0), (10, 10)])
    assert translate_kept(kept(checkpoint), PARTITION, known_before)[:2] == (11, False)


def test_in_an_unfinished_replay_the_checkpoint_is_not_trusted() -> None:
    """MirrorMaker translates by the newest pass alone, and would skip what only the first one has."""
    offset_map = build([(0, 0), (100, 100), (60, 101), (80, 121)], end=(80, 122))
    checkpoint = Checkpoint("billing", _MIRRORED, 90, 122)
    assert translate_kept(kept(checkpoint), PARTITION, offset_map).offset == 90


def test_the_source_of_a_mirrored_partition() -> None:
    """By the replication policy of the file."""
    default = Replication(source="west", target="east", topics=("orders",))
    identity = Replication(source="west", target="east", topics=("orders",), policy="identity")
    assert source_partition(default, _MIRRORED) == PARTITION
    assert source_partition(default, PARTITION) is None
    assert source_partition(identity, PARTITION) == PARTITION
