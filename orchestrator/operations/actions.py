"""What the steps of a failover do: one function for each name in the plan.

A function that performs returns what later steps need. A function that verifies looks, and returns the
same, so that a run that goes on after a crash has it too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import monotonic
from typing import Any

from orchestrator.adapters.ansible import run_playbook
from orchestrator.adapters.checkpoint_files import local_checkpoint, numbered
from orchestrator.engine import Results, StepOutcome
from orchestrator.errors import ClusterError, ConnectError, DcctlError
from orchestrator.operations.offsets_json import offsets_from_json, offsets_to_json
from orchestrator.operations.relocation import copy_folder, relocate_checkpoint
from orchestrator.operations.session import Session
from orchestrator.planning.plan import Step
from orchestrator.planning.positions import TargetPosition, offsets_to_write, target_positions
from orchestrator.replication.offset_map import Translated
from orchestrator.replication.translation import fit_to_log
from orchestrator.topology.model import Consumer
from orchestrator.values import TopicPartition

Action = Callable[[Session, Step, Results], StepOutcome]
_GROUPS_AT_ONCE = 8


class FailoverActions:
    """The engine's port to the world, for one run."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def perform(self, step: Step, results: Results) -> StepOutcome:
        """Make the step's effect."""
        if self._session.is_cancelled():
            return StepOutcome("failed", "not begun: the run was interrupted")
        return PERFORM[step.action](self._session, step, results)

    def verify(self, step: Step, results: Results) -> StepOutcome:
        """Look whether it is there."""
        if step.verify is None:
            raise DcctlError(f"step {step.id}", "has nothing to verify")
        return VERIFY[step.verify](self._session, step, results)

    def cancel(self) -> None:
        """Make every wait end soon; nothing more is written."""
        self._session.cancel()


def await_standstill(session: Session, step: Step, _results: Results) -> StepOutcome:
    """Wait until the mirrored topics' ends have stood still for a while."""
    target, mirror = session.estate.target, session.estate.mirror
    partitions = session.partitions(mirror.mirrored_topic(name) for name in mirror.topics)
    standstill_s = float(step.arguments["standstill_s"])
    first = last = target.end_offsets(partitions)
    since_s = monotonic()

    def stands_still() -> bool:
        nonlocal last, since_s
        ends = target.end_offsets(partitions)
        if ends != last:
            last, since_s = ends, monotonic()
        return monotonic() - since_s >= standstill_s

    if not session.await_true(stands_still, step.timeout_s, poll_s=0.1):
        return StepOutcome(
            "failed", f"the mirrored topics still grow after {step.timeout_s:g} s: is the source really lost?"
        )
    landed = sum(last.values()) - sum(first.values())
    return StepOutcome("ok", f"{landed} records more landed", {"landed_records": landed})


def stop_connectors(session: Session, step: Step, _results: Results) -> StepOutcome:
    """Ask for STOPPED. While Connect rebalances it answers 409, so it is asked again."""
    waiting = list(step.arguments["connectors"])

    def is_asked() -> bool:
        while waiting:
            try:
                session.estate.connect.stop(waiting[0])
            except ConnectError as error:
                if "answered 409" not in error.problem:
                    raise
                return False
            waiting.pop(0)
        return True

    if not session.await_true(is_asked, step.timeout_s / 2):
        return StepOutcome("unknown", f"Connect rebalances; not asked yet: {', '.join(waiting)}")
    return StepOutcome("ok")


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


def record_ends(session: Session, step: Step, _results: Results) -> StepOutcome:
    """The end of each partition of some topics."""
    ends = session.estate.target.end_offsets(session.partitions(step.arguments["topics"]))
    return StepOutcome(
        "ok", f"{sum(ends.values())} records in {len(ends)} partitions", {"ends": offsets_to_json(ends)}
    )


def record_mirror_end(session: Session, step: Step, results: Results) -> StepOutcome:
    """The ends of the mirrored topics, and the last source offsets that the mirror has read."""
    ends = record_ends(session, step, results)
    offsets = session.estate.connect.source_offsets(str(step.arguments["connector"]))
    return StepOutcome("ok", ends.message, {**ends.result, "mirror_offsets": offsets_to_json(offsets)})


def save_offsets(session: Session, step: Step, _results: Results) -> StepOutcome:
    """What the groups have committed at the target now: MirrorMaker's own synced offsets, for undo."""
    committed = session.estate.target.committed(step.arguments["groups"])
    saved = {group: offsets_to_json(offsets) for group, offsets in committed.items()}
    count = sum(len(offsets) for offsets in committed.values())
    return StepOutcome("ok", f"{count} offsets of {len(saved)} groups", {"offsets": saved})


def translate_positions(session: Session, step: Step, results: Results) -> StepOutcome:
    """Each group's recorded positions through the final map."""
    offset_map, logs = session.final_map(results["record-mirrored-ends"])
    rows = [
        row
        for consumer in session.consumers(step.arguments["groups"])
        for row in target_positions(
            session.estate.topology,
            session.estate.mirror,
            consumer,
            recorded=session.history.positions(consumer.name),
            sampled_ends=session.history.newest_ends(),
            offset_map=offset_map,
            target_logs=logs,
            lost_at_s=session.lost_at_s,
        )
    ]
    result = {"translations": [row.as_json() for row in rows]}
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
    wanted = _wanted_offsets(session, step, results)
    target = session.estate.target
    ahead = _ahead_of(wanted, results["save-offsets"]["offsets"])
    if ahead and not _is_stopped_in_time(session, str(step.arguments["group_sync"]), step.timeout_s / 2):
        return StepOutcome(
            "failed", f"the group sync still runs, and would move forward again: {', '.join(ahead[:5])}"
        )

    def write(group: str) -> str:
        if session.is_cancelled():
            return f"group {group}: not written, the run was interrupted"
        try:
            target.write_group_offsets(group, wanted[group])
        except ClusterError as error:
            return error.problem
        return ""

    with ThreadPoolExecutor(max_workers=_GROUPS_AT_ONCE) as pool:
        problems = {group: said for group, said in zip(wanted, pool.map(write, wanted), strict=True) if said}
    if problems:
        return StepOutcome("unknown", "; ".join(problems.values()))
    return StepOutcome("ok")


def _ahead_of(wanted: Mapping[str, Mapping[TopicPartition, int]], saved: Mapping[str, Any]) -> list[str]:
    """Positions that stand further at the target already than they are to be written."""
    return [
        f"{group} {tp}"
        for group, offsets in wanted.items()
        for tp, offset in offsets_from_json(saved.get(group, {})).items()
        if tp in offsets and offset > offsets[tp]
    ]


def _is_stopped_in_time(session: Session, connector: str, timeout_s: float) -> bool:
    connect = session.estate.connect
    return session.await_true(
        lambda: _connector_state(connect.connectors().get(connector)) == "STOPPED", timeout_s
    )


def offsets_are_written(session: Session, step: Step, results: Results) -> StepOutcome:
    """What was written is what is committed now."""
    wanted = _wanted_offsets(session, step, results)
    committed = session.estate.target.committed(wanted)
    wrong = [
        f"{group} {tp}: {committed[group].get(tp)}, not {offset}"
        for group, offsets in wanted.items()
        for tp, offset in offsets.items()
        if committed[group].get(tp) != offset
    ]
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


def start_clients(session: Session, step: Step, _results: Results) -> StepOutcome:
    """One playbook run for all of them. Those that run already are left alone."""
    topology, mirror = session.estate.topology, session.estate.mirror
    clients = list(step.arguments["clients"])
    run_playbook(
        "start-clients.yml",
        inventory=Path(topology.inventory or ""),
        variables={"datacenters": list(topology.clusters[mirror.target].datacenters), "clients": clients},
        folder=session.folder / "playbooks" / step.id,
        timeout_s=step.timeout_s,
        is_cancelled=session.is_cancelled,
    )
    return StepOutcome("ok", f"{len(clients)} started", {"clients": clients})


def await_landing_records(session: Session, step: Step, results: Results) -> StepOutcome:
    """Wait until every topic that a moved producer writes has grown at the target."""
    target, mirror = session.estate.target, session.estate.mirror
    fenced = offsets_from_json(results["record-landing-ends"]["ends"])
    producers = session.estate.topology.producers_of(mirror.source)
    waiting = {topic for producer in producers for topic in producer.topics if topic in mirror.topics}

    def has_all_grown() -> bool:
        ends = target.end_offsets(tp for tp in fenced if tp.topic in waiting)
        waiting.difference_update({tp.topic for tp, end in ends.items() if end > fenced[tp]})
        return not waiting

    if session.await_true(has_all_grown, step.timeout_s):
        return StepOutcome("ok", "records arrive in every topic")
    silent = [p.name for p in producers if waiting.intersection(p.topics)]
    return StepOutcome(
        "unknown",
        f"nothing written to {', '.join(sorted(waiting))} within {step.timeout_s:g} s;"
        f" not seen: {', '.join(silent)}",
        {"not_seen": silent},
    )


def await_group_progress(session: Session, step: Step, results: Results) -> StepOutcome:
    """Wait until each group has members, and has committed anew or has nothing left to read."""
    target = session.estate.target
    written = {
        group: offsets_from_json(offsets) for group, offsets in results["write-offsets"]["written"].items()
    }
    waiting = set(step.arguments["groups"])

    def has_all_moved() -> bool:
        members = target.group_members(waiting)
        staffed = {group for group in waiting if members[group]}
        committed = target.committed(staffed)
        ends = target.end_offsets({tp for group in staffed for tp in written[group]})
        waiting.difference_update(
            group
            for group in staffed
            if any(committed[group].get(tp, offset) != offset for tp, offset in written[group].items())
            or all(offset >= ends[tp] for tp, offset in written[group].items())
        )
        return not waiting

    if session.await_true(has_all_moved, step.timeout_s, poll_s=0.3):
        return StepOutcome("ok", f"{len(written)} groups at work")
    silent = sorted(waiting)
    return StepOutcome(
        "unknown", f"not seen at work within {step.timeout_s:g} s: {', '.join(silent)}", {"not_seen": silent}
    )


def relocate_query(session: Session, step: Step, results: Results) -> StepOutcome:
    """Make of the copied checkpoint the one that the query opens at the target. Twice is once."""
    (query,) = session.consumers([str(step.arguments["query"])])
    mirror = session.estate.mirror
    offset_map, logs = session.final_map(results["record-mirrored-ends"])

    def translate(source: TopicPartition, offset: int) -> Translated:
        log = logs[mirror.mirrored(source)]
        fitted = fit_to_log(offset_map.translate(source, offset), log, query.on_untranslatable)
        return Translated(*fitted[:4])

    own = {mirror.mirrored_topic(topic) for topic in query.topics}
    starts = {tp: log.start_offset for tp, log in logs.items() if tp.topic in own}
    landing = offsets_from_json(results["record-landing-ends"]["ends"])
    starts |= {tp: end for tp, end in landing.items() if tp.topic in query.topics}
    report = relocate_checkpoint(
        copy_folder(query),
        _standby_folder(query),
        translate,
        mirror.mirrored_topic,
        starts,
        query=query.name,
        sink=query.sink,
        run_id=session.run_id,
    )
    exact = sum(bool(row["exact"]) for row in report.positions)
    identity = f", new identity at the sink: {report.sink_identity}" if report.is_new_identity else ""
    return StepOutcome(
        "ok",
        f"behind batch {report.from_batch}; {len(report.positions)} positions, {exact} exact{identity}",
        dict(report.data),
    )


def await_query_progress(session: Session, step: Step, results: Results) -> StepOutcome:
    """Wait until each query has committed a batch of its own at the target."""
    waiting = {
        query.name: (_standby_folder(query) / "commits", int(results[f"relocate-{query.name}"]["from_batch"]))
        for query in session.consumers(step.arguments["queries"])
    }
    count = len(waiting)

    def has_all_committed() -> bool:
        for name, (commits, from_batch) in list(waiting.items()):
            if (numbered(commits) or [from_batch])[-1] > from_batch:
                del waiting[name]
        return not waiting

    if session.await_true(has_all_committed, step.timeout_s):
        return StepOutcome("ok", f"{count} queries at work")
    silent = sorted(waiting)
    return StepOutcome(
        "unknown", f"no batch within {step.timeout_s:g} s: {', '.join(silent)}", {"not_seen": silent}
    )


def _standby_folder(query: Consumer) -> Path:
    subject = f"consumer {query.name}"
    if query.standby_checkpoint is None:
        raise DcctlError(subject, "has no standby_checkpoint", "name it in the topology file")
    return local_checkpoint(subject, query.standby_checkpoint)


def _wanted_offsets(session: Session, step: Step, results: Results) -> dict[str, dict[TopicPartition, int]]:
    """What has to be committed, from the results of the steps before. The same every time it is asked."""
    topology, mirror = session.estate.topology, session.estate.mirror
    positions = [TargetPosition(**row) for row in results["translate-positions"]["translations"]]
    landing = offsets_from_json(results["record-landing-ends"]["ends"])
    consumers = session.consumers(step.arguments["groups"])
    wanted = offsets_to_write(topology, mirror, consumers, positions, landing)
    if not session.offset_shift:
        return wanted
    ends = offsets_from_json(results["record-mirrored-ends"]["ends"])
    return {
        group: {
            tp: min(offset + session.offset_shift, ends.get(tp, offset)) for tp, offset in offsets.items()
        }
        for group, offsets in wanted.items()
    }


def _connector_state(status: Mapping[str, Any] | None) -> str:
    if status is None:
        return "missing"
    state = str(status["connector"]["state"])
    return "STOPPING" if state == "STOPPED" and status["tasks"] else state


PERFORM: Mapping[str, Action] = {
    "await-standstill": await_standstill,
    "stop-connectors": stop_connectors,
    "record-ends": record_ends,
    "record-mirror-end": record_mirror_end,
    "save-offsets": save_offsets,
    "translate-positions": translate_positions,
    "write-offsets": write_offsets,
    "start-clients": start_clients,
    "await-landing-records": await_landing_records,
    "await-group-progress": await_group_progress,
    "relocate-checkpoint": relocate_query,
    "await-query-progress": await_query_progress,
}
VERIFY: Mapping[str, Action] = {
    "connectors-are-stopped": connectors_are_stopped,
    "offsets-are-written": offsets_are_written,
}
