"""Which way a file of an aggregation leads: a source into its centre, and a centre that is lost with a source."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.errors import DcctlError, UsageError
from orchestrator.moves.request import FailbackRequest, FailoverRequest, SwitchoverRequest, accepted_unread
from orchestrator.moves.ways import way_to_fail_back, way_to_fail_over, way_to_switch_over
from orchestrator.replication.mirror_ref import MirrorRef
from orchestrator.topology.landing import landings_read
from orchestrator.topology.loading import load_topology
from orchestrator.topology.model import Topology
from orchestrator.verbs.registration import PARTICIPANTS

TOPOLOGIES = Path(__file__).parents[2] / "topologies"
INTO_CENTRE = MirrorRef(source="dc1", target="centre")


def file(standby: str | None = "centre") -> Topology:
    """Two centres; what works at dc1 goes to one of them."""
    known = load_topology(TOPOLOGIES / "aggregation-two-centres.yaml")
    return replace(known, clusters={**known.clusters, "dc1": replace(known.clusters["dc1"], standby=standby)})


def test_of_two_mirrors_out_of_a_source_that_to_its_standby_is_gone_along() -> None:
    """There and back; nobody but the source's own applications is denied anything."""
    there = way_to_switch_over(file(), SwitchoverRequest(to="centre"), PARTICIPANTS)
    lost = way_to_fail_over(file(), FailoverRequest(attested=("dc1",)), PARTICIPANTS)
    home = way_to_fail_back(file(), FailbackRequest(to="dc1"), PARTICIPANTS)
    assert there.drains == lost.drains == (INTO_CENTRE,)
    assert home.drains == (INTO_CENTRE.other_way,)
    assert home.pauses == (INTO_CENTRE,)
    assert {item.name for item in home.items} == {"shop-dc1", "packing-dc1"}
    assert there.who.principals == home.who.principals == ("User:packing-dc1", "User:shop-dc1")
    assert lost.who.principals == ()
    with pytest.raises(UsageError, match="several places are possible: dc1, centre"):
        way_to_fail_back(file(), FailbackRequest(), PARTICIPANTS)


def test_a_source_that_the_file_sends_nowhere_waits() -> None:
    """Its own applications do, and that is said."""
    for to in ("centre", "reserve"):
        with pytest.raises(UsageError, match=f"`standby: {to}` at dc1"):
            way_to_fail_over(file(None), FailoverRequest(attested=("dc1",), to=to), PARTICIPANTS)


def test_a_source_is_not_moved_in_parts_nor_among_records_of_the_centre() -> None:
    """Each is refused by name: one that waits, a principal of both places, a topic of the centre's own."""
    known = file()
    (shop, *others), consumers = known.producers, known.consumers
    staying = replace(known, producers=(replace(shop, standby="reserve"), *others))
    with pytest.raises(DcctlError, match="goes to reserve, and others of dc1 go to centre"):
        way_to_switch_over(staying, SwitchoverRequest(left="dc1", to="centre"), PARTICIPANTS)
    shared = replace(
        known, consumers=tuple(replace(c, principal="User:all") for c in consumers if c.cluster != "dc2")
    )
    with pytest.raises(DcctlError, match="have the same principal User:all"):
        way_to_switch_over(shared, SwitchoverRequest(left="dc1", to="centre"), PARTICIPANTS)
    own = replace(known, topics=(*known.topics, replace(known.topics[0], cluster="centre")))
    with pytest.raises(DcctlError, match="has topics of its own with these names: orders"):
        way_to_switch_over(own, SwitchoverRequest(left="dc1", to="centre"), PARTICIPANTS)


def test_no_consumer_of_a_source_shares_a_group_with_one_of_the_centre() -> None:
    """There it would be one group with who stays; the others may have that group id."""
    known = file()

    def grouped(*names: str) -> Topology:
        told = (replace(c, group="all") if c.name in names else c for c in known.consumers)
        return replace(known, consumers=tuple(told))

    shared = grouped("packing-dc1", "audit")
    said = "packing-dc1 of dc1 and audit of centre: have the same group id all"
    with pytest.raises(DcctlError, match=said):
        way_to_switch_over(shared, SwitchoverRequest(left="dc1", to="centre"), PARTICIPANTS)
    with pytest.raises(DcctlError, match=said):
        way_to_fail_over(shared, FailoverRequest(attested=("dc1",)), PARTICIPANTS)
    beside = grouped("packing-dc1", "packing-dc2")
    assert way_to_switch_over(beside, SwitchoverRequest(left="dc1", to="centre"), PARTICIPANTS).items


def test_a_source_goes_as_a_whole() -> None:
    """A part of it is refused, there and back; of a centre's consumers one goes alone."""
    alone = ("packing-dc1",)
    with pytest.raises(UsageError, match="goes into its centre as a whole only"):
        way_to_switch_over(
            file(), SwitchoverRequest(left="dc1", to="centre", applications=alone), PARTICIPANTS
        )
    with pytest.raises(UsageError, match="goes into its centre as a whole only"):
        way_to_fail_back(file(), FailbackRequest(to="dc1", applications=alone), PARTICIPANTS)
    audit = SwitchoverRequest(left="centre", to="reserve", applications=("audit",))
    assert way_to_switch_over(file(), audit, PARTICIPANTS).is_part


def test_a_mirror_whose_source_is_lost_with_the_centre_pauses() -> None:
    """The others go on; where both centres are lost nobody goes anywhere."""
    both = FailoverRequest(attested=("centre", "dc1"), to="reserve")
    found = way_to_fail_over(file(None), both, PARTICIPANTS)
    assert (found.left.cluster, found.entered.cluster) == ("centre", "reserve")
    assert found.pauses == (MirrorRef(source="dc1", target="reserve"),)
    alone = way_to_fail_over(file(None), replace(both, attested=("centre",)), PARTICIPANTS)
    assert alone.pauses == ()
    with pytest.raises(UsageError, match="they wait until one of the two is back"):
        way_to_fail_over(file(None), FailoverRequest(attested=("centre", "reserve")), PARTICIPANTS)


def test_who_reads_what_lands_at_a_centre() -> None:
    """By name or by a pattern, once the file sends somebody there with it."""
    known = file()
    (reporting, audit) = known.consumers_of("centre")
    wide, named = replace(reporting, pattern=r"(.*\.)?orders"), replace(audit, topics=("orders",))
    assert landings_read(known, wide) == landings_read(known, named) == ("orders",)
    assert landings_read(known, reporting) == landings_read(known, audit) == ()
    assert landings_read(file(None), wide) == ()


def test_only_consumers_of_the_file_may_miss_records() -> None:
    """A misspelt name would accept nothing, and say nothing."""
    assert accepted_unread(file(), ["audit"]) == ("audit",)
    with pytest.raises(UsageError, match="--accept-unread adit"):
        accepted_unread(file(), ["adit"])
