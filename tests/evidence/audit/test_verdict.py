"""Each rule of the verdict, in a case where it fails."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from orchestrator.evidence.audit.result import AuditResult, Finding
from orchestrator.evidence.audit.verdict import judge

BOUNDS = {
    "orders": {
        "at_least": 10,
        "expected": 40,
        "at_most": 60,
        "rate_records_per_s": 50.0,
        "sample_age_s": 0.5,
        "flush_interval_s": 1.0,
    }
}


def good_parts() -> dict[str, Any]:
    """An audit in which everything is as it was stated."""
    topic = {
        "acked": 1000,
        "present": 970,
        "lost": {"tail": 30, "hole": 0},
        "quarantined": 0,
        "duplicates": 0,
        "reordered": 0,
        "indeterminate": {"present": 1, "absent": 4},
        "resent_copies": 0,
        "partitions": [],
    }
    landing = deepcopy(topic) | {"lost": {"tail": 0, "hole": 0}, "present": 1000}
    row = {
        "name": "billing",
        "kind": "group",
        "source": "west",
        "topic": "orders",
        "partition": 1,
        "source_offset": 500,
        "position_age_s": 0.4,
        "target_offset": 500,
        "exact": True,
        "reread": {"map": 0, "position_age": 3, "uncommitted": 2},
        "skipped": 0,
        "processed_but_lost": 7,
        "mirrormaker_reread": 90,
        "behind": 30,
        "target_topic": "west.orders",
        "reason": "",
    }
    query = {
        "query": "revenue",
        "batches_before": 9,
        "batches_after": 4,
        "state_rows": 100,
        "restart_s": {"session": 5.0, "first_batch": 2.0},
        "counts_match": True,
    }
    rto = {
        "seconds": 20.0,
        "per_producer": {"checkout": 18.0},
        "per_consumer": {"billing": 20.0},
        "limit_s": 120.0,
    }
    return {
        "clusters": {"west": {"topics": {"orders": topic}}, "east": {"topics": {"orders": landing}}},
        "consumers": [row],
        "spark": [query],
        "rto": rto,
    }


def verdict_of(
    parts: dict[str, Any], findings: tuple[Finding, ...] = (), **stated: Any
) -> tuple[str, list[str]]:
    """Judge parts, with everything stated as it should be unless told otherwise."""
    arguments: dict[str, Any] = {
        "predicted_loss": BOUNDS,
        "source": "west",
        "is_fault_verified": True,
        "is_drained": True,
    }
    return judge(AuditResult(**parts, findings=findings), **(arguments | stated))


def test_good_evidence_is_valid() -> None:
    """With no reasons."""
    assert verdict_of(good_parts()) == ("valid", [])


def _set(path: str, value: Any) -> dict[str, Any]:
    parts = good_parts()
    found: Any = parts
    *folders, last = path.split("/")
    for name in folders:
        found = found[int(name)] if isinstance(found, list) else found[name]
    found[last] = value
    return parts


TOPIC = "clusters/west/topics/orders"
LANDING = "clusters/east/topics/orders"


@pytest.mark.parametrize(
    ("path", "value", "verdict", "words"),
    [
        (f"{TOPIC}/lost", {"tail": 30, "hole": 1}, "invalid", "missing below the replicated position"),
        (f"{LANDING}/lost", {"tail": 0, "hole": 1}, "invalid", "orders of east"),
        (f"{TOPIC}/duplicates", 1, "invalid", "there more than once"),
        (f"{TOPIC}/reordered", 1, "invalid", "out of order"),
        (f"{TOPIC}/lost", {"tail": 61, "hole": 0}, "invalid", "more than predicted (60 at most)"),
        (f"{TOPIC}/lost", {"tail": 5, "hole": 0}, "invalid", "fewer than predicted (10 at least)"),
        (f"{TOPIC}/lost", {"tail": None, "hole": None}, "unknown", "not measured: lost.tail, lost.hole"),
        (f"{TOPIC}/acked", None, "unknown", "not measured: acked"),
        ("consumers/0/skipped", 3, "invalid", "billing at west.orders-1: 3 records skipped"),
        ("consumers/0/skipped", None, "unknown", "billing at west.orders-1: not measured: skipped"),
        ("consumers/0/reread/map", 2, "invalid", "was called exact"),
        ("consumers/0/reread/map", None, "unknown", "reread.map"),
        ("spark/0/counts_match", False, "invalid", "revenue: its counts by key differ"),
        ("spark/0/counts_match", None, "unknown", "were not compared"),
        ("rto/per_producer/checkout", None, "invalid", "checkout: not seen again"),
        ("rto/per_consumer/billing", None, "invalid", "billing: not seen again"),
        ("rto/per_consumer/billing", 130.0, "invalid", "only after 130.0 s"),
        ("consumers", [], "unknown", "no consumer was measured"),
        ("clusters", {}, "unknown", "nothing was acknowledged"),
        (f"{TOPIC}/acked", 0, "unknown", "orders of west: no record was acknowledged before the move"),
        (f"{LANDING}/acked", 0, "unknown", "orders of east: no record was acknowledged after the move"),
        (f"{LANDING}/unserved", 7, "invalid", "orders of east: 7 sends were refused or timed out"),
    ],
)
def test_a_rule_that_fails(path: str, value: Any, verdict: str, words: str) -> None:
    """One figure is wrong: the verdict follows, and the reason names the place."""
    found, reasons = verdict_of(_set(path, value))
    assert found == verdict
    assert any(words in reason for reason in reasons), reasons


@pytest.mark.parametrize(
    ("stated", "words"),
    [
        ({"is_fault_verified": False}, "not verified"),
        ({"is_fault_verified": None}, "not verified"),
        ({"is_drained": False}, "had not read to the end"),
        ({"is_drained": None}, "had not read to the end"),
        ({"predicted_reread": {"billing": None}}, "billing: the plan could not say how much"),
        ({"predicted_loss": {}}, "no loss was predicted"),
        ({"predicted_loss": {"orders": {"at_least": 0, "at_most": None}}}, "no loss was predicted"),
        ({"predicted_loss": {"orders": {"at_least": 0, "at_most": 40}}}, "how tight"),
    ],
)
def test_what_was_not_shown_is_unknown(stated: dict[str, Any], words: str) -> None:
    """An unverified, undrained or unpredicted drill is never valid."""
    found, reasons = verdict_of(good_parts(), **stated)
    assert found == "unknown"
    assert any(words in reason for reason in reasons), reasons


def test_a_prediction_that_is_too_wide_is_invalid() -> None:
    """At most may lie above the truth by rate × (age + flush interval) and no more."""
    bounds = deepcopy(BOUNDS)
    bounds["orders"]["at_most"] = 30 + 75 + 1
    assert verdict_of(good_parts(), predicted_loss=bounds) == ("valid", [])
    bounds["orders"]["at_most"] += 1
    found, reasons = verdict_of(good_parts(), predicted_loss=bounds)
    assert found == "invalid"
    assert "too wide" in reasons[0]


def test_what_the_mirror_copied_in_the_move_is_no_width() -> None:
    """Of a side that answers in part the prediction counts it, for nobody knows that it will be copied."""
    bounds = deepcopy(BOUNDS)
    bounds["orders"] |= {"at_most": 30 + 75 + 1 + 500, "to_be_copied_records": 500}
    assert verdict_of(good_parts(), predicted_loss=bounds) == ("valid", [])
    bounds["orders"]["at_most"] += 1
    found, reasons = verdict_of(good_parts(), predicted_loss=bounds)
    assert found == "invalid"
    assert "+ 500 to be copied" in reasons[0]


def test_indeterminate_records_give_slack_at_the_lower_end_only() -> None:
    """They may have been in the log whose end was sampled, but nobody was told about them."""
    assert verdict_of(_set(f"{TOPIC}/lost", {"tail": 6, "hole": 0}))[0] == "valid"
    assert verdict_of(_set(f"{TOPIC}/lost", {"tail": 61, "hole": 0}))[0] == "invalid"


def test_a_position_that_was_not_called_exact_may_read_again() -> None:
    """Then the plan had said so."""
    parts = _set("consumers/0/reread/map", 2)
    parts["consumers"][0]["exact"] = False
    assert verdict_of(parts)[0] == "valid"


def test_sends_that_the_fence_refused_at_the_source_are_as_they_should_be() -> None:
    """It is there to refuse them."""
    assert verdict_of(_set(f"{TOPIC}/unserved", 90))[0] == "valid"


def test_a_topic_that_was_not_written_again_is_named() -> None:
    """Its producer may be back in the others."""
    parts = _set("rto/per_producer/checkout", None)
    parts["rto"]["per_topic"] = {"checkout": {"orders": 3.0, "payments": None}}
    found, reasons = verdict_of(parts)
    assert (found, reasons) == ("invalid", ["checkout: not seen again in payments after the fault"])


def test_invalid_over_unknown_over_valid() -> None:
    """The gravest wins, and its reasons come first."""
    unknown, invalid = Finding("unknown", "could not read"), Finding("invalid", "it is wrong")
    assert verdict_of(good_parts(), (unknown,)) == ("unknown", ["could not read"])
    assert verdict_of(good_parts(), (unknown, invalid)) == ("invalid", ["it is wrong", "could not read"])


def test_the_places_of_an_anomaly_are_named() -> None:
    """Topic and partition, and the first record to look at."""
    parts = _set(f"{TOPIC}/lost", {"tail": 30, "hole": 2})
    anomaly = {"partition": 3, "topic": "west.orders", "tail": 0, "hole": 2, "duplicates": 0, "reordered": 0}
    parts["clusters"]["west"]["topics"]["orders"]["partitions"] = [
        anomaly | {"detail": "first at offset 17, checkout 90"}
    ]
    _, reasons = verdict_of(parts)
    assert "west.orders-3: 2, first at offset 17, checkout 90" in reasons[0]
