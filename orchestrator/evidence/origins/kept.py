"""What a comparison by origins was made of, kept in a drill's folder, so that it can be made again.

    kept/rehearsed.json       what was done: losses, results of the moves, where logs ended
    kept/logs/<cluster>.csv   a row a record: where it stands, and which one it is

The ledgers lie beside it, as in every drill's folder.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from orchestrator.adapters.files import write_whole
from orchestrator.errors import AuditError
from orchestrator.evidence.clients.records import RecordId
from orchestrator.evidence.origins.compared import Logs
from orchestrator.evidence.origins.fates import Lost
from orchestrator.evidence.origins.judged import Judged, Rehearsed, judge_origins
from orchestrator.evidence.origins.told import read_ledgers
from orchestrator.topology.model import Topology
from orchestrator.values import TopicPartition

FORMAT_VERSION = 1
INDEX = "rehearsed.json"
_FOLDER, _LOGS = "kept", "logs"
_COLUMNS = ("topic", "partition", "offset", "producer", "sequence", "life")
# Of a run's result what is compared; the rest lies in its own folder.
_RESULT = ("run_id", "source", "target", "outcome", "reason", "asked_at_s", "ended_at_s", "translations")


def keep(folder: Path, rehearsed: Rehearsed, logs: Logs) -> None:
    """Write everything but the ledgers. Raises `AuditError` where the folder cannot be written."""
    keep_as(folder, INDEX, _as_json(rehearsed), logs)


def keep_as(folder: Path, index: str, rehearsed: Mapping[str, Any], logs: Logs) -> None:
    """Write the logs, and what was done under a name of its own. Raises `AuditError`."""
    kept = folder / _FOLDER
    try:
        (kept / _LOGS).mkdir(parents=True, exist_ok=True)
        for cluster, partitions in logs.items():
            with (kept / _LOGS / f"{cluster}.csv").open("w", encoding="utf-8", newline="") as file:
                writer = csv.writer(file)
                writer.writerow(_COLUMNS)
                for at, records in sorted(partitions.items()):
                    writer.writerows((*at, offset, *record) for offset, record in records)
        write_whole(kept / index, json.dumps(rehearsed, indent=2) + "\n")
    except OSError as error:
        raise AuditError(str(kept), f"cannot be written: {error.strerror}", "is the disk full?") from None


def is_kept(folder: Path, index: str = INDEX) -> bool:
    """Whether a folder of evidence was judged by origins, or by what another `index` stands for."""
    return (folder / _FOLDER / index).exists()


def judged_again(folder: Path, topology: Topology) -> Judged:
    """The same comparison, of what a folder keeps. Raises `AuditError` for what cannot be understood."""
    data, logs = read_kept(folder, INDEX)
    with understood(folder):
        rehearsed = _from_json(topology, data)
    return judge_origins(rehearsed, read_ledgers(topology, folder / "ledgers"), logs)


def read_kept(folder: Path, index: str) -> tuple[dict[str, Any], Logs]:
    """What was done, and the logs, as `keep_as` wrote them. Raises `AuditError`."""
    kept = folder / _FOLDER
    with understood(folder):
        data = json.loads((kept / index).read_text(encoding="utf-8"))
        if data["format_version"] != FORMAT_VERSION:
            problem = f"is of format {data['format_version']}; this dcctl reads {FORMAT_VERSION}"
            raise AuditError(str(kept / index), problem, "audit it with the dcctl that made it")
        return data, {file.stem: _log(file) for file in sorted((kept / _LOGS).glob("*.csv"))}


@contextmanager
def understood(folder: Path) -> Iterator[None]:
    """Raises `AuditError` for what a folder keeps and cannot be understood."""
    try:
        yield
    except (OSError, ValueError, KeyError, TypeError) as error:
        problem = f"cannot be read: {error}"
        raise AuditError(str(folder / _FOLDER), problem, "was a file removed or changed?") from None


def _log(file: Path) -> dict[TopicPartition, list[tuple[int, RecordId]]]:
    found: dict[TopicPartition, list[tuple[int, RecordId]]] = {}
    with file.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            record = RecordId(row["producer"], int(row["sequence"]), int(row["life"]))
            at = TopicPartition(row["topic"], int(row["partition"]))
            found.setdefault(at, []).append((int(row["offset"]), record))
    return found


def _as_json(rehearsed: Rehearsed) -> dict[str, Any]:
    return {
        "format_version": FORMAT_VERSION,
        "home": rehearsed.home,
        "work_ended_s": rehearsed.work_ended_s,
        "losses": [asdict(lost) for lost in rehearsed.losses],
        "at_work": {
            cluster: [[*at, end] for at, end in sorted(ends.items())]
            for cluster, ends in rehearsed.at_work.items()
        },
        "is_drained": rehearsed.is_drained,
        "stands_still": rehearsed.stands_still,
        "results": [_of_result(result) for result in rehearsed.results],
    }


def _of_result(result: Mapping[str, Any]) -> dict[str, Any]:
    plan = result["plan"]
    facts = {"loss_rests_on": plan["facts"].get("loss_rests_on", {})}
    if pauses := plan["facts"].get("pauses"):
        facts["pauses"] = pauses
    return {
        **{name: result[name] for name in _RESULT},
        "fence_offsets": result["fence_offsets"],
        "predicted": {name: result["predicted"][name] for name in ("loss", "reread")},
        "plan": {"verb": plan["verb"], "facts": facts},
    }


def _from_json(topology: Topology, data: Mapping[str, Any]) -> Rehearsed:
    return Rehearsed(
        topology=topology,
        home=data["home"],
        losses=tuple(Lost(**lost) for lost in data["losses"]),
        results=tuple(data["results"]),
        work_ended_s=data["work_ended_s"],
        at_work={
            cluster: {TopicPartition(topic, number): end for topic, number, end in ends}
            for cluster, ends in data["at_work"].items()
        },
        is_drained=data["is_drained"],
        stands_still=data["stands_still"],
    )
