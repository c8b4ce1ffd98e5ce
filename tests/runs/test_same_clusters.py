"""The gate that asks whether each address leads where it led before, for every verb; and a person's word."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from orchestrator.errors import UsageError
from orchestrator.moves.fence import FenceRequest
from orchestrator.moves.fence_runbook import plan_fence, plan_unfence
from orchestrator.moves.request import SwitchoverRequest
from orchestrator.ports.part import Part
from orchestrator.runs.coordination_state import CoordinationState
from orchestrator.runs.overrides import overrides
from orchestrator.runs.plan import GateResult, Plan
from orchestrator.runs.same_clusters import accepted_clusters, same_clusters
from orchestrator.snapshot.observation import SourceProbe
from orchestrator.verbs.plans import plan_failback, plan_failover, plan_switchover
from tests.reconcile.estates import as_described, planned, with_cluster
from tests.verbs import failback_pictures, pictures
from tests.verbs.pictures import NOW_S, part
from tests.verbs.test_switchover import picture as both_sides

BOTH = {"west": "id-west", "east": "id-east"}


def judged(seen: Mapping[str, str], remembered: Mapping[str, str], *accepted: str) -> GateResult:
    state = CoordinationState(holder="", cluster_ids=remembered)
    return same_clusters(pictures.topology(), part(state), seen, accepted)


def test_what_is_remembered_is_the_same_and_what_is_not_is_seen_for_the_first_time() -> None:
    """Neither is in the way."""
    assert (judged(BOTH, BOTH).outcome, judged(BOTH, BOTH).reason) == (
        "ok",
        "west, east: same cluster ids as before",
    )
    first = judged(BOTH, {"west": "id-west"})
    assert (first.outcome, first.reason) == ("ok", "east: cluster id seen for the first time, now remembered")


def test_where_no_cluster_answers_nothing_was_compared() -> None:
    """It is in nobody's way: that nothing answers is for other gates. But it is not called the same."""
    silent = judged({}, BOTH)
    assert (silent.outcome, silent.reason) == ("ok", "no cluster answered, so no cluster id was compared")
    new = judged({}, {})
    assert (new.outcome, new.reason) == (
        "ok",
        "no cluster answered, so no cluster id was compared, and no id is remembered",
    )


def test_without_the_ensemble_the_gates_tell_what_they_know_from() -> None:
    """What they find there is what this machine has, no more; another machine may know of a move."""
    names = ("same-clusters", "needed", "not-flapping", "source-primary")
    known = "as far as this machine and its copy of the estate record show: "
    for alone, is_said in (("no answer", True), ("", False)):
        coordination = part(CoordinationState(holder="", alone=alone))
        seen = replace(pictures.observation(), coordination=coordination)
        plan = plan_failover(pictures.topology(), seen, replace(pictures.REQUEST, without_coordination=True))
        gates = {gate.id: gate for gate in plan.gates if gate.id in names}
        assert {gate.outcome for gate in gates.values()} == {"ok"}
        assert [gates[name].reason.startswith(known) for name in names] == [is_said] * len(names)


def test_another_cluster_is_refused_until_a_person_says_that_this_one_is_right() -> None:
    """Of any other the word says nothing."""
    seen = {**BOTH, "west": "id-new"}
    gate = judged(seen, BOTH)
    assert gate.outcome == "refused"
    assert gate.reason == "west is another cluster than before: its id is id-new, and was id-west"
    assert "--accept-cluster west=id-new" in gate.hint
    accepted = judged(seen, BOTH, "west=id-new")
    assert (accepted.outcome, accepted.reason) == ("ok", "west: accepted as another cluster than before")
    assert judged(seen, BOTH, "west=id-newer").outcome == "refused"
    assert judged(seen, BOTH, "east=id-new").outcome == "refused"


def test_two_names_of_one_cluster_are_refused_whatever_a_person_says() -> None:
    """Seen side by side, or one of them remembered under the other name."""
    for seen, remembered in (
        ({"west": "id-one", "east": "id-one"}, {}),
        ({"west": "id-east"}, {"east": "id-east"}),
        ({"west": "id-east"}, BOTH),
    ):
        gate = judged(seen, remembered, *(f"{name}={found}" for name, found in seen.items()))
        assert gate.outcome == "refused"
        assert "are one and the same cluster" in gate.reason
        assert "correct `bootstrap`" in gate.hint


def test_clusters_that_have_changed_places_can_be_accepted() -> None:
    """Each is another one than before; both are there."""
    swapped = {"west": "id-east", "east": "id-west"}
    assert judged(swapped, BOTH).outcome == "refused"
    assert judged(swapped, BOTH, "west=id-east", "east=id-west").outcome == "ok"


def test_a_name_that_the_file_has_no_more_is_no_twin() -> None:
    """A renamed cluster is the one that it was."""
    assert judged({"west": "id-old"}, {"formerly": "id-old"}).outcome == "ok"


def test_a_cluster_that_tells_no_id_is_unknown() -> None:
    """So is everything where the memory cannot be read."""
    assert judged({"west": ""}, BOTH).outcome == "unknown"
    away: Part[CoordinationState] = Part("coordination", NOW_S, None, "no answer")
    gate = same_clusters(pictures.topology(), away, BOTH)
    assert (gate.outcome, gate.reason) == ("unknown", "coordination: no answer")


def _remembering(remembered: Mapping[str, str]) -> Part[CoordinationState]:
    return part(CoordinationState(holder="", cluster_ids=remembered))


def _failover(remembered: Mapping[str, str], accepted: tuple[str, ...]) -> Plan:
    seen = replace(pictures.observation(), coordination=_remembering(remembered))
    return plan_failover(pictures.topology(), seen, replace(pictures.REQUEST, accept_cluster=accepted))


def _switchover(remembered: Mapping[str, str], accepted: tuple[str, ...]) -> Plan:
    both = both_sides()
    seen = replace(both, coordination=_remembering(remembered))
    request = SwitchoverRequest(to="east", accept_cluster=accepted)
    return plan_switchover(pictures.topology(), seen, request)


def _failback(remembered: Mapping[str, str], accepted: tuple[str, ...]) -> Plan:
    seen = failback_pictures.picture()
    known = seen.coordination.value
    assert known is not None
    coordination = part(replace(known, cluster_ids=remembered))
    seen = replace(seen, coordination=coordination)
    request = replace(failback_pictures.REQUEST, accept_cluster=accepted)
    return plan_failback(failback_pictures.topology(), seen, request)


def _fencing(
    make: Callable[..., Plan],
) -> Callable[[Mapping[str, str], tuple[str, ...]], Plan]:
    def plan(remembered: Mapping[str, str], accepted: tuple[str, ...]) -> Plan:
        seen = pictures.of_a_fence("east", _remembering(remembered))
        request = FenceRequest(cluster="east", accept_cluster=accepted)
        return make(pictures.topology(), seen, request)

    return plan


def _apply(remembered: Mapping[str, str], accepted: tuple[str, ...]) -> Plan:
    topology = pictures.topology()
    return planned(
        topology,
        as_described(topology),
        coordination=_remembering(remembered),
        request={"accept_cluster": list(accepted)},
    )


@pytest.mark.parametrize(
    "plan",
    [_failover, _switchover, _failback, _fencing(plan_fence), _fencing(plan_unfence), _apply],
    ids=["failover", "switchover", "failback", "fence", "unfence", "apply"],
)
def test_every_verb_asks_and_takes_the_word(
    plan: Callable[[Mapping[str, str], tuple[str, ...]], Plan],
) -> None:
    """East was another cluster; what is taken for right is remembered once the run begins."""

    def outcome(made: Plan) -> str:
        return next(gate.outcome for gate in made.gates if gate.id == "same-clusters")

    assert outcome(plan({}, ())) == "ok"
    known = plan(BOTH, ())
    assert (outcome(known), known.facts.get("cluster_ids")) == ("ok", None)
    assert outcome(plan({**BOTH, "east": "id-former"}, ())) == "refused"
    accepted = plan({**BOTH, "east": "id-former"}, ("east=id-east",))
    assert (outcome(accepted), accepted.facts["cluster_ids"]) == ("ok", {"east": "id-east"})
    (said,) = [each for each in overrides(accepted.request) if each.option == "--accept-cluster"]
    assert said.value == "east=id-east"


def test_a_move_between_two_names_of_one_cluster_is_refused() -> None:
    """The source answers with the id of the target."""
    probe = part(SourceProbe({"west:1": "yes"}, "", "id-east"))
    seen = pictures.with_cluster(both_sides(), "west", probe=probe)
    plan = plan_switchover(pictures.topology(), seen, SwitchoverRequest(to="east"))
    (gate,) = [gate for gate in plan.gates if gate.outcome != "ok"]
    assert (gate.id, gate.reason) == (
        "same-clusters",
        "west, east are one and the same cluster, with id id-east",
    )


def test_an_apply_to_another_empty_cluster_is_refused() -> None:
    """It would make everything there; drift says nothing of such a comparison."""
    topology = pictures.topology()
    other = with_cluster(as_described(topology), "west", cluster_id="id-other", topics={}, acls=frozenset())
    plan = planned(topology, other, topology, _remembering(BOTH))
    assert {gate.id for gate in plan.gates if gate.outcome == "refused"} == {"same-clusters"}


def test_the_word_names_a_cluster_of_the_file_and_an_id() -> None:
    """Anything else is a mistake."""
    topology = pictures.topology()
    assert accepted_clusters(topology, ["west=x", "east=y"]) == ("west=x", "east=y")
    for wrong in ("west", "west=", "north=x", "=x"):
        with pytest.raises(UsageError, match="expected NAME=ID"):
            accepted_clusters(topology, [wrong])
