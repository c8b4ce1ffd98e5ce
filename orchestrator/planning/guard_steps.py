"""What a failover does about brokers of the source that may be starting just now. Pure.

Before any effect a guard may have let its broker start open, and the broker may listen minutes later. From
the first record of the run on, guards are told *closed*; and a broker that was told *open* before is closed,
gone or listens after `WAITED_FOR_S`. So: ask the guards, wait if one of them may be at it, look at the source
once more, and only then record that the other side is primary.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from orchestrator.planning.guarding import WAITED_FOR_S
from orchestrator.planning.guards import GuardSaid, may_open_yet, not_clear
from orchestrator.planning.observation import Observation, SourceProbe
from orchestrator.planning.plan import Step
from orchestrator.planning.primary import STEP as RECORD_PRIMARY
from orchestrator.planning.samples import LossWindow
from orchestrator.topology.model import Replication

STEP = "guards-closed"
_SILENT_S = 1.0


def with_guards(
    steps: Iterable[Step],
    mirror: Replication,
    seen: Observation,
    window: LossWindow | None,
    *,
    is_lost: bool,
) -> tuple[Step, ...]:
    """The steps of a failover, so that no primary is recorded while a broker of the source may be opening.

    `is_lost`: nothing of the source is to answer, so it is looked at once more; of a sick one something does.
    """
    since_s = open_since_s(seen, window)
    found = []
    for step in steps:
        if step.id != RECORD_PRIMARY:
            found.append(step)
            continue
        found.append(_await_guards(mirror, guards_of(seen), since_s, is_lost=is_lost))
        recorded = replace(step, depends_on=(*step.depends_on, STEP))
        found.append(_unless_back(recorded, mirror, seen) if is_lost else recorded)
    return tuple(found)


def open_since_s(seen: Observation, window: LossWindow | None) -> float:
    """Since when a guard's word *open* tells of a broker that nobody has seen answer, Unix seconds."""
    return window.last_good_at_s if window is not None else seen.at_s


def guards_of(seen: Observation) -> tuple[GuardSaid, ...]:
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
        return "it answers again, and lets applications in"
    if probe.listening:
        return f"{', '.join(probe.listening)} takes connections again"
    return ""


def _await_guards(mirror: Replication, said: tuple[GuardSaid, ...], since_s: float, *, is_lost: bool) -> Step:
    is_waited_for = bool(may_open_yet(said, since_s) or not_clear(said, since_s))
    return Step(
        id=STEP,
        phase="fence",
        title=f"See that no broker of {mirror.source} is on its way to open",
        action="await-guards",
        arguments={"cluster": mirror.source, "since_s": since_s, "must_be_clear": is_lost},
        on_failure="stop" if is_lost else "undo",
        expected_s=WAITED_FOR_S if is_waited_for else 0.1,
        timeout_s=WAITED_FOR_S + 15,
    )


def _unless_back(step: Step, mirror: Replication, seen: Observation) -> Step:
    probe = seen.source.value
    is_silent = probe is not None and "silent" in probe.addresses.values()
    return replace(
        step,
        title=f"{step.title}, unless {mirror.source} answers again",
        action="record-primary-unless-back",
        arguments={**step.arguments, "unless_back": mirror.source},
        expected_s=step.expected_s + (_SILENT_S if is_silent else 0.1),
    )
