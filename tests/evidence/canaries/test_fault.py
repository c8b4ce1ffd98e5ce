"""The fault of a real run: attested and seen, never made up."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from orchestrator.evidence.canaries.fault import fault_of
from orchestrator.verbs.live.run_result import RunResult


def run(verb: str = "failover", *, seen_at_s: float | None = 1e9, reachable: str = "ok") -> RunResult:
    """A run that was commanded 90 s after the watcher's first failed look."""
    request: dict[str, Any] = {"by": "ann", "attested": ["west-1"]} if verb == "failover" else {"by": "ann"}
    return RunResult(
        run_id="r",
        outcome="ok",
        reason="",
        source="west",
        target="east",
        started_at_s=1e9 + 90,
        decided_at_s=1e9 + 95,
        ended_at_s=1e9 + 120,
        plan={"verb": verb, "request": request, "facts": {"source_failing_since_s": seen_at_s}},
        gates=[{"id": "source-unreachable", "outcome": reachable}],
        predicted={},
    )


def test_it_began_when_the_watcher_saw_it_and_a_person_attested_it() -> None:
    """From then to the command people were looking: a phase of its own."""
    fault = fault_of(run())
    assert fault.as_json() == {
        "kind": "attested by ann, seen by the watcher",
        "targets": ["west-1"],
        "started_at": 1e9,
        "verified": True,
    }
    assert fault.phases(run()) == [{"name": "attest", "seconds": 90.0, "started_at_s": 1e9}]
    assert [moment["name"] for moment in fault.timeline(run())][:2] == [
        "west seen failing by the watcher",
        "failover commanded",
    ]


def test_a_command_that_came_before_the_watchers_look_took_nobodys_time() -> None:
    """A person was faster; that is no phase of 0 seconds."""
    early = replace(run(seen_at_s=1e9 + 93), plan=run(seen_at_s=1e9 + 93).plan | {"created_at_s": 1e9 + 94})
    assert fault_of(early).phases(early) == []
    assert fault_of(early).clocks_disagree(early) == ""


def test_a_plan_cannot_know_what_was_seen_after_it() -> None:
    """Then the watcher's clock and the operator's disagree, and nothing is made of their difference."""
    done = replace(run(seen_at_s=1e9 + 200), plan=run(seen_at_s=1e9 + 200).plan | {"created_at_s": 1e9 + 94})
    assert fault_of(done).phases(done) == []
    assert "saw west fail 106.0 s after the plan was made" in fault_of(done).clocks_disagree(done)


def test_what_nobody_saw_begins_with_the_command() -> None:
    """And a source that answered was not verified to be gone."""
    fault = fault_of(run(seen_at_s=None, reachable="refused"))
    assert (fault.at_s, fault.is_verified) == (1e9 + 90, False)
    assert "not seen by a watcher" in fault.kind
    assert fault.phases(run(seen_at_s=None)) == []


def test_a_sick_site_is_one_of_which_that_was_seen() -> None:
    """It answers in part: that nothing answers is not asked of it."""
    left = run(reachable="unknown")
    left = replace(
        left,
        plan={**left.plan, "request": {"by": "ann", "attested": [], "sick": ["west-1"]}},
        gates=[{"id": "source-sick", "outcome": "ok"}],
    )
    fault = fault_of(left)
    assert (fault.kind, fault.targets) == ("degraded, attested by ann, seen by the watcher", ("west-1",))
    assert fault.is_verified


def test_a_planned_move_is_no_loss() -> None:
    """It is verified by having ended well."""
    fault = fault_of(run("switchover", seen_at_s=None))
    assert (fault.kind, fault.targets, fault.is_verified) == ("planned move", ("west",), True)
