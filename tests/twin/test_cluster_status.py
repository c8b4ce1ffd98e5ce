"""`status` of a stretched cluster in memory: how it stands, what the next loss would stop, and what then."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from orchestrator.cli.status import readiness
from orchestrator.cli.status_cluster import cluster_headline, render_cluster
from orchestrator.verbs.live.within_cluster import leaders_off
from orchestrator.watch.cluster_status import cluster_status
from orchestrator.watch.within_cluster.said import encode, said_path
from tests.twin.conftest import Estates
from tests.twin.operator import Operator
from tests.twin.test_quorum import LAYOUTS, lost
from tests.twin.test_stretched_mirrored import FILE as MIRRORED
from tests.watch.test_told import word

STRETCHED = "topologies/stretched-2.5dc-kraft.yaml"


def status(operator: Operator) -> dict[str, Any]:
    """Of the one cluster."""
    return cluster_status(operator.estate.topology, "main", servers=operator.estate.servers)


def shown(found: dict[str, Any]) -> str:
    """On a terminal."""
    console = Console(width=200, record=True, file=StringIO())
    render_cluster(found, console, full=False)
    return console.export_text()


def names(found: dict[str, Any]) -> set[str]:
    """What stops something once it is lost."""
    return {name for row in found["margin"] for name in row["next"]}


def test_all_is_well(estates: Estates) -> None:
    """No server's loss stops anything, and each site's failover would go through."""
    found = status(estates.at_work(STRETCHED))
    assert names(found) == {"dc1", "dc2"}
    assert "no server's loss stops anything; the loss of a site does: dc1, dc2" in cluster_headline(found)
    assert [row["site"] for row in found["if_lost"]] == ["dc1", "dc2", "witness"]
    assert readiness(found["if_lost"]) == 0
    assert "orders" in found["if_lost"][0]["waits"]
    assert "✓ if witness were lost: nothing would have to be done" in shown(found)


def test_a_broker_and_a_voter_are_down(estates: Estates) -> None:
    """Every further broker is one too many; and of the voters a site takes too many along."""
    operator = estates.at_work(STRETCHED)
    main = operator.estate.clusters["main"]
    main.set_brokers("gone", 1)
    voter = next(one for one in main.quorum.voters.values() if one.site == "dc2")
    voter.is_started = False
    operator.estate.live(12)
    found = status(operator)
    assert names(found) >= {"broker 2", "broker 3", "broker 4"}
    rows = {row["site"]: row for row in found["sites"]}
    assert (rows["dc1"]["brokers_up"], rows["dc2"]["voters_up"]) == (1, 1)
    assert {row["site"]: row["too_few_voters"] for row in found["if_lost"]}["dc1"] is True
    assert readiness(found["if_lost"]) == 4
    text = shown(found)
    assert "✗ if dc1 were lost" in text
    assert "too few voters would be left" in text
    assert cluster_headline(found).startswith("main: 1")


def test_a_rack_of_one_location_may_be_the_next_loss(estates: Estates) -> None:
    """All brokers are at the site, whatever rack they tell; a rack takes more along than a broker does."""
    operator = estates.at_work("tests/topology/racks.yaml")
    found = status(operator)
    assert names(found) == {"rack rack-a", "rack rack-b", "rack rack-c"}
    assert "the loss of a rack or site does: rack rack-a, rack rack-b, rack rack-c" in cluster_headline(found)
    (north,) = found["sites"]
    assert (north["brokers"], north["brokers_up"], north["voters_up"]) == (6, 6, 3)
    assert [row["brokers_up"] for row in north["racks"]] == [2, 2, 2]
    operator.estate.clusters["main"].set_brokers("gone", 1, 2)
    operator.estate.live(12)
    found = status(operator)
    (north,) = found["sites"]
    assert (north["brokers_up"], [row["brokers_up"] for row in north["racks"]]) == (4, [0, 2, 2])
    assert "north: no broker of rack rack-a is up" in shown(found)
    assert "rack rack-b" in names(found)
    assert "rack rack-a" not in names(found)


@pytest.mark.parametrize("mode", LAYOUTS)
def test_a_site_is_lost_and_the_others_are_the_quorum(estates: Estates, mode: str) -> None:
    """What stands changed is told, with the command that puts it back."""
    operator = lost(estates, mode)
    assert operator.go_on_without("dc1", lower_min_insync=("all",)).outcome == "ok"
    found = status(operator)
    assert found["quorum_without"] == ["dc1"]
    assert next(row for row in found["sites"] if row["site"] == "dc1")["off"] is True
    text = shown(found)
    assert "the metadata quorum is without dc1; dcctl failback FILE" in text
    assert "min.insync.replicas lowered: " in text


def test_a_cluster_that_does_not_answer_is_not_known(estates: Estates) -> None:
    """Neither well nor ill, and a failover is not promised."""
    operator = estates.at_work(STRETCHED)
    operator.estate.clusters["main"].set_brokers("gone")
    operator.estate.live(12)
    found = status(operator)
    assert found["margin"] is None
    assert "does not answer" in cluster_headline(found)
    assert readiness(found["if_lost"]) in (4, 7)


def test_a_silent_watcher_is_named_and_its_events_end_with_its_last_word(estates: Estates) -> None:
    """Nothing goes on in what nobody has seen for a while."""
    operator = estates.at_work(STRETCHED)
    now_s = operator.estate.servers.clock.now_s()
    said = word("dc1", now_s - 64, now_s - 62, now_s - 60, gone_s=now_s - 62)
    path = said_path(operator.estate.topology.name, "main")
    nodes = operator.estate.ensemble.nodes
    nodes[f"{path}/dc1"], nodes[f"{path}/dc1/events"] = encode(said)
    found = status(operator)
    one, other = found["watchers"]
    assert (one["problem"], other["problem"]) == ("it is silent", "none has ever run")
    event, _ = found["events"]
    assert event["goes_on"] is None
    assert (event["kind"], event["seconds"], event["seen_from"]) == ("broker-down", 2.0, ["dc1"])
    text = shown(found)
    assert "watcher at dc1: it is silent, last reading 6" in text
    assert "watcher at dc2: none has ever run: dcctl watch FILE --at dc2" in text
    assert "broker 1 (dc1) took no connections for 2.0 s so far; whether that goes on is unknown" in text


def test_where_the_ensemble_does_not_answer_nothing_is_known(estates: Estates) -> None:
    """Neither watchers nor events, and the reason."""
    operator = estates.at_work(STRETCHED)
    operator.estate.ensemble.is_gone = True
    found = status(operator)
    assert (found["watchers"], found["events"]) == (None, None)
    assert "no answer" in found["watchers_problem"]


def test_a_broker_that_is_down_is_taken_for_none_of_another_site(estates: Estates) -> None:
    """Both replicas of the partition are at one site: one that is down tells no rack."""
    operator = estates.at_work(STRETCHED)
    main = operator.estate.clusters["main"]
    log = main.topics["orders"].logs[0]
    log.replicas = tuple(number for number in log.replicas if main.brokers[number].dc == "dc1")
    log.leader, other = log.replicas
    log.isr = log.replicas
    main.set_brokers("gone", other)
    operator.estate.live(12)
    found = status(operator)["partitions"]
    assert f"orders-0 without {other}" in found["not_in_sync"]
    assert "orders-0 at dc1" not in found["in_one_site"]


def test_in_sync_at_one_site_alone_and_off_the_preferred_place(estates: Estates) -> None:
    """Both are told by the cluster itself, watched or not."""
    operator = estates.at_work(STRETCHED)
    main = operator.estate.clusters["main"]
    log = main.topics["orders"].logs[0]
    at_dc1 = tuple(number for number in log.replicas if main.brokers[number].dc == "dc1")
    log.isr, log.leader = at_dc1, at_dc1[0]
    found = status(operator)["partitions"]
    assert found["in_one_site"] == ["orders-0 at dc1"]
    preferred = log.replicas[0]
    log.isr, log.leader = log.replicas, log.replicas[1]
    off = [f"orders-0 is led by {log.leader} instead of {preferred}"]
    assert status(operator)["partitions"]["not_preferred"] == off
    assert leaders_off(operator.estate.topology, servers=operator.estate.servers) == (off, "")
    main.set_brokers("gone")
    rows, why = leaders_off(operator.estate.topology, servers=operator.estate.servers)
    assert rows is None
    assert "the cluster does not say it" in why


def test_within_a_cluster_of_a_file_with_mirrors_nobody_watches(estates: Estates) -> None:
    """That is said, and nothing is taken for well."""
    operator = estates.at_work(MIRRORED)
    topology, servers = operator.estate.topology, operator.estate.servers
    found = cluster_status(topology, "main", servers=servers)
    assert (found["watchers"], found["events"]) == (None, None)
    assert shown(found).count("a file with mirrors has no watchers within its clusters") == 1
    rows, why = leaders_off(topology, servers=servers)
    assert rows is None
    assert "dcctl leaders FILE" in why
