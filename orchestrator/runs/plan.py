"""What a run will do and what it will cost, as values that are written to files and to the journal.

A `Plan` is complete: it can be shown, stored, and run by the engine without asking anything again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from orchestrator import __version__
from orchestrator.errors import DcctlError
from orchestrator.runs.afterwards import Afterwards

if TYPE_CHECKING:
    import networkx as nx

FORMAT_VERSION = 1
STEPS_READ = frozenset({"0.3.0", __version__})
"""Versions whose steps and results are read as this version's own: it tells what their runs hold and came to.
An unfinished run is gone on with by the version that began it alone.
"""
EXPIRES_AFTER_S = 60.0
"""How long a plan file may be applied after it was made."""

Phase = Literal[
    "detect",
    "decide",
    "prepare",
    "fence",
    "drain",
    "translate",
    "relocate",
    "redirect",
    "verify",
    "follow-up",
    "leaders",
    "access",
    "topics",
    "replicas",
    "mirrors",
    "remove",
]
# Of a move, in the order in which a report tells them; the others are of other verbs.
PHASES: tuple[Phase, ...] = (
    "detect",
    "decide",
    "prepare",
    "fence",
    "drain",
    "translate",
    "relocate",
    "redirect",
    "verify",
    "follow-up",
)
GateOutcome = Literal["ok", "refused", "unknown"]
AskedAgain = Literal["no", "to act", "always"]
OfOutage = Literal["", "word", "sight"]
Outcome = Literal["ok", "failed", "partial", "unknown"]
"""What a step came to, there or back. ok: all of it is done. failed: surely nothing was changed. partial:
surely not all of it is done, and some of it is, or may be. unknown: it cannot be told.
"""
NoBegin = Literal["refused", "declined"]
"""How a run ends that never begins a step: a gate refuses, or the person who was asked declines."""
NEVER_BEGAN: frozenset[str] = frozenset(get_args(NoBegin))
EventKind = Literal[
    "run-started",
    "gates",
    "override",
    "run-resumed",
    "step-intent",
    "step-outcome",
    "undo-started",
    "undo-intent",
    "undo-outcome",
    "run-ended",
]

NEEDS_RESULT = "its result is needed"
"""The reason of an order that is not policy: a step waits for what it takes from another."""

_CONFIG = ConfigDict(extra="forbid")
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class Step:
    """One effect, or one measurement that later effects build on.

    `action` names the effect; `verify`, `compensation` and `verify_undone` name it too, where it can do that.
    Plans of earlier versions have other names there.
    `verify` says afterwards whether the effect is there (none: doing the step twice is as good as once,
    and after a crash it is simply done again). `irreversible` says that nothing takes the effect back.

    `compensation` takes it back. It must do no harm where the effect is there in part or not at all, and
    may build only on the results of the steps before this one: after a crash this one's own may be
    missing. `verify_undone` says whether the effect is gone (none: as with `verify`). With `on_failure:
    undo` the whole run is taken back if this step does not end well; with `note` that is told, and the run
    has still done what it was for.

    `timeout_s` is the deadline of the whole step, which its action keeps by itself, `expected_s` what it
    usually takes. One that does not come back is left long after that, and its outcome is unknown.

    `section` is the part of the run whose policy it follows, `reasons` says for each step that it waits for
    why, and `stays_because` why nothing takes it back: a compensation beside it changes nothing, and tells
    what stays. They are for people; a plan of an earlier version has none.
    """

    id: str
    phase: Phase
    title: str
    action: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    depends_on: tuple[str, ...] = ()
    verify: str | None = None
    compensation: str | None = None
    verify_undone: str | None = None
    irreversible: bool = False
    on_failure: Literal["stop", "undo", "note"] = "stop"
    expected_s: float = 0.0
    timeout_s: float = 30.0
    section: str = ""
    reasons: Mapping[str, str] = field(default_factory=dict)
    stays_because: str = ""

    @property
    def is_taken_back(self) -> bool:
        """Whether its effect goes where the run is taken back."""
        return self.compensation is not None and not self.stays_because


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class GateResult:
    """One condition for acting: what was measured, against which limit, and what to do about it.

    `asked_again`: whether it has to hold when a run goes on, always, or where steps are left that act. The
    others judge a state that the run's own steps have changed. `of_outage`: how it judges that the place left
    is down, by a person's `word` or by `sight`; empty where it judges something else.
    """

    id: str
    outcome: GateOutcome
    measured: str
    limit: str
    reason: str
    hint: str = ""
    asked_again: AskedAgain = "no"
    of_outage: OfOutage = ""


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class RunEvent:
    """One record of the journal. `sequence` counts from 1 within a run; `at_s` is Unix epoch seconds."""

    run_id: str
    sequence: int
    kind: EventKind
    at_s: float
    step: str = ""
    outcome: Outcome | None = None
    message: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Deterministic name of the record: a repeated write finds it there and compares."""
        return f"{self.sequence:06d}-{self.kind}" + (f"-{self.step}" if self.step else "")

    @property
    def came_to(self) -> Outcome | None:
        """The outcome. What is partial was once written as failed or unknown, with `in_part` in `data`."""
        return "partial" if self.data.get("in_part") else self.outcome


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class Predicted:
    """What acting is expected to cost, per topic, per consumer, and in time.

    `loss`: topic -> {at_least, expected, at_most} records. `late`: topic -> {at_most} records of these that
    are not lost for good where a lost source comes back with its disks, and then arrive behind newer ones;
    on the way back those that arrive in the move. `reread`: consumer -> {map, position_age} records.
    `seconds` is the longest way through the steps.
    """

    loss: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    reread: Mapping[str, Mapping[str, int | None]] = field(default_factory=dict)
    seconds: float = 0.0
    late: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class Plan:
    """Steps with their order, gates and predictions, and digests of what they were made from.

    `observed` holds one digest for each part of the observation, so that a plan that has become
    stale can name what moved. `expires_at_s`: after it the plan must be made again. `told`: the steps whose
    results a report shows, by what it shows them as. `applications`: of a move, what becomes of each that
    moves; a plan of an earlier version has none. `dcctl_version`: which dcctl made it; empty in plans
    from before that was kept.
    """

    verb: str
    topology: str
    source: str
    target: str
    request: Mapping[str, Any]
    created_at_s: float
    expires_at_s: float
    topology_digest: str
    observed: Mapping[str, str]
    gates: tuple[GateResult, ...]
    steps: tuple[Step, ...]
    predicted: Predicted = field(default_factory=Predicted)
    facts: Mapping[str, Any] = field(default_factory=dict)
    told: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    applications: tuple[Afterwards, ...] = ()
    dcctl_version: str = __version__

    @property
    def is_allowed(self) -> bool:
        """Whether every gate is ok: refused and unknown both stop."""
        return all(gate.outcome == "ok" for gate in self.gates)

    @property
    def way(self) -> str:
        """What is done, and where: `Failover west → east`; a plan of one cluster may say it itself."""
        if told := self.facts.get("way"):
            return str(told)
        where = (
            f"{self.source} → {self.target}" if self.source and self.target else self.source or self.target
        )
        return f"{self.verb.capitalize()} {where}".rstrip()

    @property
    def command(self) -> str:
        """As it is typed, without the file."""
        return str(self.facts.get("command", self.verb))

    @property
    def done_by(self) -> str:
        """Id of the run that has done it already; empty where it is still to be done."""
        return str(self.facts.get("done_by", ""))

    @property
    def is_done(self) -> bool:
        """Whether there is nothing to do: an earlier run has done it, or all is as it should be already."""
        return bool(self.done_by or self.facts.get("nothing_to_do"))

    @property
    def digest(self) -> str:
        """Digest of the whole plan."""
        return digest(to_json(self))

    def step(self, step_id: str) -> Step:
        """The step with that id."""
        return next(step for step in self.steps if step.id == step_id)

    def graph(self) -> nx.DiGraph:
        """The steps' order: an edge leads from a step to each one that waits for it.

        Raises `DcctlError` when a step waits for one that is not there, or for itself.
        """
        # It takes as long to be imported as all the rest together: offline commands do without it.
        import networkx as nx  # noqa: PLC0415

        graph: nx.DiGraph = nx.DiGraph()
        graph.add_nodes_from(step.id for step in self.steps)
        for step in self.steps:
            for needed in step.depends_on:
                if needed not in graph:
                    raise DcctlError(f"plan, step {step.id}", f"waits for {needed}, which is not in the plan")
                graph.add_edge(needed, step.id)
        if not nx.is_directed_acyclic_graph(graph):  # type: ignore[no-untyped-call]
            circle = " → ".join(edge[0] for edge in nx.find_cycle(graph))
            raise DcctlError("plan", f"steps wait for each other in a circle: {circle}")
        return graph

    def in_order(self) -> tuple[Step, ...]:
        """The steps so that each comes after those that it waits for, otherwise in plan order.

        Raises `DcctlError`: see `graph`.
        """
        left = {step.id: set(step.depends_on) for step in self.steps}
        behind: dict[str, list[int]] = {step.id: [] for step in self.steps}
        for number, step in enumerate(self.steps):
            for needed in step.depends_on:
                behind.setdefault(needed, []).append(number)
        ready = [number for number, step in enumerate(self.steps) if not step.depends_on]
        found: list[Step] = []
        while ready:
            step = self.steps[heappop(ready)]
            found.append(step)
            for number in behind[step.id]:
                waits = left[self.steps[number].id]
                if step.id in waits:
                    waits.remove(step.id)
                    if not waits:
                        heappush(ready, number)
        if len(found) < len(self.steps):
            self.graph()  # it says which steps wait in vain
        return tuple(found)

    def critical_path_s(self) -> float:
        """Expected seconds of the longest way through the steps."""
        return max(self._ready_at_s().values(), default=0.0)

    def longest_way(self) -> tuple[str, ...]:
        """Ids of the steps that decide how long the run takes, each waiting for the one before it."""
        ready_at_s = self._ready_at_s()
        # Of equals the one that is later in order: no other stands between it and what waits for it.
        place = {step_id: number for number, step_id in enumerate(ready_at_s)}

        def last_of(step_ids: Iterable[str]) -> str | None:
            return max(step_ids, key=lambda step_id: (ready_at_s[step_id], place[step_id]), default=None)

        found: list[str] = []
        current = last_of(ready_at_s)
        while current is not None:
            found.append(current)
            current = last_of(self.step(current).depends_on)
        return tuple(reversed(found))

    def _ready_at_s(self) -> dict[str, float]:
        """When each step ends at the earliest, in seconds from the beginning, in order."""
        ready_at_s: dict[str, float] = {}
        for step in self.in_order():
            begins_s = max((ready_at_s[needed] for needed in step.depends_on), default=0.0)
            ready_at_s[step.id] = begins_s + step.expected_s
        return ready_at_s


def with_seconds(plan: Plan) -> Plan:
    """The plan with its predicted duration filled in from its own steps."""
    return replace(plan, predicted=replace(plan.predicted, seconds=round(plan.critical_path_s(), 1)))


# Built once: making an adapter takes milliseconds, using one microseconds.
_ADAPTERS: dict[type, TypeAdapter[Any]] = {
    kind: TypeAdapter(kind) for kind in (Plan, RunEvent, GateResult, Step)
}


def to_json(value: Plan | RunEvent | GateResult | Step) -> dict[str, Any]:
    """Plain JSON data of a plan or of one of its parts."""
    data: dict[str, Any] = _ADAPTERS[type(value)].dump_python(value, mode="json")
    return {"format_version": FORMAT_VERSION, **data} if isinstance(value, Plan) else data


def plan_from_json(data: Mapping[str, Any]) -> Plan:
    """A plan read back. Raises `DcctlError` when it is none, or of another format."""
    fields = dict(data)
    version = fields.pop("format_version", None)
    if version != FORMAT_VERSION:
        raise DcctlError("plan", f"format_version is {version!r}, expected {FORMAT_VERSION}")
    made_by = fields.setdefault("dcctl_version", "")
    hint = (
        f"it was made by dcctl {made_by}; this is {__version__}" if made_by not in ("", __version__) else ""
    )
    return _validated(Plan, fields, "plan", hint)


def event_from_json(data: Mapping[str, Any]) -> RunEvent:
    """A journal record read back. Raises `DcctlError` when it is none."""
    return _validated(RunEvent, data, "journal record")


def _validated(kind: type[T], data: Mapping[str, Any], subject: str, hint: str = "") -> T:
    try:
        value: T = _ADAPTERS[kind].validate_python(data)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        problem = f"{place}: {first['msg']}"
        raise DcctlError(subject, problem, hint or "was it written by another version?") from None
    return value


def canonical_json(data: Any) -> str:
    """One text for equal data: keys sorted, no spaces, so that digests can be compared."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def digest(data: Any) -> str:
    """SHA-256 of the canonical JSON, shortened to 16 hexadecimal digits."""
    return hashlib.sha256(canonical_json(data).encode()).hexdigest()[:16]
