"""A person's word that a site is down is good for one outage: by the order of what the watcher wrote, not by clocks."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import pytest

from orchestrator.runs.engine import state_from_journal
from orchestrator.runs.gate import GateResult
from orchestrator.runs.live.refusals import gates_to_go_on
from orchestrator.runs.overrides import SOURCE_LAST_PLACE, attested_down, is_attested
from orchestrator.runs.plan import Plan, RunEvent
from orchestrator.snapshot.samples import Round, SampleHistory
from orchestrator.verbs.plans import plan_failover
from tests.planning import pictures

SEEN_S = pictures.LOST_AT_S


def plan_of(samples: SampleHistory) -> Plan:
    """A failover as it is planned with these samples."""
    seen = pictures.with_parts(pictures.observation(), samples=pictures.part(samples))
    return plan_failover(pictures.topology(), seen, pictures.REQUEST)


def without_place(plan: Plan) -> Plan:
    """As a plan was before it told the place."""
    return replace(plan, facts={key: at for key, at in plan.facts.items() if key != SOURCE_LAST_PLACE})


def rounds(watcher: str, *, good_at_s: float, lost_at_s: float) -> tuple[Round, Round]:
    """One in which the source answered, and one in which it was away again, by that watcher's clock."""
    good = Round(watcher=watcher, begun_at_s=good_at_s, ended_at_s=good_at_s, outcome="good")
    lost = Round(
        watcher=watcher,
        begun_at_s=lost_at_s,
        ended_at_s=lost_at_s,
        outcome="failed",
        cause="refused",
        last_good_at_s=good_at_s,
        failing_since_s=lost_at_s,
    )
    return good, lost


def word(plan: Plan) -> RunEvent:
    """A word given at `resume`, when a plan was as this one."""
    (said,) = attested_down(["west"], "ada: looked", plan.facts)
    return RunEvent(run_id="r1", sequence=1, kind="override", at_s=0.0, data=said.as_json())


def asked(plan: Plan, fresh: Plan, down: Collection[str] = ()) -> GateResult:
    """The gate on the word, of a run of `plan` that is to go on as `fresh` finds things."""
    state = state_from_journal(plan, "r1", [])
    gates = gates_to_go_on(state, [], fresh, asked={"always", "to act"}, sites=["west"], down=down)
    return next(gate for gate in gates if gate.of_outage == "word")


@pytest.mark.parametrize("behind_s", [0.0, 60.0, 300.0])
def test_a_source_that_came_back_is_known_by_any_clock(behind_s: float) -> None:
    """A second watcher has seen it, whose clock is behind, or the same one's was set back."""
    begun = plan_of(pictures.history())
    again = rounds("other", good_at_s=SEEN_S + 5 - behind_s, lost_at_s=SEEN_S + 6 - behind_s)
    fresh = plan_of(pictures.history(*again))
    assert is_attested(begun, [], fresh.facts) is False
    gate = asked(begun, fresh)
    assert gate.outcome == "refused"
    assert "west came back, and answered until" in gate.reason
    assert "dcctl resume r1 FILE --attest-down west --reason TEXT" in gate.hint
    assert asked(begun, fresh, ["west"]).outcome == "ok"
    assert is_attested(begun, [word(fresh)], fresh.facts) is True


@pytest.mark.parametrize("ahead_s", [-300.0, -5.0, 5.0, 3600.0])
def test_a_word_stays_good_whatever_clock_a_later_watcher_has(ahead_s: float) -> None:
    """It has seen nothing but the same outage."""
    begun = plan_of(pictures.history())
    _, lost = rounds("other", good_at_s=SEEN_S - 1 + ahead_s, lost_at_s=SEEN_S + 5 + ahead_s)
    fresh = plan_of(pictures.history(lost))
    assert is_attested(begun, [], fresh.facts) is True
    assert asked(begun, fresh).outcome == "ok"


@pytest.mark.parametrize(("later_s", "is_good"), [(0.0, True), (1.5, True), (60.0, None), (-60.0, None)])
def test_without_a_place_clocks_tell_only_that_two_moments_are_one(
    later_s: float, is_good: bool | None
) -> None:
    """Of a journal that was begun by an earlier version."""
    begun = without_place(plan_of(pictures.history()))
    (seen_s,) = (at_s for name, at_s in begun.facts.items() if name == "source_last_seen_at_s")
    fresh = plan_of(pictures.history())
    fresh = replace(fresh, facts={**fresh.facts, "source_last_seen_at_s": seen_s + later_s})
    assert is_attested(begun, [], fresh.facts) is is_good
    gate = asked(begun, fresh)
    assert gate.outcome == ("ok" if is_good else "unknown")
    if not is_good:
        assert gate.reason == (
            "whether west has answered since west was attested to be down, the watcher's records do not tell"
        )
        assert "--attest-down west" in gate.hint


def test_a_samples_topic_that_was_made_anew_tells_nothing_of_an_earlier_word() -> None:
    """Its places begin at 0 again; nor does one that nobody has dated."""
    begun = plan_of(pictures.history())
    anew = SampleHistory()
    for sample in rounds("other", good_at_s=SEEN_S, lost_at_s=SEEN_S + 1):
        anew.add(sample)
    assert is_attested(begun, [], plan_of(anew).facts) is None
    assert is_attested(replace(begun, facts={}), [], begun.facts) is None
