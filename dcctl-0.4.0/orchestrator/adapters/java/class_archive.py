"""Files of class data sharing archives (JEP 350), so that a broken one never costs more than time.

A JVM crashes on an archive that was cut short, so its name holds its size. Whatever else is broken in it,
bits that rotted on a disk, the JVM finds by the checksums that it is told to verify; it then goes on without.
"""

from __future__ import annotations

from pathlib import Path


def archive_name(stem: str, size_bytes: int) -> str:
    """File name of an archive."""
    return f"{stem}.{size_bytes}.jsa"


def whole_archive(folder: Path, stem: str) -> Path | None:
    """The archive of that name if it is there with all its bytes."""
    for archive in folder.glob(f"{stem}.*.jsa"):
        if archive.name == archive_name(stem, archive.stat().st_size):
            return archive
    return None


def archive_options(archive: Path | None) -> list[str]:
    """JVM options to use an archive, none without one. One that does not fit is passed over by the JVM."""
    if archive is None:
        return []
    return ["-Xshare:auto", "-XX:+VerifySharedSpaces", f"-XX:SharedArchiveFile={archive}"]


def error_file_option(folder: Path) -> str:
    """JVM option: where a JVM that crashes says why; otherwise it does so in whatever folder one is in."""
    return f"-XX:ErrorFile={folder / 'hs_err_pid%p.log'}"
