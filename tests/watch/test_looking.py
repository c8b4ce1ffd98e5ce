"""Whom a watcher of one cluster asks, and what it makes of ports, quorum and ensemble."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import pytest

from orchestrator.errors import ClusterError, DcctlError
from orchestrator.ports.admin_values import Quorum, Voter
from orchestrator.ports.hosts import Listening
from orchestrator.ports.servers import rack_as_site
from orchestrator.ports.told_metadata import BrokerTold, MetadataTold, PartitionTold
from orchestrator.topology.kinds import Metadata
from orchestrator.values import TopicPartition
from orchestrator.watch.within_cluster.looking import ANSWER_WITHIN_S, PROBE_TIMEOUT_S, Looking
from orchestrator.watch.within_cluster.reading import ServerSeen
from orchestrator.watch.within_cluster.watcher import next_due

NUMBERS = (1, 2, 3)
ORDERS = TopicPartition("orders", 0)


def at(number: int) -> str:
    """Where a broker listens."""
    return f"broker-{number}:9092"


@dataclass
class Cluster:
    """Three brokers that tell, hang or refuse; and what stands beside them."""

    gone: set[int] = field(default_factory=set)
    hanging: set[int] = field(default_factory=set)
    isr: tuple[int, ...] = NUMBERS
    controller: int = 1
    knows_leader: bool = True
    fetched_ago_s: dict[int, float | None] = field(default_factory=dict)
    voter_addresses: dict[int, str] = field(default_factory=dict)
    refused: set[str] = field(default_factory=set)
    modes: dict[int, str | None] = field(default_factory=dict)
    ensemble_fails: bool = False
    unresolved: set[str] = field(default_factory=set)
    reading_takes_s: float = 0.0
    eligible_hangs: bool = False
    asked: list[str] = field(default_factory=list)
    end: threading.Event = field(default_factory=threading.Event)

    def _reached(self, address: str) -> None:
        number = int(address.partition(":")[0].rpartition("-")[2])
        if number in self.hanging:
            self.end.wait(5)
        if number in self.gone | self.hanging:
            raise ClusterError("cluster main", f"{address}: no answer")

    def metadata(self, address: str) -> MetadataTold:
        self.asked.append(address)
        self._reached(address)
        time.sleep(self.reading_takes_s)
        living = {number: BrokerTold(at(number), f"dc{number}") for number in NUMBERS}
        told = {ORDERS: PartitionTold(self.isr[0], 0, NUMBERS, self.isr)}
        return MetadataTold("id", self.controller, living, told)

    def quorum(self, address: str) -> Quorum:
        self._reached(address)
        if not self.knows_leader:
            raise ClusterError("cluster main", "no leader", code="LEADER_NOT_AVAILABLE")
        ages = {101: 0.0, 102: 0.1, **dict.fromkeys(NUMBERS, 0.2), **self.fetched_ago_s}
        rows = {n: Voter(n, 5, None if age is None else 1000.0 - age) for n, age in ages.items()}
        voters = tuple(row for n, row in rows.items() if n > 100)
        observers = tuple(row for n, row in rows.items() if n <= 100)
        endpoints = {number: (f"CONTROLLER://{at}",) for number, at in self.voter_addresses.items()}
        return Quorum(101, 5, voters, observers, endpoints, 7)

    def eligible(self, address: str, topics: Collection[str]) -> dict[TopicPartition, tuple[int, ...]]:
        self._reached(address)
        if self.eligible_hangs:
            self.end.wait(20)
        return {ORDERS: (2,)} if "orders" in topics else {}

    def close(self) -> None:
        self.end.set()

    def listening(self, addresses: Iterable[str], timeout_s: float) -> Mapping[str, Listening]:  # noqa: ARG002
        self._resolved(*addresses)
        away = self.refused | set(map(at, self.gone))
        return {address: "refused" if address in away else "yes" for address in addresses}

    def zookeepers(self) -> Mapping[int, str]:
        if self.ensemble_fails:
            raise DcctlError("ensemble", "no answer")
        return {4: "", **{number: f"zookeeper-{number}:2181" for number in self.modes}}

    def zookeeper_mode(self, address: str, timeout_s: float) -> str | None:  # noqa: ARG002
        self._resolved(address)
        return self.modes[int(address.partition(":")[0].rpartition("-")[2])]

    def _resolved(self, *addresses: str) -> None:
        for address in addresses:
            if address in self.unresolved:
                self.asked.append(address)
                self.end.wait(20)


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """All is well."""
    made = Cluster()
    yield made
    made.end.set()


def looking(cluster: Cluster, mode: Metadata = "kraft") -> Looking:
    """At that cluster, from two of its brokers."""
    return Looking(cluster, cluster, [at(1), at(2)], mode, site_of=rack_as_site)


def test_one_broker_tells_of_all(cluster: Cluster) -> None:
    """And goes on being asked as long as it answers."""
    look = looking(cluster)
    look.look()
    found = look.look()
    assert (found.told_by, found.registered, found.controller) == (1, frozenset(NUMBERS), "controller 101")
    assert found.controller_epoch == 7
    assert found.brokers == dict.fromkeys(NUMBERS, ServerSeen(True))
    assert found.sites == {1: "dc1", 2: "dc2", 3: "dc3"}
    assert cluster.asked == [at(1), at(1)]


def test_racks_of_one_location_are_no_sites(cluster: Cluster) -> None:
    """What brokers tell is a rack there."""
    look = Looking(cluster, cluster, [at(1), at(2)], "kraft", site_of=lambda _: "north")
    assert set(look.look().sites.values()) == {"north"}
    assert looking(cluster).look().sites[1] == "dc1"


def test_another_one_is_asked_where_it_hangs_or_is_gone(cluster: Cluster) -> None:
    """Within the same round; the one that hangs is not asked once more while it owes an answer."""
    look = looking(cluster)
    look.look()
    cluster.hanging = {1}
    began_s = time.monotonic()
    assert look.look().told_by == 2
    assert time.monotonic() - began_s < 2 * ANSWER_WITHIN_S
    assert look.look().told_by == 2
    assert cluster.asked.count(at(1)) == 2
    cluster.hanging, cluster.gone = set(), {2}
    found = look.look()
    assert found.told_by in {1, 3}
    assert found.brokers[2] == ServerSeen(False)


def test_nobody_answers(cluster: Cluster) -> None:
    """Then only ports are told."""
    look = looking(cluster)
    look.look()
    cluster.gone = set(NUMBERS)
    found = look.look()
    assert (found.told_by, found.has_answer, found.partitions) == (None, False, {})
    assert "no answer" in found.problem
    assert found.brokers == dict.fromkeys(NUMBERS, ServerSeen(False))


def test_one_that_follows_the_quorum_no_more_is_not_believed(cluster: Cluster) -> None:
    """It answers, and knows what it knew: from the next round on another one is asked."""
    look = looking(cluster)
    look.look()
    cluster.fetched_ago_s = {1: 9.0}
    look.look()
    assert look.look().told_by == 2


def test_without_a_quorum_there_is_no_controller(cluster: Cluster) -> None:
    """What brokers know goes on being told, and why the quorum is unknown."""
    look = looking(cluster)
    look.look()
    cluster.knows_leader = False
    found = look.look()
    assert (found.controller, found.told_by) == ("", 1)
    assert found.unasked == ("metadata quorum: no leader",)
    assert found.voters == dict.fromkeys(("controller 101", "controller 102"), ServerSeen(None))


def test_a_voter_is_down_by_its_last_fetch_where_its_port_was_never_reached(cluster: Cluster) -> None:
    """A firewall may refuse the port of one that is up."""
    cluster.voter_addresses = {101: "controller-101:9093", 102: "controller-102:9093"}
    cluster.refused = {"controller-102:9093"}
    look = looking(cluster)
    look.look()
    assert look.look().voters["controller 102"] == ServerSeen(True)
    cluster.fetched_ago_s = {102: 4.0}
    seen = look.look().voters["controller 102"]
    assert seen.is_up is False
    assert seen.down_since is not None
    assert seen.down_since[1] - seen.down_since[0] == 0.5


def test_a_voter_is_down_by_its_port_where_that_was_reached(cluster: Cluster) -> None:
    """At once, also where the quorum does not answer."""
    cluster.voter_addresses = {101: "controller-101:9093", 102: "controller-102:9093"}
    look = looking(cluster)
    for _ in range(3):
        look.look()
    cluster.refused, cluster.knows_leader = {"controller-101:9093"}, False
    found = look.look()
    assert found.voters == {"controller 101": ServerSeen(False), "controller 102": ServerSeen(True)}


def test_eligible_replicas_are_asked_for_where_one_is_out_of_sync(cluster: Cluster) -> None:
    """KIP-966; elsewhere there are none."""
    look = looking(cluster)
    assert look.look().eligible == {}
    cluster.isr = (1,)
    assert look.look().eligible == {ORDERS: (2,)}


def test_in_zookeeper_mode_the_active_controller_tells(cluster: Cluster) -> None:
    """While it takes connections it is the controller; then nobody is."""
    cluster.controller, cluster.modes = 3, {1: "leader", 2: "", 3: None}
    look = looking(cluster, "zookeeper")
    look.look()
    found = look.look()
    assert (found.told_by, found.controller) == (3, "broker 3")
    # One that serves nobody for want of a quorum is up all the same.
    assert found.voters == {
        "zookeeper 1": ServerSeen(True),
        "zookeeper 2": ServerSeen(True),
        "zookeeper 3": ServerSeen(False),
        "zookeeper 4": ServerSeen(None),
    }
    cluster.gone = {3}
    look.look()
    assert look.look().controller == ""


def test_a_name_that_is_not_resolved_makes_its_server_unknown_and_no_other(cluster: Cluster) -> None:
    """A resolver has no deadline: each name is asked for once, and nobody waits for it again."""
    cluster.controller, cluster.modes = 1, {1: "leader", 2: "follower", 3: "follower"}
    cluster.gone = {2}
    look = looking(cluster, "zookeeper")
    look.look()
    look.look()
    cluster.unresolved = {at(3), "zookeeper-2:2181", "zookeeper-3:2181"}
    found = look.look()
    began_s = time.monotonic()
    for _ in range(40):
        found = look.look()
        assert found.told_by == 1
    assert time.monotonic() - began_s < 40 * PROBE_TIMEOUT_S
    assert found.brokers == {1: ServerSeen(True), 2: ServerSeen(False), 3: ServerSeen(None)}
    assert found.voters == {
        "zookeeper 1": ServerSeen(True),
        "zookeeper 2": ServerSeen(None),
        "zookeeper 3": ServerSeen(None),
        "zookeeper 4": ServerSeen(None),
    }
    assert all(cluster.asked.count(address) == 1 for address in cluster.unresolved)


def test_brokers_whose_names_are_not_resolved_are_asked_last(cluster: Cluster) -> None:
    """A site is lost together with its names, and the one that told with it."""
    look = looking(cluster)
    look.look()
    look.look()
    cluster.hanging, cluster.unresolved = {1, 2}, {at(1), at(2)}
    look.look()
    assert look.look().told_by == 3


def test_an_answer_that_takes_long_to_read_is_waited_for(cluster: Cluster) -> None:
    """By how long the ones before took: very many partitions are no silence, and ask for no second broker."""
    cluster.reading_takes_s = 1.5 * ANSWER_WITHIN_S
    look = looking(cluster)
    look.warm_up(10)
    cluster.asked.clear()
    assert look.look().told_by == 1
    assert cluster.asked == [at(1)]


@pytest.mark.parametrize(
    ("now", "worked_s", "due"),
    [(100.1, 0.01, 100.5), (101.2, 0.01, 101.21), (100.4, 0.4, 100.8), (107.0, 6.0, 113.0)],
    ids=["at the next beat", "late by a broker that hangs", "much to read", "very much to read"],
)
def test_a_round_is_followed_by_as_much_rest_as_it_took_work(now: float, worked_s: float, due: float) -> None:
    """What it waited for others counts as none."""
    assert next_due(100.0, 0.5, now, worked_s) == pytest.approx(due)


def test_eligible_replicas_that_are_still_asked_for_are_said_to_be_unknown(cluster: Cluster) -> None:
    """None at all would be another thing."""
    cluster.isr = (1,)
    look = looking(cluster)
    cluster.eligible_hangs = True
    assert look.look().unasked == ("eligible leader replicas: no answer in time",)
    assert look.look().unasked == ("eligible leader replicas: an earlier question is not answered yet",)


def test_servers_of_an_ensemble_that_does_not_name_them_are_unknown(cluster: Cluster) -> None:
    """Nobody is said to be up."""
    cluster.modes, cluster.ensemble_fails = {1: "leader"}, True
    look = looking(cluster, "zookeeper")
    look.look()
    assert look.look().voters == {}
