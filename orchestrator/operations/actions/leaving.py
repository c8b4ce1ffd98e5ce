"""Leaving a sick cluster: what answers is denied, seen to stand still and drained; the rest is named."""

from __future__ import annotations

from collections.abc import Mapping
from time import monotonic, time
from typing import Any

from orchestrator.engine import Results, StepOutcome
from orchestrator.errors import ClusterError, DcctlError
from orchestrator.operations.actions.clients import start_clients_again, stop_clients
from orchestrator.operations.actions.draining import await_drained, with_records
from orchestrator.operations.actions.fencing import producers_of
from orchestrator.operations.actions.leaving_rules import READ_TIMEOUT_S
from orchestrator.operations.actions.queries import copy_query_checkpoint
from orchestrator.operations.by_time import samples_for
from orchestrator.operations.left import LeftReader
from orchestrator.operations.offsets_json import offsets_from_json, offsets_to_json
from orchestrator.operations.session import Session
from orchestrator.planning.losses import PartitionAccount, account_loss, losses_to_json
from orchestrator.planning.plan import Step
from orchestrator.planning.positions import source_partitions
from orchestrator.values import LogEnd, TopicPartition

_LISTED = 4
_POLL_S = 0.3
_HEARD_TIMEOUT_S = 5.0


def stop_left_clients(session: Session, step: Step, results: Results) -> StepOutcome:
    """Stop applications where their hosts answer. What runs on is denied all the same, so nothing waits."""
    if not step.arguments["clients"]:
        return StepOutcome("ok", "there are none")
    try:
        found = stop_clients(session, step, results)
    except DcctlError as error:
        return StepOutcome("ok", f"not all of them: {error.problem}", {"not_stopped": error.problem})
    if found.outcome == "ok":
        return found
    return StepOutcome("ok", f"not all of them: {found.message}", {"not_stopped": found.message})


def start_left_clients_again(session: Session, step: Step, results: Results) -> StepOutcome:
    """Start what was stopped, where its hosts answer. Who is not reached is named, and not waited for."""
    if not step.arguments["clients"]:
        return StepOutcome("ok", "there are none")
    try:
        found = start_clients_again(session, step, results)
    except DcctlError as error:
        found = StepOutcome("failed", error.problem)
    if found.outcome == "ok":
        return found
    if session.is_cancelled():
        return StepOutcome("failed", "interrupted", found.result)
    said = f"not all of them, start these yourself: {found.message}"
    return StepOutcome("ok", said, {**found.result, "not_started": found.message})


def await_left_standing(session: Session, step: Step, results: Results) -> StepOutcome:
    """Every log that can be read stands still for a while; what cannot be read is unknown, by partition.

    New leaders are waited for a moment where there is a controller, and anything to read at all anyway: what
    nobody has looked at does not stand still. What still advances is named. A broker that answers only now
    has to have heard of the rules as well.
    """
    cluster = str(step.arguments["cluster"])
    partitions = source_partitions(session.topology, session.estate.mirror)
    standstill_s, begun_s, begun_at_s = float(step.arguments["standstill_s"]), monotonic(), time()
    is_fenced, patience_s = bool(step.arguments["rules"]), float(step.arguments["election_s"])
    may_be_blind = is_fenced and set(map(str, partitions)) <= set(step.arguments.get("unread", ()))
    seen: dict[TopicPartition, tuple[LogEnd, float]] = {}
    unread: dict[TopicPartition, str] = {}
    with LeftReader(session.topology, cluster, READ_TIMEOUT_S) as reader:

        def stands_still() -> bool:
            found = reader.partitions(partitions, anew=True)
            now_s = monotonic()
            unread.clear()
            for tp, place in found.items():
                if place.log is None:
                    unread[tp] = place.problem
                    seen.pop(tp, None)
                elif tp not in seen or seen[tp][0].end_offset != place.log.end_offset:
                    seen[tp] = place.log, now_s
            is_still = all(now_s - since_s >= standstill_s for _, since_s in seen.values())
            is_waited_for = not seen or (bool(unread) and is_fenced)
            return is_still and (not is_waited_for or now_s - begun_s >= max(patience_s, standstill_s))

        is_done = session.await_true(stands_still, step.timeout_s, poll_s=_POLL_S)
        silent = sorted(reader.silent)
    if session.is_cancelled():
        return StepOutcome("failed", "interrupted")
    if not is_done:
        writing = sorted(tp for tp, (_, since_s) in seen.items() if monotonic() - since_s < standstill_s)
        found = producers_of(session, cluster, writing, begun_at_s)
        return StepOutcome(
            "failed",
            f"still written: {_named(found)}. Stop who writes there, or its brokers",
            {"still_written": {str(tp): said for tp, said in found.items()}},
        )
    if not seen and not may_be_blind:
        return StepOutcome(
            "unknown",
            f"no log can be read, so nobody knows whether it is written: {_named(unread)}. "
            "Once its brokers are stopped: --attest-down",
        )
    late = set(reader.brokers) - set(results.get("deny", {}).get("heard", reader.brokers))
    unheard = session.await_brokers(cluster, _HEARD_TIMEOUT_S, brokers=late) if late else ""
    if unheard:
        return StepOutcome(
            "unknown", f"answers by now, and is not known to have heard of the rules: {unheard}"
        )
    result = {
        "ends": offsets_to_json({tp: log.end_offset for tp, (log, _) in seen.items()}),
        "starts": offsets_to_json({tp: log.start_offset for tp, (log, _) in seen.items()}),
        "unread": {str(tp): why for tp, why in sorted(unread.items())},
        "silent": silent,
        "fenced": is_fenced,
    }
    fenced = "" if is_fenced else ", and nobody is kept from writing"
    said = f"{len(seen)} of {len(partitions)} partitions stand still{fenced}"
    return StepOutcome("ok", said + (f"; unknown: {_named(unread)}" if unread else ""), result)


def drain_left(session: Session, step: Step, results: Results) -> StepOutcome:
    """Let the mirror copy what can be read. What it does not is counted; beyond what is allowed it fails."""
    if not results["stands-still"]["ends"]:
        return StepOutcome("ok", "no log can be read: there is nothing to drain", {"not_copied": {}})
    found = await_drained(session, step, results)
    not_copied: Mapping[str, int] = found.result.get("not_copied", {})
    if found.outcome != "failed" or not not_copied:
        return found
    allowed, left = step.arguments["allowed_records"], sum(not_copied.values())
    if allowed is not None and left > allowed:
        said = f"{found.message}: {allowed:,} are allowed to be lost, --accept-loss {left} allows this"
        return StepOutcome("failed", said, found.result)
    return StepOutcome("ok", found.message, found.result)


def record_left_positions(session: Session, step: Step, _results: Results) -> StepOutcome:
    """What each group has committed there; where its coordinator is silent, the watcher's newest word."""
    mirror = session.estate.mirror
    groups = list(step.arguments["groups"])
    with LeftReader(session.topology, mirror.source) as reader:
        said = reader.committed(groups)
    found = {group: dict(told) for group, told in said.items() if not isinstance(told, ClusterError)}
    at_s = dict.fromkeys(found, time())
    silent = [group for group in groups if group not in found]
    if silent:
        history = samples_for(session.topology, mirror, session.estate.target)
        for group in silent:
            sampled = history.positions(group)
            found[group] = {tp: position.offset for tp, position in sampled.items()}
            at_s[group] = min((position.sampled_at_s for position in sampled.values()), default=0.0)
    count = sum(len(offsets) for offsets in found.values())
    told = f"; as the watcher last saw them: {', '.join(silent)}" if silent else ""
    return StepOutcome(
        "ok",
        f"{count} positions of {len(groups)} groups{told}",
        {
            "positions": {group: offsets_to_json(found[group]) for group in groups},
            "at_s": {group: at_s[group] for group in groups},
            "sampled": silent,
        },
    )


def copy_left_checkpoint(session: Session, step: Step, results: Results) -> StepOutcome:
    """Bring a query's copy up to its last batch; where that cannot be, the copy stands as it is."""
    found = copy_query_checkpoint(session, step, results)
    if found.outcome == "ok":
        return found
    return StepOutcome("ok", f"it goes on from the watcher's copy: {found.message}")


def account_left(session: Session, step: Step, results: Results) -> StepOutcome:
    """For each partition of the source: what is lost, or why nobody can say it.

    Where nobody is kept from writing, and somebody has written since, it fails: more would be lost unseen.
    """
    mirror_end, standing = results["record-mirrored-ends"], results["stands-still"]
    offset_map, _ = session.final_map(mirror_end)
    stored = offsets_from_json(mirror_end["mirror_offsets"])
    anew = session.history.made_anew
    ends, starts = offsets_from_json(standing["ends"]), offsets_from_json(standing["starts"])
    copied = {
        tp: max(
            starts[tp],
            offset_map.mirrored_end(tp) or 0,
            # Connect may still have the offset of a topic that is no more.
            0 if tp.topic in anew else stored.get(tp, -1) + 1,
        )
        for tp in ends
    }
    ranges = {tp: (copied[tp], end) for tp, end in ends.items() if copied[tp] < end}
    problem = ""
    if ranges:
        try:
            ranges = with_records(session, str(step.arguments["connector"]), ranges)
        except ClusterError as error:
            problem = f"what is not copied could not be read: {error.problem}"
    not_copied = dict.fromkeys(ends, 0) | {tp: end - start for tp, (start, end) in ranges.items()}
    written, unseen = ({}, {}) if standing["fenced"] else _since_standing(session, ends)
    if written:
        return StepOutcome(
            "failed",
            f"written on after it stood still, and nobody is kept from it: {_named(written)}. "
            "Stop who writes there, or its brokers",
            {"still_written": {str(tp): said for tp, said in written.items()}},
        )
    unread = dict(standing["unread"]) | {str(tp): said for tp, said in unseen.items()}
    accounts = account_loss(
        session.topology,
        session.estate.mirror,
        not_copied={tp: records for tp, records in not_copied.items() if str(tp) not in unread},
        unread=unread,
        is_whole=not standing["silent"] and results.get("deny", {}).get("heard") != [],
        problem=problem,
    )
    return StepOutcome("ok", _in_words(accounts), {"loss": losses_to_json(accounts)})


def _since_standing(
    session: Session, ends: Mapping[TopicPartition, int]
) -> tuple[dict[TopicPartition, str], dict[TopicPartition, str]]:
    """What has become of logs that stood still: how far some have moved on, and why others are not seen."""
    with LeftReader(session.topology, session.estate.mirror.source) as reader:
        found = reader.partitions(ends)
    written = {
        tp: f"{place.log.end_offset - ends[tp]:,} records so far"
        for tp, place in found.items()
        if place.log is not None and place.log.end_offset > ends[tp]
    }
    unseen = {
        tp: f"not seen since it stood still: {place.problem}"
        for tp, place in found.items()
        if place.log is None
    }
    return written, unseen


def _in_words(accounts: Mapping[TopicPartition, PartitionAccount]) -> str:
    known = [found.lost for found in accounts.values() if found.lost is not None]
    unknown = {tp: found.reason for tp, found in accounts.items() if found.lost is None}
    said = f"{sum(known):,} records lost in {len(known)} partitions"
    return said + (f"; unknown in {len(unknown)}: {_named(unknown)}" if unknown else "")


def _named(found: Mapping[TopicPartition, Any]) -> str:
    texts = [f"{tp} ({why})" for tp, why in sorted(found.items())]
    more = f" and {len(texts) - _LISTED} more" if len(texts) > _LISTED else ""
    return ", ".join(texts[:_LISTED]) + more
