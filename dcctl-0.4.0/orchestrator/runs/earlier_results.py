"""What steps of runs of an earlier dcctl have left in their results: read as that version wrote it.

Nothing here is of this version, whose results are typed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orchestrator.replication.offsets_json import offsets_from_json
from orchestrator.runs.estate_record import (
    Body,
    LogsTruncated,
    PrimaryMoved,
    ReverseStarts,
    body_from_json,
    rows,
)
from orchestrator.runs.plan import Plan, Step
from orchestrator.runs.primaries import PrimaryRecord
from orchestrator.runs.word import WordWanted

Results = Mapping[str, Mapping[str, Any]]


def facts_of_earlier(plan: Plan, step_id: str, result: Mapping[str, Any]) -> Iterator[Body]:
    """The facts that a step of a run without the ensemble has left for its import.

    Raises `ValueError` for what is none.
    """
    if "fact" in result:
        yield body_from_json(result["fact"])
    elif step_id == "record-primary" and "record" in result:
        told = PrimaryRecord.from_json(result["record"])
        yield PrimaryMoved(home=told.home, primary=told.primary, topics=told.topics)
    elif step_id == "record-landing-ends" and "ends" in result:
        ends = rows(offsets_from_json(result["ends"]))
        yield ReverseStarts(home=plan.source, standby=plan.target, starts=ends, is_set=False)


def primary_of_earlier(step: Step) -> str:
    """Where a step records topics as primary; empty for one that records nothing of the kind."""
    return str(step.arguments.get("primary", "")) if step.id == "record-primary" else ""


def words_of_earlier(step: Step, detail: Mapping[str, Any]) -> Iterator[WordWanted]:
    """The words for which a step waits since an attempt that has left this detail."""
    for name in detail.get("not_seen", ()) if step.id == "producers-write" else ():
        says = "a person has seen this producer write at the target"
        yield WordWanted(step.id, "--attest-writing", str(name), "PRODUCER", says)


def loss_of_earlier(plan: Plan, results: Results) -> Mapping[str, Any] | None:
    """What a run has counted as lost: topic -> partition -> {"lost", "reason"}; empty for nothing.

    None where a step of it has counted, and has left that in another form than dcctl 0.3.0 and older.
    """
    counted = results.get("account-loss", {}).get("loss")
    if any(
        step != "account-loss" or counted is None for step in plan.told.get("loss", ()) if step in results
    ):
        return None
    return counted or {}


def facts_before_the_record(verb: str, source: str, target: str, results: Results) -> Iterator[Body]:
    """What a run tells that was made before there was an estate record."""
    home, standby = source, target
    if verb == "failback":
        home, standby = standby, home
    elif "ends" in (landing := results.get("record-landing-ends", {})):
        starts = rows(offsets_from_json(landing["ends"]))
        yield ReverseStarts(home=home, standby=standby, starts=starts, is_set=False)
    if "starts" in (told := results.get("set-reverse-offsets", {})):
        starts = rows(offsets_from_json(told["starts"]))
        yield ReverseStarts(home=home, standby=standby, starts=starts, is_set=True)
    if "cuts" in (compared := results.get("compare-returned", {})):
        truncations = (
            (topic, int(p), tuple((int(up), int(down)) for up, down in at))
            for topic, p, at in compared["cuts"]
        )
        yield LogsTruncated(home=home, standby=standby, truncations=tuple(truncations))
