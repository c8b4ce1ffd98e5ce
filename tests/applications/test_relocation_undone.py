"""A relocation that fails or is killed at any point: taken back, the destination is as it was before."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from orchestrator.applications.spark.live.relocation import (
    checkpoint_positions,
    is_relocated_by,
    relocation_record,
    undo_relocation,
)
from orchestrator.errors import DcctlError
from orchestrator.values import TopicPartition
from tests.applications.test_relocation import aged, relocated, write_checkpoint_at

# Everything by which a checkpoint, its record or its place is written, moved or removed.
_CHANGES = (
    (Path, "mkdir"),
    (Path, "rename"),
    (Path, "replace"),
    (Path, "unlink"),
    (Path, "write_bytes"),
    (os, "link"),
    (shutil, "copyfile"),
    (shutil, "rmtree"),
)
_UNWRITTEN = ".revenue.relocation.json.dcctl-tmp"


class Killed(BaseException):
    """The process is gone."""


@contextmanager
def at_change(number: int, raised: Callable[[], BaseException], *, for_good: bool) -> Iterator[list[int]]:
    """The `number`th change raises; with `for_good` each later one too, as on a disk that stays full."""
    count = [0]
    with pytest.MonkeyPatch.context() as patch:
        for owner, name in _CHANGES:
            real = getattr(owner, name)

            def change(*args: Any, real: Callable[..., Any] = real, **named: Any) -> Any:
                count[0] += 1
                if count[0] == number or (for_good and count[0] > number):
                    raise raised()
                return real(*args, **named)

            patch.setattr(owner, name, change)
        yield count


def full() -> OSError:
    return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/mnt/east")


def below(folder: Path) -> dict[str, bytes]:
    """Every file, by its path; but one under its temporary name, which nobody reads, and the next one replaces."""
    files = (file for file in sorted(folder.rglob("*")) if file.is_file())
    return {str(f.relative_to(folder)): f.read_bytes() for f in files if f.name != _UNWRITTEN}


def an_estate(folder: Path, former: int | None) -> tuple[Path, Path]:
    """A copy at batch 7, and maybe a checkpoint of an earlier life where it shall go."""
    copy, destination = folder / "revenue.copy", folder / "revenue"
    write_checkpoint_at(copy, 7, 100)
    if former is not None:
        write_checkpoint_at(destination, former, 50)
        aged(destination, 100)
    return copy, destination


# Nothing there; something older; something of a later batch, which is no sign that the query has gone on.
FORMER = pytest.mark.parametrize("former", [None, 3, 50])


@FORMER
@pytest.mark.parametrize("raised", [full, Killed], ids=["full", "killed"])
def test_whatever_there_is_of_it_can_be_taken_back(
    tmp_path: Path, former: int | None, raised: Callable[[], BaseException]
) -> None:
    """Failing at each change in turn, once: nothing but what stood there before is left."""
    number = 0
    while True:
        number += 1
        folder = tmp_path / str(number)
        copy, destination = an_estate(folder, former)
        before = below(folder)
        with at_change(number, raised, for_good=False) as count, suppress(DcctlError, Killed):
            relocated(copy, destination)
        if is_relocated_by(destination, "r1"):
            undo_relocation(destination)
        left = below(folder)
        taken = {name for name in left if name.startswith("revenue.undone-r1/")}
        assert {name: left[name] for name in left.keys() - taken} == before, number
        if count[0] < number:
            break
    assert number > 10


@FORMER
def test_killed_while_it_is_taken_back_it_is_taken_back_the_next_time(
    tmp_path: Path, former: int | None
) -> None:
    """Twice at the worst moment."""
    number = 0
    while True:
        number += 1
        folder = tmp_path / str(number)
        copy, destination = an_estate(folder, former)
        before = below(folder)
        relocated(copy, destination)
        with at_change(number, Killed, for_good=False) as count, suppress(Killed):
            undo_relocation(destination)
        if is_relocated_by(destination, "r1"):
            undo_relocation(destination)
        left = below(folder)
        assert {n: b for n, b in left.items() if not n.startswith("revenue.undone-r1/")} == before, number
        if count[0] < number:
            break
    assert number > 2


@FORMER
def test_a_disk_that_stays_full_refuses_it_and_everything_is_as_it_was(
    tmp_path: Path, former: int | None
) -> None:
    """Only writing is refused: renaming and removing go on working there."""
    copy, destination = an_estate(tmp_path, former)
    before = below(tmp_path)
    with pytest.MonkeyPatch.context() as patch:

        def refuse(*_: Any, **__: Any) -> None:
            raise full()

        patch.setattr(os, "link", refuse)
        patch.setattr(shutil, "copyfile", refuse)
        with pytest.raises(DcctlError, match="No space left on device"):
            relocated(copy, destination)
    assert below(tmp_path) == before
    assert relocated(copy, destination).from_batch == 7


def test_killed_before_its_place_was_taken_a_later_batch_there_is_not_taken_for_its_own(
    tmp_path: Path,
) -> None:
    """What stood there would be opened by the query, at batches and offsets of another life."""
    copy, destination = an_estate(tmp_path, 50)
    with at_change(12, Killed, for_good=False), suppress(Killed):
        relocated(copy, destination)
    assert relocation_record(destination).exists()
    assert checkpoint_positions(destination) == {TopicPartition("orders", 0): 50}
    again = relocated(copy, destination)
    assert checkpoint_positions(destination)[TopicPartition("west.orders", 0)] == 80
    assert again.aside is not None
    assert checkpoint_positions(again.aside) == {TopicPartition("orders", 0): 50}


def test_a_query_that_went_on_from_there_keeps_its_checkpoint(tmp_path: Path) -> None:
    """Taking it away would throw its batches away."""
    copy, destination = an_estate(tmp_path, None)
    relocated(copy, destination)
    (destination / "offsets/8").write_text("v1\n{}\n{}")
    with pytest.raises(DcctlError, match="gone on beyond batch 7"):
        undo_relocation(destination)
    assert (destination / "offsets/8").exists()


def test_the_record_of_an_earlier_relocation_comes_back_with_it(tmp_path: Path) -> None:
    """One by hand that failed hides no earlier one, which can still be taken back."""
    copy, destination = an_estate(tmp_path, None)
    relocated(copy, destination)
    relocated(copy, destination, run_id="r2")
    assert undo_relocation(destination) is not None
    assert is_relocated_by(destination, "r1")
    assert undo_relocation(destination) is not None
    assert not destination.exists()
    assert not relocation_record(destination).exists()
