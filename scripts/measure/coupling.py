"""Where code knows what it need not: kinds of things that others own, and results of steps by their names."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from .source import Module, docstrings, last_word

Place = tuple[str, int]
"""Path and line."""


@dataclass(frozen=True, slots=True)
class Aspect:
    """Something of which only its `owners` (packages) are to tell the values apart.

    `words` are the names under which code holds such a value. `values`: what it may be; a comparison with a
    literal that is none of them is about something else of that name. Empty: any. `apart`: packages that know
    no such thing: what they compare has nothing but the name in common.
    """

    words: frozenset[str]
    values: frozenset[str]
    owners: frozenset[str]
    apart: frozenset[str] = frozenset()


ASPECTS: Mapping[str, Aspect] = {
    "kind of application": Aspect(
        frozenset({"kind"}),
        frozenset({"group", "spark", "producer", "producers", "consumer", "consumers", "query"}),
        frozenset({"applications", "topology"}),
        # Lines of ZooKeeper's configuration have kinds as well: a group there is one of servers.
        frozenset({"adapters"}),
    ),
    "replication policy": Aspect(
        frozenset({"policy"}),
        frozenset({"default", "identity"}),
        frozenset({"mirrors", "replication", "topology"}),
    ),
    "layout": Aspect(frozenset({"layout"}), frozenset(), frozenset({"topology"})),
    "mirror engine": Aspect(
        frozenset({"engine", "mirror_engine"}),
        frozenset({"mirrormaker", "mirrormaker2", "mm2"}),
        frozenset({"mirrors", "replication", "topology"}),
    ),
}

# What MirrorMaker 2 calls its own: connectors, topics, policies, and itself.
_ENGINE = re.compile(
    r"mirror_?maker|mm2|Mirror(Source|Checkpoint|Heartbeat)|offset[-_. ]syncs"
    r"|(Identity|Default)ReplicationPolicy",
    re.IGNORECASE,
)
_IN_TEMPLATE = re.compile(r"\b(\w+) *(?:==|!=|(?:not )?in\b) *[\[({]*[\"']([^\"']*)")


def comparisons(modules: Sequence[Module], aspect: Aspect) -> list[tuple[Place, bool]]:
    """Each comparison (`==`, `!=`, `in`, `not in`, `match`) of such a value, and whether an owner makes it.

    They are known by names alone: one too many where code has another thing of the same name and value, one
    too few where a table of values stands in its place.
    """
    return [
        ((module.path, line), module.package in aspect.owners)
        for module in modules
        if module.package not in aspect.apart
        for line in sorted(_compared(module.tree, aspect))
    ]


def comparisons_in_templates(templates: Mapping[str, str], aspect: Aspect) -> list[Place]:
    """The same in the texts of templates, path -> text, which belong to no owner: with literals only."""
    return [
        (path, number)
        for path, text in templates.items()
        for number, line in enumerate(text.splitlines(), 1)
        for word, value in _IN_TEMPLATE.findall(line)
        if word in aspect.words and (not aspect.values or value in aspect.values)
    ]


def named_engine(modules: Sequence[Module]) -> dict[str, int]:
    """Path -> names and strings of the code, docstrings apart, that name what is MirrorMaker 2's.

    Of the modules outside the packages of mirrors and outside the topology file's model.
    """
    owners = {"mirrors", "replication", "topology"}
    found = {m.path: sum(1 for _ in _engine_words(m.tree)) for m in modules if m.package not in owners}
    return {path: count for path, count in found.items() if count}


def read_by_string(modules: Sequence[Module]) -> list[Place]:
    """Each `results["…"]`, `….result["…"]`, the same with `.get(…)`, and with the name of a constant.

    What is looked up in what such a look-up gave is not counted again.
    """
    return [
        (module.path, node.lineno)
        for module in modules
        for node in sorted(_looked_up(module.tree), key=lambda node: (node.lineno, node.col_offset))
    ]


def _compared(tree: ast.AST, aspect: Aspect) -> Iterator[int]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides: Sequence[ast.expr] = [node.left, *node.comparators]
            is_choice = any(isinstance(op, ast.Eq | ast.NotEq | ast.In | ast.NotIn) for op in node.ops)
            told: Sequence[ast.AST] = sides
        elif isinstance(node, ast.Match):
            sides, is_choice, told = [node.subject], True, [case.pattern for case in node.cases]
        else:
            continue
        if is_choice and any(last_word(side) in aspect.words for side in sides) and _is_about(told, aspect):
            yield node.lineno


def _is_about(sides: Sequence[ast.AST], aspect: Aspect) -> bool:
    """Whether what stands there can be the aspect's value: by its literals, or by the names on both sides."""
    if not aspect.values:
        return True
    literals = [
        node.value
        for side in sides
        for node in ast.walk(side)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    if literals:
        return any(literal in aspect.values for literal in literals)
    return all(last_word(side) in aspect.words for side in sides)


def _engine_words(tree: ast.Module) -> Iterator[str]:
    told = {id(found.value) for found in docstrings(tree)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in told:
            words = [node.value]
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            words = [node.name]
        elif isinstance(node, ast.arg):
            words = [node.arg]
        else:
            words = [last_word(node) or ""]
        yield from (word for word in words if _ENGINE.search(word))


def _looked_up(tree: ast.AST) -> Iterator[ast.Subscript | ast.Call]:
    for node in ast.walk(tree):
        match node:
            case ast.Subscript(value=of, slice=key):
                found = of, key
            case ast.Call(func=ast.Attribute(value=of, attr="get"), args=[key, *_]):
                found = of, key
            case _:
                continue
        if _is_results(found[0]) and _is_name_of_a_step(found[1]):
            yield node


def _is_results(node: ast.AST) -> bool:
    """`results` of all steps, or the `.result` of one."""
    return last_word(node) == "results" or (isinstance(node, ast.Attribute) and node.attr == "result")


def _is_name_of_a_step(key: ast.AST) -> bool:
    if isinstance(key, ast.Constant):
        return isinstance(key.value, str)
    word = last_word(key)
    return word is not None and word.isupper()
