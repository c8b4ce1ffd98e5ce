"""Whether the servers of a cluster may let applications in when they start: pure, from the journal's runs.

A site that was lost knows nothing of the failover that followed, and would take writes again the moment that
it is back. So its servers ask before they open (facts: Kafka, "Fencing producers").
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

HOLD_STEP = "hold-returned"
"""The step of a failback that denies everything to applications at the returned primary."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PastRun:
    """One run of the journal. `outcome` is empty for one without an end; `is_held`: its `HOLD_STEP` is ok."""

    run_id: str
    verb: str
    source: str
    target: str
    has_begun: bool
    outcome: str
    is_held: bool = False


@dataclass(frozen=True, slots=True)
class GuardWord:
    """May applications be let in, and why."""

    is_open: bool
    reason: str


def guard_word(cluster: str, newest_first: Iterable[PastRun]) -> GuardWord:
    """The newest run that says something about `cluster` decides; where there is none it may open.

    From the first effect of a failover on, the cluster that it leads away from stays closed, also while that
    is still under way. It opens again once a failback holds it by access rules, which from then on keep
    everybody off until it is primary.
    """
    for run in newest_first:
        if not run.has_begun or run.outcome in {"undone", "refused"}:
            # A failback that was taken back lets its hold stand; who was away before stays away.
            if run.is_held and run.target == cluster:
                return GuardWord(True, f"run {run.run_id} holds it by access rules")
            continue
        if run.verb == "failover" and run.source == cluster:
            return GuardWord(False, f"{run.target} has taken over from it (run {run.run_id})")
        if cluster not in {run.source, run.target}:
            continue
        if run.verb == "failback" and run.target == cluster and run.outcome != "ok":
            if run.is_held:
                return GuardWord(True, f"run {run.run_id} holds it by access rules")
            continue
        if run.verb in {"failover", "failback", "switchover"}:
            return GuardWord(True, f"run {run.run_id} ({run.verb}) left it open, or held by access rules")
    return GuardWord(True, "no failover has led away from it")
