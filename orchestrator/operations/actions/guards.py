"""Before a lost side's counterpart is recorded as primary: no broker of it may come up open any more."""

from __future__ import annotations

from orchestrator.engine import Results, StepOutcome
from orchestrator.operations.actions.primary import record_primary
from orchestrator.operations.guard_words import guards_said
from orchestrator.operations.session import Session
from orchestrator.operations.source_look import probe_source, words_of_guards
from orchestrator.planning.opening import source_back
from orchestrator.planning.guarding import WAITED_FOR_S
from orchestrator.planning.guards import may_open_yet, not_clear
from orchestrator.planning.plan import Step

# A broker that comes back closed takes connections a moment before it answers; its guard says so each second.
_COMES_UP_WITHIN_S = 8.0


def await_guards(session: Session, step: Step, _results: Results) -> StepOutcome:
    """Wait until no guard can have a broker on its way to open; at once where none has let one start.

    The intent of this step is in the journal, so from now on each guard that asks is told *closed*.
    """
    coordination, name = session.estate.coordination, str(step.arguments["cluster"])
    since_s = float(step.arguments["since_s"])
    if coordination is None:
        return StepOutcome("ok", "the guards were not asked: there is no ensemble")
    waited_for: dict[str, None] = {}
    unclear: tuple[str, ...] = ()

    def are_clear() -> bool:
        nonlocal unclear
        said = guards_said(coordination, session.topology.name, name)
        opening, unclear = may_open_yet(said, since_s), not_clear(said, since_s)
        waited_for.update(dict.fromkeys(word.server for word in opening))
        return not opening and not unclear

    is_clear = session.await_true(are_clear, WAITED_FOR_S, poll_s=0.5)
    if session.is_cancelled() and not is_clear:
        return StepOutcome("failed", "not waited for to the end: the run was interrupted")
    servers = ", ".join(waited_for)
    if not is_clear and unclear and step.arguments["must_be_clear"]:
        return StepOutcome("failed", f"{'; '.join(unclear)}: whether its broker may yet open cannot be told")
    if not waited_for:
        return StepOutcome("ok", f"no guard of {name} has let a broker start open since it was seen last")
    how = "closed now" if is_clear else f"{WAITED_FOR_S:g} s have passed: open by now, or never"
    return StepOutcome("ok", f"{servers} had been let start open; {how}", {"waited_for": list(waited_for)})


def record_primary_unless_back(session: Session, step: Step, results: Results) -> StepOutcome:
    """Look at the source once more; only if nothing of it lets applications in, write the record."""
    name = str(step.arguments["unless_back"])
    reason = ""

    def is_away() -> bool:
        nonlocal reason
        probe, closed = probe_source(session.servers, session.topology, name), ""
        coordination = session.estate.coordination
        if probe.listening and coordination is not None:
            _, closed = words_of_guards(session.servers, coordination, session.topology, name)
        reason = source_back(probe, closed)
        return not reason

    if session.await_true(is_away, _COMES_UP_WITHIN_S, poll_s=0.5):
        return record_primary(session, step, results)
    if session.is_cancelled():
        return StepOutcome("failed", "not recorded: the run was interrupted")
    return StepOutcome(
        "failed",
        f"{name} is not lost: {reason}. Nothing is recorded, and no application is started. Take the run "
        f"back: dcctl abort {session.run_id}; or stop what answers there and go on: "
        f"dcctl resume {session.run_id}",
    )
