"""The copy of a checkpoint is at every moment the checkpoint of some committed batch."""

from __future__ import annotations

import json
import os
import shutil
import threading
from pathlib import Path

import pytest
from filelock import FileLock

from orchestrator.adapters.checkpoint_copy import (
    CheckpointCopier,
    OriginalMovedError,
    OtherCopierError,
    copy_of,
    current_copy,
)
from orchestrator.adapters.checkpoint_files import broken_state, files_below, local_checkpoint, numbered
from orchestrator.errors import DcctlError

PARTITIONS = 2


class FakeQuery:
    """Writes a checkpoint as Spark does: temporary names, renames, checksums, snapshots, cleaning.

    Each batch adds its number + 1 to the state of each partition; `offsets/N` tells the sum after it.
    """

    def __init__(self, folder: Path, name: str = "query", retained: int = 4) -> None:
        self.folder, self.retained, self.next_batch = folder, retained, 0
        self._put("metadata", json.dumps({"id": name}))
        self._put("sources/0/0", "\0v1\n{}")

    def run_batch(self, *, is_committed: bool = True) -> None:
        """One micro-batch, and now and then the maintenance and the cleaning that follow it."""
        batch = self.next_batch
        self._put(f"offsets/{batch}", f"v1\n{{}}\n{sum(range(1, batch + 2))}")
        for partition in range(PARTITIONS):
            self._put(f"state/0/{partition}/{batch + 1}.delta", str(batch + 1))
        self._put("state/0/_metadata/metadata", "{}")
        if not is_committed:
            return
        self._put(f"commits/{batch}", "v1\n{}")
        self.next_batch += 1
        if batch % 3 == 2:
            for partition in range(PARTITIONS):
                total = sum(range(1, batch + 2))
                self._put(f"state/0/{partition}/{batch + 1}.snapshot", str(total))
        self._clean(batch)

    def _clean(self, batch: int) -> None:
        for kind in ("offsets", "commits"):
            for number in numbered(self.folder / kind):
                if number <= batch - self.retained:
                    (self.folder / kind / str(number)).unlink()
                    (self.folder / kind / f".{number}.crc").unlink()
        for partition in range(PARTITIONS):
            folder = self.folder / "state" / "0" / str(partition)
            bases = [
                int(f.stem) for f in folder.glob("*.snapshot") if int(f.stem) <= batch + 1 - self.retained
            ]
            for file in folder.glob("[0-9]*"):
                if bases and (int(file.stem), file.suffix) < (max(bases), ".snapshot"):
                    file.unlink()

    def _put(self, name: str, text: str) -> None:
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        temporary = file.with_name(f".{file.name}.0a1b.tmp")
        temporary.write_text(text)
        temporary.replace(file)
        file.with_name(f".{file.name}.crc").write_text("crc")


def consistent_batch(copy: Path) -> int | None:
    """The batch at which Spark would go on; fails where Spark would, or where the state is another one."""
    folder = current_copy(copy)
    if folder is None:
        return None
    commits, offsets = numbered(folder / "commits"), numbered(folder / "offsets")
    assert offsets[-1] - commits[-1] in (0, 1)
    batch = commits[-1]
    assert batch in offsets
    assert batch == 0 or batch - 1 in offsets
    expected = int((folder / "offsets" / str(batch)).read_text().splitlines()[2])
    for partition in range(PARTITIONS):
        state = folder / "state" / "0" / str(partition)
        version, total = batch + 1, 0
        while version > 0:
            snapshot = state / f"{version}.snapshot"
            if snapshot.exists():
                total += int(snapshot.read_text())
                break
            total += int((state / f"{version}.delta").read_text())
            version -= 1
        assert total == expected
    assert (folder / "metadata").exists()
    assert not list(folder.rglob("*.crc"))
    return batch


@pytest.fixture
def query(tmp_path: Path) -> FakeQuery:
    """A query that has committed seven batches and cleaned up after some."""
    query = FakeQuery(tmp_path / "west" / "revenue")
    for _ in range(7):
        query.run_batch()
    return query


def test_the_copy_is_what_a_restart_needs(query: FakeQuery, tmp_path: Path) -> None:
    """After a pass the copy stands at the newest committed batch, without the uncommitted one."""
    query.run_batch(is_committed=False)
    copy = copy_of(tmp_path / "east" / "revenue")
    result = CheckpointCopier(query.folder, copy).follow()
    assert (result.source_batch, result.batch) == (6, 6)
    assert result.committed_at_s is not None
    assert consistent_batch(copy) == 6
    assert numbered(copy / "offsets") == [5, 6]


class KilledError(Exception):
    """The process died here."""


def interrupted_at(copier: CheckpointCopier, operation: int) -> bool:
    """Run a pass that dies after its n-th change of a file; whether it died at all."""
    count = 0

    def after_each(_path: Path) -> None:
        nonlocal count
        count += 1
        if count > operation:
            raise KilledError

    dying = CheckpointCopier(copier.original, copier.copy, after_each, follow_batches=5)
    try:
        dying.follow()
    except KilledError:
        return True
    return False


@pytest.mark.parametrize("change", ["follow", "catch up and clean", "made anew", "far behind"])
def test_a_pass_may_die_after_any_file(change: str, tmp_path: Path) -> None:
    """Whatever was copied so far is a checkpoint, never of an earlier batch than before; the next pass ends it."""
    original, copy = tmp_path / "site" / "revenue", tmp_path / "site" / "revenue.copy"
    query = FakeQuery(original)
    for _ in range(5):
        query.run_batch()
    CheckpointCopier(original, copy).follow()
    if change == "made anew":
        shutil.rmtree(original)
        query = FakeQuery(original, name="another")
    for _ in range({"follow": 1, "catch up and clean": 4, "made anew": 3, "far behind": 7}[change]):
        query.run_batch()
    (tmp_path / "site").rename(tmp_path / "before")
    operation, died = 0, True
    while died:
        shutil.rmtree(tmp_path / "site", ignore_errors=True)
        shutil.copytree(tmp_path / "before", tmp_path / "site", copy_function=os.link)
        copier = CheckpointCopier(original, copy, follow_batches=5)
        died = interrupted_at(copier, operation)
        seen = consistent_batch(copy)
        assert seen is not None
        assert change == "made anew" or seen >= 4
        copier.follow()
        assert consistent_batch(copy) == query.next_batch - 1
        operation += 1
    assert operation > 6


def test_what_spark_removed_goes_from_the_copy_but_two_batches_stay(query: FakeQuery, tmp_path: Path) -> None:
    """The copy does not grow for ever."""
    copy = tmp_path / "revenue.copy"
    copier = CheckpointCopier(query.folder, copy)
    for _ in range(20):
        query.run_batch()
        copier.follow()
        assert len(numbered(copy / "offsets")) >= 2
    assert len(numbered(copy / "offsets")) <= query.retained + 1
    assert len(list(files_below(copy))) <= len(list(files_below(query.folder))) + 2


def test_it_keeps_up_beside_a_running_query(tmp_path: Path) -> None:
    """Files are written, renamed and removed while the copier reads; every state in between is consistent."""
    query = FakeQuery(tmp_path / "west" / "revenue", retained=30)
    query.run_batch()
    stop = threading.Event()

    def run() -> None:
        while not stop.is_set() and query.next_batch < 40:
            query.run_batch()

    copy = tmp_path / "revenue.copy"
    copier = CheckpointCopier(query.folder, copy)
    runner = threading.Thread(target=run)
    runner.start()
    seen = set()
    try:
        while runner.is_alive():
            try:
                copier.follow()
            except OriginalMovedError:
                continue  # it ran away under the pass; the next one is a new try
            finally:
                seen.add(consistent_batch(copy))
    finally:
        stop.set()
        runner.join()
    copier.follow()
    assert consistent_batch(copy) == query.next_batch - 1
    assert len(seen) > 2


def test_an_original_that_is_gone_leaves_the_copy_alone(query: FakeQuery, tmp_path: Path) -> None:
    """The site is lost: whole, or with half of its folder gone. Nothing is dropped."""
    copy = tmp_path / "revenue.copy"
    copier = CheckpointCopier(query.folder, copy)
    copier.follow()
    before = set(files_below(copy))
    for gone in ("commits", "metadata", "."):
        target = query.folder / gone
        shutil.rmtree(target) if target.is_dir() else target.unlink()
        with pytest.raises(OriginalMovedError):
            copier.follow()
        assert set(files_below(copy)) == before
    assert consistent_batch(copy) == 6


def test_state_that_cannot_be_built_is_never_committed(query: FakeQuery, tmp_path: Path) -> None:
    """A delta is missing at the original: the copy stays at the batch before and says why."""
    copy = tmp_path / "revenue.copy"
    copier = CheckpointCopier(query.folder, copy)
    copier.follow()
    query.run_batch()
    (query.folder / "state" / "0" / "1" / "8.delta").unlink()
    with pytest.raises(OriginalMovedError, match=r"state/0/1 lacks 8\.delta"):
        copier.follow()
    assert consistent_batch(copy) == 6
    assert broken_state([Path("state/0/0/3.delta"), Path("state/0/0/1.snapshot")], 3) == [
        "state/0/0 lacks 2.delta"
    ]


def test_a_second_watcher_waits_for_its_turn(query: FakeQuery, tmp_path: Path) -> None:
    """Two copiers never write into one copy at the same time."""
    copy = tmp_path / "revenue.copy"
    with FileLock(copy.with_name(f".{copy.name}.lock")), pytest.raises(OtherCopierError):
        CheckpointCopier(query.folder, copy).follow()


def test_what_cannot_be_copied_is_said_with_what_can(tmp_path: Path) -> None:
    """An object store or a relative path is a clear error; file:// is a path."""
    with pytest.raises(DcctlError, match=r"s3a:// cannot be read here\n  supported are absolute paths"):
        local_checkpoint("consumer revenue", "s3a://bucket/revenue")
    with pytest.raises(
        DcctlError, match=r"file://nas1/ names another host\n  mount it, and write file:///path"
    ):
        local_checkpoint("consumer revenue", "file://nas1/checkpoints/revenue")
    with pytest.raises(DcctlError, match="relative path"):
        local_checkpoint("consumer revenue", "checkpoints/revenue")
    assert local_checkpoint("consumer revenue", f"file://{tmp_path}/x") == tmp_path / "x"


def test_an_original_that_was_relocated_is_copied_anew(query: FakeQuery, tmp_path: Path) -> None:
    """It came back from the other side with two batches and a state of another life, under the same names."""
    copier = CheckpointCopier(query.folder, tmp_path / "copy")
    left_at = copier.follow().batch or 0
    other = FakeQuery(tmp_path / "other", retained=2)
    for _ in range(left_at + 4):
        other.run_batch()
    for file in (other.folder / "state").rglob("[0-9]*.*"):
        file.write_text("other life")
    shutil.rmtree(query.folder)
    other.folder.rename(query.folder)
    assert copier.follow().batch == left_at + 3
    for kind in ("state", "offsets", "commits"):
        for file in (query.folder / kind).rglob("[0-9]*"):
            assert not file.is_file() or (tmp_path / "copy" / file.relative_to(query.folder)).read_text() == (
                file.read_text()
            )
