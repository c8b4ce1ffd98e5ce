"""How the end of a run looks: what did not end well, who was seen at work, where positions stand now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape

from orchestrator.cli.loss_view import render_loss
from orchestrator.cli.marks import MARKS
from orchestrator.cli.producers_view import render_producers
from orchestrator.cli.tables import WORST, Number, Rows, pick_worst, total
from orchestrator.runs.run_times import phases_in_words
from orchestrator.verbs.live.run_result import RunResult
from orchestrator.wording import and_n_more, counted

Row = Mapping[str, Any]


def render_result(result: RunResult, console: Console, *, full: bool = False) -> None:
    """What did not end well first, then who is at work and where positions stand. `full`: each of them."""
    if not result.phases:
        return
    _render_steps(result, console, full=full)
    render_producers(result.producers, console, full=full)
    render_loss(result.loss, console, full=full)
    for pause in result.pauses:
        if pause["consumers"]:
            names, seconds = ", ".join(pause["consumers"]), pause["seconds"]
            stood = "an unknown time: not seen to read again" if seconds is None else f"{seconds:.1f} s"
            mark = MARKS["unknown" if seconds is None else "ok"]
            console.print(f"  {mark} {escape(names)} paused at {pause['cluster']} for {stood}")
    said = phases_in_words(result.phases, result.started_at_s)
    console.print(f"  [dim]phases overlap, seconds after the command: {said}[/]")
    if result.outcome != "undone":
        # On the way back there is no group sync: what stands there is the group's own, of long ago.
        named = "before" if result.plan["verb"] == "failback" else "the mirror's own"
        render_positions(result.translations, result.saved_offsets, named, console, full=full)


def _render_steps(result: RunResult, console: Console, *, full: bool) -> None:
    """Those that did not end well; the ones that were never begun only by their number."""
    for step in result.steps:
        if step["outcome"] not in ("ok", "not done"):
            mark = MARKS.get(str(step["outcome"]), "·")
            console.print(
                f"  {mark} {escape(str(step['title']))}: {escape(str(step['message'] or step['outcome']))}"
            )
    render_not_done([str(s["title"]) for s in result.steps if s["outcome"] == "not done"], console, full=full)


def render_not_done(titles: Sequence[str], console: Console, *, full: bool) -> None:
    """Steps that were never begun: all of them named, or the first one and how many more."""
    shown = titles if full else titles[:1]
    for title in shown:
        console.print(f"  [dim]· not begun: {escape(title)}[/]")
    if len(titles) > len(shown):
        console.print(f"  [dim]· not begun: {and_n_more(len(titles) - len(shown))}[/]")


def render_positions(
    rows: Sequence[Row],
    saved: Mapping[str, Any],
    named: str,
    console: Console,
    *,
    full: bool = False,
    at_most: int = WORST,
) -> None:
    """How many positions are exact, and those that are not: the ones that are read again most first.

    `saved`: group -> topic -> partition -> what stood there before, which is `named` so.
    """
    if not rows:
        return
    exact = sum(bool(row["exact"]) for row in rows)
    groups = len({row["group"] for row in rows})
    told = f"{len(rows):,} positions of {groups:,} group{'s' if groups != 1 else ''}: {exact:,} exact"
    again = total(map(_reread, rows))
    if again == 0:
        told += "; by translation nothing is read again"
    else:
        told += f"; by translation at most {counted(again)} records are read again"
    console.print(f"  {MARKS['ok']} {told}")
    wanted = list(rows) if full else [row for row in rows if not row["exact"]]
    if wanted:
        console.print(_positions(wanted, saved, named, full=full, at_most=at_most))


def _positions(rows: list[Row], saved: Mapping[str, Any], named: str, *, full: bool, at_most: int) -> Rows:
    ways = {_way(row) for row in rows}
    table = Rows("position", "from", "to", named, "read again", full=full)
    picked = pick_worst(rows, _reread, full=full, at_most=at_most)
    for row in picked.shown:
        way = f" ({_way(row)})" if len(ways) > 1 else ""
        name = f"{row['group']} {_topics(row)}{way}"
        table.add(
            name, _offset(row["source_offset"]), row["target_offset"], _before(row, saved), _reread(row)
        )
    table.add_sums(picked, lambda some: ("", "", "", total(map(_reread, some))))
    return table


def _way(row: Row) -> str:
    return " → ".join(str(row[key]) for key in ("source", "target") if row.get(key))


def _topics(row: Row) -> str:
    """The partition; both of its topics where the second is no copy named after the first."""
    there, source = str(row["target_topic"]), str(row["topic"])
    is_copy = there == source or there.endswith(f".{source}") or source.endswith(f".{there}")
    return f"{source}-{row['partition']}" + ("" if is_copy else f" → {there}")


def _reread(row: Row) -> Number:
    """What the translation costs: nothing where it is exact."""
    if row.get("reread_at_most") is None:
        return 0 if row["exact"] else None
    return int(row["reread_at_most"])


def _offset(offset: Number) -> str:
    return "nothing" if offset is None else f"{offset:,}"


def _before(row: Row, saved: Mapping[str, Any]) -> str:
    return _offset(saved.get(row["group"], {}).get(row["target_topic"], {}).get(str(row["partition"])))
