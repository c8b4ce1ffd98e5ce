"""How producers look that were awaited after a move: who was not seen in full, the others in a line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rich.console import Console
from rich.markup import escape

from orchestrator.cli.marks import MARKS, UNKNOWN
from orchestrator.ports.clock import utc_text
from orchestrator.wording import and_n_more

Row = Mapping[str, Any]
_SEEN = ("seen", "attested")
_FEW, _UNSEEN = 3, 5


def render_producers(rows: Iterable[Row], console: Console, *, full: bool = False) -> None:
    """Who was not seen first, with what to do; then whoever was, each with its first record, or how many."""
    found = list(rows)
    unseen = [row for row in found if row["outcome"] not in _SEEN]
    seen = [row for row in found if row["outcome"] in _SEEN]
    shown = unseen if full else unseen[:_UNSEEN]
    hints: dict[str, None] = {}
    for row in shown:
        console.print(_line(row))
        if row["hint"]:
            hints.setdefault(str(row["hint"]))
    for hint in hints:
        console.print(f"      {escape(hint)}")
    if len(unseen) > len(shown):
        console.print(f"  {UNKNOWN} {and_n_more(len(unseen) - len(shown), 'producers were not seen')}")
    if full or len(seen) <= _FEW:
        for row in seen:
            console.print(_line(row))
    elif seen:
        times = [float(row["at_s"]) for row in seen if row["at_s"] is not None]
        first = f", first records {_span(times)}" if times else ""
        console.print(f"  {MARKS['ok']} {len(seen):,} of {len(found):,} producers at work{first}")


def _span(times: list[float]) -> str:
    return f"{utc_text(min(times)).split()[1]} to {utc_text(max(times)).split()[1]} UTC"


def _line(row: Row) -> str:
    mark = MARKS["ok"] if row["outcome"] in _SEEN else UNKNOWN
    said = f"{row['by']}; {row['place']}" if row["place"] else row["by"] or row["reason"]
    first = (
        "" if row["at_s"] is None else f" first record {utc_text(row['at_s'])}, clock of the {row['clock']}"
    )
    word = first or f" {row['outcome'].replace('-', ' ')}"
    return f"  {mark} producer {escape(row['producer'])}{word} [dim]({escape(said)})[/]"
