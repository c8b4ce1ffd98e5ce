"""What is known of Spark queries before they move, what they read again, and gates on that."""

from __future__ import annotations

from orchestrator.applications.groups.gates import NOTHING_AGAIN, causes_of, reread
from orchestrator.applications.spark.checkpoints import (
    Place,
    Seen,
    SeenCheckpoint,
    foreseen,
    foreseen_back,
    placed_by,
    why_not_relocated,
)
from orchestrator.applications.translating import PLACED_LATER
from orchestrator.moves.foretold import Foretold
from orchestrator.moves.gates.source import ages_at_s
from orchestrator.moves.positions import TargetPosition
from orchestrator.moves.prediction import RereadPrediction
from orchestrator.moves.situation import Situation
from orchestrator.ports.part import Part
from orchestrator.runs.gate import absent, gate_result
from orchestrator.runs.plan import GateOutcome, GateResult
from orchestrator.snapshot.samples import SampledPosition
from orchestrator.snapshot.watcher_records import age_s
from orchestrator.topology.spark import SparkQuery
from orchestrator.wording import listed, plural

# Commits of a query are some seconds apart; its copy must have been compared as recently as positions,
# and may lack no more than the batch that was being written.
BATCHES_BEHIND = 2
_START_ANEW = "take the query out of the file, and start it with a new checkpoint by hand"
_UNDATED = "the age of its copy is unknown: the clocks of the machines differ"


def checkpoints_of(s: Situation) -> Part[Seen]:
    """Their checkpoints: the copies at the place entered; on the way back where they work."""
    return s.seen.of_kind("spark")


def checkpoints_copied(s: Situation) -> GateResult:
    """A checkpoint that lay in the lost site alone is lost with it."""
    limit = (
        f"a copy of each checkpoint, at most {BATCHES_BEHIND} batches behind and "
        f"{s.age_limit_s:g} s old when {s.left} was lost"
    )
    part = s.copying.samples
    for needed in (part, checkpoints_of(s)):
        if needed.value is None:
            return absent("checkpoints-copied", needed, limit)
    if part.value is None or not _moving(s):
        return gate_result(
            "checkpoints-copied", "ok", "no Spark query", limit, "there is no Spark query to move"
        )
    copies, anew = part.value.copies, part.value.recreated
    # Against the moment of reading, while it is not lost: observing the rest may take its time.
    lost_at_s = ages_at_s(s, part.at_s)
    wrong, seen = [], []
    for query in _moving(s):
        copy = copies.get(query.name)
        if copy is None or copy.batch is None:
            wrong.append(f"{query.name}: there is no copy of its checkpoint")
            continue
        age = age_s(lost_at_s, copy.at_s)
        behind = max(0, (copy.source_batch or copy.batch) - copy.batch)
        seen.append(
            f"{query.name} batch {copy.batch}, {behind} behind, "
            + ("age not known" if age is None else f"{age:.1f} s")
        )
        void = [
            topic
            for topic in query.topics
            if topic in anew and (copy.committed_at_s or copy.at_s) < anew[topic].seen_s
        ]
        # Of a site that is only sick it is copied once more, as long as it can be read.
        is_old = (age is None or age > s.age_limit_s) and not (s.words.sick and not copy.problem)
        if behind > BATCHES_BEHIND or is_old:
            is_undated = age is None and bool(copy.at_s)
            wrong.append(
                f"{query.name}: "
                f"{copy.problem or (_UNDATED if is_undated else 'the copy of its checkpoint is too old')}"
            )
        elif void:
            wrong.append(
                f"{query.name}: its batch was committed before {listed(void)} "
                f"was deleted and created again at {s.left}"
            )
    if wrong:
        return gate_result(
            "checkpoints-copied",
            "refused",
            measured=listed(seen) or "none",
            limit=limit,
            reason=listed(wrong),
            hint="does the watcher reach the checkpoint and the place of its copy? "
            "If the site is lost: take the query out of the file, and start it with a new checkpoint by hand",
        )
    refused, unknown, hints = relocations_foreseen(s)
    return gate_result(
        "checkpoints-copied",
        "refused" if refused else "unknown" if unknown else "ok",
        measured=listed(seen) or "none",
        limit=limit,
        reason=listed(refused or unknown) or "the checkpoint and state of every Spark query are copied",
        hint="; ".join(hints),
    )


def relocations_foreseen(
    s: Situation, *, only_copied: bool = False
) -> tuple[list[str], list[str], list[str]]:
    """What is surely wrong with relocating the queries' checkpoints as they were copied, what nobody can
    know of it, and hints: by the very plan that the run will make. `only_copied`: no copy yet is no problem.
    """
    refused: list[str] = []
    unknown: list[str] = []
    hints: dict[str, None] = {}
    for query in _moving(s):
        seen = (checkpoints_of(s).value or {}).get(query.name)
        if seen is None or (only_copied and seen.contents is None):
            continue
        why, hint = seen.why_unknown, seen.hint
        if why:
            unknown.append(f"{query.name}: {why}")
        elif (place := _place(s, query)) is not None:
            why, hint = why_not_relocated(query, seen, foreseen(query, s.mirror, place))
            refused += [f"{query.name}: {why}"] if why else []
        if why:
            hints[hint or _START_ANEW] = None
    return refused, unknown, list(hints)


def queries_back(s: Situation) -> GateResult:
    """A query is brought back with its state, or nothing is moved."""
    limit = f"the checkpoint of each Spark query at {s.left} can be read, and has a committed batch"
    names = [query.name for query in _moving(s)]
    if not names:
        return gate_result("queries", "ok", "no Spark query", limit, "there is no Spark query to move")
    part = checkpoints_of(s)
    if part.value is None:
        return absent("queries", part, limit)
    seen = part.value
    count = sum(len(checkpoint.positions) for checkpoint in seen.values())
    measured = f"{listed(names)}: {plural(count, 'position')}"
    unknown = {name: found.why_unknown for name, found in seen.items() if found.why_unknown}
    refused = {
        query.name: why_not_relocated(query, seen[query.name], foreseen_back(s.own_mirror))
        for query in _moving(s)
        if query.name in seen
    }
    wrong = [f"{name}: {why}" for name, (why, _) in refused.items() if why]
    if wrong:
        hints = dict.fromkeys(hint for why, hint in refused.values() if why and hint)
        return gate_result("queries", "refused", measured, limit, listed(wrong), "; ".join(hints))
    if unknown:
        hint = "; ".join(dict.fromkeys(seen[name].hint for name in unknown if seen[name].hint))
        said = listed(f"{name}: {why}" for name, why in unknown.items())
        return gate_result("queries", "unknown", measured, limit, said, hint)
    return gate_result(
        "queries", "ok", measured, limit, f"the positions of the Spark queries {listed(names)} {PLACED_LATER}"
    )


def queries_ready(s: Situation) -> tuple[GateResult, ...]:
    """Of a planned move: a copy that is there shows what will refuse its relocation.

    One that is not there yet is made once the query has stopped.
    """
    names, seen = [query.name for query in _moving(s)], checkpoints_of(s)
    if not names:
        return ()
    limit = "the checkpoint of each Spark query can be relocated, as far as it is copied"
    if seen.value is None:
        return (absent("queries", seen, limit),)
    refused, unknown, hints = relocations_foreseen(s, only_copied=True)
    unknown += [f"{name}: its checkpoint was not examined" for name in names if name not in seen.value]
    outcome: GateOutcome = "refused" if refused else "unknown" if unknown else "ok"
    reason = (
        listed(refused or unknown)
        or f"the checkpoints of {listed(names)} are relocated once nothing is written any more"
    )
    return (gate_result("queries", outcome, listed(names), limit, reason, "; ".join(hints)),)


def queries_reread(s: Situation) -> dict[str, dict[str, int | None]]:
    """Records that each query reads again: by the map, by the age of its checkpoint's copy, and at most."""
    if s.way.reach == "whole":
        return {query.name: dict(NOTHING_AGAIN) for query in _moving(s)}
    return {name: causes_of(found) for name, found in s.once(rereads).items()}


def rereads(s: Situation) -> dict[str, RereadPrediction]:
    """What each query reads again of a place that is gone or partial, by name; none without samples."""
    history, offset_map = s.copying.samples.value, s.copying.offset_map.value
    found: dict[str, RereadPrediction | None] = {}
    if history is None:
        return {}
    for query, seen in (checkpoints_of(s).value or {}).items():
        # A query that came back reads copies of the landing topics as well; nothing is added to them.
        offsets = {tp: offset for tp, offset in seen.positions.items() if tp.topic in s.way.topics}
        copy = history.copies.get(query)
        at_s = s.seen.at_s if copy is None else copy.at_s
        known = {tp: SampledPosition(offset, at_s) for tp, offset in offsets.items()}
        by_map = {
            tp: None if offset_map is None else offset_map.translate(tp, offset).reread_at_most
            for tp, offset in offsets.items()
        }
        found[query] = reread(s, query, known, by_map)
    return {name: one for name, one in found.items() if one is not None}


def queries_foretold(s: Situation) -> dict[str, Foretold]:
    """By name; see `Foretold`. Of a planned move the copy of a checkpoint tells, which is a little behind."""
    if s.way.main is None:
        return {}
    again = {} if s.way.reach == "whole" else s.once(rereads)
    found = {}
    for query in _moving(s):
        seen = (checkpoints_of(s).value or {}).get(query.name)
        known = None if seen is None or seen.contents is None else seen
        found[query.name] = Foretold(
            committed=None if known is None else known.positions,
            placed=() if known is None else _placed(s, query, known),
            again=again[query.name].by_topic if query.name in again else {},
        )
    return found


def _placed(s: Situation, query: SparkQuery, seen: SeenCheckpoint) -> tuple[TargetPosition, ...]:
    """By the map of the mirror that feeds the place entered; on the way back that is done in the move."""
    place = None if s.case == "back" else _place(s, query)
    if place is None:
        return ()
    return tuple(
        TargetPosition(
            group=query.name,
            source=s.left,
            topic=tp.topic,
            partition=tp.partition,
            source_offset=offset,
            position_age_s=None,
            target=s.entered,
            target_topic=s.mirror.mirrored_topic(tp.topic),
            target_offset=found.offset,
            exact=found.is_exact,
            reread_at_most=found.reread_at_most,
            reason=found.reason,
        )
        for tp, offset in seen.positions.items()
        if tp.topic in s.mirror.topics
        for found in [place(tp, offset)]
    )


def _place(s: Situation, query: SparkQuery) -> Place | None:
    """Where it goes on, by what was seen; None where too little was."""
    samples, offset_map, logs = s.copying.samples.value, s.copying.offset_map.value, s.target.log_ends.value
    if samples is None or offset_map is None or logs is None:
        return None
    copy = samples.copies.get(query.name)
    return placed_by(
        query,
        s.mirror,
        offset_map,
        logs,
        recreated=samples.recreated,
        committed_at_s=None if copy is None else copy.committed_at_s,
        by_time={},
    )


def _moving(s: Situation) -> tuple[SparkQuery, ...]:
    """The queries that move."""
    return tuple(query for query in s.moving("spark") if isinstance(query, SparkQuery))
