"""Throttled mirrors: which client quotas a file implies, and what is done about those that there are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.estate.desired import desired_estate
from orchestrator.reconcile.applied import applied_from_json, applied_now, applied_to_json
from orchestrator.reconcile.planning import changes_of
from orchestrator.runs.plan import Plan, plan_from_json, to_json
from orchestrator.topology.loading import load_topology
from orchestrator.topology.model import Topology
from orchestrator.values import PRODUCER_BYTE_RATE, QuotaOwner
from orchestrator.verbs.live.apply import plan_apply, run_apply
from tests.reconcile.estates import as_described, empty, planned, told, with_cluster
from tests.reconcile.layouts import active_active
from tests.reconcile.memory_run import rehearse

PAYMENTS = load_topology(Path(__file__).parents[2] / "topologies" / "active-passive.yaml")
MIRROR = QuotaOwner("mirror", "west-to-east-source")
BACK = QuotaOwner("mirror", "east-to-west-source")


def throttled(topology: Topology, limit: int | None = 20_000_000, *, mirror: int = 0) -> Topology:
    """The file with a limit at one mirror."""
    mirrors = list(topology.replication)
    mirrors[mirror] = replace(mirrors[mirror], max_bytes_per_s=limit)
    return replace(topology, replication=tuple(mirrors))


THROTTLED = throttled(PAYMENTS)


def quotas(plan: Plan) -> list[tuple[str, Any]]:
    """Cluster, owner, what is set and what was there, of each quota that a plan changes."""
    return [
        (str(step.arguments["cluster"]), (one["user"], one["client_id"]), one["set"], one["was"])
        for step in plan.steps
        if step.action == "set-quotas"
        for one in step.arguments["quotas"]
    ]


def test_each_broker_gets_its_part_and_so_does_the_way_back() -> None:
    """All brokers together stay within the limit. Quotas are there before a connector copies."""
    brokers = {name: cluster.brokers for name, cluster in THROTTLED.clusters.items()}
    plan = planned(THROTTLED, empty(THROTTLED))
    assert quotas(plan) == [
        ("west", tuple(BACK), 20_000_000 // brokers["west"], None),
        ("east", tuple(MIRROR), 20_000_000 // brokers["east"], None),
    ]
    assert plan_from_json(to_json(plan)) == plan
    graph = plan.graph()
    (connectors,) = (step for step in plan.steps if step.action == "create-connectors")
    assert {"set-quotas-west-1", "set-quotas-east-1"} <= set(graph.predecessors(connectors.id))


def test_the_tasks_that_copy_have_a_client_id_of_their_own() -> None:
    """Checkpoints, syncs and heartbeats do not wait with them, nor does a mirror without a limit."""
    for topology, client_id in ((THROTTLED, MIRROR.client_id), (PAYMENTS, None)):
        found = desired_estate(topology).clusters["east"].connectors
        assert {name: c.config.get("producer.override.client.id") for name, c in found.items()} == {
            "west-to-east-source": client_id,
            "west-to-east-checkpoint": None,
            "west-to-east-heartbeat": None,
        }


def test_two_mirrors_against_each_other_have_a_limit_each() -> None:
    """The way back of the one is the other."""
    topology = throttled(active_active())
    assert not desired_estate(topology).clusters["west"].quotas
    assert desired_estate(topology).clusters["east"].quotas == {MIRROR: 6_666_666}
    both = throttled(topology, 30_000_000, mirror=1)
    assert desired_estate(both).clusters["west"].quotas == {BACK: 10_000_000}


def test_what_is_as_the_file_says_needs_nothing() -> None:
    """Whatever other quotas there are: of other users, of other clients, and other keys of the same."""
    estate = as_described(THROTTLED)
    quotas = {
        **(estate.clusters["east"].quotas or {}),
        QuotaOwner("checkout"): {PRODUCER_BYTE_RATE: 1.0},
        QuotaOwner("<default>", "<default>"): {PRODUCER_BYTE_RATE: 1.0},
        QuotaOwner("mirror", "somebodys"): {PRODUCER_BYTE_RATE: 1.0},
        QuotaOwner("mirror"): {"request_percentage": 200.0},
    }
    estate = with_cluster(estate, "east", quotas=quotas)
    assert planned(THROTTLED, estate, THROTTLED).facts["differences"] == []


@pytest.mark.parametrize(
    ("found", "last", "cause", "reason"),
    [
        (None, THROTTLED, "drift", "somebody removed it"),
        (None, PAYMENTS, "change", "the mirror's max_bytes_per_s implies it"),
        (5.0, THROTTLED, "drift", "somebody changed it from 6666666"),
        (5.0, PAYMENTS, "drift", "no apply of this file set what is there; the file's takes its place"),
        (5.0, None, "change", "no apply of this file set what is there; the file's takes its place"),
        (6_000_000.0, throttled(PAYMENTS, 18_000_000), "change", "the file implied 6000000"),
    ],
)
def test_another_limit_is_told_and_mended(
    found: float | None, last: Topology | None, cause: str, reason: str
) -> None:
    """What was there before is in the plan, so that it can be put back."""
    limits = {} if found is None else {MIRROR: {PRODUCER_BYTE_RATE: found}}
    estate = with_cluster(as_described(THROTTLED), "east", quotas=limits)
    if last is not None and last.replication[0].max_bytes_per_s != THROTTLED.replication[0].max_bytes_per_s:
        estate = with_cluster(estate, "west", quotas=as_described(last).clusters["west"].quotas)
    plan = planned(THROTTLED, estate, last)
    (difference,) = told(plan, subject="quota of user mirror, client id west-to-east-source")
    assert (difference["cause"], difference["mend"], difference["reason"]) == (cause, "planned", reason)
    assert ("east", tuple(MIRROR), 6_666_666, found) in quotas(plan)


def test_only_a_limit_that_an_apply_has_set_is_removed() -> None:
    """One that somebody has set, or changed since, stays and is told."""
    estate = as_described(THROTTLED)
    plan = planned(PAYMENTS, estate, THROTTLED)
    assert quotas(plan) == [
        ("west", tuple(BACK), None, 6_666_666.0),
        ("east", tuple(MIRROR), None, 6_666_666.0),
    ]
    changed = with_cluster(estate, "east", quotas={MIRROR: {PRODUCER_BYTE_RATE: 7.0}})
    plan = planned(PAYMENTS, changed, THROTTLED)
    assert [owner for _, owner, _, _ in quotas(plan)] == [tuple(BACK)]
    (difference,) = told(plan, cluster="east", aspect=PRODUCER_BYTE_RATE)
    assert (difference["mend"], difference["reason"]) == (
        "kept",
        "somebody changed it from 6666666, so no apply removes it",
    )
    assert quotas(planned(PAYMENTS, estate, PAYMENTS)) == []
    (difference,) = told(planned(PAYMENTS, estate, PAYMENTS), cluster="east", aspect=PRODUCER_BYTE_RATE)
    assert (difference["mend"], difference["reason"]) == (
        "kept",
        "no apply of this file set it, so no apply removes it",
    )


def test_a_limit_on_all_that_mirrors_are_is_told() -> None:
    """It holds for mirrors that have none of their own, and was set by somebody else."""
    estate = with_cluster(
        as_described(PAYMENTS), "east", quotas={QuotaOwner("mirror"): {PRODUCER_BYTE_RATE: 9.0}}
    )
    (difference,) = planned(PAYMENTS, estate, PAYMENTS).facts["differences"]
    assert (difference["subject"], difference["found"], difference["mend"]) == (
        "quota of user mirror",
        "9",
        "kept",
    )
    assert difference["reason"].endswith(
        "it limits all mirrors without max_bytes_per_s, and Connect's workers"
    )


def test_quotas_that_cannot_be_seen_are_unknown() -> None:
    """Where the file has none, and none was ever set, it does not matter."""
    unknown = {"quotas": "cluster east: describing client quotas: not authorized"}
    rows = ((THROTTLED, THROTTLED, "unknown"), (PAYMENTS, THROTTLED, "unknown"), (PAYMENTS, PAYMENTS, "ok"))
    for topology, last, outcome in rows:
        estate = with_cluster(as_described(topology), "east", quotas=None, unknown=unknown)
        plan = planned(topology, estate, last)
        (gate,) = (gate for gate in plan.gates if gate.id == "clusters-known")
        assert (gate.outcome, "not authorized" in gate.reason) == (outcome, outcome == "unknown")


def test_the_record_remembers_limits() -> None:
    """One that was written before there were any has none."""
    applied = applied_now(desired_estate(THROTTLED), as_described(THROTTLED), "run-0")
    data = applied_to_json(applied)
    assert applied_from_json(data) == applied
    del data["clusters"]["east"]["quotas"]
    assert applied_from_json(data).clusters["east"].quotas == {}


def test_a_limit_is_applied_once_changed_and_removed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Through the whole procedure. What somebody had set for other things of the same client stays."""
    world = rehearse(monkeypatch, tmp_path, THROTTLED)
    world.clusters["east"].alter_quotas({MIRROR: {"request_percentage": 50.0}})
    assert run_apply(world.topology).outcome == "ok"
    assert world.clusters["east"].quotas()[MIRROR] == {
        "request_percentage": 50.0,
        PRODUCER_BYTE_RATE: 6_666_666,
    }
    again = plan_apply(world.topology)
    assert (again.steps, again.facts["differences"]) == ((), [])
    slower = throttled(world.topology, 3_000_000)
    assert changes_of(plan_apply(slower)) == 2
    assert run_apply(slower).outcome == "ok"
    assert world.clusters["east"].quotas()[MIRROR][PRODUCER_BYTE_RATE] == 1_000_000
    free = throttled(world.topology, None)
    assert run_apply(free).outcome == "ok"
    assert world.clusters["east"].quotas() == {MIRROR: {"request_percentage": 50.0}}
    assert world.clusters["west"].quotas() == {}
    assert plan_apply(free).facts["differences"] == []
