"""What a relocated checkpoint says: by Spark's rules, and never a skipped record."""

from __future__ import annotations

import json
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.errors import DcctlError
from orchestrator.relocation.offset_log import kafka_offsets, parse_initial_offsets, parse_offset_log
from orchestrator.relocation.spark_checkpoint import (
    CheckpointContents,
    CheckpointPlan,
    plan_relocation,
    restart_point,
)
from orchestrator.topology.spark import Sink
from orchestrator.values import TopicPartition


class Moved(NamedTuple):
    """A translation as the offset map gives it."""

    offset: int | None
    is_exact: bool = True
    reread_at_most: int | None = 0
    reason: str = "between two syncs"


def tp(topic: str, partition: int) -> TopicPartition:
    """Short for TopicPartition."""
    return TopicPartition(topic, partition)


def offsets_file(*sources: object) -> bytes:
    """An `offsets/N` file with these sources."""
    lines = [source if isinstance(source, str) else json.dumps(source) for source in sources]
    return "\n".join(["v1", '{"batchWatermarkMs":0}', *lines]).encode()


def contents(
    offsets: dict[int, bytes], commits: set[int], sources: dict[int, bytes] | None = None
) -> CheckpointContents:
    """A checkpoint with these files."""
    return CheckpointContents(
        name="checkpoint /c",
        has_metadata=True,
        offsets=offsets,
        commits=frozenset(commits),
        sources=sources or {},
    )


SIX_SEVEN = {
    6: offsets_file({"orders": {"0": 80, "1": 60}}),
    7: offsets_file({"orders": {"0": 100, "1": 70}}),
}


def planned(found: CheckpointContents, **changes: object) -> CheckpointPlan:
    """The plan with a mirror that is ten records short per partition, unless changed."""
    arguments: dict[str, object] = {
        "translate": lambda _tp, offset: Moved(offset - 10),
        "mirrored": lambda topic: f"west.{topic}",
        "local_starts": {tp("orders", 0): 3, tp("orders", 1): 0, tp("other", 0): 9},
        "query": "revenue",
        "sink": Sink(kind="files"),
        "run_id": "run-1",
    }
    return plan_relocation(found, **{**arguments, **changes})  # type: ignore[arg-type]


def lines_of(plan: CheckpointPlan, batch: int) -> list[dict[TopicPartition, int] | None]:
    """The sources' offsets in a planned offsets file."""
    log = parse_offset_log(plan.replaced[f"offsets/{batch}"], "x")
    return [kafka_offsets(line) for line in log.sources]


def test_topics_are_renamed_and_every_partition_is_named() -> None:
    """Mirrored partitions by translation, landing ones by their start; foreign topics stay out."""
    plan = planned(contents(SIX_SEVEN, {6, 7}))
    expected = {tp("west.orders", 0): 90, tp("west.orders", 1): 60, tp("orders", 0): 3, tp("orders", 1): 0}
    assert lines_of(plan, 7) == [expected]
    assert lines_of(plan, 6) == [{**expected, tp("west.orders", 0): 70, tp("west.orders", 1): 50}]
    assert plan.offsets == expected
    assert plan.from_batch == 7


def test_an_uncommitted_batch_is_dropped() -> None:
    """Batch 8 had begun at the old side: its offsets go, and its records are read again."""
    found = contents({**SIX_SEVEN, 8: offsets_file({"orders": {"0": 150, "1": 90}})}, {5, 6, 7})
    plan = planned(found)
    assert plan.from_batch == 7
    assert plan.dropped_batches == (8,)
    assert plan.dropped == {"offsets/8", "commits/5"}


def test_only_the_first_batch_has_no_predecessor() -> None:
    """Batch 0 alone is enough to go on from."""
    plan = planned(contents({0: SIX_SEVEN[7]}, {0}))
    assert set(plan.replaced) == {"offsets/0"}


@pytest.mark.parametrize(
    ("offsets", "commits", "problem"),
    [
        ({}, set(), "no committed batch"),
        ({7: b""}, set(), "no committed batch"),
        ({7: b""}, {7}, "lacks offsets/7 or offsets/6"),
        ({6: b"", 9: b""}, {6}, "latest offsets are of batch 9, its latest commit of 6"),
        ({6: b""}, {7}, "it is damaged"),
    ],
)
def test_where_spark_could_not_go_on_it_is_refused(
    offsets: dict[int, bytes], commits: set[int], problem: str
) -> None:
    """The rules of a restart, each with its sentence."""
    with pytest.raises(DcctlError, match=problem):
        restart_point(contents(offsets, commits))


def test_what_is_no_checkpoint_is_refused() -> None:
    """Without `metadata` Spark would begin a new query there."""
    found = CheckpointContents(
        name="/c", has_metadata=False, offsets=SIX_SEVEN, commits=frozenset({7}), sources={}
    )
    with pytest.raises(DcctlError, match="metadata"):
        restart_point(found)


def test_a_missing_translation_refuses_and_names_every_partition() -> None:
    """One partition without a translation is one too many."""
    with pytest.raises(
        DcctlError, match=r"2 partitions without .*orders-0 at 100 \(no sync\).*orders-1 at 70"
    ):
        planned(
            contents(SIX_SEVEN, {6, 7}), translate=lambda _tp, _offset: Moved(None, False, None, "no sync")
        )


def test_several_sources_are_each_translated_and_others_stay() -> None:
    """Two Kafka sources and a rate source between them; `sources/<i>/0` of Kafka's is rewritten."""
    file = offsets_file({"orders": {"0": 100}}, "12", {"payments": {"0": 50}})
    initial = b'\0v1\n{"payments":{"0":0}}'
    plan = planned(
        contents({6: file, 7: file}, {6, 7}, {0: b'\0v1\n{"orders":{"0":0}}', 1: b"v1\nfoo", 2: initial}),
        local_starts={tp("orders", 0): 1, tp("payments", 0): 2},
    )
    assert lines_of(plan, 7) == [
        {tp("west.orders", 0): 90, tp("orders", 0): 1},
        None,
        {tp("west.payments", 0): 40, tp("payments", 0): 2},
    ]
    assert plan.kept_sources == (1,)
    assert "sources/1/0" not in plan.replaced
    assert parse_initial_offsets(plan.replaced["sources/2/0"]) == {
        tp("west.payments", 0): 40,
        tp("payments", 0): 2,
    }


def test_a_new_partition_at_the_target_starts_where_it_is_told() -> None:
    """The mirrored topic has a partition that the checkpoint has never seen."""
    starts = {tp("west.orders", 2): 0, tp("west.orders", 0): 55, tp("orders", 0): 3}
    plan = planned(contents(SIX_SEVEN, {6, 7}), local_starts=starts)
    assert plan.offsets[tp("west.orders", 2)] == 0
    assert plan.offsets[tp("west.orders", 0)] == 90


def test_a_sink_that_remembers_batch_ids_gets_a_new_identity_or_refuses() -> None:
    """Ids that may come again for other records are never shown to the sink under the old name."""
    found = contents(SIX_SEVEN, {6, 7})
    plan = planned(found)
    assert (plan.sink_identity, plan.is_new_identity) == ("revenue@run-1", True)
    assert planned(found, sink=None).is_new_identity
    forgetful = planned(found, sink=Sink(kind="kafka", remembers="nothing"))
    assert (forgetful.sink_identity, forgetful.is_new_identity) == ("revenue", False)
    with pytest.raises(DcctlError, match="remembers batch ids"):
        planned(found, sink=Sink(kind="delta", on_relocation="refuse"))


@given(
    st.dictionaries(st.integers(0, 9), st.tuples(st.integers(0, 1000), st.integers(0, 1000)), min_size=1),
    st.integers(0, 500),
)
def test_nothing_is_skipped_and_batches_stay_in_order(ranges: dict[int, tuple[int, int]], lost: int) -> None:
    """Targets are the translations, the batch before is never ahead, and the same partitions are named."""
    before = {str(p): min(pair) for p, pair in ranges.items()}
    after = {str(p): max(pair) for p, pair in ranges.items()}
    found = contents({6: offsets_file({"orders": before}), 7: offsets_file({"orders": after})}, {6, 7})
    plan = planned(found, translate=lambda _tp, offset: Moved(max(0, offset - lost)), local_starts={})
    earlier, newest = lines_of(plan, 6)[0], lines_of(plan, 7)[0]
    assert earlier is not None
    assert newest is not None
    assert newest == {tp("west.orders", int(p)): max(0, offset - lost) for p, offset in after.items()}
    assert earlier.keys() == newest.keys()
    assert all(earlier[key] <= newest[key] for key in newest)
