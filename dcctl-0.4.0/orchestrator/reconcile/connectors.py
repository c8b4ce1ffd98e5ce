"""Mirror connectors: set up, running, or gone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Self

from pydantic.dataclasses import dataclass
from typing_extensions import TypedDict  # pydantic reads no other one before Python 3.12

from orchestrator.estate.observed import ObservedConnector, observed_connectors
from orchestrator.mirrors.connect import ask_connect
from orchestrator.reconcile.batch import SETTLE_S, Batch
from orchestrator.reconcile.ports import ReconciledClusters, ReconciledWorkers
from orchestrator.runs.effect import (
    EFFECT_CONFIG,
    Done,
    Failed,
    Held,
    Nothing,
    Outcome,
    Reversible,
    Running,
    VerifiedUndo,
)
from orchestrator.wording import plural

# A connector that has failed may just be starting anew: it has failed if it stays so.
_FAILED_POLLS = 15
# What is not there after a moment was never asked for: whoever was killed before it resumes without waiting
# for the whole step.
_SETTLE_POLLS = 50
_ASKED_FOR = "the file wants these connectors to run"
_NOT_ASKED = ("missing", "configured differently")


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class OnConnectors(Batch):
    """Something done to connectors of a cluster's workers; what to each of them is said by its name."""

    connectors: Mapping[str, Any]

    @property
    def objects(self) -> tuple[str, ...]:
        """See `Batch`."""
        return tuple(self.connectors)

    @classmethod
    def joined(cls, works: Sequence[Self]) -> Self:
        """See `Batch`."""
        connectors = {name: wanted for work in works for name, wanted in work.connectors.items()}
        return cls(cluster=works[0].cluster, connectors=connectors)

    def _ask(self, run: Running, ask: Callable[[ReconciledWorkers, str], None]) -> Outcome[Nothing]:
        workers = run.port(ReconciledClusters).at(self.cluster).workers
        return ask_connect(run, self.connectors, lambda name: ask(workers, name), run.timeout_s / 2)

    def _delete(self, run: Running) -> Outcome[Nothing]:
        """Those that are there; Connect keeps their offsets."""

        def delete(workers: ReconciledWorkers, name: str) -> None:
            if name in workers.names():
                workers.delete(name)

        return self._ask(run, delete)

    def _are_gone(self, run: Running) -> Outcome[Nothing]:
        workers, names = run.port(ReconciledClusters).at(self.cluster).workers, set(self.connectors)
        if run.await_true(lambda: not names & workers.names(), SETTLE_S):
            return Done(Nothing())
        return Failed(f"connectors that still exist: {', '.join(sorted(names & workers.names()))}")


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class DeleteConnectors(
    OnConnectors,
    name="delete-connectors",
    phase="remove",
    title="Delete connectors",
    stays="an apply of a file with their mirror creates them again, and they go on where they stopped",
):
    """Remove them; Connect keeps their offsets."""

    connectors: dict[str, dict[str, str]]

    def holds(self) -> Iterable[Held]:
        """See `Effect`."""
        return (Held(name, "deleted", self.cluster) for name in self.connectors)

    def perform(self, run: Running) -> Outcome[Nothing]:
        """See `Effect`."""
        return self._delete(run)

    def verify(self, run: Running) -> Outcome[Nothing]:
        """None of them is there any more."""
        return self._are_gone(run)


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class RunsConnectors(OnConnectors, phase="mirrors", expected_s=4.0):
    """Something after which connectors run."""

    @property
    def sides(self) -> frozenset[str]:
        """Both ends of the mirrors."""
        return super().sides | {wanted["source"] for wanted in self.connectors.values()}

    def verify(self, run: Running) -> Outcome[Nothing]:
        """Each is RUNNING as the step says, with all its tasks."""
        workers = run.port(ReconciledClusters).at(self.cluster).workers
        waiting: dict[str, str] = {}
        failed: dict[str, int] = {}
        not_asked: dict[str, int] = {}

        def all_run() -> bool:
            found = observed_connectors(workers.described())
            waiting.clear()
            for name, wanted in self.connectors.items():
                said = _not_running(wanted, found.get(name))
                if said:
                    waiting[name] = said
                failed[name] = failed.get(name, 0) + 1 if said == "FAILED" else 0
                not_asked[name] = not_asked.get(name, 0) + 1 if said in _NOT_ASKED else 0
            return (
                not waiting
                or any(count > _FAILED_POLLS for count in failed.values())
                or any(count > _SETTLE_POLLS for count in not_asked.values())
            )

        run.await_true(all_run, run.timeout_s)
        if not waiting:
            return Done(Nothing(), f"{plural(len(self.connectors), 'connector')} running")
        return Failed(", ".join(f"{name} is {said}" for name, said in sorted(waiting.items())))


class ConnectorWanted(TypedDict):
    """A connector as it is to be set up. `source`: the cluster that its mirror copies from.

    `may_lack_tasks`: it runs rightly without any as long as the source has no consumer group.
    """

    config: dict[str, str]
    source: str
    may_lack_tasks: bool


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class SetsUpConnectors(RunsConnectors):
    """Give connectors this configuration."""

    connectors: dict[str, ConnectorWanted]

    def perform(self, run: Running) -> Outcome[Nothing]:
        """One that is not there is created, running."""
        configs = {name: wanted["config"] for name, wanted in self.connectors.items()}
        return self._ask(run, lambda workers, name: workers.configure(name, configs[name]))


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class ConfigureConnectors(
    SetsUpConnectors,
    name="configure-connectors",
    title="Configure connectors",
    stays="the connectors are configured as the file says, and an apply of another file changes that",
):
    """Change those that are there."""


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class CreateConnectors(
    Reversible, VerifiedUndo, SetsUpConnectors, name="create-connectors", title="Create connectors"
):
    """Create what is not there, running."""

    def undo(self, run: Running) -> Outcome[Nothing]:
        """See `Reversible`."""
        return self._delete(run)

    def verify_undone(self, run: Running) -> Outcome[Nothing]:
        """See `VerifiedUndo`."""
        return self._are_gone(run)


class ConnectorMeant(TypedDict):
    """See `ConnectorWanted`. `is_configured`: the same plan sets it up anew."""

    source: str
    may_lack_tasks: bool
    is_configured: bool


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class ResumeHalted(
    RunsConnectors,
    name="resume-halted-connectors",
    title="Resume connectors",
    expected_s=2.0,
    stays=_ASKED_FOR,
):
    """Let halted ones run."""

    STEP_ID: ClassVar[str] = "resume-connectors"

    connectors: dict[str, ConnectorMeant]

    def frees(self) -> Iterable[Held]:
        """See `Effect`."""
        return (Held(name, "stopped", self.cluster) for name in self.connectors)

    def perform(self, run: Running) -> Outcome[Nothing]:
        """See `Effect`."""
        return self._ask(run, lambda workers, name: workers.resume(name))


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class RestartConnectors(
    RunsConnectors,
    name="restart-connectors",
    title="Restart connectors",
    stays=_ASKED_FOR,
):
    """Start failed ones anew."""

    connectors: dict[str, ConnectorMeant]

    def perform(self, run: Running) -> Outcome[Nothing]:
        """See `Effect`."""
        return self._ask(run, lambda workers, name: workers.restart(name))


def _not_running(wanted: Mapping[str, Any], found: ObservedConnector | None) -> str:
    if found is None:
        return "missing"
    if "config" in wanted and dict(found.config) != wanted["config"]:
        return "configured differently"
    if "FAILED" in (found.state, *found.tasks):
        return "FAILED"
    if found.state != "RUNNING":
        return found.state
    if not found.tasks and not wanted["may_lack_tasks"]:
        return "without tasks"
    return next((task for task in found.tasks if task != "RUNNING"), "")
