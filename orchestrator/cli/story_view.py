"""How `dcctl show RUN` looks: one run, for somebody who was not there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rich.console import Console
from rich.markup import escape

from orchestrator.moves.losses import loss_in_words
from orchestrator.ports.clock import utc_text
from orchestrator.runs.overrides import override_text
from orchestrator.runs.run_times import phases_in_words
from orchestrator.runs.way_back import ForGood, ways_out
from orchestrator.runs.where_now import rows_in_words, staying_in_words
from orchestrator.runs.word import rows_by_word
from orchestrator.wording import and_n_more

_UNKNOWN = "[bold yellow]?[/]"
MARKS = {
    "ok": "[green]✓[/]",
    "failed": "[bold red]✗[/]",
    "refused": "[bold red]✗[/]",
    "partial": "[bold red]◐[/]",
    "unknown": _UNKNOWN,
}
"""What stands before a gate or a step, by its outcome."""
_COLOURS = {"ok": "green", "undone": "yellow", "refused": "yellow", "declined": "yellow", "open": "yellow"}
_LISTED = 4
Story = Mapping[str, Any]


def render_story(story: Story, console: Console) -> None:
    """Who and why, what was measured, what was decided, what was done, how long it took, how it ended."""
    way = story["source"] + (f" → {story['target']}" if story["target"] else "")
    colour = _COLOURS.get(story["outcome"], "red")
    of = f" of {story['topology']}" if story["topology"] else ""
    console.print(
        f"[bold]{escape(story['verb'].capitalize())} {escape(way)}[/]{escape(of)}:"
        f" [bold {colour}]{escape(story['outcome'])}[/]"
    )
    _head(story, console)
    _measured(story, console)
    _predicted(story["predicted"], console)
    _done(story, console)
    _ended(story, console)


def _head(story: Story, console: Console) -> None:
    who = story["who"]
    place = f" on {who['host']}" if who["host"] else ""
    pid = f" (process {who['pid']})" if who["pid"] else ""
    _row(console, "run", story["run_id"])
    _row(console, "who", f"{who['who'] or 'not recorded'}{place}{pid}")
    if story["dcctl_version"]:
        _row(console, "by", f"dcctl {story['dcctl_version']}")
    _row(console, "why", story["reason"] or "no reason given")
    stopped = f", of which {_seconds(story['stopped_seconds'])} stopped" if story["stopped_seconds"] else ""
    took = f"{_seconds(story['seconds'])}{stopped}"
    _row(console, "when", f"{utc_text(story['asked_at_s'])} to {utc_text(story['ended_at_s'])} ({took})")
    if story["given_up"]:
        _row(console, "given up", f"[bold red]{escape(story['given_up'])}[/]", is_marked_up=True)
    for override in story["overrides"]:
        _row(console, "set aside", override_text(override))


def _row(console: Console, name: str, text: str, *, is_marked_up: bool = False) -> None:
    console.print(f"  {name:<10} {text if is_marked_up else escape(text)}")


def _measured(story: Story, console: Console) -> None:
    if story["gates"]:
        console.print("\n[bold]Measured, and what it decided[/]")
    for gate in story["gates"]:
        mark = MARKS[gate["outcome"]]
        console.print(f"  {mark} {gate['id']}: {escape(gate['reason'])} [dim]({escape(gate['measured'])})[/]")
        if gate["outcome"] != "ok":
            console.print(f"      limit: {escape(gate['limit'])}")


def _predicted(predicted: Mapping[str, Any], console: Console) -> None:
    if not predicted:
        return
    console.print(f"\n[bold]Predicted[/] {_seconds(float(predicted.get('seconds', 0.0)))}")
    losses = predicted.get("loss", {})
    for topic, loss in losses.items():
        if loss.get("at_most") != 0:
            at_most, expected = _number(loss.get("at_most")), _number(loss.get("expected"))
            console.print(f"  {escape(topic)}: {expected} records lost, at most {at_most}")
    if losses and all(loss.get("at_most") == 0 for loss in losses.values()):
        console.print("  no record lost")
    rereads = predicted.get("reread", {})
    for consumer, cost in rereads.items():
        if cost.get("at_most") != 0:
            console.print(f"  {escape(consumer)}: reads at most {_number(cost.get('at_most'))} records again")
    if rereads and all(cost.get("at_most") == 0 for cost in rereads.values()):
        console.print("  nothing read again")


def _done(story: Story, console: Console) -> None:
    if not story["acts"]:
        console.print("\n[bold]Done[/] nothing")
        return
    console.print("\n[bold]Done[/]")
    for act in story["acts"]:
        console.print(f"  {_clock(act['at_s'])}  {_act(act)}")
    for line in producer_lines(story["producers"]):
        console.print(line)
    left = story["not_done"]
    for title in left[:_LISTED]:
        console.print(f"  [dim]not done  · {escape(title)}[/]")
    if len(left) > _LISTED:
        console.print(f"  [dim]not done  · {and_n_more(len(left) - _LISTED)}[/]")
    if story["phases"]:
        said = phases_in_words(story["phases"], story["asked_at_s"])
        console.print(f"\n[bold]Phases[/] (they overlap; seconds after the command)\n  {said}")


def producer_lines(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """One line for each producer: its first record at the target, or why there is none."""
    for row in rows:
        mark = MARKS["ok"] if row["outcome"] in ("seen", "attested") else _UNKNOWN
        said = f"{row['by']}; {row['place']}" if row["place"] else row["by"] or row["reason"]
        first = (
            ""
            if row["at_s"] is None
            else f" first record {utc_text(row['at_s'])}, clock of the {row['clock']}"
        )
        word = first or f" {row['outcome'].replace('-', ' ')}"
        yield f"  {mark} producer {escape(row['producer'])}{word} [dim]({escape(said)})[/]"
        if row["hint"]:
            yield f"      {escape(row['hint'])}"


def _act(act: Mapping[str, Any]) -> str:
    by = f" by {act['who']}" if act.get("who") else ""
    on = f" on {act['host']}" if act.get("host") else ""
    if act["what"] == "gone on":
        after = _seconds(act["after_s"])
        return f"[bold yellow]▶ gone on with{escape(by)}{escape(on)}[/], {after} after the last record"
    if act["what"] == "taken back":
        return f"[bold yellow]↶ taken back[/]{escape(by)}: {escape(act['message'])}"
    undone = undone_words(act["stays_because"]) if act["what"] == "undone" else ""
    if act["outcome"] is None:
        return f"{_UNKNOWN} {undone}{escape(act['title'])}  [dim]begun; nobody saw its end[/]"
    mark = MARKS[act["outcome"]]
    seen = ", found so after a restart" if act.get("found_after_restart") else ""
    message = f"  [dim]{escape(act['message'])}[/]" if act["message"] else ""
    return f"{mark} {undone}{escape(act['title'])} [dim]({_seconds(act['seconds'])}{seen})[/]{message}"


def render_loss(losses: Mapping[str, Any], console: Console) -> None:
    """What a sick site has cost: the sum, and each partition that is not zero or not known."""
    said = loss_in_words(losses)
    if not said:
        return
    console.print(f"\n[bold]Lost[/] {escape(said)}")
    for topic, numbers in losses.items():
        for number, row in numbers.items():
            if row["lost"] != 0:
                count = f"{_UNKNOWN} unknown" if row["lost"] is None else f"{row['lost']:,} records"
                why = f"  [dim]{escape(row['reason'])}[/]" if row["reason"] else ""
                console.print(f"  {escape(topic)}-{number}: {count}{why}")


def _ended(story: Story, console: Console) -> None:
    if story["loss"] is None:
        console.print(f"\n[bold]Lost[/] {_UNKNOWN} unknown: {escape(story['loss_unknown'])}")
    else:
        render_loss(story["loss"], console)
    reason = f": {story['outcome_reason']}" if story["outcome_reason"] else ""
    console.print(f"\n[bold]Ended[/] {escape(story['outcome'])}{escape(reason)}")
    is_open = story["outcome"] in ("incomplete", "unknown", "open")
    if is_open and not story["let_stand"]:
        rows = [ForGood(**row) for row in story["no_way_back"]]
        console.print(f"  to end it: {escape(ways_out(story['run_id'], rows))}")
    if is_open and story["waits_for"]:
        said = rows_by_word(story["run_id"], story["waits_for"])
        console.print(f"  it waits for a person's word: {escape(said)}")
    if is_open and story["where_now"]:
        console.print(f"  {escape(story['where_now'])}")
    elif story["held"]:
        console.print(f"  held when it ended: {escape(rows_in_words(story['held']))}")
    elif story["held"] is None and story["acts"]:
        console.print(f"  held when it ended: {_UNKNOWN} unknown: {escape(story['held_unknown'])}")
    if story["stays"] and story["outcome"] != "ok":
        also = "" if story["outcome"] == "undone" or story["let_stand"] else ", also once it is taken back"
        console.print(f"  stands{also}: {escape(staying_in_words(story['stays']))}")


def undone_words(stays_because: str) -> str:
    """What stands before the title of a step whose undo has ended: it takes nothing back of what stays."""
    return "stands: " if stays_because else "undone: "


def _clock(at_s: float) -> str:
    return utc_text(at_s).split()[1]


def _seconds(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 120 else f"{seconds / 60:.1f} min"


def _number(value: int | None) -> str:
    return "an unknown number of" if value is None else f"{value:,}"
