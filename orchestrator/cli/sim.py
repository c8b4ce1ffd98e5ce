"""`dcctl sim …`: data centres on this machine, brought up, lost, brought back and taken down."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from orchestrator.cli.options import JSON

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from orchestrator.simulation.backend import FaultKind
    from orchestrator.simulation.running import Simulation
    from orchestrator.simulation.teardown import Endings

_NAME = typer.Option(None, "--name", help="Which simulation; not needed when there is only one.")
BACKEND = typer.Option(
    "process", "--backend", metavar="NAME", help="What runs the servers: process, or what a package brings."
)
_TARGET = typer.Argument(
    ...,
    metavar="DC[/NAME]",
    help="A data centre of the topology, or a server or rack there: `west/broker-1`, `west/rack-a`.",
)


def register(app: typer.Typer) -> None:
    """Add the commands of this group."""
    group = typer.Typer(no_args_is_help=True, help="Data centres on this machine, with real servers.")
    for command in (up, workload, status, kill, pause, resume, restart, partition, heal, down):
        group.command(command.__name__)(command)
    app.add_typer(group, name="sim")


def up(
    file: Path = typer.Argument(..., help="A topology file."),
    name: str | None = typer.Option(None, "--name", help="Name of the simulation; default: the topology's."),
    backend: str = BACKEND,
    as_json: bool = JSON,
) -> None:
    """Bring up every server of a topology, and apply its file to them; it stays up until `sim down`."""
    import time

    from orchestrator.cli.output import emit
    from orchestrator.cli.progress import Narrator
    from orchestrator.simulation.bring_up import simulation_up
    from orchestrator.topology.loading import load_topology

    topology = load_topology(file)
    started = time.monotonic()
    with Narrator() as narrator:
        simulation = simulation_up(topology, name=name, backend=backend, on_progress=narrator.stage)
    seconds = round(time.monotonic() - started, 1)
    data = {
        "simulation": simulation.name,
        "backend": backend,
        "folder": str(simulation.folder),
        "topology": str(simulation.topology_path),
        "seconds": seconds,
        "ports": dict(simulation.state.ports),
    }
    summary = f"{simulation.name} is up after {seconds:.0f} s: {simulation.topology_path}"
    emit(data, as_json=as_json, summary=summary)


def workload(
    name: str | None = _NAME,
    scenario: str = typer.Option(
        "default",
        "--scenario",
        metavar="NAME",
        help="How much they do: tiny or small (two cores carry that), or default (four or more).",
    ),
    as_json: bool = JSON,
) -> None:
    """Let producers, consumer groups and Spark queries work where they are at home, as in a drill."""
    from orchestrator.cli.output import emit
    from orchestrator.cli.progress import Narrator
    from orchestrator.simulation.at_work import begin_work
    from orchestrator.simulation.workload.scenario import scenario_named

    simulation = _opened(name)
    chosen = scenario_named(scenario)
    with Narrator() as narrator:
        clusters = begin_work(simulation, chosen, narrator.stage)
    data = {
        "simulation": simulation.name,
        "scenario": chosen.name,
        "cluster": clusters[0],
        "clusters": list(clusters),
    }
    emit(
        data, as_json=as_json, summary=f"the applications of {simulation.name} work at {', '.join(clusters)}"
    )


def status(name: str | None = _NAME, as_json: bool = JSON) -> None:
    """Show what runs: sites, programs, clusters, ports."""
    from orchestrator.cli.output import emit
    from orchestrator.simulation.status import simulation_statuses

    statuses = simulation_statuses(name)
    count = len(statuses)
    summary = f"{count} simulation{'s' if count != 1 else ''}" if count else "no simulation is running"

    def render(console: Console) -> None:
        for one in statuses:
            _render_status(console, one)

    emit({"simulations": statuses}, as_json=as_json, summary=summary, render=render)


def kill(target: str = _TARGET, name: str | None = _NAME, as_json: bool = JSON) -> None:
    """Lose a data centre: everything ends at once, its disks are out of reach. Or end a server or a rack."""
    simulation = _opened(name, "kill")
    host, servers = simulation.meant(target)
    was_killed = host.state == "killed"
    host.kill(servers)
    _emit_fault(
        simulation,
        target,
        as_json,
        f"{target} was lost already" if was_killed else f"{target} is lost",
        servers,
    )


def pause(target: str = _TARGET, name: str | None = _NAME, as_json: bool = JSON) -> None:
    """Freeze a data centre, one of its servers, or those of a rack: it stands still and answers nothing."""
    simulation = _opened(name, "pause")
    host, servers = simulation.meant(target)
    host.pause(servers)
    _emit_fault(
        simulation,
        target,
        as_json,
        f"{target} stands still; `dcctl sim resume {target}` lets it go on",
        servers,
    )


def resume(target: str = _TARGET, name: str | None = _NAME, as_json: bool = JSON) -> None:
    """Let what was paused go on."""
    simulation = _opened(name)
    host, servers = simulation.meant(target)
    host.resume(servers)
    _emit_fault(simulation, target, as_json, f"{target} goes on", servers)


def restart(target: str = _TARGET, name: str | None = _NAME, as_json: bool = JSON) -> None:
    """Switch a lost data centre, rack or server on again, its disks included; what is up is lost first."""
    from orchestrator.cli.output import speak_of
    from orchestrator.cli.progress import Narrator

    simulation = _opened(name)
    host, servers = simulation.meant(target)
    if servers is not None:
        # What is down already, by `sim kill` or by itself, only starts.
        if running := [server for server in servers if host.states().get(server) == "RUNNING"]:
            host.kill(running)
        host.start(servers)
        _emit_fault(simulation, target, as_json, f"{target} starts", servers)
        return
    with Narrator() as narrator:
        narrator.stage(target, "starting")
        host.restart()
        waiting = simulation.await_site(target, narrator.stage)
    speak_of(simulation.topology_path)
    summary = f"{target} is up again; where everything was moved away, "
    summary += "applications are kept out: dcctl failback FILE"
    if waiting:
        summary = f"{target} is back; {'; '.join(f'{name} {why}' for name, why in waiting.items())}"
    _emit_fault(simulation, target, as_json, summary)


def partition(
    here: str = typer.Argument(..., metavar="FROM", help="A data centre, operator or coordination."),
    there: str = typer.Argument(..., metavar="TO", help="Another one."),
    one_way: bool = typer.Option(False, "--one-way", help="Lose only what is sent from FROM to TO."),
    name: str | None = _NAME,
    as_json: bool = JSON,
) -> None:
    """Part two places: they do not reach each other until `sim heal`."""
    from orchestrator.simulation.state import between

    simulation = _opened(name, "partition")
    simulation.partition(here, there, one_way=one_way)
    _emit_fault(simulation, between(here, there), as_json, f"{here} and {there} are parted")


def heal(
    here: str = typer.Argument(..., metavar="FROM", help="A data centre, operator or coordination."),
    there: str = typer.Argument(..., metavar="TO", help="Another one."),
    name: str | None = _NAME,
    as_json: bool = JSON,
) -> None:
    """Let two places that were parted reach each other again."""
    from orchestrator.simulation.state import between

    simulation = _opened(name, "partition")
    simulation.heal(here, there)
    _emit_fault(simulation, between(here, there), as_json, f"{here} and {there} reach each other")


def down(  # noqa: PLR0917 - typer passes them by name
    name: str | None = typer.Argument(None, help="Which simulation; not needed when there is only one."),
    every: bool = typer.Option(
        False, "--all", help="All simulations but those of living drills, and whatever aborted ones left."
    ),
    force: bool = typer.Option(False, "--force", help="NAME as well where a living drill owns it."),
    keep_files: bool = typer.Option(False, "--keep-files", help="Keep the folder with disks and logs."),
    yes: bool = typer.Option(False, "--yes", help="With --all: do not ask; needed without a terminal."),
    as_json: bool = JSON,
) -> None:
    """End a simulation: no process, no port, no file stays."""
    from orchestrator.cli.output import emit
    from orchestrator.errors import UsageError
    from orchestrator.simulation.teardown import downed_simulations, simulations_to_end

    if every and name is not None:
        raise UsageError(f"--all and {name}", "are two answers to one question", "take one of them")
    endings = simulations_to_end(name, every=every, force=force)
    if every:
        _ask(endings, yes=yes)
    results = downed_simulations(endings, keep_files=keep_files, force=force)
    left = {folder.name: owner.pid for folder, owner in endings.left.items()}
    data = {
        "down": [
            {"simulation": folder.name, "kept": str(kept) if kept else None}
            for folder, kept in results.items()
        ],
        "left": [{"simulation": simulation, "owner_pid": pid} for simulation, pid in left.items()],
        "unusable": [{"simulation": folder.name, "reason": why} for folder, why in endings.unusable.items()],
    }
    listed = ", ".join(folder.name for folder in results)
    kept_paths = [str(kept) for kept in results.values() if kept]
    summary = f"{listed}: nothing is left" if results else "no simulation is there: nothing to do"
    if kept_paths:
        summary = f"{listed}: ended; files kept in {', '.join(kept_paths)}"
    if (left or endings.unusable) and not results:
        summary = "nothing was ended"
    if left:
        summary += f"; at work for a living drill, and let alone: {', '.join(left)}"
    for folder, why in endings.unusable.items():
        summary += f"; {folder.name} is left: {why}"
    emit(data, as_json=as_json, summary=summary)


def _ask(endings: Endings, *, yes: bool) -> None:
    """List what `--all` would end, and end this command where nobody agrees."""
    from rich.markup import escape

    from orchestrator.cli.consent import ask, refuse_without_consent
    from orchestrator.cli.output import err_console
    from orchestrator.errors import DeclinedError
    from orchestrator.runs.question import Question
    from orchestrator.wording import plural

    for folder in endings.folders:
        err_console.print(f"  {escape(folder.name)}  [dim]{escape(str(folder))}[/]")
    for folder, owner in endings.left.items():
        err_console.print(
            f"  {escape(folder.name)}  [dim]let alone: process {owner.pid} is at work with it[/]"
        )
    for folder, why in endings.unusable.items():
        err_console.print(f"  {escape(folder.name)}  [dim]let alone: {escape(why)}[/]")
    if not endings.folders:
        return
    refuse_without_consent("sim down --all", yes=yes)
    title = f"End {plural(len(endings.folders), 'simulation')}"
    if not ask(Question(title=title, rows=()), yes=yes):
        raise DeclinedError("sim down --all", "declined. Nothing was ended")


def _opened(name: str | None, fault: FaultKind | None = None) -> Simulation:
    """The simulation, once it is known that its back end can do the fault."""
    from orchestrator.simulation.backend import refuse_impossible
    from orchestrator.simulation.running import open_simulation

    simulation = open_simulation(name)
    if fault is not None:
        refuse_impossible(simulation.backend, fault)
    return simulation


def _emit_fault(
    simulation: Simulation, target: str, as_json: bool, summary: str, servers: Sequence[str] | None = None
) -> None:
    """`servers`: those that the target means, where it is no whole data centre."""
    from orchestrator.cli.output import emit

    dc, _, name = target.partition("/")
    targets = {target} if servers is None else {f"{dc}/{server}" for server in servers}
    entries = [entry for entry in simulation.history.entries() if entry["target"] in targets]
    data: dict[str, Any] = {"simulation": simulation.name}
    if dc in simulation.sites:
        data |= {"dc": dc, "state": simulation.site(dc).state}
    if servers is not None:
        data |= {"server": name} if name in servers else {"rack": name, "servers": list(servers)}
    if entries:
        data["fault"] = entries[-1]
        summary += f" ({entries[-1]['detail']})" if entries[-1]["detail"] else ""
    emit(data, as_json=as_json, summary=summary)


def _render_status(console: Console, status: dict[str, Any]) -> None:
    from rich.markup import escape
    from rich.table import Table

    console.print(f"[bold]{escape(status['simulation'])}[/]  {status['stage']}  {escape(status['folder'])}")
    table = Table(box=None, pad_edge=False)
    for column in ("site", "program", "state", "ports"):
        table.add_column(column, no_wrap=True)
    places = {"coordination": status["coordination"], **status["sites"]}
    for place, found in places.items():
        table.add_row(place, "", _coloured(found["state"]), "")
        for program, state in sorted(found["programs"].items()):
            table.add_row("", program, _coloured(state), _ports(status["ports"], f"{place}/{program}"))
    console.print(table)
    for cluster, found in status["clusters"].items():
        answer = f"{found['brokers']} of {found['expected']} brokers" if found["reachable"] else "unreachable"
        console.print(f"cluster {cluster}: {answer}  [dim]{escape(','.join(found['bootstrap']))}[/]")
    console.print()


def _ports(ports: dict[str, int], program: str) -> str:
    found: Sequence[tuple[str, int]] = [
        (name.removeprefix(program).removeprefix("/"), port)
        for name, port in ports.items()
        if name == program or name.startswith(program + "/")
    ]
    return ", ".join(f"{name} {port}".strip() for name, port in found)


def _coloured(state: str) -> str:
    colour = {"up": "green", "RUNNING": "green", "paused": "yellow", "STOPPED": "dim"}.get(state, "red")
    return f"[{colour}]{state}[/]"
