"""A toy kind of application: tallies, which count records, and whose positions lie in a dictionary of their own.

No host runs them, no cluster keeps their positions, and no access rule of the file is theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic.dataclasses import dataclass as checked_dataclass

from orchestrator.errors import DcctlError
from orchestrator.moves.foretold import Foretold
from orchestrator.moves.participants import Ground, Left, Ports, Reread
from orchestrator.moves.ports import Looks
from orchestrator.moves.results import (
    TRANSLATIONS,
    GroupOffsets,
    MirrorEnd,
    RecordedPositions,
    Stopped,
    TopicEnds,
    TranslatedPositions,
)
from orchestrator.moves.situation import Situation
from orchestrator.moves.way import Place, Route, Way
from orchestrator.ports.clock import Clock
from orchestrator.replication.positions_back import reverse_mirror
from orchestrator.runs.acting import World
from orchestrator.runs.effect import (
    EFFECT_CONFIG,
    Done,
    Effect,
    Failed,
    Handle,
    Held,
    Look,
    Nothing,
    Outcome,
    Reversible,
    Running,
    Unknown,
    Verified,
    VerifiedUndo,
)
from orchestrator.runs.estate_record import Body, DenialLifted
from orchestrator.runs.plan import GateResult
from orchestrator.runs.ports import EstateRecord
from orchestrator.runs.runbook import After, Runbook, behind
from orchestrator.topology.model import Topology
from orchestrator.values import TopicPartition
from tests.twin.clusters import TwinCluster
from tests.twin.record import Record

Positions = dict[TopicPartition, int]


@dataclass
class Tallies:
    """The port: where each tally runs, and the dictionary of positions, by tally and cluster.

    `counted`: values by tally; `at_most`: records of a partition that a slow one takes in a round; `rounds`:
    looks of a tally that was started at a cluster. `problems`: what must never be.
    """

    topology: Topology
    clusters: Mapping[str, TwinCluster]
    record: Record
    topics: Mapping[str, tuple[str, ...]]
    at_most: Mapping[str, int] = field(default_factory=dict)
    running: set[tuple[str, str]] = field(default_factory=set)
    positions: dict[tuple[str, str], Positions] = field(default_factory=dict)
    counted: dict[str, set[bytes]] = field(default_factory=dict)
    rounds: dict[tuple[str, str], int] = field(default_factory=dict)
    replaced: dict[tuple[str, str, str], Positions | None] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def start(self, names: Iterable[str], cluster: str) -> None:
        """Those that run already are left alone."""
        for name in names:
            if (name, cluster) not in self.running:
                self.rounds[name, cluster] = 0
                self._do("start tally", name, cluster, lambda at=(name, cluster): self.running.add(at))

    def stop(self, names: Iterable[str], cluster: str) -> None:
        """Those that do not run are left alone."""
        for name in names:
            if (name, cluster) in self.running:
                self._do("stop tally", name, cluster, lambda at=(name, cluster): self.running.discard(at))

    def run_at(self, names: Iterable[str], cluster: str) -> list[str]:
        """Those of them that run there."""
        return [name for name in names if (name, cluster) in self.running]

    def place(self, run_id: str, name: str, cluster: str, positions: Positions) -> None:
        """Put positions in; what was there before this run is kept."""
        key = (name, cluster)

        def put() -> None:
            self.replaced.setdefault((run_id, *key), self.positions.get(key))
            self.positions[key] = dict(positions)

        self._do("place tally", name, cluster, put)

    def put_back(self, run_id: str, name: str, cluster: str) -> None:
        """What was there before this run, if it has placed anything."""
        if (run_id, name, cluster) not in self.replaced:
            return

        def put() -> None:
            before = self.replaced.pop((run_id, name, cluster))
            if before is None:
                self.positions.pop((name, cluster))
            else:
                self.positions[name, cluster] = before

        self._do("put back tally", name, cluster, put)

    def read_at(self, name: str, cluster: str) -> list[str]:
        """What it reads at a cluster: its topics there, and copies of those of other clusters."""
        own, found = self.topics[name], list(self.topics[name])
        for mirror in self.topology.replication:
            for one in (mirror, reverse_mirror(mirror)):
                if one.target == cluster:
                    found += [one.mirrored_topic(topic) for topic in one.topics if topic in own]
        return [topic for topic in dict.fromkeys(found) if topic in self.clusters[cluster].topics]

    def live(self) -> None:
        """All that run, where their cluster is there, count what is new."""
        at_work = [(name, at) for name, at in sorted(self.running) if self.clusters[at].lets_in]
        for name, at in at_work:
            if sum(other == name for other, _ in at_work) > 1:
                self.problems.append(f"{name} works at two places")
            self._count(name, at)

    def _count(self, name: str, at: str) -> None:
        cluster, known = self.clusters[at], self.positions.setdefault((name, at), {})
        self.rounds[name, at] = self.rounds.get((name, at), 0) + 1
        for tp in cluster.partitions(self.read_at(name, at)):
            log = cluster.log(tp)
            if log is None or not cluster.is_led(log):
                continue
            # What nobody has given a position begins at the end.
            begin = max(log.start, known.get(tp, log.readable_end))
            end = min(log.readable_end, begin + self.at_most.get(name, log.readable_end))
            values = [r.value for r in log.records[begin:end] if r is not None]
            self.counted.setdefault(name, set()).update(value for value in values if value is not None)
            known[tp] = max(begin, end)

    def passed_over(self, name: str, at: str) -> int:
        """Records before its positions at a cluster that it has never counted, there or elsewhere."""
        values = {
            record.value
            for tp, end in self.positions[name, at].items()
            if (log := self.clusters[at].log(tp)) is not None
            for record in log.records[log.start : end]
            if record is not None and record.value is not None
        }
        return len(values - self.counted.get(name, set()))

    def _do(self, verb: str, name: str, cluster: str, effect: Callable[[], object]) -> None:
        self.record.do(verb, cluster, name, effect, failed=lambda why: DcctlError(f"tally {name}", why))


@checked_dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class StopTallies(
    Verified[Stopped],
    Reversible,
    VerifiedUndo,
    Effect[Stopped],
    name="toy-stop-tallies",
    phase="fence",
):
    """They count nothing there any more. `are_astray`: they work elsewhere, and should not run there at all."""

    names: tuple[str, ...]
    cluster: str
    are_astray: bool = False

    @property
    def title(self) -> str:
        return f"Stop the tallies {', '.join(self.names)} at {self.cluster}"

    def holds(self) -> Iterable[Held]:
        return () if self.are_astray else _stopped(self.names)

    def perform(self, run: Running) -> Outcome[Stopped]:
        run.port(Tallies).stop(self.names, self.cluster)
        return Done(Stopped(clients=self.names))

    def verify(self, run: Running) -> Outcome[Stopped]:
        still = run.port(Tallies).run_at(self.names, self.cluster)
        return (
            Failed(f"still run: {', '.join(still)}")
            if still
            else Done(Stopped(clients=self.names), "stopped")
        )

    def undo(self, run: Running) -> Outcome[Nothing]:
        run.port(Tallies).start(self.names, self.cluster)
        return Done(Nothing())

    def verify_undone(self, run: Running) -> Outcome[Nothing]:
        do_run = run.port(Tallies).run_at(self.names, self.cluster)
        return Done(Nothing()) if len(do_run) == len(self.names) else Failed("not all of them run")


@checked_dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class RecordTallies(Look[RecordedPositions], name="toy-record-tallies", phase="translate"):
    """Where they stood, out of the dictionary."""

    names: tuple[str, ...]
    cluster: str

    @property
    def title(self) -> str:
        return f"Record where the tallies {', '.join(self.names)} stood at {self.cluster}"

    def perform(self, run: Running) -> Outcome[RecordedPositions]:
        tallies, now_s = run.port(Tallies), run.port(Clock).now_s()
        if tallies.run_at(self.names, self.cluster):
            tallies.problems.append("positions are recorded of tallies that run")
        found = {name: dict(tallies.positions[name, self.cluster]) for name in self.names}
        return Done(RecordedPositions(positions=found, at_s=dict.fromkeys(self.names, now_s)))


@checked_dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class Placed(TranslatedPositions):
    """Where each tally goes on."""

    positions: GroupOffsets


@checked_dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class PlaceTallies(
    Verified[Placed],
    Reversible,
    VerifiedUndo,
    Effect[Placed],
    name="toy-place-tallies",
    phase="translate",
):
    """Positions at the other side: the same offsets, and none beyond the end of a copy.

    `recorded`: where they stood; None where the dictionary still says it, of a place that is gone.
    """

    names: tuple[str, ...]
    left: str
    entered: str
    routes: tuple[Route, ...]
    ends: tuple[Handle[MirrorEnd], ...]
    landing: Handle[TopicEnds]
    recorded: Handle[RecordedPositions] | None

    @property
    def title(self) -> str:
        return f"Place the tallies {', '.join(self.names)} at {self.entered}"

    def perform(self, run: Running) -> Outcome[Placed]:
        tallies, placed = run.port(Tallies), self._placed(run)
        for name, positions in placed.positions.items():
            if tallies.run_at([name], self.entered):
                tallies.problems.append(f"{name} is placed at {self.entered}, where it runs")
            tallies.place(run.run_id, name, self.entered, positions)
        return Done(placed)

    def verify(self, run: Running) -> Outcome[Placed]:
        placed, known = self._placed(run), run.port(Tallies)
        otherwise = [n for n, p in placed.positions.items() if known.positions.get((n, self.entered)) != p]
        return Failed(f"not placed: {', '.join(otherwise)}") if otherwise else Done(placed, "placed")

    def undo(self, run: Running) -> Outcome[Nothing]:
        for name in self.names:
            run.port(Tallies).put_back(run.run_id, name, self.entered)
        return Done(Nothing())

    def verify_undone(self, run: Running) -> Outcome[Nothing]:
        replaced = run.port(Tallies).replaced
        left = [name for name in self.names if (run.run_id, name, self.entered) in replaced]
        return Failed(f"still placed: {', '.join(left)}") if left else Done(Nothing(), "as before")

    def _placed(self, run: Running) -> Placed:
        topology, tallies = run.port(Topology), run.port(Tallies)
        ends = {tp: end for handle in self.ends for tp, end in run.of(handle).ends.items()}
        stood = {name: tallies.positions[name, self.left] for name in self.names}
        if self.recorded is not None:
            stood = run.of(self.recorded).positions
        found: GroupOffsets = {}
        rows = []
        for name in self.names:
            there = {
                tp: at for tp, at in run.of(self.landing).now.items() if tp.topic in tallies.topics[name]
            }
            for tp, at in stood[name].items():
                for route in self.routes:
                    counterpart = _along(topology, route, tp)
                    if counterpart is not None:
                        there[counterpart] = min(at, ends.get(counterpart, at))
                        row = {"group": name, "source": self.left, "exact": True, "reason": ""}
                        row |= {"topic": tp.topic, "partition": tp.partition, "position_age_s": 0.0}
                        row |= {"target_topic": counterpart.topic}
                        rows.append(row | {"source_offset": at, "target_offset": there[counterpart]})
            found[name] = there
        return Placed(positions=found, translations=rows, landing={})


@checked_dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class StartTallies(
    Effect[Nothing],
    name="toy-start-tallies",
    phase="redirect",
    irreversible="what they have counted there is counted",
):
    """They count there at once, and it is recorded that nothing is to keep them from what they read."""

    names: tuple[str, ...]
    cluster: str

    @property
    def title(self) -> str:
        return f"Start the tallies {', '.join(self.names)} at {self.cluster}"

    def frees(self) -> Iterable[Held]:
        return _stopped(self.names)

    def perform(self, run: Running) -> Outcome[Nothing]:
        for fact in self._allow_at_target:
            run.port(EstateRecord).write(fact)
        run.port(Tallies).start(self.names, self.cluster)
        return Done(Nothing())

    def facts(self, result: Nothing) -> Iterable[Body]:
        return self._allow_at_target

    @property
    def _allow_at_target(self) -> tuple[DenialLifted, ...]:
        return tuple(DenialLifted(cluster=self.cluster, topics=((self.cluster, n),)) for n in self.names)


@checked_dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class SeeTallies(Look[Nothing], name="toy-see-tallies", phase="verify", timeout_s=10.0):
    """Each has looked for records there since it was started."""

    names: tuple[str, ...]
    cluster: str
    started: Handle[Nothing]

    @property
    def title(self) -> str:
        return f"See the tallies {', '.join(self.names)} count at {self.cluster}"

    def perform(self, run: Running) -> Outcome[Nothing]:
        tallies = run.port(Tallies)

        def not_seen() -> list[str]:
            return [name for name in self.names if not tallies.rounds.get((name, self.cluster))]

        if run.await_true(lambda: not not_seen(), run.timeout_s):
            return Done(Nothing(), "all of them count")
        return Unknown(f"not seen to count: {', '.join(not_seen())}", {"not_seen": not_seen()})


class ToyApplications:
    """See `moves.participants.Kind`: tallies, by the cluster at home."""

    name = "tally"
    writes = False
    effects: Sequence[type[Effect[Any]]] = (
        PlaceTallies,
        RecordTallies,
        SeeTallies,
        StartTallies,
        StopTallies,
    )

    def __init__(self, tallies: Tallies, home: Mapping[str, tuple[str, ...]]) -> None:
        self._tallies, self._home = tallies, home

    def ports(self, world: World) -> Ports:
        return {Tallies: self._tallies}

    def at(self, topology: Topology, cluster: str) -> tuple[str, ...]:
        return self._home.get(cluster, ())

    def programs(self, topology: Topology, names: Iterable[str]) -> tuple[str, ...]:
        return ()

    def look(self, looks: Looks, way: Way) -> dict[str, int]:
        """How many positions each has where it works."""
        known = self._tallies.positions
        return {name: len(known.get((name, way.left.cluster), {})) for name in way.named(self.name)}

    def gates(self, s: Situation) -> tuple[GateResult, ...]:
        counts = s.seen.of_kind(self.name).value or {}
        without = [name for name, count in counts.items() if not count]
        return (
            GateResult(
                id="tallies-placed",
                outcome="refused" if without else "ok",
                measured=f"{sum(counts.values())} positions",
                limit="each tally has positions where it works",
                reason=f"without: {', '.join(without)}" if without else "each has",
            ),
        )

    def reread(self, s: Situation) -> Reread:
        return {name: {"map": 0, "position_age": 0, "at_most": 0} for name in s.way.named(self.name)}

    def foretold(self, s: Situation) -> Mapping[str, Foretold]:
        return {}

    def facts(self, s: Situation) -> Mapping[str, Any]:
        return {"tallies": list(s.way.named(self.name))}

    def catch_up(self, book: Runbook, way: Way, timeout_s: float) -> Handle[Nothing] | None:
        """See `Kind`."""
        return None

    def stop_unhosted(
        self, book: Runbook, way: Way, place: Place, after: Sequence[After]
    ) -> Handle[Stopped] | None:
        if not way.named(self.name):
            return None
        names, are_astray = way.named(self.name), place == way.entered
        stop = StopTallies(names=names, cluster=place.cluster, are_astray=are_astray)
        return book.add(stop, id=way.id(f"stop-tallies-at-{place.cluster}"), after=after)

    def stop(self, book: Runbook, way: Way, after: Sequence[After]) -> Handle[Stopped] | None:
        if not way.named(self.name):
            return None
        stop = StopTallies(names=way.named(self.name), cluster=way.left.cluster)
        return book.add(stop, id=way.id("stop-tallies"), after=after)

    def record(
        self, book: Runbook, way: Way, left: Left, after: Sequence[After]
    ) -> Handle[RecordedPositions] | None:
        if left.stopped is None:
            return None
        record = RecordTallies(names=way.named(self.name), cluster=way.left.cluster)
        stand = behind(left.stopped, because="who runs goes on in the dictionary")
        return book.add(record, id=way.id("record-tallies"), after=[*after, stand])

    def place(self, book: Runbook, way: Way, ground: Ground, left: Left) -> tuple[Handle[Any], ...]:
        names = way.named(self.name)
        if not names or not ground.drained or ground.landing is None:
            return ()
        place = PlaceTallies(
            names=names,
            left=way.left.cluster,
            entered=way.entered.cluster,
            routes=way.routes(names[0]),
            ends=tuple(stand.end for stand in ground.drained),
            landing=ground.landing,
            recorded=left.recorded,
        )
        placed = book.add(place, id=way.id("place-tallies"), after=ground.arrived)
        book.tell(TRANSLATIONS, placed)
        return (placed,)

    def start(
        self, book: Runbook, way: Way, ready: Sequence[Handle[Any]], after: Sequence[After]
    ) -> Handle[Nothing] | None:
        names = way.named(self.name)
        if not names:
            return None
        placed = [behind(*ready, because="who starts goes on from what was placed")] if ready else []
        start = StartTallies(names=names, cluster=way.entered.cluster)
        return book.add(start, id=way.id("start-tallies"), after=[*placed, *after])

    def see(  # noqa: PLR0917 - what is known of them
        self,
        book: Runbook,
        way: Way,
        ready: Sequence[Handle[Any]],
        started: Handle[Nothing] | None,
        ground: Ground,
        after: Sequence[After],
    ) -> Handle[Any] | None:
        if started is None:
            return None
        look = SeeTallies(names=way.named(self.name), cluster=way.entered.cluster, started=started)
        return book.add(look, id=way.id("see-tallies"), after=after)


def _along(topology: Topology, route: Route, tp: TopicPartition) -> TopicPartition | None:
    """The counterpart of a partition by a route; None where the route does not lead from its topic."""
    for leg in route:
        mirror = leg.mirror.of(topology)
        named = {name: mirror.mirrored_topic(name) for name in mirror.topics}
        if leg.is_inverse:
            named = {copy: name for name, copy in named.items()}
        if tp.topic not in named:
            return None
        tp = TopicPartition(named[tp.topic], tp.partition)
    return tp


def _stopped(names: Iterable[str]) -> Iterable[Held]:
    return (Held(f"tally {name}", "stopped") for name in names)
