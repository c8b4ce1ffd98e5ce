"""A mirror with a limit: how long it copies is in the plan, and what cannot end in time is said beforehand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.mirrors.mirrormaker2.connectors import connector_names
from orchestrator.moves.request import FailbackRequest, SwitchoverRequest
from orchestrator.replication.copying_time import CopyingTime, bytes_behind
from orchestrator.replication.mirror_ref import source_partitions
from orchestrator.runs.plan import GateResult, Plan, plan_from_json, to_json
from orchestrator.snapshot.back_starts import BackStarts
from orchestrator.snapshot.rejoining import Past
from orchestrator.snapshot.snapshot import Snapshot
from orchestrator.topology.model import Topology
from orchestrator.values import LogEnd, TopicPartition
from orchestrator.verbs.plans import plan_failback, plan_failover, plan_switchover
from tests.verbs import failback_pictures
from tests.verbs.pictures import (
    ABSENT,
    AHEAD,
    MIRROR,
    MIRRORED,
    REQUEST,
    observation,
    part,
    topology,
    with_cluster,
)
from tests.verbs.test_switchover import picture

PARTITIONS = source_partitions(topology(), MIRROR)
SIZE = 1_000_000
ONE, OTHER = TopicPartition("orders", 0), TopicPartition("orders", 1)


def limited(limit: int | None) -> Topology:
    """The file with a limit at its mirror."""
    file = topology()
    return replace(file, replication=tuple(replace(m, max_bytes_per_s=limit) for m in file.replication))


def behind(records: int) -> Snapshot:
    """A healthy pair whose mirror has as many records of each log still to copy, each log of 1 MB."""
    return with_cluster(
        picture(),
        "west",
        log_ends=part(dict.fromkeys(PARTITIONS, LogEnd(0, MIRRORED + records))),
        sizes=part(dict.fromkeys(PARTITIONS, SIZE)),
    )


def lag_gate(plan: Plan) -> GateResult:
    """What the plan says of the lag."""
    return next(gate for gate in plan.gates if gate.id == "mirror-lag")


def test_bytes_are_those_of_the_records_by_the_mean_of_their_log() -> None:
    """Nothing is not copied where nothing is behind; what has no size is not known."""
    logs = {ONE: LogEnd(0, 100), OTHER: LogEnd(900, 1_000)}
    assert bytes_behind({ONE: 10, OTHER: 50}, logs, {ONE: 1_000, OTHER: 500}) == 100 + 250
    assert bytes_behind({ONE: 1_000}, logs, {ONE: 1_000}) == 1_000
    assert bytes_behind({ONE: 10, OTHER: 0}, logs, {ONE: 1_000}) == 100
    assert bytes_behind({ONE: 10}, logs, {}) is None
    assert bytes_behind({ONE: 10}, {ONE: LogEnd(5, 5)}, {ONE: 10}) is None
    assert bytes_behind({}, {}, {}) == 0


def test_the_drain_takes_as_long_as_the_limit_makes_it() -> None:
    """And so does the whole move."""
    free = plan_switchover(limited(None), behind(MIRRORED), SwitchoverRequest(to="east", timeout_s=1e6))
    total = len(PARTITIONS) * SIZE // 2
    plan = plan_switchover(
        limited(total // 500), behind(MIRRORED), SwitchoverRequest(to="east", timeout_s=1e6)
    )
    assert plan.step("drain").expected_s == pytest.approx(500, rel=0.01)
    assert plan.predicted.seconds - free.predicted.seconds == pytest.approx(498.5, rel=0.02)
    assert plan.facts["copying"]["drain"]["seconds"] == plan.step("drain").expected_s
    assert plan.facts["copying"]["drain"]["seconds_at_least"] == pytest.approx(489, rel=0.01)
    assert "copying" not in free.facts
    assert plan_from_json(to_json(plan)) == plan


@pytest.mark.parametrize(("timeout_s", "outcome"), [(60.0, "refused"), (70.0, "ok")])
def test_a_drain_that_cannot_end_in_time_is_refused_beforehand(timeout_s: float, outcome: str) -> None:
    """Rather than frozen for the time-out, and rolled back. What would do is named."""
    total = len(PARTITIONS) * SIZE // 2
    request = SwitchoverRequest(to="east", timeout_s=timeout_s)
    gate = lag_gate(plan_switchover(limited(total // 80), behind(MIRRORED), request))
    assert gate.outcome == outcome
    assert "in about 80 s, 69 s at least" in gate.reason
    assert ("--timeout-s 106" in gate.hint) == (outcome == "refused")
    assert ("rolled back after 60 s" in gate.reason) == (outcome == "refused")
    assert lag_gate(plan_switchover(limited(None), behind(MIRRORED), request)).outcome == "ok"


def test_where_bytes_are_not_known_no_time_is_invented() -> None:
    """It is said, and refuses nothing: the drain has its own limit. Nothing behind takes no time."""
    unsized = with_cluster(behind(10), "west", sizes=ABSENT)
    plan = plan_switchover(limited(1), unsized, SwitchoverRequest(to="east"))
    gate = lag_gate(plan)
    assert gate.outcome == "ok"
    assert "nobody can tell how long the mirror west → east copies: how many bytes" in gate.reason
    assert plan.facts["copying"]["drain"]["seconds_at_least"] is None
    assert plan.step("drain").expected_s == 1.5
    at_its_end = with_cluster(behind(0), "west", sizes=ABSENT)
    found = plan_switchover(limited(1), at_its_end, SwitchoverRequest(to="east"))
    assert found.facts["copying"]["drain"]["seconds_at_least"] == 0.0


def test_a_lost_source_copies_nothing_more() -> None:
    """The failover knows no such time."""
    assert "copying" not in plan_failover(limited(1), observation(), REQUEST).facts


def returned(**parts: object) -> Snapshot:
    """The primary is back, with the sizes of all logs."""
    seen = failback_pictures.picture()
    own = dict.fromkeys(PARTITIONS, SIZE)
    seen = with_cluster(seen, "east", sizes=part(own), **parts)
    return starting_at(with_cluster(seen, "west", sizes=part(own)), {})


def starting_at(seen: Snapshot, starts: dict[TopicPartition, int]) -> Snapshot:
    """The reverse mirror begins there."""
    return replace(seen, past=part(replace(seen.past.value or Past(), starts=BackStarts(recorded=starts))))


def failing_back(limit: int | None, seen: Snapshot, timeout_s: float = 120.0) -> Plan:
    """The plan of going home."""
    file = failback_pictures.topology()
    mirrors = tuple(replace(mirror, max_bytes_per_s=limit) for mirror in file.replication)
    request = replace(failback_pictures.REQUEST, timeout_s=timeout_s)
    assert isinstance(request, FailbackRequest)
    return plan_failback(replace(file, replication=mirrors), seen, request)


def test_the_way_back_has_the_same_limit() -> None:
    """What was written at the standby, all of it, and what comes late. Beyond the time-out it is refused."""
    seen = returned()
    back = len(PARTITIONS) * SIZE
    plan = failing_back(back // 200, seen)
    assert plan.step("caught-up").expected_s == pytest.approx(200, rel=0.01)
    assert plan.step("tail-arrives").expected_s > 1.0
    gate = lag_gate(plan)
    assert (gate.outcome, "--timeout-s 250" in gate.hint) == ("refused", True)
    assert "the mirror east → west copies" in gate.reason
    assert lag_gate(failing_back(back // 200, seen, 300.0)).outcome == "ok"
    assert not [gate for gate in failing_back(None, seen).gates if gate.id == "mirror-lag"]
    started = starting_at(seen, dict.fromkeys(PARTITIONS, 350))
    assert failing_back(back // 200, started).step("caught-up").expected_s == pytest.approx(100, rel=0.01)


def test_how_far_an_earlier_reverse_mirror_is_is_not_known() -> None:
    """It has copied some of that before."""
    seen = returned()
    name = connector_names(replace(MIRROR, source="east", target="west")).source
    states = {**(seen.mirror(AHEAD).states.value or {}), name: "STOPPED"}
    seen = replace(
        seen,
        mirrors={ref: replace(view, states=part(states)) for ref, view in seen.mirrors.items()},
    )
    plan = failing_back(1, seen, 1e9)
    assert plan.facts["copying"]["caught-up"]["problem"] == "how far the reverse mirror is is unknown"
    assert plan.step("caught-up").expected_s == 5.0


def test_times_are_told_in_sentences() -> None:
    """With the figures that they rest on."""
    known = CopyingTime(mirror="west → east", max_bytes_per_s=1_000, records=1, size_bytes=90_000)
    assert known.in_words() == (
        "with max_bytes_per_s 1,000 the mirror west → east copies 1 record, about 90,000 bytes, in about 90 s, "
        "79 s at least"
    )
