"""What MirrorMaker has to be like for a move: under control, to be trusted, alive and watched; and what is
lost.
"""

from __future__ import annotations

from typing import Any

from orchestrator.mirrors.mirrormaker2.connectors import (
    connector_names,
    may_lack_tasks,
    refused_values,
    source_isolation,
)
from orchestrator.mirrors.mirrormaker2.copying_time import copying_times, throttled_hint, too_slow
from orchestrator.mirrors.mirrormaker2.loss import (
    lag_by_partition,
    predicted_loss,
    records_passed_over,
    rejoining,
)
from orchestrator.moves.not_copied import COPY_AGAIN
from orchestrator.moves.situation import Situation
from orchestrator.ports.part import Part
from orchestrator.runs.gate import absent, asked_again, gate_result
from orchestrator.runs.plan import GateResult
from orchestrator.snapshot.rejoining import Rejoining
from orchestrator.snapshot.watcher_records import SET_CLOCKS, age_s
from orchestrator.topology.flows import transactional_topics
from orchestrator.wording import listed, plural

_PLAINLY = (
    "set exactly.once.source.support=disabled at every worker, and copy the topics again (docs/copies.md)"
)


@asked_again()
def mirror_controlled(s: Situation) -> GateResult:
    """Connect answers for each connector of the file's mirror, so that it can be stopped."""
    return mirror_there(s)


def mirror_there(s: Situation) -> GateResult:
    """Connect answers for each connector; on the way back the mirror goes on from where it stopped."""
    is_back = s.case == "back"
    gate_id = "mirror-there" if is_back else "mirror-controlled"
    limit = (
        f"Connect knows the mirror's connectors, so that they can be {'started' if is_back else 'stopped'}"
    )
    part = s.copying.states
    if part.value is None:
        return absent(gate_id, part, limit)
    states = {name: part.value.get(name, "missing") for name in connector_names(s.own_mirror)}
    missing = [name for name, state in states.items() if state == "missing"]
    hint = (
        f"create the connector again at the Connect workers of {s.left} with initial_state STOPPED: "
        "dcctl apply FILE does not touch a mirror that a move has stopped"
        if is_back
        else "do the mirror's connectors have other names, or run elsewhere? "
        "A deleted one has to be created again (while both sides are up: dcctl apply FILE)"
    )
    return gate_result(
        gate_id,
        "refused" if missing else "ok",
        measured=listed(f"{name} {state}" for name, state in states.items()),
        limit=limit,
        reason=f"Connect has no connector {listed(missing)}"
        if missing
        else f"Connect knows every connector of the mirror: {listed(states)}",
        hint=hint if missing else "",
    )


def mirror_trusted(s: Situation) -> GateResult:
    """No marker of a transaction stands between the copies, and no record was passed over or was aborted.

    Markers at the target and gaps of the source cancel out between two offset syncs; a connector that
    tolerates errors goes on behind a record that it could not write. The workers that run the file's mirror
    run the one back as well. Settings are told before what the copies show of them: both have to be mended.
    """
    limit = "the mirror writes without transactions, and skips no record"
    mirror, seen = s.own_mirror, s.own_copying
    name = connector_names(mirror).source
    parts = {name: seen.settings}
    if s.case == "back" and s.way.drains:
        # Made before, it is left to what it was told.
        parts[connector_names(s.mirror).source] = s.copying.settings
    writers = {} if seen.samples.value is None else seen.samples.value.writers
    marked = [
        copy
        for topic in mirror.topics
        if (copy := mirror.mirrored_topic(topic)) not in mirror.topics
        and copy in writers
        and writers[copy].transactional
    ]
    told = transactional_topics(s.topology.producers)
    aborted = [
        topic
        for topic in mirror.topics
        if topic in told or (topic in writers and writers[topic].transactional)
    ]
    unknown = next((part for part in parts.values() if part.value is None), None)
    if unknown is not None and not marked:
        return absent("mirror-trusted", unknown, limit)
    measured, reasons, hints = [], [], []
    for each, part in parts.items():
        wrong = [] if part.value is None else refused_values(part.value.config)
        reasons += [f"{each} has {key}={value}: {why}" for key, value, why in wrong]
        hints += (
            [f"remove it from the configuration of {each}, and copy again what the mirror may have skipped"]
            if wrong
            else []
        )
        # One that is still to be made has no configuration yet, and gets what dcctl gives it.
        config = {} if part.value is None else part.value.config
        if config and aborted and source_isolation(config) != "read_committed":
            reasons.append(f"{each} copies aborted records too, of {listed(aborted)}")
            hints.append(
                f"set source.consumer.isolation.level=read_committed at {each} (dcctl apply FILE), "
                "and copy the topics again (docs/copies.md)"
            )
    if seen.settings.value is not None:
        measured.append(f"{name}, and its Connect workers")
        if seen.settings.value.in_transactions:
            reasons.append(
                f"the Connect workers of {name} have exactly-once support for source connectors switched on"
            )
            hints.append(_PLAINLY)
    if marked:
        measured.append(f"transactional producers in {len(marked)} copies")
        reasons.append(f"copies are written in transactions: {listed(marked)}")
        hints.append(_PLAINLY)
    if not reasons and seen.samples.value is None:
        return absent("mirror-trusted", seen.samples, limit)
    return gate_result(
        "mirror-trusted",
        "refused" if reasons else "ok",
        measured="; ".join(measured),
        limit=limit,
        reason="; ".join(reasons)
        or f"the mirror's connector {name} writes without transactions, and skips no record",
        hint="; ".join(dict.fromkeys(hints)),
    )


def watcher_alive(s: Situation) -> GateResult:
    """The watcher has been at work until now: a lost site ends sampling, not the watcher."""
    limit = f"the last round of the watcher at most {s.age_limit_s:g} s ago"
    part = s.samples
    if part.value is None:
        return absent("watcher-alive", part, limit)
    last = part.value.last_sign_of_life_s
    if last is None:
        return gate_result(
            "watcher-alive",
            "refused",
            "no round",
            limit,
            "no watcher has ever run here",
            "start one: dcctl watch FILE",
        )
    # Against the moment of reading: observing the rest may take its time on a busy machine.
    age = age_s(part.at_s, last)
    if age is None:
        return gate_result(
            "watcher-alive",
            "unknown",
            measured=f"{last - part.at_s:.1f} s in the future of this machine",
            limit=limit,
            reason="the clocks of the watcher's machine and of this machine differ",
            hint=SET_CLOCKS,
        )
    is_silent = age > s.age_limit_s
    return gate_result(
        "watcher-alive",
        "refused" if is_silent else "ok",
        measured=f"{age:.1f} s ago",
        limit=limit,
        reason=f"the watcher has been silent for {age:.1f} s: its samples may be old"
        if is_silent
        else f"the watcher runs: its last round was {age:.1f} s ago",
        hint=f"start the watcher at {s.entered} again: dcctl watch FILE" if is_silent else "",
    )


def loss_within_budget(s: Situation) -> GateResult:
    """The upper bound counts, not the expectation."""
    budget = s.topology.failover.max_loss
    accepted = s.words.accept_loss
    records = accepted if accepted is not None else budget.records
    # A person who accepts a number of records has judged the loss; the file's seconds no longer count.
    seconds = None if accepted is not None else budget.seconds
    limits = [f"{records} records"] if records is not None else []
    limits += [f"{seconds:g} s"] if seconds is not None else []
    limit = " and ".join(limits)
    for part in (s.copying.samples, s.copying.offset_map):
        if part.value is None:
            return absent("loss-within-budget", part, limit)
    found = s.once(predicted_loss)
    if found is None or found.at_most is None:
        topics = {} if found is None else found.topics
        reasons = [p.reason for topic in topics.values() for p in topic.partitions.values()]
        return gate_result(
            "loss-within-budget",
            "unknown",
            "not measured",
            limit,
            listed(sorted(set(filter(None, reasons))))
            or "the watcher has no samples to compute the loss from",
            "without samples dcctl cannot compute the loss; start the watcher, and try again",
        )
    at_most, seconds_at_most = found.at_most, found.seconds_at_most
    missing = records_passed_over(found)
    told = f"; {missing} of them are missing among the copies at {s.entered}" if missing else ""
    too_many = records is not None and at_most > records
    too_long = seconds is not None and (seconds_at_most is None or seconds_at_most > seconds)
    span = "an unknown time" if seconds_at_most is None else f"{seconds_at_most:.1f} s"
    said = "the person who accepts the loss" if accepted is not None else "the file"
    return gate_result(
        "loss-within-budget",
        "refused" if too_many or too_long else "ok",
        measured=f"at most {at_most} records of {span}{told}",
        limit=limit,
        reason=(
            f"at most {at_most:,} records ({span}) would be lost, "
            + (f"more than the budget of {limit}" if too_many or too_long else f"which {said} allows")
        ),
        hint=(
            f"--accept-loss {at_most}, if a person accepts that" + (f"; {COPY_AGAIN}" if missing else "")
            if too_many or too_long
            else ""
        ),
    )


def mirror_running(s: Situation) -> GateResult:
    """It copies: what is not copied cannot be drained."""
    limit = "every connector that a drain needs runs, and so do its tasks"
    part = s.copying.states
    if part.value is None:
        return absent("mirror-running", part, limit)
    names, spared = connector_names(s.mirror), may_lack_tasks(s.mirror)
    needed = [name for name in names if name not in spared]
    wrong = [
        f"{name} {part.value.get(name, 'missing')}" for name in needed if part.value.get(name) != "RUNNING"
    ]
    return gate_result(
        "mirror-running",
        "refused" if wrong else "ok",
        measured=listed(f"{name} {part.value.get(name, 'missing')}" for name in names),
        limit=limit,
        reason=f"connectors of the mirror that do not run: {listed(wrong)}"
        if wrong
        else f"every connector that a drain needs runs: {listed(needed)}",
        hint="dcctl apply FILE starts them again; a mirror that does not copy cannot be drained"
        if wrong
        else "",
    )


def mirror_lag(s: Situation) -> GateResult:
    """How far behind it is does not refuse: the drain has its own limit, and is undone beyond it.

    But a mirror that the file limits, and that can surely not copy that much within the limit of the drain.
    """
    limit = (
        f"the mirror's lag is known; the run waits up to {s.words.timeout_s:g} s for the mirror to catch up"
    )
    lag = s.once(lag_by_partition)
    if lag is None:
        ends = s.source.log_ends
        return absent("mirror-lag", ends if ends.value is None else s.copying.read, limit)
    behind, times = sum(lag.values()), s.once(copying_times)
    slow = too_slow(times, s.words.timeout_s)
    copies = [time.in_words() for time in times.values()]
    then = (
        f"the drain is rolled back after {s.words.timeout_s:g} s"
        if slow
        else f"it is drained before {s.entered} takes over"
    )
    return gate_result(
        "mirror-lag",
        "refused" if slow else "ok",
        "; ".join((f"{plural(behind, 'record')} in {plural(len(lag), 'partition')}", *copies)),
        limit,
        "; ".join((f"the mirror is {plural(behind, 'record')} behind", *copies, then)),
        throttled_hint(slow) if slow else "",
    )


def target_topics(s: Situation) -> GateResult:
    """Copies and landing topics are there, as the file has them."""
    limit = f"every mirrored topic, and every topic that producers write to after the move, is at {s.entered}"
    part = s.target.topics
    if part.value is None:
        return absent("target-topics", part, limit)
    wrong, mirror = [], s.mirror
    for name in mirror.topics:
        topic = s.topology.topic(name, s.left)
        for at_target in dict.fromkeys((mirror.mirrored_topic(name), name)):
            state = part.value.get(at_target)
            if state is None:
                wrong.append(f"{at_target} does not exist at {s.entered}")
            elif topic is not None and len(state.leaders) != topic.partitions:
                wrong.append(
                    f"{at_target} has {len(state.leaders)} partitions, the file says {topic.partitions}"
                )
    return gate_result(
        "target-topics",
        "refused" if wrong else "ok",
        measured=plural(len(part.value), "topic"),
        limit=limit,
        reason=listed(wrong) if wrong else f"{s.entered} has all topics, with the partitions of the file",
        hint=f"create these topics at {s.entered}, or correct the file" if wrong else "",
    )


def rejoining_log(s: Situation) -> GateResult:
    """Nothing, or no more than a person accepts, is missing from the logs that have come back."""
    accepted = s.words.accept_loss or 0
    limit = f"at most {accepted:,} records are missing at {s.entered} that had been written there or copied"
    logs: tuple[Part[Any], ...] = s.target.log_ends, s.source.log_ends, s.own_copying.read
    for part in logs:
        if part.value is None:
            return absent("returned-log", part, limit)
    found = s.once(rejoining)
    if s.seen.past.value is None:
        return absent("returned-log", s.seen.past, limit)
    if found is None:
        return absent("returned-log", s.target.epoch_ends, limit)
    lost = found.lost_records
    tail = sum(found.tail.values())
    measured = f"{tail:,} records still to be copied (late, not lost), {lost:,} missing"
    if found.problems:
        hint = f"has another cluster come up as {s.entered}, or was its metadata restored from a backup?"
        return gate_result("returned-log", "refused", measured, limit, listed(found.problems), hint)
    texts = [f"{tp}: {count:,} records were never copied and are lost" for tp, count in found.missing.items()]
    texts += [
        f"{tp}: {count:,} records were deleted by retention before they were copied"
        for tp, count in found.gap.items()
    ]
    texts += [
        f"{tp}: up to {count:,} records that had been copied are gone from "
        f"{s.entered}, and remain at {s.left} only"
        for tp, count in found.target_only.items()
    ]
    is_too_much = lost > accepted
    unknown = _unknown_logs(found, s.left)
    if unknown and not s.words.accept_unrecorded and not is_too_much:
        hint = f"compare these logs with {s.left} yourself, then --accept-unrecorded"
        return gate_result("returned-log", "unknown", measured, limit, "; ".join(unknown), hint)
    if unknown:
        count = len(found.unrecorded) + len(found.unsure)
        texts.append(f"what is missing is unknown for {plural(count, 'partition')}")
    by_end = len(found.by_end_alone)
    said = listed(texts) or f"no copied record is missing from the logs at {s.entered}"
    if by_end:
        said += (
            f"; {plural(by_end, 'partition')} compared by end offset only, "
            "for lack of leader epochs: a log that was"
            " truncated, and has grown beyond its old end since, would not be noticed"
        )
    return gate_result(
        "returned-log",
        "refused" if is_too_much else "ok",
        measured=measured,
        limit=limit,
        reason=said,
        hint=f"--accept-loss {lost}, once the owners of the data know of the loss" if is_too_much else "",
    )


def _unknown_logs(found: Rejoining, standby: str) -> list[str]:
    """Why nobody can tell what is missing from some logs."""
    texts = []
    if found.unrecorded:
        names = listed(map(str, found.unrecorded))
        texts.append(f"where these logs ended when applications left is not recorded: {names}")
    if found.unsure:
        names = listed(map(str, found.unsure))
        texts.append(
            "these logs were truncated, or had another leader, after "
            f"{standby} had copied them (a newer leader "
            f"epoch begins between their recorded end and the last copied record): {names}"
        )
    return texts
