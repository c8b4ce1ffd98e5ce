"""Taking the lock from a holder that will not let go: named, asked for, and recorded with who and why."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from orchestrator.adapters.clock import SystemClock
from orchestrator.adapters.zookeeper import Holder
from orchestrator.errors import DcctlError, GateRefusedError
from orchestrator.runs.live.history import coordination_of, rows_at
from orchestrator.runs.live.journal import about_this_process, lock_path, unlocks_path
from orchestrator.runs.live.run import new_run_id
from orchestrator.runs.plan import canonical_json
from orchestrator.topology.model import Topology

_CLOCK = SystemClock()


def unlock(
    topology: Topology, held_by: str, *, reason: str, approve: Callable[[Holder], bool]
) -> dict[str, Any]:
    """Take the topology's lock from the run `held_by`; returns the record that is kept of it.

    `approve` gets the holder, and decides. Its run is not harmed by that: it cannot write to its journal
    from then on, ends what it is at, and can be resumed. Raises `DcctlError` where nobody holds the lock
    or another run does, `GateRefusedError` where it is declined.
    """
    with coordination_of(topology) as coordination:
        path = lock_path(topology.name)
        holder = coordination.holder(path)
        subject = f"lock of {topology.name}"
        if holder is None:
            raise DcctlError(subject, "no process holds the lock")
        if str(holder.about.get("run", "")) != held_by:
            raise DcctlError(subject, f"{held_by} does not hold it; held by {holder}", _hint(holder))
        if not approve(holder):
            raise GateRefusedError(
                subject, f"held by {holder}. It was left as it is", "--yes takes the lock from its holder"
            )
        at_s = _CLOCK.now_s()
        record = {
            "at_s": at_s,
            "reason": reason,
            "taken_by": about_this_process("unlock", ""),
            "taken_from": dict(holder.about),
            "held_since_s": holder.since_s,
        }
        name = f"{unlocks_path(topology.name)}/{new_run_id('unlock', at_s)}"
        if not coordination.break_lock(holder, name, canonical_json(record).encode()):
            raise DcctlError(subject, "its holder has just released it")
        return record


def unlock_rows(topology: Topology) -> list[dict[str, Any]]:
    """Who has taken the lock from whom, oldest first."""
    return rows_at(topology, unlocks_path(topology.name))


def _hint(holder: Holder) -> str:
    run = holder.about.get("run")
    return f"dcctl unlock {run} FILE" if run else ""
