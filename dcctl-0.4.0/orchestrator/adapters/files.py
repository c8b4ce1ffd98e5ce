"""Files that are there whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from orchestrator.errors import DcctlError

_ANYBODY_READS = 0o644


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a text, or bytes, so that a crash leaves what was there before, and nobody sees half of it.

    It is written beside its place and renamed. What is no plain file (a terminal, a pipe) is written to as it
    is. Raises `OSError`.
    """
    data = content.encode() if isinstance(content, str) else content
    if path.exists() and not path.is_file():
        path.write_bytes(data)
        return
    # The place that a link leads to, not the link.
    place = path.resolve()
    mode = place.stat().st_mode & 0o777 if place.exists() else _ANYBODY_READS & ~_umask()
    with tempfile.NamedTemporaryFile(dir=place.parent, prefix=f".{place.name}.", delete=False) as file:
        beside = Path(file.name)
        try:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
            beside.chmod(mode)
            beside.replace(place)
            sync_folder(place.parent)
        except BaseException:
            with contextlib.suppress(OSError):
                beside.unlink()
            raise


def put_file(path: Path, text: str, hint: str = "") -> None:
    """The same for a file that somebody has named. Raises `DcctlError`, with a hint, where it cannot be."""
    try:
        write_whole(path, text)
    except OSError as error:
        raise DcctlError(str(path), f"cannot be written: {error.strerror}", hint) from None


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on the disk. Raises `OSError`."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
