"""Who is denied what at which cluster by dcctl's own runs, and not let in again: by their journals."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

from orchestrator.adapters.zookeeper import Coordination
from orchestrator.errors import DcctlError, LockLostError, NoAnswerError
from orchestrator.moves.fencing import Denying, denials
from orchestrator.runs.attempts import last_intents, last_outcomes
from orchestrator.runs.effect import Held
from orchestrator.runs.engine import RunState, state_from_journal
from orchestrator.runs.estate_record import RunBegun, bodies
from orchestrator.runs.held import freed, still_held
from orchestrator.runs.live.estate_facts import read_facts
from orchestrator.runs.live.journal import journal_records
from orchestrator.runs.live.state_folder import run_folder
from orchestrator.runs.plan import Plan, RunEvent, plan_from_json
from orchestrator.runs.registry import Registry
from orchestrator.topology.verbs import MOVING_VERBS
from orchestrator.values import Acl
from orchestrator.verbs.registration import EFFECTS

_VERBS = frozenset({"fence", "unfence", *MOVING_VERBS})
_RUNS_LOOKED_AT = 20
_Key = tuple[str, str]
_Begun = Sequence[tuple[str, RunBegun]]
_Journal = tuple[RunState, Sequence[RunEvent]]


class _Run(NamedTuple):
    """One run as its journal tells it.

    `rules`: those of its denials that may stand, and whether surely. `unnamed`: operation and principal of
    those of a run of another version, whose steps are not known here.
    """

    state: RunState
    records: Sequence[RunEvent]
    rules: Mapping[tuple[str, Acl], bool]
    unnamed: Sequence[tuple[str, str]]


class _Unread(NamedTuple):
    """One run whose journal cannot be read, and why."""

    run_id: str
    body: RunBegun
    problem: str


def fence_rows(
    coordination: Coordination, topology: str, effects: Registry = EFFECTS
) -> list[dict[str, Any]]:
    """A row for each fence of which something stands, or may, the oldest first.

    `since_s`: when it was denied, Unix seconds. `writing`, `reading`: principals. `surely`: whether all of
    that is denied, as far as dcctl's own runs tell: rules that somebody changed by hand are not seen.
    `problem`: why its journal cannot be read; `since_s`, `writing` and `reading` are null then. Raises
    `CoordinationError` where the ensemble does not answer, or the record of what was begun cannot be read.
    """

    read = cache(partial(_read, coordination, topology))
    runs = _walked(_since_first_open(_begun(coordination, topology), read, effects), read, effects)
    rows = [row for run in runs for row in _rows(run, effects)]
    return rows[::-1]


def denied_rules(
    coordination: Coordination, topology: str, effects: Registry = EFFECTS
) -> dict[str, dict[Acl, str]]:
    """cluster -> rule -> id of the run that denies so, of the newest runs that may deny or let in.

    Of what a run may have denied, and did perhaps not, too. Raises `CoordinationError` where the
    ensemble does not answer or the record cannot be read; a journal that cannot be read tells nothing.
    """

    read = partial(_read, coordination, topology)
    begun = [run for run in _begun(coordination, topology) if run[1].verb in _VERBS]
    found: dict[str, dict[Acl, str]] = {}
    for run in _walked(begun[-_RUNS_LOOKED_AT:], read, effects):
        if isinstance(run, _Run):
            for cluster, rule in run.rules:
                found.setdefault(cluster, {}).setdefault(rule, run.state.run_id)
    return found


def _begun(coordination: Coordination, topology: str) -> _Begun:
    facts = read_facts(coordination, topology, [RunBegun])
    return [(fact.run_id, body) for fact in facts for body in bodies([fact], RunBegun)]


def _read(coordination: Coordination, topology: str, run_id: str) -> _Journal | str:
    """A run by its journal, or why that cannot be read."""
    try:
        records = journal_records(coordination, topology, run_id, run_folder(run_id))
        if "plan" not in records[0].data:
            return f"run {run_id}: its first record holds no plan"
        return state_from_journal(plan_from_json(records[0].data["plan"]), run_id, records), records
    except (NoAnswerError, LockLostError):
        raise  # it says nothing of this one journal, and the next one would be waited for as well
    except DcctlError as error:
        return f"{error.subject}: {error.problem}"


def _walked(
    begun: _Begun, read: Callable[[str], _Journal | str], effects: Registry
) -> Iterator[_Run | _Unread]:
    """The runs that deny or let in, the newest first, each with what no later one has let in.

    Whom one that cannot be read has let in is not known: at its clusters nobody is surely denied by an
    earlier one.
    """
    allow_at_target: dict[_Key, bool] = {}
    doubtful: set[str] = set()
    for run_id, body in reversed(begun):
        if body.verb not in _VERBS:
            continue
        known = read(run_id)
        if isinstance(known, str):
            yield _Unread(run_id, body, known)
            doubtful |= set() if body.verb == "fence" else {body.source, body.target}
            continue
        state, records = known
        rules = _standing(state, allow_at_target, doubtful, effects)
        cluster = state.plan.source
        unnamed = [
            (operation, principal)
            for operation, principal in _unnamed(state, records, effects)
            if not allow_at_target.get(_unnamed_key(operation, principal, cluster), False)
        ]
        yield _Run(state, records, rules, unnamed)
        for key, surely in _allow_at_target(state, records, effects):
            allow_at_target[key] = allow_at_target.get(key, False) or surely


def _standing(
    state: RunState, allow_at_target: Mapping[_Key, bool], doubtful: Collection[str], effects: Registry
) -> dict[tuple[str, Acl], bool]:
    held = {_key(one.held): one.surely for one in still_held(state, effects)}
    return {
        (effect.cluster, rule): held[key] and key not in allow_at_target and effect.cluster not in doubtful
        for effect in map(effects.understood, state.plan.steps)
        if isinstance(effect, Denying)
        for rule in effect.rules
        for key in map(_key, denials(effect.cluster, (rule,)))
        if key in held and not allow_at_target.get(key, False)
    }


def _unnamed(state: RunState, records: Sequence[RunEvent], effects: Registry) -> Iterator[tuple[str, str]]:
    """Operation and principal of what a fence of another version has denied, by what its plan tells."""
    is_known = any(isinstance(effects.understood(step), Denying) for step in state.plan.steps)
    if state.plan.verb != "fence" or is_known or records[-1].data.get("outcome") == "undone":
        return
    yield from _told(state.plan)


def _told(plan: Plan) -> Iterator[tuple[str, str]]:
    """Operation and principal of those whom a plan to fence or unfence names."""
    for operation, name in (("WRITE", "denied_writing"), ("READ", "denied_reading")):
        for principal in plan.facts.get(name, {}):
            yield operation, principal


def _allow_at_target(
    state: RunState, records: Sequence[RunEvent], effects: Registry
) -> Iterator[tuple[_Key, bool]]:
    """Who was let in by a run, surely or maybe."""
    for held, surely in freed(state, effects):
        yield _key(held), surely
    if state.plan.verb == "unfence" and records[-1].data.get("outcome") == "ok":
        for operation, principal in _told(state.plan):
            yield _unnamed_key(operation, principal, state.plan.source), True


def _since_first_open(begun: _Begun, read: Callable[[str], _Journal | str], effects: Registry) -> _Begun:
    """The runs from the first fence on of which something stands, or may, for all that unfences tell.

    One whose own journal cannot be read is over where a later one has let in all whom the file had there.
    """
    first, allow_at_target, is_open_to_all = len(begun), set[_Key](), set[str]()
    for number, (run_id, body) in reversed(list(enumerate(begun))):
        known = read(run_id) if body.verb in ("fence", "unfence") else None
        if isinstance(known, str):
            if body.verb == "fence" and body.source not in is_open_to_all:
                first = number
        elif known is not None and body.verb == "unfence":
            allow_at_target.update(key for key, surely in _allow_at_target(*known, effects) if surely)
            if _is_of_all(*known):
                is_open_to_all.add(body.source)
        elif known is not None and not _denied(*known, effects) <= allow_at_target:
            first = number
    return begun[first:]


def _denied(state: RunState, records: Sequence[RunEvent], effects: Registry) -> set[_Key]:
    """All that a fence has denied, or may have."""
    unnamed = {_unnamed_key(*one, state.plan.source) for one in _unnamed(state, records, effects)}
    return {_key(one.held) for one in still_held(state, effects)} | unnamed


def _is_of_all(state: RunState, records: Sequence[RunEvent]) -> bool:
    return records[-1].data.get("outcome") == "ok" and not state.plan.request.get("principals")


def _rows(run: _Run | _Unread, effects: Registry) -> Iterator[dict[str, Any]]:
    """The row of a fence of which something stands, or may."""
    if isinstance(run, _Unread):
        if run.body.verb == "fence":
            row = {"cluster": run.body.source, "run_id": run.run_id, "problem": run.problem}
            yield {**row, "since_s": None, "writing": None, "reading": None, "surely": False}
        return
    plan, rules = run.state.plan, run.rules
    denied = {*run.unnamed, *((rule.operation, rule.principal) for _, rule in rules)}
    if plan.verb != "fence" or not denied:
        return
    steps = [step.id for step in plan.steps if isinstance(effects.understood(step), Denying)]
    outcomes, intents = last_outcomes(run.records), last_intents(run.records)
    times = [found.at_s for step in steps if (found := outcomes.get(step) or intents.get(step)) is not None]
    yield {
        "cluster": plan.source,
        "run_id": run.state.run_id,
        "problem": "",
        "since_s": min(times, default=run.records[0].at_s),
        "writing": sorted(principal for operation, principal in denied if operation == "WRITE"),
        "reading": sorted(principal for operation, principal in denied if operation == "READ"),
        "surely": bool(steps) and all(rules.values()),
    }


def _unnamed_key(operation: str, principal: str, cluster: str) -> _Key:
    return f"{principal} {operation}", cluster


def _key(held: Held) -> _Key:
    return held.subject, held.cluster
