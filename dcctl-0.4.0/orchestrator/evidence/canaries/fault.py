"""What a real run reacted to: what a person attested, and what the watcher had seen. Nothing is made up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from orchestrator.verbs.live.run_result import RunResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Why the run was made. Times are Unix epoch seconds.

    `at_s`: when the watcher first saw the source failing; where it did not, or nothing was lost, when the
    command was given. `is_verified`: that the source was gone was measured before acting.
    """

    kind: str
    targets: tuple[str, ...]
    at_s: float
    is_seen: bool
    is_verified: bool

    def as_json(self) -> dict[str, Any]:
        """`fault` of the report."""
        return {
            "kind": self.kind,
            "targets": list(self.targets),
            "started_at": self.at_s,
            "verified": self.is_verified,
        }

    def phases(self, run: RunResult) -> list[dict[str, Any]]:
        """From the watcher's first failed look to the command: until a person had seen and decided.

        Nothing where the command came first, or seems to by two clocks.
        """
        seconds = round(run.started_at_s - self.at_s, 3)
        if not self.is_seen or seconds < 0:
            return []
        return [{"name": "attest", "seconds": seconds, "started_at_s": self.at_s}]

    def clocks_disagree(self, run: RunResult) -> str:
        """Why the times of the watcher and of the run cannot both be right; empty where they can.

        The plan knows what the watcher had seen when the plan was made, and nothing later.
        """
        late_s = self.at_s - float(run.plan.get("created_at_s", run.decided_at_s))
        if not self.is_seen or late_s <= 0:
            return ""
        return (
            f"the watcher saw {run.source} fail {late_s:.1f} s after the plan was made that says so: the"
            " clocks of its machine and of the one that ran the move disagree, and times since the fault are"
            " not known"
        )

    def timeline(self, run: RunResult) -> list[dict[str, Any]]:
        """Moments of the run that its own journal has."""
        verb = str(run.plan["verb"])
        first = f"{run.source} seen failing by the watcher" if self.is_seen else f"{verb} commanded"
        moments = [
            (self.at_s, first, "fault"),
            *([(run.started_at_s, f"{verb} commanded", "event")] if self.is_seen else []),
            (run.decided_at_s, "decided", "event"),
            (run.ended_at_s, f"{verb} ended {run.outcome}", "event"),
        ]
        return [{"at_s": at_s, "name": name, "kind": kind} for at_s, name, kind in moments]


def fault_of(run: RunResult) -> Fault:
    """What the plan of a run says of it."""
    request = run.plan["request"]
    if run.plan["verb"] != "failover":
        return Fault(
            kind="planned move",
            targets=(run.source,),
            at_s=run.started_at_s,
            is_seen=False,
            is_verified=run.outcome == "ok",
        )
    seen_at_s = run.plan["facts"].get("source_failing_since_s")
    gates = {gate["id"]: gate["outcome"] for gate in run.gates}
    by = f" by {request['by']}" if request.get("by") else ""
    seen = "seen by the watcher" if seen_at_s is not None else "not seen by a watcher"
    sick = tuple(request.get("sick") or ())
    what = "degraded, attested" if sick else "attested"
    return Fault(
        kind=f"{what}{by}, {seen}",
        targets=sick or tuple(request.get("attested") or (run.source,)),
        at_s=float(run.started_at_s if seen_at_s is None else seen_at_s),
        is_seen=seen_at_s is not None,
        is_verified=gates.get("source-sick" if sick else "source-unreachable") == "ok",
    )
