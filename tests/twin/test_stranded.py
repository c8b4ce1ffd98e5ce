"""What leaders of a lost site may still take, if it is only cut off: told by the plan, in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from orchestrator.cli.main import run
from orchestrator.runs.question import question_of
from orchestrator.values import ReplicaEnd
from tests.twin.conftest import Estates
from tests.twin.crew import EPOCH_S
from tests.twin.operator import Operator

FORMED, CONTINUES = "topologies/stretched-2dc-kraft.yaml", "topologies/stretched-2.5dc-kraft.yaml"


def file_of(tmp_path: Path, layout: str) -> str:
    """Who writes orders waits for its leader alone."""
    data = yaml.safe_load(Path(layout).read_text(encoding="utf-8"))
    data["producers"][0]["acks"] = "1"
    data["failover"] = {"max_loss": {"records": 1_000}}
    file = tmp_path / "file.yaml"
    file.write_text(yaml.safe_dump(data, sort_keys=False), encoding="utf-8")
    return str(file)


def lost(estates: Estates, tmp_path: Path, layout: str, rate: float | None) -> Operator:
    """dc1 is away; brokers elsewhere have seen so many records a second in each partition, until 20 s ago."""
    operator = estates.at_work(file_of(tmp_path, layout))
    operator.estate.lose("dc1")
    operator.estate.live(12)
    until_s = None if rate is None else EPOCH_S + operator.estate.crew.now_s - 20
    for log in operator.estate.clusters["main"].topics["orders"].logs:
        log.behind = {broker: ReplicaEnd(log.epoch, log.end, until_s, rate) for broker in (3, 4)}
    return operator


def told(operator: Operator) -> dict[str, Any]:
    """Of the only topic that is concerned."""
    assert operator.go_on_without("dc1", lower_min_insync=("all",)).outcome == "ok"
    assert operator.plan is not None
    (row,) = operator.plan.facts["stranded"]
    assert (row["topic"], list(row["producers"])) == ("orders", ["checkout (acks=1)"])
    assert ("stranded writes", row["said"]) in question_of(operator.plan).rows
    return dict(row)


def test_without_a_quorum_it_is_the_rate_times_the_time_since_the_newest_record(
    estates: Estates, tmp_path: Path
) -> None:
    """Of the partitions that are led there: nobody else has been elected."""
    operator = lost(estates, tmp_path, FORMED, 3.0)
    main = operator.estate.clusters["main"]
    there = sum(main.brokers[log.leader].dc == "dc1" for log in main.topics["orders"].logs)
    assert 0 < there < len(main.topics["orders"].logs)
    row = told(operator)
    assert row["records_per_s"] == 3.0 * there
    assert row["since_s"] == pytest.approx(20.0, abs=5.0)
    assert row["records"] >= 60 * there
    assert f"about {row['records']} by now, {3.0 * there:.1f} a second for" in row["said"]


def test_where_others_lead_by_now_the_rate_is_told_and_that_nobody_knows_since_when(
    estates: Estates, tmp_path: Path
) -> None:
    """Their newest records are of now."""
    row = told(lost(estates, tmp_path, CONTINUES, 3.0))
    assert (row["records"], row["since_s"]) == (None, None)
    assert "a second since the cut; when that was is not known, since others lead" in row["said"]


def test_where_nobody_tells_a_rate_the_number_is_unknown_and_why_is_told(
    estates: Estates, tmp_path: Path
) -> None:
    """It is named all the same: whose records, and of which topic."""
    row = told(lost(estates, tmp_path, FORMED, None))
    assert row["records"] is None
    assert row["said"].endswith(
        "how many is not known, since no broker elsewhere tells how fast orders was written"
    )


def test_who_waits_for_all_leaves_nothing_there(estates: Estates) -> None:
    """A leader that is cut off acknowledges nothing to it."""
    operator = estates.at_work(FORMED)
    operator.estate.lose("dc1")
    operator.estate.live(12)
    assert operator.go_on_without("dc1", lower_min_insync=("all",)).outcome == "ok"
    assert operator.plan is not None
    assert operator.plan.facts["stranded"] == []


def test_explain_tells_whose_records_those_would_be(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the round trip that acks=all would cost instead, by the file's links."""
    assert run(["explain", file_of(tmp_path, FORMED)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    expected = (
        "if dc1 is only cut off, leaders there acknowledge records of checkout (acks=1) to orders until"
    )
    assert expected in said
    assert "with acks=all each acknowledgement waits 2 ms at least, the round trip" in said
    assert "if dc2 is only cut off" not in said
