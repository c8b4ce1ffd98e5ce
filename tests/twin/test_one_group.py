"""One group id at both of two active sites: who stays pauses for a moment, and keeps its own positions."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from orchestrator.errors import GateRefusedError, GateUnknownError, PlaybookError
from orchestrator.topology.model import Consumer, Topology
from orchestrator.watch.status import mirror_status
from tests.twin import test_active_sites as sites
from tests.twin import truths
from tests.twin.applications import TwinPlaybooks
from tests.twin.conftest import Estates
from tests.twin.crew import ProcessDied
from tests.twin.kafka import TwinKafka
from tests.twin.operator import Operator

PACKING = {"packing-west", "packing-east"}


def one_group(file: Topology) -> Topology:
    """The packers of both sites are one group; which of them reads what lands at a site is not said."""
    told = sites.told_apart(file)
    groups = [replace(c, group="packing") if c.name in PACKING else c for c in told.consumers]
    return replace(told, consumers=tuple(groups))


def sharing(file: Topology) -> Topology:
    """West's packers read what lands at east as well, in one group with those who are there."""
    told = one_group(file)
    return replace(
        told,
        consumers=tuple(
            replace(c, landing="read") if c.name == "packing-west" else c for c in told.consumers
        ),
    )


def packed(operator: Operator, record: tuple[str, int]) -> int:
    """How often a record was processed by the packers of both sites together."""
    ledger = operator.estate.applications.ledger.processed
    value = f"{record[0]}:{record[1]}".encode()
    return sum(ledger.get(name, {}).get(value, 0) for name in PACKING)


def assert_packed_once(operator: Operator) -> None:
    """Each acknowledged record by one of them, once."""
    sites.rest(operator)
    everything = operator.estate.applications.ledger.acknowledged
    wrong = {record: packed(operator, record) for record in everything if packed(operator, record) != 1}
    assert wrong == {}


def stood_s(operator: Operator) -> float:
    """The longest time between two commits of the packers at east."""
    commits = operator.estate.applications.ledger.committed
    times = [at for at, name, cluster in commits if (name, cluster) == ("packing-east", "east")]
    return max(b - a for a, b in pairwise(times))


@pytest.mark.parametrize("change", [one_group, sharing])
def test_a_planned_move_and_home_again_packs_every_record_once(estates: Estates, change: object) -> None:
    """Twice: the positions of who stays are not touched, and its pause is foretold and measured."""
    operator = sites.at_work(estates, change)  # type: ignore[arg-type]
    for _ in range(2):
        result = operator.switchover(to="east")
        assert result.outcome == "ok", result.reason
        assert operator.plan is not None
        (foretold,) = operator.plan.facts["pauses"]
        assert (foretold["consumer"], foretold["group"], foretold["cluster"]) == (
            "packing-east",
            "packing",
            "east",
        )
        (pause,) = result.pauses
        assert pause["consumers"] == ("packing-east",)
        assert 0 < pause["seconds"] <= foretold["expected_s"]
        operator.estate.live(10)
        home = operator.failback(to="west")
        assert (home.outcome, home.reason, list(home.pauses)) == ("ok", "", [])
        operator.estate.live(10)
    assert stood_s(operator) <= 10
    assert_packed_once(operator)


def test_who_stays_does_not_pause_on_the_way_home(estates: Estates) -> None:
    """Its group is only asked, and not written."""
    operator = sites.at_work(estates, one_group)
    assert operator.switchover(to="east").outcome == "ok"
    operator.estate.live(5)
    began = len(operator.estate.record.done)
    assert operator.failback(to="west").outcome == "ok"
    done = operator.estate.record.done[began:]
    assert not [entry for entry in done if "packing-east" in str(entry)]
    assert not [entry for entry in done if entry[:2] == ("commit offset", "east")]


def test_a_lost_site_is_left_and_comes_home(estates: Estates) -> None:
    """Nothing is skipped, and who stays reads nothing twice."""
    operator = sites.at_work(estates, one_group)
    sites.lose_and_return(operator)
    sites.rest(operator)
    everything = operator.estate.applications.ledger.acknowledged
    assert [record for record in everything if not packed(operator, record)] == []
    assert truths.processed_twice(operator.estate, ["packing-east"]) == {"packing-east": 0}


def test_whom_no_host_runs_refuses_the_move_by_name(estates: Estates) -> None:
    """Before anything is done: nobody could make it stand."""
    operator = sites.at_work(estates, one_group)
    operator.estate.applications.clients.pop(("east", "consumer-packing-east"))
    began = len(operator.estate.record.done)
    with pytest.raises(
        GateRefusedError,
        match=r"packing-east \(group packing\) cannot be stopped for the move: no host would run",
    ):
        operator.switchover(to="east")
    assert operator.estate.record.done[began:] == []


def test_hosts_that_cannot_be_listed_leave_it_open(estates: Estates, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody knows whether they can be stopped."""

    def silent(_self: object, _inventory: Path) -> None:
        raise PlaybookError("inventory", "ansible-inventory cannot be run")

    operator = sites.at_work(estates, one_group)
    monkeypatch.setattr(TwinPlaybooks, "hosts", silent)
    with pytest.raises(GateUnknownError, match=r"groups-apart unknown: packing-east \(group packing\)"):
        operator.switchover(to="east")


def test_who_does_not_work_is_not_started(estates: Estates) -> None:
    """Somebody has stopped it: there is no pause."""
    operator = sites.at_work(estates, one_group)
    east = operator.estate.applications
    east.set_running(east.clients["east", "consumer-packing-east"], False, operator.estate.crew.now_s)
    result = operator.switchover(to="east")
    assert result.outcome == "ok"
    (pause,) = result.pauses
    assert (pause["consumers"], pause["seconds"]) == ((), 0.0)
    assert not east.clients["east", "consumer-packing-east"].is_running


def test_a_member_that_nobody_knows_is_told_and_all_is_taken_back(estates: Estates) -> None:
    """Who stays stands as long as that takes to see, and goes on; west works as before."""
    operator = sites.at_work(estates, one_group)
    operator.estate.clusters["east"].group("packing").members["by hand"] = ()
    result = operator.switchover(to="east")
    assert result.outcome == "undone"
    assert "groups that still have members at east" in result.reason
    assert "packing-east (group packing) (1)" in result.reason
    operator.estate.live(10)
    sites.assert_sound(operator, "west")
    assert_packed_once(operator)


def test_what_is_taken_back_leaves_the_positions_of_who_stays(estates: Estates) -> None:
    """Also where they have gone on for a while."""
    operator = sites.at_work(estates, one_group)
    operator.estate.record.harm_where(lambda entry: "primary: {" in str(entry), "dies after")
    with pytest.raises(ProcessDied):
        operator.switchover(to="east")
    operator.estate.record.heal()
    operator.estate.restart_dcctl()
    operator.estate.live(5)
    assert operator.abort().outcome == "undone"
    operator.estate.live(5)
    assert_packed_once(operator)


def test_a_run_that_dies_meanwhile_says_who_stands(estates: Estates) -> None:
    """Whoever looks sees it, and nothing of it once they have been started again."""
    operator = sites.at_work(estates, one_group)
    operator.estate.record.harm_where(lambda entry: entry.verb == "commit offset", "dies after")
    with pytest.raises(ProcessDied):
        operator.switchover(to="east")
    operator.estate.record.heal()
    operator.estate.restart_dcctl()
    estate = operator.estate
    mirror = estate.topology.replication[0]

    told = mirror_status(estate.topology, mirror, servers=estate.servers)["last_move"]["where_now"]
    # Five of west, and packing-east.
    assert "producer-shop-west, consumer-packing-west, consumer-reporting and 3 more stopped" in told
    assert operator.abort().outcome == "undone"
    assert mirror_status(estate.topology, mirror, servers=estate.servers)["last_move"] is None


def test_two_that_read_one_topic_there_are_refused(estates: Estates) -> None:
    """One position would serve both, and each would miss what the other one reads."""

    def both(file: Topology) -> Topology:
        told = one_group(file)
        return replace(
            told,
            consumers=tuple(
                replace(c, topics=("orders", "west.orders"), landing=None)
                if isinstance(c, Consumer) and c.name == "packing-east"
                else c
                for c in told.consumers
            ),
        )

    operator = sites.at_work(estates, both)
    with pytest.raises(
        GateRefusedError,
        match=r"packing-west and packing-east read west\.orders as group packing",
    ):
        operator.switchover(to="east")


def test_who_cannot_stand_once_more_goes_on_before_that_is_told(estates: Estates) -> None:
    """Somebody else has joined since: nothing can be taken back, and that stops nobody who stays."""
    operator = sites.at_work(estates, one_group)
    operator.estate.record.harm_where(lambda entry: "primary: {" in str(entry), "dies after")
    with pytest.raises(ProcessDied):
        operator.switchover(to="east")
    operator.estate.record.heal()
    operator.estate.restart_dcctl()
    operator.estate.live(5)
    members = operator.estate.clusters["east"].group("packing").members
    members["by hand"] = ()
    for _ in range(2):
        result = operator.abort()
        assert result.outcome == "incomplete"
        assert "undoing resume-members failed: groups that still have members at east" in result.reason
        assert operator.estate.applications.clients["east", "consumer-packing-east"].is_running
        operator.estate.live(5)
    members.pop("by hand")
    assert operator.abort().outcome == "undone"
    assert_packed_once(operator)


@pytest.mark.parametrize("how", ["switchover", "failover"])
def test_who_moves_and_works_there_already_is_refused_by_name(estates: Estates, how: str) -> None:
    """Members of the one group are not all of those who pause: its topics are read."""
    operator = sites.at_work(estates, one_group)
    there = operator.estate.applications
    there.set_running(there.clients["east", "consumer-packing-west"], True, operator.estate.crew.now_s)
    operator.estate.live(3)
    if how == "failover":
        operator.estate.lose("west")
        operator.estate.live(5)
    with pytest.raises(
        GateRefusedError,
        match=r"groups with members at east: packing-west \(group packing\), whose topics are read there",
    ):
        getattr(operator, how)(to="east")


def test_who_does_not_work_is_not_started_for_a_member_that_nobody_knows(estates: Estates) -> None:
    """A group's members do not tell who of them works."""
    operator = sites.at_work(estates, one_group)
    there = operator.estate.applications
    packer = there.clients["east", "consumer-packing-east"]
    there.set_running(packer, False, operator.estate.crew.now_s)
    operator.estate.clusters["east"].group("packing").members["by hand"] = ()
    result = operator.switchover(to="east")
    assert result.outcome == "undone"
    assert "groups that still have members at east" in result.reason
    assert not packer.is_running


def test_while_a_group_is_divided_nobody_knows_who_reads(
    estates: Estates, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who moves might be among those who are there."""
    operator = sites.at_work(estates, one_group)
    monkeypatch.setattr(TwinKafka, "group_assignments", lambda *_: {"packing": None})
    with pytest.raises(GateUnknownError, match=r"groups-idle unknown: groups at east divide their topics"):
        operator.switchover(to="east")
