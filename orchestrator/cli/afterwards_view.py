"""What becomes of each application after a move: what it reads and writes there, and from where on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape

from orchestrator.cli.tables import WORST, Number, Rows
from orchestrator.runs.afterwards import Afterwards, TopicRead
from orchestrator.wording import and_n_more, listed, plural

_BEGINS = {
    "fenced-end": "its end once producers are fenced",
    "log-start": "its beginning",
    "own-position": "the position that it has there",
}
_SHOWN, _NAMED, _REASONS = 3, 1, 1
"""How many rows are shown, topics and reasons named, where --full shows all: two tables stand above it."""


def render_late(
    verb: str, source: str, target: str, late: Mapping[str, Mapping[str, Any]], console: Console
) -> None:
    """What comes late, in a line; nothing where nothing does. `late`: as in a plan's prediction."""
    known = {topic: row["at_most"] for topic, row in late.items() if row.get("at_most")}
    if not known:
        return
    records = sum(known.values())
    if verb == "failback":
        said = f"{plural(records, 'record')} of the tail of {target} come in the move, behind newer ones"
    else:
        said = (
            f"at most {plural(records, 'record')} of these once {source} is back with its disks, "
            "behind newer ones"
        )
    console.print(f"  [bold]late[/]  {escape(said)}: {escape(listed(known, _NAMED))}")


def render_afterwards(
    applications: Sequence[Afterwards], target: str, console: Console, *, full: bool = False
) -> None:
    """A row for each topic that an application reads or writes afterwards; of many the first."""
    rows = list(_rows(applications))
    if not rows:
        return
    table = Rows(
        f"afterwards at {target}",
        "topic",
        "from",
        "unread",
        "again",
        "out of order",
        full=full,
        left=("topic", "from"),
        whole=("from",),
    )
    shown = rows if full or len(rows) <= WORST else rows[:_SHOWN]
    for name, cells in shown:
        table.add(name, *cells)
    console.print()
    console.print(table)
    if len(rows) > len(shown):
        console.print(f"  [dim]{and_n_more(len(rows) - len(shown))}; --full names each[/]")
    for line in _notes(applications, full=full):
        console.print(f"  [dim]{escape(line)}[/]")


def _rows(applications: Sequence[Afterwards]) -> Iterator[tuple[str, tuple[str | Number, ...]]]:
    for one in applications:
        for written in one.writes:
            beside = f", as {listed(written.others)} does" if written.others else ""
            yield one.name, (written.topic, f"writes it{beside}", "", "", "")
        for read in one.reads:
            yield (
                one.name,
                (read.topic, _from(read), _unread(read), read.reread_at_most, read.out_of_order_at_most),
            )


def _from(read: TopicRead) -> str:
    if not read.route:
        return _BEGINS.get(read.begins, read.begins)
    return f"{read.left} by {read.route}" if read.left != read.topic else read.route


def _unread(read: TopicRead) -> str | Number:
    if read.unread_at_most is None and read.unread_now is not None:
        return f"{read.unread_now:,} now"
    return read.unread_at_most


def _notes(applications: Sequence[Afterwards], *, full: bool) -> Iterator[str]:
    """What the figures do not say: topics without an order between them, and why a number is not known."""
    reads = [read for one in applications for read in one.reads]
    pairs = dict.fromkeys(
        " and ".join(sorted((read.topic, read.newer_in))) for read in reads if read.newer_in
    )
    if pairs:
        named = listed(pairs, len(pairs) if full else _NAMED)
        yield (
            f"Between {named} Kafka keeps no order: what is unread in the one may be read behind new records "
            "in the other."
        )
    never = dict.fromkeys(" and ".join(one.never_in_order) for one in applications if one.never_in_order)
    if never:
        yield f"Keys that are written to {listed(never, separator='; ')} at their origins never had an order."
    reasons = dict.fromkeys(
        read.reason
        for read in reads
        if read.reason and None in {read.unread_at_most, read.reread_at_most, read.out_of_order_at_most}
    )
    reasons |= dict.fromkeys(one.reason for one in applications if one.reason)
    if reasons:
        said = listed(reasons, len(reasons) if full else _REASONS, separator="; ")
        yield f"Not known before the move: {said}."
