"""The measurements as one piece of data: figures that can be compared, and the places that they count."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from . import coupling, size, twice
from .source import Module, functions

FORMAT_VERSION = 1
TRUNK = (
    "planning",
    "operations",
    "applications",
    "estate",
    "guards",
    "imports",
    "mirrors",
    "moves",
    "ports",
    "reconcile",
    "runs",
    "snapshot",
    "verbs",
)
"""What moves applications, and what is cut out of it: the statements of these packages are told in one figure
as well, so that code that only changes its package saves nothing. One that is not there counts nothing."""


def measured(
    modules: Sequence[Module], templates: Mapping[str, str], *, together: Sequence[str] = TRUNK
) -> dict[str, Any]:
    """`figures`: name -> number. `places`: name of a list -> what it counts, in words with path and line.

    The same code gives the same answer: nothing depends on order of files, clock or machine.
    """
    every = list(functions(modules))
    public = [found for found in every if found.is_public]
    by_package = size.statements(modules)
    words = size.docstring_words(public)
    places = _places(modules, templates)
    places["functions over 40 lines"] = [f"{n:>4}  {name}" for name, n in size.long_functions(every)]
    places["functions alike"] = [
        "  ".join(f"{found.module.path}:{found.node.lineno} {found.name}" for found in group)
        for group in twice.alike(every)
    ]
    figures: dict[str, int | float] = {
        "statements": sum(by_package.values()),
        "statements of the packages together": sum(by_package.get(name, 0) for name in together),
        "modules": len(modules),
        "functions": len(every),
        "public functions": len(public),
        "docstring words of public functions": words,
        "docstring words a public function": round(words / max(1, len(public)), 2),
        **{name: len(found) for name, found in sorted(places.items())},
    }
    return {
        "format_version": FORMAT_VERSION,
        "packages together": list(together),
        "figures": figures,
        "statements by package": by_package,
        "places": dict(sorted(places.items())),
    }


def in_words(found: Mapping[str, Any], beside: Mapping[str, Any] | None = None) -> Iterator[str]:
    """Lines of text: first the places, then the figures; with what they were in `beside` and the ratio."""
    yield f"packages together: {', '.join(found['packages together'])}"
    yield ""
    for name, places in found["places"].items():
        yield f"{name} ({len(places)})"
        yield from (f"  {place}" for place in places)
        yield ""
    for part in ("statements by package", "figures"):
        yield part
        before = beside[part] if beside is not None else {}
        yield from (f"  {_row(name, value, before.get(name))}" for name, value in found[part].items())
        yield ""


def _row(name: str, value: float, before: float | None) -> str:
    told = f"{name:<52} {value:>10,}"
    if before is None:
        return told
    return f"{told}   was {before:>10,}" + (f"   × {value / before:.3f}" if before else "")


def _places(modules: Sequence[Module], templates: Mapping[str, str]) -> dict[str, list[str]]:
    imported_by = size.importers(modules)
    paths = {module.name: module.path for module in modules}
    found = {
        "modules over 400 lines": [f"{n:>4}  {path}" for path, n in size.long_modules(modules)],
        "modules under 50 lines": [f"{n:>4}  {path}" for path, n in size.short_modules(modules)],
        "modules with one importer": [
            f"{n:>4}  {path}  by {paths[by]}" for path, n, by in size.with_one_importer(modules, imported_by)
        ],
        "modules without an importer": [paths[name] for name, by in imported_by.items() if not by],
        "mirror engine named outside its package": [
            f"{count:>4}  {path}" for path, count in coupling.named_engine(modules).items()
        ],
        "step results read by string": _told(coupling.read_by_string(modules)),
        "texts that stand twice": [
            f"{text!r}: {', '.join(_told(where))}" for text, where in twice.sentences(modules).items()
        ],
        '"and n more" written out': _told(twice.and_more(modules)),
    }
    for name, aspect in coupling.ASPECTS.items():
        compared = coupling.comparisons(modules, aspect)
        outside = [place for place, is_by_owner in compared if not is_by_owner]
        outside += coupling.comparisons_in_templates(templates, aspect)
        found[f"comparisons of {name} outside its owners"] = _told(outside)
        found[f"comparisons of {name} by its owners"] = _told(
            [p for p, is_by_owner in compared if is_by_owner]
        )
    return found


def _told(places: Sequence[coupling.Place]) -> list[str]:
    return [f"{path}:{line}" for path, line in places]
