"""Groups on their way back: their positions through both maps, and writing them at the primary."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from orchestrator.engine import Results, StepOutcome
from orchestrator.operations.actions.committing import commit_offsets, not_committed
from orchestrator.operations.actions.declaring import look
from orchestrator.operations.actions.mirror import record_mirror_end
from orchestrator.operations.failback_session import FailbackSession
from orchestrator.operations.gaps_now import gaps_now
from orchestrator.replication.offset_syncs import read_offset_map
from orchestrator.planning.known_gaps import sampled_gaps
from orchestrator.planning.offsets_json import offsets_from_json, offsets_to_json
from orchestrator.planning.plan import Step
from orchestrator.planning.positions_back import BackPosition, BothMaps, own_partitions, positions_back
from orchestrator.replication.cuts import cuts_from_json
from orchestrator.values import LogEnd, TopicPartition


@look
def record_forward_end(session: FailbackSession, step: Step, results: Results) -> StepOutcome:
    """The ends of the mirrored topics at the standby, and how far the paused mirror has read."""
    topics = [session.mirror.mirrored_topic(name) for name in session.mirror.topics]
    arguments = {**step.arguments, "topics": topics}
    return record_mirror_end(session.forward, replace(step, arguments=arguments), results)


@look
def translate_back(session: FailbackSession, step: Step, results: Results) -> StepOutcome:
    """Each group's committed offsets at the standby to places at the primary: exactly, or as accepted."""
    maps = both_maps(session, results)
    rows: list[BackPosition] = []
    for consumer in session.consumers(step.arguments["groups"]):
        committed = offsets_from_json(results["record-positions"]["positions"].get(consumer.name, {}))
        own = own_partitions(session.file, session.mirror, consumer)
        rows += positions_back(session.mirror, consumer, own, committed, maps)
    result = {"translations": [row.as_json() for row in rows]}

    def listed(chosen: list[Any]) -> str:
        return "; ".join(f"{r.group} {r.topic}-{r.partition}: {r.reason}" for r in chosen[:5])

    without = [row for row in rows if row.target_offset is None]
    if without:
        return StepOutcome("failed", f"no place for {listed(without)}", result)
    inexact = [row for row in rows if not row.exact]
    costs = [row.reread_at_most for row in inexact]
    cost = None if None in costs else sum(filter(None, costs))
    accepted = int(step.arguments["accept_reread"])
    if cost is None or cost > accepted:
        said = "an unknown number of" if cost is None else f"up to {cost:,}"
        reason = f"{said} records would be read again ({accepted:,} accepted): {listed(inexact)}"
        return StepOutcome("failed", reason, result)
    return StepOutcome("ok", f"{len(rows)} positions, {len(rows) - len(inexact)} of them exact", result)


def write_back(session: FailbackSession, _step: Step, results: Results) -> StepOutcome:
    """Commit every partition that a group will read, several groups at a time."""
    return commit_offsets(session, session.estate.target, _wanted(results))


def back_is_written(session: FailbackSession, _step: Step, results: Results) -> StepOutcome:
    """What was translated is what is committed now."""
    wanted = _wanted(results)
    wrong = not_committed(session.estate.target, wanted)
    if wrong:
        return StepOutcome("failed", "; ".join(wrong[:5]))
    count = sum(len(offsets) for offsets in wanted.values())
    written = {group: offsets_to_json(offsets) for group, offsets in wanted.items()}
    return StepOutcome("ok", f"{count} offsets of {len(wanted)} groups", {"written": written})


def _wanted(results: Results) -> dict[str, dict[TopicPartition, int]]:
    wanted: dict[str, dict[TopicPartition, int]] = {}
    for row in results["translate-positions"]["translations"]:
        to = TopicPartition(row["target_topic"], int(row["partition"]))
        wanted.setdefault(row["group"], {})[to] = int(row["target_offset"])
    return wanted


def both_maps(session: FailbackSession, results: Results) -> BothMaps:
    """Both maps with their very last pairs: both mirrors stand."""
    primary, standby = session.estate.target, session.forward.estate.target
    mirror, reverse = session.mirror, session.estate.mirror
    samples = session.picture.samples.value
    forward_end, reverse_end = results["record-mirror-end"], results["record-mirrored-ends"]
    copies = standby.log_ends(offsets_from_json(forward_end["ends"]))
    brought = primary.log_ends(offsets_from_json(reverse_end["ends"]))
    landing: dict[TopicPartition, LogEnd] = {
        tp: LogEnd(offsets_from_json(results["stands-still"]["starts"])[tp], end)
        for tp, end in offsets_from_json(results["stands-still"]["ends"]).items()
    }
    home = primary.log_ends(offsets_from_json(results["record-landing-ends"]["ends"]))
    return BothMaps(
        forward=read_offset_map(
            standby,
            mirror,
            stopped_at=offsets_from_json(forward_end["mirror_offsets"]),
            logs=copies,
            made_anew=samples.made_anew if samples is not None else {},
            gaps=sampled_gaps(session.file, mirror, samples),
        ),
        reverse=read_offset_map(
            standby,
            reverse,
            stopped_at=offsets_from_json(reverse_end["mirror_offsets"]),
            logs=brought,
            made_anew={},
            gaps=gaps_now(session.servers, session.file, reverse),
        ),
        standby={**copies, **landing},
        primary={**home, **brought},
        cuts=cuts_from_json(results["compare-returned"]["cuts"]),
        reverse_starts=offsets_from_json(results["set-reverse-offsets"]["starts"]),
    )
