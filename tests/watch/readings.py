"""What a watcher of one cluster has kept at its host, put together again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def readings_kept(folder: Path) -> list[dict[str, Any]]:
    """Every reading that is kept, whole, the oldest first. A torn line is skipped; the next one is whole."""
    found: list[dict[str, Any]] = []
    for file in sorted(folder.glob("readings-*.jsonl"), key=lambda file: int(file.stem.rpartition("-")[2])):
        whole: dict[str, Any] = {}
        for line in file.read_text(encoding="utf-8").splitlines():
            try:
                told = json.loads(line)
            except ValueError:
                whole = {}
                continue
            partitions = {**whole.get("partitions", {}), **told.pop("partitions", {})}
            whole = {**whole, **told}
            whole["partitions"] = {tp: row for tp, row in partitions.items() if row is not None}
            found.append(dict(whole))
    return found
