"""Breaking a drill on purpose, to show that its checks can fail. Every kind is named in the report.

Of a rehearsal there and back the way back is broken: the failover before it is as it should be.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any, Literal

from orchestrator.adapters.kafka import KafkaCluster, produce_records, read_records
from orchestrator.errors import SimulationError, UsageError
from orchestrator.estate.desired import desired_estate
from orchestrator.estate.live.connections import connect_cluster, kafka_cluster
from orchestrator.evidence.clients.places import LIFE_AT_SOURCE, LIFE_AT_TARGET
from orchestrator.evidence.clients.producer import SABOTAGE_HEADER
from orchestrator.moves.primary_gate import STEP as RECORD_PRIMARY
from orchestrator.moves.results import WRITTEN
from orchestrator.replication.engine import engine_of
from orchestrator.runs.engine import OnEvent
from orchestrator.runs.plan import Plan, RunEvent
from orchestrator.simulation.workload.scenario import Scenario
from orchestrator.topology.model import Replication, Topology
from orchestrator.values import TopicPartition

_FILTER = {
    "transforms": "sabotage",
    "transforms.sabotage.type": "org.apache.kafka.connect.transforms.Filter",
    "transforms.sabotage.predicate": "marked",
    "predicates": "marked",
    "predicates.marked.type": "org.apache.kafka.connect.transforms.predicates.HasHeaderKey",
    "predicates.marked.name": SABOTAGE_HEADER,
}
_SHIFT_RECORDS = 50
_MARK_EVERY = 500
_COPIED_RECORDS = 20
_HELD_RECORDS = 600


@dataclass(frozen=True, slots=True)
class Sabotage:
    """What is broken, and where it takes hold.

    `says`: in words. `expected`: the verdict that an audit has to come to.

    `offset_shift` moves every written group offset forward, `connector_overrides` go into the mirror,
    `doubles_records` writes some mirrored records a second time, `hides_a_ledger` takes one ledger away from
    the audit, `withdraws_a_right` takes a producer's right to write one of its topics at the cluster that the
    move leads to. `keeps_lowered`: of a stretched cluster, a setting is not put back; `turns_order`: voters
    that lack the newest change become the quorum.
    """

    kind: str
    says: str = ""
    expected: Literal["invalid", "unknown"] = "invalid"
    offset_shift: int = 0
    connector_overrides: Mapping[str, str] = field(default_factory=dict)
    doubles_records: bool = False
    hides_a_ledger: bool = False
    withdraws_a_right: bool = False
    keeps_lowered: bool = False
    turns_order: bool = False

    @property
    def is_within_cluster(self) -> bool:
        """Whether it shows in one cluster, without mirrors."""
        return self.hides_a_ledger or self.keeps_lowered or self.turns_order

    @property
    def is_of_moves(self) -> bool:
        """Whether it shows where applications move from cluster to cluster."""
        return not (self.keeps_lowered or self.turns_order)

    def lacks(self, topology: Topology, primary: str) -> str:
        """Why a file's applications at a cluster would not show it, in words; empty where they do."""
        groups = [one for one in topology.consumers_of(primary) if one.groups and not one.canary]
        producers = topology.producers_of(primary)
        if self.offset_shift and not groups:
            return f"no group of the file works at {primary}"
        sources = [mirror.source for mirror in topology.replication if mirror.target == primary]
        if not producers and not any(topology.producers_of(source) for source in sources):
            return f"no producer of the file works at {primary}"
        if self.withdraws_a_right and not producers:
            return f"no producer of the file works at {primary}"
        if self.withdraws_a_right and (producers[0].principal is None or len(producers[0].topics) < 2):
            return f"producer {producers[0].name} has no principal of its own that writes two topics"
        return ""

    def applied_to(self, scenario: Scenario, verb: str) -> Scenario:
        """The scenario with the marks that the sabotaged mirror looks for, in the life before the broken
        move.

        On the way back groups are behind the end when they leave: a position of one that has read everything
        cannot be shifted over records.
        """
        is_back = verb == "failback"
        if self.connector_overrides:
            life = LIFE_AT_TARGET if is_back else LIFE_AT_SOURCE
            return replace(scenario, sabotage_every=_MARK_EVERY, sabotage_life=life)
        held = _HELD_RECORDS if self.offset_shift and is_back else 0
        return replace(scenario, hold_after_records=held) if held else scenario


NONE = Sabotage("none")
KINDS: Mapping[str, Sabotage] = {
    one.kind: one
    for one in (
        Sabotage("offsets", f"groups go on {_SHIFT_RECORDS} records too far", offset_shift=_SHIFT_RECORDS),
        Sabotage("records", "the mirror drops some records", connector_overrides=_FILTER),
        Sabotage("duplicates", f"{_COPIED_RECORDS} copies are there twice", doubles_records=True),
        Sabotage("ledger", "a producer's ledger is gone", expected="unknown", hides_a_ledger=True),
        Sabotage("min-insync", "a lowered min.insync.replicas is not put back", keeps_lowered=True),
        Sabotage("order", "voters that lack the newest change become the quorum", turns_order=True),
        Sabotage("rights", "a producer may not write one of its topics", withdraws_a_right=True),
    )
}


def sabotage_named(kind: str | None) -> Sabotage:
    """The sabotage of that name, or none. Raises `UsageError` for a name that there is not."""
    if kind is None:
        return NONE
    if kind not in KINDS:
        near = get_close_matches(kind, KINDS, n=1)
        hint = f"did you mean {near[0]}? " if near else ""
        raise UsageError(
            f"--sabotage {kind}", "there is no such sabotage", f"{hint}there are: {', '.join(KINDS)}"
        )
    return KINDS[kind]


def withdraw_a_right(topology: Topology, of: str, at: str) -> str:
    """Take the right of a cluster's first producer to write its last topic at another one, or there.

    Returns what was done, for the report. Raises `SimulationError` where it has none there.
    """
    producer = topology.producers_of(of)[0]
    topic = producer.topics[-1]
    with kafka_cluster(topology, at) as cluster:
        rules = [
            rule
            for rule in cluster.acls() or ()
            if (rule.principal, rule.operation, rule.permission) == (producer.principal, "WRITE", "ALLOW")
            and (rule.resource_type, rule.resource_name) == ("TOPIC", topic)
        ]
        if not rules:
            raise SimulationError(f"producer {producer.name}", f"has no right on {topic} of {at} to lose")
        cluster.delete_acls(rules)
    return f"{producer.name} may not write {topic} at {at} any more"


def sabotage_mirror(topology: Topology, mirror: Replication, overrides: Mapping[str, str]) -> str:
    """Give a mirror's source connector settings that no file would; returns what was done."""
    name = engine_of(mirror).copier(mirror)
    config = desired_estate(topology).clusters[mirror.target].connectors[name].config
    connect_cluster(topology, mirror.target).configure(name, {**config, **overrides})
    return f"connector {name} has {', '.join(overrides)}"


def double_records(cluster: KafkaCluster, mirror: Replication) -> dict[str, Any]:
    """Write some records of the first mirrored partition again; returns where, for the report."""
    partition = TopicPartition(mirror.mirrored_topic(mirror.topics[0]), 0)
    end = cluster.end_offsets([partition])[partition]
    if end < _COPIED_RECORDS:
        raise SimulationError(
            f"{partition}", f"holds {end} records; too few to double {_COPIED_RECORDS} of them"
        )
    span = {partition: (end - _COPIED_RECORDS, end)}
    for chunk in read_records(cluster.name, cluster.properties, span):
        copies = [(record.key, record.value) for record in chunk]
        topic, number = partition
        produce_records(cluster.name, cluster.properties, topic, copies, partition=number)
    return {"partition": str(partition), "first_copy_at": end, "records": _COPIED_RECORDS}


def placed_by(plan: Plan) -> str:
    """The step of a move's plan behind which positions are written, and nobody has been started: the one that
    records the primary, or of consumers alone the last one that writes positions. Of one group those who stay
    pause for that, and are started behind it.
    """
    written = plan.told.get(WRITTEN.name, ())
    recorded = [step.id for step in plan.steps if step.id == RECORD_PRIMARY]
    return next(iter([*recorded, *written[::-1]]), RECORD_PRIMARY)


def shifted_once_placed(  # noqa: PLR0917 - what is shifted, and when
    cluster: KafkaCluster,
    groups: Sequence[str],
    records: int,
    done: list[str],
    on_event: OnEvent,
    step: Callable[[], str] = lambda: RECORD_PRIMARY,
) -> OnEvent:
    """`on_event`, beside which positions of these groups move forward once a run is past the `step`.

    See `placed_by`. What was done is added to `done`: what goes wrong here ends no run.
    """

    def take(event: RunEvent) -> None:
        if (event.kind, event.step, event.outcome) == ("step-outcome", step(), "ok"):
            for group, offsets in cluster.committed(groups).items():
                ends = cluster.end_offsets(offsets)
                shifted = {tp: min(offset + records, ends[tp]) for tp, offset in offsets.items()}
                cluster.write_group_offsets(group, shifted)
                done.append(f"{group} goes on {records} records too far")
        on_event(event)

    return take
