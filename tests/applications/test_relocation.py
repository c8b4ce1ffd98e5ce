"""Relocating a checkpoint on disk: never in place, whole or not at all, once for each run."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from orchestrator.applications.spark.live.relocation import (
    checkpoint_positions,
    copy_folder,
    note_left,
    refuse_running_original,
    relocate_checkpoint,
    relocation_record,
    seen_checkpoint,
    undo_relocation,
)
from orchestrator.applications.spark.ports import RelocationReport
from orchestrator.errors import DcctlError
from orchestrator.replication.offset_map import Translated
from orchestrator.topology.spark import Sink, SparkQuery
from orchestrator.values import TopicPartition


def write_checkpoint_at(folder: Path, batch: int, offset: int) -> None:
    """A checkpoint with two committed batches and one state partition."""
    files = {
        "metadata": '{"id":"x"}',
        "sources/0/0": '\0v1\n{"orders":{"0":0}}',
        f"state/0/0/{batch + 1}.snapshot": "total",
        **{f"commits/{n}": "v1\n{}" for n in (batch - 1, batch)},
        **{
            f"offsets/{n}": f'v1\n{{}}\n{{"orders":{{"0":{offset - 10 * (batch - n)}}}}}'
            for n in (batch - 1, batch)
        },
        f"offsets/.{batch}.crc": "stale",
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The watcher's copy."""
    folder = tmp_path / "revenue.copy"
    write_checkpoint_at(folder, 7, 100)
    return folder


def relocated(copy: Path, destination: Path, **changes: Any) -> RelocationReport:
    """Relocate with a mirror that is 20 records short."""
    arguments: dict[str, Any] = {
        "translate": lambda _tp, offset: Translated(offset - 20, True, 0, "exact"),
        "mirrored": lambda topic: f"west.{topic}",
        "local_starts": {TopicPartition("orders", 0): 4},
        "query": "revenue",
        "sink": Sink(kind="files"),
        "run_id": "r1",
    }
    return relocate_checkpoint(copy, destination, **{**arguments, **changes})


def aged(folder: Path, seconds: float) -> None:
    """Make it look as if nothing had been written there for a while."""
    for file in folder.rglob("*"):
        moment = file.stat().st_mtime - seconds
        os.utime(file, (moment, moment))


def test_the_destination_goes_on_where_the_copy_stood(copy: Path, tmp_path: Path) -> None:
    """State and metadata as they were, offsets translated, checksums gone, the copy untouched."""
    before = {file: file.read_bytes() for file in copy.rglob("*") if file.is_file()}
    destination = tmp_path / "revenue"
    report = relocated(copy, destination)
    assert checkpoint_positions(destination) == {
        TopicPartition("west.orders", 0): 80,
        TopicPartition("orders", 0): 4,
    }
    assert (destination / "state/0/0/8.snapshot").read_text() == "total"
    assert (destination / "metadata").read_text() == '{"id":"x"}'
    assert not list(destination.rglob("*.crc"))
    assert {file: file.read_bytes() for file in copy.rglob("*") if file.is_file()} == before
    record = json.loads(relocation_record(destination).read_text())
    assert record["sink_identity"] == report.sink_identity == "revenue@r1"
    assert record["from_batch"] == 7
    assert record["offsets"] == {"west.orders": {"0": 80}, "orders": {"0": 4}}
    assert record["original_offsets"] == {"orders": {"0": 100}}


def test_the_same_run_again_changes_nothing(copy: Path, tmp_path: Path) -> None:
    """Also after the query has gone on: a resumed run must not throw its batches away."""
    destination = tmp_path / "revenue"
    first = relocated(copy, destination)
    assert relocated(copy, destination) == first
    (destination / "offsets/8").write_text("v1\n{}\n{}")
    assert relocated(copy, destination) == first
    assert (destination / "offsets/8").exists()


def test_a_run_that_died_before_the_rename_is_done_again(copy: Path, tmp_path: Path) -> None:
    """The record is there, the checkpoint is the former one: the next try relocates."""
    destination = tmp_path / "revenue"
    write_checkpoint_at(destination, 3, 50)
    aged(destination, 100)
    relocated(copy, tmp_path / "elsewhere")
    relocation_record(tmp_path / "elsewhere").rename(relocation_record(destination))
    report = relocated(copy, destination)
    assert checkpoint_positions(destination)[TopicPartition("west.orders", 0)] == 80
    assert report.aside is not None
    assert checkpoint_positions(report.aside) == {TopicPartition("orders", 0): 50}


def test_another_run_may_follow_at_once(copy: Path, tmp_path: Path) -> None:
    """A failover that was refused later on is tried anew: no query has touched the destination since."""
    destination = tmp_path / "revenue"
    relocated(copy, destination)
    again = relocated(copy, destination, run_id="r2")
    assert again.sink_identity == "revenue@r2"
    assert again.aside is not None


def test_a_destination_in_use_is_refused(copy: Path, tmp_path: Path) -> None:
    """A query wrote there just now: nothing is moved under it."""
    destination = tmp_path / "revenue"
    write_checkpoint_at(destination, 3, 50)
    with pytest.raises(DcctlError, match="seems to run already"):
        relocated(copy, destination)
    assert checkpoint_positions(destination) == {TopicPartition("orders", 0): 50}
    with pytest.raises(DcctlError, match="in place"):
        relocated(copy, copy)


def test_it_can_be_undone_until_the_query_goes_on(copy: Path, tmp_path: Path) -> None:
    """What stood there comes back; after the first new batch there is no way back."""
    destination = tmp_path / "revenue"
    write_checkpoint_at(destination, 3, 50)
    aged(destination, 100)
    relocated(copy, destination)
    undo_relocation(destination)
    assert checkpoint_positions(destination) == {TopicPartition("orders", 0): 50}
    with pytest.raises(DcctlError, match="it was not relocated by dcctl, or that was undone already"):
        undo_relocation(destination)
    aged(destination, 100)
    relocated(copy, destination, run_id="r2")
    (destination / "offsets/8").write_text("v1\n{}\n{}")
    with pytest.raises(DcctlError, match="gone on beyond batch 7"):
        undo_relocation(destination)


def test_incomplete_state_or_a_missing_translation_changes_nothing(copy: Path, tmp_path: Path) -> None:
    """Whatever forbids it is found before anything is written."""
    destination = tmp_path / "revenue"
    nothing = Translated(None, False, None, "no offset sync")
    with pytest.raises(DcctlError, match="without a translation"):
        relocated(copy, destination, translate=lambda _tp, _offset: nothing)
    (copy / "state/0/0/8.snapshot").rename(copy / "state/0/0/7.snapshot")
    with pytest.raises(DcctlError, match=r"lacks 8\.delta"):
        relocated(copy, destination)
    assert not destination.exists()
    assert not relocation_record(destination).exists()


def test_a_state_that_nobody_can_judge_is_taken_on_a_person_s_word_alone(copy: Path, tmp_path: Path) -> None:
    """RocksDB names in its files which others they need: a copy of them may lack any."""
    (copy / "state/0/0/8.snapshot").rename(copy / "state/0/0/8.zip")
    (copy / "state/0/_metadata").mkdir()
    (copy / "state/0/_metadata/metadata").write_text("{}")
    seen = seen_checkpoint(copy)
    assert seen.unjudged == ("state/0/0/8.zip",)
    assert seen.positions == {TopicPartition("orders", 0): 100}
    with pytest.raises(DcctlError, match=r"as RocksDB's \(state/0/0/8\.zip\), which dcctl cannot check"):
        relocated(copy, tmp_path / "revenue")
    assert not relocation_record(tmp_path / "revenue").exists()
    assert relocated(copy, tmp_path / "revenue", is_at_rest=True).from_batch == 7


def test_what_is_seen_of_a_checkpoint(copy: Path, tmp_path: Path) -> None:
    """Read and whole, lacking state, damaged, and not there at all."""
    whole = seen_checkpoint(copy)
    assert (whole.broken, whole.unjudged, whole.problem) == ((), (), "")
    (copy / "state/0/0/8.snapshot").rename(copy / "state/0/0/7.snapshot")
    assert seen_checkpoint(copy).broken == ("state/0/0 lacks 8.delta",)
    (copy / "offsets/6").unlink()
    damaged = seen_checkpoint(copy)
    assert damaged.contents is not None
    assert damaged.positions == {}
    assert seen_checkpoint(tmp_path / "nowhere").problem == "has no `metadata` file"


def test_a_running_original_is_refused_by_its_freshness(copy: Path) -> None:
    """Written a moment ago, it may be at work; at rest for a while, it is taken."""
    now_s = (copy / "offsets/7").stat().st_mtime
    with pytest.raises(DcctlError, match="the query may be running"):
        refuse_running_original(copy, now_s + 5)
    refuse_running_original(copy, now_s + 60)


def test_a_copy_that_is_not_there_is_said_with_what_to_check(tmp_path: Path) -> None:
    """No copy, or no standby checkpoint at all."""
    consumer = SparkQuery(
        name="revenue", cluster="west", kind="spark", topics=("orders",), standby_checkpoint=f"{tmp_path}/r"
    )
    with pytest.raises(DcctlError, match=r"no copy of its checkpoint .*\n  does `dcctl watch FILE` run"):
        copy_folder(consumer)
    write_checkpoint_at(tmp_path / "r.copy", 7, 100)
    assert copy_folder(consumer) == tmp_path / "r.copy"


def test_a_query_that_a_run_has_stopped_there_does_not_seem_to_run(copy: Path, tmp_path: Path) -> None:
    """Unless it has written since."""
    destination = tmp_path / "revenue"
    write_checkpoint_at(destination, 3, 50)
    with pytest.raises(DcctlError, match="seems to run"):
        relocated(copy, destination)
    note_left(destination, "r0")
    assert relocated(copy, destination).from_batch == 7
    later = tmp_path / "later"
    write_checkpoint_at(later, 3, 50)
    note_left(later, "r0")
    (later / "commits" / "4").write_text("v1\n{}")
    moment = (later / "commits" / "3").stat().st_mtime + 1
    os.utime(later / "commits" / "4", (moment, moment))
    with pytest.raises(DcctlError, match="seems to run"):
        relocated(copy, later)


def test_a_note_that_cannot_be_written_stops_nobody(tmp_path: Path) -> None:
    """It only saves waiting: the other site's disk may be mounted to be read alone."""
    (tmp_path / "west").write_text("")
    note_left(tmp_path / "west" / "revenue", "r0")
