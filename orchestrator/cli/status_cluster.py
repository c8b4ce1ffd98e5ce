"""How `dcctl status` looks for a file with one cluster: how it stands, then what the next loss would stop."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console
from rich.markup import escape

from orchestrator.cli.tables import Rows
from orchestrator.moves.within_cluster.standing_changes import standing_changes_told
from orchestrator.ports.clock import utc_text
from orchestrator.wording import listed, plural, short_age

_WORST = 8
_EVENTS = 5
_GOES_ON = {
    False: "",
    True: ", and goes on",
    None: "; whether that goes on is unknown: no watcher says so now",
}
_ROWS = (
    ("not_led", "not led"),
    ("away", "no replica up"),
    ("not_in_sync", "not in sync"),
    ("in_one_site", "in sync at one site alone"),
    ("not_preferred", "off its preferred place (dcctl leaders FILE --balance)"),
)


def cluster_headline(status: Mapping[str, Any]) -> str:
    """One line: what does not work now, or how far the next loss is away."""
    name, rows = status["cluster"], status["partitions"]
    if rows is None:
        return f"{name}: does not answer"
    wrong = [
        (rows["not_led"], "not led by who is up"),
        (rows["away"], "without any replica that is up"),
        (rows["not_in_sync"], "with replicas out of sync"),
    ]
    said = [f"{plural(len(found), 'partition')} {what}" for found, what in wrong if found]
    if rows["stopped"]:
        said.insert(0, f"writes to {listed(rows['stopped'])} wait")
    if has_no_quorum(status):
        said.insert(0, "too few voters are up: metadata cannot be changed, and nobody is elected")
    if said:
        return f"{name}: {'; '.join(said)}"
    whole = f"{name}: {plural(rows['count'], 'partition')}, each led, every replica in sync"
    return f"{whole}; {_margin_in_short(status)}"


def has_no_quorum(status: Mapping[str, Any]) -> bool:
    """Whether it is known that the voters that are up are no quorum."""
    return status["control_plane"] not in (None, "continues")


def _margin_in_short(status: Mapping[str, Any]) -> str:
    if status["margin"] is None:
        return "what the next loss would stop is not known"
    sites = {row["site"] for row in status["sites"]}
    racks = {f"rack {row['rack']}" for site in status["sites"] for row in site["racks"]}
    names = [name for one in status["margin"] for name in one["next"]]
    alone = [name for name in names if name not in sites | racks]
    if alone:
        return f"the loss of one server would stop something: {listed(alone)}"
    if not names:
        return "no loss of one server or site stops anything"
    kinds = "rack or site" if racks.intersection(names) else "site"
    return f"no server's loss stops anything; the loss of a {kinds} does: {listed(names)}"


def render_cluster(status: Mapping[str, Any], console: Console, *, full: bool) -> None:
    """The whole of it."""
    rows = status["partitions"]
    is_well = (
        rows is not None
        and not has_no_quorum(status)
        and not any(rows[key] for key in ("not_led", "away", "not_in_sync", "stopped"))
    )
    is_stopped = rows is None or rows["stopped"] or has_no_quorum(status)
    colour = "green" if is_well else "red" if is_stopped else "yellow"
    console.print(f"\n[bold {colour}]{escape(cluster_headline(status))}[/]")
    table = Rows("site", "brokers up", "voters up", "leads", "", left=["site", ""])
    for row in status["sites"]:
        state = "off" if row["off"] else "evacuated" if row["evacuated"] else ""
        table.add(
            row["site"],
            _of(row["brokers_up"], row["brokers"]),
            _of(row["voters_up"], row["voters"]),
            "?" if row["leads"] is None else row["leads"],
            state,
        )
    console.print(table)
    for line in _lines(status, full=full):
        console.print(f"  {escape(line)}")
    down = {row["site"] for row in status["sites"] if is_down(row)}
    for row in status["if_lost"]:
        if row["site"] not in down:
            _render_lost(row, console)
    console.print()


def _of(up: int | None, count: int) -> str:
    return f"{'?' if up is None else up} of {count}" if count else "–"


def _lines(status: Mapping[str, Any], *, full: bool) -> Iterator[str]:
    for site in status["sites"]:
        if is_down(site) and not site["off"]:
            words = f"dcctl failover FILE --attest-down {site['site']} --dry-run"
            yield f"{site['site']}: no broker is up; if it is down: {words}"
        for rack in site["racks"]:
            if rack["brokers_up"] == 0 < rack["brokers"]:
                yield f"{site['site']}: no broker of rack {rack['rack']} is up"
    rows = status["partitions"] or {}
    for key, what in _ROWS:
        if rows.get(key):
            yield f"{what}: {listed(rows[key], len(rows[key]) if full else _WORST)}"
    yield from _changed(status, full=full)
    yield from (f"not known: {problem}" for problem in status["problems"])
    if status["partitions"] is None:
        yield "if a site is down: dcctl failover FILE --attest-down SITE --dry-run"
    yield from _watched(status, full=full)
    for one in status["margin"] or ():
        yield f"margin: {one['said']}"
    if status["margin"] == []:
        yield "margin: the loss of no server and no site would stop anything that goes on"


def _changed(status: Mapping[str, Any], *, full: bool) -> Iterator[str]:
    """What stands changed until a failback; guards that hold their servers, or all of them."""
    yield from standing_changes_told(status, status["cluster"])
    for guard in status["guards"] or ():
        if full or guard["state"] == "held":
            yield f"guard of {guard['server']} at {guard['site']}: {guard['state']}: {guard['reason']}"


def _watched(status: Mapping[str, Any], *, full: bool) -> Iterator[str]:
    """Whether each site's watcher sees the cluster now, and what has happened."""
    if status["watchers"] is None and status["watchers_problem"] not in status["problems"]:
        yield f"not known: what watchers have seen: {status['watchers_problem']}"
    for row in status["watchers"] or ():
        age = "" if row["age_s"] is None else f", last reading {short_age(row['age_s'])} ago"
        if row["problem"]:
            said = f"{row['problem']}{age}: dcctl watch FILE --at {row['site']}"
        else:
            said = f"broker {row['told_by']} tells it, {row['controller'] or 'no controller seen'}{age}"
        if full or row["problem"]:
            yield f"watcher at {row['site']}: {said}"
    events = status["events"] or []
    for event in events if full else events[-_EVENTS:]:
        yield f"{utc_text(event['begun']['by_s'])}: {event['said']}{_GOES_ON[event['goes_on']]}"


def _render_lost(row: Mapping[str, Any], console: Console) -> None:
    site, closed = escape(row["site"]), row["would_refuse"]
    if row["too_few_voters"]:
        what = "too few voters would be left, since some are down now: nobody could be elected"
        console.print(f"  [red]✗[/] if {site} were lost: {what}")
        return
    outcomes = {gate["outcome"] for gate in closed}
    is_unknown = bool(outcomes) or row["too_few_voters"] is None
    mark = "[red]✗[/]" if "refused" in outcomes else "[yellow]?[/]" if is_unknown else "[green]✓[/]"
    what = escape(row["way"]) if row["steps"] or closed else "nothing would have to be done"
    console.print(f"  {mark} if {site} were lost: {what}")
    if row["too_few_voters"] is None:
        console.print("      whether enough voters would be left is not known")
    alike: dict[tuple[str, str], list[str]] = {}
    for gate in closed:
        alike.setdefault((gate["outcome"], gate["reason"]), []).append(gate["id"])
    for (outcome, reason), ids in alike.items():
        console.print(f"      {', '.join(ids)} {outcome}: {escape(reason)}")


def is_down(row: Mapping[str, Any]) -> bool:
    """Whether a site has brokers, and none is up."""
    return bool(row["brokers"]) and row["brokers_up"] == 0
