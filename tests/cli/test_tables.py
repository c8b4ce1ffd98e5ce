"""Of many rows the worst, what is left out, sums; on a terminal and in a pipe."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from orchestrator.cli.price_view import Cost, render_losses
from orchestrator.cli.tables import Rows, middle_cut, pick_worst, rows_each, total


def printed(*rows: Cost, width: int = 80, terminal: bool = False, full: bool = False) -> list[str]:
    """What is written, line by line."""
    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=terminal, color_system=None, soft_wrap=True)
    render_losses(rows, console, full=full)
    return out.getvalue().splitlines()


def costs(*at_most: int | None, cluster: str = "west") -> list[Cost]:
    """A topic each."""
    return [Cost(f"topic-{at:02d}", cluster, (0, 0, number)) for at, number in enumerate(at_most)]


def test_the_worst_come_first_and_what_is_not_known_is_worse_than_any() -> None:
    """The others are counted, and what costs nothing is among them."""
    picked = pick_worst([3, 0, None, 9, 0, 1], lambda row: row, at_most=4)
    assert picked.shown == (None, 9, 3, 1)
    assert picked.left_out == (0, 0)
    assert pick_worst([3, 0, 9], lambda row: row, at_most=3).shown == (3, 0, 9)
    assert pick_worst(range(99), lambda row: row, full=True).left_out == ()


def test_sums_are_of_all_rows_and_of_those_left_out() -> None:
    """Below the ten that cost most."""
    lines = printed(*costs(*range(1, 31)))
    assert len(lines) == 1 + 1 + 10 + 2
    assert lines[2].split() == ["topic-29", "0", "0", "30"]
    assert lines[-2].split() == ["and", "20", "more", "0", "0", str(sum(range(1, 21)))]
    assert lines[-1].split() == ["all", "30", "0", "0", str(sum(range(1, 31)))]
    assert len(printed(*costs(*range(1, 31)), full=True)) == 1 + 1 + 30 + 1


def test_a_sum_with_something_unknown_is_unknown() -> None:
    """It is not dressed up as a number."""
    assert total([1, None]) is None
    assert printed(*costs(5, None))[-1].split() == ["all", "2", "0", "0", "unknown"]


def test_a_table_of_nothing_is_not_printed() -> None:
    """Unless all is asked for."""
    assert printed(*costs(0, 0)) == []
    assert len(printed(*costs(0, 0), full=True)) == 5


def test_rows_of_several_clusters_name_theirs() -> None:
    """The same topic may be lost at two of them; of one nobody needs the name in every row."""
    both = printed(*costs(3), *costs(4, cluster="south"))
    assert both[1].split()[:5] == ["records", "lost,", "by", "topic", "cluster"]
    assert [line.split()[:2] for line in both[2:4]] == [["topic-00", "west"], ["topic-00", "south"]]
    assert both[-1].split() == ["all", "2", "0", "0", "7"]
    assert "cluster" not in printed(*costs(3, 4))[1]


@pytest.mark.parametrize("terminal", [True, False])
def test_nothing_stands_behind_the_last_column(*, terminal: bool) -> None:
    """No line is padded."""
    for line in printed(*costs(3, 1_000_000), terminal=terminal):
        assert line == line.rstrip()


def test_a_name_is_cut_on_a_terminal_only() -> None:
    """In its middle; a pipe and `--full` have it whole."""
    long = Cost("a" * 60 + "-the-end", "west", (0, 0, 7))
    (row,) = printed(long, terminal=True)[2:]
    assert "…" in row
    assert "-the-end" in row
    assert len(row) <= 80
    assert long.name in printed(long, width=40)[2]
    assert "…" not in "".join(printed(long, terminal=True, full=True))
    assert middle_cut("abcdefghij", 5) == "ab…ij"
    assert middle_cut("abc", 5) == "abc"


def test_several_alike_parts_share_the_rows() -> None:
    """But each has some."""
    assert (rows_each(1), rows_each(2), rows_each(50)) == (10, 5, 3)


def test_words_begin_under_each_other() -> None:
    """Numbers end so."""
    out = io.StringIO()
    table = Rows("name", "place", "count", left=("place",))
    table.add("a", "west", 1_000)
    table.add("bcd", "east", None)
    Console(file=out, width=60).print(table)
    assert out.getvalue().splitlines() == [
        "  name  place    count",
        "  a     west     1,000",
        "  bcd   east   unknown",
    ]
