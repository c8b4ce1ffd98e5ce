"""Mirror connectors: set up, running, or gone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from orchestrator.engine import Results, StepOutcome
from orchestrator.moves.acting import step_outcome
from orchestrator.moves.asking import ask_connect
from orchestrator.operations.layout.session import LayoutCluster, LayoutSession
from orchestrator.planning.layout.observed import ObservedConnector
from orchestrator.planning.plan import Step

# A connector that has failed may just be starting anew: it has failed if it stays so.
_FAILED_POLLS = 15
# Workers show what they were asked for a moment later. What is not there by then was never asked for: whoever
# was killed before it resumes without waiting for the whole step.
_SETTLE_S = 10.0
_SETTLE_POLLS = 50
_NOT_ASKED = ("missing", "set up otherwise")


def configure_connectors(session: LayoutSession, step: Step, _results: Results) -> StepOutcome:
    """Create what is not there, running; give the others this configuration."""
    return _for_each(
        session, step, lambda cluster, name, wanted: cluster.configure_connector(name, wanted["config"])
    )


def resume_connectors(session: LayoutSession, step: Step, _results: Results) -> StepOutcome:
    """Let halted ones run."""
    return _for_each(session, step, lambda cluster, name, _: cluster.resume_connector(name))


def restart_connectors(session: LayoutSession, step: Step, _results: Results) -> StepOutcome:
    """Start failed ones anew."""
    return _for_each(session, step, lambda cluster, name, _: cluster.restart_connector(name))


def delete_connectors(session: LayoutSession, step: Step, _results: Results) -> StepOutcome:
    """Remove them; Connect keeps their offsets."""
    return _for_each(session, step, lambda cluster, name, _: cluster.delete_connector(name))


def connectors_run(session: LayoutSession, step: Step, _results: Results) -> StepOutcome:
    """Each is RUNNING as the step says, with all its tasks."""
    cluster = session.at(step.arguments["cluster"])
    waiting: dict[str, str] = {}
    failed: dict[str, int] = {}
    not_asked: dict[str, int] = {}

    def all_run() -> bool:
        found = cluster.connectors()
        waiting.clear()
        for name, wanted in _connectors(step).items():
            said = _not_running(wanted, found.get(name))
            if said:
                waiting[name] = said
            failed[name] = failed.get(name, 0) + 1 if said == "FAILED" else 0
            not_asked[name] = not_asked.get(name, 0) + 1 if said in _NOT_ASKED else 0
        return (
            not waiting
            or any(count > _FAILED_POLLS for count in failed.values())
            or any(count > _SETTLE_POLLS for count in not_asked.values())
        )

    session.await_true(all_run, step.timeout_s)
    if not waiting:
        return StepOutcome("ok", f"{len(_connectors(step))} run")
    return StepOutcome("failed", ", ".join(f"{name} is {said}" for name, said in sorted(waiting.items())))


def connectors_are_gone(session: LayoutSession, step: Step, _results: Results) -> StepOutcome:
    """None of them is there any more."""
    cluster = session.at(step.arguments["cluster"])
    names = set(_connectors(step))
    if session.await_true(lambda: not names & cluster.connectors().keys(), _SETTLE_S):
        return StepOutcome("ok")
    return StepOutcome("failed", f"still there: {', '.join(sorted(names & cluster.connectors().keys()))}")


def _for_each(
    session: LayoutSession, step: Step, do: Callable[[LayoutCluster, str, Mapping[str, Any]], None]
) -> StepOutcome:
    cluster, wanted = session.at(step.arguments["cluster"]), _connectors(step)
    found = ask_connect(session, wanted, lambda name: do(cluster, name, wanted[name]), step.timeout_s / 2)
    return step_outcome(found, None)


def _not_running(wanted: Mapping[str, Any], found: ObservedConnector | None) -> str:
    if found is None:
        return "missing"
    if "config" in wanted and dict(found.config) != wanted["config"]:
        return "set up otherwise"
    if "FAILED" in (found.state, *found.tasks):
        return "FAILED"
    if found.state != "RUNNING":
        return found.state
    if not found.tasks and not wanted["may_lack_tasks"]:
        return "without tasks"
    return next((task for task in found.tasks if task != "RUNNING"), "")


def _connectors(step: Step) -> Mapping[str, Mapping[str, Any]]:
    connectors: Mapping[str, Mapping[str, Any]] = step.arguments["connectors"]
    return connectors
