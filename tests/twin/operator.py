"""Whoever gives the commands: the verbs through the same entry points as the command line."""

from __future__ import annotations

from typing import Any

from orchestrator.moves.fence import FenceRequest
from orchestrator.moves.request import FailbackRequest, FailoverRequest, SwitchoverRequest
from orchestrator.moves.within_cluster.requests import (
    EvacuateRequest,
    LeadersRequest,
    PutBackRequest,
    SiteLossRequest,
    evacuated_cluster,
)
from orchestrator.runs.plan import Plan, RunEvent
from orchestrator.topology.model import Replication
from orchestrator.verbs.live.failback_procedure import run_failback
from orchestrator.verbs.live.failover_procedure import run_failover
from orchestrator.verbs.live.fence_procedure import FenceVerb, run_fence
from orchestrator.verbs.live.run_result import RunResult
from orchestrator.verbs.live.runs import abort_run, resume_run
from orchestrator.verbs.live.switchover_procedure import run_switchover
from orchestrator.verbs.live.within_cluster import run_within_cluster
from tests.twin.estate import TwinEstate

_WHO = {"by": "ada", "reason": "a rehearsal"}


class Operator:
    """Gives commands to one estate. `plan` and `run_id` are those of the newest run, `events` its records."""

    def __init__(self, estate: TwinEstate) -> None:
        self.estate = estate
        self.plan: Plan | None = None
        self.run_id = ""
        self.events: list[RunEvent] = []

    @property
    def mirror(self) -> Replication:
        """The first one of the file."""
        return self.estate.topology.replication[0]

    def failover(self, **asked: Any) -> RunResult:
        """The source of the mirror is lost, as a person attests."""
        lost = self.estate.topology.clusters[self.mirror.source].datacenters
        request = FailoverRequest(**{"attested": lost, "to": self.mirror.target, **_WHO, **asked})
        return run_failover(self.estate.topology, request, **self._begun())

    def leave(self, **asked: Any) -> RunResult:
        """The source of the mirror is sick, as a person attests."""
        sick = self.estate.topology.clusters[self.mirror.source].datacenters
        return self.failover(**{"attested": (), "sick": sick, **asked})

    def switchover(self, **asked: Any) -> RunResult:
        """The planned move along the mirror."""
        request = SwitchoverRequest(**{"to": self.mirror.target, **_WHO, **asked})
        return run_switchover(self.estate.topology, request, **self._begun())

    def failback(self, **asked: Any) -> RunResult:
        """Back to the source of the mirror."""
        request = FailbackRequest(**{"to": self.mirror.source, **_WHO, **asked})
        return run_failback(self.estate.topology, request, **self._begun())

    def fence(self, cluster: str, verb: FenceVerb = "fence", **asked: Any) -> RunResult:
        """Producers off, or on again."""
        request = FenceRequest(**{"cluster": cluster, **_WHO, **asked})
        return run_fence(self.estate.topology, request, verb, **self._begun())

    def unfence(self, cluster: str, **asked: Any) -> RunResult:
        """Producers on again."""
        return self.fence(cluster, "unfence", **asked)

    def balance(self, cluster: str, **asked: Any) -> RunResult:
        """Preferred leaders lead again."""
        request = LeadersRequest(**{"cluster": cluster, **_WHO, **asked})
        return run_within_cluster(self.estate.topology, request, **self._begun())

    def evacuate(self, site: str, **asked: Any) -> RunResult:
        """No broker at a site leads any more."""
        cluster = evacuated_cluster(self.estate.topology, site)
        request = EvacuateRequest(**{"cluster": cluster, "site": site, **_WHO, **asked})
        return run_within_cluster(self.estate.topology, request, **self._begun())

    def go_on_without(self, *sites: str, **asked: Any) -> RunResult:
        """Sites of a cluster (the only one, if none is named) are lost."""
        cluster = next(iter(self.estate.topology.clusters))
        request = SiteLossRequest(**{"cluster": cluster, "attested": sites, **_WHO, **asked})
        return run_within_cluster(self.estate.topology, request, **self._begun())

    def lead_as_before(self, cluster: str, **asked: Any) -> RunResult:
        """Sites of a cluster that were evacuated lead again."""
        request = PutBackRequest(**{"cluster": cluster, **_WHO, **asked})
        return run_within_cluster(self.estate.topology, request, **self._begun())

    def resume(self, run_id: str = "", **asked: Any) -> RunResult:
        """Go on with the newest run."""
        return resume_run(self.estate.topology, run_id or self.run_id, **asked, **self._told())

    def abort(self, run_id: str = "", *, reason: str = "ada: not today", **asked: Any) -> RunResult:
        """Take the newest run back."""
        return abort_run(self.estate.topology, run_id or self.run_id, reason=reason, **asked, **self._told())

    @property
    def has_begun(self) -> bool:
        """Whether the newest run has begun a step, as the ensemble knows: then it is resumed or aborted."""
        if not self.run_id:
            return False
        runs = f"/dcctl/{self.estate.topology.name}/runs/{self.run_id}/"
        return any(path.startswith(runs) and "step-intent" in path for path in self.estate.ensemble.nodes)

    def _begun(self) -> dict[str, Any]:
        self.run_id = ""
        return self._told()

    def _told(self) -> dict[str, Any]:
        self.events = []
        return {"servers": self.estate.servers, "on_plan": self._take_plan, "on_event": self._take_event}

    def _take_plan(self, plan: Plan) -> None:
        self.plan = plan

    def _take_event(self, event: RunEvent) -> None:
        self.run_id = event.run_id
        self.events.append(event)
