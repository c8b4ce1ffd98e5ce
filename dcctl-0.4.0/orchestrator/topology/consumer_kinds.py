"""Kinds of applications that read: what each declares of itself, and the entries of a file by their kinds.

A kind is built in, or a package brings it as an entry point of the group `dcctl.kinds`. What it does beyond
the file it names by reference (`module:attribute`), so that reading a file loads nothing of that.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic_core import InitErrorDetails

from orchestrator.errors import DcctlError
from orchestrator.extensions import Extensions
from orchestrator.topology.flows import Consumer
from orchestrator.topology.mirror_engines import ENGINES, DeclaredEngine, Mirrors
from orchestrator.topology.rules import RULES, Rule


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ConsumerKind:
    """One kind. `name`: as the file's `kind` has it; `entry`: the class of its entries, with keys of its own.

    `rules` are checked in each file that has such entries; `keys_rule`: the one that is told of where an
    entry of another kind has keys of this one.

    By reference: `takes_part` is its class in moves (`moves.participants.Kind`); `kept_by` what a watcher
    keeps of it beside committed offsets (`watch.keeping.Keeping`); `simulated` makes its program in a
    simulation (`simulation.workload.install.Simulated`); `audited` is what an audit reads of it
    (`evidence.audit.kinds.AuditedKind`); `in_status` is what `status` and metrics tell of it beside committed
    offsets (`moves.in_status.StatusPart`). What is left out it has no need of.
    """

    name: str
    entry: type[Consumer]
    rules: tuple[Rule, ...] = ()
    keys_rule: str = ""
    takes_part: str = ""
    kept_by: str = ""
    simulated: str = ""
    audited: str = ""
    in_status: str = ""


GROUP = ConsumerKind(
    name="group",
    entry=Consumer,
    takes_part="orchestrator.applications.groups.kind:ConsumerGroups",
    simulated="orchestrator.simulation.workload.install:group_program",
    audited="orchestrator.evidence.audit.kinds:BY_LINES",
)

KINDS = Extensions(
    "dcctl.kinds",
    ConsumerKind,
    {"group": f"{__name__}:GROUP", "spark": "orchestrator.topology.spark:SPARK"},
)


def by_kind(consumers: Iterable[Consumer]) -> dict[ConsumerKind, list[Consumer]]:
    """Consumers by their kinds, both in file order. Raises `DcctlError` where nothing brings a kind."""
    found: dict[str, list[Consumer]] = {}
    for consumer in consumers:
        found.setdefault(consumer.kind, []).append(consumer)
    return {kind_named(name): members for name, members in found.items()}


def kind_named(name: str) -> ConsumerKind:
    """The kind of that name. Raises `DcctlError` where there is none."""
    kind = KINDS.get(name)
    if kind is None:
        raise DcctlError(
            f"kind {name}", "no kind of application has this name", "install the package that brings it"
        )
    return kind


def all_rules() -> tuple[Rule, ...]:
    """Every rule that there is, those of each kind and each mirror engine behind the others; without those
    that `broken_extensions` tells of.
    """
    declared: list[ConsumerKind | DeclaredEngine] = [*KINDS.all().values(), *ENGINES.all().values()]
    return (*RULES, *(rule for one in declared for rule in one.rules))


def broken_extensions() -> tuple[DcctlError, ...]:
    """Why kinds and mirror engines of installed packages cannot be used, one error each."""
    return (*KINDS.broken(), *ENGINES.broken())


_OF_ANY_KIND = TypeAdapter(Consumer)


class Entries:
    """How the consumers of one file are read: each by its kind. Called by the model for each of them.

    `mirrors`: the same for its mirrors, by their engines.
    """

    def __init__(self, data: Any) -> None:
        """`data`: the file's. Raises `DcctlError` for a kind of a package that cannot be imported."""
        named = dict.fromkeys(filter(None, map(_kind_of, _consumers_in(data))))
        found = ((name, KINDS.get(name)) for name in named)
        self._kinds = {name: kind for name, kind in found if kind is not None}
        self._adapters = {name: TypeAdapter(kind.entry) for name, kind in self._kinds.items()}
        self.mirrors = Mirrors(data)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Every kind that there is. Packages are looked at, so it is asked where something is wrong."""
        return KINDS.names()

    def kind_with(self, key: str) -> ConsumerKind | None:
        """The kind whose entries have this key; None where none has."""
        return self._kinds_by_key.get(key)

    @cached_property
    def _kinds_by_key(self) -> dict[str, ConsumerKind]:
        kinds = reversed(list(self._usable.values()))
        return {key: kind for kind in kinds for key in kind.entry.__dataclass_fields__}

    @cached_property
    def _usable(self) -> Mapping[str, ConsumerKind]:
        return KINDS.all()

    @property
    def rules(self) -> tuple[Rule, ...]:
        """Those of every kind and of every mirror engine in the file."""
        of_kinds = tuple(rule for kind in self._kinds.values() for rule in kind.rules)
        return (*of_kinds, *self.mirrors.rules)

    def entry(self, value: Any) -> type[Consumer]:
        """The class of an entry, by what its kind probably was meant to be."""
        kind = self._meant(_kind_of(value))
        return Consumer if kind is None else kind.entry

    def __call__(self, value: Any) -> Consumer:
        """The entry as a value. Raises `ValidationError` with all that is wrong with it."""
        adapter = self._adapters.get(_kind_of(value))
        if adapter is None and isinstance(value, dict):
            raise ValidationError.from_exception_data("Consumer", self._wrong(value))
        return (adapter or _OF_ANY_KIND).validate_json(json.dumps(value))

    def _wrong(self, value: dict[str, Any]) -> list[InitErrorDetails]:
        """What is wrong with an entry of no kind: that, and the rest as far as it can be told."""
        meant, errors = self._meant(_kind_of(value)), []
        if "kind" in value:
            expected = " or ".join(f"'{name}'" for name in self.names)
            kind = InitErrorDetails(
                type="literal_error", loc=("kind",), input=value["kind"], ctx={"expected": expected}
            )
            errors.append(kind)
        supposed = value | {"kind": meant.name if meant else "group"} if "kind" in value else value
        adapter = TypeAdapter(meant.entry) if meant else _OF_ANY_KIND
        try:
            adapter.validate_json(json.dumps(supposed))
        except ValidationError as error:
            for found in error.errors(include_url=False):
                # Which keys an entry may have depends on its kind.
                is_extra = found["type"] == "unexpected_keyword_argument"
                is_open = meant is None and ("kind" in value or self.kind_with(str(found["loc"][-1])))
                if not (is_extra and is_open):
                    name, loc, given = found["type"], found["loc"], found["input"]
                    errors.append(InitErrorDetails(type=name, loc=loc, input=given, ctx=found.get("ctx", {})))
        return errors

    def _meant(self, name: str) -> ConsumerKind | None:
        if not name or name in self._kinds:
            return self._kinds.get(name)
        close = difflib.get_close_matches(name, self.names, n=1)
        return self._usable.get(close[0]) if close else None


def _consumers_in(data: Any) -> list[Any]:
    found = data.get("consumers") if isinstance(data, Mapping) else None
    return found if isinstance(found, list) else []


def _kind_of(entry: Any) -> str:
    """The kind that an entry names; empty where that is no name."""
    kind = entry.get("kind") if isinstance(entry, Mapping) else None
    return kind if isinstance(kind, str) else ""
