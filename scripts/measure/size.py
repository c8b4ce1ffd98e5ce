"""How much code there is: statements, functions, docstrings, modules and who imports them."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from .source import Defined, Module, docstrings

LONG_FUNCTION_LINES = 40
LONG_MODULE_LINES = 400
SHORT_MODULE_LINES = 50


def statements(modules: Sequence[Module]) -> dict[str, int]:
    """Package -> statements, compound ones and what stands inside them each as one, without docstrings.

    Imports, definitions and annotations of fields count; lines, comments and decorators do not.
    """
    found: dict[str, int] = defaultdict(int)
    for module in modules:
        every = sum(isinstance(node, ast.stmt) for node in ast.walk(module.tree))
        found[module.package] += every - sum(1 for _ in docstrings(module.tree))
    return dict(sorted(found.items()))


def docstring_words(functions: Sequence[Defined]) -> int:
    """Words of the docstrings of those functions, in all."""
    return sum(len((ast.get_docstring(found.node) or "").split()) for found in functions)


def long_functions(functions: Sequence[Defined]) -> list[tuple[str, int]]:
    """`path:name` and lines of each function over the limit, the longest first."""
    return _longest(
        (f"{found.module.path}:{found.name}", found.lines)
        for found in functions
        if found.lines > LONG_FUNCTION_LINES
    )


def long_modules(modules: Sequence[Module]) -> list[tuple[str, int]]:
    """Path and lines of each module over the limit, the longest first."""
    return _longest((module.path, module.lines) for module in modules if module.lines > LONG_MODULE_LINES)


def short_modules(modules: Sequence[Module]) -> list[tuple[str, int]]:
    """Path and lines of each module under the limit; an `__init__.py` may be short."""
    return _longest(
        (module.path, module.lines)
        for module in modules
        if module.lines < SHORT_MODULE_LINES and not module.path.endswith("/__init__.py")
    )


def importers(modules: Sequence[Module]) -> dict[str, tuple[str, ...]]:
    """Name of each module -> the product's modules that import it, be it inside a function or for types.

    No `__init__.py` is among the keys: a package is imported with each of its modules.
    """
    known = {module.name for module in modules}
    found: dict[str, set[str]] = {
        module.name: set() for module in modules if not module.path.endswith("/__init__.py")
    }
    for module in modules:
        for name in _imported(module, known):
            if name in found and name != module.name:
                found[name].add(module.name)
    return {name: tuple(sorted(by)) for name, by in sorted(found.items())}


def with_one_importer(
    modules: Sequence[Module], imported_by: Mapping[str, Sequence[str]]
) -> list[tuple[str, int, str]]:
    """Path, lines and the only importer of each module that has just one."""
    return [
        (module.path, module.lines, imported_by[module.name][0])
        for module in modules
        if len(imported_by.get(module.name, ())) == 1
    ]


def _imported(module: Module, known: set[str]) -> Iterator[str]:
    """Names of modules; of `from package import thing` the thing, if it is a module."""
    is_package = module.path.endswith("/__init__.py")
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = module.name.split(".")[: -node.level + is_package or None] if node.level else []
            origin = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                inside = f"{origin}.{alias.name}"
                yield inside if inside in known else origin
        elif isinstance(node, ast.Constant) and str(node.value).partition(":")[0] in known:
            # Run by its name in a process of its own, or imported when it is wanted (`module:attribute`).
            yield str(node.value).partition(":")[0]


def _longest(found: Iterator[tuple[str, int]]) -> list[tuple[str, int]]:
    return sorted(found, key=lambda row: (-row[1], row[0]))
