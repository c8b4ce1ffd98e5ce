"""Runs in the coordination ensemble, their journals as they are read, and JSON data of whatever size."""

from __future__ import annotations

import json
import os
import socket
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from orchestrator.adapters.account import account_name
from orchestrator.adapters.zookeeper import MAX_VALUE_BYTES, Coordination, HeldLock
from orchestrator.errors import CoordinationError, DcctlError
from orchestrator.runs.plan import RunEvent, canonical_json, digest, event_from_json

RESULT = "run_result"
RESULT_UNKNOWN = "run_result_unknown"
"""In the data of a run's last record: what the run came to, in the ensemble in parts beside it."""

_PLAIN_UP_TO_BYTES = 32_000
_BY_AN_EARLIER_DCCTL = (
    "an earlier dcctl kept this record in a file of the machine on which the run ran: "
    "run the command there, or copy the file here unchanged"
)


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


def lock_path(topology: str) -> str:
    """Where the one lock of a topology lies."""
    return f"/dcctl/{topology}/lock"


def runs_path(topology: str) -> str:
    """Where the runs of a topology lie, one node each; their names sort by time."""
    return f"/dcctl/{topology}/runs"


def unlocks_path(topology: str) -> str:
    """Where it is kept who has taken the lock from whom, and why."""
    return f"/dcctl/{topology}/unlocks"


def about_this_process(command: str, run_id: str) -> dict[str, Any]:
    """What the lock says of its holder."""
    return {
        "who": account_name(),
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "command": command,
        "run": run_id,
    }


def bulk_path(topology: str, run_id: str, record: str) -> str:
    """Where the parts of a record lie that is too large for one node."""
    return f"/dcctl/{topology}/run-parts/{run_id}/{record}"


def journal_records(coordination: Coordination, topology: str, run_id: str, folder: Path) -> list[RunEvent]:
    """Every record of a run in order; bulk is put back in its place (`folder`: where an
    earlier dcctl kept it).

    Raises `DcctlError` for a run that is not there, or whose bulk is missing or changed.
    """
    values = coordination.read_children(f"{runs_path(topology)}/{run_id}")
    if not values:
        known = coordination.names(runs_path(topology))[-5:]
        raise DcctlError(
            f"run {run_id}", "is not in the journal", f"the newest are: {', '.join(known) or 'none'}"
        )
    path = runs_path(topology)
    return [
        _restored(coordination, topology, unpacked(value, f"{path}/{run_id}/{name}"), folder)
        for name, value in values.items()
    ]


def kept_result(coordination: Coordination, topology: str, end: RunEvent) -> Mapping[str, Any] | None:
    """What a run's last record says that the run came to; None for one that says nothing of it.

    Raises `CoordinationError` where a part of it is missing, or was changed.
    """
    found = end.data.get(RESULT)
    if not isinstance(found, Mapping) or "parts" not in found:
        return found if isinstance(found, Mapping) else None
    return read_bulk(coordination, bulk_path(topology, end.run_id, f"{end.name}-{RESULT}"), found)


def _restored(coordination: Coordination, topology: str, data: Mapping[str, Any], folder: Path) -> RunEvent:
    """A record with its bulk: in parts beside the runs, or, by an earlier dcctl, in a file of its machine."""
    inside = data.get("data", {})
    if "parts" in inside:
        record = event_from_json({**data, "data": {}})
        path = bulk_path(topology, record.run_id, record.name)
        return event_from_json({**data, "data": read_bulk(coordination, path, inside)})
    if "in_file" not in inside:
        return event_from_json(data)
    file = folder / inside["in_file"]
    try:
        kept = json.loads(file.read_text(encoding="utf-8"))["data"]
    except (OSError, ValueError, KeyError) as error:
        raise DcctlError(str(file), f"cannot be read: {error}", _BY_AN_EARLIER_DCCTL) from None
    if digest(kept) != inside["digest"]:
        raise DcctlError(str(file), "was changed since it was written", _BY_AN_EARLIER_DCCTL)
    return event_from_json({**data, "data": kept})
