"""What dcctl is extended with, by name: built in, or brought by an installed package as an entry point.

A package of a user's own declares `[project.entry-points."dcctl.kinds"]` with `tally = "tallies.kind:TALLY"`,
and is known once it is installed beside dcctl. Both are named by reference, and imported when asked for.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, TypeVar

from orchestrator.errors import DcctlError
from orchestrator.installation import missing_package

T = TypeVar("T")
P = TypeVar("P")


@dataclass(frozen=True, slots=True)
class Extensions(Generic[T]):
    """All that can stand in one place. `group`: of their entry points; `of`: the class of each.

    `built_in`: where each that dcctl brings lies, by name, as `module:attribute`. A package that is wrong
    (it cannot be imported, or brings a name that is taken) is told of where its name is asked for, and by
    `broken`; all others serve.
    """

    group: str
    of: type[T]
    built_in: Mapping[str, str]

    def names(self) -> tuple[str, ...]:
        """Those built in, then those of installed packages, whose metadata is read (some ms)."""
        return (*self.built_in, *sorted(self._brought().keys() - self.built_in.keys()))

    def get(self, name: str) -> T | None:
        """The one of that name; None where there is none. Packages are looked at only if it is not built in.

        Raises `DcctlError` where it cannot be imported or is nothing of the kind, and where several packages
        bring it.
        """
        if name in self.built_in:
            return self.named(name, self.part(name, self.built_in[name], self.of))
        entries = self._brought().get(name)
        return None if entries is None else self._of_package(name, entries)

    def all(self) -> Mapping[str, T]:
        """Each by its name, those of packages included, without those that `broken` tells of."""
        return {name: found for name, found in self._each().items() if not isinstance(found, DcctlError)}

    def broken(self) -> tuple[DcctlError, ...]:
        """Why each of the others cannot be used."""
        wrong = [found for found in self._each().values() if isinstance(found, DcctlError)]
        brought = self._brought()
        taken = [self._collision(name, brought[name]) for name in self.built_in if name in brought]
        return (*wrong, *taken)

    def part(self, name: str, reference: str, of: type[P]) -> P:
        """What the one of that name refers to as `module:attribute`.

        Raises `DcctlError`, with who brought it, where that cannot be imported or is no `of`.
        """
        module, _, attribute = reference.partition(":")
        try:
            found = getattr(importlib.import_module(module), attribute)
        except Exception as error:
            raise self._not_imported(name, self._whose(name), reference, error) from error
        return self._checked(name, found, of, f"{reference} is")

    def made(self, name: str, reference: str, of: type[P], *given: Any) -> P:
        """What the class or function that it refers to makes of what is given. Raises as `part`."""
        make: Callable[..., Any] = self.part(name, reference, Callable)  # type: ignore[arg-type]
        try:
            found = make(*given)
        except DcctlError:
            raise
        except Exception as error:
            raise DcctlError(
                self._subject(name),
                f"{self._whose(name)} brings it, and {reference} cannot be made: {error!r}",
                "look at what this package needs; its authors know",
            ) from error
        return self._checked(name, found, of, f"what {reference} makes is")

    def named(self, name: str, value: P) -> P:
        """The value, if it has no other `name` of its own: it is looked up by both. Raises `DcctlError`."""
        own = getattr(value, "name", name)
        if own != name:
            problem = f"{self._whose(name)} brings it, and it calls itself {own}"
            raise DcctlError(self._subject(name), problem, "both names have to be the same")
        return value

    def _each(self) -> dict[str, T | DcctlError]:
        found: dict[str, T | DcctlError] = {}
        for name in self.names():
            try:
                value = self.get(name)
            except DcctlError as error:
                found[name] = error
            else:
                if value is not None:
                    found[name] = value
        return found

    def _brought(self) -> dict[str, list[EntryPoint]]:
        """What packages bring, by name: unlike entry points where they collide."""
        found: dict[str, list[EntryPoint]] = {}
        for entry in entry_points(group=self.group):
            others = found.setdefault(entry.name, [])
            if all(other.value != entry.value for other in others):
                others.append(entry)
        return found

    def _of_package(self, name: str, entries: list[EntryPoint]) -> T:
        if len(entries) > 1:
            raise self._collision(name, entries)
        (entry,) = entries
        try:
            value = entry.load()
        except Exception as error:
            raise self._not_imported(name, _package(entry), entry.value, error) from error
        return self.named(name, self._checked(name, value, self.of, f"{entry.value} is"))

    def _checked(self, name: str, value: Any, of: type[P], what: str) -> P:
        if not isinstance(value, of):
            problem = f"{self._whose(name)} is wrong: {what} no {of.__name__}"
            raise DcctlError(self._subject(name), problem, "mend or uninstall that package")
        return value

    def _not_imported(self, name: str, whose: str, reference: str, error: Exception) -> DcctlError:
        missing = missing_package(error) if isinstance(error, ModuleNotFoundError) else None
        if missing is not None:
            return missing
        problem = f"{whose} names {reference}, which cannot be imported: {error}"
        return DcctlError(self._subject(name), problem, "mend or uninstall that package")

    def _collision(self, name: str, entries: list[EntryPoint]) -> DcctlError:
        own = ["dcctl itself"] if name in self.built_in else []
        return DcctlError(
            self._subject(name),
            f"{' and '.join([*map(_package, entries), *own])} bring it",
            "uninstall one of the packages, or give what it brings another name",
        )

    def _whose(self, name: str) -> str:
        """Who has brought the one of that name."""
        entries = [] if name in self.built_in else self._brought().get(name, [])
        return " and ".join(map(_package, entries)) or "dcctl itself"

    def _subject(self, name: str) -> str:
        return f"extension {name} of {self.group}"


def _package(entry: EntryPoint) -> str:
    return f"package {entry.dist.name}" if entry.dist is not None else "a package"
