"""The folders of runs on this machine: read, and removed where `runs.pruning` lets them go."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from orchestrator.errors import DcctlError
from orchestrator.runs.live.state_folder import run_folder
from orchestrator.runs.plan import NEVER_BEGAN
from orchestrator.runs.pruning import Ending, RunFolder

# A run's id, as `runs.live.run.new_run_id` makes it: when it began, its verb, a few digits.
_RUN_ID = re.compile(r"(\d{8}T\d{6})-([a-z-]+)-[0-9a-f]{6}")
# A record of the journal that an earlier dcctl kept in a file beside it (`runs.live.journal`).
_JOURNAL_PART = re.compile(r"\d{6}-.+\.json")
_ENDED: dict[str, Ending] = {"ok": "ok", "undone": "undone"}


def run_folders() -> list[RunFolder]:
    """Every run that has a folder on this machine, the oldest first; whatever else lies there is left out."""
    parent = run_folder("-").parent
    try:
        names = sorted(entry.name for entry in parent.iterdir() if entry.is_dir() and not entry.is_symlink())
    except FileNotFoundError:
        return []
    except OSError as error:
        raise DcctlError(str(parent), f"cannot be read: {error.strerror}") from None
    return [_read(parent / name, match) for name in names if (match := _RUN_ID.fullmatch(name))]


def remove_run_folders(run_ids: Iterable[str]) -> Iterator[str]:
    """Remove folders one by one; each is named once it is gone. Raises `DcctlError` for one that stays."""
    for run_id in run_ids:
        folder = run_folder(run_id)
        try:
            shutil.rmtree(folder)
        except OSError as error:
            raise DcctlError(
                str(folder), f"cannot be removed: {error.strerror}", "check its rights"
            ) from None
        yield run_id


def _read(folder: Path, name: re.Match[str]) -> RunFolder:
    files = [path for path in folder.rglob("*") if path.is_file()]
    began = datetime.strptime(name[1], "%Y%m%dT%H%M%S").replace(tzinfo=UTC)
    plan = _json(folder / "plan.json")
    return RunFolder(
        run_id=folder.name,
        verb=name[2],
        topology=str(plan.get("topology", "")),
        began_at_s=began.timestamp(),
        ending=_ending(folder / "journal.jsonl"),
        size_bytes=sum(path.stat().st_size for path in files),
        has_report=(folder / "report.json").exists() or (folder / "report.html").exists(),
        has_journal_parts=any(_JOURNAL_PART.fullmatch(path.name) for path in files),
    )


def _json(file: Path) -> dict[str, Any]:
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}


def _ending(journal: Path) -> Ending:
    """How the run ended, by its last word since its last step."""
    try:
        records = [json.loads(line) for line in journal.read_text(encoding="utf-8").splitlines()]
        kinds = [(record["kind"], record.get("data", {}).get("outcome", "")) for record in records]
    except FileNotFoundError:
        return "nothing begun"
    except (OSError, ValueError, KeyError, AttributeError):
        return "unreadable"
    if not any(kind == "step-intent" for kind, _ in kinds):
        return "nothing begun"
    ending: Ending = "unfinished"
    for kind, outcome in kinds:
        if kind == "step-intent":
            ending = "unfinished"
        # A resumption that was refused or declined changes nothing of what the run has done before.
        elif kind == "run-ended" and outcome not in NEVER_BEGAN:
            ending = _ENDED.get(str(outcome), "unfinished")
    return ending
