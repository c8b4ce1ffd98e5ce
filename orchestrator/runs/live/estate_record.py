"""How the estate record lies in the coordination ensemble: one node a fact.

What a node is about shows in its name, so that who needs little reads little: number, kind, run, and for an
imported fact the number that it stands behind.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from orchestrator.adapters.zookeeper import Coordination
from orchestrator.errors import CoordinationError
from orchestrator.runs.estate_record import KIND_OF, KINDS, Body, Fact, Withdrawn, place_of, standing
from orchestrator.runs.live.journal import read_bulk, unpacked

FIRST = 1
"""The number of the first fact of all, `RecordBegun`."""


def estate_path(topology: str) -> str:
    """Where the facts of a topology lie."""
    return f"/dcctl/{topology}/estate"


class FactName(NamedTuple):
    """What the name of a fact's node tells."""

    number: int
    kind: str
    run_id: str
    after: int | None

    @property
    def text(self) -> str:
        """As the node is called."""
        behind = "" if self.after is None else f"~{self.after:08d}"
        return f"{self.number:08d}-{self.kind}-{self.run_id}{behind}"

    @property
    def place(self) -> tuple[int, int, int]:
        """As `Fact.place`."""
        return place_of(self.number, self.after)

    @classmethod
    def of(cls, text: str) -> FactName:
        """Read back. Raises `CoordinationError` for what is none."""
        number, _, rest = text.partition("-")
        kind, _, rest = rest.partition("-")
        run_id, _, after = rest.partition("~")
        if not number.isdigit() or not run_id or not (after.isdigit() or not after):
            raise CoordinationError(text, "is no name of a fact")
        return cls(int(number), kind, run_id, int(after) if after else None)


def fact_names(coordination: Coordination, topology: str) -> list[FactName]:
    """Every fact by its name, in the order of their places; none before the first fact of all is there.

    What an earlier dcctl has left is written as facts before that one: in part it counts for nothing.
    """
    names = [FactName.of(name) for name in coordination.names(estate_path(topology))]
    if all(name.number != FIRST for name in names):
        return []
    return sorted(names, key=lambda name: name.place)


def is_known(name: FactName) -> bool:
    """Whether this version knows facts of that kind."""
    return name.kind in KINDS


def read_fact(coordination: Coordination, topology: str, name: FactName) -> Fact:
    """One fact. Raises `CoordinationError` where it cannot be understood, or is not there."""
    path = f"{estate_path(topology)}/{name.text}"
    value = coordination.read(path)
    if value is None:
        raise CoordinationError(path, "does not exist any more, although facts are never removed")
    return fact_from_node(coordination, topology, name, value)


def fact_from_node(coordination: Coordination, topology: str, name: FactName, value: bytes) -> Fact:
    """A fact out of its node; its bulk lies beside it."""
    path = f"{estate_path(topology)}/{name.text}"
    data = unpacked(value, path)
    if "parts" in data:
        path = bulk_path(topology, name, str(data.get("digest")))
        data = {**data, "body": read_bulk(coordination, path, data)}
    try:
        return Fact.from_json(data)
    except ValueError as error:
        raise CoordinationError(path, str(error), "was it written by a newer dcctl?") from None


def written_facts(
    coordination: Coordination,
    topology: str,
    kinds: Collection[type[Body]],
    *,
    of_run: str = "",
    known: dict[FactName, Fact] | None = None,
    listed: Sequence[FactName] | None = None,
) -> tuple[Fact, ...]:
    """The facts of some kinds that are there and hold, in their order; all runs' or those of one.

    `known`: those that were read before, for they never change; further ones are put there. `listed`: what
    `fact_names` has told just now.
    """
    wanted = {KIND_OF[kind] for kind in (*kinds, Withdrawn)}
    names = [
        name
        for name in (fact_names(coordination, topology) if listed is None else listed)
        if name.kind in wanted and of_run in {"", name.run_id}
    ]
    read = {} if known is None else known
    for name in names:
        if name not in read:
            read[name] = read_fact(coordination, topology, name)
    return standing(read[name] for name in names)


def bulk_path(topology: str, name: FactName, digested: str) -> str:
    """Where the bulk of a fact lies that is too large for its own node."""
    return f"/dcctl/{topology}/estate-parts/{name.text}-{digested}"
