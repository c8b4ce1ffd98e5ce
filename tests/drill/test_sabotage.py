"""The checks can fail: each kind of damage is found, and named. Minutes each: `make drills`."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.drill.rehearsal import Rehearsal, rehearse
from tests.faults.estate import SMALL

pytestmark = [pytest.mark.drills, pytest.mark.timeout(900)]


def test_shifted_offsets_are_skipped_records(tmp_path: Path) -> None:
    """A translation that is too far skips records: invalid, naming group and partition.

    `archive` has stopped, so its records surely were not processed before the fault.
    """
    rehearsal = rehearse(tmp_path, "--sabotage", "offsets")
    assert rehearsal.status == 1
    assert rehearsal.report["verdict"] == "invalid"
    for partition in range(3):
        assert f"archive at west.payments-{partition}: 50 records skipped" in rehearsal.report["reasons"]


def test_missing_records_are_holes(tmp_path: Path) -> None:
    """Records that the mirror drops below the replicated position are holes: invalid, naming partitions.

    Where MirrorMaker had no time for a partition's first sync, the plan itself sees that records before the
    next one are missing, and a person has to accept that.
    """
    rehearsal = rehearse(tmp_path, "--sabotage", "records", "--accept-loss", "20000")
    assert rehearsal.status == 1
    assert any(topic["lost"]["hole"] > 0 for topic in rehearsal.topics.values())
    assert any("missing below the replicated position" in reason for reason in rehearsal.report["reasons"])
    assert any("orders-" in reason for reason in rehearsal.report["reasons"])


def test_doubled_records_are_duplicates(tmp_path: Path) -> None:
    """Mirrored records that are there twice: invalid, naming the partition."""
    rehearsal = rehearse(tmp_path, "--sabotage", "duplicates")
    assert rehearsal.status == 1
    assert rehearsal.topics["orders"]["duplicates"] == 20
    assert any("west.orders-0" in reason for reason in rehearsal.report["reasons"])


def test_a_ledger_that_is_gone_is_unknown(tmp_path: Path) -> None:
    """What could not be read is never taken for good."""
    rehearsal = rehearse(tmp_path, "--sabotage", "ledger")
    assert rehearsal.report["verdict"] == "unknown", rehearsal.report["reasons"]
    assert rehearsal.status == 7


def test_a_topic_that_nobody_may_write_is_named(tmp_path: Path) -> None:
    """Its producer is back in its other topic, and has the right to that one alone. The run itself ends well."""
    data = yaml.safe_load(SMALL.read_text(encoding="utf-8"))
    data["producers"] = [data["producers"][0] | {"topics": ["orders", "payments"]}]
    file = tmp_path / "two-topics.yaml"
    file.write_text(yaml.safe_dump(data), encoding="utf-8")
    rehearsal = rehearse(tmp_path, "--scenario", "tiny", "--sabotage", "rights", file=file)
    assert rehearsal.status == 1, rehearsal.stderr
    pauses = rehearsal.report["rto"]["per_topic"]["checkout"]
    assert pauses["orders"] is not None
    assert pauses["payments"] is None
    payments = rehearsal.report["clusters"]["east"]["topics"]["payments"]
    assert (payments["acked"], payments["refused"] > 0) == (0, True)
    reasons = rehearsal.report["reasons"]
    assert "checkout: not seen again in payments after the fault" in reasons
    assert any("payments of east" in reason and "were refused" in reason for reason in reasons)
    assert any("payments of east: no record was acknowledged after" in reason for reason in reasons)


def test_a_budget_of_nothing_refuses(tmp_path: Path) -> None:
    """Unreplicated records against a budget of 0: refused with status 4, and nothing was changed."""
    rehearsal = rehearse(tmp_path, max_loss_records=0)
    assert rehearsal.status == 4
    gates = {gate["id"]: gate["outcome"] for gate in rehearsal.report["gates"]}
    assert gates["loss-within-budget"] == "refused"
    assert rehearsal.report["steps"] == []


def test_accepting_the_loss_lets_it_pass(tmp_path: Path) -> None:
    """A person's word on a number of records takes the budget's place."""
    rehearsal = rehearse(tmp_path, "--accept-loss", "100000", max_loss_records=0)
    assert rehearsal.status == 0, rehearsal.report.get("reasons") or rehearsal.stderr


def _sabotaged_way_back(tmp_path: Path, kind: str, file: Path = SMALL) -> Rehearsal:
    words = ("--verb", "failback", "--scenario", "tiny", "--sabotage", kind)
    return rehearse(tmp_path, *words, file=file, timeout_s=1700)


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("offsets", "records were never processed ("),
        ("duplicates", "orders of west: 20 records there more than once (east.orders-0: 20"),
    ],
)
def test_a_sabotaged_way_back_is_invalid_and_names_the_partitions(
    tmp_path: Path, kind: str, words: str
) -> None:
    """The failover before it is as it should be; what is broken on the way back is found, and where."""
    rehearsal = _sabotaged_way_back(tmp_path, kind)
    reasons = rehearsal.report["reasons"]
    assert rehearsal.status == 1, reasons or rehearsal.stderr
    assert rehearsal.report["verdict"] == "invalid"
    assert [move["verb"] for move in rehearsal.report["moves"]] == ["failover", "failback"]
    named = [reason for reason in reasons if words in reason]
    assert named, reasons
    assert any("orders-" in reason for reason in named)


def test_records_that_the_mirror_back_drops_are_holes_at_home(tmp_path: Path) -> None:
    """None of them is called a tail: everything had been copied when the audit began."""
    rehearsal = _sabotaged_way_back(tmp_path, "records")
    west = rehearsal.report["clusters"]["west"]["topics"]
    assert rehearsal.status == 1, rehearsal.report["reasons"] or rehearsal.stderr
    assert any("below the replicated position (east." in reason for reason in rehearsal.report["reasons"])
    assert any(topic["lost"]["hole"] > 0 for topic in west.values()), rehearsal.report["reasons"]
    assert all(anomaly["topic"].startswith("east.") for t in west.values() for anomaly in t["partitions"])


def test_a_ledger_of_the_life_at_the_standby_that_is_gone_is_unknown(tmp_path: Path) -> None:
    """No record is called lost, or read again, for want of it."""
    rehearsal = _sabotaged_way_back(tmp_path, "ledger")
    assert rehearsal.report["verdict"] == "unknown", rehearsal.report["reasons"]
    assert rehearsal.status == 7
    assert any("no ledger life-2.csv" in reason for reason in rehearsal.report["reasons"])


def test_a_topic_that_nobody_may_write_at_home_is_named(tmp_path: Path) -> None:
    """The way back itself ends well."""
    data = yaml.safe_load(SMALL.read_text(encoding="utf-8"))
    data["producers"] = [data["producers"][0] | {"topics": ["orders", "payments"]}]
    file = tmp_path / "two-topics.yaml"
    file.write_text(yaml.safe_dump(data), encoding="utf-8")
    rehearsal = _sabotaged_way_back(tmp_path, "rights", file)
    reasons = rehearsal.report["reasons"]
    assert rehearsal.status == 1, reasons or rehearsal.stderr
    assert "move 2 (failback): checkout in payments was not seen both before it and after it" in reasons
