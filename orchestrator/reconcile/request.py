"""What a person says beside the file when it is applied."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from orchestrator.runs.plan import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyRequest:
    """An apply as asked for. `accept_cluster`: see `same_clusters`; `by` and `reason` go to the journal."""

    accept_cluster: tuple[str, ...] = ()
    by: str = ""
    reason: str = ""

    def as_json(self) -> dict[str, Any]:
        """For the plan and the journal; empty where nothing is overridden."""
        if not self.accept_cluster:
            return {}
        return {"accept_cluster": list(self.accept_cluster), "by": self.by, "reason": self.reason}

    @classmethod
    def of_plan(cls, plan: Plan) -> ApplyRequest:
        """As a plan was asked for."""
        said = plan.request
        return cls(
            accept_cluster=tuple(said.get("accept_cluster", ())),
            by=str(said.get("by", "")),
            reason=str(said.get("reason", "")),
        )
