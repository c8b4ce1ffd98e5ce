"""Leaving a sick cluster: its applications are stopped, and what answers is drained; the rest is named."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from orchestrator.engine import Results, StepOutcome
from orchestrator.errors import ClusterError, DcctlError
from orchestrator.operations.actions.clients import start_clients_again, stop_clients
from orchestrator.operations.actions.declaring import holding, look, stopped_clients
from orchestrator.operations.actions.draining import await_drained
from orchestrator.operations.actions.queries import copy_query_checkpoint_apart
from orchestrator.operations.by_time import samples_for
from orchestrator.operations.left import LeftReader
from orchestrator.operations.session import Session
from orchestrator.planning.offsets_json import offsets_to_json
from orchestrator.planning.plan import Step
from orchestrator.values import TopicPartition

_LISTED = 4


@holding(stopped_clients)
def stop_left_clients(session: Session, step: Step, results: Results) -> StepOutcome:
    """Stop applications where their hosts answer. What runs on is denied all the same, so nothing waits."""
    found = _where_hosts_answer(stop_clients, session, step, results)
    if found.outcome == "ok":
        return found
    return StepOutcome("ok", f"not all of them: {found.message}", {"not_stopped": found.message})


def start_left_clients_again(session: Session, step: Step, results: Results) -> StepOutcome:
    """Start what was stopped, where its hosts answer. Who is not reached is named, and not waited for."""
    found = _where_hosts_answer(start_clients_again, session, step, results)
    if found.outcome == "ok":
        return found
    if session.is_cancelled():
        return StepOutcome("failed", "interrupted", found.result)
    said = f"not all of them, start these yourself: {found.message}"
    return StepOutcome("ok", said, {**found.result, "not_started": found.message})


def _where_hosts_answer(
    act: Callable[[Session, Step, Results], StepOutcome], session: Session, step: Step, results: Results
) -> StepOutcome:
    """What came of it; a host that does not answer is a failure in words, no error."""
    if not step.arguments["clients"]:
        return StepOutcome("ok", "there are none")
    try:
        return act(session, step, results)
    except DcctlError as error:
        return StepOutcome("failed", error.problem)


@look
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


@look
def record_left_positions(session: Session, step: Step, _results: Results) -> StepOutcome:
    """What each group has committed there; where its coordinator is silent, the watcher's newest word.

    That may be as old as the file allows, counted up to when the watcher could not have it any more.
    """
    mirror = session.estate.mirror
    groups, asked_at_s = list(step.arguments["groups"]), session.clock.now_s()
    with LeftReader(session.servers, session.topology, mirror.source) as reader:
        said = reader.committed(groups)
    found = {group: dict(told) for group, told in said.items() if not isinstance(told, ClusterError)}
    at_s = dict.fromkeys(found, session.clock.now_s())
    silent = [group for group in groups if group not in found]
    old = {}
    if silent:
        history = samples_for(session.topology, mirror, session.estate.target)
        for group in silent:
            sampled = history.positions(group)
            found[group] = {tp: position.offset for tp, position in sampled.items()}
            at_s[group] = min((position.sampled_at_s for position in sampled.values()), default=0.0)
            age_s = (history.unseen_since_s(group) or asked_at_s) - at_s[group]
            if not sampled or age_s > step.arguments.get("max_age_s", age_s):
                old[group] = f"seen {age_s:.0f} s before" if sampled else "never seen"
    if old:
        return StepOutcome(
            "unknown",
            "their coordinators are silent, and the watcher's word is too old: "
            + ", ".join(f"{group} ({said})" for group, said in old.items())
            + "; failover.max_position_age_s allows older ones",
        )
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
    """Bring a query's copy up to its last batch; where that cannot be, a copy that is young enough stands."""
    found = copy_query_checkpoint_apart(session, step, results)
    if found.outcome == "ok":
        return found
    copy, limit_s = session.history.copies.get(str(step.arguments["query"])), step.arguments.get("max_age_s")
    age_s = None if copy is None or copy.batch is None else session.observation.samples.at_s - copy.at_s
    if limit_s is not None and (age_s is None or age_s > limit_s):
        old = "there is no other copy" if age_s is None else f"the watcher's copy is {age_s:.0f} s old"
        hint = "; failover.max_position_age_s allows an older one" if age_s is not None else ""
        return StepOutcome("unknown", f"{found.message}; {old}{hint}")
    return StepOutcome("ok", f"it goes on from the watcher's copy: {found.message}")


def named(found: Mapping[TopicPartition, Any]) -> str:
    """The first few partitions, each with what is said of it, and how many more there are."""
    texts = [f"{tp} ({why})" for tp, why in sorted(found.items())]
    more = f" and {len(texts) - _LISTED} more" if len(texts) > _LISTED else ""
    return ", ".join(texts[:_LISTED]) + more
