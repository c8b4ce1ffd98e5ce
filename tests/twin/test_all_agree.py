"""`explain`, `status`, the plan and the world: of each site that is lost they say the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from orchestrator.topology.durability.analysis import explain_topology
from orchestrator.topology.durability.losses import loss_of
from orchestrator.topology.durability.values import LossFate
from orchestrator.watch.place_status import place_status, unmirrored
from orchestrator.watch.status import mirror_status, mirrors_told
from tests.twin import test_active_sites as sites
from tests.twin import test_centres as centres
from tests.twin import test_into_centre as sources
from tests.twin import truths
from tests.twin.conftest import Estates
from tests.twin.operator import Operator


@dataclass(frozen=True)
class Case:
    """One site of one layout: the cluster that is lost with it, and where the file sends its applications."""

    make: Callable[[Estates], Operator]
    left: str
    entered: str
    asked: dict[str, Any] = field(default_factory=dict)


def passive(estates: Estates) -> Operator:
    return estates.at_work("topologies/active-passive.yaml")


CASES = {
    "active-passive": Case(passive, "west", "east"),
    "two active sites: west": Case(sites.at_work, "west", "east"),
    "two active sites: east": Case(sites.at_work, "east", "west"),
    "a source into its centre": Case(sources.at_work, "dc1", "centre"),
    "two centres": Case(centres.at_work, "centre", "reserve"),
}


def told_by_status(operator: Operator, case: Case) -> dict[str, Any]:
    estate = operator.estate
    for mirror in mirrors_told(estate.topology, case.entered):
        if (mirror.source, mirror.target) == (case.left, case.entered):
            return mirror_status(estate.topology, mirror, servers=estate.servers)
    assert (case.left, case.entered) in unmirrored(estate.topology)
    return place_status(estate.topology, case.left, case.entered, servers=estate.servers)


def told_by_explain(operator: Operator, case: Case) -> LossFate:
    topology = operator.estate.topology
    sites_lost = topology.clusters[case.left].datacenters
    (fate,) = explain_topology(topology, [loss_of(topology, sites_lost)]).losses
    return fate


@pytest.mark.parametrize("name", CASES)
def test_what_is_said_of_a_loss_is_said_by_all_and_is_so(estates: Estates, name: str) -> None:
    """Who goes where, which topics may lose records and how many, and what is read again."""
    case = CASES[name]
    operator = case.make(estates)
    explained, status = told_by_explain(operator, case), told_by_status(operator, case)
    assert status["would_refuse"] == [], status["would_refuse"]
    operator.estate.lose(case.left)
    operator.estate.live(5)
    lost_sites = operator.estate.topology.clusters[case.left].datacenters
    assert operator.failover(to=case.entered, attested=lost_sites).outcome == "ok"
    plan = operator.plan
    assert plan is not None
    assert {one.name: set(one.topics) for one in explained.applications if one.goes_to == case.entered} == {
        one.name: {topic.topic for topic in (*one.reads, *one.writes)} for one in plan.applications
    }
    topics = {topic.name for topic in operator.estate.topology.topics}
    fates = explained.clusters[case.left].topics
    at_risk = {name for name, fate in fates.items() if name in topics and fate.rpo != "zero"}
    assert set(plan.predicted.loss) == at_risk
    assert set(status.get("loss", {}).get("topics", {})) == at_risk
    told = {row["consumer"]: row["reread"] for row in status["groups"]}
    planned = {name: reread for name, reread in plan.predicted.reread.items() if name in told}
    assert {name: set(reread) for name, reread in told.items()} == {
        name: set(reread) for name, reread in planned.items()
    }
    lost = len(truths.lost_at(operator.estate, case.entered))
    most = sum(loss["at_most"] for loss in plan.predicted.loss.values())
    assert lost <= most or not at_risk
