"""What a report is held against, what it does not prove, of which file it is, and which came before it."""

from __future__ import annotations

import hashlib
import json
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.evidence.report import in_its_folder, parse_report, write_report
from orchestrator.evidence.report.page import page
from orchestrator.evidence.report.recovery import objectives_part, recovery_part
from orchestrator.evidence.report.scope import canary_limits, is_on_this_machine, rehearsal_limits
from orchestrator.evidence.report.story import story
from orchestrator.evidence.report.summary import partitions_to_look_at
from orchestrator.evidence.report.tiles import missed, tiles
from orchestrator.simulation.backend import backend_named, limits_of
from orchestrator.topology.loading import load_topology
from orchestrator.topology.model import Objectives
from tests.drill.rehearsal import ROOT
from tests.evidence.report.report_samples import FAULT_S, valid_report
from tests.evidence.report.test_report_page import rendered

SMALL = load_topology(ROOT / "tests" / "faults" / "small.yaml")
CANARY = load_topology(ROOT / "tests" / "faults" / "canary.yaml")


def parts(**rto: Any) -> dict[str, Any]:
    """What an audit of one move came to."""
    lost = {"lost": {"tail": 30, "hole": 0}, "oldest_lost_at_s": FAULT_S - 2.5}
    return {
        "moves": [],
        "clusters": {
            "west": {"topics": {"orders": lost, "payments": {"lost": {"tail": 12, "hole": 0}}}},
            "east": {"topics": {"orders": {"lost": {"tail": 0, "hole": 0}}}},
        },
        "rto": {"seconds": 18.2, "per_producer": {"p": 9.0}, "per_consumer": {"c": 18.2}, "limit_s": 120.0}
        | rto,
    }


def test_recovery_is_the_longest_outage_and_the_oldest_lost_record() -> None:
    """RTO by the slowest client; RPO in records, and in seconds before the fault."""
    assert recovery_part(parts(), "west", FAULT_S) == {"rto_s": 18.2, "rpo_records": 42, "rpo_s": 2.5}


def test_what_was_not_measured_is_no_recovery() -> None:
    """A client that never came back, a topic that was not read: not 0, and not what the others took."""
    found = parts(per_consumer={"c": None})
    found["clusters"]["west"]["topics"]["orders"]["lost"]["tail"] = None
    assert recovery_part(found, "west", FAULT_S) == {"rto_s": None, "rpo_records": None, "rpo_s": None}


def test_nothing_lost_is_a_recovery_point_of_zero() -> None:
    """In records and in seconds."""
    found = parts()
    found["clusters"]["west"]["topics"] = {"orders": {"lost": {"tail": 0, "hole": 0}}}
    assert recovery_part(found, "west", FAULT_S)["rpo_s"] == 0.0


def test_there_and_back_the_worst_loss_counts() -> None:
    """What arrived only after the return was not there for whoever worked at the other side."""
    moves = [
        {"verb": verb, "late": late, "pause_s": 7.0, "consumer_pause_s": pause}
        for verb, late, pause in (("failover", 301, 9.0), ("failback", 0, 18.0), ("failover", 320, 8.0))
    ]
    topics = {"topics": {"orders": {"lost": {"tail": 0, "hole": 0}}}}
    found = {"moves": moves, "clusters": {"west": topics, "east": topics}, "rto": {"seconds": 18.0}}
    assert recovery_part(found, "west", FAULT_S) == {"rto_s": 18.0, "rpo_records": 320, "rpo_s": None}


@pytest.mark.parametrize(
    ("objective", "rto", "outcome"),
    [
        (20.0, {}, "met"),
        (18.2, {}, "met"),
        (18.0, {}, "missed"),
        (60.0, {"per_consumer": {"c": None}}, "missed"),
        (600.0, {"per_consumer": {"c": None}}, "not measured"),
    ],
)
def test_an_objective_is_met_missed_or_not_measured(
    objective: float, rto: dict[str, Any], outcome: str
) -> None:
    """A client that was waited for longer than the objective has missed it, figure or not."""
    found = parts(**rto)
    recovery = recovery_part(found, "west", FAULT_S)
    judged = objectives_part(Objectives(rto_s=objective), recovery, found["rto"])
    assert judged["rto_s"]["outcome"] == outcome
    assert list(judged) == ["rto_s"], "only what the file states"
    assert objectives_part(None, recovery, found["rto"]) == {}


def held_against(**objectives: dict[str, Any]) -> dict[str, Any]:
    return valid_report() | {
        "recovery": {"rto_s": 19.7, "rpo_records": 1_312, "rpo_s": 1.2},
        "objectives": objectives,
    }


def test_a_missed_objective_stands_beside_the_verdict_and_does_not_change_it() -> None:
    """In the head of the page, in its tile, in the table of objectives."""
    data = held_against(
        rto_s={"objective": 15.0, "measured": 19.7, "outcome": "missed"},
        rpo_records={"objective": 2_000.0, "measured": 1_312, "outcome": "met"},
    )
    report = parse_report(data)
    assert report.verdict == "valid"
    assert missed(report) == ("RTO, recovery time: 19.7\u00a0s, and 15.0\u00a0s was the objective",)
    shown = rendered(data)
    assert "Objective missed. RTO, recovery time: 19.7 s, and 15.0 s was the objective." in shown.text
    (outage,) = [tile for tile in tiles(report) if "RTO" in tile.label]
    assert (outage.tone, outage.warnings) == (
        "bad",
        ("RTO 19.7\u00a0s: the objective, 15.0\u00a0s, is missed",),
    )
    assert "– none stated" in shown.text, "no objective for RPO in seconds"


def test_the_page_says_what_it_does_not_prove_and_who_ran_it() -> None:
    """And that it is a simulation, in its head."""
    data = valid_report() | {
        "simulation": True,
        "does_not_prove": ["No network took part."],
        "responsible": {
            "who": "ada",
            "host": "ops-1",
            "reason": "spring drill",
            "approval": "nobody was asked",
        },
        "topology_file": {"name": "topology.yaml", "sha256": "ab" * 32},
    }
    text = rendered(data).text
    assert "Simulation · payments" in text
    assert "What this does not prove No network took part." in text
    assert "ada on ops-1" in text
    assert "ab" * 32 in text


def test_limits_are_those_of_what_was_run() -> None:
    """No stall of the mirror is told where none was done, no lost site where a move was planned."""
    asked = {"backend_limits": limits_of(backend_named("process")), "rate_records_per_s": 300.0}
    lost = rehearsal_limits(SMALL, **asked, mirror_stall_s=1.0, is_planned=False, returns=True)
    assert "one machine" in lost[0]
    assert any("stopped on purpose for the last 1 s" in line for line in lost)
    assert any("came back whole" in line for line in lost)
    assert any("states none (failover.objectives)" in line for line in lost)
    planned = rehearsal_limits(SMALL, **asked, mirror_stall_s=1.0, is_planned=True, returns=False)
    assert not any("on purpose" in line or "lost at once" in line or "came back" in line for line in planned)
    stated = replace(SMALL, failover=replace(SMALL.failover, objectives=Objectives(rto_s=60.0)))
    last = rehearsal_limits(stated, **asked, mirror_stall_s=0.0, is_planned=False, returns=False)[-1]
    assert "states none" not in last


def test_limits_of_a_real_run_are_those_of_canaries() -> None:
    """One whose servers are all on this machine is called a simulation all the same."""
    real = canary_limits(CANARY, canaries=["canary-writer"], unmeasured=5, is_failover=True)
    assert real[0].startswith("Canaries are not the applications. What canary-writer went through")
    assert any(line.startswith("5 topics and consumers moved") for line in real)
    assert not is_on_this_machine(CANARY), "a file without addresses says nothing"
    west = replace(CANARY.clusters["west"], bootstrap=("127.0.0.1:1", "localhost:2", "[::1]:3"))
    assert is_on_this_machine(replace(CANARY, clusters={"west": west}))
    away = replace(west, bootstrap=("127.0.0.1:1", "broker.example:9092"))
    assert not is_on_this_machine(replace(CANARY, clusters={"west": away}))


def test_the_topology_file_lies_beside_the_report_byte_for_byte(tmp_path: Path) -> None:
    """With its digest in the report, also where its lines end as on Windows."""
    file, folder = tmp_path / "mine.yaml", tmp_path / "drills" / "one"
    file.write_bytes(b"version: 1\r\nname: \xc3\xa9\r\n")
    data = in_its_folder(valid_report(), folder, file.read_bytes())
    assert (folder / "topology.yaml").read_bytes() == file.read_bytes()
    assert data["topology_file"] == {
        "name": "topology.yaml",
        "sha256": hashlib.sha256(file.read_bytes()).hexdigest(),
    }


def test_earlier_reports_beside_it_are_a_trend(tmp_path: Path) -> None:
    """Of a topology of this name, from before, and whether the file is the same; others and broken ones are not."""
    file = tmp_path / "mine.yaml"
    file.write_text("version: 1\n", encoding="utf-8")

    def drilled(name: str, **changes: Any) -> dict[str, Any]:
        folder = tmp_path / "drills" / name
        data = in_its_folder(deepcopy(held_against()) | changes, folder, file.read_bytes())
        write_report(data, folder)
        return data

    drilled("a", started_at="2026-01-01T00:00:00Z")
    drilled("other", started_at="2026-01-02T00:00:00Z", topology="other")
    file.write_text("version: 1\n# changed\n", encoding="utf-8")
    drilled("b", started_at="2026-02-01T00:00:00Z")
    drilled("later", started_at="2027-01-01T00:00:00Z")
    (tmp_path / "drills" / "broken").mkdir()
    (tmp_path / "drills" / "broken" / "report.json").write_text("{", encoding="utf-8")
    now = drilled("c")
    assert [(row["folder"], row["is_same_file"]) for row in now["earlier"]] == [("a", False), ("b", True)]
    assert now["earlier"][0]["rto_s"] == 19.7
    text = rendered(now).text
    assert "Earlier reports beside this one" in text
    assert "2026-01-01 00:00:00 UTC site-loss, kill, valid; another version of it" in text
    stored = json.loads((tmp_path / "drills" / "c" / "report.json").read_text(encoding="utf-8"))
    assert len(stored["earlier"]) == 2
    assert "Earlier reports" not in page(parse_report(valid_report()))


def test_a_loss_is_a_share_of_what_the_lost_side_had_acknowledged() -> None:
    """However long one waits after the move, and however much is acknowledged then."""
    data = valid_report()
    data["predicted"]["source"] = "west"
    west = data["clusters"]["west"]["topics"]
    before = sum(topic["acked"] for topic in west.values())
    share = f"({100 * 1_312 / before:.2f}\u00a0% of what west had acknowledged)"
    assert share in story(parse_report(data))
    landed = deepcopy(west["orders"]) | {
        "acked": 10_000_000,
        "present": 10_000_000,
        "lost": {"tail": 0, "hole": 0},
    }
    data["clusters"]["east"] = {"topics": {"orders": landed | {"partitions": []}}}
    said = story(parse_report(data))
    assert share in said
    assert f"in 2\u00a0topics: {before:,}".replace(",", "\u202f") in said


def test_a_tail_alone_is_no_partition_to_look_at() -> None:
    """Its topic is judged against the prediction; what is missing below, twice or out of order is named."""
    data = valid_report()
    data["clusters"]["west"]["topics"]["orders"]["partitions"] = [
        {"partition": 0, "tail": 96},
        {"partition": 1, "tail": 93, "duplicates": 2, "detail": "first twice at offset 7"},
    ]
    report = parse_report(data)
    assert [one.partition for _, one in partitions_to_look_at(report)] == [1]
    assert "west.orders-0" not in rendered(data).text


def test_the_chart_of_losses_names_the_cluster_in_every_row() -> None:
    """Two topics of one name are told apart."""
    data = valid_report()
    data["clusters"]["east"] = deepcopy(data["clusters"]["west"])
    chart = page(parse_report(data)).split('<table class="bars bullets">')[1].split("</table>")[0]
    assert chart.count('<span class="kind">west</span>') == chart.count('<span class="kind">east</span>') == 2
