"""What stands twice: sentences, functions that are alike, and ways of saying "and 3 more"."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence, Set

from .coupling import Place
from .source import Defined, Function, Module, docstrings

SENTENCE_CHARACTERS = 40
ALIKE_NODES = 12

# Where a name is written for tools alone, and what an assignment with a type has beside its own.
_NOT_TOLD = frozenset({"annotation", "returns", "type_comment", "ctx", "kind", "simple", "decorator_list"})
_AT_ENDS = " \n.,:;()"
_MORE_AFTER = re.compile(r"^\s+(?:\w+\s+)?more\b")
_MORE_BEFORE = re.compile(r"\band $")


def sentences(modules: Sequence[Module]) -> dict[str, list[Place]]:
    """String -> where it stands, of strings of 40 characters or more that stand at two places or more.

    No docstrings; spaces and punctuation at both ends do not count. An f-string is itself, with `{}` for each
    value in it, and each text between two values. Of two such strings at the very same places only the longer
    is told.
    """
    found: dict[str, list[Place]] = defaultdict(list)
    for module in modules:
        told = {id(doc.value) for doc in docstrings(module.tree)}
        for node in ast.walk(module.tree):
            text = _text(node).strip(_AT_ENDS) if id(node) not in told else ""
            if len(text) >= SENTENCE_CHARACTERS:
                found[text].append((module.path, node.lineno))  # type: ignore[attr-defined]
    twice = {text: sorted(places) for text, places in found.items() if len(places) > 1}
    longest: dict[tuple[Place, ...], str] = {}
    for text in sorted(twice, key=lambda text: (len(text), text)):
        longest[tuple(twice[text])] = text
    return {text: list(places) for places, text in sorted(longest.items())}


def alike(functions: Sequence[Defined]) -> list[list[Defined]]:
    """Groups of functions that do the same: equal but for docstrings, annotations and names of variables.

    Names of arguments and of what is assigned in a function are numbered in the order in which they come; all
    other names, attributes and literals have to be equal. Bodies of fewer than 12 nodes of syntax say too
    little; abstract ones say nothing.
    """
    groups: dict[str, list[Defined]] = defaultdict(list)
    for found in functions:
        body = _normalised(found.node)
        if body is not None:
            groups[body].append(found)
    return [group for group in groups.values() if len(group) > 1]


def and_more(modules: Sequence[Module]) -> list[Place]:
    """Each f-string that says how many more there are: "and {n} more", "and {n} partitions more"."""
    return sorted(
        (module.path, node.lineno)
        for module in modules
        for node in ast.walk(module.tree)
        if isinstance(node, ast.JoinedStr) and _counts_more(node)
    )


def _text(node: ast.AST) -> str:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    return ""


def _counts_more(text: ast.JoinedStr) -> bool:
    parts = text.values
    return any(
        isinstance(value, ast.FormattedValue)
        and _MORE_BEFORE.search(_text(before)) is not None
        and _MORE_AFTER.search(_text(after)) is not None
        for before, value, after in zip(parts, parts[1:], parts[2:], strict=False)
    )


def _normalised(function: Function) -> str | None:
    """The function's arguments and body, without names of its own; None where the body says too little."""
    body = function.body[ast.get_docstring(function, clean=False) is not None :]
    if sum(1 for statement in body for _ in ast.walk(statement)) < ALIKE_NODES:
        return None
    own = set(_bound(function))
    numbers: dict[str, str] = {}
    shown = [_shape(part, own, numbers) for part in (*_arguments(function), *body)]
    return "; ".join(shown)


def _shape(part: object, own: Set[str], numbers: dict[str, str]) -> str:
    """A node in words; each name of `own` as its number in the order of coming."""
    if isinstance(part, list):
        return f"[{', '.join(_shape(node, own, numbers) for node in part)}]"
    if isinstance(part, str) and part in own:
        return numbers.setdefault(part, f"#{len(numbers)}")
    if not isinstance(part, ast.AST):
        return repr(part)
    if isinstance(part, ast.Constant):
        return repr(part.value)  # a text that happens to be like a name is none
    if isinstance(part, ast.Attribute | ast.keyword):
        inner, name = part.value, part.attr if isinstance(part, ast.Attribute) else part.arg
        return f"{type(part).__name__}({_shape(inner, own, numbers)}, {name})"
    fields = [_shape(value, own, numbers) for field, value in ast.iter_fields(part) if field not in _NOT_TOLD]
    return f"{'Assign' if isinstance(part, ast.AnnAssign) else type(part).__name__}({', '.join(fields)})"


def _arguments(function: Function) -> list[ast.arg]:
    given = function.args
    every = [*given.posonlyargs, *given.args, given.vararg, *given.kwonlyargs, given.kwarg]
    return [arg for arg in every if arg is not None]


def _bound(function: Function) -> Iterator[str]:
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.ExceptHandler) and node.name:
            yield node.name
