"""From a file's text to a `Topology`: strict, and with every error at once."""

from __future__ import annotations

import dataclasses
import difflib
import json
import typing
from pathlib import Path as FilePath
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from orchestrator.errors import TopologyError
from orchestrator.topology.model import Topology
from orchestrator.topology.rules import broken_rules
from orchestrator.topology.source import Path, Problem, Source, parse_yaml

_ADAPTER: TypeAdapter[Topology] = TypeAdapter(Topology)


def load_topology(path: FilePath | str) -> Topology:
    """The topology in a file. Raises `TopologyError` with every problem as `file:line:column: …`."""
    file = str(path)
    try:
        text = FilePath(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise TopologyError(
            file, [f"{file}: there is no such file"], "the examples lie in topologies/"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise TopologyError(file, [f"{file}: cannot be read: {error}"]) from None
    return parse_topology(text, file)


def parse_topology(text: str, file: str = "topology") -> Topology:
    """The topology in a text; `file` is how its problems name it."""
    source, problems = parse_yaml(text)
    if source is None:
        raise _error(file, problems)
    try:
        topology = _ADAPTER.validate_json(json.dumps(source.data, default=str))
    except ValidationError as error:
        problems += [_problem(details, source) for details in error.errors(include_url=False)]
        raise _error(file, problems) from None
    problems += broken_rules(topology, source)
    if problems:
        raise _error(file, problems)
    return topology


def dump_topology(topology: Topology) -> dict[str, Any]:
    """The topology as plain data, defaults left out: what `parse_topology` reads back as equal."""
    data: dict[str, Any] = _ADAPTER.dump_python(topology, mode="json", exclude_defaults=True)
    return data


def topology_schema() -> dict[str, Any]:
    """JSON Schema of the file, for editors."""
    return _ADAPTER.json_schema()


def _error(file: str, problems: list[Problem]) -> TopologyError:
    ordered = sorted(problems, key=lambda problem: (problem.place.line, problem.place.column))
    return TopologyError(file, [problem.text(file) for problem in ordered])


def _problem(details: ErrorDetails, source: Source) -> Problem:
    path: Path = tuple(part for part in details["loc"] if part != "[key]")
    name, kind = _name(path), details["type"]
    if kind in ("extra_forbidden", "unexpected_keyword_argument"):
        valid = _fields_at(path[:-1])
        return Problem(
            source.key_place(path),
            f"unknown key `{path[-1]}` in {_name(path[:-1])}",
            _nearest(str(path[-1]), valid),
        )
    if kind in ("missing", "missing_argument"):
        return Problem(source.value_place(path), f"{_name(path[:-1])} lacks `{path[-1]}`", "add it")
    value = details["input"]
    shown = json.dumps(value, default=str) if not isinstance(value, dict | list) else type(value).__name__
    if kind == "literal_error":
        choices = details["ctx"]["expected"].replace("'", "").replace(" or ", ", ")
        close = difflib.get_close_matches(str(value), choices.split(", "), n=1)
        hint = f"did you mean `{close[0]}`?" if close else ""
        return Problem(source.value_place(path), f"{name} is {shown}; expected one of {choices}", hint)
    expected = details["msg"].removeprefix("Input should be ").removeprefix("a valid ")
    hint = (
        "write it in quotes to make it text"
        if kind == "string_type" and isinstance(value, int | float | bool)
        else ""
    )
    return Problem(
        source.value_place(path), f"{name} is {shown}; expected {_EXPECTED.get(kind, expected)}", hint
    )


_EXPECTED = {
    "string_type": "text",
    "int_type": "a whole number",
    "tuple_type": "a list",
    "dict_type": "a mapping",
    "dataclass_type": "a mapping",
    "float_type": "a number",
    "bool_type": "true or false",
}


def _name(path: Path) -> str:
    name = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")
    return name or "the topology"


def _nearest(word: str, valid: list[str]) -> str:
    close = difflib.get_close_matches(word, valid, n=1)
    if close:
        return f"did you mean `{close[0]}`?"
    return f"valid are: {', '.join(valid)}" if valid else ""


def _fields_at(path: Path) -> list[str]:
    """Names of the fields that the model allows at `path`."""
    here: Any = Topology
    for part in path:
        if dataclasses.is_dataclass(here):
            here = _inner(typing.get_type_hints(here).get(str(part)))
        elif typing.get_origin(here) is not None:
            here = _inner(typing.get_args(here)[-1 if not isinstance(part, int) else 0])
        else:
            return []
    return [field.name for field in dataclasses.fields(here)] if dataclasses.is_dataclass(here) else []


def _inner(hint: Any) -> Any:
    """The part of an optional hint that is not None."""
    choices = [choice for choice in typing.get_args(hint) if choice is not type(None)]
    return choices[0] if len(choices) == 1 and type(None) in typing.get_args(hint) else hint
