"""The product's modules, parsed; functions with the names that a reader would call them by."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

PRODUCT = "orchestrator"

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Module:
    """One file. `name` is what it is imported by, `path` relative to the root, with slashes."""

    name: str
    path: str
    text: str
    tree: ast.Module

    @property
    def package(self) -> str:
        """The package right below the product's own; a module that stands there itself is its own."""
        return self.name.split(".")[1] if "." in self.name else self.name

    @property
    def lines(self) -> int:
        """Lines of the file, empty ones included."""
        return len(self.text.splitlines())


@dataclass(frozen=True, slots=True)
class Defined:
    """A function, and where it stands. `name` has the classes and functions around it before it."""

    module: Module
    name: str
    node: Function
    is_public: bool

    @property
    def lines(self) -> int:
        """From `def` to its last line, its docstring included and its decorators not."""
        return (self.node.end_lineno or self.node.lineno) - self.node.lineno + 1


def read_product(root: Path) -> list[Module]:
    """Every Python file of the product below `root`, by path. Raises `SyntaxError`."""
    found = []
    for file in sorted((root / PRODUCT).rglob("*.py"), key=lambda file: file.relative_to(root).as_posix()):
        path = file.relative_to(root)
        parts = path.with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        text = file.read_text(encoding="utf-8")
        found.append(Module(name, path.as_posix(), text, ast.parse(text, filename=path.as_posix())))
    return found


def read_templates(root: Path) -> dict[str, str]:
    """Path -> text of the templates that pages are made from."""
    files = sorted((root / PRODUCT).rglob("*.j2"))
    return {file.relative_to(root).as_posix(): file.read_text(encoding="utf-8") for file in files}


def functions(modules: Sequence[Module]) -> Iterator[Defined]:
    """Every function and method, in the order of the code, those inside functions included.

    Public is one without a leading underscore in its own name and in that of each class around it, unless it
    stands inside a function. So `__init__` and its like are not.
    """
    for module in modules:
        yield from _below(module, module.tree, "", is_public=True)


def docstrings(tree: ast.AST) -> Iterator[ast.Expr]:
    """Statements that are a string and nothing else: of modules, classes, functions and attributes."""
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant(value=str())):
                yield node


def last_word(node: ast.AST) -> str | None:
    """The last word of a name or of an attribute: `kind` of `query.kind`; None for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else None


def _below(module: Module, scope: ast.AST, prefix: str, *, is_public: bool) -> Iterator[Defined]:
    for node in ast.iter_child_nodes(scope):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            name = f"{prefix}{node.name}"
            yield Defined(module, name, node, is_public and not node.name.startswith("_"))
            yield from _below(module, node, f"{name}.", is_public=False)
        elif isinstance(node, ast.ClassDef):
            is_seen = is_public and not node.name.startswith("_")
            yield from _below(module, node, f"{prefix}{node.name}.", is_public=is_seen)
        else:
            yield from _below(module, node, prefix, is_public=is_public)
