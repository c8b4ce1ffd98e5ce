"""What an apply keeps from working is told by whoever reads its run, as for a move: show, abort, a result."""

from __future__ import annotations

import io
from collections.abc import Callable

import pytest
from rich.console import Console

from orchestrator import __version__
from orchestrator.cli.failover_view import render_undo
from orchestrator.reconcile.connectors import ResumeHalted
from orchestrator.runs.effect import Effect, Held
from orchestrator.runs.engine import state_from_journal
from orchestrator.runs.plan import Plan, RunEvent, to_json
from orchestrator.verbs.registration import EFFECTS
from orchestrator.verbs.run_story import run_story
from tests.reconcile.test_apply_crashes import WORLDS, World, a_dropped_mirror
from tests.runs.crashes import run_inline, run_until
from tests.verbs.known_names import OF_APPLIES_ONLY


def what_is_there(world: World) -> set[tuple[str, str, str]]:
    """Of what an apply may take away: subject, state and cluster once it is gone, by the clusters' own word."""
    found: set[tuple[str, str, str]] = set()
    for name, cluster in world.clusters.items():
        found |= {(connector, "deleted", name) for connector in cluster.connectors()}
        found |= {(f"topic {topic}", "deleted", name) for topic in cluster.picture.topics}
        found |= {
            (
                f"{r.principal} {r.operation} on {r.resource_type.lower()} {r.resource_name}",
                "not allowed",
                name,
            )
            for r in cluster.acls()
        }
    return found


def records_of(plan: Plan, world: World) -> list[RunEvent]:
    """The run's journal with its first record, which whoever starts a run writes."""
    about = {"plan": to_json(plan), "verb": plan.verb, "dcctl_version": __version__}
    first = RunEvent(run_id="run-1", sequence=0, kind="run-started", at_s=1.0, data=about)
    return [first, *world.records]


@pytest.mark.parametrize("new_world", [*WORLDS, a_dropped_mirror])
def test_killed_anywhere_it_tells_what_it_holds(new_world: Callable[[], World]) -> None:
    """Whatever is gone is told, surely or maybe; and what is told surely is gone."""
    undisturbed = new_world()
    before, plan = what_is_there(undisturbed), undisturbed.plan()
    assert run_inline(plan, undisturbed).outcome == "ok"
    for crash_at in range(1, undisturbed.points + 1):
        world = new_world()
        assert run_until(plan, world, crash_at)
        gone = before - what_is_there(world)
        story = run_story(records_of(plan, world))
        told = {(row["subject"], row["state"], row["cluster"]): row["surely"] for row in story["held"]}
        assert gone <= told.keys()
        assert {held for held, surely in told.items() if surely} <= gone
        assert bool(story["where_now"]) == bool(told)
        asked = io.StringIO()
        state = state_from_journal(plan, "run-1", world.records)
        render_undo(state, Console(file=asked, width=10_000), EFFECTS, full=True)
        assert story["where_now"] in asked.getvalue()


def test_between_them_these_applies_have_every_effect_that_holds() -> None:
    """A new one is held to the same."""
    made = {step.action for world in (*WORLDS, a_dropped_mirror) for step in world().plan().steps}
    holding = {e.NAME for e in OF_APPLIES_ONLY if e.holds is not Effect.holds}
    assert holding
    assert holding <= made


def test_connectors_that_are_resumed_are_stopped_no_more() -> None:
    """Also those that a move has stopped."""
    wanted = {"west-to-east-source": {"source": "west", "may_lack_tasks": False, "is_configured": False}}
    (held,) = ResumeHalted(cluster="east", connectors=wanted).frees()
    assert held == Held("west-to-east-source", "stopped", "east")
