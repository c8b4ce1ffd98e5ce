"""Tables of every view: of many rows the worst, how many are left out, sums; all of it where asked for.

They are quiet: no lines, numbers under each other, nothing behind the last column. A long name is
shortened in its middle on a terminal; into a pipe, and with `--full`, every name is whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from rich.console import Console, ConsoleOptions, RenderResult
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from orchestrator.wording import and_n_more, counted

T = TypeVar("T")
WORST = 10
"""So many rows a short view names of each kind."""
_AT_LEAST = 3
_NAME_WIDTH = 36
_ANY_WIDTH = 100_000
Number = int | None


@dataclass(frozen=True, slots=True)
class Picked(Generic[T]):
    """The rows that are shown, and those that are not."""

    shown: tuple[T, ...]
    left_out: tuple[T, ...] = ()


def pick_worst(
    rows: Iterable[T], cost: Callable[[T], Number], *, full: bool = False, at_most: int = WORST
) -> Picked[T]:
    """The rows that cost most, the worst first; what is not known is worse than any number.

    All of them as they come where they are few, or `full`. Where some are left out, so is what costs nothing.
    """
    found = tuple(rows)
    if full or len(found) <= at_most:
        return Picked(found)
    numbers = [cost(row) for row in found]
    order = sorted(range(len(found)), key=lambda at: (numbers[at] is not None, -(numbers[at] or 0), at))
    shown = [at for at in order[:at_most] if numbers[at] != 0]
    known = set(shown)
    return Picked(
        tuple(found[at] for at in shown), tuple(found[at] for at in range(len(found)) if at not in known)
    )


def rows_each(parts: int) -> int:
    """How many rows each of several alike parts of a view may have."""
    return max(_AT_LEAST, WORST // max(1, parts))


def total(numbers: Iterable[Number]) -> Number:
    """Their sum; unknown where one of them is."""
    known = list(numbers)
    return None if None in known else sum(number or 0 for number in known)


def short_time(seconds: float) -> str:
    """A duration in the unit that fits."""
    return f"{seconds:.1f} s" if seconds < 120 else f"{seconds / 60:.1f} min"


class Rows:
    """A table, to be filled row by row and printed: names at the left, numbers at the right."""

    def __init__(
        self,
        first: str,
        *others: str,
        full: bool = False,
        left: Iterable[str] = (),
        whole: Iterable[str] = (),
    ) -> None:
        """`left`: columns of words, which begin under each other; `whole`: those of them never shortened."""
        self._full = full
        self._columns = (first, *others)
        self._words, self._whole = {first, *left}, frozenset(whole)
        self._rows: list[tuple[str, tuple[str, ...]]] = []

    def add(self, name: str, *cells: str | Number, style: str = "") -> None:
        """One row; numbers get their commas."""
        told = (cell if isinstance(cell, str) else counted(cell) for cell in cells)
        self._rows.append((style, (name, *told)))

    def add_sums(self, picked: Picked[T], sums: Callable[[Sequence[T]], Sequence[str | Number]]) -> None:
        """The last rows: how many are not shown, and what all of them come to; nothing under a single row."""
        every = (*picked.shown, *picked.left_out)
        if picked.left_out:
            self.add(and_n_more(len(picked.left_out)), *sums(picked.left_out), style="dim")
        if len(every) > 1:
            self.add(f"all {len(every):,}", *sums(every), style="bold")

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """See rich: indented by two, without blanks behind the last column."""
        is_narrow = console.is_terminal
        table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
        for name in self._columns:
            is_word = name in self._words
            table.add_column(
                name, justify="left" if is_word else "right", overflow="fold", no_wrap=not is_word
            )
        for style, cells in self._rows:
            is_cut = is_narrow and not self._full
            shown = (
                middle_cut(cell, _NAME_WIDTH) if is_cut and column not in self._whole else cell
                for column, cell in zip(self._columns, cells, strict=False)
            )
            table.add_row(*(Text(cell, style=style) for cell in shown))
        width = options.max_width - 2 if is_narrow else _ANY_WIDTH
        inner = options.update(width=width, no_wrap=False, overflow="fold", height=None)
        for line in console.render_lines(table, inner, pad=False):
            yield from _stripped([Segment("  "), *line])
            yield Segment.line()


def middle_cut(name: str, width: int) -> str:
    """A name that fits: its beginning and its end tell more than its middle."""
    if len(name) <= width:
        return name
    tail = (width - 1) // 2
    return f"{name[: width - 1 - tail]}…{name[len(name) - tail :]}"


def _stripped(line: Iterable[Segment]) -> Iterator[Segment]:
    kept = list(line)
    while kept and not kept[-1].text.rstrip():
        kept.pop()
    if kept:
        last = kept.pop()
        yield from kept
        yield Segment(last.text.rstrip(), last.style, last.control)
