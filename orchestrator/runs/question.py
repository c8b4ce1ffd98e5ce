"""What a person is asked before anything is changed: what, where, at what price, what stays. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from orchestrator.runs.engine import RunState, staying, steps_to_undo
from orchestrator.runs.plan import Plan, Step
from orchestrator.runs.prices import price_in_words
from orchestrator.runs.within_clusters import left_out_in_words
from orchestrator.topology.verbs import MOVING_VERBS
from orchestrator.wording import listed, plural

_LISTED = 3
_NONE = "no record"
Row = tuple[str, str]
Prices = Iterable[Mapping[str, int | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question. `title`: what is done where; `rows`: the price, each a name and a text.

    `name`: what is to be typed, `name_is` what that is the name of; `name` is empty where yes is enough.
    """

    title: str
    rows: tuple[Row, ...]
    name: str = ""
    name_is: str = ""

    def is_consent(self, answer: str) -> bool:
        """Whether a typed answer means yes. Blanks around it do not count; upper and lower case do."""
        typed = answer.strip()
        return typed == self.name if self.name else typed.lower() in ("y", "yes")


def question_of(plan: Plan) -> Question:
    """The question about a plan that its gates allow."""
    is_move = plan.verb in MOVING_VERBS
    rows = (
        *(_price(plan) if is_move else ()),
        *_denied(plan),
        *_copies(plan),
        *_quorum(plan),
        *(("stranded writes", row["said"]) for row in plan.facts.get("stranded", ())),
        *(("once it is done", row["said"]) for row in plan.facts.get("margin", ())),
        ("takes about", f"{plan.predicted.seconds:g} s"),
        *_for_good(step for step in plan.steps if step.irreversible),
    )
    name, name_is = _name(plan)
    return Question(title=f"{plan.way} (topology {plan.topology})", rows=rows, name=name, name_is=name_is)


def question_of_several(plans: Sequence[Plan]) -> Question:
    """The question about several moves of one topology, which are approved together: each with its price."""
    first = plans[0]
    rows = [(f"{plan.source} → {plan.target}", price_in_words(plan)) for plan in plans]
    rows += _for_good(step for plan in plans for step in plan.steps if step.irreversible)
    title = f"{first.verb.capitalize()} of {listed(plan.source for plan in plans)}, one after the other"
    title += f" (topology {first.topology})"
    return Question(title=title, rows=tuple(rows), name=first.topology, name_is="the topology")


def question_of_apply(plan: Plan, changes: int) -> Question:
    """The question about an apply: yes is enough where nothing of it destroys anything or stays for good."""
    title = f"Apply the topology file {plan.topology}: {plural(changes, 'change')} at {_clusters(plan)}"
    destroyed = [row for row in plan.facts["differences"] if row["needs"] and row["mend"] == "planned"]
    rows = [("takes about", f"{plan.predicted.seconds:g} s")]
    if destroyed:
        named = listed(
            (f"{row['needs']}: {row['subject']} at {row['cluster']}" for row in destroyed), _LISTED
        )
        rows.append(("destroys", named))
    rows += _for_good(step for step in plan.steps if step.irreversible)
    if not is_destructive(plan):
        return Question(title=title, rows=tuple(rows))
    return Question(title=title, rows=tuple(rows), name=plan.topology, name_is="the topology")


def is_destructive(plan: Plan) -> bool:
    """Whether an apply destroys something, or does what nothing rolls back."""
    rows = plan.facts["differences"]
    return any(step.irreversible for step in plan.steps) or any(
        row["needs"] and row["mend"] == "planned" for row in rows
    )


def question_of_undo(state: RunState) -> Question:
    """The question about taking a run back."""
    plan, back = state.plan, steps_to_undo(state)
    seconds = sum(step.expected_s for step in back if step.is_taken_back)
    rows: tuple[Row, ...] = (
        ("rolled back", plural(sum(step.is_taken_back for step in back), "step")),
        ("takes about", f"{seconds:g} s, as doing them was expected to"),
        *_for_good(staying(state)),
    )
    title = f"Roll back {plan.way} (topology {plan.topology}, run {state.run_id})"
    return Question(title=title, rows=rows, name=plan.topology, name_is="the topology")


def _name(plan: Plan) -> Row:
    """What is to be typed, and what it is: of a move whose place is not one cluster, the topology's name."""
    if plan.verb in MOVING_VERBS and not (plan.source and plan.target):
        return plan.topology, "the topology"
    if plan.verb == "failback":
        return plan.target, "the cluster that is gone back to"
    if plan.verb in MOVING_VERBS:
        return plan.source, "the cluster that is left"
    return plan.source, "the cluster"


def _price(plan: Plan) -> Iterator[Row]:
    lost = _at_most(plan.predicted.loss.values())
    seconds = plan.facts.get("loss_seconds_at_most")
    if not plan.predicted.loss:
        lost = "an unknown number of records"
    elif seconds is not None and lost != _NONE:
        lost += f" ({seconds:.1f} s)"
    yield "lost at most", lost
    yield "read again at most", _at_most(plan.predicted.reread.values())


def _at_most(rows: Prices) -> str:
    numbers = [row.get("at_most") for row in rows]
    known = [number for number in numbers if number is not None]
    if len(known) < len(numbers):
        return "an unknown number of records"
    records = sum(known)
    return f"{records:,} record{'' if records == 1 else 's'}" if records else _NONE


def _denied(plan: Plan) -> Iterator[Row]:
    """Of a fence or unfence: whom it is about."""
    for what in ("writing", "reading"):
        found = plan.facts.get(f"denied_{what}")
        if found and not plan.target:
            change = "denied" if plan.verb == "fence" else "allowed again"
            yield f"{change} {what}", listed(sorted(found), _LISTED)


def _copies(plan: Plan) -> Iterator[Row]:
    """Where `min.insync.replicas` is lowered: how many copies a record has once it is acknowledged."""
    found = plan.facts.get("copies")
    if found:
        rows = (f"{name} {count}" for name, count in found.items())
        yield "copies of a record once acknowledged, at least", listed(rows, _LISTED)


def _quorum(plan: Plan) -> Iterator[Row]:
    """Where voters that are left become the whole metadata quorum: who, and whether Kafka knows of it."""
    found = plan.facts.get("quorum")
    if found:
        yield "voters that decide alone from then on", listed(found, _LISTED)
    if found and (out := plan.facts.get("voters_left_out")):
        yield "voters left out of the quorum until failback", listed(left_out_in_words(out), _LISTED)
    if unsupported := plan.facts.get("unsupported"):
        yield "not supported", str(unsupported)


def _for_good(steps: Iterable[Step]) -> Iterator[Row]:
    """What cannot be taken back, and why, one row for each reason."""
    found: dict[str, list[str]] = {}
    for step in steps:
        found.setdefault(step.stays_because, []).append(step.title)
    for because, titles in found.items():
        said = listed(titles, _LISTED, separator="; ")
        yield "not rolled back", f"{said} ({because})" if because else said


def _clusters(plan: Plan) -> str:
    rows = plan.facts["differences"]
    return listed(sorted({row["cluster"] for row in rows if row["mend"] == "planned"}), _LISTED)
