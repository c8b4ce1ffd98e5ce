"""One step of a move, performed as its run does it, on servers and ports of which a test brings a part."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter

from orchestrator.applications.producers.confirmations import ATTEST_WRITING
from orchestrator.moves.ways import way_along
from orchestrator.ports.part import Part
from orchestrator.replication.mirror_ref import ref_to
from orchestrator.runs.acting import EffectActions, World
from orchestrator.runs.effect import Handle
from orchestrator.runs.engine import Results, StepOutcome
from orchestrator.runs.live.run import Run
from orchestrator.runs.live.run_session import RunSession
from orchestrator.runs.live.servers import Servers
from orchestrator.runs.plan import Step
from orchestrator.runs.word import V, Word
from orchestrator.snapshot.rejoining import Past
from orchestrator.snapshot.samples import SampleHistory
from orchestrator.snapshot.snapshot import Snapshot
from orchestrator.topology.model import Topology
from orchestrator.verbs.live.move_estate import Estate
from orchestrator.verbs.live.move_session import MoveSession
from orchestrator.verbs.registration import EFFECTS, PARTICIPANTS
from tests.runs.memory_ensemble import MemoryEnsemble
from tests.verbs.pictures import with_mirror

P = TypeVar("P")
RUN = "run-1"


def a_session(
    folder: Path,
    servers: Servers,
    topology: Topology,
    seen: Snapshot,
    *,
    ensemble: MemoryEnsemble | None = None,
    attested: Iterable[str] = (),
    samples: Part[SampleHistory] | None = None,
    past: Part[Past] | None = None,
) -> MoveSession:
    """Of a run of the file's first mirror, which has the lock. `samples`: of the mirror, where the picture is of the way back."""
    mirror = topology.replication[0]
    feed = ref_to(mirror)
    target, connect = servers.kafka(topology, mirror.target), servers.connect(topology, mirror.target)
    estate = Estate(topology, feed, target, connect, ensemble or MemoryEnsemble(), "", servers)
    if samples is not None:
        seen = with_mirror(seen, feed, samples=samples)
    if past is not None:
        seen = replace(seen, past=past)
    way = way_along(topology, feed if past is None else feed.other_way, PARTICIPANTS)
    run = Run(topology, RUN, lambda: estate, command="a test", folder=folder, on_event=lambda _: None)
    with run:
        for name in attested:
            run.record("override", data=ATTEST_WRITING.given(name, "ada: seen").as_json())
        return MoveSession(topology, run, seen, way)


@dataclass(frozen=True)
class WithPorts:
    """A session of which some ports are a test's own; see `runs.acting.World`."""

    session: RunSession
    ports: Mapping[type[Any], Any] = field(default_factory=dict)

    @property
    def run_id(self) -> str:
        return self.session.run_id

    def port(self, kind: type[P]) -> P:
        found: P = self.ports[kind] if kind in self.ports else self.session.port(kind)
        return found

    def word(self, word: Word[V]) -> frozenset[V]:
        return self.session.word(word)

    def may_write(self) -> bool:
        return self.session.may_write()

    def is_cancelled(self) -> bool:
        return self.session.is_cancelled()

    def await_true(self, condition: Callable[[], bool], timeout_s: float, poll_s: float = 0.2) -> bool:
        return self.session.await_true(condition, timeout_s, poll_s)

    def cancel(self) -> None:
        self.session.cancel()


def performed(world: World, step: Step, results: Mapping[str, Any] | None = None) -> StepOutcome:
    """What a step comes to, behind earlier steps with these results (by step id, as effects leave them)."""
    return EffectActions(EFFECTS, world).perform(step, in_journal(results or {}))


def result_of(step: Step, found: StepOutcome, kind: type[P]) -> P:
    """The result that a step has left, out of the journal again."""
    result: Any = EFFECTS.result(Handle(step.id, step.action), found.result)
    assert isinstance(result, kind), found.message
    return result


def verified(world: World, step: Step, results: Mapping[str, Any] | None = None) -> StepOutcome:
    """What looking at it comes to."""
    return EffectActions(EFFECTS, world).verify(step, in_journal(results or {}))


def undone(world: World, step: Step, results: Mapping[str, Any] | None = None) -> StepOutcome:
    """What taking it back comes to."""
    return EffectActions(EFFECTS, world).compensate(step, in_journal(results or {}))


def in_journal(results: Mapping[str, Any]) -> Results:
    """Results as a journal has them."""
    return {step: TypeAdapter(type(found)).dump_python(found, mode="json") for step, found in results.items()}
