"""Spark queries: relocating their checkpoints, and seeing them at work."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from orchestrator.adapters.checkpoint_copy import copy_of
from orchestrator.adapters.checkpoint_files import local_checkpoint, numbered
from orchestrator.engine import Results, StepOutcome
from orchestrator.errors import DcctlError
from orchestrator.operations.actions.declaring import look, whole_or_nothing
from orchestrator.operations.actions.landing import brought_back
from orchestrator.operations.actions.positions_back import both_maps
from orchestrator.operations.failback_session import FailbackSession
from orchestrator.operations.relocation import (
    checkpoint_positions,
    copy_folder,
    is_relocated_by,
)
from orchestrator.operations.session import Session
from orchestrator.planning.checkpoints import placed_by
from orchestrator.planning.offsets_json import offsets_from_json
from orchestrator.planning.plan import Step
from orchestrator.planning.positions_back import own_partitions, place_back, reverse_mirror
from orchestrator.planning.samples import SampledPosition
from orchestrator.replication.offset_map import Translated
from orchestrator.topology.model import Consumer
from orchestrator.values import TopicPartition


def copy_query_checkpoint(session: Session, step: Step, results: Results) -> StepOutcome:
    """Bring the copy at the target up to the stopped query's last batch. The watcher may do it first."""
    original, copy = _original_and_copy(session, step)
    return session.servers.checkpoints.copy(
        original,
        copy,
        lambda is_whole: session.await_true(is_whole, step.timeout_s),
        stopped_by=_stopped_by(session, results),
    )


def copy_query_checkpoint_apart(session: Session, step: Step, results: Results) -> StepOutcome:
    """The same where reading the original may hang: within the step's time-out, whatever becomes of it."""
    original, copy = _original_and_copy(session, step)
    return session.servers.checkpoints.copy_apart(
        original,
        copy,
        session.await_true,
        stopped_by=_stopped_by(session, results),
        timeout_s=step.timeout_s,
    )


def _original_and_copy(session: Session, step: Step) -> tuple[Path, Path]:
    (query,) = session.consumers([str(step.arguments["query"])])
    original = local_checkpoint(f"consumer {query.name}", query.checkpoint or "")
    return original, copy_of(_standby_folder(query))


def _stopped_by(session: Session, results: Results) -> str:
    """This run, unless it could not stop everybody."""
    return "" if any(result.get("not_stopped") for result in results.values()) else session.run_id


@whole_or_nothing
def relocate_query(session: Session, step: Step, results: Results) -> StepOutcome:
    """Make of the copied checkpoint the one that the query opens at the target. Twice is once.

    Where a failback has been, the query has read copies of the landing topics as well, and goes on in these.
    """
    (query,) = session.consumers([str(step.arguments["query"])])
    mirror = session.estate.mirror
    offset_map, logs = session.final_map(results["record-mirrored-ends"])
    brought = brought_back(session)
    copies = {} if brought is None else {reverse_mirror(mirror).mirrored_topic(n): n for n in mirror.topics}
    copy = session.history.copies.get(query.name)
    committed_at_s = None if copy is None else copy.committed_at_s
    by_time: dict[TopicPartition, int] = {}
    if query.on_untranslatable == "timestamp":
        known_s = session.lost_at_s if committed_at_s is None else committed_at_s
        offsets = checkpoint_positions(copy_folder(query))
        positions = {tp: SampledPosition(offset, known_s) for tp, offset in offsets.items()}
        by_time = session.by_time(query, positions, offset_map)

    place = placed_by(
        query,
        mirror,
        offset_map,
        logs,
        made_anew=session.history.made_anew,
        committed_at_s=committed_at_s,
        by_time=by_time,
    )

    def translate(source: TopicPartition, offset: int) -> Translated:
        if brought is not None and source.topic in copies:
            return brought.place(TopicPartition(copies[source.topic], source.partition), offset)
        return place(source, offset)

    own = {mirror.mirrored_topic(topic) for topic in query.topics}
    starts = {tp: log.start_offset for tp, log in logs.items() if tp.topic in own}
    landing = offsets_from_json(results["record-landing-ends"]["ends"])
    starts |= {tp: end for tp, end in landing.items() if tp.topic in query.topics}
    if brought is not None:
        read = [tp for topic in query.topics for tp in brought.partitions.get(topic, ())]
        starts |= {tp: brought.logs[tp].start_offset for tp in read}
    return _relocated(
        session, query, translate, lambda name: copies.get(name) or mirror.mirrored_topic(name), starts
    )


@whole_or_nothing
def relocate_back(session: FailbackSession, step: Step, results: Results) -> StepOutcome:
    """Make of the checkpoint as it was left at the standby the one that the query opens at the primary."""
    (query,) = session.consumers([str(step.arguments["query"])])
    mirror, reverse = session.mirror, session.estate.mirror
    maps = both_maps(session, results)
    names = {mirror.mirrored_topic(name): name for name in mirror.topics}
    names |= {name: reverse.mirrored_topic(name) for name in mirror.topics}

    def translate(read: TopicPartition, offset: int) -> Translated:
        return place_back(mirror, query, read, offset, maps)[1]

    starts = {}
    for own in own_partitions(session.file, mirror, query):
        for read in (mirror.mirrored(own), own):
            to, found = place_back(mirror, query, read, None, maps)
            if found.offset is not None:
                starts[to] = found.offset
    return _relocated(session, query, translate, lambda name: names.get(name, name), starts)


def _relocated(
    session: Session,
    query: Consumer,
    translate: Callable[[TopicPartition, int], Translated],
    named: Callable[[str], str],
    starts: Mapping[TopicPartition, int],
) -> StepOutcome:
    report = session.servers.checkpoints.relocate(
        copy_folder(query),
        _standby_folder(query),
        translate,
        named,
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


def undo_query_relocation(session: Session, step: Step, _results: Results) -> StepOutcome:
    """Put back what stood at the query's standby place, if this run has replaced it."""
    (query,) = session.consumers([str(step.arguments["query"])])
    destination = _standby_folder(query)
    if not is_relocated_by(destination, session.run_id):
        return StepOutcome("ok", "nothing was relocated")
    try:
        taken = session.servers.checkpoints.undo(destination)
    except DcctlError as error:
        return StepOutcome("failed", f"{error.subject}: {error.problem}")
    lies = f"what was relocated lies at {taken}" if taken is not None else "it had not come to its place"
    return StepOutcome("ok", lies)


@look
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
