"""One run retold from its journal: who, why, what was measured, what decided, what done, how long. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from orchestrator.errors import DcctlError
from orchestrator.moves.results import LOSS, SAVED, TRANSLATIONS
from orchestrator.replication.offsets_json import offsets_to_json
from orchestrator.runs.attempts import listed_by_last
from orchestrator.runs.earlier_results import loss_of_earlier
from orchestrator.runs.engine import RunState, state_from_journal
from orchestrator.runs.overrides import recorded_overrides
from orchestrator.runs.plan import STEPS_READ, RunEvent, plan_from_json
from orchestrator.runs.prices import LEFT_BEHIND, READERS_ALONE
from orchestrator.runs.registry import Registry
from orchestrator.runs.run_times import phase_rows, run_times
from orchestrator.runs.way_back import stands_for_good
from orchestrator.runs.where_now import held_rows, held_unknown, only_its_own_tells, staying_rows, where_now
from orchestrator.runs.words import words_wanted
from orchestrator.verbs.registration import EFFECTS

_GONE_ON = ("run-resumed", "undo-started")


def run_story(records: Sequence[RunEvent], effects: Registry = EFFECTS) -> dict[str, Any]:
    """The story as data, for `show --json` and for its view. Times are Unix epoch seconds.

    `where_now`, `held`, `stays`: by its last record, see `where_now`; `waits_for`: words of a person for
    which it waits, see `runs.word`; `no_way_back`: what keeps it from being taken back, see `runs.way_back`.
    `applications`: what becomes of each by the plan; empty where that cannot be read.
    `translations`, `saved_offsets`: as in `RunResult`, empty for a run of another version. `held` is None
    where this dcctl does not know it, `loss` where it cannot read what was counted; `held_unknown` and
    `loss_unknown` say why. `effects`: those of whoever takes part in it.
    """
    first, last = records[0], records[-1]
    plan: Mapping[str, Any] = first.data.get("plan", {})
    facts: Mapping[str, Any] = plan.get("facts", {})
    titles = {str(step["id"]): step for step in plan.get("steps", ())}
    acts = list(_acts(records, titles))
    times = run_times(records)
    is_over = last.kind == "run-ended"
    outcome = str(last.data.get("outcome", "unknown")) if is_over else "open"
    return {
        "run_id": first.run_id,
        "verb": str(first.data.get("verb", plan.get("verb", ""))),
        "topology": plan.get("topology", ""),
        "source": str(first.data.get("source", "")),
        "target": str(first.data.get("target", "")),
        "command": first.message,
        # Empty for a run from before that was recorded.
        "dcctl_version": str(first.data.get("dcctl_version", "")),
        "who": _who(first, plan),
        "reason": _reason(first, plan),
        "given_up": first.data.get("given_up", ""),
        "overrides": recorded_overrides(records),
        "asked_at_s": times.asked_at_s,
        "ended_at_s": times.ended_at_s,
        "seconds": times.seconds,
        "stopped_seconds": times.stopped_s,
        "outcome": outcome,
        "let_stand": list(last.data.get("let_stand", ())) if is_over else [],
        "outcome_reason": last.message
        if is_over
        else "the journal has no end: the run was stopped, or is still running",
        **_standing(records, effects),
        "gates": list(plan.get("gates", ())),
        "predicted": plan.get("predicted", {}),
        "loss_seconds_at_most": facts.get("loss_seconds_at_most"),
        READERS_ALONE: facts.get(READERS_ALONE, False),
        LEFT_BEHIND: facts.get(LEFT_BEHIND, {}),
        "acts": acts,
        "producers": listed_by_last(records, "producers"),
        "phases": phase_rows(times),
        "not_done": [
            str(step["title"])
            for step_id, step in titles.items()
            if is_over and not any(act.get("step") == step_id for act in acts)
        ],
    }


def _standing(records: Sequence[RunEvent], effects: Registry) -> dict[str, Any]:
    """What stands of it by its last record; nothing is known of a run whose plan cannot be read."""
    try:
        plan = plan_from_json(records[0].data["plan"])
    except (DcctlError, KeyError):
        why = "the plan of this run cannot be read"
        unread = {"held": None, "held_unknown": why, "loss": None, "loss_unknown": why}
        nothing: dict[str, Any] = {
            "waits_for": [],
            "stays": [],
            "no_way_back": [],
            "translations": [],
            "saved_offsets": {},
            "applications": [],
        }
        return {"where_now": "", **nothing, **unread}
    state = state_from_journal(plan, records[0].run_id, records)
    return {
        "where_now": where_now(state, effects),
        "held": held_rows(state, effects),
        "held_unknown": held_unknown(state, effects),
        "waits_for": [asdict(word) for word in words_wanted(state, records, effects)],
        "stays": staying_rows(state),
        "no_way_back": [asdict(row) for row in stands_for_good(state, records)],
        "applications": [asdict(one) for one in plan.applications],
        **_loss(state, effects),
        **_positions(state, effects),
    }


def _loss(state: RunState, effects: Registry) -> dict[str, Any]:
    """What was counted as lost, partition by partition; empty where nothing was, None where nobody knows."""
    if state.plan.dcctl_version not in STEPS_READ:
        earlier = loss_of_earlier(state.plan, state.results)
        return {
            "loss": earlier,
            "loss_unknown": "" if earlier is not None else only_its_own_tells(state.plan),
        }
    try:
        counted = effects.told(state.plan, state.results, LOSS)
    except DcctlError as error:
        return {"loss": None, "loss_unknown": f"{error.subject}: {error.problem}"}
    return {
        "loss": {topic: found for one in counted for topic, found in one.loss.items()},
        "loss_unknown": "",
    }


def _positions(state: RunState, effects: Registry) -> dict[str, Any]:
    """Where each position was translated to, and what had stood there; empty for a run of another version."""
    if state.plan.dcctl_version not in STEPS_READ:
        return {"translations": [], "saved_offsets": {}}
    try:
        translated = effects.told(state.plan, state.results, TRANSLATIONS)
        saved = effects.told(state.plan, state.results, SAVED)
    except DcctlError:
        return {"translations": [], "saved_offsets": {}}
    return {
        "translations": [row for found in translated for row in found.translations],
        "saved_offsets": {
            group: offsets_to_json(offsets) for one in saved for group, offsets in one.offsets.items()
        },
    }


def _who(first: RunEvent, plan: Mapping[str, Any]) -> dict[str, Any]:
    said = dict(first.data.get("by", {}))
    asked_by = plan.get("request", {}).get("by")
    return {"who": said.get("who", asked_by or ""), "host": said.get("host", ""), "pid": said.get("pid")}


def _reason(first: RunEvent, plan: Mapping[str, Any]) -> str:
    return str(plan.get("request", {}).get("reason") or first.data.get("reason") or "")


def _acts(records: Sequence[RunEvent], steps: Mapping[str, Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """What was done, in the order in which it was begun; what nobody saw the end of has no outcome."""
    open_acts: dict[tuple[str, str], dict[str, Any]] = {}
    found: list[dict[str, Any]] = []
    for number, record in enumerate(records):
        way = "undo" if record.kind.startswith("undo") else "do"
        if record.kind in ("step-intent", "undo-intent"):
            step = steps.get(record.step, {})
            act = {
                "what": "step" if way == "do" else "undone",
                "step": record.step,
                "title": step.get("title", record.step),
                "phase": step.get("phase", ""),
                "section": step.get("section", ""),
                "stays_because": step.get("stays_because", "") if way == "undo" else "",
                "at_s": record.at_s,
                "seconds": None,
                "outcome": None,
                "message": "",
            }
            open_acts[way, record.step] = act
            found.append(act)
        elif record.kind in ("step-outcome", "undo-outcome"):
            open_act = open_acts.get((way, record.step))
            if open_act is None:
                continue
            open_act.update(
                outcome=record.came_to,
                message=record.message,
                seconds=round(record.at_s - open_act["at_s"], 3),
                found_after_restart=bool(record.data.get("found_after_restart")),
            )
        elif record.kind in _GONE_ON:
            by = record.data.get("by", {})
            before_s = records[number - 1].at_s if number else record.at_s
            found.append(
                {
                    "what": "gone on" if record.kind == "run-resumed" else "taken back",
                    "at_s": record.at_s,
                    "after_s": round(record.at_s - before_s, 3),
                    "who": by.get("who", ""),
                    "host": by.get("host", ""),
                    "message": record.message,
                }
            )
    yield from found
