"""Kinds of applications and mirror engines are known by nobody but themselves and by whoever registers them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.replication.engine import all_engines
from orchestrator.topology.consumer_kinds import KINDS
from orchestrator.verbs.registration import EFFECTS, PARTICIPANTS
from scripts.measure.coupling import read_by_string
from scripts.measure.source import read_product

ROOT = Path(__file__).parents[2] / "orchestrator"
MOVES = ROOT / "moves"
PACKAGES = (ROOT / "applications", ROOT / "mirrors")
REGISTRY = ROOT / "verbs" / "registration.py"
OF_EFFECTS = (MOVES, ROOT / "runs", *PACKAGES)
RUNBOOKS = (
    "failover_runbook",
    "switchover_runbook",
    "failback_runbook",
    "stages",
    "handing_over",
    "way",
    "participants",
)
OF_PARTICIPANTS = ("connector", "group", "query", "queries", "checkpoint", "mirrormaker", "spark")


def tree(file: Path) -> ast.Module:
    """Its syntax."""
    return ast.parse(file.read_text(encoding="utf-8"))


def imported(file: Path) -> Iterator[str]:
    """Every name that it imports, with its module."""
    for node in ast.walk(tree(file)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def names(file: Path) -> Iterator[str]:
    """Every name in it: of variables, arguments, attributes, functions, classes, and what it imports."""
    for node in ast.walk(tree(file)):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
                yield name
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.keyword(arg=str(name)):
                yield name
            case ast.alias(name=name, asname=other):
                yield name.rpartition(".")[2]
                yield other or ""


def participants() -> set[str]:
    """The classes of kinds and engines."""
    return {type(each).__name__ for each in (*PARTICIPANTS.kinds, *PARTICIPANTS.engines)}


def test_a_participant_is_named_where_it_is_registered_only() -> None:
    """Who wants another one adds a module and registers it; most are named by their declarations."""
    known = participants()
    declared = {kind.takes_part.rpartition(":")[2] for kind in KINDS.all().values()}
    declared |= {type(engine).__name__ for engine in all_engines()}
    assert {"ConsumerGroups", "MirrorMaker2"} <= known <= declared.union(imported_names(REGISTRY))
    others = [
        file
        for file in ROOT.rglob("*.py")
        if file != REGISTRY and not any(package in file.parents for package in PACKAGES)
    ]
    assert len(others) > 300
    for file in others:
        assert not known & set(names(file)), file


def test_nothing_below_knows_the_package_of_a_participant() -> None:
    """Connections, checkpoints on a disk and what is observed are put together where verbs are carried out."""
    knowing = {
        file.relative_to(ROOT).parts[:2]
        for file in ROOT.rglob("*.py")
        if file != REGISTRY and not any(package in file.parents for package in PACKAGES)
        for name in imported(file)
        if name.startswith(tuple(_dotted(package) for package in PACKAGES))
    }
    assert knowing == {("verbs", "live"), ("cli", "relocate.py"), ("reconcile", "connectors.py")}


@pytest.mark.parametrize("runbook", RUNBOOKS)
def test_runbooks_know_no_engine_and_no_kind(runbook: str) -> None:
    """Neither by an import nor by a word of theirs."""
    file = MOVES / f"{runbook}.py"
    assert not [name for name in imported(file) if name.startswith(tuple(_dotted(p) for p in PACKAGES))]
    found = {name for name in names(file) for word in OF_PARTICIPANTS if word in name.lower()}
    assert found == set()


def imported_names(file: Path) -> list[str]:
    """Without their modules."""
    return [name.rpartition(".")[2] for name in imported(file)]


def _dotted(package: Path) -> str:
    return ".".join(package.relative_to(ROOT.parent).parts)


def effects() -> dict[str, Path]:
    """The classes of effects that a plan may name, with their modules."""
    return {
        effect.__name__: ROOT.parent / (effect.__module__.replace(".", "/") + ".py") for effect in EFFECTS
    }


def test_an_effect_knows_no_other_effect() -> None:
    """It takes results, whose types are apart from whoever brings them."""
    known = effects()
    assert len(known) > 50
    for file in set(known.values()):
        others = {name for name, of in known.items() if of != file}
        # One that is another one with a word more inherits from it.
        taken = {name.rpartition(".")[2] for name in imported(file)} & others
        assert taken == set(), file.name


def test_nothing_above_moves_names_an_effect() -> None:
    """Who reads a run asks what its effects declare: what they hold, the facts they wrote, what is told of them."""
    known = effects()
    naming = {
        (file.relative_to(ROOT).as_posix(), name)
        for file in ROOT.rglob("*.py")
        if file != REGISTRY and not any(package in file.parents for package in OF_EFFECTS)
        for name in imported(file)
        if name.startswith(tuple(_dotted(package) for package in OF_EFFECTS))
        and name.rpartition(".")[2] in known
    }
    assert naming == set()


def test_no_result_of_a_step_is_read_by_string() -> None:
    """But for runs of earlier versions, which had no types: one module reads these."""
    found = {path for path, _ in read_by_string(read_product(ROOT.parent))}
    assert found == {"orchestrator/runs/earlier_results.py"}
