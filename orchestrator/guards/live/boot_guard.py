"""The guard before a broker's start: closed to applications until the journal says that it may be open.

Run as `python -m orchestrator.guards.live.boot_guard --file TOPOLOGY --cluster C --server NAME --data DIR
--open FILE --closed FILE -- COMMAND … {properties} …`, in place of the broker's own command, by whatever
starts services (supervisor, systemd). With `--open` as its properties the broker lets
everybody in; with `--closed` nobody but those who run the estate: brokers, operator, replication engine.

- A server whose data folder is new asks as well: its disk may be a replaced one, at a site that was lost. It
  waits longer for an answer, since the ensemble of a new estate comes up beside it.
- Where the answer is *closed*, or nobody answers within `--wait-s`, the broker starts closed.
- The guard stays as the broker's parent, asks on, and ends as the broker ends (`guards.guarding`).
- A command line by which a lost site could open unseen starts nothing: exit status 1 (`refuse_slips`).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from orchestrator.errors import DcctlError
from orchestrator.installation import missing_package
from orchestrator.topology.model import Cluster, Topology

PLACE = "{properties}"
_WAIT_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarded:
    """One broker under guard. `wait_s`: how long the ensemble may take to answer before it starts closed."""

    file: Path
    cluster: str
    server: str
    data: Path
    opened: Path
    closed: Path
    wait_s: float
    command: tuple[str, ...]

    def command_with(self, properties: Path) -> list[str]:
        """The broker's command with one of its two properties files."""
        return [word.replace(PLACE, str(properties)) for word in self.command]


def refuse_slips(guarded: Guarded, topology: Topology) -> None:
    """Raise `DcctlError` where, as it was told, the broker of a lost site could be open though it is closed.

    No run of the journal concerns a cluster that the file does not have, so its broker would always open; a
    command that does not take the properties it is given, or takes the same both times, is never closed.
    Raises `OSError` where the properties files cannot be looked at.
    """
    described_cluster(topology, guarded.cluster, guarded.file)
    if not any(PLACE in word for word in guarded.command):
        raise DcctlError(
            " ".join(guarded.command),
            f"the command does not contain {PLACE}, so it would start the same broker open and closed",
            f"write {PLACE} where the command takes the broker's properties file",
        )
    for option, file in (("--open", guarded.opened), ("--closed", guarded.closed)):
        if not file.is_file():
            raise DcctlError(f"{option} {file}", "there is no such file", "give the broker's properties file")
    if guarded.opened.samefile(guarded.closed):
        raise DcctlError(
            f"--closed {guarded.closed}",
            f"is the same file as --open {guarded.opened}, so the broker could not be closed",
            "give a properties file that keeps applications out",
        )


def described_cluster(topology: Topology, name: str, file: Path) -> Cluster:
    """The cluster that a guard is told of. Raises `DcctlError` for one that the file does not have."""
    if name not in topology.clusters:
        raise DcctlError(
            f"--cluster {name}",
            f"{file} has no such cluster",
            f"its clusters: {', '.join(topology.clusters)}",
        )
    return topology.clusters[name]


def start_broker(guarded: Guarded) -> int:
    """Start the broker as it may be started, and stay. Returns its exit status, negative for a signal."""
    from orchestrator.guards.live.guarded_broker import GuardedBroker  # noqa: PLC0415 - it imports this module

    try:
        return GuardedBroker(guarded).run()
    except (DcctlError, OSError) as error:
        return nothing_started(error)


_HELP = {
    "cluster": "the broker's cluster, by its name in the topology file",
    "server": "the name of this guard in the ensemble, where each broker of the cluster has its own",
    "file": "the topology file; `coordination` in it names the ensemble that is asked",
    "data": "the broker's data folder (log.dirs); the guard keeps a small file there if the folder is new",
    "open": "the broker's properties file that lets applications in",
    "closed": "its properties file that lets in only brokers, the operator and the replication engine",
}


def _guarded(arguments: Sequence[str]) -> Guarded:
    parser = argparse.ArgumentParser(prog="boot_guard", description="Start a broker, closed if need be.")
    for name, kind in (
        ("file", Path),
        ("cluster", str),
        ("server", str),
        ("data", Path),
        ("open", Path),
        ("closed", Path),
    ):
        metavar = "NAME" if kind is str else "DIR" if name == "data" else "FILE"
        parser.add_argument(f"--{name}", required=True, type=kind, metavar=metavar, help=_HELP[name])
    parser.add_argument(
        "--wait-s",
        type=float,
        default=_WAIT_S,
        metavar="SECONDS",
        help="how long the ensemble may take to answer before the broker starts closed; six times as long "
        "where the data folder is new (default: %(default)g s)",
    )
    parser.add_argument(
        "command",
        nargs="+",
        metavar="COMMAND",
        help=f"after `--`: what starts the broker, with {PLACE} in place of its properties file",
    )
    found = parser.parse_args(arguments)
    return Guarded(
        file=found.file,
        cluster=found.cluster,
        server=found.server,
        data=found.data,
        opened=found.open,
        closed=found.closed,
        wait_s=found.wait_s,
        command=tuple(found.command),
    )


def main(arguments: Sequence[str]) -> int:
    """Start a broker behind its guard, and wait for it. Ends as the broker does; returns its exit status."""
    guarded = _guarded(arguments)
    try:
        # Both need packages that a broker's host may lack: said as a sentence, before anything is started.
        from orchestrator.adapters.child_process import end_as  # noqa: PLC0415
        from orchestrator.guards.live import guarded_broker  # noqa: F401, PLC0415
    except ModuleNotFoundError as error:
        return nothing_started(missing_package(error) or error)
    return end_as(start_broker(guarded))


def nothing_started(error: Exception) -> int:
    """Why a guard starts nothing at all, in the service's log; the exit status for that."""
    print(f"dcctl guard: nothing was started: {error}", file=sys.stderr, flush=True)  # noqa: T201
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
