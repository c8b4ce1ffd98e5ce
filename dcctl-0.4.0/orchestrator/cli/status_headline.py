"""The first line of `dcctl status` for one mirror: where applications work, what is open, or the price."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from orchestrator.ports.clock import utc_text
from orchestrator.runs.way_back import ForGood, ways_out

# Here nothing is left to be said of a loss of the source: it has been left, or is being left.
_NO_PRICE = frozenset({"moved", "unfinished", "under-way"})


def has_price(mirror: Mapping[str, Any]) -> bool:
    """Whether it matters what the loss of the source would cost now."""
    return _kind(mirror) not in _NO_PRICE


def headline(mirror: Mapping[str, Any]) -> str:
    """One line for one mirror."""
    name = f"{mirror['source']} → {mirror['target']}"
    if _kind(mirror) in ("unfinished", "under-way"):
        return f"{name}: {_open(mirror['working_side'])}"
    said = _moved(mirror) if _kind(mirror) == "moved" else _priced(mirror)
    run = mirror.get("working_side", {}).get("open_run")
    if not run:
        return f"{name}: {said}"
    run_id = run["run_id"]
    return f"{name}: {said}; {run_id} was not seen to its end: dcctl resume {run_id} FILE looks again"


def _kind(mirror: Mapping[str, Any]) -> str:
    return str(mirror.get("working_side", {}).get("kind", "at-source"))


def _open(side: Mapping[str, Any]) -> str:
    run = side["open_run"]
    recorded = f"recorded as primary: {side['primary']}" if side["primary"] else "what is primary: see below"
    name = f"{run['verb']} {run['run_id']}"
    if side["kind"] == "under-way":
        return f"{name} has not ended, and the lock is held by {side['holder']}; {recorded}"
    outcome = "incomplete" if run["outcome"] == "incomplete" else "of unknown outcome"
    ways = ways_out(run["run_id"], [ForGood(**row) for row in run["no_way_back"]])
    return f"{name} is {outcome} since {utc_text(run['ended_at_s'])}: {ways}; {recorded}"


def _moved(mirror: Mapping[str, Any]) -> str:
    side, source = mirror["working_side"], mirror["source"]
    primary = f"{side['primary']} is primary since {utc_text(side['since_s'])} by {side['run_id']}"
    is_back, state = _left_side(mirror)
    back = "dcctl failback FILE"
    comes_next = f"the way back: {back}" if is_back else f"when it is back: {back}"
    return f"{primary}; applications work there; {source} {state}; {comes_next}"


def _left_side(mirror: Mapping[str, Any]) -> tuple[bool, str]:
    """Whether the side that was left is there again, and how."""
    guards = mirror.get("guards") or ()
    closed = [guard for guard in guards if guard["state"] == "closed" and guard["is_at_work"]]
    beside = [guard["server"] for guard in guards if guard.get("beside")]
    if beside and mirror["source_answers"] is not False:
        return True, f"is up, and only access rules can keep applications off {', '.join(beside)}"
    if closed and len(closed) == len(guards):
        return True, "is back, kept closed by its guard"
    if closed:
        return True, f"is back, {len(closed)} of {len(guards)} brokers kept closed by their guards"
    if mirror["source_answers"] is None:
        return False, "could not be asked"
    return (True, "answers") if mirror["source_answers"] else (False, "does not answer")


def _priced(mirror: Mapping[str, Any]) -> str:
    can = _can_be_done(mirror["would_refuse"])
    at_most = mirror["loss"]["at_most"]
    price = "unknown loss" if at_most is None else f"at most {at_most:,} records lost"
    seconds = mirror["loss"]["seconds_at_most"]
    price += f" ({seconds:.1f} s)" if at_most and seconds is not None else ""
    state = f"if {mirror['source']} were lost now" if not mirror["lost_between_s"] else "SOURCE LOST"
    return f"{state}: {price}; {can}"


def _can_be_done(closed: Iterable[Mapping[str, Any]]) -> str:
    """What was measured refuses; what could not be measured only keeps a failover from beginning."""
    ids: dict[str, list[str]] = {"refused": [], "unknown": []}
    for gate in closed:
        ids[gate["outcome"]].append(gate["id"])
    refused, unknown = (", ".join(names) for names in ids.values())
    unmeasured = f"cannot be measured: {unknown}"
    if refused:
        return f"a failover would be REFUSED ({refused})" + (f"; {unmeasured}" if unknown else "")
    return f"a failover would not begin ({unmeasured})" if unknown else "a failover could be done"
