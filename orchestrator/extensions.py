"""What dcctl is extended with, by name: built in, or brought by an installed package as an entry point.

A package of a user's own declares `[project.entry-points."dcctl.kinds"]` with `tally = "tallies.kind:TALLY"`,
and is known once it is installed beside dcctl. Both are named by reference, and imported when asked for.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, TypeVar

from orchestrator.errors import DcctlError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Extensions(Generic[T]):
    """All that can stand in one place. `group`: of their entry points; `of`: the class of each.

    `built_in`: where each that dcctl brings lies, by name, as `module:attribute`.
    """

    group: str
    of: type[T]
    built_in: Mapping[str, str]

    def names(self) -> tuple[str, ...]:
        """Those built in, then those of installed packages, whose metadata is read (some ms)."""
        return (*self.built_in, *sorted(self._brought()))

    def get(self, name: str) -> T | None:
        """The one of that name; None where there is none. Packages are looked at only if it is not built in.

        Raises `DcctlError` where it cannot be imported or is nothing of the kind.
        """
        if name in self.built_in:
            return self._checked(name, load(self.built_in[name]), self.built_in[name])
        entry = self._brought().get(name)
        return None if entry is None else self._checked(name, self._import(entry), entry.value)

    def all(self) -> Mapping[str, T]:
        """Each by its name, those of packages included. Raises as `get`."""
        found = {name: self.get(name) for name in self.names()}
        return {name: value for name, value in found.items() if value is not None}

    def _brought(self) -> dict[str, EntryPoint]:
        found: dict[str, EntryPoint] = {}
        for entry in entry_points(group=self.group):
            other = found.setdefault(entry.name, entry)
            if entry.name in self.built_in or other.value != entry.value:
                has_it = "dcctl itself" if entry.name in self.built_in else _package(other)
                raise DcctlError(
                    self._subject(entry.name),
                    f"{_package(entry)} and {has_it} bring it",
                    "uninstall one of the packages, or give what it brings another name",
                )
        return found

    def _import(self, entry: EntryPoint) -> Any:
        try:
            return entry.load()
        except Exception as error:
            problem = f"{_package(entry)} names {entry.value}, which cannot be imported: {error}"
            raise DcctlError(self._subject(entry.name), problem, "mend or uninstall that package") from error

    def _checked(self, name: str, value: Any, reference: str) -> T:
        if not isinstance(value, self.of):
            raise DcctlError(self._subject(name), f"{reference} is no {self.of.__name__}")
        return value

    def _subject(self, name: str) -> str:
        return f"extension {name} of {self.group}"


def load(reference: str) -> Any:
    """What lies at `module:attribute`, imported now."""
    module, _, attribute = reference.partition(":")
    return getattr(importlib.import_module(module), attribute)


def _package(entry: EntryPoint) -> str:
    return f"package {entry.dist.name}" if entry.dist is not None else "a package"
