"""The JSON Schema of topology files, and what each of their keys is for."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, JsonSchemaValue
from pydantic_core import core_schema

from orchestrator.topology.consumer_kinds import KINDS
from orchestrator.topology.flows import DEFAULT_ENGINE
from orchestrator.topology.mirror_engines import ENGINES
from orchestrator.topology.model import Topology


def topology_schema() -> dict[str, Any]:
    """JSON Schema of the file (draft 2020-12), for editors. Kinds that packages bring are in it, but for
    those that `broken_extensions` tells of.
    """
    entries = {name: TypeAdapter(kind.entry) for name, kind in KINDS.all().items()}
    asked: list[tuple[str, JsonSchemaMode, TypeAdapter[Any]]] = [("", "validation", TypeAdapter(Topology))]
    asked += [(name, "validation", adapter) for name, adapter in entries.items()]
    mirrors = {name: TypeAdapter(engine.entry) for name, engine in ENGINES.all().items()}
    asked += [(f"{name} → ", "validation", adapter) for name, adapter in mirrors.items()]
    found, shared = TypeAdapter.json_schemas(asked, schema_generator=_Described)
    definitions: dict[str, Any] = shared["$defs"]
    classes = {name: _name_of_definition(found[name, "validation"]) for name in entries}
    of_kinds = {f"Consumer-{name}": _of_kind(name, definitions[of]) for name, of in classes.items()}
    schema = definitions.pop(_name_of_definition(found["", "validation"]))
    schema["properties"]["consumers"]["items"] = {"oneOf": [{"$ref": f"#/$defs/{name}"} for name in of_kinds]}
    of_engines = {name: _name_of_definition(found[f"{name} → ", "validation"]) for name in mirrors}
    for name, of in of_engines.items():
        definitions[of] = _of_engine(name, definitions[of])
    schema["properties"]["replication"]["items"] = {
        "oneOf": [{"$ref": f"#/$defs/{of}"} for of in of_engines.values()]
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "$defs": {name: of for name, of in definitions.items() if name not in classes.values()} | of_kinds,
        "title": "dcctl topology",
    }


def _name_of_definition(reference: Mapping[str, Any]) -> str:
    return str(reference["$ref"]).removeprefix("#/$defs/")


def _of_engine(name: str, mirror: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of an engine's mirrors, which name this `engine` and no other; one need not be named."""
    own = {**mirror["properties"]["engine"], "const": name, "title": "Engine"}
    if name == DEFAULT_ENGINE:
        return {**mirror, "properties": {**mirror["properties"], "engine": {**own, "default": name}}}
    return {
        **mirror,
        "properties": {**mirror["properties"], "engine": own},
        "required": [*mirror["required"], "engine"],
    }


def _of_kind(name: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of a kind's entries, which have this `kind` and no other."""
    return {
        **entry,
        "title": f"Consumer: {name}",
        "properties": {**entry["properties"], "kind": {**_described(entry, "kind"), "const": name}},
    }


def _described(entry: Mapping[str, Any], key: str) -> dict[str, str]:
    return {"description": text} if (text := entry["properties"][key].get("description")) else {}


class _Described(GenerateJsonSchema):
    """With what stands below each key in its class."""

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> JsonSchemaValue:
        made = super().dataclass_schema(schema)
        for key, text in described_keys(schema["cls"]).items():
            if key in made.get("properties", {}):
                made["properties"][key] |= {"description": text}
        return made


def described_keys(kind: type) -> dict[str, str]:
    """Key -> description of a class of the file, and of those that it builds on.

    Read from the source, so only for whoever asks for the words. Empty where there is no source.
    """
    found: dict[str, str] = {}
    for one in reversed(kind.__mro__):
        found.update(_told(one))
    return found


def _told(kind: type) -> Iterator[tuple[str, str]]:
    try:
        source = textwrap.dedent(inspect.getsource(kind))
    except (OSError, TypeError):
        return
    (of_class,) = (part for part in ast.parse(source).body if isinstance(part, ast.ClassDef))
    for key, below in pairwise(of_class.body):
        match key, below:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str() as text)):
                yield name, " ".join(text.split())
