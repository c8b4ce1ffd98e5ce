"""A source of an aggregation goes into its centre, beside the centre's own consumers, and home again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.errors import GateRefusedError, GateUnknownError
from orchestrator.runs.prices import price_in_words
from orchestrator.topology.model import Topology
from orchestrator.watch.status import mirror_status, mirrors_told
from tests.twin import truths
from tests.twin.conftest import Estates
from tests.twin.crew import ProcessDied
from tests.twin.operator import Operator

ONE_CENTRE, TWO_CENTRES = "topologies/aggregation.yaml", "topologies/aggregation-two-centres.yaml"
READ_LANDING = r"(.*\.)?orders"


def with_standby(file: Topology) -> Topology:
    """What works at dc1 goes to the centre, whose consumer reads by a pattern what is written there then."""
    clusters = {**file.clusters, "dc1": replace(file.clusters["dc1"], standby="centre")}
    consumers = tuple(
        replace(c, pattern=READ_LANDING) if c.name == "reporting" else c for c in file.consumers
    )
    return replace(file, clusters=clusters, consumers=consumers)


def at_work(estates: Estates) -> Operator:
    operator = estates.at_work(ONE_CENTRE, change=with_standby)
    for workers in operator.estate.workers.values():
        workers.writes_delayed_syncs = True
    operator.estate.live(2)
    return operator


def rest(operator: Operator) -> None:
    """Producers stop, mirrors and consumers come to their ends."""
    for client in operator.estate.applications.clients.values():
        if client.name.startswith("producer-"):
            client.rate_per_s = 0.0
    operator.estate.live(10)


def unread(operator: Operator, consumer: str, producers: set[str]) -> set[tuple[str, int]]:
    """Acknowledged records of these producers that a consumer has never processed."""
    ledger = operator.estate.applications.ledger
    processed = {truths.named(value) for value in ledger.processed[consumer]}
    return {record for record in ledger.acknowledged if record[0] in producers} - processed


def assert_each_once(operator: Operator) -> None:
    """By everybody whom a record is for, wherever it was written."""
    names = [consumer.name for consumer in operator.estate.topology.consumers]
    assert truths.processed_twice(operator.estate, names) == dict.fromkeys(names, 0)
    assert unread(operator, "reporting", {"shop-dc1", "shop-dc2"}) == set()
    assert unread(operator, "packing-dc1", {"shop-dc1"}) == set()
    assert unread(operator, "packing-dc2", {"shop-dc2"}) == set()
    for dc in ("dc1", "dc2"):
        packed = operator.estate.applications.ledger.processed[f"packing-{dc}"]
        assert {truths.named(value)[0] for value in packed} == {f"shop-{dc}"}


def test_a_source_goes_into_its_centre_and_home_and_each_record_is_read_once(estates: Estates) -> None:
    """By its own consumers, and by the centre's, which work on."""
    operator = at_work(estates)
    for _ in range(2):
        assert operator.switchover(to="centre", left="dc1").outcome == "ok"
        operator.estate.live(10)
        assert operator.failback(to="dc1").outcome == "ok"
        operator.estate.live(10)
    rest(operator)
    assert_each_once(operator)
    assert truths.written_at(operator.estate)["orders"]


def test_a_lost_source_goes_on_at_its_centre_and_home(estates: Estates) -> None:
    """Its tail is late; what was processed before the loss and not committed is read again."""
    operator = at_work(estates)
    for _ in range(2):
        operator.estate.lose("dc1")
        operator.estate.live(5)
        assert operator.failover(to="centre", attested=("dc1",)).outcome == "ok"
        operator.estate.live(10)
        operator.estate.bring_back("dc1")
        operator.estate.live(10)
        assert operator.failback(to="dc1").outcome == "ok"
        operator.estate.live(10)
    rest(operator)
    assert unread(operator, "reporting", {"shop-dc1", "shop-dc2"}) == set()
    assert unread(operator, "packing-dc1", {"shop-dc1"}) == set()
    assert truths.processed_twice(operator.estate, ["reporting", "packing-dc2"]) == {
        "reporting": 0,
        "packing-dc2": 0,
    }


def test_who_does_not_read_the_landing_topic_refuses_the_move_by_name(estates: Estates) -> None:
    """Its new records would be there, and it would not see them; a person's word is kept with who and why."""

    def narrow(file: Topology) -> Topology:
        return replace(with_standby(file), consumers=file.consumers)

    operator = estates.at_work(ONE_CENTRE, change=narrow)
    with pytest.raises(
        GateRefusedError,
        match="landing-read refused: reporting reads copies of dc1 at centre and not orders there",
    ):
        operator.switchover(to="centre", left="dc1")
    operator.estate.lose("dc1")
    operator.estate.live(5)
    with pytest.raises(GateRefusedError, match="landing-read refused"):
        operator.failover(to="centre", attested=("dc1",))
    assert operator.failover(to="centre", attested=("dc1",), accept_unread=("reporting",)).outcome == "ok"
    assert operator.plan is not None
    assert price_in_words(operator.plan).endswith("; reporting will not see new records")
    said = [event.data for event in operator.events if event.kind == "override"]
    assert {"option": "--accept-unread", "value": "reporting"}.items() <= said[-1].items()
    operator.estate.live(10)
    assert unread(operator, "reporting", {"shop-dc1"})
    operator.estate.bring_back("dc1")
    operator.estate.live(5)
    assert operator.failback(to="dc1").outcome == "ok"


def test_a_second_source_waits_until_the_first_one_is_home(estates: Estates) -> None:
    """Both would write one topic; nor does the first one come again behind the other one's records."""

    def both(file: Topology) -> Topology:
        told = with_standby(file)
        clusters = {**told.clusters, "dc2": replace(told.clusters["dc2"], standby="centre")}
        return replace(told, clusters=clusters)

    operator = estates.at_work(ONE_CENTRE, change=both)
    assert operator.switchover(to="centre", left="dc1").outcome == "ok"
    operator.estate.live(5)
    with pytest.raises(
        GateRefusedError, match="landing-alone refused: applications of dc1 write orders at centre"
    ):
        operator.switchover(to="centre", left="dc2")
    operator.estate.lose("dc2")
    operator.estate.live(5)
    with pytest.raises(GateRefusedError, match="dcctl failback FILE --to dc1"):
        operator.failover(to="centre", attested=("dc2",))
    operator.estate.bring_back("dc2", applications=True)
    operator.estate.live(10)
    assert operator.failback(to="dc1").outcome == "ok"
    operator.estate.live(5)
    assert operator.switchover(to="centre", left="dc2").outcome == "ok"
    operator.estate.live(5)
    assert operator.failback(to="dc2").outcome == "ok"
    operator.estate.live(5)
    rest(operator)
    assert_each_once(operator)
    with pytest.raises(GateRefusedError, match="what comes back to dc1 would have their records in it"):
        operator.switchover(to="centre", left="dc1")


def test_without_the_ensemble_nobody_knows_who_writes_at_the_centre(estates: Estates) -> None:
    """Both gates are unknown, each by itself."""
    operator = at_work(estates)
    operator.estate.ensemble.is_gone = True
    with pytest.raises(GateUnknownError) as caught:
        operator.switchover(to="centre", left="dc1")
    assert "landing-alone unknown" in str(caught.value)
    assert "landing-read unknown" in str(caught.value)


def by_name_too(file: Topology) -> Topology:
    """Two centres; what is written at the one is read there by a pattern, and by name."""
    told = with_standby(file)
    readers = (
        replace(c, topics=("dc1.orders", "orders")) if c.name == "audit" else c for c in told.consumers
    )
    return replace(told, consumers=tuple(readers))


def with_two_centres(estates: Estates) -> Operator:
    operator = estates.at_work(TWO_CENTRES, change=by_name_too)
    for workers in operator.estate.workers.values():
        workers.writes_delayed_syncs = True
    operator.estate.live(2)
    return operator


def test_consumers_do_not_leave_a_centre_that_a_source_writes_at(estates: Estates) -> None:
    """No mirror brings that to the other centre. Once the source is home they go, and come back where they were."""
    operator = with_two_centres(estates)
    assert operator.switchover(to="centre", left="dc1").outcome == "ok"
    operator.estate.live(5)
    with pytest.raises(
        GateRefusedError, match="reporting works at reserve, where nothing brings orders of centre"
    ):
        operator.switchover(to="reserve", left="centre")
    assert operator.failback(to="dc1").outcome == "ok"
    operator.estate.live(5)
    assert operator.switchover(to="reserve", left="centre").outcome == "ok"
    operator.estate.live(5)
    with pytest.raises(
        GateRefusedError, match="audit works at reserve, where nothing brings orders of centre"
    ):
        operator.switchover(to="centre", left="dc1")
    assert operator.failback(to="centre").outcome == "ok"
    operator.estate.live(5)
    assert operator.switchover(to="centre", left="dc1").outcome == "ok"
    operator.estate.live(5)
    rest(operator)
    assert_each_once(operator)
    assert unread(operator, "audit", {"shop-dc1"}) == set()


def test_where_each_consumer_works_is_told_by_its_name(estates: Estates) -> None:
    """One of two came home, the other one did not: no source comes where that one would not see it."""
    operator = with_two_centres(estates)
    assert operator.switchover(to="reserve", left="centre").outcome == "ok"
    operator.estate.live(5)
    assert operator.failback(to="centre", applications=("audit",)).outcome == "ok"
    operator.estate.live(5)
    with pytest.raises(GateRefusedError, match="landing-read refused: reporting works at reserve") as caught:
        operator.switchover(to="centre", left="dc1")
    assert "audit" not in str(caught.value)


def test_consumers_on_a_way_that_has_not_ended_well_may_be_anywhere(estates: Estates) -> None:
    """Unknown to a source; once that is there by a person's word, the open run does not go on either."""
    operator = with_two_centres(estates)
    operator.estate.record.harm_where(lambda effect: effect.verb == "commit offset", "dies before")
    with pytest.raises(ProcessDied):
        operator.switchover(to="reserve", left="centre")
    operator.estate.record.heal()
    operator.estate.restart_dcctl()
    operator.estate.live(3)
    first = operator.run_id
    with pytest.raises(GateUnknownError, match=f"reporting might miss orders of centre: run {first}"):
        operator.switchover(to="centre", left="dc1")
    words = ("reporting", "audit")
    assert operator.switchover(to="centre", left="dc1", accept_unread=words).outcome == "ok"
    operator.estate.live(5)
    with pytest.raises(GateRefusedError, match="reporting works at reserve, where nothing brings orders"):
        operator.resume(first)
    assert operator.failback(to="dc1").outcome == "ok"
    operator.estate.live(5)
    assert operator.resume(first).outcome == "ok"
    rest(operator)


def test_a_source_on_its_way_into_a_centre_keeps_consumers_there(estates: Estates) -> None:
    """Where its producers write is unknown until that run has ended."""
    operator = with_two_centres(estates)
    operator.estate.record.harm_where(lambda effect: "primary: {" in str(effect), "dies before")
    with pytest.raises(ProcessDied):
        operator.switchover(to="centre", left="dc1")
    operator.estate.record.heal()
    operator.estate.restart_dcctl()
    operator.estate.live(5)
    first = operator.run_id
    with pytest.raises(GateUnknownError, match=f"audit might miss orders of centre: run {first}"):
        operator.switchover(to="reserve", left="centre")
    assert operator.resume(first).outcome == "ok"


def test_a_centre_is_lost_with_what_a_source_wrote_there(estates: Estates) -> None:
    """Only by a person's word: that is nowhere else. The source's applications wait for the centre."""
    operator = with_two_centres(estates)
    assert operator.switchover(to="centre", left="dc1").outcome == "ok"
    operator.estate.live(5)
    operator.estate.lose("centre")
    operator.estate.live(5)
    with pytest.raises(GateRefusedError, match="--accept-unread reporting --accept-unread audit"):
        operator.failover(to="reserve", attested=("centre",))
    words = ("reporting", "audit")
    assert operator.failover(to="reserve", attested=("centre",), accept_unread=words).outcome == "ok"
    operator.estate.live(5)
    operator.estate.bring_back("centre", applications=True)
    operator.estate.live(10)
    with pytest.raises(GateRefusedError) as caught:
        operator.failback(to="centre", accept_unread=words)
    assert "dcctl failback FILE --to dc1" in caught.value.hint
    assert operator.failback(to="dc1").outcome == "ok"
    operator.estate.live(10)
    assert operator.failback(to="centre").outcome == "ok"
    operator.estate.live(10)
    rest(operator)
    assert unread(operator, "reporting", {"shop-dc1", "shop-dc2"}) == set()
    assert unread(operator, "audit", {"shop-dc1"}) == set()
    assert unread(operator, "packing-dc1", {"shop-dc1"}) == set()


def test_status_tells_what_the_loss_of_a_source_would_cost_at_its_centre(estates: Estates) -> None:
    """A row of its own, and what would refuse the failover, as that says it; none for a source that waits."""

    def narrow(file: Topology) -> Topology:
        return replace(with_standby(file), consumers=file.consumers)

    operator = estates.at_work(ONE_CENTRE, change=narrow)
    topology = operator.estate.topology
    (mirror,) = mirrors_told(topology, None)
    assert (mirror.source, mirror.target) == ("dc1", "centre")
    assert mirrors_told(topology, "dc2") == ()
    found = mirror_status(topology, mirror, servers=operator.estate.servers)
    assert {gate["id"]: gate["outcome"] for gate in found["would_refuse"]} == {"landing-read": "refused"}
    assert [group["group"] for group in found["groups"]] == ["packing-dc1"]
    assert found["working_side"]["kind"] == "at-source"
