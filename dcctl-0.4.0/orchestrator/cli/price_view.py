"""What a move would cost: the topics that would lose most, and the consumers that would read most again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rich.console import Console

from orchestrator.cli.tables import Number, Rows, pick_worst, total

Costs = Mapping[str, Mapping[str, Number]]


@dataclass(frozen=True, slots=True)
class Cost:
    """What one topic, or one consumer, of a cluster would cost: a number for each column."""

    name: str
    cluster: str
    numbers: tuple[Number, ...]


def costs_of(cluster: str, found: Costs, keys: Iterable[str]) -> tuple[Cost, ...]:
    """As a plan predicts them for whatever leaves `cluster`."""
    wanted = tuple(keys)
    return tuple(
        Cost(name, cluster, tuple(numbers.get(key) for key in wanted)) for name, numbers in found.items()
    )


def render_losses(
    rows: Iterable[Cost], console: Console, *, full: bool = False, allowed: int | None = None
) -> None:
    """Topics by what they would lose at most; nothing where that is nothing. `allowed`: records in all."""
    first = "records lost, by topic" + ("" if allowed is None else f" ({allowed:,} allowed)")
    _render(rows, console, (first, "at least", "expected", "at most"), full=full)


def render_rereads(rows: Iterable[Cost], console: Console, *, full: bool = False) -> None:
    """Consumers by what they would read again at most: by translation, by the age of their positions."""
    _render(rows, console, ("records read again, by consumer", "translation", "age", "at most"), full=full)


LOSS_KEYS = ("at_least", "expected", "at_most")
REREAD_KEYS = ("map", "position_age", "at_most")


def _render(rows: Iterable[Cost], console: Console, columns: tuple[str, ...], *, full: bool) -> None:
    """A row each, what costs most by the last column first, with sums; nothing where all of it is nothing.

    The cluster stands in each row where the rows are of several.
    """
    found = tuple(rows)
    if not found or (not full and all(number == 0 for row in found for number in row.numbers)):
        return
    is_of_many = len({row.cluster for row in found}) > 1
    first, *others = columns
    table = Rows(first, *(("cluster", *others) if is_of_many else others), full=full, left=("cluster",))
    picked = pick_worst(found, lambda row: row.numbers[-1], full=full)
    for row in picked.shown:
        table.add(row.name, *((row.cluster, *row.numbers) if is_of_many else row.numbers))
    table.add_sums(
        picked,
        lambda some: (
            *(("",) if is_of_many else ()),
            *(total(row.numbers[at] for row in some) for at in range(len(others))),
        ),
    )
    console.print()
    console.print(table)
