"""Following the checkpoints of several queries at once."""

from __future__ import annotations

import time
from pathlib import Path

import structlog

from orchestrator.applications.spark.live.copies import CopyKeeper
from orchestrator.topology.spark import SparkQuery


def _query(name: str, checkpoint: str, standby: Path) -> SparkQuery:
    return SparkQuery(
        name=name,
        cluster="west",
        kind="spark",
        topics=("orders",),
        checkpoint=checkpoint,
        standby_checkpoint=str(standby),
    )


def test_what_nobody_has_foreseen_is_told_of_its_query_and_ends_no_copy(tmp_path: Path) -> None:
    """A path that the operating system takes for none: said of that query, and the other one is followed."""
    original = tmp_path / "revenue"
    for folder, text in (("offsets", "v1\n{}\n{}"), ("commits", "v1\n{}")):
        (original / folder).mkdir(parents=True)
        (original / folder / "0").write_text(text, encoding="utf-8")
    (original / "metadata").write_text('{"id":"a"}', encoding="utf-8")
    queries = [
        _query("odd", "/tmp/a\0b", tmp_path / "odd-standby"),
        _query("revenue", str(original), tmp_path / "revenue-standby"),
    ]
    keeper = CopyKeeper(queries, "w", structlog.get_logger(), interval_s=0.01)
    keeper.start()
    try:
        deadline_s = time.monotonic() + 20
        while len(keeper.words()) < 2 and time.monotonic() < deadline_s:
            time.sleep(0.01)
    finally:
        keeper.stop()
    copies = {word.query: word for word in keeper.words()}
    assert copies["revenue"].batch == 0
    assert copies["odd"].batch is None
    assert "bug: the pass was lost, the next one follows: ValueError" in copies["odd"].problem
