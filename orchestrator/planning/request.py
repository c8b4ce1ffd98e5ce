"""What a person asked for, and which mirror of the topology that means."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass

from orchestrator.errors import UsageError
from orchestrator.topology.model import Replication, Topology


@dataclass(frozen=True, slots=True, kw_only=True, config=ConfigDict(extra="forbid"))
class FailoverRequest:
    """A failover as asked for on the command line.

    `attested`: data centres that a person says are down. `accept_loss`: records that this person
    accepts to lose, in place of the file's budget. `sick`: data centres that this person says are sick: what
    still answers there is fenced and drained first; `accept_unfenced`: go on though it cannot be fenced, this
    person has seen to it that nobody writes there. `acknowledge`: `OWNER: comment` of whoever answers for
    a move that follows another one soon. `without_coordination`: this person knows that the ensemble is
    gone, and that nobody else acts meanwhile. `accept_cluster`: see `same_clusters`. `by` and `reason` go to
    the journal.
    """

    attested: tuple[str, ...] = ()
    sick: tuple[str, ...] = ()
    accept_unfenced: bool = False
    to: str | None = None
    accept_loss: int | None = None
    acknowledge: str = ""
    without_coordination: bool = False
    accept_cluster: tuple[str, ...] = ()
    by: str = ""
    reason: str = ""

    def as_json(self) -> dict[str, Any]:
        """For the plan and the journal."""
        return {
            "attested": list(self.attested),
            "sick": list(self.sick),
            "accept_unfenced": self.accept_unfenced,
            "to": self.to,
            "accept_loss": self.accept_loss,
            "acknowledge": self.acknowledge,
            "without_coordination": self.without_coordination,
            "accept_cluster": list(self.accept_cluster),
            "by": self.by,
            "reason": self.reason,
        }


def mirror_to_fail_over(topology: Topology, request: FailoverRequest) -> Replication:
    """The mirror whose target takes over from the attested data centres.

    Raises `UsageError` naming the choices where the request fits none, or more than one.
    """
    for option, named in (("--attest-down", request.attested), ("--attest-sick", request.sick)):
        for dc in named:
            if dc not in topology.datacenters:
                listed = ", ".join(topology.datacenters)
                raise UsageError(f"{option} {dc}", f"there is no such data centre; the file has: {listed}")
    if request.attested and request.sick:
        raise UsageError(
            "failover",
            "a site is down or sick, not both",
            "--attest-down where nothing answers, --attest-sick where something does",
        )
    if request.to is not None and request.to not in topology.clusters:
        listed = ", ".join(topology.clusters)
        raise UsageError(f"--to {request.to}", f"there is no such cluster; the file has: {listed}")
    into_target = [m for m in topology.replication if request.to in (None, m.target)]
    if not into_target:
        into = f" into {request.to}" if request.to else ""
        raise UsageError("failover", f"the file has no mirror{into}", "only a mirrored cluster can be moved")
    attested = {*request.attested, *request.sick}
    fitting = [m for m in into_target if attested.intersection(topology.clusters[m.source].datacenters)]
    # Without an attestation the gate says what is missing; here only the mirror is looked for.
    candidates = fitting or into_target
    if len(candidates) > 1:
        choices = ", ".join(f"{m.source} → {m.target}" for m in candidates)
        raise UsageError("failover", f"several mirrors would fit: {choices}", "say which by --to")
    return candidates[0]
