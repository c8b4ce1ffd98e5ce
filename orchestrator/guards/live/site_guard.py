"""The guard before a server of a stretched cluster: it runs only while its site is not recorded as off.

Run as `python -m orchestrator.guards.live.site_guard --file TOPOLOGY --cluster C --site DC --server NAME
--config FILE -- COMMAND …`, in place of the server's own command, by whatever starts services (supervisor,
systemd). `guards.site_guard` decides. It stays as the server's parent, passes signals on, and ends as the
server ends. The voters that the file names are read anew each time it asks.

`--start-anyway --config FILE --why TEXT`, said by a person at the host while the ensemble does not answer,
lets the guard of that file start its server. The ensemble is told as soon as it answers.
"""

from __future__ import annotations

import argparse
import getpass
import json
import socket
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from orchestrator.errors import DcctlError
from orchestrator.guards.live.boot_guard import nothing_started
from orchestrator.installation import missing_package

_WAIT_S = 30.0
_WORD = ".dcctl-start-anyway"


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarded:
    """One server under guard. `wait_s`: after how long without an answer the file's word counts."""

    file: Path
    cluster: str
    site: str
    server: str
    config: Path
    wait_s: float
    command: tuple[str, ...]


def word_file(config: Path) -> Path:
    """Where a person's word lies that the server with this configuration is to start without an answer."""
    return config.with_name(config.name + _WORD)


def main(arguments: Sequence[str]) -> int:
    """Start a server behind its guard, and wait for it. Ends as the server does; returns its exit status."""
    given = _parser().parse_args(arguments)
    if given.start_anyway:
        return _say_start_anyway(given.config, given.why)
    missing = [f"--{name}" for name in ("file", "cluster", "site", "server") if getattr(given, name) is None]
    if missing or not given.command:
        return nothing_started(DcctlError("command line", f"lacks {', '.join(missing) or 'COMMAND'}"))
    try:
        # Both need packages that a host may lack: said as a sentence, before anything is started.
        from orchestrator.adapters.child_process import end_as  # noqa: PLC0415
        from orchestrator.guards.live.guarded_server import GuardedServer  # noqa: PLC0415
    except ModuleNotFoundError as error:
        return nothing_started(missing_package(error) or error)
    guarded = Guarded(
        file=given.file,
        cluster=given.cluster,
        site=given.site,
        server=given.server,
        config=given.config,
        wait_s=given.wait_s,
        command=tuple(given.command),
    )
    try:
        return end_as(GuardedServer(guarded).run())
    except (DcctlError, OSError, ValueError, KeyError) as error:
        return nothing_started(error)


def _say_start_anyway(config: Path | None, why: str) -> int:
    if config is None or not config.is_file():
        error = DcctlError(f"--config {config}", "there is no such file", "name the server's configuration")
        return nothing_started(error)
    who = f"{getpass.getuser()} at {socket.gethostname()}"
    word_file(config).write_text(json.dumps({"who": who, "why": why}) + "\n", encoding="utf-8")
    print(f"dcctl guard: the guard of {config} starts its server unless the ensemble answers")  # noqa: T201
    return 0


_HELP = {
    "file": "the topology file; `coordination` in it names the ensemble that is asked",
    "cluster": "the server's cluster, by its name in the topology file",
    "site": "the data centre where it stands",
    "server": "its name in `dcctl_servers` of the inventory",
    "config": "its own configuration: server.properties, or zoo.cfg",
}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="site_guard", description="Start a server of a stretched cluster, unless its site is off."
    )
    for name, text in _HELP.items():
        is_path = name in {"file", "config"}
        parser.add_argument(
            f"--{name}", type=Path if is_path else str, metavar="FILE" if is_path else "NAME", help=text
        )
    parser.add_argument(
        "--wait-s",
        type=float,
        default=_WAIT_S,
        metavar="SECONDS",
        help="how long the ensemble may take to answer before `boot_guard.without_answer: start` counts "
        "(default: %(default)g s)",
    )
    parser.add_argument(
        "--start-anyway",
        action="store_true",
        help="say to the guard of --config that its server is to start though nobody answers",
    )
    parser.add_argument("--why", default="", metavar="TEXT", help="with --start-anyway: for the record")
    parser.add_argument("command", nargs="*", metavar="COMMAND", help="after `--`: what starts the server")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
