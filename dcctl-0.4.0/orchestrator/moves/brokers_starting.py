"""What a failover does about brokers of the source that may be starting just now. Pure.

Before any effect a guard may have let its broker start open, and the broker may listen minutes later. From
the first record of the run on, guards are told *closed*; and a broker that was told *open* before is closed,
gone or listens after `WAITED_FOR_S`. So: ask the guards, wait if one of them may be at it, look at the source
once more, and only then record that the other side is primary.
"""

from __future__ import annotations

from orchestrator.runs.guards import GuardSaid
from orchestrator.snapshot.observation import SourceProbe
from orchestrator.snapshot.samples import LossWindow
from orchestrator.snapshot.snapshot import Snapshot


def open_since_s(seen: Snapshot, window: LossWindow | None) -> float:
    """Since when a guard's word *open* tells of a broker that nobody has seen answer, Unix seconds."""
    return window.last_good_at_s if window is not None else seen.at_s


def guards_of(seen: Snapshot) -> tuple[GuardSaid, ...]:
    """What the guards of the source's brokers have said; none where nobody can be asked."""
    state = seen.coordination.value
    return state.guards if state is not None else ()


def source_back(probe: SourceProbe, kept_closed: str) -> str:
    """Why a source is not to be called lost, seen once more; empty where nothing of it lets applications in.

    `kept_closed`: why its guards keep all that answers closed, empty where they do not.
    """
    if kept_closed:
        return ""
    if probe.answers:
        return "a broker answers again, and lets applications in"
    if probe.listening:
        return f"{', '.join(probe.listening)} takes connections again"
    return ""
