"""The toy kind of `toy_applications`, declared for a topology file as a package of a user's own would do it.

A tally keeps its positions in a notebook, a file of its own, and what it has counted in a topic of its own.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass as frozen
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
from pydantic.dataclasses import dataclass

from orchestrator.evidence.audit.kinds import AuditedKind
from orchestrator.evidence.clients.places import Place
from orchestrator.moves.in_status import Gauge, Known, Measured, StatusPart
from orchestrator.ports.program import Program
from orchestrator.simulation.running import Simulation
from orchestrator.simulation.workload.scenario import Role
from orchestrator.snapshot.samples import ApplicationSample, SampleHistory
from orchestrator.snapshot.watcher_records import age_s
from orchestrator.topology.consumer_kinds import ConsumerKind
from orchestrator.topology.kinds import STRICT, Seconds
from orchestrator.topology.model import Consumer, Topic, Topology
from orchestrator.topology.rules.rule import Finding, rule
from orchestrator.values import Acl
from tests.moves.toy_applications import Tallies, ToyApplications


@dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class Tally(Consumer):
    """A tally: it counts records, each `every_s` seconds, and keeps its positions in its `notebook`."""

    noun: ClassVar[str] = "tally"
    caption: ClassVar[str] = "tally"
    mark: ClassVar[str] = "tally"
    can_be_canary: ClassVar[bool] = False

    notebook: str
    every_s: Seconds = 1.0

    @property
    def groups(self) -> tuple[str, ...]:
        return ()

    @property
    def program(self) -> str:
        return f"tally-{self.name}"

    def acls(self) -> tuple[Acl, ...]:
        return self.allowed("TOPIC", f"{self.name}-counts", ("READ", "WRITE", "DESCRIBE"))

    def own_topics(self) -> tuple[Topic, ...]:
        name = f"{self.name}-counts"
        return (Topic(name=name, cluster=self.cluster, partitions=1, replicas=3, min_insync_replicas=2),)

    def with_paths(self, home: Callable[[str], str], standby: Callable[[str], str]) -> Tally:
        return replace(self, notebook=home(self.notebook))


@rule(
    "toy-notebooks",
    "error",
    "Each tally has a notebook of its own",
    "Two tallies in one notebook lose their places.",
)
def toy_notebooks(topology: Topology) -> Iterator[Finding]:
    """Notebooks that two tallies share."""
    owners: dict[str, str] = {}
    for index, tally in enumerate(topology.consumers):
        if isinstance(tally, Tally) and owners.setdefault(tally.notebook, tally.name) != tally.name:
            message = f"`{tally.name}` and `{owners[tally.notebook]}` share the notebook {tally.notebook}"
            yield Finding(("consumers", index, "notebook"), message, "give each a file of its own")


class Notebooks:
    """See `watch.keeping.Keeping`: what stands in each notebook, as the watcher's host sees it."""

    def __init__(self, tallies: Sequence[Tally], watcher: str, log: Any) -> None:
        self._tallies, self._watcher = tallies, watcher

    def start(self) -> None:
        pass

    def stop(self) -> None:
        pass

    def words(self) -> Sequence[ApplicationSample]:
        return [self._word(tally) for tally in self._tallies]

    def _word(self, tally: Tally) -> ApplicationSample:
        told, problem, at_s = {}, "", 0.0
        try:
            at_s, told = Path(tally.notebook).stat().st_mtime, json.loads(Path(tally.notebook).read_text())
        except OSError as error:
            problem = f"its notebook cannot be read: {error.strerror}"
        return ApplicationSample(
            watcher=self._watcher, kind="toy", name=tally.name, at_s=at_s, told=told, problem=problem
        )


def tally_program(simulation: Simulation, tally: Tally, place: Place, role: Role) -> Program:
    """See `simulation.workload.install.Simulated`."""
    words = ("--every", str(tally.every_s), "--ledgers", str(simulation.ledgers), "--at", place.cluster)
    return Program(
        name=tally.program,
        command=(sys.executable, "-m", "tallies", tally.notebook, *words),
        environment={},
        stop_timeout_s=1,
    )


SHEET = pa.schema(
    {
        "topic": pa.string(),
        "partition": pa.int32(),
        "offset": pa.int64(),
        "producer": pa.string(),
        "sequence": pa.int64(),
        "life": pa.int32(),
        "at_ms": pa.int64(),
    }
)


class Sheets:
    """See `evidence.audit.kinds.ProcessedLedger`: a sheet of each life, with what was counted as JSON lines."""

    is_of_lines = False

    def path(self, ledgers: Path, consumer: str, life: int) -> Path:
        return ledgers / "consumers" / consumer / f"sheet-{life}.jsonl"

    def is_there(self, path: Path) -> bool:
        return path.exists()

    def problems(self, path: Path) -> Iterator[str]:
        if not path.exists():
            yield f"no {path.name}"

    def rows(self, path: Path) -> pa.Table:
        return pa.Table.from_pylist([json.loads(line) for line in path.open(encoding="utf-8")], SHEET)


AUDITED = AuditedKind(ledger=Sheets())


@frozen(frozen=True, slots=True, kw_only=True)
class TallyTold:
    """See `moves.in_status.Told`: how many positions the watcher has seen in its notebook, and how old they are."""

    tally: str
    positions: int | None
    age_s: float | None
    problem: str
    reread: Mapping[str, int | None]

    @property
    def application(self) -> str:
        return self.tally

    @property
    def position(self) -> str:
        return "unknown" if self.positions is None else f"{self.positions} in its notebook"

    @property
    def note(self) -> str:
        return self.problem


def _told(known: Known) -> list[TallyTold]:
    words = known.history.of_applications
    return [
        TallyTold(
            tally=tally.name,
            positions=len(word.told) if isinstance(word, ApplicationSample) else None,
            age_s=age_s(known.judged_at_s, word.at_s) if word else None,
            problem=word.problem if word else "no watcher has seen its notebook",
            reread=known.reread(tally.name),
        )
        for tally in known.consumers
        for word in [words.get(tally.name)]
    ]


def _measured(history: SampleHistory, judged_at_s: float) -> Iterator[Measured]:
    for name, word in history.of_applications.items():
        if isinstance(word, ApplicationSample):
            yield "tally_positions", (name,), len(word.told) if word.at_s else None


IN_STATUS = StatusPart(
    key="tallies",
    row=TallyTold,
    rows=_told,
    gauges={"tally_positions": Gauge("Positions that stand in a notebook", ("tally",))},
    measured=_measured,
)


class DeclaredTallies(ToyApplications):
    """See `moves.participants.Kind`: the tallies of the file. `memory`: where those of a test are."""

    name = "toy"
    memory: ClassVar[Tallies | None] = None

    def __init__(self) -> None:
        super().__init__(self.memory, {})  # type: ignore[arg-type]

    def at(self, topology: Topology, cluster: str) -> tuple[str, ...]:
        return tuple(tally.name for tally in topology.consumers_of(cluster) if isinstance(tally, Tally))


TOY = ConsumerKind(
    name="toy",
    entry=Tally,
    rules=(toy_notebooks,),
    keys_rule=toy_notebooks.id,
    takes_part=f"{__name__}:DeclaredTallies",
    kept_by=f"{__name__}:Notebooks",
    simulated=f"{__name__}:tally_program",
    audited=f"{__name__}:AUDITED",
    in_status=f"{__name__}:IN_STATUS",
)


def install(folder: Path) -> Path:
    """Put the package of the toys into a folder of packages, as pip leaves it; returns what describes it."""
    installed = folder / "toys-1.0.dist-info"
    installed.mkdir(parents=True)
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: toys\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text(f"[dcctl.kinds]\ntoy = {__name__}:TOY\n")
    return installed
