"""What a move along MirrorMaker's copies costs: records that it has not copied, or that a side has lost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from orchestrator.mirrors.mirrormaker2.connectors import connector_names, is_at_rest
from orchestrator.moves.gates.source import loss_window
from orchestrator.moves.not_copied import passed_over
from orchestrator.moves.prediction import (
    NOTHING_ESTIMATED,
    NOTHING_LOST,
    LossPrediction,
    TopicLoss,
    predict_loss,
)
from orchestrator.moves.situation import Situation
from orchestrator.replication.lag import lag_records
from orchestrator.replication.mirror_ref import source_partitions
from orchestrator.replication.offset_map import OffsetMap
from orchestrator.snapshot.rejoining import Past, Rejoining, rejoining_side
from orchestrator.snapshot.samples import LossWindow, SampledEnd
from orchestrator.values import TopicPartition


def lag_by_partition(s: Situation) -> Mapping[TopicPartition, int] | None:
    """Records that the mirror has still to read, by source partition; None where it cannot be told."""
    ends, offsets = s.source.log_ends.value, s.copying.read.value
    return None if ends is None or offsets is None else lag_records(ends, offsets)


def rejoining(s: Situation) -> Rejoining | None:
    """The returned side against what was recorded; None where something of that is not known."""
    home, copied = s.target.log_ends.value, s.source.log_ends.value
    last_read, epoch_ends = s.own_copying.read.value, s.target.epoch_ends.value
    if home is None or copied is None or last_read is None or epoch_ends is None:
        return None
    # One that stands starts again for all of its topics.
    is_for_all = is_at_rest(s.own_copying.states.value or {}, s.own_mirror)
    return rejoining_side(
        s.topology,
        s.own_mirror if is_for_all else s.own_part,
        home=home,
        copied=copied,
        last_read=last_read,
        epoch_ends=epoch_ends,
        past=s.seen.past.value or Past(),
    )


def predicted_loss(s: Situation) -> LossPrediction | None:
    """What would be lost of a place that is gone or partial; None where that cannot be told."""
    history, offset_map = s.copying.samples.value, s.copying.offset_map.value
    if history is None or offset_map is None or s.way.reach == "whole":
        return None
    window, left = s.once(loss_window), s.source.left.value
    # Of a log that may go on beyond what can be read the samples say more.
    live = {} if left is None else left.whole_logs
    connect = s.copying.read.value or {}
    # What stays at the place left is not lost by leaving it.
    partitions = source_partitions(s.topology, s.own_part)
    replicated: dict[TopicPartition, int] = {}
    recreation = history.recreated
    for tp in partitions:
        # Without Connect's word the newest offset sync stands alone: a lower bound as well. Of a topic made
        # anew Connect may still have the old one's offset.
        stored = 0 if tp.topic in recreation else connect.get(tp, -1) + 1
        end = max(offset_map.mirrored_end(tp) or 0, stored)
        if end > 0:
            replicated[tp] = end
    ends = {**history.newest_ends(), **live}
    gone = passed_over(
        s.topology,
        s.mirror,
        {tp: ends[tp].start_offset for tp in partitions if tp in ends},
        replicated=replicated,
        copies=s.target.log_ends.value or {},
        offset_map=offset_map,
        recreated=recreation,
    )
    is_refused = window is not None and window.cause == "refused"
    return predict_loss(
        history,
        partitions,
        replicated,
        until_s=_lost_at_most_s(window, history.comparable_s(s.seen.at_s)),
        replicated_at_most=_replicated_at_most(s, partitions, offset_map) if is_refused else {},
        passed_over={tp: sum(end - first for first, end in ranges) for tp, ranges in gone.items()},
        live={tp: SampledEnd(log, s.seen.at_s) for tp, log in live.items()},
        is_drained=(s.copying.states.value or {}).get(connector_names(s.mirror).source) == "RUNNING",
    )


def _lost_at_most_s(window: LossWindow | None, now_s: float) -> float:
    """Until when the source can have acknowledged records.

    Where its brokers refused connections they were gone then. Silence is no such proof: behind a cut
    link producers may have gone on until now, for all that this side can know.
    """
    return window.first_failed_at_s if window is not None and window.cause == "refused" else now_s


def _replicated_at_most(
    s: Situation, partitions: Iterable[TopicPartition], offset_map: OffsetMap
) -> dict[TopicPartition, int]:
    """Next source offset that the target cannot hold, per source partition; empty where it may still grow.

    The mirror may have read records that it has not written yet. They have landed when the ends of all its
    topics stand still while its worker answers: what the step `let-land` waits for as well.
    """
    logs, mirror = s.target.log_ends.value, s.mirror
    mirrored = {tp: mirror.mirrored(tp) for tp in partitions}
    if logs is None or s.copying.states.value is None or not s.target.stands_still(mirrored.values()):
        return {}
    found = {tp: offset_map.mirrored_at_most(tp, logs[at].end_offset) for tp, at in mirrored.items()}
    return {tp: offset for tp, offset in found.items() if offset is not None}


def records_passed_over(found: LossPrediction) -> int:
    """Records that the mirror has passed and of which no copy is known."""
    return sum(part.passed_over for topic in found.topics.values() for part in topic.partitions.values())


def loss_by_topic(s: Situation) -> dict[str, dict[str, int]]:
    """At least, as expected and at most, in records; what cannot be said is left out.

    A planned move loses nothing, or is taken back. On the way back that is lost which the returned side does
    not have any more.
    """
    if s.case == "planned":
        return {name: dict(NOTHING_LOST) for name in s.way.topics}
    if s.case == "back":
        back = s.once(rejoining)
        parts = () if back is None else (back.missing, back.gap, back.target_only)
        lost = {name: _of_topic(name, *parts) for name in (s.way.topics if parts else ())}
        return {name: {"at_least": n, "expected": n, "at_most": n} for name, n in lost.items()}
    found = s.once(predicted_loss)
    return {} if found is None else {name: _bounds(topic) for name, topic in found.topics.items()}


def late_by_topic(s: Situation) -> dict[str, dict[str, int]]:
    """Records that come late, at most: the tail of a lost source, once that is back with its disks.

    On the way back it is known how many. Where the copies have the same names the tail does not come: it is a
    fork. What the mirror has passed over never comes.
    """
    if s.case == "planned" or (s.case != "back" and s.mirror.keeps_names):
        return {name: {"at_most": 0} for name in s.way.topics}
    if s.case == "back":
        back = s.once(rejoining)
        return (
            {} if back is None else {name: {"at_most": _of_topic(name, back.tail)} for name in s.way.topics}
        )
    found = s.once(predicted_loss)
    return {
        name: {"at_most": topic.at_most - sum(part.passed_over for part in topic.partitions.values())}
        for name, topic in ({} if found is None else found.topics).items()
        if topic.at_most is not None
    }


def _bounds(topic: TopicLoss) -> dict[str, int]:
    found = {"at_least": topic.at_least, "expected": topic.expected, "at_most": topic.at_most}
    return {key: value for key, value in found.items() if value is not None}


def _of_topic(name: str, *parts: Mapping[TopicPartition, int]) -> int:
    return sum(count for part in parts for tp, count in part.items() if tp.topic == name)


def facts_of_loss(s: Situation) -> dict[str, Any]:
    """What the prediction rests on, for people who read the plan later."""
    if s.case == "planned":
        lag = s.once(lag_by_partition)
        return {
            "loss_rests_on": {name: dict(NOTHING_ESTIMATED) for name in s.way.topics},
            "mirror_lag_records": None if lag is None else sum(lag.values()),
        }
    if s.case == "back":
        back = s.once(rejoining)
        parts = ({}, {}, {}) if back is None else (back.tail, back.missing, back.target_only)
        late, missing, only = ({str(tp): count for tp, count in part.items()} for part in parts)
        return {"late_records": late, "missing_records": missing, "only_at_standby": only}
    found, window, budget = s.once(predicted_loss), s.once(loss_window), s.topology.failover.max_loss
    return {
        "source_failing_since_s": window.first_failed_at_s if window else None,
        "loss_seconds_at_most": None if found is None else found.seconds_at_most,
        "loss_rests_on": {} if found is None else _grounds_by_topic(s, found),
        **_gone_before(s, found),
        "budget": {"records": budget.records, "seconds": budget.seconds},
    }


def _grounds_by_topic(s: Situation, found: LossPrediction) -> dict[str, dict[str, float | None]]:
    """How tight the upper bound has to be: rate × (age of the newest sample + flush interval), and what the
    mirror still copies in the move.
    """
    return {
        name: {
            "rate_records_per_s": topic.rate_records_per_s,
            "sample_age_s": topic.sample_age_s,
            "flush_interval_s": s.mirror.offset_flush_interval_s,
            "to_be_copied_records": sum(part.to_be_copied for part in topic.partitions.values()),
        }
        for name, topic in found.topics.items()
    }


def _gone_before(s: Situation, found: LossPrediction | None) -> dict[str, Any]:
    """Topics that were deleted and made again at the source, and when; and records by topic that the mirror
    has passed and the target does not have: part of the loss at most.
    """
    history = s.copying.samples.value
    recreation = {} if history is None else history.recreated
    passed = {
        name: sum(p.passed_over for p in topic.partitions.values())
        for name, topic in ({} if found is None else found.topics).items()
    }
    return {
        "made_anew": {
            name: {"seen_at_s": topic.seen_s, "passed_over": passed.get(name)}
            for name, topic in recreation.items()
        },
        "not_copied": {
            name: records for name, records in passed.items() if records and name not in recreation
        },
    }
