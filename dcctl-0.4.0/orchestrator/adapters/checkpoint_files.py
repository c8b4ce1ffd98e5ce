"""Checkpoint folders of Spark Structured Streaming as files: listing, copying, writing whole ones.

The layout is Spark's (`StreamingCheckpointConstants`, `HDFSMetadataLog`, `HDFSBackedStateStoreProvider`):
`metadata`, `offsets/N`, `commits/N`, `sources/<i>/0`, `state/<operator>/<partition>/<version>…`, where
batch N writes the state's version N + 1. Spark writes each file under a temporary name and renames it,
so a file with its final name is complete; all but a retried batch's are never written again.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from orchestrator.errors import DcctlError

TEMPORARY_SUFFIX = ".dcctl-tmp"
_VERSION = re.compile(r"^(\d+)[._]")
_CHAIN = re.compile(r"^(\d+)(?:_[^.]*)?\.(delta|snapshot)$")


def local_checkpoint(subject: str, location: str) -> Path:
    """The folder that a topology file names for `subject`.

    Raises `DcctlError` for what is not a folder of this machine: an object store, or a relative path.
    """
    parts = urlsplit(location)
    if parts.scheme == "file" and parts.netloc in ("", "localhost"):
        location = parts.path
    elif parts.scheme == "file":
        raise DcctlError(
            subject,
            f"checkpoint {location}: file://{parts.netloc}/ names another host",
            "mount it, and write file:///path",
        )
    elif parts.scheme:
        raise DcctlError(
            subject,
            f"checkpoint {location}: {parts.scheme}:// cannot be read here",
            "supported are absolute paths and file:// URLs of local or mounted shared file systems",
        )
    path = Path(location)
    if not path.is_absolute():
        raise DcctlError(
            subject,
            f"checkpoint {location} is a relative path, and only a simulation knows to what",
            "write an absolute path, or use the file that `dcctl sim up FILE` printed",
        )
    return path


@dataclass(frozen=True, slots=True)
class CheckpointTexts:
    """The small files of a checkpoint: `offsets` and `commits` by batch, `sources` by their index."""

    metadata: bytes | None
    offsets: Mapping[int, bytes]
    commits: Mapping[int, bytes]
    sources: Mapping[int, bytes]


def read_texts(folder: Path) -> CheckpointTexts:
    """Read a checkpoint's small files. Raises `DcctlError` if the folder cannot be read."""
    try:
        sources = {
            index: (folder / "sources" / str(index) / "0").read_bytes()
            for index in numbered(folder / "sources")
            if (folder / "sources" / str(index) / "0").is_file()
        }
        metadata = folder / "metadata"
        return CheckpointTexts(
            metadata=metadata.read_bytes() if metadata.is_file() else None,
            offsets={n: (folder / "offsets" / str(n)).read_bytes() for n in numbered(folder / "offsets")},
            commits={n: (folder / "commits" / str(n)).read_bytes() for n in numbered(folder / "commits")},
            sources=sources,
        )
    except OSError as error:
        raise DcctlError(
            f"checkpoint {folder}", f"cannot be read: {error.strerror}", "is the path right?"
        ) from None


def numbered(folder: Path) -> list[int]:
    """Entries of a folder whose names are numbers, ascending; none if there is no such folder."""
    try:
        with os.scandir(folder) as entries:
            return sorted(int(entry.name) for entry in entries if entry.name.isdecimal())
    except (FileNotFoundError, NotADirectoryError):
        return []


def newest_write_s(folder: Path) -> float | None:
    """When a query last began or committed a batch with this checkpoint; None if never (Unix seconds)."""
    times = []
    for kind in ("offsets", "commits"):
        for number in numbered(folder / kind)[-1:]:
            try:
                times.append((folder / kind / str(number)).stat().st_mtime)
            except OSError:
                continue
    return max(times, default=None)


def files_below(folder: Path) -> Iterator[Path]:
    """Every complete file below `folder`, as a path relative to it.

    Hidden files are left out: Hadoop's checksums (`.N.crc`) and Spark's temporary files. A folder that
    vanishes on the way has no more files.
    """
    pending = [Path()]
    while pending:
        inside = pending.pop()
        try:
            with os.scandir(folder / inside) as entries:
                for entry in entries:
                    if entry.name.startswith(".") or entry.name.endswith((".tmp", TEMPORARY_SUFFIX)):
                        continue
                    if entry.is_dir():
                        pending.append(inside / entry.name)
                    else:
                        yield inside / entry.name
        except FileNotFoundError:
            continue


def state_version(file: Path) -> int | None:
    """Version of the state that a file belongs to; None for files of no version (schemas, SST files)."""
    match = _VERSION.match(file.name)
    return int(match[1]) if match and file.parts[:1] == ("state",) else None


def broken_state(files: Sequence[Path], version: int) -> list[str]:
    """State partitions from whose files `version` cannot be built: deltas without a base or with a gap.

    Only the HDFS-backed provider's names are judged (`V.delta`, `V.snapshot`); see `unjudged_state`.
    """
    chains: dict[Path, tuple[set[int], set[int]]] = {}
    for file in files:
        match = _CHAIN.match(file.name) if file.parts[:1] == ("state",) else None
        if match:
            deltas, snapshots = chains.setdefault(file.parent, (set(), set()))
            (deltas if match[2] == "delta" else snapshots).add(int(match[1]))
    broken = []
    for folder, (deltas, snapshots) in chains.items():
        base = version
        while base > 0 and base not in snapshots and base in deltas:
            base -= 1
        if base > 0 and base not in snapshots:
            broken.append(f"{folder} lacks {base}.delta")
    return sorted(broken)


def unjudged_state(files: Iterable[Path]) -> list[str]:
    """State files of another provider, as RocksDB's (`V.zip`, `V.changelog`, `SSTs/…`), sorted.

    Which of them a version needs stands inside them (`RocksDBFileManager`), so nobody can say by their
    names whether they are all there. Folders that begin with an underscore hold Spark's own schemas.
    """
    return sorted(
        file.as_posix()
        for file in files
        if file.parts[:1] == ("state",)
        and not _CHAIN.match(file.name)
        and not any(part.startswith("_") for part in file.parts)
    )


def put_file(source: Path, destination: Path) -> None:
    """Copy one file so that it appears whole or not at all. Raises `FileNotFoundError` if it vanished."""
    destination.parent.mkdir(parents=True, exist_ok=True)
    temporary = destination.parent / f".{destination.name}{TEMPORARY_SUFFIX}"
    shutil.copyfile(source, temporary)
    temporary.replace(destination)


def put_bytes(content: bytes, destination: Path) -> None:
    """Write one file so that it appears whole or not at all."""
    destination.parent.mkdir(parents=True, exist_ok=True)
    temporary = destination.parent / f".{destination.name}{TEMPORARY_SUFFIX}"
    try:
        temporary.write_bytes(content)
        temporary.replace(destination)
    except OSError:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)  # on a full disk it would keep the rest of what is left
        raise


def put_json(data: Mapping[str, object], destination: Path) -> None:
    """Write a JSON document so that it appears whole or not at all."""
    put_bytes((json.dumps(data, indent=2) + "\n").encode(), destination)


def write_checkpoint(
    original: Path,
    destination: Path,
    replaced: Mapping[str, bytes],
    is_dropped: Callable[[Path], bool],
    aside: Path,
) -> None:
    """Make `destination` a checkpoint like `original`, some files replaced and some dropped.

    It is built beside `destination` and renamed. What stood there before is moved to `aside`. Files that
    stay as they are, above all the state, are linked where the file system allows it: neither Spark nor
    we ever write into an existing file. Raises `DcctlError` naming the file.
    """
    building = unfinished(destination)
    try:
        if building.exists():
            shutil.rmtree(building)
        building.mkdir(parents=True)
        for file in files_below(original):
            if file.as_posix() in replaced or is_dropped(file):
                continue
            _link_or_copy(original / file, building / file)
        for name, content in replaced.items():
            put_bytes(content, building / name)
        if destination.exists():
            destination.rename(aside)
        building.rename(destination)
    except OSError as error:
        raise DcctlError(
            f"checkpoint {destination}", f"cannot be written: {error.strerror}: {error.filename}"
        ) from None


def unfinished(destination: Path) -> Path:
    """Where a checkpoint is built before it takes its place."""
    return destination.with_name(f".{destination.name}{TEMPORARY_SUFFIX}")


def _link_or_copy(source: Path, destination: Path) -> None:
    destination.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, destination)
    except OSError:  # another file system, or one without links
        shutil.copyfile(source, destination)
