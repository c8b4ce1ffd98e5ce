"""A plan read as a picture: nothing of its order, its reasons and its way back is missing or made up."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.errors import DcctlError
from orchestrator.runs.drawing import dot, mermaid
from orchestrator.runs.drawing.outline import (
    Outline,
    ending_of,
    outline_of,
    points_of_no_return,
    policy_reasons,
)
from orchestrator.runs.plan import NEEDS_RESULT, GateResult, Plan, Step
from orchestrator.verbs.plans import plan_failover
from tests.runs.drawing.reading import Drawn, read_dot, read_mermaid
from tests.runs.test_any_exception import VERBS, plans
from tests.verbs import pictures

NASTY = (
    "end",
    'a "quoted" [thing]',
    "R&D &lt;b&gt;",
    "<script>",
    "#35; `code` *bold*",
    "back\\slash\\n",
    "]]",
)

_PRINTED = st.characters(exclude_categories=["C", "Z"], include_characters=" ")


def plan_of(*steps: Step) -> Plan:
    """A plan of these steps alone."""
    return Plan(
        verb="bake", topology="bakery", source="west", target="east", request={}, created_at_s=0.0,
        expires_at_s=1.0, topology_digest="", observed={}, gates=(), steps=steps,
    )  # fmt: skip


def step(name: str, *after: str, **changes: object) -> Step:
    """A step that looks at something."""
    fields = {"id": name, "phase": "prepare", "title": f"See {name}", "action": "look", "depends_on": after}
    return Step(**(fields | {"expected_s": 1.0} | changes))  # type: ignore[arg-type]


def words_of(outline: Outline, name: str) -> str:
    """What the box of a step says, in one line."""
    steps = [step for section in outline.sections for step in section.steps]
    (lines,) = [step.lines for step in steps if step.id == name]
    return " ".join(lines)


@st.composite
def any_plan(draw: st.DrawFn) -> Plan:
    """Steps of any sections, policies, names and orders."""
    names = [f"s{number}" for number in range(draw(st.integers(0, 8)))]
    text = st.one_of(st.sampled_from(NASTY), st.text(_PRINTED, min_size=1, max_size=60).filter(str.strip))
    steps = []
    for number, name in enumerate(names):
        after = draw(st.lists(st.sampled_from(names[:number]), unique=True, max_size=4)) if number else []
        reasons = {needed: draw(st.one_of(st.just(NEEDS_RESULT), text)) for needed in after}
        steps.append(
            step(
                name,
                *after,
                title=draw(text),
                section=draw(st.sampled_from(["", "fence", "move", "end"])),
                phase=draw(st.sampled_from(["fence", "verify"])),
                reasons=draw(st.sampled_from([{}, reasons])),
                irreversible=draw(st.booleans()),
                compensation=draw(st.sampled_from([None, "undo"])),
                on_failure=draw(st.sampled_from(["stop", "undo", "note"])),
                expected_s=draw(st.sampled_from([0.0, 0.5, 3.0])),
                stays_because=draw(st.one_of(st.just(""), text)),
            )
        )
    return plan_of(*steps)


def assert_drawn_whole(plan: Plan) -> None:
    """Every step once; the same order; every reason that is policy; boxes that do not wait in a circle."""
    outline, graph = outline_of(plan), plan.graph()
    drawn = [step.id for section in outline.sections for step in section.steps]
    assert sorted(drawn) == sorted(step.id for step in plan.steps)
    arrows = {(arrow.needed, arrow.waiting): arrow for arrow in outline.arrows}
    picture = nx.DiGraph(arrows.keys())
    picture.add_nodes_from(drawn)
    assert set(nx.transitive_closure(picture).edges) == set(nx.transitive_closure(graph).edges)
    plain = {ends for ends, arrow in arrows.items() if not arrow.is_implied}
    assert plain == set(nx.transitive_reduction(graph).edges), "what follows from others is told apart"
    for step in plan.steps:
        said = {needed: " ".join(arrows[needed, step.id].words) for needed in policy_reasons(step)}
        assert said == {needed: " ".join(why.split()) for needed, why in policy_reasons(step).items()}
    home = {step.id: number for number, section in enumerate(outline.sections) for step in section.steps}
    boxes = nx.DiGraph([(home[a], home[b]) for a, b in graph.edges if home[a] != home[b]])
    assert nx.is_directed_acyclic_graph(boxes)


def assert_longest_way(plan: Plan) -> None:
    """It takes as long as the plan, each step waits for the one before, and it alone is thick."""
    way, outline = plan.longest_way(), outline_of(plan)
    assert sum(plan.step(name).expected_s for name in way) == pytest.approx(plan.critical_path_s())
    thick = {(arrow.needed, arrow.waiting) for arrow in outline.arrows if arrow.is_on_longest_way}
    assert thick == set(itertools.pairwise(way))
    boxes = [step for section in outline.sections for step in section.steps]
    assert {step.id for step in boxes if step.is_on_longest_way} == set(way)


def assert_read_back(plan: Plan) -> None:
    """Both languages say what the outline says, to a reader that knows nothing of it."""
    outline = outline_of(plan)
    labels = {step.id: step.lines for section in outline.sections for step in section.steps}
    arrows = {(arrow.needed, arrow.waiting): arrow.words for arrow in outline.arrows}
    thick = {(arrow.needed, arrow.waiting) for arrow in outline.arrows if arrow.is_on_longest_way}
    in_boxes = [[step.id for step in section.steps] for section in outline.sections]
    named = [step for box in in_boxes for step in box]

    def is_same(drawn: Drawn, names: dict[str, str]) -> None:
        assert {names[key]: label for key, label in drawn.labels.items() if key in names} == {
            name: "\n".join(lines) for name, lines in labels.items()
        }
        assert [[names[key] for key in box] for box in drawn.boxes.values()] == in_boxes
        assert list(drawn.box_labels.values()) == ["\n".join(box.lines) for box in outline.sections]
        assert {(names[a], names[b]): words for (a, b), words in drawn.arrows.items()} == {
            ends: "\n".join(words) for ends, words in arrows.items()
        }
        assert {(names[a], names[b]) for a, b in drawn.thick} == thick

    is_same(read_dot(dot.dot_text(plan)), {name: name for name in named})
    read = read_mermaid(mermaid.mermaid_text(plan))
    assert read.labels["about"] == "\n".join(outline.about)
    is_same(read, {f"s{number}": name for number, name in enumerate(named)})


CHECKS: tuple[Callable[[Plan], None], ...] = (assert_drawn_whole, assert_longest_way, assert_read_back)


@pytest.mark.filterwarnings("ignore:.*deprecated:DeprecationWarning")
@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("verb", VERBS)
def test_the_plan_of_every_verb(verb: str, check: Callable[[Plan], None]) -> None:
    """As a run would carry it out."""
    check(plans()[verb])


@pytest.mark.filterwarnings("ignore:.*deprecated:DeprecationWarning")
@pytest.mark.parametrize("check", CHECKS)
def test_any_plan(check: Callable[[Plan], None]) -> None:
    """Whatever names, sections, reasons and orders it has."""

    @settings(max_examples=30, deadline=None)
    @given(any_plan())
    def holds(plan: Plan) -> None:
        check(plan)

    holds()


def test_a_word_of_a_reason_is_never_cut() -> None:
    """However long it is, and where it has a hyphen."""
    plan = plans()["failover"]
    last = plan.steps[-1]
    reasons = dict.fromkeys(last.depends_on, f"{'w' * 40} behind-{'the' * 10}-hyphens")
    assert_drawn_whole(replace(plan, steps=(*plan.steps[:-1], replace(last, reasons=reasons))))


@pytest.mark.parametrize("verb", VERBS)
def test_what_becomes_of_each_step_is_said(verb: str) -> None:
    """Its seconds, and whether it goes, stays for good, or ends what can be taken back."""
    plan = plans()[verb]
    outline, returns = outline_of(plan), points_of_no_return(plan)
    for step in plan.steps:
        said = words_of(outline, step.id)
        assert f"{step.id} · {step.expected_s:g} s" in said
        assert ("↶" in said) == (step.compensation is not None and not step.stays_because)
        assert ("cannot be rolled back" in said) == step.irreversible
        assert " ".join(step.stays_because.split()) in said
        assert ("POINT OF NO RETURN" in said) == (step.id in returns)
    assert any("Point of no return" in " ".join(outline.about) for _ in returns) == bool(returns)


def test_the_point_of_no_return_is_the_first_that_stays_for_good() -> None:
    """What is irreversible behind it is none; where all can be taken back there is none."""
    assert points_of_no_return(plans()["failover"]) == ("start-producers", "start-consumers", "start-queries")
    assert points_of_no_return(plans()["fence"]) == ()
    first = step("sell", irreversible=True, stays_because="it was eaten")
    plan = plan_of(
        step("bake"), replace(first, depends_on=("bake",)), step("tell", "sell", irreversible=True)
    )
    assert points_of_no_return(plan) == ("sell",)
    outline = outline_of(plan)
    assert "POINT OF NO RETURN cannot be rolled back: it was eaten" in words_of(outline, "sell")
    assert "POINT OF NO RETURN" not in words_of(outline, "tell")


def test_an_order_that_is_policy_keeps_its_reason_though_it_follows_from_others() -> None:
    """One that only follows is left out."""
    plan = plan_of(
        step("knead", section="dough"),
        step("rest", "knead", section="dough", reasons={"knead": NEEDS_RESULT}),
        step(
            "bake",
            "knead",
            "rest",
            section="oven",
            reasons={"knead": "no dough lies open", "rest": NEEDS_RESULT},
        ),
        step("sell", "knead", "bake", section="shop", reasons={"knead": NEEDS_RESULT, "bake": NEEDS_RESULT}),
    )
    arrows = {(arrow.needed, arrow.waiting): arrow for arrow in outline_of(plan).arrows}
    assert set(arrows) == {("knead", "rest"), ("rest", "bake"), ("knead", "bake"), ("bake", "sell")}
    assert arrows["knead", "bake"].words == ("no dough lies open",)
    assert arrows["knead", "bake"].is_implied
    assert not arrows["rest", "bake"].words
    assert any("dashed" in line for line in outline_of(plan).about)


def test_what_a_failure_does_is_said_where_it_differs() -> None:
    """Once for all, else once for a section, else at each of its steps; and what stays, with its reason."""
    plan = plan_of(
        step("hold", section="before", on_failure="undo", stays_because="others rely on it"),
        step("close", "hold", section="before", on_failure="undo", compensation="open"),
        step("move", "close", section="within", on_failure="stop"),
        step("tell", "move", section="within", on_failure="note"),
    )
    before, within = outline_of(plan).sections
    assert before.lines == ("before", "if a step fails: the run is rolled back")
    assert within.lines == ("within",)
    outline = outline_of(plan)
    assert "is not rolled back: others rely on it" in words_of(outline, "hold")
    assert "if it fails: the run stops" in words_of(outline, "move")
    assert "if it fails: the failure is reported" in words_of(outline, "tell")
    assert "if it fails" not in words_of(outline, "close")
    alike = outline_of(plans()["failover"])
    assert any(line.startswith("If a step fails, the run stops") for line in alike.about)
    assert all(len(section.lines) == 1 for section in alike.sections)
    assert "If a step fails, the run is rolled back." in outline_of(plans()["fence"]).about
    assert any("irreversible" in line for line in outline_of(plans()["switchover"]).about)


def test_an_effect_without_a_way_back_is_told_from_a_look() -> None:
    """What is looked at afterwards is an effect."""
    assert ending_of(step("see")) == "nothing to roll back"
    assert ending_of(step("hold", verify="is-held")) == "is not rolled back"
    assert ending_of(step("hold", verify="is-held", compensation="let-go")) == "rolled back"
    assert ending_of(step("sell", verify="is-sold", irreversible=True)) == "irreversible"
    assert ending_of(step("ring", compensation="hush", stays_because="it was heard")) == "is not rolled back"


def test_a_section_that_waits_for_others_in_between_is_drawn_in_parts() -> None:
    """Boxes one below the other: the phases of a failback come again and again."""
    plan = plan_of(step("a", phase="fence"), step("b", "a", phase="drain"), step("c", "b", phase="fence"))
    assert [section.lines[0] for section in outline_of(plan).sections] == ["fence", "drain", "fence"]
    apart = plan_of(step("a", phase="fence"), step("b", "a", phase="drain"), step("c", phase="fence"))
    assert [section.lines[0] for section in outline_of(apart).sections] == ["fence", "drain"]


def test_a_failover_fits_a_page() -> None:
    """Eighteen steps, no box twice, hardly more arrows than steps, and a few lines above them."""
    outline, seconds = outline_of(plans()["failover"]), plans()["failover"].critical_path_s()
    assert [section.lines for section in outline.sections] == [
        ("stop the mirrors",), ("start applications",), ("verify that applications work",)
    ]  # fmt: skip
    assert len(outline.arrows) <= 22
    assert len(outline.about) <= 7
    assert outline.about[0] == f"Failover west → east (payments): 18 steps, {seconds:.1f} s expected"


def test_a_plan_that_is_not_allowed_says_so() -> None:
    """Nobody takes the picture of a refused failover for one that can be done."""
    file, request = pictures.topology(), replace(pictures.REQUEST, attested=())
    refused = outline_of(plan_failover(file, pictures.observation(), request))
    assert any("NOT ALLOWED NOW" in line and "refused: attested" in line for line in refused.about)
    assert not any("NOT ALLOWED" in line for line in outline_of(plans()["failover"]).about)


def test_nothing_to_do_is_drawn_as_that() -> None:
    """And a gate that is unknown stands beside it."""
    gate = GateResult(id="clusters-known", outcome="unknown", measured="", limit="", reason="")
    assert outline_of(plan_of()).about == ("Bake west → east (bakery): nothing to do",)
    plan = replace(plan_of(), gates=(gate,))
    assert outline_of(plan).about[1] == "NOT ALLOWED NOW: gates are closed. unknown: clusters-known"
    assert read_mermaid(mermaid.mermaid_text(plan)).boxes == {}


def test_steps_in_a_circle_are_no_picture() -> None:
    """An error in words, not a traceback."""
    with pytest.raises(DcctlError, match="circle"):
        outline_of(plan_of(step("a", "b"), step("b", "a")))
