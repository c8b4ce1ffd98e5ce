"""A site of a stretched cluster is lost, in memory, at its worst: what an adversary has found, and stays mended."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from orchestrator.errors import GateRefusedError
from tests.twin import test_cluster_status as cluster_status
from tests.twin import test_quorum as of_quorum
from tests.twin import test_site_loss as of_site
from tests.twin.conftest import Estates
from tests.twin.crew import ProcessDied
from tests.twin.operator import Operator

STRETCHED = "topologies/stretched-2.5dc-kraft.yaml"


def messages(operator: Operator) -> dict[str, str]:
    """What each step came to."""
    return {event.step: event.message for event in operator.events if event.outcome and event.step}


def test_voters_that_do_not_run_are_missed_before_the_lost_sites_are_stopped(estates: Estates) -> None:
    """The witness is down and dc1 has lost its brokers alone: its voters are two of the four that decide."""
    operator = estates.at_work(STRETCHED)
    main = operator.estate.clusters["main"]
    for voter in main.quorum.voters.values():
        if voter.site == "witness":
            main.quorum.set_started(voter, False)
    main.set_brokers("gone", 1, 2)
    operator.estate.live(12)
    with pytest.raises(
        GateRefusedError, match="quorum-continues refused: too few voters of main run outside dc1"
    ):
        operator.go_on_without("dc1")
    assert len(main.quorum.members()) == 4


@pytest.mark.parametrize("mode", of_quorum.LAYOUTS)
def test_who_went_on_without_the_furthest_log_is_not_called_done_by_a_resume(
    estates: Estates, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others have begun than were told to, and what one alone had is on none that decides."""
    operator = of_quorum.lost(estates, mode)
    quorum = of_quorum.quorum(operator)
    here = [voter for voter in quorum.voters.values() if voter.site == "dc2"]
    here[2].end += 7
    playbooks = type(operator.estate.servers.playbooks)
    asked = playbooks.ask

    def others_begin(self: Any, name: str, *, variables: dict[str, Any], **others: Any) -> Any:
        if variables.get("changes") and variables.get("start"):
            wrong = [voter.server for voter in here[:2]]
            variables = {**variables, "start": wrong, "read": [*wrong, *variables["read"]]}
        return asked(self, name, variables=variables, **others)

    monkeypatch.setattr(playbooks, "ask", others_begin)
    assert operator.go_on_without("dc1", lower_min_insync=("all",)).outcome == "unknown"
    monkeypatch.setattr(playbooks, "ask", asked)
    for _ in range(2):
        result = operator.resume()
        assert result.outcome == "unknown"
        assert "went on without" in result.reason


def test_a_setting_is_not_put_back_over_replicas_that_are_gone_again(estates: Estates) -> None:
    """dcctl had died before it, and the site was lost once more: writes that go on, go on."""
    operator = of_site.returned(estates)
    main = operator.estate.clusters["main"]
    operator.estate.record.harm_where(lambda entry: "config" in entry.words[0], "dies before")
    with pytest.raises(ProcessDied):
        operator.lead_as_before("main")
    operator.estate.record.heal()
    operator.estate.restart_dcctl()
    main.set_brokers("gone", 1, 2)
    operator.estate.live(12)
    assert "orders" in of_site.writes(operator)
    result = operator.resume()
    assert result.outcome != "ok"
    assert "stays lowered: too few replicas are in sync" in messages(operator)["restore-min-insync"]
    assert "orders" in of_site.writes(operator)
    assert "stop-applications" not in messages(operator)


def test_a_partition_that_nobody_else_has_keeps_no_tail_from_being_kept(
    estates: Estates, tmp_path: Path
) -> None:
    """Its leader is the broker that waits: nothing of it is cut off."""
    operator = estates.at_work(STRETCHED)
    log = operator.estate.clusters["main"].topics["metrics"].logs[0]
    log.replicas, log.isr, log.leader = (1,), (1,), 1
    operator.estate.lose("dc1")
    operator.estate.live(12)
    assert operator.go_on_without("dc1", lower_min_insync=("all",)).outcome == "ok"
    operator.estate.bring_back("dc1")
    operator.estate.clusters["main"].brokers[1].state = "gone"
    operator.estate.clusters["main"].brokers[2].state = "gone"
    operator.estate.live(3)
    with pytest.raises(GateRefusedError, match="sites-returned"):
        operator.lead_as_before("main", keep_tails=str(tmp_path))
    operator.estate.clusters["main"].brokers[2].state = "up"
    operator.estate.live(3)
    operator.lead_as_before("main", keep_tails=str(tmp_path))
    assert "metrics-0" not in messages(operator)["count-tails"]


@pytest.mark.parametrize("file", ["topologies/stretched-2dc.yaml", "topologies/stretched-2dc-kraft.yaml"])
def test_a_quorum_that_is_lost_is_told_first(estates: Estates, file: str) -> None:
    """Every broker is up, and nobody can be elected any more."""
    operator = estates.at_work(file)
    quorum = of_quorum.quorum(operator)
    for voter in quorum.voters.values():
        if voter.site != "dc2":
            quorum.set_started(voter, False)
    operator.estate.live(12)
    found = cluster_status.status(operator)
    assert found["control_plane"] != "continues"
    assert "too few voters are up: metadata cannot be changed" in cluster_status.shown(found)


def test_which_voters_run_is_not_known_and_no_failover_is_promised(estates: Estates) -> None:
    """One host does not answer."""
    operator = estates.at_work(STRETCHED)
    operator.estate.applications.reach["witness"] = "gone"
    found = cluster_status.status(operator)
    assert {row["site"]: row["too_few_voters"] for row in found["if_lost"]}["dc1"] is None
    assert cluster_status.readiness(found["if_lost"]) == 7
    assert "? if dc1 were lost" in cluster_status.shown(found)


def test_a_site_that_is_gone_is_no_reason_to_promise_the_next(estates: Estates) -> None:
    """dc1 is away with two of five voters: without the witness two would be left."""
    operator = of_site.lost(estates)
    operator.estate.applications.reach["dc1"] = "gone"
    found = cluster_status.status(operator)
    rows = {row["site"]: row["too_few_voters"] for row in found["if_lost"]}
    assert (rows["dc2"], rows["witness"]) == (True, True)
    assert cluster_status.readiness(found["if_lost"]) == 4
    text = cluster_status.shown(found)
    assert "dc1: no broker is up; if it is down: dcctl failover FILE --attest-down dc1 --dry-run" in text
    with pytest.raises(
        GateRefusedError, match="quorum-continues refused: too few voters of main run outside witness"
    ):
        operator.go_on_without("witness")


def test_one_service_that_does_not_start_keeps_none_of_the_others_away(
    estates: Estates, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its disk is dead: it is named, and stays recorded for the next failback."""
    operator = of_site.returned_with_services_off(estates)
    services = operator.estate.services
    change = services._change

    def but_one(doing: str, server: str) -> None:
        if (doing, server) != ("start", "broker-1"):
            change(doing, server)

    monkeypatch.setattr(services, "_change", but_one)
    operator.lead_as_before("main")
    assert services.runs("broker-2")
    assert "still stopped: broker-1, until the next failback" in messages(operator)["start-services"]
    assert messages(operator)["let-sites-run"] == "servers of main may run at dc1"
