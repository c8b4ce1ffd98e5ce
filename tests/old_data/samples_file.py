"""The records of a samples topic in a file: one JSON row a record, [offset, key, value], compressed.

A value is a text, null for a record that withdraws another, or {"base64": …} for bytes.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

SAMPLES = "samples.jsonl.gz"


class SampleRecord(NamedTuple):
    """One record as it lies in the topic."""

    offset: int
    key: bytes
    value: bytes | None


def write_samples(file: Path, records: Iterable[SampleRecord]) -> None:
    """Write records to a file; the same records give the same bytes."""
    rows = [[record.offset, record.key.decode(), _shown(record.value)] for record in records]
    text = "".join(f"{json.dumps(row, ensure_ascii=False, separators=(',', ':'))}\n" for row in rows)
    with file.open("wb") as plain, gzip.GzipFile("", "wb", fileobj=plain, mtime=0) as packed:
        packed.write(text.encode())


def read_samples_file(file: Path) -> list[SampleRecord]:
    """Records out of a file."""
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return [SampleRecord(offset, key.encode(), _value(shown)) for offset, key, shown in rows]


def _shown(value: bytes | None) -> Any:
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(value or b"").decode()}


def _value(shown: Any) -> bytes | None:
    if isinstance(shown, dict):
        return base64.b64decode(shown["base64"])
    return None if shown is None else str(shown).encode()
