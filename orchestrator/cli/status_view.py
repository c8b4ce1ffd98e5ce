"""How `dcctl status` looks on a terminal: first what could not be done, then what would be lost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.markup import escape

from orchestrator.cli.status_cluster import render_cluster
from orchestrator.cli.status_headline import has_price, headline
from orchestrator.cli.status_places import consumer_called, place_headline, place_lines
from orchestrator.cli.tables import Number, Rows, pick_worst, rows_each, total
from orchestrator.moves.in_status import Told
from orchestrator.ports.clock import CLOCKS_APART_S, utc_text
from orchestrator.runs.gate import by_cause, hints_of
from orchestrator.runs.holds import Hold
from orchestrator.runs.plan import GateResult
from orchestrator.runs.word import rows_by_word
from orchestrator.topology.model import Consumer
from orchestrator.watch.status_parts import status_parts
from orchestrator.wording import and_n_more, listed, short_age

_LISTED, _NOTES = 8, 5
# A watcher that has said nothing for longer than the second is not slow: it may have gone.
_SLOW_S, _SILENT_S = 3.0, 30.0
_CLOSED = {
    "refused": ("A failover would be refused by", "[red]✗[/]"),
    "unknown": ("A failover would not begin: these could not be measured", "[yellow]?[/]"),
}


def render_status(
    status: Mapping[str, Any], console: Console, consumers: Iterable[Consumer] = (), *, full: bool = False
) -> None:
    """Holds, fences, then every mirror. `consumers`: those of the file. `full`: every topic and consumer."""
    parts = status_parts(consumers).values()
    for hold in status.get("holds") or ():
        console.print(f"[bold yellow]HELD[/] {escape(str(Hold(**hold)))}")
    if status.get("holds_problem"):
        console.print(f"[yellow]?[/] whether anybody holds it: {escape(status['holds_problem'])}")
    for fence in status.get("fences") or ():
        console.print(f"[bold yellow]FENCED[/] {escape(_fence(fence))}")
    if status.get("fences_problem") and status["fences_problem"] != status.get("holds_problem"):
        console.print(f"[yellow]?[/] whether a fence stands: {escape(status['fences_problem'])}")
    at_most = rows_each(len(status["mirrors"]))
    for mirror in status["mirrors"]:
        told = [part.row(**row) for part in parts for row in mirror[part.key]]
        _render_mirror(mirror, told, console, _Room(full=full, rows=at_most))
    for cluster in status.get("clusters", ()):
        render_cluster(cluster, console, full=full)
    if not status["mirrors"] and status.get("places") == [] and not status.get("clusters"):
        console.print("[yellow]![/] By this file no application goes anywhere once its cluster is left")
    for place in status.get("places", ()):
        colour = "yellow" if place["would_refuse"] or place.get("open_run") else "green"
        console.print(f"\n[bold {colour}]{escape(place_headline(place))}[/]")
        for line in place_lines(place):
            console.print(f"  {escape(line)}")


@dataclass(frozen=True, slots=True)
class _Room:
    """How many rows of each kind a mirror may have; `full`: all of them."""

    full: bool
    rows: int


def _fence(fence: Mapping[str, Any]) -> str:
    """Who is denied what since when, and how that is lifted."""
    where = fence["cluster"]
    if fence["problem"]:
        return f"maybe at {where} by {fence['run_id']}, whose journal cannot be read: {fence['problem']}"
    maybe = "" if fence["surely"] else "maybe "
    denied = "; ".join(
        f"{maybe}denied {what}: {listed(fence[what], _LISTED)}"
        for what in ("writing", "reading")
        if fence[what]
    )
    said = f"{where} since {utc_text(fence['since_s'])} by {fence['run_id']}: {denied}. "
    said += f"dcctl unfence FILE --cluster {where}"
    unknown = listed(fence["not_in_file"], _LISTED)
    return (
        f"{said}, with a file that names {unknown}: this one has nothing of theirs there" if unknown else said
    )


def _render_mirror(mirror: Mapping[str, Any], told: Sequence[Told], console: Console, room: _Room) -> None:
    """`told`: what kinds tell of their applications."""
    console.print(f"\n[bold {_colour(mirror)}]{escape(headline(mirror))}[/]")
    if has_price(mirror):
        _render_closed(mirror, console)
    for line in _who_works_where(mirror):
        console.print(f"  {line}")
    for line in _degraded(mirror):
        console.print(f"  {line}")
    console.print(f"  watcher   {_watcher(mirror)}")
    console.print(f"  mirror    {_mirror(mirror['mirror'])}")
    again = mirror["mirror"].get("copied_again_if_killed_at_most")
    if room.full and again is not None:
        console.print(f"            killed now, its workers would copy at most {again:,} records again")
    gaps = [f"[red]{escape(place)}: {escape(what)}[/]" for place, what in mirror["mirror"]["gaps"].items()]
    _print_first(gaps, "            ", "gaps", console, room)
    if has_price(mirror):
        _render_price(mirror, told, console, room)


def _print_first(lines: Sequence[str], indent: str, what: str, console: Console, room: _Room) -> None:
    shown = lines if room.full else lines[: room.rows]
    for line in shown:
        console.print(f"{indent}{line}")
    if len(lines) > len(shown):
        console.print(f"{indent}{and_n_more(len(lines) - len(shown), f'more {what}; --full names each')}")


def _colour(mirror: Mapping[str, Any]) -> str:
    side = mirror.get("working_side", {})
    if side.get("kind") == "unfinished":
        return "red"
    if not has_price(mirror):
        is_good = side["kind"] == "moved" and not (side["open_run"] or mirror.get("primary_drift"))
        return "green" if is_good else "yellow"
    return "red" if mirror["lost_between_s"] else "yellow" if mirror["would_refuse"] else "green"


def _render_closed(mirror: Mapping[str, Any], console: Console) -> None:
    """What would refuse a failover, and what could not be measured."""
    closed = by_cause(GateResult(**gate) for gate in mirror["would_refuse"])
    for outcome, (title, mark) in _CLOSED.items():
        found = [gates for gates in closed if gates[0].outcome == outcome]
        if found:
            console.print(title)
        for gates in found:
            ids = ", ".join(gate.id for gate in gates)
            measured = listed(dict.fromkeys(gate.measured for gate in gates))
            console.print(f"  {mark} {ids}: {escape(gates[0].reason)} [dim]({escape(measured)})[/]")
            if hint := hints_of(gates):
                console.print(f"      {escape(hint)}")


def _render_price(mirror: Mapping[str, Any], told: Sequence[Told], console: Console, room: _Room) -> None:
    """What would be lost and read again if the source were lost now."""
    if mirror["loss"]["topics"]:
        console.print()
        console.print(_loss_table(mirror, room))
    if mirror["groups"] or told:
        console.print()
        console.print(_consumer_table(mirror, told, room))
        notes = [f"[yellow]![/] {escape(note)}" for note in _notes(mirror, told)]
        few = _Room(full=room.full, rows=min(_NOTES, room.rows))
        _print_first(notes, "  ", "notes", console, few)


def _who_works_where(mirror: Mapping[str, Any]) -> Iterator[str]:
    """Which side is primary, who has not followed, and whose brokers let nobody in."""
    yield from (f"primary   {line}" for line in _primary(mirror.get("primary", ())))
    yield from (f"          [red]{escape(drift)}[/]" for drift in mirror.get("primary_drift", ()))
    yield from (f"          [yellow]?[/] {escape(unseen)}" for unseen in mirror.get("primary_unseen", ()))
    yield from away_lines(mirror.get("away", {}), mirror["target"])
    yield from _not_seen(mirror.get("last_move"))
    yield from _where_now(mirror.get("last_move"))
    yield from (f"guard     {line}" for line in _guards(mirror.get("guards") or ()))


def _primary(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """One line for each side, with its topics."""
    by_side: dict[str, list[str]] = {}
    for row in rows:
        since = (
            f" since {utc_text(row['since_s'])} by {row['run_id']}" if row["run_id"] else ", as in the file"
        )
        side = "[yellow]not known[/]" if row["primary"] is None else escape(row["primary"]) + since
        by_side.setdefault(side, []).append(str(row["topic"]))
    for side, topics in by_side.items():
        yield f"{side}: {escape(listed(topics, _LISTED))}"


def away_lines(apart: Mapping[str, str], place: str) -> Iterator[str]:
    """Who was moved alone; `apart`: by application the run that moved it."""
    by_run: dict[str, list[str]] = {}
    for name, run_id in apart.items():
        by_run.setdefault(run_id, []).append(name)
    for run_id, names in by_run.items():
        yield f"away      at {escape(place)} since {run_id}: {escape(listed(names, _LISTED))}"


def _where_now(move: Mapping[str, Any] | None) -> Iterator[str]:
    """What a move that is not done holds."""
    if move is not None and move.get("where_now"):
        yield f"move      {escape(move['run_id'])} is not done. {escape(move['where_now'])}"


def _not_seen(move: Mapping[str, Any] | None) -> Iterator[str]:
    """Who has not been seen at work since the newest move."""
    if move is None or move["not_seen"] == []:
        return
    if move["not_seen"] is None:
        yield f"[yellow]?[/] who works at {escape(move['target'])} is unknown: {escape(move['problem'])}"
        return
    names = listed(move["not_seen"], _LISTED)
    yield f"[yellow]not seen[/]  at {escape(move['target'])} since {move['run_id']}: {escape(names)}"
    yield f"          dcctl resume {move['run_id']} FILE looks again"
    if said := rows_by_word(move["run_id"], move.get("waits_for", ())):
        yield f"          {escape(said)}"


def _guards(guards: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """The brokers that were closed, opening or wrongly open when their guards last spoke, with the reason."""
    closed: dict[str, list[str]] = {}
    for guard in guards:
        if guard.get("beside"):
            yield (
                f"[red]open to applications, and should be closed[/]: {escape(guard['server'])}: "
                f"{escape(guard['beside'])}; stop it, or see that access rules keep applications off it"
            )
        elif guard["state"] == "opening":
            age_s = guard["age_s"]
            since = "" if age_s is not None and age_s < _SILENT_S else _said(age_s)
            yield f"[yellow]starts, open to applications[/]: {escape(guard['server'])}{since}"
        elif guard["state"] == "closed":
            silent = "" if guard["is_at_work"] else _said(guard["age_s"])
            closed.setdefault(f"{guard['reason']}{silent}", []).append(str(guard["server"]))
    for reason, servers in closed.items():
        yield f"[yellow]closed to applications[/]: {escape(listed(servers, _LISTED))}: {escape(reason)}"


def _said(age_s: float | None) -> str:
    """How long ago a guard has said something that it would have said again by now."""
    if age_s is None:
        return ", said at an unknown time, for its clock is ahead of this machine's; nothing since"
    return f", said {short_age(age_s)} ago; nothing since"


def _degraded(mirror: Mapping[str, Any]) -> Iterator[str]:
    """Addresses of the source that take no connection while others answer."""
    silent = mirror.get("source_silent") or ()
    if not silent or not mirror["source_answers"] or not has_price(mirror):
        return
    names = escape(listed(silent, _LISTED))
    yield f"source    [red]part of {escape(mirror['source'])} does not answer: {names}[/]"
    sick = " ".join(f"--attest-degraded {name}" for name in mirror["source_datacenters"])
    yield f"          if the site is degraded: dcctl failover FILE {escape(sick)}"


def _watcher(mirror: Mapping[str, Any]) -> str:
    watcher = mirror["watcher"]
    if watcher["problem"]:
        return f"[red]{escape(watcher['problem'])}[/]"
    if watcher.get("clock_ahead_s", 0.0) > CLOCKS_APART_S:
        ahead = short_age(watcher["clock_ahead_s"])
        return f"[red]its clock is {ahead} ahead of this machine's: no age can be told; set both right[/]"
    if watcher["round_age_s"] is None:
        return "[red]never ran here[/]"
    age, aim = watcher["round_age_s"], watcher.get("aim_s")
    if mirror["source_answers"] and aim and _SLOW_S < age < _SILENT_S:
        return f"[yellow]the watcher is slow: last round {short_age(age)} ago, aim {aim:g} s[/]"
    good = watcher["good_round_age_s"]
    source = "never saw the source answer" if good is None else f"source seen {short_age(good)} ago"
    foreign = watcher["unreadable_records"]
    odd = (
        f"; [yellow]{foreign:,} records not understood: does a newer version watch too?[/]" if foreign else ""
    )
    return f"last round {short_age(watcher['round_age_s'])} ago, {source}{odd}"


def _mirror(mirror: Mapping[str, Any]) -> str:
    if not mirror["states"] and not mirror["problems"]:
        return "its engine needs no Connect, which would tell how far it is"
    if set(mirror["states"].values()) <= {"UNKNOWN"}:
        return f"[red]{escape('; '.join(mirror['problems']) or 'unknown')}[/]"
    bad = [f"{name} is {state}" for name, state in mirror["states"].items() if state != "RUNNING"]
    states = f"[red]{escape(', '.join(bad))}[/]" if bad else "runs"
    heartbeat = mirror["heartbeat_age_s"]
    none = "no heartbeat" if mirror.get("heartbeat_at_s") is None else "heartbeat of unknown age"
    beat = none if heartbeat is None else f"heartbeat {short_age(heartbeat)} ago"
    lag = mirror["lag_records"]
    behind = f"{sum(lag.values()):,} records behind" if lag else "lag not known"
    limit = mirror.get("max_bytes_per_s")
    behind += f" (limited to {limit:,} bytes/s)" if limit else ""
    return f"{states}, {behind}, {beat}"


def _loss_table(mirror: Mapping[str, Any], room: _Room) -> Rows:
    table = Rows("records lost, by topic", "expected", "at most", "mirror is behind by", full=room.full)
    lag = mirror["mirror"]["lag_records"]
    rows = [
        (topic, (loss.get("expected"), loss.get("at_most"), lag.get(topic)))
        for topic, loss in mirror["loss"]["topics"].items()
    ]
    picked = pick_worst(rows, lambda row: row[1][1], full=room.full, at_most=room.rows)
    for topic, numbers in picked.shown:
        table.add(topic, *numbers)
    table.add_sums(picked, lambda some: [total(numbers[at] for _, numbers in some) for at in range(3)])
    return table


@dataclass(frozen=True, slots=True)
class _Reading:
    """One consumer: how old its position is, and what it would read again."""

    name: str
    position: str
    at_most: Number
    by_map: Number


def _consumer_table(mirror: Mapping[str, Any], told: Iterable[Told], room: _Room) -> Rows:
    """Whoever would read most again first; see `pick_worst`."""
    table = Rows(
        "records read again, by consumer", "position is", "at most", "by translation", full=room.full
    )
    rows = [
        _Reading(
            consumer_called(group),
            _old(group["position_age_s"]),
            group["reread"].get("at_most"),
            group["reread"].get("map"),
        )
        for group in mirror["groups"]
    ]
    rows += [
        _Reading(one.application, one.position, one.reread.get("at_most"), one.reread.get("map"))
        for one in told
    ]
    picked = pick_worst(rows, lambda row: row.at_most, full=room.full, at_most=room.rows)
    for row in picked.shown:
        table.add(row.name, row.position, row.at_most, row.by_map)
    table.add_sums(
        picked, lambda some: ("", total(row.at_most for row in some), total(row.by_map for row in some))
    )
    return table


def _old(age_s: float | None) -> str:
    return "unknown" if age_s is None else f"{short_age(age_s)} old"


def _notes(mirror: Mapping[str, Any], told: Iterable[Told]) -> list[str]:
    """What the table has no room for: the first thing about each consumer that is not as it should be."""
    notes = []
    for group in mirror["groups"]:
        if group["without_translation"]:
            notes.append(f"{consumer_called(group)}: {group['without_translation'][0]}")
        elif group["partitions"] > group["exact"]:
            notes.append(
                f"{consumer_called(group)}: {group['exact']} of {group['partitions']} partitions exact"
            )
    return notes + [f"{one.application}: {one.note}" for one in told if one.note]
