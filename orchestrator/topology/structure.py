"""The shape that the model expects of a file: its fields at any path, and what to say where it differs."""

from __future__ import annotations

import dataclasses
import difflib
import functools
import json
import types
import typing
from collections.abc import Collection, Mapping
from typing import Any

from pydantic_core import ErrorDetails

from orchestrator.topology.consumer_kinds import Entries
from orchestrator.topology.mirror_engines import ENGINES
from orchestrator.topology.model import Consumer, Replication, Topology
from orchestrator.topology.problems import Problem
from orchestrator.topology.secrecy import hides
from orchestrator.topology.source import Path, Source, name_of

UNKNOWN_KEY = ("extra_forbidden", "unexpected_keyword_argument")
MISSING = ("missing", "missing_argument")

_EXPECTED = {
    "string_type": "text",
    "int_type": "a whole number",
    "tuple_type": "a list",
    "dict_type": "a mapping",
    "dataclass_type": "a mapping",
    "float_type": "a number",
    "bool_type": "true or false",
    "finite_number": "a finite number",
}

_NAMES_IN_KAFKA = {
    "replication_factor": "replicas",
    "num_partitions": "partitions",
    "group_id": "name",
    "client_id": "name",
    "bootstrap_servers": "bootstrap",
}
"""Kafka's names of what the file calls otherwise, with `_` for `.`."""

_BOUNDS = {
    "greater_than_equal": ("ge", "{} or more"),
    "greater_than": ("gt", "more than {:g}"),
    "too_long": ("max_length", "no more than {} entries"),
    "string_too_long": ("max_length", "no more than {} characters"),
}

_VERSION = "a version of three numbers, like 4.3.1"
_PATTERNS = {
    r"^\d+\.\d+\.\d+$": _VERSION,
    r"^[A-Za-z0-9][A-Za-z0-9._-]*$": "a name of letters, digits, `.`, `_` and `-`",
    r"^[A-Za-z0-9._-]+$": "a topic's name: letters, digits, `.`, `_` and `-`",
    r"^User:.+$": "a principal, like User:checkout",
}


def path_of(details: ErrorDetails) -> Path:
    """Where the model found it; pydantic's mark for a mapping's key is left out."""
    return tuple(part for part in details["loc"] if part != "[key]")


def structural_problem(details: ErrorDetails, source: Source, shape: Shape) -> Problem:
    """What a user is told about one difference between the file and the model. Never shows a secret."""
    path, kind = path_of(details), details["type"]
    if kind in UNKNOWN_KEY:
        return _unknown_key(path, source, shape)
    if kind in MISSING and isinstance(path[-1], int):
        message = f"{name_of(path[:-1])} has {_entries(path[-1])}; more are expected"
        return Problem(source.value_place(path), message)
    if kind in MISSING:
        message = f"{name_of(path[:-1])} lacks `{path[-1]}`"
        return Problem(source.value_place(path), message, _add(shape.choices_at(path)))
    value, name = details["input"], name_of(path)
    expected, hint = _expected(details, value, path)
    if is_key := "[key]" in details["loc"]:
        name = f"the key of {name}"
    place = source.key_place(path) if is_key else source.value_place(path)
    if hides(path, str(value)):
        message = f"{name} is not what it should be; expected {expected}"
        return Problem(place, message, hint and "write a secret as ${env:NAME} or ${file:PATH}")
    shown = (
        _kind(value) if isinstance(value, dict | list) else json.dumps(value, ensure_ascii=False, default=str)
    )
    return Problem(place, f"{name} is {shown}; expected {expected}", hint)


def _unknown_key(path: Path, source: Source, shape: Shape) -> Problem:
    present, key, entry = source.at(path[:-1]), str(path[-1]), shape.consumer_at(path[:-1])
    other = shape.entries.kind_with(key) if entry is not None else None
    if entry is not None and other is not None:
        message = f"`{present.get('name')}` is a {entry.noun} and has no {key}"
        hint = f"remove it, or take kind: {other.name}"
        return Problem(source.value_place(path), message, hint, other.keys_rule)
    message = f"unknown key `{key}` in {name_of(path[:-1])}"
    free = [name for name in shape.fields_at(path[:-1]) if name not in present]
    return Problem(source.key_place(path), message, _nearest_field(key, free, present))


def _entries(count: int) -> str:
    return "1 entry" if count == 1 else f"{count} entries"


def _kind(value: Any) -> str:
    return "a mapping" if isinstance(value, dict) else "a list"


def _expected(details: ErrorDetails, value: Any, path: Path) -> tuple[str, str]:
    kind = details["type"]
    if kind == "literal_error":
        choices = str(details["ctx"]["expected"]).replace("'", "").replace(" or ", ", ")
        one = "" if ", " not in choices else "one of "
        if not isinstance(value, str) and str(value) in choices.split(", "):
            return f"{one}{choices}", f'write it in quotes: "{value}"'
        close = difflib.get_close_matches(str(value), choices.split(", "), n=1)
        return f"{one}{choices}", f"did you mean `{close[0]}`?" if close else ""
    if kind == "string_pattern_mismatch":
        pattern = details["ctx"]["pattern"]
        return _PATTERNS.get(pattern, f"text like {pattern}"), ""
    hint = ""
    if kind == "string_type" and isinstance(value, int | float | bool):
        hint = "write all three numbers" if path[-1:] == ("kafka",) else "write it in quotes to make it text"
    if kind in ("int_type", "float_type") and isinstance(value, str) and value.lstrip("-").isdecimal():
        hint = "write it without quotes"
    if kind == "tuple_type" and isinstance(value, str):
        hint = "write it in brackets to make it a list"
    if kind in _BOUNDS:
        key, words = _BOUNDS[kind]
        return words.format(details["ctx"][key]), ""
    if path[-1:] == ("kafka",) and kind == "string_type":
        return _VERSION, hint
    plain = details["msg"].removeprefix("Input should be ").removeprefix("a valid ")
    return _EXPECTED.get(kind, plain), hint


def _add(choices: tuple[str, ...]) -> str:
    """How to mend a missing key: with its values, where it has a few."""
    return f"add it: one of {', '.join(choices)}" if choices else "add it"


def _nearest_field(word: str, valid: list[str], present: Collection[str]) -> str:
    """The key that was probably meant, also by its name in Kafka; else all that could stand there."""
    own = _NAMES_IN_KAFKA.get(word.replace(".", "_"), "")
    if own in valid:
        return f"it is called `{own}` here"
    if own in present:
        return f"remove it: `{own}` is the same, and is there already"
    close = difflib.get_close_matches(word, valid, n=1)
    if close:
        return f"did you mean `{close[0]}`?"
    return f"valid are: {', '.join(valid)}" if valid else ""


@dataclasses.dataclass(frozen=True, slots=True)
class Shape:
    """What the model has at each path of one file. `data`: the file's, by which the kinds of consumers are
    told; it may change meanwhile.
    """

    entries: Entries
    data: Any

    def fields_at(self, path: Path) -> list[str]:
        """Names of the fields that the model allows at `path`."""
        here = self.type_at(path)
        return list(field_types(here)) if is_mapping_of_fields(here) else []

    def choices_at(self, path: Path) -> tuple[str, ...]:
        """The values among which a key has to have one; empty where there are no few."""
        if path[:1] == ("consumers",) and path[2:] == ("kind",):
            return tuple(self.entries.names)
        here = self.type_at(path)
        return tuple(map(str, typing.get_args(here))) if typing.get_origin(here) is typing.Literal else ()

    def consumer_at(self, path: Path) -> type[Consumer] | None:
        """The class of the consumer at `path`; None where something else stands there."""
        match path:
            case ("consumers", int(index)) if index < len(self.data["consumers"]):
                return self.entries.entry(self.data["consumers"][index])
        return None

    def _mirror_at(self, path: Path) -> type[Replication] | None:
        match path:
            case ("replication", int(index)) if index < len(self.data["replication"]):
                return self.entries.mirrors.entry(self.data["replication"][index])
        return None

    def type_at(self, path: Path) -> Any:
        """The model's type at `path`; None where it has nothing of the kind."""
        here: Any = Topology
        for depth, part in enumerate(path, 1):
            at = path[:depth]
            here = self.consumer_at(at) or self._mirror_at(at) or _below(here, part)
            if here is None:
                return None
        if path[-1:] == ("engine",) and self._mirror_at(path[:-1]) is not None:
            return typing.Literal[ENGINES.names()]
        is_kind_of_consumer = path[-1:] == ("kind",) and self.consumer_at(path[:-1]) is not None
        return typing.Literal[self.entries.names] if is_kind_of_consumer else here


def _below(here: Any, part: str | int) -> Any:
    """The type of one part of a type; None where it has no such part."""
    origin = typing.get_origin(here)
    if is_mapping_of_fields(here):
        return field_types(here).get(str(part))
    if origin is tuple and isinstance(part, int):
        arguments = typing.get_args(here)
        return arguments[0] if arguments[-1] is Ellipsis or part >= len(arguments) else arguments[part]
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return typing.get_args(here)[-1]
    return None


def is_mapping_of_fields(kind: Any) -> bool:
    """Whether a type of the model is a mapping with keys of its own, a dataclass."""
    return dataclasses.is_dataclass(kind)


@functools.cache
def field_types(kind: Any) -> dict[str, Any]:
    """Field name -> type of a class of the model; of an optional type what is not None."""
    hints = typing.get_type_hints(kind, include_extras=True)
    return {field.name: _inner(hints[field.name]) for field in dataclasses.fields(kind)}


def _inner(hint: Any) -> Any:
    if typing.get_origin(hint) not in (typing.Union, types.UnionType):
        return hint
    choices = [choice for choice in typing.get_args(hint) if choice is not type(None)]
    return choices[0] if len(choices) == 1 else hint
