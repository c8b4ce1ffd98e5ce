"""Who is denied what at which cluster by dcctl's own runs, and not let in again: by their journals."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from orchestrator.adapters.zookeeper import Coordination
from orchestrator.engine import RunState, state_from_journal
from orchestrator.errors import DcctlError
from orchestrator.moves.effect import Held
from orchestrator.moves.effects import MOVE_EFFECTS
from orchestrator.moves.fencing import Denying, denials
from orchestrator.moves.held import freed, still_held
from orchestrator.moves.registry import Registry
from orchestrator.operations.attempts import last_intents, last_outcomes
from orchestrator.operations.estate_facts import read_facts
from orchestrator.operations.journal import journal_records
from orchestrator.operations.state_folder import run_folder
from orchestrator.planning.estate_record import RunBegun, bodies
from orchestrator.planning.plan import RunEvent, plan_from_json
from orchestrator.topology.verbs import MOVING_VERBS
from orchestrator.values import Acl

_VERBS = frozenset({"fence", "unfence", *MOVING_VERBS})
_RUNS_LOOKED_AT = 20
_Key = tuple[str, str]
_Begun = Sequence[tuple[str, RunBegun]]


class _Run(NamedTuple):
    """One run as its journal tells it. `rules`: those of its denials that may stand, and whether surely."""

    state: RunState
    records: Sequence[RunEvent]
    rules: Mapping[tuple[str, Acl], bool]


def fence_rows(
    coordination: Coordination, topology: str, effects: Registry = MOVE_EFFECTS
) -> list[dict[str, Any]]:
    """A row for each fence of which something stands, or may, the oldest first.

    `since_s`: when it was denied, Unix seconds. `writing`, `reading`: principals. `surely`: whether all of
    that is denied, as far as dcctl's own runs tell: rules that somebody changed by hand are not seen. Raises
    `DcctlError` where a journal cannot be read.
    """

    def read(run_id: str) -> tuple[RunState, Sequence[RunEvent]]:
        return _read(coordination, topology, run_id)

    runs = _walked(_since_first_open(_begun(coordination, topology), read), read, effects)
    rows = (_row(run, effects) for run in runs if run.state.plan.verb == "fence")
    return [row for row in rows if row["writing"] or row["reading"]][::-1]


def denied_rules(
    coordination: Coordination, topology: str, effects: Registry = MOVE_EFFECTS
) -> dict[str, dict[Acl, str]]:
    """cluster -> rule -> id of the run that denies so, of the newest runs that may deny or let in.

    Of what a run may have denied, and did perhaps not, too. Raises `CoordinationError` where the record
    cannot be read; a journal that cannot be read tells nothing.
    """

    def read(run_id: str) -> tuple[RunState, Sequence[RunEvent]] | None:
        try:
            return _read(coordination, topology, run_id)
        except DcctlError:
            return None

    begun = [run for run in _begun(coordination, topology) if run[1].verb in _VERBS]
    found: dict[str, dict[Acl, str]] = {}
    for run in _walked(begun[-_RUNS_LOOKED_AT:], read, effects):
        for cluster, rule in run.rules:
            found.setdefault(cluster, {}).setdefault(rule, run.state.run_id)
    return found


def _begun(coordination: Coordination, topology: str) -> _Begun:
    facts = read_facts(coordination, topology, [RunBegun])
    return [(fact.run_id, body) for fact in facts for body in bodies([fact], RunBegun)]


def _read(coordination: Coordination, topology: str, run_id: str) -> tuple[RunState, Sequence[RunEvent]]:
    records = journal_records(coordination, topology, run_id, run_folder(run_id))
    if "plan" not in records[0].data:
        raise DcctlError(f"run {run_id}", "its first record holds no plan")
    return state_from_journal(plan_from_json(records[0].data["plan"]), run_id, records), records


def _walked(
    begun: _Begun,
    read: Callable[[str], tuple[RunState, Sequence[RunEvent]] | None],
    effects: Registry,
) -> Iterator[_Run]:
    """The runs that deny or let in, the newest first, each with what no later one has let in."""
    let_in: dict[_Key, bool] = {}
    for run_id, body in reversed(begun):
        known = read(run_id) if body.verb in _VERBS else None
        if known is None:
            continue
        state, records = known
        yield _Run(state, records, _standing(state, let_in, effects))
        for held, surely in freed(state, effects):
            let_in[_key(held)] = let_in.get(_key(held), False) or surely


def _standing(state: RunState, let_in: Mapping[_Key, bool], effects: Registry) -> dict[tuple[str, Acl], bool]:
    held = {_key(one.held): one.surely for one in still_held(state, effects)}
    return {
        (effect.cluster, rule): held[key] and key not in let_in
        for effect in map(effects.understood, state.plan.steps)
        if isinstance(effect, Denying)
        for rule in effect.rules
        for key in map(_key, denials(effect.cluster, (rule,)))
        if key in held and not let_in.get(key, False)
    }


def _since_first_open(begun: _Begun, read: Callable[[str], tuple[RunState, Sequence[RunEvent]]]) -> _Begun:
    """The runs from the first fence on behind which nobody has let in all whom the file had there."""
    first, is_open_to_all = len(begun), set()
    for number, (run_id, body) in reversed(list(enumerate(begun))):
        if body.source in is_open_to_all:
            continue
        if body.verb == "fence":
            first = number
        elif body.verb == "unfence" and _is_of_all(*read(run_id)):
            is_open_to_all.add(body.source)
    return begun[first:]


def _is_of_all(state: RunState, records: Sequence[RunEvent]) -> bool:
    return records[-1].data.get("outcome") == "ok" and not state.plan.request.get("principals")


def _row(run: _Run, effects: Registry) -> dict[str, Any]:
    plan, rules = run.state.plan, run.rules
    told = {
        operation: sorted({rule.principal for _, rule in rules if rule.operation == operation})
        for operation in ("WRITE", "READ")
    }
    steps = [step.id for step in plan.steps if isinstance(effects.understood(step), Denying)]
    if not steps:  # of another version, whose steps are not known here
        told["WRITE"] = sorted(plan.facts.get("denied_writing", {}))
        told["READ"] = sorted(plan.facts.get("denied_reading", {}))
    outcomes, intents = last_outcomes(run.records), last_intents(run.records)
    times = [found.at_s for step in steps if (found := outcomes.get(step) or intents.get(step)) is not None]
    return {
        "cluster": plan.source,
        "run_id": run.state.run_id,
        "since_s": min(times, default=run.records[0].at_s),
        "writing": told["WRITE"],
        "reading": told["READ"],
        "surely": bool(steps) and all(rules.values()),
    }


def _key(held: Held) -> _Key:
    return held.subject, held.cluster
