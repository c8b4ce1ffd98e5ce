"""Gates about the price: how old positions are, whether each has a place, how much would be lost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from orchestrator.planning.checkpoints import foreseen, placed_by, why_not_relocated, why_unknown
from orchestrator.planning.not_copied import COPY_AGAIN
from orchestrator.planning.observation import Part
from orchestrator.planning.plan import GateResult
from orchestrator.planning.prediction import LossPrediction
from orchestrator.planning.situation import Situation, absent, gate_result, listed
from orchestrator.planning.watcher_records import age_s

# Commits of a query are some seconds apart; its copy must have been compared as recently as positions,
# and may lack no more than the batch that was being written.
BATCHES_BEHIND = 2
_START_ANEW = "take the query out of the file, and start it anew by hand"
_UNDATED = "the clock by which the copy was dated differs"
_SET_CLOCKS = "set the clocks of both right (NTP); a watcher at work notices it within a round"


def watcher_alive(s: Situation) -> GateResult:
    """The watcher has been at work until now: a lost site ends sampling, not the watcher."""
    limit = f"a round of the watcher at most {s.age_limit_s:g} s ago"
    part = s.observation.samples
    if part.value is None:
        return absent("watcher-alive", part, limit)
    last = part.value.last_sign_of_life_s
    if last is None:
        return gate_result(
            "watcher-alive", "refused", "no round", limit, "the watcher never ran here", "dcctl watch FILE"
        )
    # Against the moment of reading: observing the rest may take its time on a busy machine.
    age = age_s(part.at_s, last)
    if age is None:
        return gate_result(
            "watcher-alive",
            "unknown",
            measured=f"{last - part.at_s:.1f} s in the future of this machine",
            limit=limit,
            reason="the clock of the machine that watches and the clock of this one differ",
            hint=_SET_CLOCKS,
        )
    is_silent = age > s.age_limit_s
    return gate_result(
        "watcher-alive",
        "refused" if is_silent else "ok",
        measured=f"{age:.1f} s ago",
        limit=limit,
        reason="the watcher is silent: what it recorded may be old" if is_silent else "it is at work",
        hint="start the watcher at the target again: dcctl watch FILE" if is_silent else "",
    )


def _places(s: Situation) -> tuple[Part[Any], ...]:
    """What positions are made of: without any of these there is none, which says nothing about the groups."""
    return s.observation.samples, s.observation.offset_map, s.observation.log_ends


def positions_fresh(s: Situation) -> GateResult:
    """Ages are judged at the loss: sampling ended then, and time since costs nothing."""
    limit = f"each position at most {s.age_limit_s:g} s old when the source was lost"
    for part in _places(s):
        if part.value is None:
            return absent("positions-fresh", part, limit)
    ages = [p.position_age_s for p in s.positions if p.position_age_s is not None]
    known = {p.group for p in s.positions if p.source_offset is not None}
    unknown = [c.name for c in s.groups if c.name not in known]
    undated = sorted(
        {p.group for p in s.positions if p.source_offset is not None and p.position_age_s is None}
    )
    old = [
        f"{p.group} {p.topic}-{p.partition}" for p in s.positions if (p.position_age_s or 0) > s.age_limit_s
    ]
    reason = "all of them are"
    if old:
        reason = f"too old: {listed(old)}"
    elif unknown:
        reason = f"no position was ever recorded of {listed(unknown)}"
    elif undated:
        reason = (
            f"the clock by which they were dated differs: nobody knows how old those of {listed(undated)} are"
        )
    return gate_result(
        "positions-fresh",
        "refused" if old or unknown else "unknown" if undated else "ok",
        measured=f"{len(ages)} positions, the oldest {max(ages, default=0.0):.1f} s",
        limit=limit,
        reason=reason,
        hint=_hint_of_positions(old, unknown) or (_SET_CLOCKS if undated else ""),
    )


def _hint_of_positions(old: Sequence[str], unknown: Sequence[str]) -> str:
    hints = ["raise failover.max_position_age_s to accept more re-reading"] if old else []
    if unknown:
        hints.append(f"take {listed(unknown)} out of the file, and start it there by hand")
    return "; ".join(hints)


def map_complete(s: Situation) -> GateResult:
    """No position is left to the consumers' auto.offset.reset."""
    limit = "every position has a place in the target's log, or a rule for the case without one"
    for part in _places(s):
        if part.value is None:
            return absent("map-complete", part, limit)
    without = [
        f"{p.group} {p.topic}-{p.partition}: {p.reason}" for p in s.positions if p.target_offset is None
    ]
    exact = sum(p.exact for p in s.positions)
    return gate_result(
        "map-complete",
        "refused" if without else "ok",
        measured=f"{len(s.positions)} positions, {exact} of them exact already",
        limit=limit,
        reason=listed(without) if without else "all of them have",
        hint=(
            "the consumer's on_untranslatable: timestamp reads some of it again, earliest all of it"
            if without
            else ""
        ),
    )


def loss_within_budget(s: Situation) -> GateResult:
    """The upper bound counts, not the expectation."""
    budget = s.topology.failover.max_loss
    accepted = s.request.accept_loss
    records = accepted if accepted is not None else budget.records
    # A person who accepts a number of records has judged the loss; the file's seconds no longer count.
    seconds = None if accepted is not None else budget.seconds
    limits = [f"{records} records"] if records is not None else []
    limits += [f"{seconds:g} s"] if seconds is not None else []
    limit = " and ".join(limits)
    for part in (s.observation.samples, s.observation.offset_map):
        if part.value is None:
            return absent("loss-within-budget", part, limit)
    if s.loss is None or s.loss.at_most is None:
        reasons = (
            []
            if s.loss is None
            else [p.reason for t in s.loss.topics.values() for p in t.partitions.values()]
        )
        return gate_result(
            "loss-within-budget",
            "unknown",
            "not measured",
            limit,
            listed(sorted(set(filter(None, reasons)))) or "the watcher has no samples to tell it from",
            "without samples only a person can know: this tool does not",
        )
    at_most, seconds_at_most = s.loss.at_most, s.loss.seconds_at_most
    missing = passed_over(s.loss)
    told = f"; {missing} of them are not at the target although the mirror has passed them" if missing else ""
    too_many = records is not None and at_most > records
    too_long = seconds is not None and (seconds_at_most is None or seconds_at_most > seconds)
    span = "an unknown time" if seconds_at_most is None else f"{seconds_at_most:.1f} s"
    said = "by the person who accepts the loss" if accepted is not None else "by the file"
    return gate_result(
        "loss-within-budget",
        "refused" if too_many or too_long else "ok",
        measured=f"at most {at_most} records of {span}{told}",
        limit=limit,
        reason="more than the budget" if too_many or too_long else f"allowed {said}",
        hint=(
            f"--accept-loss {at_most}, if a person accepts that" + (f"; {COPY_AGAIN}" if missing else "")
            if too_many or too_long
            else ""
        ),
    )


def passed_over(loss: LossPrediction) -> int:
    """Records that the mirror has passed and of which no copy is known."""
    return sum(part.passed_over for topic in loss.topics.values() for part in topic.partitions.values())


def checkpoints_copied(s: Situation) -> GateResult:
    """A checkpoint that lay in the lost site alone is lost with it."""
    limit = (
        f"a copy at most {BATCHES_BEHIND} batches behind, {s.age_limit_s:g} s old when the source was lost"
    )
    part = s.observation.samples
    for needed in (part, s.observation.checkpoints):
        if needed.value is None:
            return absent("checkpoints-copied", needed, limit)
    if part.value is None or not s.queries:
        return gate_result(
            "checkpoints-copied", "ok", "no Spark query", limit, "there is nothing to relocate"
        )
    copies, anew = part.value.copies, part.value.made_anew
    # Against the moment of reading, while it is not lost: observing the rest may take its time.
    lost_at_s = s.window.first_failed_at_s if s.window else part.at_s
    wrong, seen = [], []
    for query in s.queries:
        copy = copies.get(query.name)
        if copy is None or copy.batch is None:
            wrong.append(f"{query.name}: no copy")
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
        is_old = (age is None or age > s.age_limit_s) and not (s.request.sick and not copy.problem)
        if behind > BATCHES_BEHIND or is_old:
            is_undated = age is None and bool(copy.at_s)
            wrong.append(f"{query.name}: {copy.problem or (_UNDATED if is_undated else 'the copy is old')}")
        elif void:
            wrong.append(f"{query.name}: committed before {listed(void)} was made anew at the source")
    if wrong:
        return gate_result(
            "checkpoints-copied",
            "refused",
            measured=listed(seen) or "none",
            limit=limit,
            reason=listed(wrong),
            hint="does the watcher reach the checkpoint and the place of its copy? "
            "If the site is lost: take the query out of the file, and start it anew by hand",
        )
    refused, unknown, hints = relocations_foreseen(s)
    return gate_result(
        "checkpoints-copied",
        "refused" if refused else "unknown" if unknown else "ok",
        measured=listed(seen) or "none",
        limit=limit,
        reason=listed(refused or unknown) or "each query can go on with its state",
        hint="; ".join(hints),
    )


def relocations_foreseen(
    s: Situation, *, only_copied: bool = False
) -> tuple[list[str], list[str], list[str]]:
    """What is surely wrong with relocating the queries' checkpoints as they were copied, what nobody can
    know of it, and hints: by the very plan that the run will make. `only_copied`: no copy yet is no problem.
    """
    samples, offset_map, logs = (
        s.observation.samples.value,
        s.observation.offset_map.value,
        s.observation.log_ends.value,
    )
    refused: list[str] = []
    unknown: list[str] = []
    hints: dict[str, None] = {}
    for query in s.queries:
        seen = (s.observation.checkpoints.value or {}).get(query.name)
        if seen is None or (only_copied and seen.contents is None):
            continue
        why, hint = why_unknown(seen), seen.hint
        if why:
            unknown.append(f"{query.name}: {why}")
        elif samples is not None and offset_map is not None and logs is not None:
            copy = samples.copies.get(query.name)
            place = placed_by(
                query,
                s.mirror,
                offset_map,
                logs,
                made_anew=samples.made_anew,
                committed_at_s=None if copy is None else copy.committed_at_s,
                by_time={},
            )
            why, hint = why_not_relocated(query, seen, foreseen(query, s.mirror, place))
            refused += [f"{query.name}: {why}"] if why else []
        if why:
            hints[hint or _START_ANEW] = None
    return refused, unknown, list(hints)
