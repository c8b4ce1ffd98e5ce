"""Times out of service, from what was acknowledged and processed in each second."""

from __future__ import annotations

from typing import Any

from orchestrator.evidence.audit.clocks import ClockReading
from orchestrator.evidence.audit.figures import Unmeasured
from orchestrator.evidence.audit.inputs import AuditedConsumer, AuditedProducer, AuditedTopic, AuditInputs
from orchestrator.evidence.audit.timing import rto_part

FAULT_MS = 1_800_000_000_000
INPUTS = AuditInputs(
    ledgers="",
    source="west",
    target="east",
    bootstrap=("127.0.0.1:1",),
    client={},
    topics=tuple(
        AuditedTopic(name=name, mirrored=f"west.{name}", partitions=1) for name in ("orders", "payments")
    ),
    producers=(AuditedProducer(name="checkout", topics=("orders", "payments")),),
    consumers=(AuditedConsumer(name="billing", kind="group", topics=("orders",)),),
    fault_at_s=FAULT_MS / 1000,
    decided_at_s=FAULT_MS / 1000 + 5,
)
ORDERS, PAYMENTS = 0, 1


def acked(life: int, first_s: float, last_s: float, topic: int = ORDERS) -> dict[str, Any]:
    """Acknowledgements of checkout, in seconds after the fault."""
    times = {"first_ms": FAULT_MS + int(first_s * 1000), "last_ms": FAULT_MS + int(last_s * 1000)}
    return {"producer": 0, "life": life, "topic": topic, **times}


def processed(life: int, first_s: float, last_s: float) -> dict[str, Any]:
    """Records that billing processed, in seconds after the fault."""
    row = acked(life, first_s, last_s)
    return row | {"consumer": 0}


READ = [processed(1, -60, 0), processed(2, 20, 30)]


def measured(
    acks: list[dict[str, Any]], read: list[dict[str, Any]] | None = None, clocks: Any = None
) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """`rto` of the report, and the findings."""
    part, found = rto_part(
        INPUTS, acks, READ if read is None else read, {}, Unmeasured(), clocks=clocks or {}
    )
    return part, [tuple(finding) for finding in found]


def test_a_producer_is_back_when_each_of_its_topics_is_written() -> None:
    """The slowest topic counts."""
    before = [acked(1, -60, -1), acked(1, -60, -2, PAYMENTS)]
    part, findings = measured([*before, acked(2, 10, 30), acked(2, 15, 30, PAYMENTS)])
    assert part["per_topic"] == {"checkout": {"orders": 11.0, "payments": 17.0}}
    assert part["per_producer"] == {"checkout": 17.0}
    assert (part["seconds"], findings) == (20.0, [])


def test_a_producer_that_writes_one_of_two_topics_is_not_back() -> None:
    """Whoever reads the other one waits for ever."""
    before = [acked(1, -60, -1), acked(1, -60, -2, PAYMENTS)]
    part, _ = measured([*before, acked(2, 10, 30)])
    assert part["per_topic"] == {"checkout": {"orders": 11.0, "payments": None}}
    assert part["per_producer"] == {"checkout": None}


def test_a_client_that_never_came_back_is_named() -> None:
    """With None."""
    part, findings = measured([acked(1, -60, -1)], [processed(1, -60, -1)])
    assert (part["per_producer"], part["per_consumer"]) == ({"checkout": None}, {"billing": None})
    assert findings == []


def test_a_pause_below_zero_is_unknown_and_never_none() -> None:
    """The target's clock is 62 s slow: nothing is claimed of the pause, nor of the longest one."""
    part, findings = measured([acked(1, -60, 0), acked(2, -1, 30)])
    assert part["per_producer"] == {}
    assert part["seconds"] is None
    assert part["decision_to_first_ack_s"] is None
    assert {verdict for verdict, _ in findings} == {"unknown"}
    reasons = " ".join(reason for _, reason in findings)
    assert (
        "checkout: its first success in orders at east bears a time 1.000 s before its last one at west"
        in reasons
    )
    assert "the first acknowledgement at east bears a time 6.000 s before the decision to move" in reasons


def test_clocks_that_the_ledgers_compared_are_set_right() -> None:
    """True pause 61 s, although the target's clock is 62 s slow."""
    clocks = {
        ("producer", 0, 1): [ClockReading(FAULT_MS - 60_000, 0, 10)],
        ("producer", 0, 2): [ClockReading(FAULT_MS - 5_000, 62_000, 30)],
    }
    part, findings = measured([acked(1, -60, 0), acked(2, -1, 30)], clocks=clocks)
    assert part["per_producer"] == {"checkout": 61.0}
    assert part["clocks"]["checkout"] == {"before_s": 0.0, "after_s": 62.0, "plus_minus_s": 0.04}
    assert part["clocks"]["billing"] == {"before_s": None, "after_s": None, "plus_minus_s": None}
    assert all("decision" in reason for _, reason in findings)


def test_the_newest_comparison_before_a_moment_counts() -> None:
    """A clock that was put right in the meantime is believed from then on."""
    clocks = {
        ("producer", 0, 1): [
            ClockReading(FAULT_MS - 50_000, 9_000, 10),
            ClockReading(FAULT_MS - 10_000, 0, 10),
            ClockReading(FAULT_MS + 1_000, -9_000, 10),
        ],
        ("producer", 0, 2): [ClockReading(FAULT_MS + 12_000, 500, 10)],
    }
    part, _ = measured([acked(1, -60, 0), acked(2, 10, 30)], clocks=clocks)
    assert part["per_producer"] == {"checkout": 10.5}


def test_an_unsound_ledger_leaves_the_longest_pause_unknown() -> None:
    """It might have been that client's."""
    part, _ = rto_part(INPUTS, [], READ, {}, Unmeasured(producers=frozenset({0})), clocks={})
    assert (part["per_producer"], part["per_consumer"], part["seconds"]) == ({}, {"billing": 20.0}, None)
