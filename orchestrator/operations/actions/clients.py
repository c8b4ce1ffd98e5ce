"""Stopping and starting applications, and seeing them at work at the target."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from orchestrator.engine import Results, StepOutcome
from orchestrator.operations.actions.declaring import freeing, holding, look, stopped_clients
from orchestrator.operations.session import Session
from orchestrator.planning.offsets_json import offsets_from_json
from orchestrator.planning.plan import Step


@freeing(stopped_clients)
def start_clients(session: Session, step: Step, _results: Results) -> StepOutcome:
    """Start them at the target. Those that run already are left alone."""
    return _run_clients(session, step, "start", session.estate.mirror.target, step.id)


@holding(stopped_clients)
def stop_clients(session: Session, step: Step, _results: Results) -> StepOutcome:
    """Stop them at the step's cluster, cleanly. Those that do not run are left alone."""
    return _run_clients(session, step, "stop", str(step.arguments["cluster"]), step.id)


def start_clients_again(session: Session, step: Step, _results: Results) -> StepOutcome:
    """Start at the step's cluster what was stopped there."""
    found = _run_clients(session, step, "start", str(step.arguments["cluster"]), f"undo-{step.id}")
    if "left_out" not in found.result:
        return found
    # As long as one of them stands still it is not taken back; who works again is no concern of anybody.
    return StepOutcome("failed", f"no host has started {', '.join(found.result['left_out'])}", found.result)


def _run_clients(
    session: Session, step: Step, doing: Literal["start", "stop"], cluster: str, name: str
) -> StepOutcome:
    """One playbook run for all of them.

    Ansible is content with hosts that do nothing; a client counts only if one of its hosts did.
    """
    topology = session.topology
    clients = list(step.arguments["clients"])
    datacenters = topology.clusters[cluster].datacenters
    at_work = session.servers.playbooks.run(
        f"{doing}-clients.yml",
        inventory=Path(topology.inventory or ""),
        variables={"datacenters": list(datacenters), "clients": clients},
        folder=session.folder / "playbooks" / name,
        timeout_s=step.timeout_s,
        is_cancelled=session.is_cancelled,
    )
    known = session.observation.inventory.value
    hosts = [host for host in known or () if host.name in at_work]
    left_out = [client for client in clients if not any(host.runs(client, datacenters) for host in hosts)]
    result: dict[str, Any] = {"clients": clients, "hosts": sorted(at_work)}
    done = {"start": "started", "stop": "stopped"}[doing]
    if known is not None and left_out:
        some = [client for client in clients if client not in left_out]
        others = f"; {done} on {', '.join(sorted(at_work))}: {', '.join(some)}" if some else ""
        said = f"no host has {done} {', '.join(left_out)}{others}"
        return StepOutcome("unknown", said, {**result, "left_out": left_out}, in_part=bool(some))
    where = f"{len(at_work)} hosts" if len(at_work) > 1 else "1 host"
    return StepOutcome("ok", f"{len(clients)} {done} on {where}", result)


@look
def await_group_progress(session: Session, step: Step, results: Results) -> StepOutcome:
    """Wait until each group has members, and has committed anew or has nothing left to read."""
    target = session.estate.target
    written = {
        group: offsets_from_json(offsets) for group, offsets in results["write-offsets"]["written"].items()
    }
    waiting = set(step.arguments["groups"])

    def has_all_moved() -> bool:
        members = target.group_members(waiting)
        staffed = {group for group in waiting if members[group]}
        committed = target.committed(staffed)
        ends = target.end_offsets({tp for group in staffed for tp in written[group]})
        waiting.difference_update(
            group
            for group in staffed
            if any(committed[group].get(tp, offset) != offset for tp, offset in written[group].items())
            or all(offset >= ends[tp] for tp, offset in written[group].items())
        )
        return not waiting

    if session.await_true(has_all_moved, step.timeout_s, poll_s=0.3):
        return StepOutcome("ok", f"{len(written)} groups at work")
    silent = sorted(waiting)
    return StepOutcome(
        "unknown", f"not seen at work within {step.timeout_s:g} s: {', '.join(silent)}", {"not_seen": silent}
    )
