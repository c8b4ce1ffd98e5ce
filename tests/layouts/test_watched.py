"""What watchers tell of real servers that are killed and started, beside what the servers' own logs say."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path

import pytest

from orchestrator.runs.live.coordination import coordination_connection
from orchestrator.simulation.bring_up import simulation_up
from orchestrator.simulation.estate import Server
from orchestrator.simulation.running import Simulation
from orchestrator.topology.loading import load_topology
from orchestrator.watch.cluster_status import cluster_status
from orchestrator.watch.within_cluster.said import WatcherSaid
from orchestrator.watch.within_cluster.story import Event, Moment
from orchestrator.watch.within_cluster.told import watched_rows, words_of
from tests.layouts.test_evacuated import awaited
from tests.watch.readings import readings_kept

ROOT = Path(__file__).parents[2]
_WITHIN_S = 120.0
_DIFFERENCE_S = 1.0
_ELECTED = "successfully elected as the controller"
_TIME = re.compile(r"^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3})Z ")

pytestmark = [pytest.mark.drills, pytest.mark.timeout(600), pytest.mark.usefixtures("own_state")]


@pytest.mark.parametrize("layout", ["one-location", "stretched-2.5dc", "stretched-2.5dc-kraft"])
def test_events_are_at_the_times_of_the_servers_logs(layout: str) -> None:
    """A broker that leads, the active controller, and a voter, one after the other, each killed and started."""
    topology = load_topology(ROOT / "topologies" / f"{layout}.yaml")
    simulation = simulation_up(topology)
    try:
        estate = _Estate(simulation)
        estate.await_well()
        for server in _chosen(estate):
            estate.kill_and_start(server)
        estate.show()
        assert estate.wrong == []
        _is_told_everywhere(simulation)
    finally:
        simulation.down()


def _is_told_everywhere(simulation: Simulation) -> None:
    """In status, in history, and in the files at each watcher's host."""
    status = cluster_status(simulation.topology, *simulation.topology.clusters)
    assert [row["problem"] for row in status["watchers"]] == [""] * len(status["watchers"])
    kinds = {"broker-down", "broker-fenced", "voter-down", "controller-moved", "leaders-moved", "not-in-sync"}
    assert {event["kind"] for event in status["events"]} >= kinds
    rows = watched_rows(simulation.topology)
    assert {row["watched"]["kind"] for row in rows} >= kinds
    assert all(row["watched"]["goes_on"] is False for row in rows)
    for row in status["watchers"]:
        kept = readings_kept(simulation.site(row["site"]).files.place("watch/readings"))
        assert max(one["not_led"] or 0 for one in kept) > 0
        assert any(one["partitions"] for one in kept)


class _Estate:
    """A simulation, its watchers, and how far events are from what logs say. `wrong`: those too far."""

    def __init__(self, simulation: Simulation) -> None:
        self.simulation = simulation
        (self.cluster,) = simulation.topology.clusters
        estate = simulation.estate
        self.brokers = {node.node_id: node for node in estate.brokers_of(self.cluster)}
        self.voters: list[Server] = [
            *estate.zookeepers_of(self.cluster),
            *estate.controllers_of(self.cluster),
        ]
        # No broker names the ZooKeeper server of a site without brokers.
        sites = {broker.dc for broker in self.brokers.values()}
        zookeepers = {one.program for one in estate.zookeepers_of(self.cluster) if one.dc not in sites}
        self.told = [voter for voter in self.voters if voter.program not in zookeepers]
        self.is_kraft = not estate.zookeepers_of(self.cluster)
        self.killing, self.started_s = (0.0, 0.0), 0.0
        self.rows: list[tuple[str, str, float]] = []
        self.wrong: list[str] = []

    def said(self) -> dict[str, WatcherSaid]:
        """The newest word of each watcher, by its site."""
        coordination = coordination_connection(self.simulation.topology)
        coordination.open()
        try:
            found = words_of(coordination, self.simulation.topology.name, self.cluster)
        finally:
            coordination.close()
        return {site: one for site, one in found.items() if one is not None}

    def is_well(self) -> bool:
        """Whether each watcher has seen everybody up, and nothing goes on."""
        sites = {broker.dc for broker in self.brokers.values()}
        said = self.said()
        return said.keys() == sites and all(
            not one.going_on
            and one.seen.not_in_sync == 0
            and time.time() - one.seen.at_s < 3
            and len(one.seen.voters) == len(self.voters)
            and False not in one.seen.voters.values()
            and sum(map(bool, one.seen.voters.values())) >= len(self.told)
            and len(one.seen.registered) == len(self.brokers)
            and one.seen.controller
            for one in said.values()
        )

    def await_well(self) -> None:
        """Until `is_well`; what watchers say otherwise is in the failure."""
        try:
            awaited(self.is_well, _WITHIN_S)
        except AssertionError:
            raise AssertionError(f"not well by what watchers say: {self.said()}") from None

    def kill_and_start(self, server: Server) -> None:
        """One server; then what each watcher has told since is compared."""
        site, number = self.simulation.site(server.dc), _number(server)
        is_broker = number in self.brokers and self.brokers[number].program == server.program
        led = {one.seen.leads.get(str(number), 0) for one in self.said().values()}
        was_controller = {one.seen.controller for one in self.said().values()}
        killed_s = time.time()
        site.kill([server.program])
        self.killing = killed_s, time.time()
        self._await(lambda said: _is_noticed(said, server, is_broker), server)
        if is_broker:
            self._await(lambda said: any(e.kind == "broker-fenced" for e in said.going_on), server)
        time.sleep(3.0)
        self.started_s = time.time()
        site.start([server.program])
        self.await_well()
        for at, said in self.said().items():
            events = [event for event in (*said.ended, *said.going_on) if event.begun.by_s > killed_s]
            where = f"{server.dc}/{server.program} by {at}"
            if is_broker:
                self._compare_broker(where, events, number, killed_s, leads=max(led) > 0)
            if server in self.voters:
                down = _the(events, "voter-down", _name_of(server, self.is_kraft))
                self._killed(where, "voter down", down)
            if was_controller & {f"broker {number}", f"controller {number}"} and (is_broker or self.is_kraft):
                self._compare_controller(where, events, killed_s)

    def _compare_broker(
        self, where: str, events: list[Event], number: int, killed_s: float, *, leads: bool
    ) -> None:
        broker = f"broker {number}"
        down, fenced = _the(events, "broker-down", broker), _the(events, "broker-fenced", broker)
        behind, moved = _the(events, "not-in-sync", broker), _the(events, "leaders-moved", "cluster")
        self._killed(where, "broker down", down)
        self._held(where, "broker takes connections", down and down.ended, self._started(number, killed_s))
        # In ZooKeeper mode a controller's own session tells its successor; no other controller logs its end.
        elected_s = None if self.is_kraft else self._first(_ELECTED, killed_s)
        self._held(where, "fenced", fenced and fenced.begun, self._fenced(number, killed_s) or elected_s)
        self._held(where, "not fenced any more", fenced and fenced.ended, self._registered(number, killed_s))
        self._held(where, "in sync again", behind and behind.ended, self._in_sync(number, killed_s))
        if leads:
            led_s = self._led(number, killed_s)
            self._held(where, "led anew", moved and moved.ended, led_s)
            if moved is not None and led_s is not None:
                self._note(where, "nobody led them for", moved.not_led_s, led_s - self.killing[1])

    def _compare_controller(self, where: str, events: list[Event], killed_s: float) -> None:
        moved = _the(events, "controller-moved", "cluster")
        what = r"Completed transition to Leader\(" if self.is_kraft else _ELECTED
        self._killed(where, "controller gone", moved)
        self._held(where, "controller moved", moved and moved.ended, self._first(what, killed_s))

    def _started(self, number: int, since_s: float) -> float | None:
        """The last of its listeners: where it is a controller as well, that one comes first."""
        program = self.brokers[number].program
        return max(self._times("Awaiting socket connections on", since_s, [program]), default=None)

    def _fenced(self, number: int, since_s: float) -> float | None:
        if self.is_kraft:
            what = rf"BrokerRegistrationChangeRecord\(brokerId={number},.*\bfenced=1\b"
            return self._first(what, since_s, *self._others(number))
        return self._first(
            rf"\[Controller id=\d+\] Newly added brokers: , deleted brokers: {number},", since_s
        )

    def _registered(self, number: int, since_s: float) -> float | None:
        if self.is_kraft:
            what = rf"BrokerRegistrationChangeRecord\(brokerId={number},.*\bfenced=-1\b"
            return self._first(what, since_s, *self._others(number))
        return self._first(rf"\[Controller id=\d+\] Newly added brokers: {number}, deleted", since_s)

    def _in_sync(self, number: int, since_s: float) -> float | None:
        found = list(self._times(rf"ISR updated to (\d+,)*{number}\b", since_s))
        return max(found, default=None)

    def _led(self, number: int, since_s: float) -> float | None:
        """The last of those that broker led is led by another one. As it comes back leaders are told once more."""
        what = r"Leader \S+ with topic id .* starts at leader epoch"
        found = self._times(what, since_s, self._others(number))
        return max((at_s for at_s in found if at_s < self.started_s), default=None)

    def _others(self, number: int) -> list[str]:
        """All but one broker, which reads old metadata once more as it starts, and logs it."""
        every = {server.program for server in (*self.voters, *self.brokers.values())}
        return sorted(every - {self.brokers[number].program})

    def _first(self, what: str, since_s: float, *programs: str) -> float | None:
        return min(self._times(what, since_s, programs), default=None)

    def _times(self, what: str, since_s: float, programs: Iterable[str] = ()) -> Iterable[float]:
        """When the servers' logs say something, in Unix time."""
        wanted, pattern = set(programs), re.compile(what)
        for file in self.simulation.folder.glob("sites/*/*/logs/kafka.log"):
            if wanted and file.parts[-3] not in wanted:
                continue
            for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
                if (time_ := _TIME.match(line)) and pattern.search(line):
                    at_s = datetime.fromisoformat(time_[1] + "+00:00").timestamp()
                    if at_s > since_s:
                        yield at_s

    def _await(self, holds: Callable[[WatcherSaid], bool], server: Server) -> None:
        try:
            awaited(lambda: all(map(holds, self.said().values())), 60.0)
        except AssertionError:
            raise AssertionError(f"{server.program} is not told of: {self.said()}") from None

    def _killed(self, where: str, what: str, event: Event | None) -> None:
        """Beside the time that the killing took: nothing logs when it happened."""
        begun_s, ended_s = self.killing
        told_s = event and event.begun.by_s
        self._note(where, what, told_s, told_s and min(max(told_s, begun_s), ended_s))

    def _held(self, where: str, what: str, told: Moment | None, logged_s: float | None) -> None:
        self._note(where, what, told and told.by_s, logged_s)

    def _note(self, where: str, what: str, told_s: float | None, logged_s: float | None) -> None:
        if told_s is None or logged_s is None:
            self.wrong.append(f"{where}: {what}: told {told_s}, logged {logged_s}")
            return
        self.rows.append((where, what, told_s - logged_s))
        if abs(told_s - logged_s) > _DIFFERENCE_S:
            self.wrong.append(f"{where}: {what}: told {told_s - logged_s:+.2f} s beside the logs")

    def show(self) -> None:
        """All differences."""
        for where, what, difference_s in self.rows:
            print(f"{where}: {what}: {difference_s:+.2f} s beside the log", file=sys.__stderr__)


def _chosen(estate: _Estate) -> list[Server]:
    """A broker that leads and is not the controller, whoever is that, and a voter that is neither."""
    (one, *_) = estate.said().values()
    (controller,) = re.findall(r"\d+", one.seen.controller)
    leading = [number for number in estate.brokers if one.seen.leads.get(str(number))]
    broker = next(number for number in leading if number != int(controller))
    chosen: list[Server] = [estate.brokers[broker]]
    active: list[Server] = (
        [s for s in estate.voters if _number(s) == int(controller)] if estate.is_kraft else []
    )
    chosen += active or [estate.brokers[int(controller)]]
    others = [s for s in estate.told if s.program not in {known.program for known in chosen}]
    return [*chosen, others[-1]]


def _number(server: Server) -> int:
    return int(server.program.rpartition("-")[2])


def _name_of(server: Server, is_kraft: bool) -> str:
    return f"{'controller' if is_kraft else 'zookeeper'} {_number(server)}"


def _is_noticed(said: WatcherSaid, server: Server, is_broker: bool) -> bool:
    kinds = {(event.kind, event.subject.rpartition(" ")[2]) for event in said.going_on}
    return (("broker-down" if is_broker else "voter-down"), str(_number(server))) in kinds


def _the(events: Iterable[Event], kind: str, subject: str) -> Event | None:
    return next((event for event in events if (event.kind, event.subject) == (kind, subject)), None)
