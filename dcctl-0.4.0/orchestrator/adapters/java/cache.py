"""The per-user cache of Java parts: where a jar lies, what is missing, and who may write.

    <cache>/java/parts/<Maven layout>/x-1.0.jar    verified before it got this name, never changed after
    <cache>/java/parts/…/x-1.0.jar.part            being downloaded; resumed by the next fetch
    <cache>/java/sets/<set>/                       made from a set: archives of loaded classes, templates
    <cache>/java/fetch.lock                        held by the one process that downloads

`<cache>` is `platformdirs.user_cache_path("dcctl")`, so `XDG_CACHE_HOME` moves it. Several sets share
a jar by its coordinates.
"""

from __future__ import annotations

import errno
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout
from platformdirs import user_cache_path

from orchestrator.adapters.java.parts import Part
from orchestrator.adapters.java.progress import OnProgress
from orchestrator.errors import DcctlError, DownloadError

_OUT_OF_SPACE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_NO_RIGHTS = {errno.EACCES, errno.EPERM, errno.EROFS}


def cache_folder() -> Path:
    """The root of everything that this package keeps; not necessarily there yet."""
    return user_cache_path("dcctl") / "java"


def jar_path(cache: Path, part: Part) -> Path:
    """Where a verified jar lies."""
    return cache / "parts" / part.path


def missing_parts(cache: Path, parts: Sequence[Part]) -> tuple[Part, ...]:
    """Those that are not there, or not of the right size. Reads no file: a jar was verified before it got
    its name."""
    return tuple(part for part in parts if _size(jar_path(cache, part)) != part.size_bytes)


@contextmanager
def only_writer(cache: Path, what: str, on_progress: OnProgress) -> Iterator[None]:
    """Hold the cache's lock; while another process holds it, wait and say so.

    The operating system frees the lock when its holder dies, however it dies.
    """
    with disk_errors(cache):
        cache.mkdir(parents=True, exist_ok=True)
        lock = FileLock(cache / "fetch.lock")
        try:
            lock.acquire(timeout=0.05)
        except Timeout:
            on_progress(f"{what}: waiting for another dcctl that is filling the cache", 0, 0)
            lock.acquire()
    try:
        yield
    finally:
        lock.release()


@contextmanager
def disk_errors(path: Path, needed_bytes: int = 0) -> Iterator[None]:
    """Turn what the file system refuses into a `DownloadError` about `path`."""
    try:
        yield
    except DcctlError:
        raise
    except OSError as error:
        if error.errno in _OUT_OF_SPACE:
            raise _disk_full(path, needed_bytes) from None
        if error.errno in _NO_RIGHTS:
            raise DownloadError(
                error.filename or str(path),
                f"cannot be written: {error.strerror}",
                "give yourself the rights, or let XDG_CACHE_HOME name a folder of your own",
            ) from None
        raise DownloadError(error.filename or str(path), error.strerror or str(error)) from None


def _disk_full(path: Path, needed_bytes: int) -> DownloadError:
    there = next(folder for folder in (path, *path.parents) if folder.exists())
    free_mb = shutil.disk_usage(there).free / 1e6
    needed = f"{needed_bytes / 1e6:.1f} MB are needed, " if needed_bytes else ""
    return DownloadError(
        str(path),
        f"no space left on the disk, or in your quota: {needed}{free_mb:.1f} MB are free",
        "make room and run the command again (what was fetched is kept), or let XDG_CACHE_HOME name a folder "
        "on another disk",
    )


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return -1
