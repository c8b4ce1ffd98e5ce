"""Who takes part in a move: kinds of applications, and mirror engines. Runbooks call them, and know none by
name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from orchestrator.errors import DcctlError
from orchestrator.moves.foretold import Foretold
from orchestrator.moves.ports import Looks
from orchestrator.moves.results import (
    LeadersChosen,
    LossCounted,
    MirrorEnd,
    MirrorStarts,
    PartlyStanding,
    RecordedPositions,
    RejoiningLogs,
    RulesHeard,
    StandingLogs,
    Stopped,
    TopicEnds,
)
from orchestrator.moves.situation import Situation
from orchestrator.moves.way import Leg, Place, Way
from orchestrator.replication.engine import Engine
from orchestrator.replication.mirror_ref import MirrorRef
from orchestrator.runs.acting import World
from orchestrator.runs.effect import Effect, Handle, Nothing, Outcome, Running, Unknown
from orchestrator.runs.estate_record import Cuts, Rows
from orchestrator.runs.plan import GateResult
from orchestrator.runs.registry import Registry
from orchestrator.runs.runbook import After, Runbook
from orchestrator.snapshot.back_starts import BackStarts
from orchestrator.topology.model import Topology


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """What a person accepts. `loss`: records (None: any number), `unrecorded`: logs of which nobody knows how
    they stood, `reread`: records that all groups together may read again (None: what was predicted).
    `offset_shift`: a rehearsal's sabotage.
    """

    loss: int | None = None
    unrecorded: bool = False
    reread: int | None = None
    offset_shift: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Stand:
    """A mirror that stands: who stopped it, and where it has come to."""

    mirror: MirrorRef
    stopped: Handle[Nothing]
    end: Handle[MirrorEnd]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejoined:
    """A returned side is a standby that has caught up.

    `rejoining`: its logs against what was recorded; `starts`: from where on the way back has copied, where it
    was made for that.
    """

    rejoining: Handle[RejoiningLogs]
    caught_up: tuple[Handle[Nothing], ...]
    starts: Handle[MirrorStarts] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What positions are placed on, at the end of what is left.

    `drained` and `paused`: mirrors that stand; `passed`: those that go on, and where they have come to in
    what moves. `landing`: where topics end that applications will write at the place entered; `standing`: the
    logs left (None where nobody can see them). `arrived`: what comes before any position is placed.
    """

    accepted: Accepted
    drained: tuple[Stand, ...] = ()
    paused: tuple[Stand, ...] = ()
    passed: tuple[tuple[MirrorRef, Handle[MirrorEnd]], ...] = ()
    landing: Handle[TopicEnds] | None = None
    standing: Handle[StandingLogs] | None = None
    rejoined: Rejoined | None = None
    arrived: tuple[After, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """One kind's applications, which have left. `stopped`: who stopped them, `recorded`: where they stood."""

    stopped: Handle[Stopped] | None = None
    recorded: Handle[RecordedPositions] | None = None


Ports = Mapping[type[Any], Any]
"""What effects reach of the world, by the class that they ask `Running.port` for."""


Reread = Mapping[str, Mapping[str, int | None]]
"""Records that each consumer reads again: by the map, by the age of its position, and at most."""


@runtime_checkable
class Kind(Protocol):
    """A kind of applications: what is judged and foretold of those that go one way, and their steps.

    `writes`: they are stopped before it is looked whether logs stand still; the others beside that.
    """

    @property
    def name(self) -> str:
        """As items have it."""

    @property
    def writes(self) -> bool:
        """Whether they write the topics that move."""

    @property
    def effects(self) -> Sequence[type[Effect[Any]]]:
        """All effects that it may add."""

    def ports(self, world: World) -> Ports:
        """What its effects reach beside the ports that every move has, for one run; by the port's class."""

    def at(self, topology: Topology, cluster: str) -> tuple[str, ...]:
        """The applications of this kind at a cluster by the file."""

    def programs(self, topology: Topology, names: Iterable[str]) -> tuple[str, ...]:
        """What hosts run of them, by the names under which dcctl stops and starts it."""

    def look(self, looks: Looks, way: Way) -> Any:
        """What of them has to be seen before they move; kept in the snapshot under the kind's name."""

    def gates(self, s: Situation) -> tuple[GateResult, ...]:
        """What has to hold for them to move."""

    def reread(self, s: Situation) -> Reread:
        """What they would read again."""

    def foretold(self, s: Situation) -> Mapping[str, Foretold]:
        """What is known of each of them before; nothing of those that write. By its name."""

    def facts(self, s: Situation) -> Mapping[str, Any]:
        """What that rests on, for people who read the plan later."""

    def stop_unhosted(
        self, book: Runbook, way: Way, place: Place, after: Sequence[After]
    ) -> Handle[Stopped] | None:
        """Stop at a place those that no host runs, beside the hosts' programs, as far as they can be reached.

        None where hosts run all of them.
        """

    def catch_up(self, book: Runbook, way: Way, timeout_s: float) -> Handle[Nothing] | None:
        """Before anything is frozen: wait at most `timeout_s` seconds until `stop` will soon be done.

        None where they have nothing to finish at the place left.
        """

    def stop(self, book: Runbook, way: Way, after: Sequence[After]) -> Handle[Stopped] | None:
        """Stop them cleanly at the place left. None where none of them is to be stopped.

        Of a way whose topics are shared: once they have read what no route leads, up to where those that move
        have written it; `after` is behind their fence then.
        """

    def record(
        self, book: Runbook, way: Way, left: Left, after: Sequence[After]
    ) -> Handle[RecordedPositions] | None:
        """Record where they stood, for `place`: of a place that is partial as far as it answers.

        `after`: what makes their positions final. None where there is nothing to record.
        """

    def place(self, book: Runbook, way: Way, ground: Ground, left: Left) -> tuple[Handle[Any], ...]:
        """Make them ready to go on at the place entered. Returns what they go on from, if anything."""

    def start(
        self, book: Runbook, way: Way, ready: Sequence[Handle[Any]], after: Sequence[After]
    ) -> Handle[Nothing] | None:
        """Start them at the place entered. None where none of them is to be started."""

    def see(  # noqa: PLR0917 - what is known of them
        self,
        book: Runbook,
        way: Way,
        ready: Sequence[Handle[Any]],
        started: Handle[Nothing] | None,
        ground: Ground,
        after: Sequence[After],
    ) -> Handle[Any] | None:
        """See them at work there. None where there is nothing to be seen."""


class MirrorEngine(Engine, ABC):
    """An engine in a move. What it has no need of adds no step, and it says so by None."""

    effects: Sequence[type[Effect[Any]]] = ()
    """All effects that it may add."""

    def ports(self, world: World) -> Ports:
        """What its effects reach beside the ports that every move has, for one run; by the port's class."""
        return {}

    def await_copied(
        self,
        run: Running,
        mirror: MirrorRef,
        standing: StandingLogs,
        *,
        end: MirrorEnd | None,
        stalled_s: float | None,
        timeout_s: float,
    ) -> Outcome[Nothing]:
        """Wait until everything before the standing ends is copied. Raises `DcctlError`.

        With `end` the offsets are those of a mirror that stands, and nothing is waited for. With `stalled_s`
        it is given up where the mirror has not moved for so long. A `Failed` that counts records has detail
        {"not_copied": {"topic-partition": records}}. Of an engine that leaves this out it is unknown.
        """
        return Unknown(f"the engine of {mirror} does not tell when everything is copied")

    def syncs_positions(self, run: Running, mirror: MirrorRef, timeout_s: float) -> str:
        """What still moves idle groups at the target to where it thinks they belong; empty for nothing.

        Whoever has been told to stop is waited for so long. Raises `ConnectError`.
        """
        return ""

    @abstractmethod
    def gates(self, s: Situation) -> tuple[GateResult, ...]:
        """What has to hold of the mirror that feeds the place entered."""

    def route_gates(self, s: Situation, legs: Sequence[Leg]) -> tuple[GateResult, ...]:
        """What has to hold of mirrors by whose maps positions are led, and which go on meanwhile."""
        return ()

    @abstractmethod
    def loss(self, s: Situation) -> Mapping[str, Mapping[str, int]]:
        """Records by topic that would be lost: at least, expected and at most, as far as it can be told."""

    def late(self, s: Situation) -> Mapping[str, Mapping[str, int]]:
        """Records by topic that come late: once a source is back, or as it rejoins. Of `loss` a part."""
        return {}

    @abstractmethod
    def facts(self, s: Situation) -> Mapping[str, Any]:
        """What that rests on, for people who read the plan later."""

    def seconds(self, s: Situation) -> Mapping[str, float]:
        """Seconds that its steps are expected to take, by their ids, where what it has to copy tells so."""
        return {}

    @abstractmethod
    def let_land(
        self, book: Runbook, way: Way, mirror: MirrorRef, after: Sequence[After]
    ) -> Handle[Nothing] | None:
        """Let what it has read and not written come to its target: its source is not there any more."""

    @abstractmethod
    def drain(
        self, book: Runbook, way: Way, mirror: MirrorRef, standing: Handle[StandingLogs], timeout_s: float
    ) -> Handle[Nothing]:
        """Wait until it has copied everything of logs that stand; otherwise fail."""

    def record_passed(
        self,
        book: Runbook,
        way: Way,
        mirror: MirrorRef,
        standing: Handle[StandingLogs],
        drained: Handle[Nothing],
    ) -> Handle[MirrorEnd] | None:
        """Record where it has come to in logs that stand and are `drained`, while it goes on with others.

        None where its map says as much by itself.
        """
        return None

    @abstractmethod
    def drain_partial(
        self, book: Runbook, way: Way, mirror: MirrorRef, standing: Handle[PartlyStanding], accepted: Accepted
    ) -> Handle[Nothing]:
        """Let it copy what can still be read; more than accepted left uncopied fails."""

    @abstractmethod
    def stop(self, book: Runbook, way: Way, mirror: MirrorRef, after: Sequence[After]) -> Stand:
        """Stop it, and record where it has come to."""

    @abstractmethod
    def see_arrived(
        self, book: Runbook, way: Way, stand: Stand, standing: Handle[StandingLogs]
    ) -> Handle[Nothing] | None:
        """See once more that nothing is missing behind it."""

    @abstractmethod
    def stop_beside(self, book: Runbook, way: Way, stand: Stand) -> Handle[Nothing] | None:
        """Stop what it runs beside the copying and nothing has to wait for."""

    @abstractmethod
    def account(  # noqa: PLR0917 - what a loss is counted from
        self,
        book: Runbook,
        way: Way,
        stand: Stand,
        standing: Handle[PartlyStanding],
        heard: Handle[RulesHeard] | None,
        accepted: Accepted,
    ) -> Handle[LossCounted]:
        """Count what is lost of a place that answered in part."""

    @abstractmethod
    def rejoin(  # noqa: PLR0917 - what a standby is made from
        self,
        book: Runbook,
        way: Way,
        mirror: MirrorRef,
        standing: Handle[StandingLogs],
        starts: BackStarts,
        accepted: Accepted,
        timeout_s: float,
    ) -> Rejoined:
        """Make a returned source a standby that has caught up: `mirror` leads there, against the file's.

        `starts`: where that one begins. Topics that have never moved begin at their ends at that moment.
        """

    def go_on_behind(  # noqa: PLR0917 - what a mirror goes on from
        self,
        book: Runbook,
        way: Way,
        mirror: MirrorRef,
        standing: Handle[StandingLogs],
        accepted: Accepted,
        timeout_s: float,
    ) -> Rejoined:
        """Let a mirror of the file go on out of a returned source where it fits its logs, and bring the rest.

        What was written at the other side comes back by a mirror that never stopped. Raises `DcctlError`
        where the engine cannot do that.
        """
        raise DcctlError(f"mirror {mirror}", f"{self.title} cannot go on behind a source that has returned")

    def go_on_beside(
        self, book: Runbook, way: Way, mirror: MirrorRef, accepted: Accepted, after: Sequence[After]
    ) -> Handle[Nothing]:
        """Let a mirror of the file go on that has stood since all of its source left along it, by plan.

        Others have come to that source since, and go home. Raises `DcctlError` where the engine cannot do
        that.
        """
        raise DcctlError(f"mirror {mirror}", f"{self.title} cannot go on beside who has come to its source")

    def why_not_shortened(self) -> str:
        """Why none of its mirrors can go on where its source gives up records that it has copied.

        Empty where it can: such an engine has `halt`, `set_behind` and `go_on_halted`.
        """
        return f"{self.title} cannot go on where its source gives up records that it has copied"

    def halt(
        self, book: Runbook, topology: Topology, mirror: MirrorRef, after: Sequence[After]
    ) -> Handle[Nothing]:
        """Let it copy nothing while its source gives up records that it may have copied.

        Raises `DcctlError` where the engine cannot go on behind that.
        """
        raise DcctlError(f"mirror {mirror}", self.why_not_shortened())

    def set_behind(  # noqa: PLR0917 - what a mirror goes on from
        self,
        book: Runbook,
        topology: Topology,
        mirror: MirrorRef,
        chosen: Handle[LeadersChosen] | None,
        recorded: Rows,
        earlier: Cuts,
        after: Sequence[After],
    ) -> Handle[Nothing]:
        """Set it behind the logs of those that were elected, where it has read further. It stands then.

        `recorded`: where logs ended at earlier elections behind which it was not set; `chosen`: who leads by
        this run, if anybody. `earlier`: what is recorded of such cuts before. Raises as `halt`.
        """
        raise DcctlError(f"mirror {mirror}", self.why_not_shortened())

    def go_on_halted(
        self, book: Runbook, topology: Topology, mirror: MirrorRef, after: Sequence[After]
    ) -> Handle[Nothing]:
        """Let it run again. Raises as `halt`."""
        raise DcctlError(f"mirror {mirror}", self.why_not_shortened())

    @abstractmethod
    def pause(self, book: Runbook, way: Way, mirror: MirrorRef, after: Sequence[After]) -> Stand:
        """Let a mirror stand while its map is read to the end."""

    @abstractmethod
    def close(self, book: Runbook, way: Way, stand: Stand, after: Sequence[After]) -> Handle[Nothing] | None:
        """Keep where a mirror has ended, for the next time."""

    @abstractmethod
    def go_on(self, book: Runbook, way: Way, mirror: MirrorRef, after: Sequence[After]) -> Handle[Nothing]:
        """Let a mirror that was paused run again, and what it runs beside the copying."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Participants:
    """The kinds, in the order in which their applications are stopped and started, and the engines."""

    kinds: tuple[Kind, ...]
    engines: tuple[MirrorEngine, ...]

    def effects(self) -> Registry:
        """All effects of all of them."""
        of_kinds = [effect for kind in self.kinds for effect in kind.effects]
        return Registry(*of_kinds, *(effect for engine in self.engines for effect in engine.effects))

    def ports(self, world: World) -> Ports:
        """What all of them bring for one run. Raises `DcctlError` where two bring the same port."""
        found: dict[type[Any], Any] = {}
        for brought in (*(k.ports(world) for k in self.kinds), *(e.ports(world) for e in self.engines)):
            for port in found.keys() & brought.keys():
                raise DcctlError(f"port {port.__name__}", "two participants bring it")
            found |= brought
        return found

    def kind(self, name: str) -> Kind:
        """The kind of that name. Raises `DcctlError` where there is none."""
        for kind in self.kinds:
            if kind.name == name:
                return kind
        raise DcctlError(f"kind {name}", "no kind of application has this name")

    def engine(self, topology: Topology, mirror: MirrorRef) -> MirrorEngine:
        """The engine that the file gives a mirror. Raises `DcctlError` where that cannot run it."""
        name = mirror.of(topology).engine
        found = next((engine for engine in self.engines if engine.name == name), None)
        if found is None:
            raise DcctlError(f"mirror {mirror}", f"its engine {name} cannot be used in a move")
        if refusal := found.why_not(topology, mirror):
            raise DcctlError(f"mirror {mirror}", refusal)
        return found
