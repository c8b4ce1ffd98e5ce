"""One of two active sites is left for the other one, beside those at work there, and gone back to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import pytest

from orchestrator.errors import DcctlError, GateRefusedError, GateUnknownError
from orchestrator.topology.model import Consumer, RecordMark, Topology
from tests.twin import truths
from tests.twin.applications import RATE_PER_S, Client
from tests.twin.conftest import Estates
from tests.twin.operator import Operator

TWO_SITES = "topologies/active-active.yaml"
LANDING = {"packing-west": "packing-east", "packing-east": "packing-west"}


def told_apart(file: Topology) -> Topology:
    """Each producer marks its records; one reader of west's orders wants all that is written after a move."""
    (packing, *_) = (c for c in file.consumers if c.name == "packing-west")
    readers = [
        replace(c, landing=LANDING.get(c.name)) if isinstance(c, Consumer) else c for c in file.consumers
    ]
    wanting = replace(packing, name="billing", principal="User:billing", landing="read")
    pattern = replace(packing, name="search", principal="User:search", topics=(), pattern=r"(.*\.)?orders")
    return replace(
        file,
        producers=tuple(
            replace(p, identified_by=RecordMark(header="app", value=p.name)) for p in file.producers
        ),
        consumers=(*readers, wanting, pattern),
    )


def at_work(estates: Estates, change: Callable[[Topology], Topology] = told_apart) -> Operator:
    operator = estates.at_work(TWO_SITES, change=change)
    for workers in operator.estate.workers.values():
        workers.writes_delayed_syncs = True
    operator.estate.live(2)
    return operator


def unread(operator: Operator, consumer: str) -> set[tuple[str, int]]:
    """Acknowledged records, whoever wrote them and wherever, that a consumer has never processed."""
    ledger = operator.estate.applications.ledger
    processed = {truths.named(value) for value in ledger.processed[consumer]}
    return set(ledger.acknowledged) - processed


def rest(operator: Operator) -> None:
    """Producers stop, mirrors and consumers come to their ends."""
    for client in operator.estate.applications.clients.values():
        if client.name.startswith("producer-"):
            client.rate_per_s = 0.0
    operator.estate.live(10)


def assert_sound(operator: Operator, place: str) -> None:
    """Nothing is skipped where west's applications work now, and nothing is read twice anywhere."""
    names = [consumer.name for consumer in operator.estate.topology.consumers]
    assert truths.processed_twice(operator.estate, names) == dict.fromkeys(names, 0)
    skipped = truths.skipped(operator.estate, place)
    # Who reads what others write there as well does so from the moment on at which it came.
    assert {name: records for name, records in skipped.items() if name != "billing"} == {}
    assert all(record.startswith(b"shop-east") for record in skipped.get("billing", ()))


@pytest.mark.parametrize("cycles", [1, 2])
def test_a_planned_move_and_home_again_reads_every_record_once(estates: Estates, cycles: int) -> None:
    """Who reads both sides has read each record once; who reads one has somebody who reads the rest."""
    operator = at_work(estates)
    for _ in range(cycles):
        assert operator.switchover(to="east").outcome == "ok"
        operator.estate.live(10)
        assert_sound(operator, "east")
        assert operator.failback(to="west").outcome == "ok"
        operator.estate.live(10)
        assert_sound(operator, "west")
    rest(operator)
    assert unread(operator, "reporting") == unread(operator, "search") == set()
    everybody = set(operator.estate.applications.ledger.acknowledged)
    packed = {name: everybody - unread(operator, name) for name in ("packing-west", "packing-east")}
    assert packed["packing-west"] | packed["packing-east"] == everybody
    assert packed["packing-west"] & packed["packing-east"] == set()
    # What west's producer wrote while it was at east, and what east's wrote meanwhile.
    assert unread(operator, "billing") < {record for record in everybody if record[0] == "shop-east"}


def test_who_stays_does_not_pause(estates: Estates) -> None:
    """Those of the other site write and read on while the others come and go."""
    operator = at_work(estates)
    ledger = operator.estate.applications.ledger
    assert operator.switchover(to="east").outcome == "ok"
    assert operator.failback(to="west").outcome == "ok"
    times = [at for at, producer, _ in ledger.written_at if producer == "shop-east"]
    commits = [at for at, group, cluster in ledger.committed if (group, cluster) == ("packing-east", "east")]
    assert max(b - a for a, b in pairwise(commits)) <= 1.5
    assert times


def with_a_backlog(operator: Operator) -> Client:
    """Billing is at east with what producers write there in 200 seconds unread. Returns its program there."""
    assert operator.switchover(to="east").outcome == "ok"
    billing = operator.estate.applications.clients["east", "consumer-billing"]
    billing.rate_per_s = 0.0
    operator.estate.live(200)
    return billing


def test_who_has_much_to_read_holds_up_the_way_home_while_producers_go_on(estates: Estates) -> None:
    """What takes longer to read than producers may stand still is read before they do."""
    operator = at_work(estates)
    billing = with_a_backlog(operator)
    billing.rate_per_s = 10 * RATE_PER_S
    ledger = operator.estate.applications.ledger
    began = len(ledger.written_at)
    assert operator.failback(to="west").outcome == "ok"
    times = [at for at, producer, _ in ledger.written_at[began - 1 :] if producer == "shop-west"]
    assert max(b - a for a, b in pairwise(times)) < 15
    assert times[-1] - times[0] > 40
    operator.estate.live(10)
    assert_sound(operator, "west")


def test_who_does_not_catch_up_stops_the_way_home_before_anybody_is_stopped(estates: Estates) -> None:
    """A group that reads more slowly than producers write never will: said with both figures."""
    operator = at_work(estates)
    with_a_backlog(operator).rate_per_s = 1.0
    ledger = operator.estate.applications.ledger
    began = len(ledger.written_at)
    result = operator.failback(to="west")
    assert result.outcome not in {"ok", "unknown"}
    (step,) = (step for step in result.steps if step["outcome"] == "failed")
    assert "billing has" in step["message"], step
    assert "records unread and reads 1 a second" in step["message"]
    times = [at for at, producer, _ in ledger.written_at[began - 1 :] if producer == "shop-west"]
    assert max(b - a for a, b in pairwise(times)) < 2


def lose_and_return(operator: Operator) -> None:
    """West is lost under load, its applications go on at east, west comes back, and they go home."""
    operator.estate.lose("west")
    operator.estate.live(5)
    assert operator.failover(to="east").outcome == "ok"
    operator.estate.live(10)
    skipped = truths.skipped(operator.estate, "east")
    assert {name: records for name, records in skipped.items() if name != "billing"} == {}
    operator.estate.bring_back("west")
    operator.estate.live(10)
    assert operator.failback(to="west").outcome == "ok"
    operator.estate.live(10)


def test_a_lost_site_is_left_by_maps_that_were_kept_at_the_other_one(estates: Estates) -> None:
    """The map of east's copies at west died with west; positions in them are led by its copy at east."""
    operator = at_work(estates)
    lose_and_return(operator)
    assert operator.plan is not None
    rest(operator)
    # The tail that was late is read at home; nothing else is missing.
    assert unread(operator, "reporting") == unread(operator, "search") == set()
    assert truths.processed_twice(operator.estate, ["packing-east"]) == {"packing-east": 0}


def test_three_cycles_of_loss_and_return(estates: Estates) -> None:
    """Each begins where the one before has ended."""
    operator = at_work(estates)
    for _ in range(3):
        lose_and_return(operator)
    rest(operator)
    assert unread(operator, "reporting") == set()


def test_without_the_copy_of_the_map_a_failover_says_what_is_missing(estates: Estates) -> None:
    """Positions in copies of what east writes cannot be led anywhere: nobody guesses."""
    operator = at_work(estates)
    east = operator.estate.clusters["east"]
    operator.estate.lose("west")
    operator.estate.live(5)
    east.topics.pop("dcctl-map.east-west.internal")
    with pytest.raises(GateUnknownError, match=r"dcctl-map\.east-west\.internal: there is no such topic"):
        operator.failover(to="east")


def test_a_pattern_that_does_not_match_the_copies_is_refused_by_name(estates: Estates) -> None:
    """Its records would be there, and it would not see them."""

    def narrow(file: Topology) -> Topology:
        told = told_apart(file)
        readers = (replace(c, pattern="orders") if c.name == "search" else c for c in told.consumers)
        return replace(told, consumers=tuple(readers))

    operator = estates.at_work(TWO_SITES, change=narrow)
    with pytest.raises(
        DcctlError, match=r"search: reads by the pattern orders, which does not match west\.orders"
    ):
        operator.switchover(to="east")


def test_a_mirror_that_does_not_copy_home_refuses_the_way_back(estates: Estates) -> None:
    """What is written at east from now on would not come to who reads it at west."""
    operator = at_work(estates)
    assert operator.switchover(to="east").outcome == "ok"
    workers = operator.estate.workers["west"]
    workers.connectors["east-to-west-source"].state = "STOPPED"
    with pytest.raises(GateRefusedError, match="east-to-west-source is STOPPED"):
        operator.failback(to="west")
    workers.state = "gone"
    with pytest.raises(GateUnknownError, match="routes-usable unknown"):
        operator.failback(to="west")


def test_one_site_is_away_at_a_time(estates: Estates) -> None:
    """Neither could go home while the other one's applications, and both mirrors, stand elsewhere."""
    operator = at_work(estates)
    assert operator.switchover(to="east").outcome == "ok"
    operator.estate.live(5)
    with pytest.raises(
        GateRefusedError, match="other-site refused: applications of west work at east since run"
    ):
        operator.switchover(to="west")
    operator.estate.lose("east")
    operator.estate.live(5)
    with pytest.raises(GateRefusedError, match="and this move does not bring them away from east"):
        operator.failover(to="west", attested=("east",))


def test_a_principal_of_both_sites_is_refused(estates: Estates) -> None:
    """A rule against who goes home would deny who stays."""

    def shared(file: Topology) -> Topology:
        told = told_apart(file)
        return replace(told, producers=tuple(replace(p, principal="User:shop") for p in told.producers))

    operator = estates.at_work(TWO_SITES, change=shared)
    with pytest.raises(DcctlError, match="have the same principal User:shop"):
        operator.switchover(to="east")


def test_a_pattern_that_matches_more_at_the_other_site_is_refused(estates: Estates) -> None:
    """It would read what another consumer is to read, from wherever its auto.offset.reset leads."""

    def wide(file: Topology) -> Topology:
        told = told_apart(file)
        readers = (
            replace(c, topics=(), pattern=r"(west\.)?orders") if c.name == "packing-west" else c
            for c in told.consumers
        )
        return replace(told, consumers=tuple(readers))

    operator = estates.at_work(TWO_SITES, change=wide)
    with pytest.raises(DcctlError, match="which also matches orders at east"):
        operator.switchover(to="east")
