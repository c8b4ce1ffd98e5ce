"""What a report takes from the run itself."""

from __future__ import annotations

from dataclasses import asdict

from orchestrator.applications.producers.record_writers import Confirmation
from orchestrator.evidence.report.run_parts import first_record_moments
from orchestrator.verbs.live.run_result import RunResult

_STARTED_AT_S = 1_790_000_000.0


def test_the_first_record_of_each_producer_is_a_moment_and_who_was_not_seen_has_none() -> None:
    """Nor has one whose clock is of another year."""
    rows = [
        Confirmation(producer="checkout", outcome="seen", at_s=_STARTED_AT_S + 4.5),
        Confirmation(producer="legacy", outcome="seen", at_s=12.0),
        Confirmation(producer="cashier", outcome="not-seen"),
    ]
    run = RunResult(
        run_id="r",
        outcome="unknown",
        reason="",
        source="west",
        target="east",
        started_at_s=_STARTED_AT_S,
        decided_at_s=_STARTED_AT_S + 1,
        ended_at_s=_STARTED_AT_S + 70,
        plan={},
        gates=[],
        predicted={},
        producers=[asdict(row) for row in rows],
    )
    assert first_record_moments(run) == [
        {"at_s": _STARTED_AT_S + 4.5, "name": "first record of checkout at east", "kind": "event"}
    ]
