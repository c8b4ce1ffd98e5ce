"""A consistent copy of a Spark checkpoint, kept while the query runs and cleans up.

For each committed batch N the state files come first, then `offsets/N`, then `commits/N`; only then is
dropped what Spark has removed. So whatever happens at any moment, the copy is the checkpoint of an
earlier batch: `commits` names only batches whose offsets and state are there. Two batches are always
kept. A file appears whole or not at all (the process may be killed; a power failure of this machine is
covered by the next pass only as far as its file system keeps the order of renames).

The copy follows batch by batch while the original still has every batch in between. At the first time,
after falling far behind, or when the original was made anew, a new copy is built aside and takes the
place of the old one by renaming; `current_copy` finds the right one at any moment of that.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from orchestrator.adapters.checkpoint_files import (
    TEMPORARY_SUFFIX,
    broken_state,
    files_below,
    numbered,
    put_file,
    state_version,
)

# Spark keeps 100 batches (spark.sql.streaming.minBatchesToRetain): this far behind, state files of the
# batches in between may be on their way out.
_FOLLOW_BATCHES = 50


class OriginalMovedError(Exception):
    """The original changed under the pass, or cannot be read; the copy stays that of an earlier batch."""


class OtherCopierError(Exception):
    """Another watcher is at this copy just now."""


@dataclass(frozen=True, slots=True)
class Pass:
    """What one pass found and did: newest committed batch of the original and of the copy."""

    source_batch: int | None
    batch: int | None
    committed_at_s: float | None


def copy_of(standby_checkpoint: Path) -> Path:
    """Where the copy lies: beside the checkpoint that will be made of it."""
    return standby_checkpoint.with_name(standby_checkpoint.name + ".copy")


def current_copy(copy: Path) -> Path | None:
    """The folder that holds the copy just now: itself, or the old one while a new one takes its place."""
    for folder in (copy, _old(copy)):
        if numbered(folder / "commits"):
            return folder
    return None


class CheckpointCopier:
    """Keeps `copy` behind `original`, pass by pass.

    `after_each` is called after every change of a file; more than `follow_batches` behind, a copy is
    made anew.
    """

    def __init__(
        self,
        original: Path,
        copy: Path,
        after_each: Callable[[Path], None] = lambda _path: None,
        follow_batches: int = _FOLLOW_BATCHES,
    ) -> None:
        self.original = original
        self.copy = copy
        self._after_each = after_each
        self._follow_batches = follow_batches
        self._is_tidy = False

    def follow(self) -> Pass:
        """Copy what is new.

        Raises `OriginalMovedError`, `OtherCopierError`, and `OSError` where the copy cannot be written.
        """
        lock = FileLock(self.copy.with_name(f".{self.copy.name}.lock"), timeout=0)
        self.copy.parent.mkdir(parents=True, exist_ok=True)
        try:
            with lock:
                return self._follow()
        except Timeout:
            raise OtherCopierError(f"another watcher is copying to {self.copy}") from None

    def _follow(self) -> Pass:
        self._tidy()
        commits = numbered(self.original / "commits")
        if not commits:
            if not (self.original / "metadata").is_file():
                raise OriginalMovedError(f"{self.original} cannot be read, or is not a checkpoint")
            if _newest(self.copy) is not None:
                raise OriginalMovedError(f"{self.original} was created again and has no committed batch yet")
            return Pass(None, None, None)
        newest, have = commits[-1], _newest(self.copy)
        if have != newest or not self._is_same_query(have):
            if (
                have is not None
                and have < newest <= have + self._follow_batches
                and self._is_same_query(have)
            ):
                self._advance(self.copy, have, newest)
                self._drop_removed(newest)
            else:
                self._replace(newest)
        return Pass(newest, newest, self._committed_at_s(newest))

    def _is_same_query(self, have: int | None) -> bool:
        """Whether the copy is of this very original, not of one that was deleted, rolled back or relocated.

        A relocated checkpoint has the same metadata, and of its batches the last two alone: where the batch
        of the copy is not in the original, its state may be of another life under the same file names.
        """
        if have is None:
            return False
        try:
            return all(
                (self.original / file).read_bytes() == (self.copy / file).read_bytes()
                for file in (Path("metadata"), Path("offsets") / str(have))
            )
        except FileNotFoundError:
            return False

    def _advance(self, target: Path, have: int | None, newest: int) -> None:
        """Bring `target` from batch `have` (None: from nothing) to batch `newest`."""
        present = set(files_below(target))
        wanted = [
            file
            for file in files_below(self.original)
            if file not in present
            and _is_settled(file, newest)
            and file.parts[0] not in ("offsets", "commits")
        ]
        for file in wanted:
            self._take(target, file, must_exist=have is not None and _is_new_state(file, have))
        broken = broken_state([f for f in files_below(target) if f.parts[0] == "state"], newest + 1)
        if broken:
            raise OriginalMovedError(f"state of batch {newest} is not complete: {broken[0]}")
        first = max(0, newest - 1) if have is None else have + 1
        for batch in range(first, newest + 1):
            self._take(target, Path("offsets") / str(batch), must_exist=True)
            self._take(target, Path("commits") / str(batch), must_exist=have is not None or batch == newest)

    def _take(self, target: Path, file: Path, *, must_exist: bool) -> None:
        try:
            put_file(self.original / file, target / file)
        except FileNotFoundError:
            if must_exist:
                raise OriginalMovedError(f"{file} vanished from {self.original}") from None
            return  # cleaned up by Spark: no batch that it keeps needs it
        self._after_each(target / file)

    def _drop_removed(self, newest: int) -> None:
        """Remove what Spark has removed, but only while the original is surely all there."""
        remaining = set(files_below(self.original))
        if Path("commits") / str(newest) not in remaining or Path("metadata") not in remaining:
            return
        present = set(files_below(self.copy))
        kept = {Path(kind) / str(batch) for kind in ("offsets", "commits") for batch in (newest, newest - 1)}
        removed = present - remaining - kept
        if broken_state([file for file in present - removed if file.parts[0] == "state"], newest + 1):
            return
        for file in sorted(removed):
            (self.copy / file).unlink(missing_ok=True)
            self._after_each(self.copy / file)

    def _replace(self, newest: int) -> None:
        """Build a new copy aside, complete to `newest`, and let it take the place of the old one."""
        new, old = _new(self.copy), _old(self.copy)
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir(parents=True)
        self._after_each(new)
        self._advance(new, None, newest)
        shutil.rmtree(old, ignore_errors=True)
        if self.copy.exists():
            self.copy.rename(old)
            self._after_each(old)
        new.rename(self.copy)
        self._after_each(self.copy)
        shutil.rmtree(old, ignore_errors=True)

    def _tidy(self) -> None:
        """Finish what a killed copier left half done."""
        if not self.copy.exists() and _old(self.copy).exists():
            _old(self.copy).rename(self.copy)
        if not self._is_tidy:
            for leftover in self.copy.rglob(f".*{TEMPORARY_SUFFIX}"):
                leftover.unlink(missing_ok=True)
            self._is_tidy = True

    def _committed_at_s(self, batch: int) -> float | None:
        try:
            return (self.original / "commits" / str(batch)).stat().st_mtime
        except OSError:
            return None


def _newest(copy: Path) -> int | None:
    commits = numbered(copy / "commits")
    return commits[-1] if commits else None


def _is_settled(file: Path, newest: int) -> bool:
    """Whether a file is final: state of a batch that is not committed yet may still be written again."""
    version = state_version(file)
    return version is None or version <= newest + 1


def _is_new_state(file: Path, have: int) -> bool:
    version = state_version(file)
    return version is not None and version > have + 1


def _new(copy: Path) -> Path:
    return copy.with_name(f".{copy.name}.new")


def _old(copy: Path) -> Path:
    return copy.with_name(f".{copy.name}.old")
