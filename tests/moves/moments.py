"""Stories of the golden files, stopped at every record of the journal: what is known then, and what really is."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from orchestrator.errors import DcctlError
from orchestrator.runs.effect import Effect, Held
from orchestrator.runs.engine import RunState, state_from_journal
from orchestrator.runs.live.procedure import plan_of_run
from orchestrator.runs.plan import Plan, RunEvent, Step
from orchestrator.topology.loading import parse_topology
from orchestrator.verbs.registration import EFFECTS
from tests.golden.bite import SAMPLE
from tests.golden.commands import give
from tests.golden.files import topology_text
from tests.golden.play import Situation
from tests.golden.situations import groups
from tests.golden.words import tell
from tests.twin.crew import ProcessDied
from tests.twin.estate import TwinEstate
from tests.twin.operator import Operator

MORE = (
    ("killed and taken back, switchover", "commit offset east: billing, after"),
    ("killed and taken back, switchover, itself", "lift denial east: User:checkout, after"),
    ("killed and taken back, leaving a sick site", "commit offset east: billing, after"),
    ("killed and taken back, failback", "commit offset west: billing, after"),
    ("killed and taken back, fence", "deny west: User:checkout, after"),
    ("fence", "unfenced where another is primary"),
    ("leaving a sick site, by state", "hosts do not answer"),
)
STORIES = SAMPLE + MORE


@dataclass(frozen=True)
class Moment:
    """Right behind one record of the journal: `nodes` of the ensemble, and what does not work in the world.

    `absent`: of what effects may hold, applications that run nowhere, connectors that are stopped, and rules that
    deny. `connectors`: all that there are.
    """

    event: RunEvent
    nodes: Mapping[str, bytes]
    absent: frozenset[Held]
    connectors: frozenset[str]


class Teller(Operator):
    """An operator who remembers each moment of each run."""

    def __init__(self, estate: TwinEstate) -> None:
        super().__init__(estate)
        self.moments: list[Moment] = []

    def _take_event(self, event: RunEvent) -> None:
        super()._take_event(event)
        estate = self.estate
        connectors = frozenset(name for workers in estate.workers.values() for name in workers.connectors)
        self.moments.append(Moment(event, dict(estate.ensemble.nodes), absent_at(estate), connectors))


def absent_at(estate: TwinEstate) -> frozenset[Held]:
    """What does not work, in the words of effects: by the estate, and not by any journal."""
    clients = estate.applications.clients
    running = {name for (_, name), client in clients.items() if client.is_running}
    stopped = {Held(name, "stopped") for _, name in clients if name not in running}
    denied = {
        Held(
            f"{rule.principal} {rule.operation} on {rule.resource_type.lower()} {rule.resource_name}",
            "denied",
            name,
            told_as="applications",
        )
        for name, cluster in estate.clusters.items()
        for rule in cluster.acls
        if rule.permission == "DENY"
    }
    silent = {
        Held(connector, "stopped", name)
        for name, workers in estate.workers.items()
        for connector, found in workers.connectors.items()
        if found.state == "STOPPED"
    }
    return frozenset(stopped | denied | silent)


@dataclass(frozen=True)
class Told:
    """A story that was told: its estate as it is in the end, and the moments of its runs."""

    operator: Teller

    @property
    def moments(self) -> list[Moment]:
        """In their order, of all its runs."""
        return self.operator.moments

    def at(self, moment: Moment) -> TwinEstate:
        """The estate with the ensemble as it was then; nobody has its lock."""
        estate = self.operator.estate
        estate.record.heal()
        estate.ensemble.lose_locks()
        estate.ensemble.nodes = dict(moment.nodes)
        return estate

    def plan(self, run_id: str) -> Plan:
        """The plan of a run."""
        return _plan_of(self, run_id)

    def state(self, moment: Moment) -> RunState:
        """The run as its journal told it then."""
        run_id, last = moment.event.run_id, moment.event.sequence
        events = [m.event for m in self.moments if m.event.run_id == run_id]
        until = [event for event in events if event.sequence <= last]
        return state_from_journal(self.plan(run_id), run_id, until)


@cache
def _plan_of(story: Told, run_id: str) -> Plan:
    return plan_of_run([m.event for m in story.moments if m.event.run_id == run_id])


@cache
def told(group: str, name: str) -> Told:
    """A golden file's story, to its end."""
    return told_of(groups()[group][name])


def told_of(situation: Situation) -> Told:
    """A story, to its end; what it writes lies in the state folder."""
    folder = Path(mkdtemp(prefix="moments-", dir=os.environ["DCCTL_STATE_DIR"]))
    for hook in ("pre.yaml", "post.yaml"):
        (folder / hook).write_text("[]", encoding="utf-8")
    text = topology_text(situation.file).replace("HOOKS", str(folder))
    operator, begun = Teller(TwinEstate(parse_topology(text), folder / "estate")), ""
    for sentence in situation.story:
        if not sentence.startswith("$ "):
            tell(operator.estate, sentence)
            continue
        if sentence.startswith(("$ resume", "$ abort")):
            operator.run_id = begun
        try:
            give(operator, sentence[2:])
        except ProcessDied:
            operator.estate.restart_dcctl()
        except DcctlError:
            pass  # a story may be of one that is refused
        begun = operator.run_id if operator.has_begun else begun
    return Told(operator)


@dataclass(frozen=True)
class Occurrence:
    """A step whose effect is in force at a moment, surely or maybe: it has ended well, or was only begun."""

    story: Told
    moment: Moment
    step: Step
    surely: bool

    @cached_property
    def state(self) -> RunState:
        """Of its run, then."""
        return self.story.state(self.moment)

    @cached_property
    def holds(self) -> list[Held]:
        """What the effect holds, and nothing behind it has begun to let go."""
        state = self.state
        behind = state.plan.steps[state.plan.steps.index(self.step) + 1 :]
        freed = {held for step in behind if step.id in state.begun for held in EFFECTS.frees(step)}
        keys = {(held.subject, held.state, held.cluster) for held in freed}
        return [
            held
            for held in EFFECTS.holds(self.step)
            if not keys & {(held.subject, held.state, held.cluster), (held.subject, held.state, "")}
        ]

    @property
    def holds_surely(self) -> bool:
        """Whether all of that surely does not work: the step has ended well, and met nobody who did not answer."""
        return self.surely and EFFECTS.holds_surely(self.step, self.state.results[self.step.id])

    def __str__(self) -> str:
        plan = self.state.plan
        return f"{plan.verb} {plan.source} → {plan.target}, {self.step.id}, {'surely' if self.surely else 'maybe'}"


def occurrences(effect: type[Effect[Any]]) -> Sequence[Occurrence]:
    """Where an effect is in force: each of its steps of each verb in the first story that has it."""
    return _by_action().get(effect.NAME, [])


@cache
def _by_action() -> Mapping[str, list[Occurrence]]:
    found: dict[str, list[Occurrence]] = {}
    seen: set[tuple[str, str, bool]] = set()
    for story in (told(*names) for names in STORIES):
        for moment in story.moments:
            event = moment.event
            if event.kind not in ("step-intent", "step-outcome") or (event.outcome or "ok") != "ok":
                continue
            plan, surely = story.plan(event.run_id), event.kind == "step-outcome"
            place = (f"{plan.verb} {bool(plan.request.get('sick'))}", event.step, surely)
            if place not in seen:
                seen.add(place)
                step = plan.step(event.step)
                found.setdefault(step.action, []).append(Occurrence(story, moment, step, surely))
    return found
