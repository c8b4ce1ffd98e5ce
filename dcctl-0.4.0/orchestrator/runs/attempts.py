"""What the last attempt of each step came to, by a run's journal. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from orchestrator.runs.plan import RunEvent


def last_intents(events: Sequence[RunEvent]) -> dict[str, RunEvent]:
    """When each step was begun last."""
    return {event.step: event for event in events if event.kind == "step-intent"}


def last_outcomes(events: Sequence[RunEvent]) -> dict[str, RunEvent]:
    """Each step's last outcome. One from before its last intent tells of an attempt that is past."""
    begun = last_intents(events)
    return {
        event.step: event
        for event in events
        if event.kind == "step-outcome"
        and (event.step not in begun or event.sequence > begun[event.step].sequence)
    }


def listed_by_last(events: Sequence[RunEvent], key: str) -> list[Any]:
    """What the last attempts have in a list of that name in their results, all together."""
    found = last_outcomes(events).values()
    return [each for event in found for each in event.data.get("result", {}).get(key, [])]
