"""Groups: what they had committed, where they have to stand, and writing that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from orchestrator.engine import Results, StepOutcome
from orchestrator.errors import DcctlError
from orchestrator.operations.actions.committing import commit_offsets, not_committed
from orchestrator.operations.actions.declaring import look
from orchestrator.operations.actions.landing import landing_offsets
from orchestrator.operations.actions.mirror import is_stopped_in_time
from orchestrator.operations.session import Session
from orchestrator.planning.offsets_json import offsets_from_json, offsets_to_json
from orchestrator.planning.plan import Step
from orchestrator.planning.positions import TargetPosition, offsets_to_write, target_positions
from orchestrator.planning.samples import SampledPosition
from orchestrator.values import LogEnd, TopicPartition


@look
def save_offsets(session: Session, step: Step, _results: Results) -> StepOutcome:
    """What the groups have committed at the target now: MirrorMaker's own synced offsets, for undo."""
    committed = session.estate.target.committed(step.arguments["groups"])
    saved = {group: offsets_to_json(offsets) for group, offsets in committed.items()}
    count = sum(len(offsets) for offsets in committed.values())
    return StepOutcome("ok", f"{count} offsets of {len(saved)} groups", {"offsets": saved})


@look
def record_positions(session: Session, step: Step, _results: Results) -> StepOutcome:
    """What the groups have committed at the source, now that they are stopped.

    A group that still has members may commit more: it would be processed here and again at the target.
    """
    source = session.cluster(session.estate.mirror.source)
    groups = list(step.arguments["groups"])
    members: Mapping[str, int] = {}

    def are_empty() -> bool:
        nonlocal members
        members = {group: count for group, count in source.group_members(groups).items() if count}
        return not members

    if not session.await_true(are_empty, step.timeout_s / 2):
        running = ", ".join(f"{group} ({count})" for group, count in sorted(members.items()))
        return StepOutcome("failed", f"still running at {source.name}: {running}")
    committed = source.committed(groups)
    count = sum(len(offsets) for offsets in committed.values())
    positions = {group: offsets_to_json(offsets) for group, offsets in committed.items()}
    return StepOutcome("ok", f"{count} positions of {len(groups)} groups", {"positions": positions})


@look
def translate_recorded_positions(session: Session, step: Step, results: Results) -> StepOutcome:
    """The positions recorded at the source through the final map: exactly, or within what is accepted."""
    now_s = session.clock.now_s()
    ends = offsets_from_json(results["stands-still"]["ends"])
    starts = offsets_from_json(results["stands-still"]["starts"])
    logs = {tp: LogEnd(starts[tp], end) for tp, end in ends.items()}
    recorded = {
        group: {tp: SampledPosition(at, now_s) for tp, at in offsets_from_json(offsets).items()}
        for group, offsets in results["record-positions"]["positions"].items()
    }
    rows = _translated(session, step, results, recorded, logs, now_s)
    found = _translation_outcome(rows, landing_offsets(session, recorded))
    costs = [row.reread_at_most for row in rows if not row.exact]
    cost = None if None in costs else sum(filter(None, costs))
    accepted = int(step.arguments["accept_reread"])
    if found.outcome == "ok" and (cost is None or cost > accepted):
        inexact = [f"{row.group} {row.topic}-{row.partition}: {row.reason}" for row in rows if not row.exact]
        said = "an unknown number of" if cost is None else f"up to {cost:,}"
        return StepOutcome(
            "failed",
            f"{said} records would be read again ({accepted:,} accepted): {'; '.join(inexact[:5])}",
            found.result,
        )
    return found


@look
def translate_positions(session: Session, step: Step, results: Results) -> StepOutcome:
    """Each group's positions, as the watcher recorded them, through the final map."""
    recorded = {name: session.history.positions(name) for name in step.arguments["groups"]}
    ends = session.history.newest_ends()
    rows = _translated(session, step, results, recorded, ends, session.lost_at_s)
    return _translation_outcome(rows, landing_offsets(session, recorded))


@look
def translate_left_positions(session: Session, step: Step, results: Results) -> StepOutcome:
    """The positions recorded of a sick source through the final map; reading again has its price."""
    said, standing = results["record-positions"], results["stands-still"]
    recorded = {
        group: {
            tp: SampledPosition(at, float(said["at_s"][group]))
            for tp, at in offsets_from_json(offsets).items()
        }
        for group, offsets in said["positions"].items()
    }
    starts = offsets_from_json(standing["starts"])
    read = {tp: LogEnd(starts[tp], end) for tp, end in offsets_from_json(standing["ends"]).items()}
    rows = _translated(
        session, step, results, recorded, {**session.history.newest_ends(), **read}, session.clock.now_s()
    )
    return _translation_outcome(rows, landing_offsets(session, recorded))


def _translated(  # noqa: PLR0917 - what a position is made of
    session: Session,
    step: Step,
    results: Results,
    recorded: Mapping[str, Mapping[TopicPartition, SampledPosition]],
    ends: Mapping[TopicPartition, LogEnd],
    lost_at_s: float,
) -> list[TargetPosition]:
    offset_map, logs = session.final_map(results["record-mirrored-ends"])
    return [
        row
        for consumer in session.consumers(step.arguments["groups"])
        for row in target_positions(
            session.estate.topology,
            session.estate.mirror,
            consumer,
            recorded=recorded[consumer.name],
            sampled_ends=ends,
            offset_map=offset_map,
            made_anew=session.history.made_anew,
            target_logs=logs,
            by_time=session.by_time(consumer, recorded[consumer.name], offset_map),
            lost_at_s=lost_at_s,
        )
    ]


def _translation_outcome(
    rows: Sequence[TargetPosition], landing: Mapping[str, Mapping[TopicPartition, int]]
) -> StepOutcome:
    result = {
        "translations": [row.as_json() for row in rows],
        "landing": {group: offsets_to_json(offsets) for group, offsets in landing.items()},
    }
    without = [
        f"{row.group} {row.topic}-{row.partition}: {row.reason}" for row in rows if row.target_offset is None
    ]
    if without:
        return StepOutcome("failed", "no translation for " + "; ".join(without[:5]), result)
    exact = sum(row.exact for row in rows)
    return StepOutcome("ok", f"{len(rows)} positions, {exact} of them exact", result)


def write_offsets(session: Session, step: Step, results: Results) -> StepOutcome:
    """Commit each group's offsets, several groups at a time. A group with members refuses by itself.

    MirrorMaker's group sync may still be at it: it moves an offset of an idle group forward to its own
    translation, never back. Where ours is not below what it had written, there is nothing to undo ours.
    """
    try:
        wanted = _wanted_offsets(session, step, results)
    except DcctlError as error:
        return StepOutcome("failed", f"{error.subject}: {error.problem}")
    target = session.estate.target
    ahead = _ahead_of(wanted, results["save-offsets"]["offsets"])
    if ahead and not is_stopped_in_time(session, str(step.arguments["group_sync"]), step.timeout_s / 2):
        return StepOutcome(
            "failed", f"the group sync still runs, and would move forward again: {', '.join(ahead[:5])}"
        )

    return commit_offsets(session, target, wanted)


def offsets_are_written(session: Session, step: Step, results: Results) -> StepOutcome:
    """What was written is what is committed now."""
    wanted = _wanted_offsets(session, step, results)
    wrong = not_committed(session.estate.target, wanted)
    result: dict[str, Any] = {"written": {group: offsets_to_json(found) for group, found in wanted.items()}}
    if session.offset_shift:
        result["sabotage_offset_shift"] = session.offset_shift
    if wrong:
        return StepOutcome("failed", "; ".join(wrong[:5]))
    count = sum(len(offsets) for offsets in wanted.values())
    sabotage = (
        f"; REHEARSAL'S SABOTAGE: shifted forward by {session.offset_shift}" if session.offset_shift else ""
    )
    return StepOutcome("ok", f"{count} offsets of {len(wanted)} groups{sabotage}", result)


def restore_offsets(session: Session, step: Step, results: Results) -> StepOutcome:
    """Commit again what the groups had there before.

    A partition of which a group had nothing keeps what was written: Kafka's client cannot take it away,
    and MirrorMaker's group sync moves it forward once it is behind.
    """
    saved = _saved_offsets(step, results)
    for group, offsets in saved.items():
        if session.is_cancelled():
            return StepOutcome("unknown", f"group {group}: not restored, the run was interrupted")
        if offsets:
            session.estate.target.write_group_offsets(group, offsets, may_write=session.may_write)
    return StepOutcome("ok")


def offsets_are_restored(session: Session, step: Step, results: Results) -> StepOutcome:
    """What stood there before is committed now."""
    saved = _saved_offsets(step, results)
    committed = session.estate.target.committed(saved)
    wrong = [
        f"{group} {tp}: {committed[group].get(tp)}, not {offset}"
        for group, offsets in saved.items()
        for tp, offset in offsets.items()
        # The group sync may be at work again, and only moves forward.
        if committed[group].get(tp, -1) < offset
    ]
    count = sum(len(offsets) for offsets in saved.values())
    return StepOutcome("failed" if wrong else "ok", "; ".join(wrong[:5]) or f"{count} offsets as before")


def _saved_offsets(step: Step, results: Results) -> dict[str, dict[TopicPartition, int]]:
    saved = results["save-offsets"]["offsets"]
    return {group: offsets_from_json(saved.get(group, {})) for group in step.arguments["groups"]}


def _wanted_offsets(session: Session, step: Step, results: Results) -> dict[str, dict[TopicPartition, int]]:
    """What has to be committed, from the results of the steps before. The same every time it is asked."""
    topology, mirror = session.estate.topology, session.estate.mirror
    positions = [TargetPosition(**row) for row in results["translate-positions"]["translations"]]
    landing = offsets_from_json(results["record-landing-ends"]["ends"])
    consumers = session.consumers(step.arguments["groups"])
    wanted = offsets_to_write(topology, mirror, consumers, positions, landing)
    for group, offsets in results["translate-positions"].get("landing", {}).items():
        wanted[group] |= offsets_from_json(offsets)
    if not session.offset_shift:
        return wanted
    ends = offsets_from_json(results["record-mirrored-ends"]["ends"])
    return {
        group: {
            tp: min(offset + session.offset_shift, ends.get(tp, offset)) for tp, offset in offsets.items()
        }
        for group, offsets in wanted.items()
    }


def _ahead_of(wanted: Mapping[str, Mapping[TopicPartition, int]], saved: Mapping[str, Any]) -> list[str]:
    """Positions that stand further at the target already than they are to be written."""
    return [
        f"{group} {tp}"
        for group, offsets in wanted.items()
        for tp, offset in offsets_from_json(saved.get(group, {})).items()
        if tp in offsets and offset > offsets[tp]
    ]
