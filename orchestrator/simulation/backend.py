"""The interface of a back end: what runs the servers of a simulation, and what faults it can do to them.

Which servers there are and how they are configured is the same for all back ends (`estate`, `servers`,
`zookeepers`, `installation`). A back end gives them addresses, hosts and files, starts and stops them, and
says which faults it can do. A simulation's folder lies at the same path on all of its hosts: secrets and
ledgers are outside all data centres.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

from orchestrator.adapters.java.formatting import InitialVoter
from orchestrator.errors import UsageError
from orchestrator.extensions import Extensions
from orchestrator.ports.program import Program
from orchestrator.simulation.addresses import Addresses
from orchestrator.simulation.clients import Clients
from orchestrator.simulation.estate import Estate
from orchestrator.simulation.state import History
from orchestrator.topology.model import Topology

FaultKind = Literal["kill", "pause", "partition"]
"""kill: everything ends at once, and a lost host's disks are out of reach. pause: everything stands still and
answers nothing. partition: two places do not reach each other."""

HostState = Literal["up", "paused", "killed", "down"]
"""killed: its files are out of reach. down: nothing runs, its files are there."""


@dataclass(frozen=True, slots=True)
class Storage:
    """Log directory of a KRaft node, at `folder` among its host's files; formatted before the first start.

    `voters`: of a controller whose quorum is dynamic, all that it begins with, itself among them.
    """

    folder: str
    cluster_id: str
    node_id: int
    voters: tuple[InitialVoter, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerProgram:
    """A server that a host runs; it starts with its host. The back end knows how that is done.

    `kafka` is Kafka's version, None for a ZooKeeper of any. `properties` is its configuration among its
    host's files, and its logs go beside it, to `logs`. `options` are further ones of its JVM. With
    `guard`, the options of dcctl's boot guard, it starts behind that, and with those of the guard of
    stretched clusters in `site_guard` behind that one.
    """

    name: str
    role: Literal["kafka", "zookeeper", "connect"]
    kafka: str | None
    properties: str
    heap_mb: int
    storage: Storage | None = None
    options: tuple[str, ...] = ()
    guard: tuple[str, ...] = ()
    site_guard: tuple[str, ...] = ()
    autorestart: bool = False
    stop_timeout_s: int = 10


class Files(Protocol):
    """The files of one host. A `path` is relative to where the host keeps all that is its own."""

    @property
    def can_be_reached(self) -> bool:
        """Whether anybody could read them now: a lost host's are away until it is back."""

    def place(self, path: str) -> Path:
        """The same path as programs on the host know it."""

    def read(self, path: str) -> bytes:
        """The content. Raises `SimulationError` where there is none, or the files cannot be reached."""

    def write(self, path: str, content: str | bytes, *, is_private: bool = False) -> None:
        """Make or replace a file and the folders above it; a private one is read by its owner alone."""

    def make_folder(self, path: str) -> None:
        """Make a folder and those above it; one that is there stays."""

    def list(self, folder: str = "") -> tuple[str, ...]:
        """Paths of all files below a folder, sorted."""

    def remove(self, path: str) -> None:
        """Remove a file; one that is not there is no error."""


class Watch(Protocol):
    """Watches some programs of a host while they are waited for."""

    def check(self) -> None:
        """Raise `SimulationError`, with a program's last words, where it has died."""


class Host(Protocol):
    """One machine of a simulation: a data centre's, or the coordination's.

    Faults are verified and written to the history. With `names` they are done to those programs, without to
    the host as a whole.
    """

    @property
    def name(self) -> str:
        """The data centre, or `estate.COORDINATION`."""

    @property
    def files(self) -> Files:
        """What it keeps."""

    @property
    def state(self) -> HostState:
        """As it is now."""

    @property
    def ansible_variables(self) -> Mapping[str, str]:
        """How playbooks reach it, and what manages its services."""

    def install(self, programs: Sequence[Program | ServerProgram]) -> None:
        """Make programs known to a host that was not switched on yet. None starts."""

    def add_programs(self, programs: Sequence[Program | ServerProgram]) -> None:
        """Make programs known to a host that is up; servers and those with `autostart` start."""

    def start(self, names: Sequence[str]) -> None:
        """Start programs. Raises `SimulationError` if the host is not up or one cannot be started."""

    def stop(self, names: Sequence[str]) -> None:
        """Let programs end, and wait until they have."""

    def states(self) -> Mapping[str, str]:
        """Program -> RUNNING, STOPPED, EXITED, FATAL, …; empty unless the host is up."""

    def kill(self, names: Sequence[str] | None = None) -> None:
        """End programs at once, or lose the host: everything ends, and its files are out of reach."""

    def pause(self, names: Sequence[str] | None = None) -> None:
        """Let programs, or all of the host, stand still."""

    def resume(self, names: Sequence[str] | None = None) -> None:
        """Let what was paused go on where it stood."""

    def restart(self) -> None:
        """Switch the host on again, its files included; one that is up is lost first."""

    def watch(self, names: Sequence[str], may_start_again: Collection[str] = ()) -> Watch:
        """Tell when one of these has died. Those in `may_start_again` are let alone."""


class Machines(Addresses, Protocol):
    """The hosts of one simulation and what lies between them."""

    @property
    def hosts(self) -> Mapping[str, Host]:
        """Every data centre of the topology, and `estate.COORDINATION`."""

    @property
    def marker(self) -> Mapping[str, str]:
        """Environment of whatever else dcctl starts for this simulation, so that it ends with it."""

    def prepare(self, estate: Estate, on_progress: Callable[[str, str], None]) -> None:
        """Get what the servers need, once: software, addresses, empty hosts. Nothing runs yet.

        Raises `SimulationError` where this machine is too small for them.
        """

    def switch_on(self) -> None:
        """Start every host, the coordination's first, and the servers that were installed."""

    def partition(self, here: str, there: str, *, one_way: bool) -> None:
        """Lose what is sent from one place to another; unless `one_way`, in the other direction as well.

        It is verified, and written to the history with `state.between(here, there)` as its target.
        """

    def heal(self, here: str, there: str) -> None:
        """Let two places reach each other again."""

    def reap(self) -> None:
        """Collect what has ended, behind `Backend.end`."""


@runtime_checkable
class Backend(Protocol):
    """One way to run simulations. It keeps nothing itself: a simulation's folder has all of its state."""

    @property
    def name(self) -> str:
        """As `--backend` and a report name it."""

    @property
    def faults(self) -> frozenset[FaultKind]:
        """Those that it can do."""

    @property
    def clients(self) -> Clients:
        """How dcctl asks whether servers serve, and applies a file to them."""

    def machines(
        self, folder: Path, topology: Topology, history: History, ports: Mapping[str, int]
    ) -> Machines:
        """Those of the simulation in `folder`, running or not.

        `ports`: as the operator saw them when it came up; empty before that.
        """

    def end(self, folder: Path) -> None:
        """End whatever runs of the simulation in `folder`, and give back its addresses; its files stay.

        Works on what an aborted one left. Raises `SimulationError` where something would not end.
        """

    def is_running(self, folder: Path) -> bool:
        """Whether anything runs of it."""

    def strays(self) -> Collection[Path]:
        """Folders of simulations of which something runs, whether or not there still is such a folder."""


BACKENDS: Extensions[Backend] = Extensions(
    "dcctl.backends",
    Backend,  # type: ignore[type-abstract]
    {"process": "orchestrator.simulation.processes.backend:PROCESSES"},
)


def backend_named(name: str) -> Backend:
    """The back end of that name. Raises `UsageError` for one that there is not."""
    found = BACKENDS.get(name)
    if found is None:
        raise UsageError(
            f"--backend {name}", "there is no such back end", f"there are: {', '.join(BACKENDS.names())}"
        )
    return found


def limits_of(backend: Backend) -> str:
    """What a rehearsal on this back end cannot show, in a sentence: as it says itself (`limits`), if it
    does.
    """
    own = str(getattr(backend, "limits", ""))
    return own or f"It is a simulation, by the back end {backend.name}: not your servers, disks and networks."


def refuse_impossible(backend: Backend, *wanted: FaultKind) -> None:
    """Raise `UsageError` for faults that a back end cannot do, before anything is done."""
    lacking = [kind for kind in wanted if kind not in backend.faults]
    if lacking:
        raise UsageError(
            f"back end {backend.name}",
            f"cannot {' or '.join(lacking)}",
            f"it can: {', '.join(sorted(backend.faults)) or 'no fault at all'}",
        )
