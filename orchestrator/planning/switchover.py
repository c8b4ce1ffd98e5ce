"""A planned move as asked for, what it costs, and what its gates judge. Pure."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass

from orchestrator.errors import UsageError
from orchestrator.planning.fence import Fenced, fenced, roaming_rules
from orchestrator.planning.gates import done_by_run, passed_by_word
from orchestrator.planning.plan import Made, Plan, Predicted, digest, with_seconds
from orchestrator.planning.positions import TargetPosition, partitions_to_read, target_positions
from orchestrator.planning.request import FailoverRequest
from orchestrator.planning.same_clusters import ids_to_remember
from orchestrator.planning.samples import SampledPosition
from orchestrator.planning.situation import Situation
from orchestrator.planning.switchover_gates import SwitchoverSituation, switchover_gates
from orchestrator.planning.switchover_picture import SwitchoverPicture
from orchestrator.topology.loading import dump_topology
from orchestrator.topology.model import Replication, Topology

EXPIRES_AFTER_S = 60.0
DRAIN_TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True, config=ConfigDict(extra="forbid"))
class SwitchoverRequest:
    """A planned move as asked for. `timeout_s` is how long the mirror may take to drain.

    `accept_reread`: records that all groups together may read again where a position has no exact place.
    `acknowledge`: `OWNER: comment` of whoever answers for a move that follows another one soon.
    `accept_cluster`: see `same_clusters`.
    """

    to: str
    timeout_s: float = DRAIN_TIMEOUT_S
    accept_reread: int = 0
    acknowledge: str = ""
    accept_cluster: tuple[str, ...] = ()
    by: str = ""
    reason: str = ""

    def as_json(self) -> dict[str, Any]:
        """For the plan and the journal."""
        return {
            "to": self.to,
            "timeout_s": self.timeout_s,
            "accept_reread": self.accept_reread,
            "acknowledge": self.acknowledge,
            "accept_cluster": list(self.accept_cluster),
            "by": self.by,
            "reason": self.reason,
        }


def mirror_to_switch_over(topology: Topology, to: str) -> Replication:
    """The mirror into `to`. Raises `UsageError` where there is none, or several."""
    if to not in topology.clusters:
        listed = ", ".join(topology.clusters)
        raise UsageError(f"--to {to}", f"there is no such cluster; the file has: {listed}")
    mirrors = [mirror for mirror in topology.replication if mirror.target == to]
    if len(mirrors) != 1:
        known = ", ".join(f"{m.source} → {m.target}" for m in topology.replication) or "no mirror"
        problem = f"{len(mirrors)} mirrors lead there; the file has: {known}"
        raise UsageError(f"--to {to}", problem, "one mirror is moved at a time")
    return mirrors[0]


def moved_principals(topology: Topology, mirror: Replication) -> Fenced:
    """Whom a move of this mirror keeps off the source, and the rules for that."""
    return fenced(topology, mirror.source, with_consumers=True)


def switchover_plan(
    topology: Topology, picture: SwitchoverPicture, request: SwitchoverRequest, made: Made
) -> Plan:
    """The plan of a planned move with these steps, and its gates. It loses nothing, or is taken back."""
    mirror = mirror_to_switch_over(topology, request.to)
    who = moved_principals(topology, mirror)
    s = SwitchoverSituation(
        common=_situation(topology, mirror, picture, request),
        picture=picture,
        principals=who.principals,
        timeout_s=request.timeout_s,
        roaming=tuple(sorted({rule.principal for rule in roaming_rules(topology, mirror.source, who)})),
    )
    done_by, passed, lag = done_by_run(s.common), passed_by_word(s.common), s.lag
    plan = Plan(
        verb="switchover",
        topology=topology.name,
        source=mirror.source,
        target=mirror.target,
        request=request.as_json(),
        created_at_s=picture.at_s,
        expires_at_s=picture.at_s + EXPIRES_AFTER_S,
        topology_digest=digest(dump_topology(topology)),
        observed=picture.digests(),
        gates=switchover_gates(s),
        steps=made.steps,
        told=made.told,
        predicted=Predicted(
            loss={name: {"at_least": 0, "expected": 0, "at_most": 0} for name in mirror.topics},
            reread={
                consumer.name: {"map": 0, "position_age": 0, "at_most": 0}
                for consumer in topology.consumers_of(mirror.source)
            },
        ),
        facts={
            **({"done_by": done_by} if done_by else {}),
            **({"passed": passed} if passed else {}),
            **ids_to_remember(picture.observation.coordination, s.common.cluster_ids),
            # Nothing is lost and nothing estimated: the prediction leaves no room.
            "loss_rests_on": {
                name: {"rate_records_per_s": 0.0, "sample_age_s": 0.0, "flush_interval_s": 0.0}
                for name in mirror.topics
            },
            "mirror_lag_records": None if lag is None else sum(lag.values()),
            "denied_writing": {name: list(apps) for name, apps in who.writers.items()},
            "denied_reading": {name: list(apps) for name, apps in who.readers.items()},
        },
    )
    return with_seconds(plan)


def _situation(
    topology: Topology, mirror: Replication, picture: SwitchoverPicture, request: SwitchoverRequest
) -> Situation:
    consumers = topology.consumers_of(mirror.source)
    return Situation(
        topology=topology,
        mirror=mirror,
        request=FailoverRequest(acknowledge=request.acknowledge, accept_cluster=request.accept_cluster),
        observation=picture.observation,
        now_s=picture.at_s,
        window=None,
        loss=None,
        positions=_positions(topology, mirror, picture),
        readings={c.name: partitions_to_read(topology, mirror, c) for c in consumers},
    )


def _positions(
    topology: Topology, mirror: Replication, picture: SwitchoverPicture
) -> tuple[TargetPosition, ...]:
    history, by_time = picture.observation.samples.value, picture.observation.by_time.value or {}
    committed, ends = picture.source.committed.value, picture.source.log_ends.value
    offset_map, logs = picture.observation.offset_map.value, picture.observation.log_ends.value
    if history is None or committed is None or ends is None or offset_map is None or logs is None:
        return ()
    return tuple(
        row
        for consumer in topology.consumers_of(mirror.source)
        if consumer.kind == "group"
        for row in target_positions(
            topology,
            mirror,
            consumer,
            recorded={
                tp: SampledPosition(offset, picture.at_s)
                for tp, offset in committed.get(consumer.name, {}).items()
            },
            sampled_ends=ends,
            offset_map=offset_map,
            made_anew=history.made_anew,
            target_logs=logs,
            by_time=by_time.get(consumer.name, {}),
            lost_at_s=picture.at_s,
        )
    )
