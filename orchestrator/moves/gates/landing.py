"""Gates on landing topics of a centre: who reads what is written there anew, and that one source writes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product

from orchestrator.moves.gates.selection import how_to_restore_journal
from orchestrator.moves.situation import Situation
from orchestrator.runs.coordination_state import CoordinationState, EarlierRun, away, newest_move
from orchestrator.runs.gate import absent, as_far_as_known, asked_again, gate_result
from orchestrator.runs.pending_verification import how_to_end
from orchestrator.runs.plan import GateResult
from orchestrator.topology.counterparts import origin_of
from orchestrator.topology.landing import reads_landing
from orchestrator.topology.model import Consumer, Topology
from orchestrator.topology.standby import standby_of
from orchestrator.wording import listed


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """A consumer that reads copies of what is written elsewhere from now on, and not there.

    `works_at`: where it works after the move; `written_at`: where producers of `home` write `topics` then.
    `unless`: the run that may have changed one of the two and does not say so; None where both are known.
    """

    consumer: str
    works_at: str
    topics: tuple[str, ...]
    home: str
    written_at: str
    unless: EarlierRun | None = None

    def __str__(self) -> str:
        names = listed(self.topics)
        if self.unless is not None:
            return f"{self.consumer} might miss {names} of {self.written_at}: {_why_unknown(self.unless)}"
        if self.works_at == self.written_at:
            return f"{self.consumer} reads copies of {self.home} at {self.works_at} and not {names} there"
        return f"{self.consumer} works at {self.works_at}, where nothing brings {names} of {self.written_at}"


@dataclass(frozen=True, slots=True)
class _Where:
    """The places where something may be; where these are several, `by` is the run that leaves it open."""

    places: tuple[str, ...]
    by: EarlierRun | None = None


@asked_again()
def landing_read(s: Situation) -> GateResult:
    """Nobody who reads a source's copies loses sight of what its producers write, or a person accepts it."""
    return as_far_as_known(s.seen.coordination, _read_by_record(s))


def _read_by_record(s: Situation) -> GateResult:
    limit = "each consumer of copies reads the topic where their producers write after the move as well"
    part = s.seen.coordination
    if part.value is None:
        return absent("landing-read", part, limit)
    found = unread_after(s, part.value)
    accepted = [one for one in found if one.consumer in s.words.accept_unread]
    others = [one for one in found if one not in accepted]
    refused = [one for one in others if one.unless is None]
    measured = f"{len(found)} of {len(s.topology.consumers)} consumers would miss new records"
    if others and not refused:
        hint = listed(dict.fromkeys(_how_to_know(one.unless) for one in others if one.unless is not None))
        word = _word(dict.fromkeys(one.consumer for one in others))
        measured = f"where {listed(dict.fromkeys(one.consumer for one in others))} would read is not known"
        said = listed(dict.fromkeys(map(str, others)))
        return gate_result("landing-read", "unknown", measured, limit, said, f"{hint}; or, {word}")
    names = list(dict.fromkeys(one.consumer for one in refused))
    reason = "each consumer of copies sees what is written after the move"
    if refused:
        reason = f"{listed(map(str, refused))}: new records would not be read there"
    elif accepted:
        said = listed(dict.fromkeys(map(str, accepted)))
        reason = f"{said}: new records are not read there, which a person accepts"
    return gate_result(
        "landing-read",
        "refused" if refused else "ok",
        measured=measured,
        limit=limit,
        reason=reason,
        hint=_hint(s, refused, names) if refused else "",
    )


def _why_unknown(run: EarlierRun) -> str:
    if run.outcome == "ok":
        return f"which applications run {run.run_id} has moved cannot be read"
    return f"run {run.run_id} ({run.way}) has not ended well ({run.outcome})"


def _how_to_know(run: EarlierRun) -> str:
    if run.outcome == "ok":
        return how_to_restore_journal(run.run_id)
    return how_to_end(run)


def _word(names: Iterable[str]) -> str:
    return f"if a person accepts that: {' '.join(f'--accept-unread {name}' for name in names)}"


def _hint(s: Situation, refused: list[Unread], names: list[str]) -> str:
    word = _word(names)
    astray = next((one.home for one in refused if one.home != s.way.home), "")
    if astray:
        return f"bring {astray} home first: dcctl failback FILE --to {astray}; or, {word}"
    here = next((one for one in refused if one.works_at == one.written_at), None)
    if here is None:
        return word
    return (
        f"let it read {listed(here.topics)} too, by name or by a pattern such as (.*\\.)?orders; or, {word}"
    )


def unread_after(s: Situation, state: CoordinationState) -> tuple[Unread, ...]:
    """Consumers that see less after this move than before, by consumer and home."""
    return tuple(_unread(s, state))


def _unread(s: Situation, state: CoordinationState) -> Iterator[Unread]:
    moving = {(item.name, item.kind) for item in s.way.items}
    for consumer in s.topology.consumers:
        is_moving = (consumer.name, consumer.kind) in moving
        works = _Where((s.entered,)) if is_moving else _works(s.topology, consumer, state)
        for home, names in _origins(s.topology, consumer).items():
            if home == consumer.cluster or not (is_moving or home == s.way.home):
                continue
            missed: dict[tuple[str, str, str], tuple[EarlierRun | None, list[str]]] = {}
            for name in names:
                written = _written(s, state, home, name)
                by = works.by or written.by
                for place, written_at in product(works.places, written.places):
                    is_seen = place == written_at and reads_landing(consumer, name)
                    if written_at != home and not is_seen:
                        missed.setdefault((place, written_at, by.run_id if by else ""), (by, []))[1].append(
                            name
                        )
            for (place, written_at, _), (by, topics) in missed.items():
                yield Unread(
                    consumer=consumer.name,
                    works_at=place,
                    topics=tuple(topics),
                    home=home,
                    written_at=written_at,
                    unless=by,
                )


def _origins(topology: Topology, consumer: Consumer) -> Mapping[str, list[str]]:
    """What a consumer reads, by where it is produced."""
    found: dict[str, list[str]] = {}
    for name in topology.topics_read(consumer):
        origin = origin_of(topology, name, consumer.cluster)
        if origin is not None:
            found.setdefault(origin.cluster, []).append(origin.topic)
    return found


def _works(topology: Topology, consumer: Consumer, state: CoordinationState) -> _Where:
    """Where the moves between a consumer's cluster and its standby have left it, by its name."""
    home, standby = consumer.cluster, standby_of(topology, consumer)
    if standby is None:
        return _Where((home,))
    open_by = _open_run(state, home, standby)
    known = away(state.runs, home, standby)
    if open_by is None and known.unnamed:
        open_by = next(run for run in state.runs if run.run_id == known.unnamed)
    if open_by is not None:
        return _Where((home, standby), open_by)
    return _Where((standby,) if known.by(consumer.name) else (home,))


def _written(s: Situation, state: CoordinationState, home: str, topic: str) -> _Where:
    """Where producers of `home` write a topic after the move."""
    if home == s.way.home and topic in s.way.topics:
        return _Where((s.entered,))
    known = state.primaries.get((home, topic))
    at = home if known is None else known.cluster
    for other in s.topology.clusters if home != s.way.home else ():
        open_by = _open_run(state, home, other)
        if open_by is not None:
            return _Where(tuple(dict.fromkeys((at, home, other))), open_by)
    return _Where((at,))


def _open_run(state: CoordinationState, home: str, other: str) -> EarlierRun | None:
    """The newest move between two places, unless all that it moves is known to be where it leads."""
    newest = newest_move(state.runs, home, other)
    return newest if newest is not None and not newest.is_done else None


def landing_alone(s: Situation) -> GateResult:
    """One source at a time writes a landing topic: on the way home nobody could tell two of them apart."""
    return as_far_as_known(s.seen.coordination, _alone_by_record(s))


def _alone_by_record(s: Situation) -> GateResult:
    part = s.seen.coordination
    limit = f"no other source writes, or has written since, what {s.left} would write at {s.entered}"
    if part.value is None:
        return absent("landing-alone", part, limit)
    for other in s.topology.clusters:
        if other in {s.left, s.entered} or s.topology.mirror(other, s.entered) is None:
            continue
        found = _beside(s, part.value, other, limit)
        if found is not None:
            return found
    names = listed(s.way.topics)
    return gate_result("landing-alone", "ok", names, limit, f"no other source writes {names} at {s.entered}")


def _beside(s: Situation, state: CoordinationState, other: str, limit: str) -> GateResult | None:
    """Refused, where another source is there, goes there, or has been since; None where that is nothing."""
    there = s.topology.mirror(other, s.entered)
    shared = [name for name in s.way.topics if there is not None and name in there.topics]
    newest = newest_move(state.runs, other, s.entered)
    if not shared or newest is None:
        return None
    measured = f"run {newest.run_id}: {newest.outcome}"
    if newest.outcome != "ok":
        reason = f"run {newest.run_id} ({newest.way}), which moves applications of {other}, has not ended"
        return gate_result("landing-alone", "refused", measured, limit, reason, how_to_end(newest))
    why = "on the way home nobody could tell whose a record is"
    if newest.target == s.entered:
        reason = (
            f"applications of {other} write {listed(shared)} at {s.entered} since run {newest.run_id}: {why}"
        )
        hint = f"bring them home first: dcctl failback FILE --to {other}"
        return gate_result("landing-alone", "refused", measured, limit, reason, hint)
    own = newest_move(state.runs, s.left, s.entered)
    if own is None or state.runs.index(own) > state.runs.index(newest):
        return None
    reason = (
        f"applications of {other} have written {listed(shared)} at {s.entered} after those of {s.left} were "
        f"there, until run {newest.run_id}: what comes back to {s.left} would have their records in it"
    )
    hint = f"name another standby for {s.left}"
    return gate_result("landing-alone", "refused", measured, limit, reason, hint)
