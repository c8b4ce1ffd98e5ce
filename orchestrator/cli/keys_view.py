"""Every key of a topology file as a page, made from the schema that editors get."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_HEAD = """\
# Every key of the file

This page is what `dcctl schema --format markdown` prints; `dcctl schema` prints the same as JSON Schema, for
editors. A key without *required* may be left out. Kinds of consumers and mirror engines that packages bring
add keys of their own.
"""


def keys_page(schema: Mapping[str, Any]) -> str:
    """Markdown: the file itself first, then each mapping in it."""
    lines = [_HEAD, *_section("The file", schema)]
    for name, mapping in schema["$defs"].items():
        lines += _section(mapping.get("title", name), mapping)
    return "\n".join(lines)


def _section(title: str, mapping: Mapping[str, Any]) -> Iterator[str]:
    yield f"## {title}\n"
    yield f"{' '.join(mapping['description'].split())}\n"
    yield "| key | value | default | |"
    yield "|---|---|---|---|"
    required = mapping.get("required", ())
    for key, of in mapping["properties"].items():
        default = "*required*" if key in required else _default(of)
        text = of.get("description", "").replace("|", "\\|")
        yield f"| `{key}` | {_value(of)} | {default} | {text} |"
    yield ""


def _default(of: Mapping[str, Any]) -> str:
    value = of.get("default")
    return (
        "" if value is None or value == [] else f"`{str(value).lower() if value in (True, False) else value}`"
    )


_WORDS = {"string": "text", "integer": "number", "boolean": "`true` · `false`"}


def _value(of: Mapping[str, Any]) -> str:
    """What may stand there, in a word or two."""
    match of:
        case {"$ref": reference}:
            name = str(reference).removeprefix("#/$defs/")
            told = f"[{name}](#{name.lower()})"
        case {"const": value}:
            told = f"`{value}`"
        case {"enum": values}:
            told = " · ".join(f"`{value}`" for value in values)
        case {"anyOf": choices} | {"oneOf": choices}:
            told = " or ".join(dict.fromkeys(_value(one) for one in choices if one.get("type") != "null"))
        case {"type": "array", "items": items}:
            told = f"list of {_value(items)}"
        case {"type": "array", "prefixItems": items}:
            told = f"{len(items)} of {_value(items[0])}"
        case {"type": "object", "patternProperties": patterns}:
            told = f"name: {_value(next(iter(patterns.values())))}"
        case {"type": "object", "additionalProperties": inner}:
            told = f"name: {_value(inner)}"
        case _:
            told = _WORDS.get(str(of.get("type", "")), str(of.get("type", "")))
    return told
