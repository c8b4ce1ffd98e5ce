"""Holds in the coordination ensemble: put, released, read. Who did it, why and when stays written there.

They lie beside the topologies, not in one: a data centre may be in several files.
"""

from __future__ import annotations

import socket
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from pydantic import TypeAdapter, ValidationError

from orchestrator.adapters.account import account_name
from orchestrator.adapters.clock import SystemClock
from orchestrator.adapters.zookeeper import Coordination
from orchestrator.errors import CoordinationError, DcctlError, UsageError
from orchestrator.ports.clock import Clock
from orchestrator.runs.holds import Hold, standing_on
from orchestrator.runs.live.history import coordination_of, rows_at
from orchestrator.runs.live.run import Run, new_run_id
from orchestrator.runs.plan import Plan, canonical_json
from orchestrator.topology.model import Topology

HOLDS_PATH = "/dcctl-holds/standing"
EVENTS_PATH = "/dcctl-holds/events"
_ADAPTER = TypeAdapter(Hold)
_CLOCK: Clock = SystemClock()


def put_hold(topology: Topology, scope: str, *, reason: str, for_s: float | None = None) -> Hold:
    """Put a hold, in the name of this process's user on this machine.

    One that they have on the same scope from here is replaced. `scope` as from `hold_scope`. Several people
    may each hold the same: each releases their own. Raises `UsageError` without a reason,
    `CoordinationError` where the ensemble cannot be written.
    """
    if not reason.strip():
        raise UsageError("--reason", "a hold needs a reason, so that others know when it may be released")
    at_s = _CLOCK.now_s()
    hold = Hold(
        scope=scope,
        who=account_name(),
        host=socket.gethostname(),
        reason=reason.strip(),
        at_s=at_s,
        expires_at_s=None if for_s is None else at_s + for_s,
    )
    with coordination_of(topology) as coordination:
        _write(coordination, _node(hold), hold, hold, "hold", hold.reason)
    return hold


def release_hold(topology: Topology, scope: str, *, of: str = "", reason: str = "") -> Hold:
    """Release one's own hold on a scope, or that of another (`of`: WHO or WHO@HOST); returns what it was.

    One's own is what this user has put from this machine: several people may share an account. Raises
    `DcctlError` where there is none, or several are meant, naming those that there are.
    """
    whose = of or f"{account_name()}@{socket.gethostname()}"
    with coordination_of(topology) as coordination:
        there = {name: hold for name, hold in _holds(coordination).items() if hold.scope == scope}
        found = [name for name, hold in there.items() if whose in (hold.holder, *((hold.who,) if of else ()))]
        if len(found) != 1:
            others = "; ".join(map(str, there.values()))
            hint = (
                f"to release a hold of somebody else: --of WHO@HOST, of {others}"
                if others
                else "dcctl status FILE lists them"
            )
            problem = f"{len(found)} holds of {whose} are on it" if found else f"{whose} does not hold it"
            raise DcctlError(f"scope {scope}", problem, hint)
        was = there[found[0]]
        if not _write(coordination, found[0], was, None, "release", reason.strip()):
            raise DcctlError(f"scope {scope}", "was released by somebody else just now")
    return was


def read_holds(coordination: Coordination) -> tuple[Hold, ...]:
    """Every hold there is, expired ones too. Raises `CoordinationError` for one that is not understood."""
    return tuple(_holds(coordination).values())


def _holds(coordination: Coordination) -> dict[str, Hold]:
    """By the names of their nodes."""
    found = {}
    for name, value in coordination.read_children(HOLDS_PATH).items():
        try:
            found[name] = _ADAPTER.validate_json(value)
        except ValidationError:
            raise CoordinationError(
                f"{HOLDS_PATH}/{name}", "is no hold that this version understands", "look at it by hand"
            ) from None
    return found


def holds_in_the_way(
    coordination: Coordination, topology: Topology, clusters: Iterable[str], clock: Clock = _CLOCK
) -> str:
    """The holds that forbid to touch these clusters now, in words; empty where nobody holds them."""
    return "; ".join(
        str(hold) for hold in standing_on(read_holds(coordination), topology, clusters, clock.now_s())
    )


def hold_rows(topology: Topology) -> list[dict[str, Any]]:
    """The holds that concern a topology and have not expired, for `status`."""
    with coordination_of(topology) as coordination:
        holds = read_holds(coordination)
    return [hold.as_json() for hold in standing_on(holds, topology, topology.clusters, _CLOCK.now_s())]


def hold_events(topology: Topology) -> list[dict[str, Any]]:
    """Who has put and released which hold, oldest first."""
    return rows_at(topology, EVENTS_PATH)


def _write(  # noqa: PLR0917 - what a record of it says
    coordination: Coordination, node: str, hold: Hold, now: Hold | None, what: str, reason: str
) -> bool:
    at_s = _CLOCK.now_s()
    event = {
        "event": what,
        "at_s": at_s,
        "by": account_name(),
        "host": socket.gethostname(),
        "reason": reason,
        "hold": hold.as_json(),
    }
    return coordination.write_recorded(
        f"{HOLDS_PATH}/{node}",
        None if now is None else canonical_json(now.as_json()).encode(),
        f"{EVENTS_PATH}/{new_run_id(what, at_s)}",
        canonical_json(event).encode(),
    )


def _node(hold: Hold) -> str:
    return "@".join(quote(part, safe="") for part in (hold.scope, hold.who, hold.host))


@dataclass(frozen=True, slots=True)
class EstateHoldCheck:
    """The engine's port to the holds: see `runs.engine.ports.Brake`."""

    coordination: Coordination
    topology: Topology
    clusters: tuple[str, ...]
    clock: Clock

    def reason(self) -> str:
        """The holds that are in the way now."""
        return holds_in_the_way(self.coordination, self.topology, self.clusters, self.clock)


def hold_check_of(run: Run[Any], plan: Plan, clock: Clock) -> EstateHoldCheck | None:
    """The brake of a run; none where it goes on without the ensemble, in which the holds lie."""
    if run.is_uncoordinated:
        return None
    return EstateHoldCheck(run.coordination, run.topology, clusters_of(plan, run.topology), clock)


def clusters_of(plan: Plan, topology: Topology) -> tuple[str, ...]:
    """The clusters that a plan touches: of a move both, of an apply all."""
    return tuple(name for name in (plan.source, plan.target) if name) or tuple(topology.clusters)
