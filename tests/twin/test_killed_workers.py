"""What `status` says of copies that a killed worker would make again, and of those that stand twice."""

from __future__ import annotations

from orchestrator.watch.status import mirror_status
from tests.twin.conftest import Estates


def test_status_foretells_what_killed_workers_would_copy_again(estates: Estates) -> None:
    """No less than comes in a flush interval; without samples nobody knows."""
    estate = estates.at_work("topologies/active-passive.yaml").estate
    (mirror,) = estate.topology.replication
    told = mirror_status(estate.topology, mirror, servers=estate.servers)["mirror"]
    at_most, behind = told["copied_again_if_killed_at_most"], sum(told["lag_records"].values())
    assert at_most > behind
    assert told["copied_again_records"] == 0
    estate.lose("east")
    told = mirror_status(estate.topology, mirror, servers=estate.servers)["mirror"]
    assert (told["copied_again_if_killed_at_most"], told["copied_again_records"]) == (None, None)
