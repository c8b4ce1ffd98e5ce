"""JSON data in the ensemble, whatever its size: packed, and in parts where one node cannot hold it."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from typing import Any

from orchestrator.adapters.zookeeper import MAX_VALUE_BYTES, Coordination, HeldLock
from orchestrator.errors import CoordinationError
from orchestrator.planning.plan import canonical_json, digest

_PLAIN_UP_TO_BYTES = 32_000


def packed(text: str) -> bytes:
    """A short text as it is, a longer one compressed."""
    plain = text.encode()
    return plain if len(plain) <= _PLAIN_UP_TO_BYTES else zlib.compress(plain)


def unpacked(value: bytes, subject: str = "a node") -> dict[str, Any]:
    """JSON data as it lies in the ensemble. Raises `CoordinationError` for what is none."""
    try:
        text = value if value.startswith(b"{") else zlib.decompress(value)
        data = json.loads(text)
    except (zlib.error, ValueError) as error:
        raise CoordinationError(subject, f"is no JSON that dcctl writes: {error}") from None
    if not isinstance(data, dict):
        raise CoordinationError(subject, "is no JSON object, as dcctl writes them")
    return data


def write_bulk(lock: HeldLock, path: str, data: Any) -> dict[str, Any]:
    """Write data of any size in nodes that begin with `path`, under the lock; returns what finds it again.

    That is {parts, digest}, for the node that it belongs to. Written twice it is there once.
    """
    whole = zlib.compress(canonical_json(data).encode())
    chunks = [whole[at : at + MAX_VALUE_BYTES] for at in range(0, len(whole), MAX_VALUE_BYTES)]
    for number, chunk in enumerate(chunks):
        lock.create(f"{path}-{number:03d}", chunk)
    return {"parts": len(chunks), "digest": digest(data)}


def read_bulk(coordination: Coordination, path: str, index: Mapping[str, Any]) -> dict[str, Any]:
    """What `write_bulk` wrote. Raises `CoordinationError` where a part is missing, or was changed."""
    count = int(index.get("parts", 0))
    chunks = [coordination.read(f"{path}-{number:03d}") for number in range(count)]
    missing = [number for number, chunk in enumerate(chunks) if chunk is None]
    if missing:
        raise CoordinationError(path, f"part {missing[0]} of {count} is not there")
    data = unpacked(b"".join(chunk or b"" for chunk in chunks), path)
    if digest(data) != index.get("digest"):
        raise CoordinationError(path, "is not what was written there")
    return data
