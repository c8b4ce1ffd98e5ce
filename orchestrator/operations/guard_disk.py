"""Whether a broker's data folder came new, kept in the folder itself: another disk knows nothing of it."""

from __future__ import annotations

import json
from pathlib import Path

from orchestrator.adapters.files import write_whole
from orchestrator.planning.boot_guard import Disk

# Kafka reads folders and files that it knows here; any other file is left alone.
MARK = ".dcctl-came-new.json"


def is_new(data: Path) -> bool:
    """Whether no broker has ever run on this folder: it holds no partition, only what formatting leaves."""
    try:
        return not any(entry.is_dir() for entry in data.iterdir())
    except OSError:
        return False  # one that is missing or cannot be read tells nothing


def guarded_disk(data: Path) -> Disk:
    """The folder before the broker starts on it. Raises `OSError` where that cannot be kept there."""
    if is_new(data):
        return _kept(data, None)
    try:
        found = json.loads((data / MARK).read_text(encoding="utf-8"))
        after = found["after"]
    except (FileNotFoundError, NotADirectoryError):
        return Disk()
    except (OSError, ValueError, TypeError, KeyError):
        after = None
    return Disk(is_new=True, after=after if isinstance(after, str) else None)


def came_after(data: Path, run_id: str) -> Disk:
    """Keep the newest run of the journal (empty: none) beside a folder that came new."""
    return _kept(data, run_id)


def _kept(data: Path, after: str | None) -> Disk:
    write_whole(data / MARK, json.dumps({"after": after}) + "\n")
    return Disk(is_new=True, after=after)
