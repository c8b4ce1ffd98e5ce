"""Mirror engines as a file names them: what each declares of itself, and mirrors by their engines.

An engine is built in, or a package brings it as an entry point of the group `dcctl.engines`. What it does
beyond the file it names by reference (`module:attribute`), so that reading a file loads nothing of that.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic_core import InitErrorDetails

from orchestrator.extensions import Extensions
from orchestrator.topology.flows import DEFAULT_ENGINE, Replication
from orchestrator.topology.rules import Rule


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DeclaredEngine:
    """One engine. `name`: as the file's `engine` has it; `entry`: the class of its mirrors, with own keys.

    `rules` are checked in each file that has such mirrors. `engine`: where what it does lies
    (`replication.engine.Engine`), by reference.
    """

    name: str
    engine: str
    entry: type[Replication] = Replication
    rules: tuple[Rule, ...] = ()


MIRRORMAKER2 = DeclaredEngine(name=DEFAULT_ENGINE, engine="orchestrator.mirrors.mirrormaker2:ENGINE")

ENGINES = Extensions("dcctl.engines", DeclaredEngine, {DEFAULT_ENGINE: f"{__name__}:MIRRORMAKER2"})
"""By the names that the file gives them."""


_OF_MIRRORMAKER2 = TypeAdapter(Replication)


class Mirrors:
    """How the mirrors of one file are read: each by its engine. Called by the model for each of them."""

    def __init__(self, data: Any) -> None:
        """`data`: the file's. Raises `DcctlError` for an engine of a package that cannot be imported."""
        named = dict.fromkeys(filter(None, map(_engine_of, _mirrors_in(data))))
        found = ((name, ENGINES.get(name)) for name in named if name != DEFAULT_ENGINE)
        self._engines = {name: engine for name, engine in found if engine is not None}
        own = {name: TypeAdapter(engine.entry) for name, engine in self._engines.items()}
        self._adapters = {DEFAULT_ENGINE: _OF_MIRRORMAKER2, **own}

    @property
    def rules(self) -> tuple[Rule, ...]:
        """Those of every engine in the file."""
        return tuple(rule for engine in self._engines.values() for rule in engine.rules)

    def entry(self, value: Any) -> type[Replication]:
        """The class of a mirror."""
        engine = self._engines.get(_engine_of(value))
        return Replication if engine is None else engine.entry

    def __call__(self, value: Any) -> Replication:
        """The mirror as a value. Raises `ValidationError` with all that is wrong with it."""
        name = _engine_of(value) or DEFAULT_ENGINE
        if name not in self._adapters:
            expected = " or ".join(f"'{known}'" for known in ENGINES.names())
            wrong = InitErrorDetails(
                type="literal_error", loc=("engine",), input=name, ctx={"expected": expected}
            )
            raise ValidationError.from_exception_data("Replication", [wrong])
        return self._adapters[name].validate_json(json.dumps(value))


def _mirrors_in(data: Any) -> list[Any]:
    found = data.get("replication") if isinstance(data, Mapping) else None
    return found if isinstance(found, list) else []


def _engine_of(mirror: Any) -> str:
    """The engine that a mirror names; empty where that is no name."""
    engine = mirror.get("engine") if isinstance(mirror, Mapping) else None
    return engine if isinstance(engine, str) else ""
