"""The guard before a broker's start: closed to applications until the journal says that it may be open.

Run as `python -m orchestrator.operations.boot_guard --file TOPOLOGY --cluster C --server NAME --data DIR
--open FILE --closed FILE -- COMMAND … {properties} …`, in place of the broker's own command, by whatever
starts services (supervisor, systemd). With `--open` as its properties the broker lets
everybody in; with `--closed` nobody but those who run the estate: brokers, operator, replication engine.

- A server whose data folder is new asks as well: its disk may be a replaced one, at a site that was lost. It
  waits longer for an answer, since the ensemble of a new estate comes up beside it.
- Where the answer is *closed*, or nobody answers within `--wait-s`, the broker starts closed.
- The guard stays as the broker's parent, asks on, and ends as the broker ends (`planning.guarding`).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from orchestrator.adapters.child_process import end_as
from orchestrator.errors import DcctlError

PLACE = "{properties}"


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


def start_broker(guarded: Guarded) -> int:
    """Start the broker as it may be started, and stay. Returns its exit status, negative for a signal."""
    from orchestrator.operations.guarded_broker import GuardedBroker  # noqa: PLC0415 - it imports this module

    try:
        return GuardedBroker(guarded).run()
    except (DcctlError, OSError) as error:
        print(f"dcctl guard: nothing was started: {error}", file=sys.stderr, flush=True)  # noqa: T201
        return 1


def _guarded(arguments: Sequence[str]) -> Guarded:
    parser = argparse.ArgumentParser(prog="boot_guard", description="Start a broker, closed if need be.")
    for name in ("cluster", "server"):
        parser.add_argument(f"--{name}", required=True)
    for name in ("file", "data", "open", "closed"):
        parser.add_argument(f"--{name}", required=True, type=Path)
    parser.add_argument("--wait-s", type=float, default=10.0)
    parser.add_argument("command", nargs="+")
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


if __name__ == "__main__":
    sys.exit(end_as(start_broker(_guarded(sys.argv[1:]))))
