"""Relocating a Spark checkpoint: from the copy that the watcher kept to the folder that the query opens.

Never in place. The relocated checkpoint is built beside its destination and renamed; what stood there is
moved aside, and `<destination>.relocation.json` records what was done and the original offsets. That record
is written first, so a mark inside the checkpoint tells whether it came to the renaming. The same run asked
again finds its own mark and changes nothing; taken back is whatever there is of it.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from orchestrator.adapters.checkpoint_copy import copy_of, current_copy
from orchestrator.adapters.checkpoint_files import (
    broken_state,
    files_below,
    local_checkpoint,
    newest_write_s,
    numbered,
    put_json,
    read_texts,
    unfinished,
    unjudged_state,
    write_checkpoint,
)
from orchestrator.applications.spark.checkpoints import SeenCheckpoint, in_unjudged_files
from orchestrator.applications.spark.ports import RelocationReport
from orchestrator.errors import DcctlError, OutcomeUnknownError
from orchestrator.relocation.spark_checkpoint import (
    CheckpointContents,
    CheckpointPlan,
    plan_relocation,
    positions_of,
)
from orchestrator.replication.offset_map import Translated
from orchestrator.replication.offsets_json import offsets_to_json
from orchestrator.topology.spark import Sink, SparkQuery
from orchestrator.values import TopicPartition

# A query that runs writes an offsets file with each batch; triggers of minutes are rare.
QUIET_S = 30.0
_LOOKS = 3
# Hidden, and beside Spark's own files: neither Spark nor the copier looks at it.
_MARK = ".dcctl-relocated"


def new_relocation_id() -> str:
    """An id for a relocation by hand."""
    return time.strftime("by-hand-%Y%m%dT%H%M%SZ", time.gmtime())


def relocation_record(destination: Path) -> Path:
    """Where a relocation is recorded, beside the checkpoint."""
    return destination.with_name(destination.name + ".relocation.json")


def relocate_checkpoint(
    copy: Path,
    destination: Path,
    translate: Callable[[TopicPartition, int], Translated],
    mirrored: Callable[[str], str],
    local_starts: Mapping[TopicPartition, int],
    *,
    query: str,
    sink: Sink | None,
    run_id: str,
    is_at_rest: bool = False,
    now_s: Callable[[], float] = time.time,
) -> RelocationReport:
    """Make of a checkpoint's copy the checkpoint with which the query goes on at the target.

    `copy` is what the watcher keeps (`adapters.checkpoint_copy.current_copy`) or any checkpoint that is
    at rest. `translate`: target offset of a source partition's next offset. `mirrored`: the target's name
    of a source topic. `local_starts`: start offsets of the further target partitions that the query will
    read: all of the landing topics, and those of mirrored topics that the checkpoint does not know.
    `is_at_rest`: a person has named this very checkpoint, and its query is stopped; otherwise state that
    cannot be judged refuses it.

    Raises `DcctlError` for everything that forbids it, and where it cannot be written: then everything is as
    it was. Raises `OutcomeUnknownError` where even that could not be brought about.
    """
    done = _done_before(destination, run_id)
    if done is not None:
        return done
    if copy == destination:
        raise DcctlError(f"checkpoint {copy}", "cannot be relocated in place", "name another destination")
    _refuse_running(destination, query, now_s())
    plan = plan_relocation(
        checkpoint_contents(copy),
        translate=translate,
        mirrored=mirrored,
        local_starts=local_starts,
        query=query,
        sink=sink,
        run_id=run_id,
    )
    state = [file for file in files_below(copy) if file.parts[0] == "state"]
    broken = broken_state(state, plan.from_batch + 1)
    if broken:
        raise DcctlError(f"checkpoint {copy}", f"its state is not complete: {broken[0]}")
    unjudged = "" if is_at_rest else in_unjudged_files(unjudged_state(state))
    if unjudged:
        raise DcctlError(
            f"checkpoint {copy}",
            unjudged,
            "dcctl relocate spark FILE --checkpoint PATH relocates a checkpoint whose query you have stopped",
        )
    aside = destination.with_name(f"{destination.name}.before-{run_id}")
    has_former = destination.exists() or aside.exists()
    data = _record(
        copy,
        destination,
        plan,
        query=query,
        run_id=run_id,
        aside=aside if has_former else None,
        now_s=now_s(),
    )
    # Before the rename: a run that dies in between finds what it was about to do, and does it again.
    _put_record(destination, data)
    replaced = {**plan.replaced, _MARK: run_id.encode()}
    try:
        write_checkpoint(copy, destination, replaced, lambda file: file.as_posix() in plan.dropped, aside)
    except DcctlError as error:
        try:
            undo_relocation(destination)
        except DcctlError as left:
            raise OutcomeUnknownError(error.subject, f"{error.problem}; {left.problem}", left.hint) from None
        raise
    return _report(destination, data)


def is_relocated_by(destination: Path, run_id: str) -> bool:
    """Whether what lies there, or was about to, came from that run."""
    data = _read_record(destination)
    return data is not None and data.get("run_id") == run_id


def undo_relocation(destination: Path) -> Path | None:
    """Take a relocated checkpoint away again and put back what stood there, however far it had come.

    Returns where the relocated one lies now; None where it had never come to its place. Raises `DcctlError`
    where nothing is recorded, the query has already gone on from there, or a folder cannot be moved.
    """
    subject = f"checkpoint {destination}"
    data = _read_record(destination)
    if data is None:
        raise DcctlError(
            subject,
            f"there is no readable {relocation_record(destination)}: it was not relocated by dcctl, "
            "or that was undone already",
            "did the relocation go to another folder? (--destination)",
        )
    batches = _batches_since(destination, data)
    if batches:
        raise DcctlError(
            subject,
            f"the query has gone on beyond batch {data['from_batch']}: the relocation cannot be undone",
            "stop the query, and move this checkpoint away yourself once it is not needed",
        )
    aside = Path(data["aside"]) if data["aside"] else None
    taken = None if batches is None else destination.with_name(f"{destination.name}.undone-{data['run_id']}")
    try:
        shutil.rmtree(unfinished(destination), ignore_errors=True)
        if taken is not None:
            destination.rename(taken)
        if aside is not None and aside.exists() and not destination.exists():
            aside.rename(destination)
        if data.get("former_record"):
            put_json(data["former_record"], relocation_record(destination))
        else:
            relocation_record(destination).unlink()
    except OSError as error:
        kept = f"; what stood there before lies at {aside}" if aside is not None and aside.exists() else ""
        problem = f"cannot be put back: {error.strerror}: {error.filename}{kept}"
        raise DcctlError(subject, problem, "make its folder writable, and try again") from None
    return taken


def checkpoint_contents(folder: Path) -> CheckpointContents:
    """The small files of a checkpoint, as relocation takes them."""
    texts = read_texts(folder)
    return CheckpointContents(
        name=f"checkpoint {folder}",
        has_metadata=texts.metadata is not None,
        offsets=texts.offsets,
        commits=frozenset(texts.commits),
        sources=texts.sources,
    )


def checkpoint_positions(folder: Path) -> dict[TopicPartition, int]:
    """The next source offset of each Kafka partition at the batch where a checkpoint goes on."""
    return positions_of(checkpoint_contents(folder))


def seen_checkpoint(folder: Path) -> SeenCheckpoint:
    """A checkpoint as it lies there now. One that is not there or cannot be read is a problem in it."""
    broken: list[str] = []
    try:
        for _ in range(_LOOKS):
            contents = checkpoint_contents(folder)
            state = [file for file in files_below(folder) if file.parts[0] == "state"]
            newest = max(contents.commits, default=-1)
            broken = broken_state(state, newest + 1)
            if (numbered(folder / "commits") or [-1])[-1] == newest:
                break
            broken = []  # another batch has come meanwhile, and older state may be gone that this one needed
    except DcctlError as error:
        return SeenCheckpoint(problem=error.problem, hint=error.hint)
    try:
        positions = positions_of(contents)
    except DcctlError as error:
        if not (contents.has_metadata or contents.offsets or contents.commits):
            return SeenCheckpoint(problem=error.problem, hint=error.hint)
        positions = {}  # planning to relocate it says why it cannot be gone on with
    return SeenCheckpoint(
        contents=contents,
        positions=positions,
        broken=tuple(broken),
        unjudged=tuple(unjudged_state(state)),
    )


def copy_folder(consumer: SparkQuery) -> Path:
    """Where the watcher's copy of a query's checkpoint lies. Raises `DcctlError` if there is none yet."""
    subject = f"consumer {consumer.name}"
    if consumer.standby_checkpoint is None:
        raise DcctlError(subject, "has no standby_checkpoint", "name it in the topology file")
    standby = local_checkpoint(subject, consumer.standby_checkpoint)
    found = current_copy(copy_of(standby))
    if found is None:
        raise DcctlError(
            subject,
            f"there is no copy of its checkpoint at {copy_of(standby)}",
            "does `dcctl watch FILE` run, and does it reach the checkpoint?",
        )
    return found


def refuse_running_original(folder: Path, now_s: float) -> None:
    """Raise `DcctlError` if the query of this checkpoint seems to run: it wrote just now."""
    written_s = newest_write_s(folder)
    if written_s is not None and now_s - written_s < QUIET_S:
        raise DcctlError(
            f"checkpoint {folder}",
            f"was written {now_s - written_s:.0f} s ago: the query may be running",
            f"stop it; a checkpoint at rest for {QUIET_S:g} s is taken, or one whose query you attest to be "
            "stopped",
        )


def note_left(checkpoint: Path, run_id: str) -> None:
    """Write beside a checkpoint that its query was stopped, and what it had written last until then.

    Who brings the query back soon afterwards need not wait to see that it is at rest; without the note, on
    a disk that takes no more, they do.
    """
    with suppress(OSError):
        put_json({"run_id": run_id, "written_s": newest_write_s(checkpoint)}, _left_note(checkpoint))


def _left_note(checkpoint: Path) -> Path:
    return checkpoint.with_name(checkpoint.name + ".left.json")


def _is_left(checkpoint: Path, written_s: float) -> bool:
    """Whether the query was stopped there by a run, and has not written since."""
    try:
        noted = json.loads(_left_note(checkpoint).read_text(encoding="utf-8"))["written_s"]
    except (OSError, ValueError, KeyError):
        return False
    return isinstance(noted, float) and written_s <= noted


def _refuse_running(destination: Path, query: str, now_s: float) -> None:
    written_s = newest_write_s(destination)
    if written_s is None or now_s - written_s >= QUIET_S or _is_left(destination, written_s):
        return
    data = _read_record(destination)
    if data is not None and _batches_since(destination, data) == 0:
        return  # just relocated by a run that went no further; no query has touched it
    raise DcctlError(
        f"query {query}",
        f"seems to run already: {destination} was written {now_s - written_s:.0f} s ago",
        "stop it first",
    )


def _batches_since(destination: Path, data: Mapping[str, Any]) -> int | None:
    """Batches begun since the recorded relocation; None if what lies there did not come of it."""
    begun = numbered(destination / "offsets")
    from_batch = int(data["from_batch"])
    if data.get("is_marked"):
        return max(0, (begun or [from_batch])[-1] - from_batch) if _has_mark(destination, data) else None
    # Recorded by a version that left no mark.
    if not begun or begun[-1] < from_batch:
        return None
    if begun[-1] > from_batch:
        return begun[-1] - from_batch
    return 0 if offsets_to_json(checkpoint_positions(destination)) == data["offsets"] else None


def _has_mark(destination: Path, data: Mapping[str, Any]) -> bool:
    try:
        return (destination / _MARK).read_text(encoding="utf-8") == str(data["run_id"])
    except (FileNotFoundError, NotADirectoryError):
        return False


def _put_record(destination: Path, data: dict[str, Any]) -> None:
    """Write the record. That of an earlier relocation goes along, and comes back if this one is undone."""
    known = _read_record(destination)
    if known is not None and known["run_id"] != data["run_id"]:
        data["former_record"] = {name: value for name, value in known.items() if name != "former_record"}
    elif known is not None:
        data["former_record"] = known.get("former_record")
    record = relocation_record(destination)
    try:
        put_json(data, record)
    except OSError as error:
        raise DcctlError(str(record), f"cannot be written: {error.strerror}") from None


def _record(
    copy: Path,
    destination: Path,
    plan: CheckpointPlan,
    *,
    query: str,
    run_id: str,
    aside: Path | None,
    now_s: float,
) -> dict[str, Any]:
    original = {position.source: position.source_offset for position in plan.positions}
    return {
        "format_version": 1,
        "run_id": run_id,
        "is_marked": True,
        "query": query,
        "relocated_at_s": now_s,
        "copy": str(copy),
        "destination": str(destination),
        "aside": str(aside) if aside else None,
        "from_batch": plan.from_batch,
        "dropped_batches": list(plan.dropped_batches),
        "sink_identity": plan.sink_identity,
        "is_new_identity": plan.is_new_identity,
        "kept_sources": list(plan.kept_sources),
        "offsets": offsets_to_json(plan.offsets),
        "original_offsets": offsets_to_json(original),
        "positions": [
            {
                "source_index": position.source_index,
                "topic": position.source.topic,
                "partition": position.source.partition,
                "source_offset": position.source_offset,
                "target_topic": position.target.topic,
                "target_offset": position.target_offset,
                "exact": position.exact,
                "reread_at_most": position.reread_at_most,
                "reason": position.reason,
            }
            for position in plan.positions
        ],
    }


def _done_before(destination: Path, run_id: str) -> RelocationReport | None:
    data = _read_record(destination)
    if data is None or data.get("run_id") != run_id or _batches_since(destination, data) is None:
        return None
    return _report(destination, data)


def _read_record(destination: Path) -> dict[str, Any] | None:
    try:
        data: dict[str, Any] = json.loads(relocation_record(destination).read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None
    return data


def _report(destination: Path, data: dict[str, Any]) -> RelocationReport:
    return RelocationReport(
        query=data["query"],
        destination=destination,
        from_batch=data["from_batch"],
        sink_identity=data["sink_identity"],
        is_new_identity=data["is_new_identity"],
        aside=Path(data["aside"]) if data["aside"] else None,
        data=data,
    )
