"""What a failover costs, and what its gates judge: pure, from topology, observation and request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from orchestrator.planning.gates import done_by_run, passed_by_word
from orchestrator.planning.left import LeftCluster
from orchestrator.planning.not_copied import passed_over
from orchestrator.planning.observation import Observation
from orchestrator.planning.plan import GateResult, Made, Plan, Predicted, digest, with_seconds
from orchestrator.planning.positions import (
    TargetPosition,
    partitions_to_read,
    source_partitions,
    target_positions,
)
from orchestrator.planning.prediction import LossPrediction, predict_loss, predict_reread
from orchestrator.planning.request import FailoverRequest
from orchestrator.planning.same_clusters import ids_to_remember
from orchestrator.planning.samples import LossWindow, SampledEnd, SampledPosition, SampleHistory
from orchestrator.planning.situation import Situation
from orchestrator.replication.connectors import connector_names
from orchestrator.replication.offset_map import OffsetMap
from orchestrator.topology.loading import dump_topology
from orchestrator.topology.model import Replication, Topology
from orchestrator.values import TopicPartition

EXPIRES_AFTER_S = 60.0


def failover_plan(
    s: Situation,
    gates: tuple[GateResult, ...],
    made: Made,
    observed: Mapping[str, str],
    facts: Mapping[str, Any] = MappingProxyType({}),
) -> Plan:
    """The plan of a failover, whatever is left of the source: its price follows from the situation."""
    plan = Plan(
        verb="failover",
        topology=s.topology.name,
        source=s.mirror.source,
        target=s.mirror.target,
        request=s.request.as_json(),
        created_at_s=s.now_s,
        expires_at_s=s.now_s + EXPIRES_AFTER_S,
        topology_digest=digest(dump_topology(s.topology)),
        observed=observed,
        gates=gates,
        steps=made.steps,
        told=made.told,
        predicted=Predicted(
            loss={} if s.loss is None else _loss_by_topic(s.loss),
            reread=_reread_by_consumer(s),
        ),
        facts={**_facts(s), **facts},
    )
    return with_seconds(plan)


def failover_situation(
    topology: Topology,
    mirror: Replication,
    observation: Observation,
    request: FailoverRequest,
    left: LeftCluster | None = None,
) -> Situation:
    """What the gates of a failover judge. `left`: what a source that is only sick says itself."""
    history = observation.samples.value
    # While part of it answers, the source as a whole was lost at no moment.
    window = history.loss_window() if history is not None and left is None else None
    until_s = _lost_at_most_s(window, observation.at_s)
    consumers = topology.consumers_of(mirror.source)
    recorded = {
        group.name: _recorded(history, group.name, left, observation.at_s)
        for group in consumers
        if group.kind == "group"
    }
    positions: list[TargetPosition] = []
    if (
        history is not None
        and observation.offset_map.value is not None
        and observation.log_ends.value is not None
    ):
        sampled_ends = {**history.newest_ends(), **(left.logs if left is not None else {})}
        for group in consumers:
            if group.kind == "group":
                positions += target_positions(
                    topology,
                    mirror,
                    group,
                    recorded=recorded[group.name],
                    sampled_ends=sampled_ends,
                    offset_map=observation.offset_map.value,
                    made_anew=history.made_anew,
                    by_time=(observation.by_time.value or {}).get(group.name, {}),
                    target_logs=observation.log_ends.value,
                    lost_at_s=_unseen_at_s(history, group.name, left, window, observation),
                )
    return Situation(
        topology=topology,
        mirror=mirror,
        request=request,
        observation=observation,
        now_s=observation.at_s,
        window=window,
        loss=_loss(topology, mirror, observation, window, until_s, left),
        positions=tuple(positions),
        readings={c.name: partitions_to_read(topology, mirror, c) for c in consumers},
        recorded=recorded,
    )


def _recorded(
    history: SampleHistory | None, group: str, left: LeftCluster | None, at_s: float
) -> Mapping[TopicPartition, SampledPosition]:
    """A group's positions: its own word where its coordinator answers, else the watcher's."""
    if left is not None and group in left.committed:
        return {tp: SampledPosition(offset, at_s) for tp, offset in left.committed[group].items()}
    return {} if history is None else history.positions(group)


def _unseen_at_s(
    history: SampleHistory,
    group: str,
    left: LeftCluster | None,
    window: LossWindow | None,
    seen: Observation,
) -> float:
    """When a group's positions were lost: what it did afterwards nobody knows."""
    if left is None:
        return window.first_failed_at_s if window else seen.at_s
    if group in left.committed:
        return seen.at_s
    return history.unseen_since_s(group) or seen.samples.at_s


def _lost_at_most_s(window: LossWindow | None, now_s: float) -> float:
    """Until when the source can have acknowledged records.

    Where its brokers refused connections they were gone then. Silence is no such proof: behind a cut
    link producers may have gone on until now, for all that this side can know.
    """
    return window.first_failed_at_s if window is not None and window.cause == "refused" else now_s


def _loss(  # noqa: PLR0917 - what a prediction is made of
    topology: Topology,
    mirror: Replication,
    observation: Observation,
    window: LossWindow | None,
    until_s: float,
    left: LeftCluster | None,
) -> LossPrediction | None:
    history, offset_map = observation.samples.value, observation.offset_map.value
    if history is None or offset_map is None:
        return None
    # Of a log that may go on beyond what can be read the samples say more.
    live = {} if left is None else left.whole_logs
    states = observation.connectors.value or {}
    connect = observation.mirror_offsets.value or {}
    partitions = source_partitions(topology, mirror)
    replicated: dict[TopicPartition, int] = {}
    anew = history.made_anew
    for tp in partitions:
        # Without Connect's word the newest offset sync stands alone: a lower bound as well. Of a topic made
        # anew Connect may still have the old one's offset.
        stored = 0 if tp.topic in anew else connect.get(tp, -1) + 1
        end = max(offset_map.mirrored_end(tp) or 0, stored)
        if end > 0:
            replicated[tp] = end
    ends = {**history.newest_ends(), **live}
    gone = passed_over(
        topology,
        mirror,
        {tp: ends[tp].start_offset for tp in partitions if tp in ends},
        replicated=replicated,
        copies=observation.log_ends.value or {},
        offset_map=offset_map,
        made_anew=anew,
    )
    at_most: dict[TopicPartition, int] = {}
    if window is not None and window.cause == "refused":
        at_most = _replicated_at_most(mirror, observation, partitions, offset_map)
    return predict_loss(
        history,
        partitions,
        replicated,
        until_s=until_s,
        replicated_at_most=at_most,
        passed_over={tp: sum(end - first for first, end in ranges) for tp, ranges in gone.items()},
        live={tp: SampledEnd(log, observation.at_s) for tp, log in live.items()},
        is_drained=states.get(connector_names(mirror).source) == "RUNNING",
    )


def _replicated_at_most(
    mirror: Replication,
    observation: Observation,
    partitions: Iterable[TopicPartition],
    offset_map: OffsetMap,
) -> dict[TopicPartition, int]:
    """Next source offset that the target cannot hold, per source partition; empty where it may still grow.

    The mirror may have read records that it has not written yet. They have landed when the ends of all its
    topics stand still while its worker answers: what the step `let-land` waits for as well.
    """
    logs = observation.log_ends.value
    mirrored = {tp: mirror.mirrored(tp) for tp in partitions}
    is_alive = observation.connectors.value is not None
    if logs is None or not is_alive or not observation.stands_still(mirrored.values()):
        return {}
    found = {tp: offset_map.mirrored_at_most(tp, logs[at].end_offset) for tp, at in mirrored.items()}
    return {tp: offset for tp, offset in found.items() if offset is not None}


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
    by_group: dict[str, list[TargetPosition]] = {group.name: [] for group in s.groups}
    for position in s.positions:
        if position.source_offset is not None:
            by_group[position.group].append(position)
    for group in s.groups:
        rows = by_group[group.name]
        recorded = s.recorded[group.name]
        known = {p.source_partition: recorded[p.source_partition] for p in rows}
        by_map = {p.source_partition: p.reread_at_most for p in rows}
        found[group.name] = _reread(s, group.name, known, by_map, until_s)
    for query, seen in (s.observation.checkpoints.value or {}).items():
        # A query that came back reads copies of the landing topics as well; nothing is added to them.
        offsets = {tp: offset for tp, offset in seen.positions.items() if tp.topic in s.mirror.topics}
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


def _made_anew(s: Situation) -> dict[str, dict[str, Any]]:
    """Topics that were deleted and made again at the source: when, and what may have been passed over."""
    history = s.observation.samples.value
    if history is None:
        return {}
    lost = {} if s.loss is None else s.loss.topics
    return {
        name: {
            "seen_at_s": anew.seen_s,
            "passed_over": sum(loss.passed_over for loss in lost[name].partitions.values())
            if name in lost
            else None,
        }
        for name, anew in history.made_anew.items()
    }


def _not_copied(s: Situation) -> dict[str, int]:
    """Records by topic that the mirror has passed and the target does not have; part of the loss at most."""
    lost = {} if s.loss is None else s.loss.topics
    anew = {} if s.observation.samples.value is None else s.observation.samples.value.made_anew
    found = {name: sum(p.passed_over for p in topic.partitions.values()) for name, topic in lost.items()}
    return {name: records for name, records in found.items() if records and name not in anew}


def _newest_fact(s: Situation) -> dict[str, Any]:
    """Of a run without the ensemble: behind which fact of the estate record it stands once it is imported."""
    state = s.observation.coordination.value
    if state is None or not state.alone:
        return {}
    return {"newest_fact": state.newest_fact, "record_life": state.record_life}


def _facts(s: Situation) -> dict[str, Any]:
    """What the plan rests on, for people who read it later."""
    loss, done_by, passed = s.loss, done_by_run(s), passed_by_word(s)
    return {
        **({"done_by": done_by} if done_by else {}),
        **({"passed": passed} if passed else {}),
        **_newest_fact(s),
        **ids_to_remember(s.observation.coordination, s.cluster_ids),
        "source_last_seen_at_s": s.window.last_good_at_s if s.window else None,
        "source_failing_since_s": s.window.first_failed_at_s if s.window else None,
        "loss_seconds_at_most": None if loss is None else loss.seconds_at_most,
        "loss_rests_on": {} if loss is None else _grounds_by_topic(loss, s.mirror),
        "made_anew": _made_anew(s),
        "not_copied": _not_copied(s),
        "budget": {
            "records": s.topology.failover.max_loss.records,
            "seconds": s.topology.failover.max_loss.seconds,
        },
        "translations": [position.as_json() for position in s.positions],
    }
