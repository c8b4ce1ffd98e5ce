"""Checkpoints of Spark queries as they were seen: could they be relocated, and if not, why."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from orchestrator.errors import DcctlError
from orchestrator.moves.positions import no_copy_of, translate_recorded
from orchestrator.relocation.spark_checkpoint import CheckpointContents, plan_relocation
from orchestrator.replication.offset_map import OffsetMap, Translated
from orchestrator.replication.positions_back import reverse_mirror
from orchestrator.replication.recreated_topic import Recreation
from orchestrator.replication.translation import fit_to_log
from orchestrator.topology.model import Consumer, Replication
from orchestrator.topology.spark import SparkQuery
from orchestrator.values import LogEnd, TopicPartition
from orchestrator.wording import listed

_NAMED = 2
Place = Callable[[TopicPartition, int], Translated]
# Where the run itself finds the place later, in what cannot be read before it.
_LATER = Translated(0, False, None, "translated once the mirror has stopped")


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenCheckpoint:
    """A checkpoint as it lay there. `contents` is None where it could not be read: `problem` says why.

    `positions`: the next offset of each Kafka partition at the batch where it goes on. `broken`: partitions
    of its state that cannot be built from its files; `unjudged`: files of its state of which nobody here
    knows what they need, so that whether the state is whole is unknown.
    """

    contents: CheckpointContents | None = None
    positions: Mapping[TopicPartition, int] = field(default_factory=dict)
    broken: tuple[str, ...] = ()
    unjudged: tuple[str, ...] = ()
    problem: str = ""
    hint: str = ""

    @property
    def why_unknown(self) -> str:
        """Why nobody can say whether it can be relocated; empty where that is known."""
        return self.problem or in_unjudged_files(self.unjudged)


Seen = Mapping[str, SeenCheckpoint]
"""By the name of the query."""


def placed_by(
    query: Consumer,
    mirror: Replication,
    offset_map: OffsetMap,
    logs: Mapping[TopicPartition, LogEnd],
    *,
    recreated: Mapping[str, Recreation],
    committed_at_s: float | None,
    by_time: Mapping[TopicPartition, int],
) -> Place:
    """Where a query goes on in the mirrored log from an offset of the source. `logs`: those at the target."""

    def place(source: TopicPartition, offset: int) -> Translated:
        log = logs.get(mirror.mirrored(source))
        if log is None:
            return Translated(None, False, None, no_copy_of(source, mirror))
        translated = translate_recorded(offset_map, recreated, source, offset, committed_at_s)
        return Translated(*fit_to_log(translated, log, query.on_untranslatable, by_time.get(source))[:4])

    return place


def foreseen(query: Consumer, mirror: Replication, place: Place) -> Place:
    """As `place`, as far as it can be known before the run: what only the run can place has a place."""
    brought = {reverse_mirror(mirror).mirrored_topic(name) for name in mirror.topics}

    def translate(source: TopicPartition, offset: int) -> Translated:
        if source.topic in brought:
            return _LATER
        found = place(source, offset)
        is_by_time = query.on_untranslatable == "timestamp" and source.topic in mirror.topics
        return _LATER if found.offset is None and is_by_time else found

    return translate


def foreseen_back(mirror: Replication) -> Place:
    """On the way back places are found once both mirrors stand; topics of no mirror have none."""
    own = {*mirror.topics, *(mirror.mirrored_topic(name) for name in mirror.topics)}

    def translate(read: TopicPartition, _offset: int) -> Translated:
        if read.topic in own:
            return _LATER
        pair = f"{mirror.source} → {mirror.target}"
        return Translated(None, False, None, f"{read.topic} is not copied by the mirror {pair}")

    return translate


def why_not_relocated(query: SparkQuery, seen: SeenCheckpoint, translate: Place) -> tuple[str, str]:
    """Why relocating it will surely fail, and what may help; empty where nothing that was seen forbids it."""
    if seen.contents is None:
        return "", ""
    try:
        plan_relocation(
            seen.contents,
            translate=translate,
            mirrored=lambda topic: topic,
            local_starts={},
            query=query.name,
            sink=query.sink,
            run_id="plan",
        )
    except DcctlError as error:
        return error.problem, error.hint
    return (f"its state is not complete: {seen.broken[0]}", "") if seen.broken else ("", "")


def in_unjudged_files(files: Iterable[str]) -> str:
    """What cannot be said of a state in such files; empty for none."""
    told = listed(files, _NAMED)
    if not told:
        return ""
    return f"its state is in files as RocksDB's ({told}), which dcctl cannot check: some files may be missing"
