"""The parts that kinds of applications have in `status` and in metrics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from typing import Any

from orchestrator.errors import DcctlError
from orchestrator.moves.in_status import Known, StatusPart
from orchestrator.topology.consumer_kinds import KINDS, kind_named
from orchestrator.topology.model import Consumer


def status_parts(consumers: Iterable[Consumer] = ()) -> Mapping[str, StatusPart[Any]]:
    """By their kinds: those that are built in, whether or not a file has such applications, and the other
    kinds of these consumers. Raises `DcctlError` where what a kind refers to is nothing of the sort.
    """
    names = dict.fromkeys([*KINDS.built_in, *(consumer.kind for consumer in consumers)])
    kinds = (kind_named(name) for name in names)
    return {k.name: KINDS.part(k.name, k.in_status, StatusPart) for k in kinds if k.in_status}


def rows_of_kinds(
    parts: Mapping[str, StatusPart[Any]], known: Known, *, taken: Iterable[str]
) -> dict[str, list[dict[str, Any]]]:
    """What kinds tell of their applications, by the key of each. `taken`: keys of others.

    Raises `DcctlError` where two have one key, and where a kind's package raises.
    """
    found: dict[str, list[dict[str, Any]]] = {}
    for name, part in parts.items():
        refuse_taken(name, "key", [part.key], [*taken, *found])
        own = replace(known, consumers=[one for one in known.consumers if one.kind == name])
        try:
            found[part.key] = [asdict(row) for row in part.rows(own)]
        except DcctlError:
            raise
        except Exception as error:
            raise DcctlError(
                f"kind {name}", f"its part of status cannot be told: {error!r}", "its package is at fault"
            ) from error
    return found


def refuse_taken(kind: str, what: str, names: Iterable[str], taken: Iterable[str]) -> None:
    """Raise `DcctlError` for names in the part of a kind that somebody else's part has."""
    if both := set(names).intersection(taken):
        problem = f"its part of status has the {what} {', '.join(sorted(both))}, which is taken"
        raise DcctlError(f"kind {kind}", problem, "the package that brings the kind has to use another name")
