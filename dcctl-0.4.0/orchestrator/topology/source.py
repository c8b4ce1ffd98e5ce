"""YAML text as plain data, and the line and column of every part of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

Path = tuple[str | int, ...]

# Each part of a file takes a character at least. Aliases can make any number of parts out of a few lines:
# so many are plenty for files that repeat themselves.
_PARTS_BY_ALIASES = 100_000
_DEEPEST = 100
# libyaml composes one level inside the other, on the stack: some ten thousand levels end the process.
_BRACKETS = re.compile(r"[\[\]{}]")
_NESTED_AT_ONCE = re.compile(rf"^(?:[ ]*[-?][ ]){{{_DEEPEST + 1}}}", re.MULTILINE)
# Beyond it no value of a topology makes sense, and JSON writers refuse some.
_LARGEST = 2**63
_SHOWN = 30

_TAG = "tag:yaml.org,2002:"
_MERGE = f"{_TAG}merge"


def name_of(path: Path) -> str:
    """`clusters.west.nodes[0]`, or words for the whole file."""
    name = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")
    return name or "the topology"


@dataclass(frozen=True, slots=True)
class Place:
    """A position in a file; both counted from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Source:
    """Plain data, and the YAML nodes that it was read from: they know their places."""

    data: Any
    root: yaml.Node

    def at(self, path: Path) -> Any:
        """The data at a path that exists."""
        here = self.data
        for part in path:
            here = here[part]
        return here

    def key_place(self, path: Path) -> Place:
        """Where the key of `path` stands; else the nearest thing around it that exists."""
        return _place(self._node(path, of_key=True))

    def value_place(self, path: Path) -> Place:
        """Where the value of `path` stands; else the nearest thing around it that exists."""
        return _place(self._node(path, of_key=False))

    def _node(self, path: Path, *, of_key: bool) -> yaml.Node:
        here = self.root
        for depth, part in enumerate(path, 1):
            found = _below(here, part)
            if found is None:
                return here
            key, value = found
            here = key if of_key and depth == len(path) and key is not None else value
        return here


def _below(node: yaml.Node, part: str | int) -> tuple[yaml.Node | None, yaml.Node] | None:
    if isinstance(node, yaml.SequenceNode):
        is_there = isinstance(part, int) and part < len(node.value)
        return (None, node.value[part]) if is_there else None
    if isinstance(node, yaml.MappingNode):
        return next(((key, value) for key, value in node.value if key.value == str(part)), None)
    return None


@dataclass(frozen=True, slots=True)
class Defect:
    """What keeps a text from being one YAML document with unique keys."""

    place: Place
    message: str
    hint: str = ""


class _Loader(yaml.CSafeLoader):
    """YAML's plain kinds. A date is text here: no value of a topology is one, and names may look like one."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != f"{_TAG}timestamp"]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


class _BrokenError(Exception):
    """Nothing can be read out of the document."""

    def __init__(self, defect: Defect) -> None:
        self.defect = defect
        super().__init__(defect.message)


def parse_yaml(text: str) -> tuple[Source | None, list[Defect]]:
    """One YAML document as `Source`, or what keeps it from being read."""
    try:
        if _may_be_deep(text) and (deep := _too_deep(text)) is not None:
            return None, [_nested(deep)]
        node = yaml.compose(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = Place(mark.line + 1, mark.column + 1) if mark else Place(1, 1)
        return None, [_defect_of(text, place, error)]
    except yaml.YAMLError as error:
        return None, [Defect(Place(1, 1), f"not YAML: {str(error).splitlines()[0]}")]
    if node is None:
        expected = "expected a topology (version, name, layout, …)"
        return None, [Defect(Place(1, 1), f"the file is empty; {expected}")]
    reader = _Reader(len(text) + _PARTS_BY_ALIASES)
    try:
        data = reader.read(node)
    except _BrokenError as error:
        deep = _too_deep(text)
        return None, [*reader.defects, error.defect if deep is None else _nested(deep)]
    return Source(data, node), reader.defects


def _nested(place: Place) -> Defect:
    return Defect(place, f"not YAML that can be read: nested more than {_DEEPEST} levels deep")


def _defect_of(text: str, place: Place, error: yaml.MarkedYAMLError) -> Defect:
    """What a parser's error means; a tab is named, which libyaml calls a character like any other."""
    line = text.splitlines()[place.line - 1 : place.line]
    if line and line[0][place.column - 1 : place.column] == "\t":
        return Defect(place, "not YAML: a tab, where YAML wants spaces", "indent by spaces")
    return Defect(place, f"not YAML: {error.problem or error.context}")


def _may_be_deep(text: str) -> bool:
    """Whether a text may be nested deeper than `_DEEPEST`; brackets within texts are counted as well."""
    if _NESTED_AT_ONCE.search(text):
        return True
    depth = 0
    for found in _BRACKETS.finditer(text):
        depth += 1 if found[0] in "[{" else -1
        # More are closed than were opened: some stand in a text or a comment, and nothing follows from them.
        if depth > _DEEPEST or depth < 0:
            return True
    return False


def _too_deep(text: str) -> Place | None:
    """Where a text is nested deeper than `_DEEPEST`, found without composing it."""
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > _DEEPEST:
                mark = event.start_mark
                return Place(mark.line + 1, mark.column + 1) if mark else Place(1, 1)
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
    return None


class _Reader:
    """Makes plain data of nodes in one walk, and notices keys that stand twice.

    PyYAML's own constructor keeps book of every node, which takes longer than reading the text.
    """

    def __init__(self, most_parts: int) -> None:
        self.defects: list[Defect] = []
        self._most_parts = most_parts
        self._constructor = _Loader("")
        self._parts = 0
        self._depth = 0

    def read(self, node: yaml.Node) -> Any:
        """The data of a node and everything below it."""
        self._parts += 1
        if self._parts > self._most_parts or self._depth > _DEEPEST:
            message = "an alias contains itself, or aliases multiply without end"
            raise _BrokenError(Defect(Place(1, 1), message))
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node)
        self._depth += 1
        if isinstance(node, yaml.SequenceNode):
            data: Any = [self.read(item) for item in node.value]
        else:
            data = self._mapping(node)
        self._depth -= 1
        return data

    def _scalar(self, node: yaml.ScalarNode) -> Any:
        if node.tag == f"{_TAG}str":
            return node.value
        make = _SCALARS.get(node.tag)
        if make is None:
            raise _BrokenError(Defect(_place(node), f"not YAML: unknown tag {node.tag.removeprefix(_TAG)}"))
        shown = node.value if len(node.value) <= _SHOWN else f"{node.value[:_SHOWN]}…"
        try:
            value = make(self._constructor, node)
        except ValueError:
            raise _BrokenError(Defect(_place(node), f"not YAML: `{shown}` is no number")) from None
        if isinstance(value, int) and not -_LARGEST <= value < _LARGEST:
            message = f"`{shown}` is too large a number; expected at most {_LARGEST - 1}"
            raise _BrokenError(Defect(_place(node), message))
        return value

    def _mapping(self, node: yaml.Node) -> dict[str, Any]:
        data: dict[str, Any] = {}
        first: dict[str, yaml.Node] = {}
        merged: list[yaml.Node] = []
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise _BrokenError(Defect(_place(key), "not YAML: a key must be text"))
            if key.tag == _MERGE:
                merged.append(value)
                continue
            name = key.value
            if name in first:
                line = _place(first[name]).line
                message = f"`{name}` is given twice; first in line {line}"
                self.defects.append(Defect(_place(key), message, "keep one of them"))
            first.setdefault(name, key)
            data[name] = self.read(value)
        for value in merged:
            for name, inherited in self._merged(value).items():
                data.setdefault(name, inherited)
        return data

    def _merged(self, node: yaml.Node) -> dict[str, Any]:
        """What `<<: *base`, or a list of such, brings along; the first that has a key wins."""
        data: dict[str, Any] = {}
        for part in node.value if isinstance(node, yaml.SequenceNode) else [node]:
            if not isinstance(part, yaml.MappingNode):
                raise _BrokenError(Defect(_place(part), "not YAML: `<<` takes a mapping"))
            for name, value in self._mapping(part).items():
                data.setdefault(name, value)
        return data


_SCALARS: Mapping[str, Callable[[Any, yaml.ScalarNode], Any]] = {
    f"{_TAG}int": _Loader.construct_yaml_int,
    f"{_TAG}float": _Loader.construct_yaml_float,
    f"{_TAG}bool": _Loader.construct_yaml_bool,
    f"{_TAG}null": _Loader.construct_yaml_null,
}


def _place(node: yaml.Node) -> Place:
    return Place(node.start_mark.line + 1, node.start_mark.column + 1)
