"""Which gates have to hold as well when a run goes on: each says so itself."""

from __future__ import annotations

import pytest

from orchestrator.runs.gate import asked_again, gate_result
from orchestrator.runs.plan import GateResult
from tests.runs.test_any_exception import plans

ALWAYS = {"coordination", "not-held"}
TO_ACT = {
    "failover": {"attested", "same-clusters", "source-unreachable", "target-healthy", "mirror-controlled"},
    "sick": {"attested", "same-clusters", "target-healthy", "mirror-controlled"},
    "switchover": {"same-clusters", "target-healthy", "mirror-controlled", "fenceable"},
    "failback": {"same-clusters", "target-healthy", "standby-healthy", "fenceable"},
    "fence": {"same-clusters", "reachable"},
    "unfence": {"same-clusters", "reachable", "primary-here"},
    "apply": {"same-clusters", "moves-ended", "clusters-known"},
}


@pytest.mark.parametrize("verb", TO_ACT)
def test_the_same_are_asked_again_as_ever(verb: str) -> None:
    """The others judge what the run's own steps have changed, and would keep it from going on."""
    gates = plans()[verb].gates
    assert {gate.id for gate in gates if gate.asked_again == "always"} == ALWAYS
    assert {gate.id for gate in gates if gate.asked_again == "to act"} == TO_ACT[verb]


def test_whatever_a_gate_answers_it_says_whether_it_is_asked_again() -> None:
    """Also where it could not be measured, and where another gate answers for it."""

    @asked_again("always")
    def is_fed(outcome: str) -> GateResult:
        return gate_result("fed", outcome, "0 g", "100 g", "nobody was seen to eat")  # type: ignore[arg-type]

    assert [is_fed(said).asked_again for said in ("ok", "refused", "unknown")] == ["always"] * 3
    assert asked_again()(is_fed)("ok").asked_again == "to act"
    assert gate_result("fed", "ok", "", "", "").asked_again == "no"
