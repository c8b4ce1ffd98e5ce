"""A failback as asked for, what it costs, and what its gates judge. Pure."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass

from orchestrator.errors import UsageError
from orchestrator.planning.failback_flip import flipped
from orchestrator.planning.failback_gates import FailbackSituation, failback_gates
from orchestrator.planning.failback_picture import FailbackPicture, Past
from orchestrator.planning.fence import Fenced, fenced
from orchestrator.planning.gates import done_by_run, passed_by_word
from orchestrator.planning.plan import Made, Plan, Predicted, digest, with_seconds
from orchestrator.planning.request import FailoverRequest
from orchestrator.planning.returned import Returned, returned_side
from orchestrator.planning.same_clusters import ids_to_remember
from orchestrator.planning.situation import Situation
from orchestrator.topology.loading import dump_topology
from orchestrator.topology.model import Replication, Topology

EXPIRES_AFTER_S = 60.0
CATCH_UP_TIMEOUT_S = 120.0


@dataclass(frozen=True, slots=True, kw_only=True, config=ConfigDict(extra="forbid"))
class FailbackRequest:
    """A failback as asked for. `to` is the primary that has returned.

    `accept_loss`: records that may be missing from its logs. `accept_unrecorded`: go on though it is not
    recorded how some of its logs stood, so that nobody knows how much is missing from these.
    `accept_reread`: records that all groups together may read again where a position has no exact place.
    `timeout_s`: how long either mirror may take to catch up, and the reverse mirror to drain.
    `acknowledge`: `OWNER: comment` of whoever answers for a move that follows another one soon.
    `accept_cluster`: see `same_clusters`.
    """

    to: str = ""
    accept_loss: int = 0
    accept_unrecorded: bool = False
    accept_reread: int = 0
    timeout_s: float = CATCH_UP_TIMEOUT_S
    acknowledge: str = ""
    accept_cluster: tuple[str, ...] = ()
    by: str = ""
    reason: str = ""

    def as_json(self) -> dict[str, Any]:
        """For the plan and the journal."""
        said = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {**said, "accept_cluster": list(self.accept_cluster)}


def mirror_to_fail_back(topology: Topology, to: str = "") -> Replication:
    """The mirror out of `to`. Raises `UsageError` where there is none, or several."""
    mirrors = [mirror for mirror in topology.replication if to in {"", mirror.source}]
    if len(mirrors) != 1:
        known = ", ".join(f"{m.source} → {m.target}" for m in topology.replication) or "no mirror"
        problem = f"{len(mirrors)} mirrors come from there; the file has: {known}"
        raise UsageError(f"--to {to}" if to else "failback", problem, "name the primary to go back to: --to")
    return mirrors[0]


def failback_plan(topology: Topology, picture: FailbackPicture, request: FailbackRequest, made: Made) -> Plan:
    """The plan of going back with these steps, what would be late or missing, and its gates."""
    mirror = mirror_to_fail_back(topology, request.to)
    back = flipped(topology, mirror)
    who_home, who_standby = principals_back(topology, mirror)
    past = picture.past.value or Past()
    returned = _returned(topology, mirror, picture, past)
    common = Situation(
        topology=back,
        mirror=back.replication[0],
        request=FailoverRequest(acknowledge=request.acknowledge, accept_cluster=request.accept_cluster),
        observation=picture.observation,
        now_s=picture.at_s,
        window=None,
        loss=None,
        positions=(),
        readings={},
    )
    s = FailbackSituation(
        common=common,
        mirror=mirror,
        picture=picture,
        principals=tuple(sorted({*who_home.principals, *who_standby.principals})),
        returned=returned,
        accept_loss=request.accept_loss,
        accept_unrecorded=request.accept_unrecorded,
    )
    done_by, passed = done_by_run(common), passed_by_word(common)
    lost = _by_topic(mirror, returned)
    plan = Plan(
        verb="failback",
        topology=topology.name,
        source=mirror.target,
        target=mirror.source,
        request=request.as_json(),
        created_at_s=picture.at_s,
        expires_at_s=picture.at_s + EXPIRES_AFTER_S,
        topology_digest=digest(dump_topology(topology)),
        observed=picture.digests(),
        gates=failback_gates(s),
        steps=made.steps,
        told=made.told,
        predicted=Predicted(
            loss={
                name: {"at_least": count, "expected": count, "at_most": count} for name, count in lost.items()
            },
            reread={
                consumer.name: {"map": 0, "position_age": 0, "at_most": 0}
                for consumer in topology.consumers_of(mirror.source)
            },
        ),
        facts={
            **({"done_by": done_by} if done_by else {}),
            **({"passed": passed} if passed else {}),
            **ids_to_remember(common.observation.coordination, common.cluster_ids),
            "late_records": {str(tp): n for tp, n in returned.tail.items()} if returned else {},
            "missing_records": {str(tp): n for tp, n in returned.missing.items()} if returned else {},
            "only_at_standby": {str(tp): n for tp, n in returned.orphans.items()} if returned else {},
        },
    )
    return with_seconds(plan)


def principals_back(topology: Topology, mirror: Replication) -> tuple[Fenced, Fenced]:
    """Whom a failback keeps off the returned primary, and whom off the standby."""
    return (
        fenced(topology, mirror.source, with_consumers=True),
        fenced(flipped(topology, mirror), mirror.target, with_consumers=True),
    )


def _returned(
    topology: Topology, mirror: Replication, picture: FailbackPicture, past: Past
) -> Returned | None:
    """The returned primary as the picture has it; None where something of that is not known."""
    home, copied = picture.observation.log_ends.value, picture.standby.log_ends.value
    last_read, epoch_ends = picture.last_read.value, picture.epoch_ends.value
    if home is None or copied is None or last_read is None or epoch_ends is None:
        return None
    return returned_side(
        topology, mirror, home=home, copied=copied, last_read=last_read, epoch_ends=epoch_ends, past=past
    )


def _by_topic(mirror: Replication, returned: Returned | None) -> dict[str, int]:
    if returned is None:
        return {}
    parts = (returned.missing, returned.gap, returned.orphans)
    return {
        name: sum(count for part in parts for tp, count in part.items() if tp.topic == name)
        for name in mirror.topics
    }
