"""The parts of a report that a run itself tells: of a rehearsal and of a real one alike."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import psutil

from orchestrator import __version__
from orchestrator.adapters.java.detection import find_java
from orchestrator.runs.run_times import without_renamed
from orchestrator.topology.model import Topology
from orchestrator.verbs.live.run_result import RunResult

_GIB = 2**30
# A producer's clock that is off by more than a day would only stretch every plot.
_PLAUSIBLE_S = 86_400.0


def versions_part(topology: Topology) -> dict[str, str]:
    """`versions`: what the file says of Kafka, and what this machine runs."""
    kafka = ", ".join(dict.fromkeys(cluster.kafka for cluster in topology.clusters.values()))
    return {
        "dcctl": __version__,
        "kafka": kafka,
        "spark": version("pyspark"),
        "python": platform.python_version(),
        "java": str(find_java().major),
        "confluent-kafka": version("confluent-kafka"),
    }


def environment_part() -> dict[str, Any]:
    """`environment`: this machine."""
    return {
        "cores": psutil.cpu_count(),
        "memory_gib": round(psutil.virtual_memory().total / _GIB, 1),
        "system": platform.platform(terse=True),
    }


def predicted_loss(run: RunResult) -> dict[str, dict[str, Any]]:
    """Per topic: the bounds, and what they rest on."""
    grounds = run.plan["facts"].get("loss_rests_on", {})
    return {topic: {**bounds, **grounds.get(topic, {})} for topic, bounds in run.predicted["loss"].items()}


def predicted_part(run: RunResult) -> dict[str, Any]:
    """`predicted`: only topics for which the plan stated an expectation and an upper bound."""
    loss = {
        topic: bounds
        for topic, bounds in predicted_loss(run).items()
        if {"expected", "at_most"} <= bounds.keys()
    }
    reread = {
        name: {key: cost.get(key) for key in ("map", "position_age", "at_most")}
        for name, cost in run.predicted["reread"].items()
    }
    return {"source": run.source, "loss": loss, "reread": reread, "seconds": run.predicted["seconds"]}


def phase_parts(run: RunResult) -> list[Mapping[str, Any]]:
    """`phases` from the command on: those that the run itself and `dcctl show` tell."""
    return without_renamed(run.phases)


def first_record_moments(run: RunResult) -> list[dict[str, Any]]:
    """Of `timeline`: each producer's first record at the target, by the time that it bears."""
    return [
        {"at_s": row["at_s"], "name": f"first record of {row['producer']} at {run.target}", "kind": "event"}
        for row in run.producers
        if row["at_s"] is not None and row["at_s"] >= run.started_at_s - _PLAUSIBLE_S
    ]


def responsible_part(run: RunResult, *, approval: str, approved_by: str = "") -> dict[str, Any]:
    """`responsible`: who began the run and why, as its journal says; `approval` is how it was agreed to."""
    request = run.plan.get("request", {})
    attested = [*(request.get("attested") or ()), *(request.get("sick") or ())]
    return {
        "who": str(run.by.get("who", "")),
        "host": str(run.by.get("host", "")),
        "command": str(run.by.get("command", "")),
        "reason": str(request.get("reason") or ""),
        "approved_by": approved_by,
        "approval": approval,
        "attested_by": str(request.get("by") or "") if attested else "",
    }


def gate_part(gate: Mapping[str, Any]) -> dict[str, Any]:
    """One of `gates`."""
    return {key: gate[key] for key in ("id", "outcome", "measured", "limit", "reason", "hint")}


def step_part(step: Mapping[str, Any], run: RunResult) -> dict[str, Any]:
    """One of `steps`, as it was run."""
    actions = {planned["id"]: planned["action"] for planned in run.plan["steps"]}
    return {
        "id": step["id"],
        "phase": step["phase"],
        "action": actions[step["id"]],
        "description": step["title"],
        "outcome": "skipped" if step["outcome"] == "not done" else step["outcome"],
        "started_at_s": step["started_at_s"],
        "seconds": step["seconds"],
        "detail": step["message"],
    }


def plan_part(topology: Topology, plan: Mapping[str, Any], accepted_loss: int | None) -> dict[str, Any]:
    """`plan`: its steps in words, and what it was allowed to cost."""
    budget = topology.failover.max_loss
    return {
        "description": [step["title"] for step in plan["steps"]],
        "loss_budget": {"records": budget.records, "seconds": budget.seconds},
        "accepted_loss": accepted_loss,
    }
