"""docs/stretched.md, "Every step": the steps that the page names are those of runs within a cluster, both ways."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

from orchestrator.applications.groups.kind import ConsumerGroups
from orchestrator.applications.producers.kind import Producers
from orchestrator.mirrors.mirrormaker2.engine import MirrorMaker2
from orchestrator.moves.within_cluster.effects import WITHIN_CLUSTER_EFFECTS
from orchestrator.verbs.live.within_cluster import VERBS_WITHIN_CLUSTERS
from tests.runs.test_any_exception import plans
from tests.test_docs import ROOT, table

PAGE = ROOT / "docs" / "stretched.md"
PACKAGE = ROOT / "orchestrator" / "moves" / "within_cluster"
# Steps that others add to the plan of such a run: mirrors that stand for an election, applications seen at work.
BY_OTHERS: tuple[Callable[..., Any], ...] = (
    MirrorMaker2.halt,
    MirrorMaker2.set_behind,
    MirrorMaker2.go_on_halted,
    Producers.place,
    Producers.see,
    ConsumerGroups.see,
)


def bare(name: str) -> str:
    """Without what stands for a server, a site, an application or a mirror."""
    return re.sub(r"-?(\*|[A-Z]+)$", "", name)


def ids_in(source: str) -> Iterator[str]:
    """The ids that steps are given by name; a part that is computed is a star."""
    for node in ast.walk(ast.parse(textwrap.dedent(source))):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        given = [word.value for word in node.keywords if word.arg == "id" and name == "add"]
        if name == "id":
            given += node.args[:1]
        for value in given:
            if isinstance(value, ast.Constant):
                yield str(value.value)
            elif isinstance(value, ast.JoinedStr):
                yield "".join(
                    str(part.value) if isinstance(part, ast.Constant) else "*" for part in value.values
                )


def sources() -> Iterator[str]:
    """The code that puts steps into such plans."""
    for file in sorted(PACKAGE.rglob("*.py")):
        yield file.read_text(encoding="utf-8")
    yield from map(inspect.getsource, BY_OTHERS)


def described() -> set[str]:
    """Each step of the table, and each action that has another name than its step."""
    rows = table(PAGE, "### Every step")
    return {bare(name) for row in rows for name in re.findall(r"`([^`]+)`", row[0])}


def test_every_step_that_can_appear_is_described_and_no_other() -> None:
    """By its id in a plan, and by the name of its action."""
    declared = {effect.NAME for effect in WITHIN_CLUSTER_EFFECTS}
    declared |= {bare(name) for source in sources() for name in ids_in(source)}
    assert {"put-site-last", "form-quorum", "stop", "stop-returned-voters"} <= declared
    assert described() == declared


def test_every_step_of_the_plans_of_tests_is_described() -> None:
    """As a plan has it."""
    known = described()
    steps = {step.id for verb in VERBS_WITHIN_CLUSTERS for step in plans()[verb].steps}
    assert "await-leaders" in steps
    assert {step for step in steps if step not in known} == set()


def test_every_verb_in_a_run_id_is_explained() -> None:
    """With the command that such a run is one of."""
    rows = table(PAGE, "## A run, and its steps")
    assert {row[0].strip("`") for row in rows} == set(VERBS_WITHIN_CLUSTERS)


def test_each_row_of_the_table_is_whole() -> None:
    """What it does, what to do, and whether it is taken back."""
    assert [row for row in table(PAGE, "### Every step") if len(row) != 4 or not all(row)] == []
