"""The failover's own plan, killed at every point, in a world of plain values."""

from __future__ import annotations

from dataclasses import dataclass, field

from orchestrator.mirrors.mirrormaker2.connectors import connector_names
from orchestrator.runs.engine import Results, StepOutcome
from orchestrator.runs.plan import Step
from orchestrator.verbs.plans import plan_failover
from tests.runs.any_world import AnyWorld, kept
from tests.runs.crashes import ABORT, CrashingJournal, crash_everywhere, run_inline, stall_everywhere
from tests.verbs.known_names import assert_all_known
from tests.verbs.pictures import MIRROR, REQUEST, observation, topology

PLAN = plan_failover(topology(), observation(), REQUEST)


@dataclass
class World(CrashingJournal):
    """East, as far as a failover changes it.

    Records land until the mirror stops; `synced` are MirrorMaker's own offsets, `written` ours. Clients
    that are started read and write at once.
    """

    stopped: set[str] = field(default_factory=set)
    landed: int = 90
    offsets: str = "synced"
    saved: str = ""
    relocations: int = 0
    primary: str = "west"
    running: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def perform(self, step: Step, results: Results) -> StepOutcome:
        self.point()
        result = getattr(self, "_" + step.action.replace("-", "_"))(step, results)
        self.point()
        return StepOutcome("ok", result=result)

    def verify(self, step: Step, _results: Results) -> StepOutcome:
        self.point()
        is_there = {
            "stop-connectors": set(step.arguments.get("connectors", ())) <= self.stopped,
            "write-offsets": self.offsets == "written",
            "record-primary-unless-back": self.primary == "east",
        }[str(step.verify)]
        return StepOutcome("ok" if is_there else "failed")

    def compensate(self, step: Step, _results: Results) -> StepOutcome:
        raise AssertionError(f"{step.id}: this run is never taken back")

    verify_undone = compensate

    def cancel(self) -> None: ...

    @property
    def is_stopped(self) -> bool:
        return connector_names(MIRROR).source in self.stopped

    def _await_standstill(self, _step: Step, _results: Results) -> dict[str, int]:
        if not self.is_stopped:
            self.landed = 100
        return {}

    def _stop_connectors(self, step: Step, _results: Results) -> dict[str, int]:
        if self.landed < 100:
            self.problems.append("the mirror was stopped before its records had landed")
        self.stopped |= set(step.arguments["connectors"])
        return {}

    def _record_ends(self, step: Step, _results: Results) -> dict[str, int]:
        if step.id == "record-mirrored-ends" and not self.is_stopped:
            self.problems.append("ends recorded while the mirror runs")
        if step.id == "record-landing-ends" and any(name.startswith("producer") for name in self.running):
            self.problems.append("landing ends recorded after producers had started")
        return {"end": self.landed}

    _record_landing = _record_ends

    def _record_left(self, _step: Step, _results: Results) -> dict[str, int]:
        if self.primary != "west":
            self.problems.append("how the logs stood was recorded after the other side was primary")
        return {}

    def _record_mirror_end(self, step: Step, results: Results) -> dict[str, int]:
        return self._record_ends(step, results)

    def _save_offsets(self, _step: Step, _results: Results) -> dict[str, str]:
        self.saved = self.offsets
        return {"offsets": self.offsets}

    def _translate_positions(self, _step: Step, results: Results) -> dict[str, int]:
        return {"upto": int(results["record-mirrored-ends"]["end"])}

    def _write_offsets(self, _step: Step, results: Results) -> dict[str, int]:
        if any(name.startswith("consumer") for name in self.running):
            self.problems.append("offsets written under running consumers")
        if results["save-offsets"]["offsets"] != "synced":
            self.problems.append("our own offsets were saved as what stood there before")
        self.offsets = "written"
        return {}

    def _relocate_checkpoint(self, _step: Step, _results: Results) -> dict[str, int]:
        if any(name.startswith("spark") for name in self.running):
            self.problems.append("a checkpoint was relocated under its running query")
        self.relocations = 1
        return {"from_batch": 7}

    def _record_primary_unless_back(self, step: Step, _results: Results) -> dict[str, int]:
        if self.running:
            self.problems.append("the target became primary after clients had started there")
        self.primary = str(step.arguments["primary"])
        return {}

    def _await_guards(self, _step: Step, _results: Results) -> dict[str, int]:
        if self.primary == "east":
            self.problems.append("the guards were asked when the target was primary already")
        return {}

    def _start_clients(self, step: Step, _results: Results) -> dict[str, int]:
        names = step.arguments["clients"]
        if self.primary != "east":
            self.problems.append("clients started at a side that is not primary")
        if names[0].startswith("consumer") and self.offsets != "written":
            self.problems.append("consumers started without their offsets")
        self.running += [name for name in names if name not in self.running]
        return {}

    def _await_landing_records(self, _step: Step, _results: Results) -> dict[str, int]:
        return {}

    _await_group_progress = _await_query_progress = _await_landing_records


def test_every_action_of_the_plan_is_known_to_the_runner() -> None:
    """Every step is an effect whose arguments fit."""
    assert_all_known(PLAN)


def test_killed_anywhere_and_taken_back_what_can_go_is_gone() -> None:
    """Once producers may have written at the target their way back is a failback; before, nothing stays."""

    def check(world: AnyWorld) -> None:
        assert world.problems == []
        assert world.left == kept(world)

    assert (
        crash_everywhere(PLAN, lambda: AnyWorld(plan=PLAN), check, second_every=23, second_undo=ABORT) > 100
    )


def test_stopped_for_long_and_overtaken_it_does_no_harm() -> None:
    """At most the call in flight takes effect late, and whoever took over ends the run."""

    def check(world: AnyWorld) -> None:
        assert [problem for problem in world.problems if "twice" not in problem] == []
        assert world.effects == {step.id for step in PLAN.steps}
        assert {step for who, step in world.made_by if who.startswith("late")} <= world.in_flight

    assert stall_everywhere(PLAN, lambda: AnyWorld(plan=PLAN), check) > 50


def test_killed_anywhere_and_resumed_a_failover_ends_as_if_undisturbed() -> None:
    """Killed twice, at every point in its turn: nothing is done out of order, and everything is done."""
    undisturbed = World()
    assert run_inline(PLAN, undisturbed).outcome == "ok"

    def check(world: World) -> None:
        assert world.problems == []
        assert sorted(world.running) == sorted(undisturbed.running)
        assert world.stopped == set(connector_names(MIRROR))
        assert (world.landed, world.offsets, world.saved) == (
            100,
            "written",
            "synced",
        )
        assert (world.relocations, world.primary) == (1, "east")
        assert world.records[-1].data["outcome"] == "ok"

    assert crash_everywhere(PLAN, World, check, second_every=13) > 300
