"""The engine's journal in the coordination ensemble, and a copy of it beside the run's other evidence."""

from __future__ import annotations

import json
import os
import socket
import zlib
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from orchestrator.adapters.account import account_name
from orchestrator.adapters.files import write_whole
from orchestrator.adapters.zookeeper import MAX_VALUE_BYTES, Coordination, HeldLock
from orchestrator.engine import state_from_journal
from orchestrator.errors import DcctlError
from orchestrator.operations.attempts import last_outcomes
from orchestrator.planning.looking import open_looks
from orchestrator.planning.observation import EarlierRun
from orchestrator.planning.plan import (
    RunEvent,
    canonical_json,
    digest,
    event_from_json,
    plan_from_json,
    to_json,
)

_PLAIN_UP_TO_BYTES = 32_000
_RUNS_LOOKED_AT = 20
_OUTLINE_BYTES = 2_000
_OUTLINE_DEPTH = 3


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


class RunJournal:
    """The journal of one run: written through the held lock, and to `journal.jsonl` in `folder`."""

    def __init__(self, lock: HeldLock, topology: str, run_id: str, folder: Path) -> None:
        self._lock = lock
        self._path = f"{runs_path(topology)}/{run_id}"
        self._folder = folder

    def append(self, record: RunEvent) -> None:
        """Write one record; see `engine.ports.Journal`."""
        data = to_json(record)
        text = canonical_json(data)
        value = _packed(text)
        if len(value) > MAX_VALUE_BYTES:
            # Bulk goes into a file, its digest into the journal (facts: ZooKeeper as a store).
            name = f"{record.name}.json"
            self._keep(self._folder / name, text)
            short = _outline(record.data)
            data = {**data, "data": {**short, "in_file": name, "digest": digest(record.data)}}
            value = _packed(canonical_json(data))
        self._lock.create(f"{self._path}/{record.name}", value)
        # A full local disk stops no failover: the record is safe in the ensemble, this is but a copy.
        with suppress(OSError), (self._folder / "journal.jsonl").open("a", encoding="utf-8") as file:
            file.write(text + "\n")

    @staticmethod
    def _keep(file: Path, text: str) -> None:
        try:
            write_whole(file, text)
        except OSError as error:
            raise DcctlError(
                str(file), f"cannot be written: {error.strerror}", "it belongs to the journal"
            ) from None


def journal_records(coordination: Coordination, topology: str, run_id: str, folder: Path) -> list[RunEvent]:
    """Every record of a run in order; bulk that was kept in `folder` is put back in its place.

    Raises `DcctlError` for a run that is not there, or whose file is missing or changed.
    """
    values = coordination.read_children(f"{runs_path(topology)}/{run_id}")
    if not values:
        known = coordination.names(runs_path(topology))[-5:]
        raise DcctlError(
            f"run {run_id}", "is not in the journal", f"the newest are: {', '.join(known) or 'none'}"
        )
    return [_restored(unpacked(value), folder) for value in values.values()]


def earlier_runs(
    coordination: Coordination, topology: str, *, between: Collection[str] = (), without: str = ""
) -> tuple[EarlierRun, ...]:
    """The newest runs of a topology, oldest first, by their records.

    With `between`, names of clusters, it goes back further than that, until a run between just these
    is found that changed anything, however many were refused since. `without` is a run's id to leave out.

    `outcome` is that of the run's end; "refused" and "not begun" only where no step was ever begun, and
    "incomplete" where one was and no end is known.
    """
    found: list[EarlierRun] = []
    sought = set(between)
    for seen, run_id in enumerate(reversed(coordination.names(runs_path(topology)))):
        if seen >= _RUNS_LOOKED_AT and not sought:
            break
        run = _earlier_run(coordination, topology, run_id) if run_id != without else None
        if run is not None:
            found.append(run)
            if run.has_begun and {run.source, run.target} == sought:
                sought = set()
    return tuple(reversed(found))


def passed_by(coordination: Coordination, topology: str, run_id: str) -> EarlierRun | None:
    """The move that a person let pass a run of which only looks are open; None where there is none."""
    for other in reversed(coordination.names(runs_path(topology))):
        run = _earlier_run(coordination, topology, other) if other != run_id else None
        if run is not None and run.passed == run_id and run.has_begun:
            return run
    return None


def _earlier_run(coordination: Coordination, topology: str, run_id: str) -> EarlierRun | None:
    path = f"{runs_path(topology)}/{run_id}"
    names = coordination.names(path)
    if not names:
        return None
    first, last = (unpacked(coordination.read(f"{path}/{name}") or b"{}") for name in (names[0], names[-1]))
    told = _told(run_id, first, last, is_begun=any(is_intent(name) for name in names))
    if not _may_look(told):
        return told
    return _with_looks(told, [unpacked(value) for value in coordination.read_children(path).values()])


def earlier_run(records: Sequence[Mapping[str, Any]]) -> EarlierRun:
    """A run by all of its records, as JSON data."""
    is_begun = any(record.get("kind") == "step-intent" for record in records)
    return _with_looks(_told(str(records[0]["run_id"]), records[0], records[-1], is_begun=is_begun), records)


def _may_look(run: EarlierRun) -> bool:
    return run.outcome in ("incomplete", "unknown") and not run.let_stand


def _with_looks(run: EarlierRun, records: Sequence[Mapping[str, Any]]) -> EarlierRun:
    """With the looks that are open, where nothing else is. A plan that cannot be read tells of none."""
    try:
        plan = plan_from_json(records[0]["data"]["plan"]) if _may_look(run) else None
        events = [event_from_json(record) for record in records]
    except (DcctlError, KeyError):
        return run
    if plan is None:
        return run
    state = state_from_journal(plan, run.run_id, events)
    looks = () if state.undoing else open_looks(plan, state.with_any("ok"))
    missed = last_outcomes(events).get("producers-write") if looks else None
    result = missed.data.get("result", {}) if missed is not None else {}
    return replace(run, looks=looks, not_seen=tuple(map(str, result.get("not_seen", ()))))


def _told(run_id: str, first: Mapping[str, Any], last: Mapping[str, Any], *, is_begun: bool) -> EarlierRun:
    data = first.get("data", {})
    request = data.get("plan", {}).get("request", {})
    outcome = "incomplete" if is_begun else "not begun"
    if last.get("kind") == "run-ended":
        outcome = str(last.get("data", {}).get("outcome", outcome))
    if not is_begun and outcome not in ("refused", "ok"):
        outcome = "not begun"  # a person's hold stopped it before its first step
    if is_begun and outcome == "refused":
        # It was a resumption that was refused; what the run did before is still there.
        outcome = "incomplete"
    return EarlierRun(
        run_id=run_id,
        verb=str(data.get("verb", "")),
        source=str(data.get("source", "")),
        target=str(data.get("target", "")),
        started_at_s=float(first.get("at_s", 0.0)),
        outcome=outcome,
        ended_at_s=float(last.get("at_s", 0.0)),
        who=str(data.get("by", {}).get("who") or request.get("by", "")),
        reason=str(request.get("reason") or data.get("reason", "")),
        let_stand=tuple(map(str, last.get("data", {}).get("let_stand", ()))),
        passed=str(data.get("plan", {}).get("facts", {}).get("passed", "")),
    )


def is_intent(name: str) -> bool:
    """By the name of a record (`RunEvent.name`), so that not every one has to be read."""
    return name.partition("-")[2].startswith("step-intent")


def _outline(data: Mapping[str, Any], depth: int = _OUTLINE_DEPTH) -> dict[str, Any]:
    """What of a record's data is short, a few levels deep.

    Who looks at many runs, the guard of a broker above all, has the ensemble alone and not the file: verb,
    clusters and request have to be there.
    """
    found: dict[str, Any] = {}
    for name, value in data.items():
        if len(canonical_json(value)) <= _OUTLINE_BYTES:
            found[name] = value
        elif isinstance(value, Mapping) and len(value) <= _OUTLINE_BYTES // 100 and depth > 1:
            found[name] = _outline(value, depth - 1)
    return found


def _packed(text: str) -> bytes:
    plain = text.encode()
    return plain if len(plain) <= _PLAIN_UP_TO_BYTES else zlib.compress(plain)


def unpacked(value: bytes) -> dict[str, Any]:
    """A record as it lies in the ensemble."""
    text = value if value.startswith(b"{") else zlib.decompress(value)
    data: dict[str, Any] = json.loads(text)
    return data


def _restored(data: Mapping[str, Any], folder: Path) -> RunEvent:
    inside = data.get("data", {})
    if "in_file" in inside:
        file = folder / inside["in_file"]
        try:
            kept = json.loads(file.read_text(encoding="utf-8"))["data"]
        except (OSError, ValueError, KeyError) as error:
            raise DcctlError(str(file), f"cannot be read: {error}", "it belongs to the journal") from None
        if digest(kept) != inside["digest"]:
            raise DcctlError(str(file), "was changed since it was written", "it belongs to the journal")
        data = {**data, "data": kept}
    return event_from_json(data)
