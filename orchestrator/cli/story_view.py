"""How `dcctl show RUN` looks: one run, for somebody who was not there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any

from pydantic import TypeAdapter
from rich.console import Console
from rich.markup import escape

from orchestrator.cli.afterwards_view import render_afterwards, render_late
from orchestrator.cli.gates_view import render_gates
from orchestrator.cli.loss_view import render_loss
from orchestrator.cli.marks import MARKS, UNKNOWN
from orchestrator.cli.price_view import LOSS_KEYS, REREAD_KEYS, costs_of, render_losses, render_rereads
from orchestrator.cli.producers_view import render_producers
from orchestrator.cli.result_view import render_not_done, render_positions
from orchestrator.cli.run_progress import clock_text, steps_in_words, undone_words
from orchestrator.cli.tables import short_time
from orchestrator.ports.clock import utc_text
from orchestrator.runs.afterwards import Afterwards
from orchestrator.runs.overrides import override_text
from orchestrator.runs.plan import GateResult
from orchestrator.runs.prices import LEFT_BEHIND, READERS_ALONE, price_text
from orchestrator.runs.run_times import phases_in_words
from orchestrator.runs.way_back import ForGood, ways_out
from orchestrator.runs.where_now import rows_in_words, staying_in_words
from orchestrator.runs.word import rows_by_word

_COLOURS = {"ok": "green", "undone": "yellow", "refused": "yellow", "declined": "yellow", "open": "yellow"}
Story = Mapping[str, Any]
Act = Mapping[str, Any]
_AFTERWARDS = TypeAdapter(list[Afterwards])
# Of more applications --full alone tells where each begins: the page is about what was done.
_FEW = 5


def render_story(story: Story, console: Console, *, full: bool = False) -> None:
    """Who and why, what was measured, what was decided, what was done, how long it took, how it ended.

    `full`: every gate, price, step and position.
    """
    way = story["source"] + (f" → {story['target']}" if story["target"] else "")
    colour = _COLOURS.get(story["outcome"], "red")
    of = f" of {story['topology']}" if story["topology"] else ""
    console.print(
        f"[bold]{escape(story['verb'].capitalize())} {escape(way)}[/]{escape(of)}:"
        f" [bold {colour}]{escape(story['outcome'])}[/]"
    )
    _head(story, console)
    _measured(story, console, full=full)
    _predicted(story, console, full=full)
    _done(story, console, full=full)
    _ended(story, console, full=full)


def _head(story: Story, console: Console) -> None:
    who = story["who"]
    place = f" on {who['host']}" if who["host"] else ""
    pid = f" (process {who['pid']})" if who["pid"] else ""
    _row(console, "run", story["run_id"])
    _row(console, "who", f"{who['who'] or 'not recorded'}{place}{pid}")
    if story["dcctl_version"]:
        _row(console, "by", f"dcctl {story['dcctl_version']}")
    _row(console, "why", story["reason"] or "no reason given")
    stopped = f", of which {short_time(story['stopped_seconds'])} stopped" if story["stopped_seconds"] else ""
    took = f"{short_time(story['seconds'])}{stopped}"
    _row(console, "when", f"{utc_text(story['asked_at_s'])} to {utc_text(story['ended_at_s'])} ({took})")
    if story["given_up"]:
        _row(console, "given up", f"[bold red]{escape(story['given_up'])}[/]", is_marked_up=True)
    for override in story["overrides"]:
        _row(console, "set aside", override_text(override))


def _row(console: Console, name: str, text: str, *, is_marked_up: bool = False) -> None:
    console.print(f"  {name:<10} {text if is_marked_up else escape(text)}")


def _measured(story: Story, console: Console, *, full: bool) -> None:
    if story["gates"]:
        console.print("\n[bold]Measured, and what it decided[/]")
        known = {field.name for field in fields(GateResult)}
        gates = ({key: value for key, value in gate.items() if key in known} for gate in story["gates"])
        render_gates((GateResult(**gate) for gate in gates), console, full=full)


def _predicted(story: Story, console: Console, *, full: bool) -> None:
    predicted: Mapping[str, Any] = story["predicted"]
    if not predicted:
        return
    price = price_text(
        story["verb"],
        predicted.get("loss", {}),
        predicted.get("reread", {}),
        seconds=float(predicted.get("seconds", 0.0)),
        loss_seconds=story.get("loss_seconds_at_most"),
        readers_alone=bool(story.get(READERS_ALONE)),
    )
    console.print(f"\n[bold]Predicted[/] {escape(price)}")
    for said in story[LEFT_BEHIND].values():
        _row(console, "left", said)
    source = story["source"]
    render_losses(costs_of(source, predicted.get("loss", {}), LOSS_KEYS), console, full=full)
    render_late(story["verb"], source, story["target"], predicted.get("late", {}), console)
    render_rereads(costs_of(source, predicted.get("reread", {}), REREAD_KEYS), console, full=full)
    applications = _AFTERWARDS.validate_python(story["applications"])
    if full or len(applications) <= _FEW:
        render_afterwards(applications, story["target"], console, full=full)


def _done(story: Story, console: Console, *, full: bool) -> None:
    if not story["acts"]:
        console.print("\n[bold]Done[/] nothing")
        return
    console.print("\n[bold]Done[/]")
    for at_s, line in _act_lines(story["acts"], full=full):
        console.print(f"  [dim]{clock_text(at_s)}[/]  {line}")
    render_not_done(story["not_done"], console, full=full)
    render_producers(story["producers"], console, full=full)
    if story["outcome"] != "undone":
        named = "before" if story["verb"] == "failback" else "the mirror's own"
        rows, saved = story.get("translations") or (), story.get("saved_offsets") or {}
        render_positions(rows, saved, named, console, full=full)
    if story["phases"]:
        said = phases_in_words(story["phases"], story["asked_at_s"])
        console.print(f"\n[bold]Phases[/] (they overlap; seconds after the command)\n  {said}")


def _act_lines(acts: Iterable[Act], *, full: bool) -> Iterator[tuple[float, str]]:
    """A line for each act; of steps that ended well one for each part of the run, unless `full`."""
    together: dict[tuple[str, str], list[Act]] = {}
    lines: list[tuple[float, str]] = []
    for act in acts:
        is_step = act["what"] in ("step", "undone")
        if not is_step:
            yield from lines if full else sorted([*lines, *map(_together, together.values())])
            together, lines = {}, []
        if is_step and act["outcome"] == "ok" and not full:
            together.setdefault(_part(act), []).append(act)
        else:
            lines.append((act["at_s"], _act(act)))
    yield from lines if full else sorted([*lines, *map(_together, together.values())])


def _part(act: Act) -> tuple[str, str]:
    return act["what"], act.get("section") or act["phase"]


def _together(acts: Sequence[Act]) -> tuple[float, str]:
    """Steps of one part that ended well, in a line."""
    what, part = _part(acts[0])
    begun_s = min(float(act["at_s"]) for act in acts)
    ended_s = max(float(act["at_s"]) + float(act["seconds"] or 0.0) for act in acts)
    stand = sum(bool(act["stays_because"]) for act in acts)
    told = steps_in_words(len(acts), is_undo=what == "undone", stand=stand)
    return begun_s, f"{MARKS['ok']} {escape(part)}: {told} [dim]({short_time(ended_s - begun_s)})[/]"


def _act(act: Act) -> str:
    by = f" by {act['who']}" if act.get("who") else ""
    on = f" on {act['host']}" if act.get("host") else ""
    if act["what"] == "gone on":
        after = short_time(act["after_s"])
        return f"[bold yellow]▶ resumed{escape(by)}{escape(on)}[/], {after} after the last record"
    if act["what"] == "taken back":
        return f"[bold yellow]↶ rolled back[/]{escape(by)}: {escape(act['message'])}"
    undone = undone_words(act["stays_because"]) if act["what"] == "undone" else ""
    if act["outcome"] is None:
        return f"{UNKNOWN} {undone}{escape(act['title'])}  [dim]begun; nobody saw its end[/]"
    mark = MARKS[act["outcome"]]
    seen = ", found so after a restart" if act.get("found_after_restart") else ""
    message = f"  [dim]{escape(act['message'])}[/]" if act["message"] else ""
    return f"{mark} {undone}{escape(act['title'])} [dim]({short_time(act['seconds'])}{seen})[/]{message}"


def _ended(story: Story, console: Console, *, full: bool) -> None:
    if story["loss"] is None:
        console.print(f"\n[bold]Lost[/] {UNKNOWN} unknown: {escape(story['loss_unknown'])}")
    else:
        render_loss(story["loss"], console, full=full)
    reason = f": {story['outcome_reason']}" if story["outcome_reason"] else ""
    console.print(f"\n[bold]Ended[/] {escape(story['outcome'])}{escape(reason)}")
    is_open = story["outcome"] in ("incomplete", "unknown", "open")
    if is_open and not story["let_stand"]:
        rows = [ForGood(**row) for row in story["no_way_back"]]
        console.print(f"  to end it: {escape(ways_out(story['run_id'], rows))}")
    if is_open and story["waits_for"]:
        said = rows_by_word(story["run_id"], story["waits_for"])
        console.print(f"  the run waits for a person's word: {escape(said)}")
    if is_open and story["where_now"]:
        console.print(f"  {escape(story['where_now'])}")
    elif story["held"]:
        console.print(f"  held when it ended: {escape(rows_in_words(story['held']))}")
    elif story["held"] is None and story["acts"]:
        console.print(f"  held when it ended: {UNKNOWN} unknown: {escape(story['held_unknown'])}")
    if story["stays"] and story["outcome"] != "ok":
        also = "" if story["outcome"] == "undone" or story["let_stand"] else ", also once it is rolled back"
        console.print(f"  stands{also}: {escape(staying_in_words(story['stays']))}")
