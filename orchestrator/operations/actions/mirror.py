"""Bringing the mirror to rest, and recording where it and the topics end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from orchestrator.engine import Results, StepOutcome
from orchestrator.errors import ClusterError
from orchestrator.operations.actions.asking import ask_connect
from orchestrator.operations.actions.declaring import look
from orchestrator.operations.session import Session
from orchestrator.planning.move_steps import STANDSTILL_S
from orchestrator.planning.observation import Observation
from orchestrator.planning.offsets_json import offsets_from_json, offsets_to_json
from orchestrator.planning.plan import Step
from orchestrator.values import TopicPartition

# For so long a producer's record may wait to be sent, with the time of its making (delivery.timeout.ms).
_BUFFERED_S = 120.0


@look
def await_standstill(session: Session, step: Step, _results: Results) -> StepOutcome:
    """Wait until the mirrored topics' ends have stood still for a while; observing may have seen that."""
    target, mirror = session.estate.target, session.estate.mirror
    partitions = session.partitions(mirror.mirrored_topic(name) for name in mirror.topics)
    standstill_s = float(step.arguments["standstill_s"])
    first = last = target.end_offsets(partitions)
    if standstill_s <= STANDSTILL_S and _has_stood_still(session.observation, last):
        return StepOutcome("ok", "nothing has landed since before the decision", {"landed_records": 0})
    since_s = session.clock.monotonic_s()

    def stands_still() -> bool:
        nonlocal last, since_s
        ends = target.end_offsets(partitions)
        if ends != last:
            last, since_s = ends, session.clock.monotonic_s()
        return session.clock.monotonic_s() - since_s >= standstill_s

    if not session.await_true(stands_still, step.timeout_s, poll_s=0.1):
        return StepOutcome(
            "failed", f"the mirrored topics still grow after {step.timeout_s:g} s: is the source really lost?"
        )
    landed = sum(last.values()) - sum(first.values())
    return StepOutcome("ok", f"{landed} records more landed", {"landed_records": landed})


def _has_stood_still(seen: Observation, ends: Mapping[TopicPartition, int]) -> bool:
    logs = seen.log_ends.value or {}
    return seen.stands_still(ends) and all(logs[tp].end_offset == end for tp, end in ends.items())


def stop_connectors(session: Session, step: Step, _results: Results) -> StepOutcome:
    """Ask for STOPPED."""
    return ask_connect(session, step.arguments["connectors"], session.estate.connect.stop, step.timeout_s / 2)


def resume_connectors(session: Session, step: Step, _results: Results) -> StepOutcome:
    """Ask for RUNNING."""
    return ask_connect(
        session, step.arguments["connectors"], session.estate.connect.resume, step.timeout_s / 2
    )


def connectors_are_stopped(session: Session, step: Step, _results: Results) -> StepOutcome:
    """Each connector is STOPPED and has no task left."""
    names = list(step.arguments["connectors"])
    states: dict[str, str] = {}

    def is_stopped() -> bool:
        found = session.estate.connect.connectors()
        states.update({name: _connector_state(found.get(name)) for name in names})
        return all(state == "STOPPED" for state in states.values())

    if session.await_true(is_stopped, step.timeout_s, poll_s=0.05):
        return StepOutcome("ok", "stopped", {"states": states})
    listed = ", ".join(f"{name} is {state}" for name, state in states.items() if state != "STOPPED")
    return StepOutcome("failed", listed, {"states": states})


def connectors_run(session: Session, step: Step, _results: Results) -> StepOutcome:
    """Each connector comes to be RUNNING: Connect answers at once that it will, and does it a moment later.

    Tasks are not asked for: that of a lost source cannot run.
    """
    waiting = ""

    def do_run() -> bool:
        nonlocal waiting
        found = session.estate.connect.connectors()
        states = {name: _connector_state(found.get(name)) for name in step.arguments["connectors"]}
        waiting = ", ".join(f"{name} is {state}" for name, state in states.items() if state != "RUNNING")
        return not waiting

    session.await_true(do_run, step.timeout_s / 2)
    return StepOutcome("failed" if waiting else "ok", waiting or "running")


@look
def record_ends(session: Session, step: Step, _results: Results) -> StepOutcome:
    """The end of each partition of some topics.

    In topics of `or_since_loss` producers that move themselves may have written since the source was lost:
    there it is the offset from which on that can be, so that nothing of it is passed over. In those of
    `from_start` nobody knows since when, and it is where the log starts. `now` are the ends as they are,
    `seen_from` is where to look for who has written.
    """
    now = session.estate.target.end_offsets(session.partitions(step.arguments["topics"]))
    seen_from = {**now, **_since_loss(session, now, step.arguments.get("or_since_loss", ()))}
    unknown = [tp for tp in now if tp.topic in step.arguments.get("from_start", ())]
    logs = session.estate.target.log_ends(unknown) if unknown else {}
    ends = {**seen_from, **{tp: log.start_offset for tp, log in logs.items()}}
    early = sum(now.values()) - sum(ends.values())
    since = "since nobody knows when" if unknown else "since the source was lost, or just before"
    said = f"; {early:,} of them {since}" if early else ""
    result = {
        "ends": offsets_to_json(ends),
        "seen_from": offsets_to_json(seen_from),
        "now": offsets_to_json(now),
        "at_s": session.clock.now_s(),
    }
    return StepOutcome("ok", f"{sum(now.values())} records in {len(now)} partitions{said}", result)


def name_written_early(session: Session, step: Step, results: Results) -> StepOutcome:
    """What was written at the target by whom nobody could keep off; it stays. Changes nothing."""
    before = offsets_from_json(results.get(step.id, {}).get("now", {}))
    try:
        now = session.estate.target.end_offsets(before)
    except ClusterError as error:
        return StepOutcome("ok", f"what was written there meanwhile is not known: {error.problem}")
    records: dict[str, int] = {}
    for tp, end in now.items():
        records[tp.topic] = records.get(tp.topic, 0) + end - before[tp]
    written = {topic: count for topic, count in records.items() if count}
    if not written:
        return StepOutcome("ok", "nothing was written there meanwhile", {"written": {}})
    listed = ", ".join(f"{topic}: {count:,}" for topic, count in sorted(written.items()))
    target = session.estate.mirror.target
    said = f"records written at {target} meanwhile stay there, for the next move to it: {listed}"
    return StepOutcome("ok", said, {"written": written})


def _since_loss(
    session: Session, ends: Mapping[TopicPartition, int], topics: Sequence[str]
) -> dict[TopicPartition, int]:
    """Offsets of what bears a time since the source was seen last, or a little before."""
    early = [tp for tp in ends if tp.topic in topics]
    if not early:
        return {}
    window = session.history.loss_window()
    since_s = (window.last_good_at_s if window is not None else session.observation.at_s) - _BUFFERED_S
    found = session.estate.target.offsets_for_times(dict.fromkeys(early, since_s))
    return {tp: min(ends[tp], offset) for tp, offset in found.items()}


@look
def record_mirror_end(session: Session, step: Step, results: Results) -> StepOutcome:
    """The ends of the mirrored topics, and the last source offsets that the mirror has read."""
    ends = record_ends(session, step, results)
    offsets = session.estate.connect.source_offsets(str(step.arguments["connector"]))
    return StepOutcome("ok", ends.message, {**ends.result, "mirror_offsets": offsets_to_json(offsets)})


def is_stopped_in_time(session: Session, connector: str, timeout_s: float) -> bool:
    """Wait until a connector is STOPPED and has no task left."""
    connect = session.estate.connect
    return session.await_true(
        lambda: _connector_state(connect.connectors().get(connector)) == "STOPPED", timeout_s
    )


def _connector_state(status: Mapping[str, Any] | None) -> str:
    if status is None:
        return "missing"
    state = str(status["connector"]["state"])
    return "STOPPING" if state == "STOPPED" and status["tasks"] else state
