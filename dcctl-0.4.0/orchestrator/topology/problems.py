"""What is wrong with a topology file, and where: the form in which users and tools get it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from orchestrator.topology.source import Place

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with the file: where, what, and what to do instead."""

    place: Place
    message: str
    hint: str = ""
    rule: str = ""
    severity: Severity = "error"

    def text(self, file: str) -> str:
        """`file:line:column: message [rule]`, the hint on a line of its own."""
        rule = f" [{self.rule}]" if self.rule else ""
        hint = f"\n    {self.hint}" if self.hint else ""
        return f"{file}:{self.place.line}:{self.place.column}: {self.message}{rule}{hint}"

    def as_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "severity": self.severity,
            "line": self.place.line,
            "column": self.place.column,
            "rule": self.rule or None,
            "message": self.message,
            "hint": self.hint,
        }


def in_file_order(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """From top to bottom; of two at one place, errors first."""
    return tuple(sorted(problems, key=lambda p: (p.place.line, p.place.column, p.severity)))
