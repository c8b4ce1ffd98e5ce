"""The procedure for a lost site: a pure function from topology, observation and request to a plan.

Order (facts: MirrorMaker 2, "Failover and failback, by policy"): records in flight land, the mirror and
its group sync stop, and only then are the syncs read to their end and positions translated. Producers
need none of that under the default policy: their topics at the target are not written by the mirror, so
they start as soon as the ends of these topics are recorded.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orchestrator.planning.gates import Situation, done_by_run, gate_results
from orchestrator.planning.observation import Observation
from orchestrator.planning.plan import Plan, Predicted, Step, digest, with_seconds
from orchestrator.planning.positions import (
    TargetPosition,
    partitions_to_read,
    source_partitions,
    target_positions,
)
from orchestrator.planning.prediction import LossPrediction, predict_loss, predict_reread
from orchestrator.planning.request import FailoverRequest, mirror_to_fail_over
from orchestrator.planning.samples import LossWindow, SampledPosition
from orchestrator.replication.connectors import connector_names
from orchestrator.topology.loading import dump_topology
from orchestrator.topology.model import Consumer, Replication, Topology
from orchestrator.values import TopicPartition

EXPIRES_AFTER_S = 60.0
# Records that the mirror has read but not written keep coming for as long as its producer needs.
STANDSTILL_S = 0.6


def plan_failover(topology: Topology, observation: Observation, request: FailoverRequest) -> Plan:
    """What a failover would do now, what it would cost, and which gates allow it.

    Raises `UsageError` where the request fits no mirror of the topology, or several.
    """
    mirror = mirror_to_fail_over(topology, request)
    situation = _situation(topology, mirror, observation, request)
    loss = situation.loss
    plan = Plan(
        verb="failover",
        topology=topology.name,
        source=mirror.source,
        target=mirror.target,
        request=request.as_json(),
        created_at_s=observation.at_s,
        expires_at_s=observation.at_s + EXPIRES_AFTER_S,
        topology_digest=digest(dump_topology(topology)),
        observed=observation.digests(),
        gates=gate_results(situation),
        steps=failover_steps(topology, mirror),
        predicted=Predicted(
            loss={} if loss is None else _loss_by_topic(loss),
            reread=_reread_by_consumer(situation),
        ),
        facts=_facts(situation),
    )
    return with_seconds(plan)


def failover_steps(topology: Topology, mirror: Replication) -> tuple[Step, ...]:
    """The steps, each with what it waits for. What is not named there runs side by side."""
    consumers = topology.consumers_of(mirror.source)
    groups = tuple(c for c in consumers if c.kind == "group")
    queries = tuple(c for c in consumers if c.kind == "spark")
    producers = topology.producers_of(mirror.source)
    steps = [*_fence(mirror), *_translate(groups), *_relocate(queries)]
    steps += _redirect(groups, queries, [p.name for p in producers])
    steps += _verify(groups, queries, bool(producers))
    return tuple(steps)


def _fence(mirror: Replication) -> list[Step]:
    is_identity = mirror.policy == "identity"
    return [
        Step(
            id="let-land",
            phase="fence",
            title=f"Let records in flight land at {mirror.target}",
            action="await-standstill",
            arguments={"standstill_s": STANDSTILL_S},
            expected_s=STANDSTILL_S + 0.2,
            timeout_s=20,
        ),
        Step(
            id="stop-mirror",
            phase="fence",
            title="Stop the mirror and its group sync",
            action="stop-connectors",
            arguments={"connectors": list(connector_names(mirror))},
            depends_on=("let-land",),
            verify="connectors-are-stopped",
            expected_s=1.0,
        ),
        Step(
            id="record-mirrored-ends",
            phase="fence",
            title="Record where the mirrored topics end",
            action="record-ends",
            arguments={"topics": [mirror.mirrored_topic(name) for name in mirror.topics]},
            depends_on=("stop-mirror",),
            expected_s=0.1,
        ),
        Step(
            id="record-landing-ends",
            phase="fence",
            title="Record where the landing topics end",
            action="record-ends",
            arguments={"topics": list(mirror.topics)},
            # With equal names the mirror itself writes there until it is stopped.
            depends_on=("stop-mirror",) if is_identity else (),
            expected_s=0.1,
        ),
    ]


def _translate(groups: tuple[Consumer, ...]) -> list[Step]:
    if not groups:
        return []
    names = [group.name for group in groups]
    return [
        Step(
            id="save-offsets",
            phase="translate",
            title="Save what the groups have committed there now",
            action="save-offsets",
            arguments={"groups": names},
            depends_on=("stop-mirror",),
            expected_s=0.1,
        ),
        Step(
            id="translate-positions",
            phase="translate",
            title="Read the offset syncs to their end and translate each position",
            action="translate-positions",
            arguments={"groups": names},
            depends_on=("record-mirrored-ends",),
            expected_s=0.5,
        ),
        Step(
            id="write-offsets",
            phase="translate",
            title="Write explicit offsets for each group on every partition it will read",
            action="write-offsets",
            arguments={"groups": names},
            depends_on=("save-offsets", "translate-positions", "record-landing-ends"),
            verify="offsets-are-written",
            expected_s=0.3,
        ),
    ]


def _relocate(queries: tuple[Consumer, ...]) -> list[Step]:
    return [
        Step(
            id=f"relocate-{query.name}",
            phase="relocate",
            title=f"Relocate the checkpoint of {query.name}",
            action="relocate-checkpoint",
            arguments={"query": query.name},
            depends_on=("record-mirrored-ends", "record-landing-ends"),
            expected_s=0.5,
        )
        for query in queries
    ]


def _redirect(
    groups: tuple[Consumer, ...], queries: tuple[Consumer, ...], producers: list[str]
) -> list[Step]:
    steps = []
    if producers:
        steps.append(
            _start(
                "start-producers",
                "producers",
                [f"producer-{name}" for name in producers],
                ("record-landing-ends",),
            )
        )
    if groups:
        names = [f"consumer-{group.name}" for group in groups]
        steps.append(_start("start-consumers", "consumers", names, ("write-offsets",)))
    if queries:
        # Apart from the groups: a checkpoint that cannot be relocated must not keep them waiting.
        names = [f"spark-{query.name}" for query in queries]
        needed = tuple(f"relocate-{query.name}" for query in queries)
        steps.append(_start("start-queries", "Spark queries", names, needed))
    return steps


def _start(step_id: str, what: str, clients: list[str], needed: tuple[str, ...]) -> Step:
    return Step(
        id=step_id,
        phase="redirect",
        title=f"Start the {what} there",
        action="start-clients",
        arguments={"clients": clients},
        depends_on=needed,
        irreversible=True,
        expected_s=3.0,
        timeout_s=60,
    )


def _verify(groups: tuple[Consumer, ...], queries: tuple[Consumer, ...], has_producers: bool) -> list[Step]:
    steps = []
    if has_producers:
        steps.append(
            Step(
                id="producers-write",
                phase="verify",
                title="See records of the producers arrive",
                action="await-landing-records",
                depends_on=("start-producers",),
                expected_s=2.0,
                timeout_s=60,
            )
        )
    if groups:
        steps.append(
            Step(
                id="consumers-progress",
                phase="verify",
                title="See each group have members and move on, or be at the end",
                action="await-group-progress",
                arguments={"groups": [group.name for group in groups]},
                depends_on=("start-consumers",),
                expected_s=3.0,
                timeout_s=60,
            )
        )
    if queries:
        steps.append(
            Step(
                id="queries-progress",
                phase="verify",
                title="See each Spark query commit a batch",
                action="await-query-progress",
                arguments={"queries": [query.name for query in queries]},
                depends_on=("start-queries",),
                expected_s=20.0,
                timeout_s=180,
            )
        )
    return steps


def _situation(
    topology: Topology, mirror: Replication, observation: Observation, request: FailoverRequest
) -> Situation:
    history = observation.samples.value
    window = history.loss_window() if history is not None else None
    until_s = _lost_at_most_s(window, observation.at_s)
    consumers = topology.consumers_of(mirror.source)
    positions: list[TargetPosition] = []
    if (
        history is not None
        and observation.offset_map.value is not None
        and observation.log_ends.value is not None
    ):
        for group in consumers:
            if group.kind == "group":
                positions += target_positions(
                    topology,
                    mirror,
                    group,
                    recorded=history.positions(group.name),
                    sampled_ends=history.newest_ends(),
                    offset_map=observation.offset_map.value,
                    target_logs=observation.log_ends.value,
                    lost_at_s=window.first_failed_at_s if window else observation.at_s,
                )
    return Situation(
        topology=topology,
        mirror=mirror,
        request=request,
        observation=observation,
        now_s=observation.at_s,
        window=window,
        loss=_loss(topology, mirror, observation, until_s),
        positions=tuple(positions),
        readings={c.name: partitions_to_read(topology, mirror, c) for c in consumers},
    )


def _lost_at_most_s(window: LossWindow | None, now_s: float) -> float:
    """Until when the source can have acknowledged records.

    Where its brokers refused connections they were gone then. Silence is no such proof: behind a cut
    link producers may have gone on until now, for all that this side can know.
    """
    return window.first_failed_at_s if window is not None and window.cause == "refused" else now_s


def _loss(
    topology: Topology, mirror: Replication, observation: Observation, until_s: float
) -> LossPrediction | None:
    history, offset_map = observation.samples.value, observation.offset_map.value
    if history is None or offset_map is None or observation.mirror_offsets.value is None:
        return None
    partitions = source_partitions(topology, mirror)
    replicated: dict[TopicPartition, int] = {}
    for tp in partitions:
        known = [offset_map.mirrored_end(tp), observation.mirror_offsets.value.get(tp, -1) + 1]
        end = max(offset for offset in known if offset is not None)
        if end > 0:
            replicated[tp] = end
    return predict_loss(history, partitions, replicated, until_s=until_s)


def _loss_by_topic(loss: LossPrediction) -> dict[str, dict[str, int]]:
    """Only what can be said: a bound that is not known is left out."""
    return {
        name: {
            key: value
            for key, value in (
                ("at_least", topic.at_least),
                ("expected", topic.expected),
                ("at_most", topic.at_most),
            )
            if value is not None
        }
        for name, topic in loss.topics.items()
    }


def _grounds_by_topic(loss: LossPrediction, mirror: Replication) -> dict[str, dict[str, float | None]]:
    """How tight the upper bound has to be: rate × (age of the newest sample + flush interval)."""
    return {
        name: {
            "rate_records_per_s": topic.rate_records_per_s,
            "sample_age_s": topic.sample_age_s,
            "flush_interval_s": mirror.offset_flush_interval_s,
        }
        for name, topic in loss.topics.items()
    }


def _reread_by_consumer(s: Situation) -> dict[str, dict[str, int | None]]:
    history = s.observation.samples.value
    if history is None:
        return {}
    until_s = s.window.first_failed_at_s if s.window else s.now_s
    found: dict[str, dict[str, int | None]] = {}
    for group in s.groups:
        rows = [p for p in s.positions if p.group == group.name and p.source_offset is not None]
        recorded = history.positions(group.name)
        known = {p.source_partition: recorded[p.source_partition] for p in rows}
        by_map = {p.source_partition: p.reread_at_most for p in rows}
        found[group.name] = _reread(s, group.name, known, by_map, until_s)
    for query, offsets in (s.observation.checkpoints.value or {}).items():
        copy = history.copies.get(query)
        at_s = s.now_s if copy is None else copy.at_s
        known = {tp: SampledPosition(offset, at_s) for tp, offset in offsets.items()}
        offset_map = s.observation.offset_map.value
        by_map = {
            tp: None if offset_map is None else offset_map.translate(tp, offset).reread_at_most
            for tp, offset in offsets.items()
        }
        found[query] = _reread(s, query, known, by_map, until_s)
    return found


def _reread(
    s: Situation,
    consumer: str,
    known: Mapping[TopicPartition, SampledPosition],
    by_map: Mapping[TopicPartition, int | None],
    until_s: float,
) -> dict[str, int | None]:
    history = s.observation.samples.value
    if history is None:
        return {}
    predicted = predict_reread(history, consumer, known, by_map, until_s=until_s)
    return {"map": predicted.map, "position_age": predicted.position_age, "at_most": predicted.at_most}


def _facts(s: Situation) -> dict[str, Any]:
    """What the plan rests on, for people who read it later."""
    loss, done_by = s.loss, done_by_run(s)
    return {
        **({"done_by": done_by} if done_by else {}),
        "source_last_seen_at_s": s.window.last_good_at_s if s.window else None,
        "source_failing_since_s": s.window.first_failed_at_s if s.window else None,
        "loss_seconds_at_most": None if loss is None else loss.seconds_at_most,
        "loss_rests_on": {} if loss is None else _grounds_by_topic(loss, s.mirror),
        "budget": {
            "records": s.topology.failover.max_loss.records,
            "seconds": s.topology.failover.max_loss.seconds,
        },
        "translations": [position.as_json() for position in s.positions],
    }
