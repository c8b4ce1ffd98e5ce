"""What a report takes from the folder in which it will lie: the topology file, and earlier reports beside
it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from orchestrator.adapters.files import write_whole
from orchestrator.errors import AuditError

TOPOLOGY_COPY = "topology.yaml"
_MOST_EARLIER = 20


def in_its_folder(report: Mapping[str, Any], folder: Path, topology_file: bytes) -> dict[str, Any]:
    """A report as it will lie in `folder`: with the topology file, and with the reports beside it.

    `topology_file`: its content when it was loaded; it may have been edited since. Raises `AuditError` where
    the folder cannot be written.
    """
    whole = {**report, "topology_file": _topology_copied(topology_file, folder)}
    return {**whole, "earlier": earlier_reports(folder, whole)}


def _topology_copied(content: bytes, folder: Path) -> dict[str, str]:
    """`topology_file` of the report: the file in its folder, byte for byte, and its digest.

    A file that was loaded has no secret in it: it names them by reference.
    """
    copy = folder / TOPOLOGY_COPY
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(copy, content.decode("utf-8"))
    except OSError as error:
        problem = f"cannot be written: {error.strerror}"
        raise AuditError(str(copy), problem, "is the disk full?") from None
    return {"name": TOPOLOGY_COPY, "sha256": hashlib.sha256(content).hexdigest()}


def earlier_reports(folder: Path, report: Mapping[str, Any]) -> list[dict[str, Any]]:
    """`earlier` of the report: the newest reports in folders beside `folder` that a topology of this name
    has, from before this one began, the oldest first. A report that cannot be read is left out.
    """
    sha256 = (report.get("topology_file") or {}).get("sha256")
    began_at_s = _epoch_s(report["started_at"])
    found = sorted(_others(folder, str(report["topology"]), sha256), key=lambda row: str(row["started_at"]))
    return [row for row in found if (_epoch_s(row["started_at"]) or 0) < (began_at_s or 0)][-_MOST_EARLIER:]


def _others(folder: Path, topology: str, sha256: str | None) -> Iterator[dict[str, Any]]:
    for file in folder.absolute().parent.glob("*/report.json"):
        if file.parent == folder.absolute():
            continue
        try:
            data = json.loads(file.read_text(encoding="utf-8"))
            if data["topology"] != topology:
                continue
            other = (data.get("topology_file") or {}).get("sha256")
            yield {
                "folder": file.parent.name,
                "scenario": data["scenario"],
                "what": what_was_done(data.get("fault"), is_return=len(data.get("moves") or ()) > 1),
                "started_at": data["started_at"],
                "verdict": data["verdict"],
                "is_same_file": None if sha256 is None or other is None else sha256 == other,
                **{key: data.get("recovery", {}).get(key) for key in ("rto_s", "rpo_records", "rpo_s")},
            }
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            continue


def what_was_done(fault: Mapping[str, Any] | None, *, is_return: bool) -> str:
    """In a few words, so that only what is alike is compared."""
    return "there and back" if is_return else str(fault["kind"]) if fault else "no fault"


def _epoch_s(moment: Any) -> float | None:
    if isinstance(moment, int | float):
        return float(moment)
    try:
        return datetime.fromisoformat(str(moment)).timestamp()
    except ValueError:
        return None
