"""What is looked at before a request within a cluster is planned: as much as it needs, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.moves.within_cluster.requests import (
    EvacuateRequest,
    LeadersRequest,
    PutBackRequest,
    SiteLossRequest,
)
from orchestrator.moves.within_cluster.wanted import Wanted, wanted_as_it_is, wanted_for
from orchestrator.runs.coordination_state import CoordinationState
from orchestrator.runs.facts_within_clusters import QuorumForced, QuorumFormed
from orchestrator.runs.within_clusters import Quorum
from orchestrator.topology.loading import load_topology
from orchestrator.topology.model import Topology

EXAMPLES = Path(__file__).parents[2] / "topologies"
FORCED = QuorumForced(cluster="main", sites=("dc1",), generation=1, kept={}, files={}, lost=())
FORMED = Quorum(1, FORCED, QuorumFormed(cluster="main", generation=1, files={}))


def topology(name: str) -> Topology:
    """An example with an inventory: its hosts can be asked."""
    return replace(load_topology(EXAMPLES / f"{name}.yaml"), inventory="hosts.yaml")


LOSS = SiteLossRequest(cluster="main", attested=("dc1",))


@pytest.mark.parametrize(("layout", "forms"), [("stretched-2dc", True), ("stretched-3dc", False)])
def test_after_a_loss_survivors_tell_of_their_voters(layout: str, forms: bool) -> None:
    """Where they are to become the quorum, the lost site is looked at for whether it is silent."""
    given = topology(layout)
    found = wanted_for(given, LOSS, CoordinationState(""))
    left = tuple(dc for dc in given.datacenters if dc != "dc1")
    assert (found.voters_at, found.forms, found.lost) == (left, forms, ("dc1",) if forms else ())
    assert found.log_ends
    assert not found.mirrors


def test_who_is_the_quorum_already_forms_none_and_still_looks_at_the_lost_site() -> None:
    """A second failover finds the survivors as it left them."""
    found = wanted_for(topology("stretched-2dc"), LOSS, CoordinationState("", quorums={"main": FORMED}))
    assert (found.forms, found.lost, found.voters_at) == (False, ("dc1",), ("dc2",))


def test_without_an_inventory_hosts_are_asked_only_where_a_quorum_is_formed() -> None:
    """The file alone says whether those that are left are a majority; a look says why no host is asked."""
    given = replace(topology("stretched-3dc"), inventory="")
    assert wanted_for(given, LOSS, CoordinationState("")).voters_at == ()
    assert wanted_as_it_is(given, "main", None).voters_at == ("dc1", "dc2", "dc3")


def test_mirrors_are_looked_at_where_records_may_be_given_up() -> None:
    """That is a person's word."""
    assert wanted_for(topology("stretched-2dc"), replace(LOSS, accept_unclean="all"), None).mirrors


def test_an_evacuation_looks_at_servers_only_where_it_stops_them() -> None:
    """A quorum is not touched by leaders that move."""
    given, request = topology("stretched-2dc"), EvacuateRequest(cluster="main", site="dc1")
    assert wanted_for(given, request, CoordinationState("")) == Wanted()
    off = wanted_for(given, replace(request, power_off=True), CoordinationState(""))
    assert (off.voters_at, off.services_at, off.forms) == (("dc1", "dc2"), ("dc1",), False)
    recorded = CoordinationState("", sites_off={"main": ("dc1",)})
    assert wanted_for(given, replace(request, power_off=True), recorded).forms


def test_the_way_back_reads_every_voter_where_the_quorum_was_changed() -> None:
    """Otherwise none."""
    given, request = topology("stretched-2dc"), PutBackRequest(cluster="main")
    assert wanted_for(given, request, CoordinationState("")).voters_at == ()
    changed = wanted_for(given, request, CoordinationState("", quorums={"main": FORMED}))
    assert changed.voters_at == ("dc1", "dc2")


def test_preferred_leaders_need_no_host() -> None:
    """The cluster alone is asked."""
    found = wanted_for(topology("stretched-2dc"), LeadersRequest(cluster="main"), None)
    assert found == Wanted(applications=False)
