"""YAML text as plain data, with the line and column of every key and value kept beside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Place:
    """A position in a file; both counted from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with the file: where, what, and what to do instead."""

    place: Place
    message: str
    hint: str = ""
    rule: str = ""

    def text(self, file: str) -> str:
        """`file:line:column: message [rule]`, the hint on a line of its own."""
        rule = f" [{self.rule}]" if self.rule else ""
        hint = f"\n    {self.hint}" if self.hint else ""
        return f"{file}:{self.place.line}:{self.place.column}: {self.message}{rule}{hint}"


@dataclass(frozen=True, slots=True)
class Source:
    """Plain data and the places of its parts: `keys` of mapping keys, `values` of everything."""

    data: Any
    keys: Mapping[Path, Place]
    values: Mapping[Path, Place]

    def key_place(self, path: Path) -> Place:
        """Where the key of `path` stands; else the nearest thing around it that exists."""
        return self.keys.get(path) or self.value_place(path)

    def value_place(self, path: Path) -> Place:
        """Where the value of `path` stands; else the nearest thing around it that exists."""
        while path not in self.values:
            path = path[:-1]
        return self.values[path]


def parse_yaml(text: str) -> tuple[Source | None, list[Problem]]:
    """One YAML document as `Source`, or the problems that keep it from being read."""
    try:
        node = yaml.compose(text, Loader=yaml.CSafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = Place(mark.line + 1, mark.column + 1) if mark else Place(1, 1)
        return None, [Problem(place, f"not YAML: {error.problem or error.context}")]
    except yaml.YAMLError as error:
        return None, [Problem(Place(1, 1), f"not YAML: {error}")]
    if node is None:
        return None, [
            Problem(Place(1, 1), "the file is empty; expected a topology (version, name, layout, …)")
        ]
    keys: dict[Path, Place] = {}
    values: dict[Path, Place] = {}
    problems: list[Problem] = []
    problems.extend(_collect(node, (), keys, values))
    constructor = yaml.CSafeLoader("")
    try:
        data = constructor.construct_document(node)
    except yaml.constructor.ConstructorError as error:
        place = (
            Place(error.problem_mark.line + 1, error.problem_mark.column + 1)
            if error.problem_mark
            else Place(1, 1)
        )
        return None, [*problems, Problem(place, str(error.problem))]
    finally:
        constructor.dispose()
    return Source(data, keys, values), problems


def _collect(
    node: yaml.Node, path: Path, keys: dict[Path, Place], values: dict[Path, Place]
) -> Iterator[Problem]:
    values[path] = _place(node)
    if isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            yield from _collect(item, (*path, index), keys, values)
    elif isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            name = key.value if isinstance(key.value, str) else str(key.value)
            below = (*path, name)
            if below in keys:
                first = keys[below]
                yield Problem(
                    _place(key), f"`{name}` stands twice; first in line {first.line}", "keep one of them"
                )
            keys[below] = _place(key)
            yield from _collect(value, below, keys, values)


def _place(node: yaml.Node) -> Place:
    return Place(node.start_mark.line + 1, node.start_mark.column + 1)
