"""What is drawn of a plan, whatever language it is drawn in: boxes, arrows and their words. Pure.

Sections are boxes around their steps; the phases stand in for them where a plan has none. An arrow leads from
a step to what waits for it. An arrow that follows from others is left out, unless its reason is policy: then
nothing else would say it.
"""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import networkx as nx

from orchestrator.runs.plan import NEEDS_RESULT, Plan, Step
from orchestrator.wording import plural

Ending = Literal["rolled back", "is not rolled back", "irreversible", "nothing to roll back"]
"""What becomes of a step's effect when the run is taken back."""

# How often the way to it changes sections; whether it is one; its name, or that of a phase.
_Box = tuple[int, bool, str]

_WIDTH = 38
_TITLE_LINES = 4
_REASON_WIDTH = 28
# What a failure does, and what that means.
_ON_FAILURE = {
    "stop": ("the run stops", "resume goes on, abort goes back"),
    "undo": ("the run is rolled back", "it stops instead once an irreversible step has been done"),
    "note": ("the failure is reported", "the run has still done what it was for"),
}


@dataclass(frozen=True, slots=True)
class DrawnStep:
    """A box: `lines` are its words, the title first."""

    id: str
    lines: tuple[str, ...]
    ending: Ending
    is_on_longest_way: bool


@dataclass(frozen=True, slots=True)
class DrawnSection:
    """A box around steps. `lines`: its name and, where its steps agree and those of others do not, what a
    failure does. A section has several boxes where it waits for others in between.
    """

    lines: tuple[str, ...]
    steps: tuple[DrawnStep, ...]


@dataclass(frozen=True, slots=True)
class Arrow:
    """`waiting` waits for `needed`; `is_implied`: it would so anyway. `words`: why, where that is policy."""

    needed: str
    waiting: str
    words: tuple[str, ...]
    is_implied: bool
    is_on_longest_way: bool


@dataclass(frozen=True, slots=True)
class Outline:
    """A plan as it is drawn. `about` are the lines above it: what it is, and how it is to be read."""

    name: str
    about: tuple[str, ...]
    sections: tuple[DrawnSection, ...]
    arrows: tuple[Arrow, ...]


def outline_of(plan: Plan) -> Outline:
    """What is drawn of a plan.

    Raises `DcctlError` where its steps wait for each other in a circle, or for one that is not in it.
    """
    way = plan.longest_way()
    returns = points_of_no_return(plan)
    policy = _Policy.of(plan)
    arrows = _arrows(plan, way)
    return Outline(
        name=f"{plan.way} ({plan.topology})",
        about=_about(plan, policy, arrows, returns),
        sections=tuple(
            DrawnSection(
                (name, *policy.section_lines(steps)),
                tuple(_drawn(step, policy.step_lines(step, steps), way, returns) for step in steps),
            )
            for name, steps in _boxes(plan)
        ),
        arrows=arrows,
    )


def points_of_no_return(plan: Plan) -> tuple[str, ...]:
    """Irreversible steps that wait for no other irreversible one. None where everything can be taken back.

    Until the first of these begins, the run can be taken back.
    """
    graph = plan.graph()
    irreversible = {step.id for step in plan.steps if step.irreversible}
    return tuple(
        step.id
        for step in plan.in_order()
        if step.irreversible and not irreversible & nx.ancestors(graph, step.id)  # type: ignore[no-untyped-call]
    )


def ending_of(step: Step) -> Ending:
    """What becomes of a step's effect when the run is taken back.

    What is looked at afterwards is an effect; without a compensation it stays.
    """
    if step.irreversible:
        return "irreversible"
    if step.is_taken_back:
        return "rolled back"
    return "is not rolled back" if step.stays_because or step.verify is not None else "nothing to roll back"


def _boxes(plan: Plan) -> list[tuple[str, list[Step]]]:
    """Sections with their steps, in the order in which a run comes to them.

    Boxes never wait for each other in a circle: a picture could not put them one below the other. What comes
    again behind another section is therefore a box of its own.
    """
    rounds = _rounds(plan)
    finest = sorted(set(rounds.values()))
    order: nx.DiGraph = nx.DiGraph()
    order.add_nodes_from(finest)
    order.add_edges_from((rounds[needed], rounds[waiting]) for needed, waiting in plan.graph().edges)
    order.remove_edges_from([(box, box) for box in finest])
    merged_into: dict[_Box, _Box] = {}
    for wider, narrower in itertools.combinations(finest, 2):
        if wider[1:] == narrower[1:] and wider in order and narrower in order:
            merged = nx.contracted_nodes(order, wider, narrower, self_loops=False)
            if nx.is_directed_acyclic_graph(merged):  # type: ignore[no-untyped-call]
                order, merged_into[narrower] = merged, wider
    found: dict[_Box, list[Step]] = {}
    for step in plan.in_order():
        box = rounds[step.id]
        found.setdefault(merged_into.get(box, box), []).append(step)
    return [(name, steps) for (_, _, name), steps in found.items()]


def _rounds(plan: Plan) -> dict[str, _Box]:
    """The narrowest boxes of the steps: none of a section waits for another of the same one."""
    found: dict[str, _Box] = {}
    for step in plan.in_order():
        own = (bool(step.section), step.section or step.phase)
        changes = (found[needed][0] + (found[needed][1:] != own) for needed in step.depends_on)
        found[step.id] = (max(changes, default=0), *own)
    return found


@dataclass(frozen=True, slots=True)
class _Policy:
    """What a failure does, said once: for the whole plan, for a section, or else at each step."""

    plan: frozenset[str]
    has_irreversible: bool

    @classmethod
    def of(cls, plan: Plan) -> _Policy:
        is_irreversible = any(step.irreversible for step in plan.steps)
        return cls(frozenset(step.on_failure for step in plan.steps), is_irreversible)

    def plan_lines(self) -> tuple[str, ...]:
        said = [
            _ON_FAILURE[policy] if policy != "undo" or self.has_irreversible else (_ON_FAILURE[policy][0], "")
            for policy in sorted(self.plan)
        ]
        if len(said) == 1:
            return tuple(f"If a step fails, {'; '.join(filter(None, parts))}." for parts in said)
        return tuple(f"“{does}”: {means}." for does, means in said if means)

    def section_lines(self, steps: Sequence[Step]) -> tuple[str, ...]:
        policies = {step.on_failure for step in steps}
        if len(self.plan) == 1 or len(policies) != 1:
            return ()
        return (f"if a step fails: {_ON_FAILURE[policies.pop()][0]}",)

    def step_lines(self, step: Step, section: Sequence[Step]) -> tuple[str, ...]:
        is_said = len({other.on_failure for other in section}) == 1
        return () if is_said else (f"if it fails: {_ON_FAILURE[step.on_failure][0]}",)


def _drawn(step: Step, policy: Iterable[str], way: Sequence[str], returns: Sequence[str]) -> DrawnStep:
    ending = ending_of(step)
    facts = [step.id, f"{step.expected_s:g} s", *(["↶"] if ending == "rolled back" else [])]
    lines = [*_title(step.title), " · ".join(facts), *policy]
    if step.id in returns:
        lines.append("POINT OF NO RETURN")
    if ending in ("irreversible", "is not rolled back"):
        kept = "cannot be rolled back" if ending == "irreversible" else ending
        because = f": {_plain(step.stays_because)}" if step.stays_because else ""
        lines += textwrap.wrap(f"{kept}{because}", _WIDTH)
    return DrawnStep(step.id, tuple(lines), ending, step.id in way)


def _title(title: str) -> list[str]:
    """A long title is cut: the plan in words has all of it."""
    return textwrap.wrap(
        _plain(title), _WIDTH, max_lines=_TITLE_LINES, placeholder=" …", break_on_hyphens=False
    )


def _plain(text: str) -> str:
    """In one line, with no space but blanks."""
    return " ".join(text.split())


def _arrows(plan: Plan, way: Sequence[str]) -> tuple[Arrow, ...]:
    graph = plan.graph()
    needed_ones = nx.transitive_reduction(graph)  # type: ignore[no-untyped-call]
    longest = set(itertools.pairwise(way))
    found = []
    for step in plan.in_order():
        reasons = policy_reasons(step)
        waits = [
            (needed, not needed_ones.has_edge(needed, step.id))
            for needed in dict.fromkeys(step.depends_on)
            if needed_ones.has_edge(needed, step.id) or needed in reasons
        ]
        for needed, is_implied in waits:
            reason = _plain(reasons.get(needed, ""))
            words = tuple(
                textwrap.wrap(reason, _REASON_WIDTH, break_long_words=False, break_on_hyphens=False)
            )
            found.append(Arrow(needed, step.id, words, is_implied, (needed, step.id) in longest))
    return tuple(found)


def policy_reasons(step: Step) -> Mapping[str, str]:
    """For each step that this one waits for as a matter of policy: why."""
    return {
        needed: reason
        for needed, reason in step.reasons.items()
        if needed in step.depends_on and reason and reason != NEEDS_RESULT
    }


def _about(plan: Plan, policy: _Policy, arrows: Sequence[Arrow], returns: Sequence[str]) -> tuple[str, ...]:
    """What it is, whether it is allowed, and only those signs explained that are drawn."""
    if not plan.steps:
        return (f"{plan.way} ({plan.topology}): nothing to do", *_closed(plan))
    endings = {ending_of(step) for step in plan.steps}
    why = (
        "; a text beside it gives the reason, where that is policy"
        if any(arrow.words for arrow in arrows)
        else ""
    )
    implied = "; dashed: the step would wait anyway" if any(arrow.is_implied for arrow in arrows) else ""
    size = f"{plural(len(plan.steps), 'step')}, {plan.critical_path_s():.1f} s expected"
    lines = [
        f"{plan.way} ({plan.topology}): {size}",
        *_closed(plan),
        f"An arrow leads to the step that waits{why}{implied}. Thick: the critical path.",
        *policy.plan_lines(),
    ]
    if returns:
        lines.append(
            "Point of no return: a step that cannot be rolled back stays, with all that it rests on; "
            "before the first one, the run can be rolled back."
        )
    if "rolled back" in endings:
        lines.append("↶: this step is undone when the run is rolled back, the last step first.")
    return tuple(piece for line in lines for piece in textwrap.wrap(line, 2 * _WIDTH, break_on_hyphens=False))


def _closed(plan: Plan) -> list[str]:
    """The gates that are in the way."""
    said = []
    for outcome in ("refused", "unknown"):
        gates = [gate.id for gate in plan.gates if gate.outcome == outcome]
        if gates:
            said.append(f"{outcome}: {', '.join(gates)}")
    return [f"NOT ALLOWED NOW: gates are closed. {'; '.join(said)}"] if said else []
