"""A move that is done but for seeing who writes: it can be ended, or passed by a person's word, whatever is lost."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from orchestrator.errors import DcctlError, GateRefusedError
from orchestrator.runs.coordination_state import CoordinationState, EarlierRun, newest_move
from orchestrator.runs.engine import StepOutcome
from orchestrator.runs.live.earlier_runs import earlier_runs
from orchestrator.runs.live.ended import Ended
from orchestrator.runs.live.procedure import abort_procedure, resume_procedure, run_procedure
from orchestrator.runs.plan import GateResult, Plan
from orchestrator.snapshot.observation import SourceProbe
from orchestrator.snapshot.snapshot import Snapshot
from orchestrator.verbs.live.failback_procedure import FailbackProcedure
from orchestrator.verbs.live.failover_procedure import FailoverProcedure
from orchestrator.verbs.live.move_estate import Estate
from orchestrator.verbs.registration import EFFECTS
from tests.runs.any_world import AnyWorld
from tests.runs.memory_ensemble import MemoryEnsemble
from tests.verbs import failback_pictures, pictures
from tests.verbs.pictures import ABSENT, part, with_cluster, with_parts

FILE = pictures.topology()
WORD = "eve: their own logs show it"
UNSEEN = {
    "producers-write": StepOutcome("unknown", "nothing tells", {"producers": [], "not_seen": ["checkout"]})
}


@dataclass
class Estates:
    """What all moves find: one ensemble, and a world in which `fails` steps do not end well."""

    ensemble: MemoryEnsemble = field(default_factory=MemoryEnsemble)
    fails: dict[str, StepOutcome] = field(default_factory=dict)
    world: AnyWorld | None = None
    is_west_lost: bool = False

    def connections(self) -> Estate:
        return Estate(FILE, pictures.AHEAD, None, None, self.ensemble, "")  # type: ignore[arg-type]

    def known(self, own_run: str) -> Any:
        runs = earlier_runs(self.ensemble, FILE.name, without=own_run, effects=EFFECTS)
        return part(CoordinationState("", runs))

    def acts(self, plan: Plan) -> AnyWorld:
        effects = self.world.effects if self.world and self.world.plan == plan else set()
        self.world = AnyWorld(plan=plan, process="p", holder="p", fails=self.fails, effects=effects)
        return self.world

    def newest(self) -> EarlierRun:
        found = newest_move(earlier_runs(self.ensemble, FILE.name, effects=EFFECTS), "west", "east")
        assert found is not None
        return found


class Failback(FailbackProcedure):
    """On memory in place of servers."""

    def __init__(self, estates: Estates, acknowledge: str = "") -> None:
        super().__init__(FILE, replace(failback_pictures.REQUEST, acknowledge=acknowledge))
        self.estates = estates

    def open_estate(self) -> Estate:
        return self.estates.connections()

    def observe(self, estate: Estate, *, own_lock: bool, own_run: str) -> Snapshot:  # noqa: ARG002
        seen = replace(failback_pictures.picture(), coordination=self.estates.known(own_run))
        if not self.estates.is_west_lost:
            return seen
        return with_cluster(seen, "west", brokers=ABSENT, topics=ABSENT, log_ends=ABSENT, access=ABSENT)

    def actions(self, run: Any, plan: Plan, picture: Any) -> AnyWorld:  # noqa: ARG002
        return self.estates.acts(plan)


class Failover(FailoverProcedure):
    """On memory in place of servers."""

    def __init__(self, estates: Estates, acknowledge: str = "") -> None:
        super().__init__(FILE, replace(pictures.REQUEST, acknowledge=acknowledge))
        self.estates = estates

    def open_estate(self) -> Estate:
        return self.estates.connections()

    def observe(self, estate: Estate, *, own_lock: bool, own_run: str) -> Snapshot:  # noqa: ARG002
        seen = replace(pictures.observation(), coordination=self.estates.known(own_run))
        probe = part(SourceProbe({"west:1": "yes"}, "", "id-west"))
        return seen if self.estates.is_west_lost else with_parts(seen, source=probe)

    def actions(self, run: Any, plan: Plan, picture: Any) -> AnyWorld:  # noqa: ARG002
        return self.estates.acts(plan)


@pytest.fixture
def estates(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Estates:
    monkeypatch.setenv("DCCTL_STATE_DIR", str(tmp_path))
    return Estates()


def outcome_of(ended: Ended) -> str:
    assert ended.end is not None
    return ended.end.outcome


def gate(plan: Plan, gate_id: str) -> GateResult:
    return next(found for found in plan.gates if found.id == gate_id)


def failed_over(estates: Estates, fails: dict[str, StepOutcome]) -> Ended:
    estates.is_west_lost, estates.fails = True, fails
    return run_procedure(Failover(estates))


def failed_back(estates: Estates, fails: dict[str, StepOutcome]) -> Ended:
    """There well, and back with these failures; then west is lost again."""
    assert outcome_of(failed_over(estates, {})) == "ok"
    estates.is_west_lost, estates.fails = False, fails
    back = run_procedure(Failback(estates, WORD))
    estates.is_west_lost, estates.fails = True, {}
    return back


def test_back_unseen_and_lost_again_the_run_is_ended_though_its_target_is_gone(estates: Estates) -> None:
    """East is open by then, and nothing that is open works at west."""
    back = failed_back(estates, UNSEEN)
    assert outcome_of(back) == "unknown"
    assert estates.world is not None
    assert "open-standby" in estates.world.effects
    assert estates.newest().looks == ("producers-write",)
    ended = resume_procedure(Failback(estates), back.run_id, effects=EFFECTS)
    assert outcome_of(ended) == "ok"
    plan = Failover(estates).plan(Failover(estates).observe(estates.connections(), own_lock=True, own_run=""))
    assert gate(plan, "needed").outcome == "ok"


def test_back_unseen_and_lost_again_a_person_lets_the_failover_pass(estates: Estates) -> None:
    """It says how to end the earlier run, and how to pass it; what was passed is not gone on with."""
    back = failed_back(estates, UNSEEN)
    with pytest.raises(
        GateRefusedError, match=r"needed refused: .* has not completed producers-write"
    ) as refused:
        run_procedure(Failover(estates))
    for said in (f"dcctl resume {back.run_id} FILE --attest-writing checkout", "--acknowledge"):
        assert said in refused.value.hint
    again = run_procedure(Failover(estates, WORD))
    assert outcome_of(again) == "ok"
    assert again.plan.facts["passed"] == back.run_id
    for go_on in (resume_procedure, partial(abort_procedure, reason="eve: no")):
        with pytest.raises(GateRefusedError, match=f"overtaken: failover .*{again.run_id}"):
            go_on(Failback(estates), back.run_id, effects=EFFECTS)


@pytest.mark.parametrize("step", ["caught-up", "start-producers", "mirror-goes-on"])
def test_one_that_stopped_half_way_still_needs_its_sites_and_is_not_passed(
    estates: Estates, step: str
) -> None:
    """A person's word is for what was not seen, not for what was not done."""
    back = failed_back(estates, {**UNSEEN, step: StepOutcome("failed", "no")})
    assert estates.newest().looks == ()
    with pytest.raises(DcctlError, match="target-healthy"):
        resume_procedure(Failback(estates), back.run_id, effects=EFFECTS)
    with pytest.raises(GateRefusedError, match=r"needed refused: run .* stopped on the way"):
        run_procedure(Failover(estates, WORD))


def test_there_unseen_and_the_source_returns_the_run_is_ended(estates: Estates) -> None:
    """That the source answers again says nothing of who writes at the target."""
    over = failed_over(estates, UNSEEN)
    estates.is_west_lost, estates.fails = False, {}
    ended = resume_procedure(Failover(estates), over.run_id, effects=EFFECTS)
    assert outcome_of(ended) == "ok"


def test_there_unseen_the_way_back_is_open_to_a_persons_word(estates: Estates) -> None:
    """And to nobody without it."""
    over = failed_over(estates, UNSEEN)
    assert outcome_of(over) == "unknown"
    estates.is_west_lost, estates.fails = False, {}
    with pytest.raises(GateRefusedError, match=r"needed refused.*moved-away refused") as refused:
        run_procedure(Failback(estates))
    assert f"dcctl resume {over.run_id} FILE --attest-writing checkout" in refused.value.hint
    assert outcome_of(run_procedure(Failback(estates, WORD))) == "ok"


def test_the_same_move_is_not_made_twice_by_a_persons_word(estates: Estates) -> None:
    """Its consumers are at work there; their positions must not be written again."""
    over = failed_over(estates, UNSEEN)
    with pytest.raises(GateRefusedError, match="needed refused") as refused:
        run_procedure(Failover(estates, WORD))
    assert f"dcctl resume {over.run_id} FILE --attest-writing checkout" in refused.value.hint
    assert "--acknowledge" not in refused.value.hint


def test_killed_while_it_looked_it_is_done_but_for_that(estates: Estates) -> None:
    """Without an end in the journal too; and one that is being taken back is not."""
    over = failed_over(estates, UNSEEN)
    path = f"/dcctl/{FILE.name}/runs/{over.run_id}"
    names = estates.ensemble.names(path)
    del estates.ensemble.nodes[f"{path}/{names[-1]}"]
    assert (estates.newest().outcome, estates.newest().looks) == ("incomplete", ("producers-write",))
    with pytest.raises(GateRefusedError, match="cannot be rolled back"):
        abort_procedure(Failover(estates), over.run_id, reason="eve: no", effects=EFFECTS)
    started = [step.id for step in over.plan.steps if step.irreversible]
    abort_procedure(Failover(estates), over.run_id, reason="eve: no", effects=EFFECTS, leave=started)
    assert estates.newest().looks == ()
