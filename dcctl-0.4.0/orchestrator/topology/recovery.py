"""Reading on behind a structural error, so that a file shows all that is wrong with it at once.

What a part was probably meant to be takes its place: the key that `did you mean` names, a number without
its quotes. Where nothing can be guessed a placeholder stands in, and nothing is said about what depends
on it: a problem that is told is always one of the file.
"""

from __future__ import annotations

import copy
import dataclasses
import difflib
import functools
import json
import typing
from collections.abc import Iterable, Sequence
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from orchestrator.topology.certainty import Reading
from orchestrator.topology.consumer_kinds import Entries
from orchestrator.topology.model import Topology
from orchestrator.topology.source import Path
from orchestrator.topology.structure import (
    MISSING,
    UNKNOWN_KEY,
    Shape,
    field_types,
    is_mapping_of_fields,
    path_of,
)

_PLACEHOLDERS: tuple[Any, ...] = ("unreadable", 1, "0.0.0", "User:unreadable", [], {}, 1.0, True)


class Repair:
    """A copy of a file's data with everything in the model's form. `tainted`: paths of placeholders."""

    def __init__(self, entries: Entries, data: Any) -> None:
        self.data = copy.deepcopy(data)
        self._shape = Shape(entries, self.data)
        self.tainted: set[Path] = set()

    def mend(self, errors: Iterable[ErrorDetails]) -> None:
        """Put something in the place of every part that the model refuses."""
        # Unknown keys first: one of them is often the missing one, misspelt.
        ordered = sorted(errors, key=lambda details: details["type"] not in UNKNOWN_KEY)
        for details in ordered:
            path = path_of(details)
            if details["type"] in UNKNOWN_KEY:
                self._rename(path)
            elif "[key]" in details["loc"]:
                self._remove(path)
                self.tainted.add((*path, "[key]"))
            else:
                self._replace(path, is_missing=details["type"] in MISSING)

    def _parent(self, path: Path) -> Any:
        here = self.data
        for part in path[:-1]:
            here = here[part]
        return here

    def _rename(self, path: Path) -> None:
        parent, key = self._parent(path), path[-1]
        value = parent.pop(key, None)
        free = [name for name in self._shape.fields_at(path[:-1]) if name not in parent]
        close = difflib.get_close_matches(str(key), free, n=1)
        if close:
            parent[close[0]] = value

    def _remove(self, path: Path) -> None:
        self._parent(path).pop(path[-1], None)

    def _replace(self, path: Path, *, is_missing: bool) -> None:
        if not path:
            raise _BeyondRepairError
        parent, key = self._parent(path), path[-1]
        if is_missing and key in parent:
            return
        old = None if is_missing else parent[key]
        if (new := _meant(self._shape.type_at(path), old)) is not None:
            parent[key] = new
            return
        self.tainted.add(path)
        owner = self._shape.type_at(path[:-1])
        if isinstance(parent, list) and is_missing:
            parent.append(_placeholder(self._shape.type_at(path)))
        elif is_mapping_of_fields(owner) and _is_optional(owner, str(key)):
            parent.pop(key, None)
        else:
            parent[key] = _placeholder(self._shape.type_at(path))


class _BeyondRepairError(Exception):
    """Nothing of the model's form is left to go on with."""


def read_on(
    adapter: TypeAdapter[Topology], entries: Entries, data: Any, errors: Sequence[ErrorDetails]
) -> Reading | None:
    """The topology that the file was probably meant to be; None if that cannot be told."""
    repair = Repair(entries, data)
    mended = frozenset(path_of(details) for details in errors)
    # A part that is put in the place of another can lack parts of its own, but not for ever.
    for _ in range(4):
        try:
            repair.mend(errors)
            topology = adapter.validate_json(json.dumps(repair.data), context=Entries(repair.data))
        except ValidationError as error:
            errors = error.errors(include_url=False)
        except (_BeyondRepairError, KeyError, IndexError, TypeError, AttributeError):
            return None
        else:
            return Reading(topology, frozenset(repair.tainted), mended)
    return None


def _meant(kind: Any, value: Any) -> Any:
    """What a wrong value was probably meant to be: another spelling of it; None if there is none."""
    guesses: list[Any] = []
    if isinstance(value, str):
        choices = [str(choice) for choice in typing.get_args(kind)] if _is_literal(kind) else []
        guesses += difflib.get_close_matches(value, choices, n=1)
        guesses += [int(value)] if value.strip().lstrip("+-").isdecimal() else []
        guesses += [[value]]
    elif isinstance(value, int | float) and not isinstance(value, bool):
        guesses += [str(value)]
    return next((guess for guess in guesses if _fits(kind, guess)), None)


def _placeholder(kind: Any) -> Any:
    if is_mapping_of_fields(kind):
        required = {name: of for name, of in field_types(kind).items() if not _is_optional(kind, name)}
        return {name: _placeholder(of) for name, of in required.items()}
    choices = typing.get_args(kind) if _is_literal(kind) else ()
    found = next((value for value in (*choices, *_PLACEHOLDERS) if _fits(kind, value)), None)
    if found is None:
        raise _BeyondRepairError
    return copy.copy(found)


def _is_literal(kind: Any) -> bool:
    return typing.get_origin(kind) is typing.Literal


def _is_optional(owner: Any, name: str) -> bool:
    field = next(field for field in dataclasses.fields(owner) if field.name == name)
    return field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING


def _fits(kind: Any, value: Any) -> bool:
    try:
        _adapter(kind).validate_json(json.dumps(value), strict=True)
    except ValidationError:
        return False
    return True


@functools.cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)
